"""Becomes the program that its arguments name, and gets a signal when its parent ends.

    launcher.py SIGNAL PROGRAM [ARGUMENT...]

It is for programs that no signal to the group of their parent reaches, such as browsers, which
Playwright starts in new sessions. Where the system offers it (Linux), the kernel sends the signal
when their parent ends; elsewhere a browser ends by itself when its pipe from there closes. Other
signals than SIGKILL are for programs that finish what they are doing.

This file runs as a program, before anything else is there. `bound` writes its command.
"""

import os
import sys

_PR_SET_PDEATHSIG = 1
_SIGKILL = 9


def bound(*words: str, number: int = _SIGKILL) -> list[str]:
    """Return the command of a program that gets the signal `number` when its parent ends."""
    return [sys.executable, "-I", "-S", __file__, str(int(number)), *words]


def _die_with_parent(number: int) -> None:
    if sys.platform.startswith("linux"):
        import ctypes

        parent = os.getppid()
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)


if __name__ == "__main__":
    _die_with_parent(int(sys.argv[1]))
    os.execv(sys.argv[2], sys.argv[2:])
