"""Convert Mind2Web's published scores, a pickle, into a file that cannot contain code.

A pickle is a program. This unpickler accepts dicts, lists, strings and numbers, which need no
look-up, and two classes, `collections.defaultdict` and `builtins.dict`, which the reference wrote.
Any other name in the file is refused before anything is called. Nothing else in this project
unpickles a file of the user's; `adapters.processes` unpickles only what our own processes sent.

The whole pickle is in memory while it is converted: ten times the size of the file (measured on
made-up files of 38 and 47 MB), so about 2 GB for the published one.
"""

from __future__ import annotations

import collections
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from adapters.input_files import open_file
from harness.errors import DataError
from harness.parquet import check_new
from harness.rankers import PUBLISHED, RankedStep, write_ranks

_ALLOWED = {"collections.defaultdict": collections.defaultdict, "builtins.dict": dict}
_PARTS = ("scores", "ranks")
_LIMIT = 1 << 31
_SHAPE = "{'scores'|'ranks': {step: {node: number}}}"
_BASE_BYTES, _TIMES = 1 << 30, 40
"""Memory that loading may take: this many bytes plus this many times the size of the file."""
_SHOWN = 80
"""Longest name or number quoted in a message, in characters."""


class UnsafePickle(DataError):
    """The pickle refers to something other than plain data."""


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        # Protocols up to 2 write the module of builtins by its old name.
        full = f"{'builtins' if module == '__builtin__' else module}.{name}"
        if full in _ALLOWED:
            return _ALLOWED[full]
        raise UnsafePickle(
            f"the pickle names {_cut(f'{module}.{name}')}; only plain dicts, lists, strings and "
            f"numbers and {', '.join(_ALLOWED)} are accepted"
        )

    def persistent_load(self, pid: object) -> NoReturn:
        raise UnsafePickle("the pickle refers to objects outside of itself")


@contextmanager
def memory_limit(more: int) -> Iterator[None]:
    """Limit how much more memory (address space) this process may take, where that is possible.

    A pickle of twenty bytes can allocate a list of gigabytes without naming any class.
    """
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (ImportError, OSError):
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = pages * resource.getpagesize() + more
    limits = [wanted, *(limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_AS, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def convert(
    path: Path, out: Path, *, ranker: str = PUBLISHED, overwrite: bool = False
) -> tuple[int, int, list[str]]:
    """Write the scores or ranks in a pickle, made by `ranker`, as parquet for `RankTable`.

    The pickle is `{"scores": {step: {node: number}}, "ranks": ...}`; either may be missing. Raises
    `UnsafePickle` if it names another class or a function (nothing was called), and `DataError` if
    it is not a pickle or not of this shape, or `out` exists or cannot be written. Returns the
    numbers of steps and candidates, and which of `scores` and `ranks` the pickle has.
    """
    check_new(out, overwrite=overwrite)
    parts = _load(path)
    size, count = path.stat().st_size, 0
    ranks, scores = parts.get("ranks", {}), parts.get("scores", {})

    def entries() -> Iterator[RankedStep]:
        nonlocal count
        for step_id in dict.fromkeys([*ranks, *scores]):
            where = f"{path}, step {_shown(step_id)}"
            if type(step_id) is not str or not _text(step_id):
                raise DataError(f"{where}: the name of a step must be text")
            # Popped to free the memory of what is written.
            ranked = _numbers(ranks.pop(step_id, None), "rank", where)
            entry = _entry(step_id, ranked, _numbers(scores.pop(step_id, None), "score", where))
            count += len(entry.ids)
            # A few bytes can mean any number of candidates by referring to one dict many times.
            if count > size:
                raise DataError(
                    f"{path} repeats its parts: {size} bytes cannot hold so many candidates"
                )
            yield entry

    settings = {"ranker": ranker, "file": path.name, "parts": sorted(parts)}
    steps = write_ranks(out, settings, entries(), overwrite=overwrite)
    return steps, count, sorted(parts)


def _load(path: Path) -> dict[str, dict[Any, Any]]:
    try:
        with open_file(path) as file, memory_limit(_BASE_BYTES + _TIMES * path.stat().st_size):
            loaded = _Unpickler(file).load()
    except UnsafePickle as error:
        raise UnsafePickle(f"{path} was refused: {error}") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    except MemoryError as error:
        why = f"it needs more than {_TIMES} times its size"
        raise DataError(f"{path} is damaged, or made to fill the memory: {why}") from error
    except Exception as error:  # broken pickles raise nearly anything
        reason = _cut(str(error) or type(error).__name__)
        raise DataError(f"{path} is not a pickle, or is damaged: {reason}") from error
    whole = loaded if isinstance(loaded, dict) else {}
    parts = {name: whole[name] for name in _PARTS if name in whole}
    if not parts or not all(isinstance(steps, dict) for steps in parts.values()):
        raise DataError(f"{path} is not of the form {_SHAPE}")
    return parts


def _numbers(stored: object, what: str, where: str) -> dict[str, float]:
    """Return the numbers of a step by node; empty if this part lacks the step."""
    if stored is None:
        return {}
    if not isinstance(stored, dict):
        raise DataError(f"{where} has a {type(stored).__name__}, not {_SHAPE}")
    numbers: dict[str, float] = {}
    for node, number in stored.items():
        if type(node) not in (str, int) or not (name := _text(node)):
            raise DataError(f"{where} has {_shown(node)} as a node")
        if type(number) is not int and type(number) is not float:
            kind = type(number).__name__
            raise DataError(f"{where} has a {kind} for node {_shown(node)}, not a plain number")
        if not (abs(number) < _LIMIT and (what == "score" or 0 <= number == int(number))):
            raise DataError(f"{where} has {_shown(number)} as the {what} of node {_shown(name)}")
        numbers[name] = number
    return numbers


def _entry(step_id: str, ranks: dict[str, float], scores: dict[str, float]) -> RankedStep:
    """Order a step's candidates by rank, else by score; those without either number come last."""
    worst = float("inf")
    ids = sorted(
        dict.fromkeys([*ranks, *scores]),
        key=lambda node: (ranks.get(node, worst), -scores.get(node, -worst)),
    )
    last = int(max(ranks.values(), default=-1))
    return RankedStep(
        step_id,
        ids,
        [int(ranks.get(node, last + 1)) for node in ids] if ranks else list(range(len(ids))),
        [float(scores.get(node, "nan")) for node in ids] if scores else None,
    )


def _text(name: object) -> str:
    """Return a name as text; "" for numbers of thousands of digits and for lone surrogates."""
    try:
        text = str(name)
        text.encode()
    except (ValueError, UnicodeEncodeError):
        return ""
    return text


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _shown(value: object) -> str:
    if not isinstance(value, (str, int, float)):
        return f"a {type(value).__name__}"
    try:
        return _cut(repr(value))
    except ValueError:
        return "a number of thousands of digits"
