"""Becomes the program that its arguments name, and is killed when its parent ends.

    launcher.py [--signal NUMBER] PROGRAM [ARGUMENT...]

It is for programs that no signal to the group of their parent reaches, such as browsers, which
Playwright starts in sessions of their own. Where the system offers it (Linux), the kernel kills
them together with their parent; elsewhere a browser ends by itself when its pipe from there closes.
With a number, that signal is sent instead, for programs that finish what they are doing.

This file runs as a program, before anything else is there.
"""

import os
import sys

_PR_SET_PDEATHSIG = 1
_SIGKILL = 9


def _die_with_parent(number: int) -> None:
    if sys.platform.startswith("linux"):
        import ctypes

        parent = os.getppid()
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)


if __name__ == "__main__":
    words, number = sys.argv[1:], _SIGKILL
    if words[0] == "--signal":
        words, number = words[2:], int(words[1])
    _die_with_parent(number)
    os.execv(words[0], words)
