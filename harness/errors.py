"""Errors that are the user's to mend: one line that says what is wrong, where, and what to do."""

from __future__ import annotations

import difflib
import errno
import re
import sys
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from adapters.entry_points import UnknownName, load
from harness.printing import printable

_SHOWN, _LONGEST = 8, 300
_NO_MEMORY = re.compile(r"cannot allocate memory|failed to map segment|malloc of size", re.I)


class UserError(Exception):
    """Bad input of any kind. The message is one line; the command line exits with code 2."""


class DataError(UserError):
    """Data that is missing, unreadable or not of the expected form.

    problems: all that is wrong with the data, a line each, where more is known than the first.
    """

    def __init__(self, message: str, problems: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


class RunError(UserError):
    """A run directory cannot be used or written; the message says which file and why."""


class OtherFormat(RunError):
    """The run is of another format than this version reads."""


class RunInUse(RunError):
    """Another process is working on the run."""


class RunDiffers(RunError):
    """The run was started with other settings. `lines` names them, a setting a line."""

    def __init__(self, path: Path, lines: Sequence[str]) -> None:
        self.lines = tuple(lines)
        listed = "\n".join(f"  {line}" for line in lines)
        one = f" {lines[0]}" if len(lines) == 1 else f"\n{listed}"
        super().__init__(f"{path} was started with other settings:{one}")


class DiskFull(RunError):
    """The disk has no room for another line. Lines synced before are kept."""


class DataGone(Exception):
    """The picture or page of a step is not available; the message says why."""


class ExtensionError(UserError):
    """An adapter, scorer or other part raised an exception that its contract does not allow.

    The message names the part, the unit if there is one, and the place in its code.
    """


class ScoringError(ExtensionError):
    """The scorer of a unit raised; the unit has no scores."""


_OURS = {"adapters", "harness", "parsers", "reports"}


def raised(error: BaseException) -> str:
    """Describe an unexpected exception: its type, its text and where its author has to look.

    That is the first line outside of this project that the project called last.

    >>> try:
    ...     int("x")
    ... except ValueError as error:
    ...     print(raised(error).partition(" (")[0])
    ValueError: invalid literal for int() with base 10: 'x'
    """
    frames = [
        (str(frame.f_globals.get("__name__", "?")), frame.f_code.co_name, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    own = [at for at, (module, *_) in enumerate(frames) if module.partition(".")[0] in _OURS]
    behind = frames[own[-1] + 1 :] if own else frames
    foreign = [one for one in behind if one[0].partition(".")[0] not in sys.stdlib_module_names]
    chosen = next(iter(foreign), frames[own[-1]] if own else None)
    text = " ".join(printable(str(error)).split())[:_LONGEST]
    what = f"{type(error).__name__}: {text}" if text else type(error).__name__
    if chosen is None:
        return what
    what = ": ".join((*getattr(error, "__notes__", ()), what))
    module, function, line = chosen
    inside = "" if function.startswith("<") else f", {function}"
    return f"{what} ({module}{inside}, line {line})"


def memory_error(error: BaseException) -> str:
    """Return why an error, or what caused it, is a lack of memory or of threads; "" if it is not.

    Loaders of libraries, pyarrow and asyncio wrap it in their own errors.
    """
    left: list[BaseException] = [error]
    seen: set[int] = set()
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        lack = isinstance(one, MemoryError) or getattr(one, "errno", None) == errno.ENOMEM
        if lack or (isinstance(one, (ImportError, OSError)) and _NO_MEMORY.search(str(one))):
            return "out of memory"
        if isinstance(one, RuntimeError) and "start new thread" in str(one):
            return "no further thread can be started (memory or process limit)"
        causes = one.__cause__, one.__context__, *getattr(one, "exceptions", ())
        left += [cause for cause in causes if cause is not None]
    return ""


def suggestion(word: str, known: Iterable[str]) -> str:
    """Suggestion for an unknown word: the nearest known one, else some that are known."""
    words = sorted(set(known))
    near = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    if not near:
        # Close matches are by letters as written; a difference of case alone should not hide one.
        near = [w for w in words if w.lower() == word.lower()][:1]
    if near:
        return f"did you mean '{near[0]}'?"
    more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    return f"known: {', '.join(words[:_SHOWN]) or 'none'}{more}"


def from_leaf(name: str) -> Any:
    """Return what a name (`package.module:attribute`) represents in a leaf, which the core imports
    in no other way. Raises `UserError` if the leaf is not installed."""
    try:
        return load(name)
    except UnknownName as error:
        raise UserError(str(error)) from error
