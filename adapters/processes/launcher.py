"""Becomes the program that its arguments name, which is killed when its parent ends.

    launcher.py PROGRAM [ARGUMENT...]

It is for programs that no signal to the group of their parent reaches, such as browsers, which
Playwright starts in new sessions. On Linux, the kernel kills them when their parent ends; elsewhere
a browser ends by itself when its pipe from there closes.

This file runs as a program, before anything else is there. `bound` writes its command.
"""

import os
import sys


def bound(*words: str) -> list[str]:
    """Return the command of a program that is killed when its parent ends."""
    return [sys.executable, "-I", "-S", __file__, *words]


def _die_with_parent() -> None:
    if sys.platform.startswith("linux"):
        import ctypes

        parent, pr_set_pdeathsig, sigkill = os.getppid(), 1, 9
        ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, sigkill, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)


if __name__ == "__main__":
    _die_with_parent()
    os.execv(sys.argv[1], sys.argv[1:])
