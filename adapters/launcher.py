"""Becomes the program that its arguments name, and is killed when its parent ends.

It is for programs that no signal to the group of their parent reaches, such as browsers, which
Playwright starts in sessions of their own. Where the system offers it (Linux), the kernel kills
them together with their parent; elsewhere a browser ends by itself when its pipe from there closes.

This file runs as a program, before anything else is there.
"""

import os
import sys

_PR_SET_PDEATHSIG = 1
_SIGKILL = 9


def _die_with_parent() -> None:
    if sys.platform.startswith("linux"):
        import ctypes

        parent = os.getppid()
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)


if __name__ == "__main__":
    _die_with_parent()
    os.execv(sys.argv[1], sys.argv[1:])
