"""Which tests run by default, so that all of them together take a few minutes.

A function of tests runs as many of its cases as `SECONDS` of its time have room for, drawn by the
hash of their ids: all of a quick one, eight of a product of wordings, none of what takes longer.
Functions in `default.txt` run whole. How long each takes is recorded in `durations.json`, by
`pytest --whole --record-durations`; what is not in there counts as quick. Those in the file are of
a machine that other programs kept busy: on a quiet one the tests take less than half of them.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

SECONDS = 0.4
"""Time that a function may take by default, on the machine of `durations.json`."""
RECORDED = 0.05
"""Functions that take less are left out of the file."""
HERE = Path(__file__).parent
DURATIONS, DEFAULT = HERE / "durations.json", HERE / "default.txt"


def function_of(nodeid: str) -> tuple[str, str]:
    """Return the module below `tests/` and the function of a test.

    Examples:
        >>> function_of("tests/parsers/test_lines.py::test_keys[a::b]")
        ('parsers/test_lines.py', 'test_keys')
    """
    path, _, name = nodeid.partition("::")
    return path.removeprefix("tests/"), name.partition("[")[0]


def recorded() -> Mapping[str, Mapping[str, float]]:
    """Return the seconds of functions by module, below `tests/`."""
    functions: dict[str, dict[str, float]] = json.loads(DURATIONS.read_text("utf-8"))["seconds"]
    return functions


def always() -> dict[str, list[tuple[str, str]]]:
    """Return the functions that run whole by default, by what they stand for."""
    found: dict[str, list[tuple[str, str]]] = {}
    for line in DEFAULT.read_text("utf-8").splitlines():
        if line.startswith("# "):
            found[line[2:]] = []
        elif line:
            found[list(found)[-1]].append(function_of(line))
    return found


def left_out(nodeids: Sequence[str]) -> set[str]:
    """Return the tests, of all that were collected, that do not run by default."""
    seconds, whole = recorded(), {one for of in always().values() for one in of}
    cases: dict[tuple[str, str], list[str]] = {}
    for nodeid in nodeids:
        cases.setdefault(function_of(nodeid), []).append(nodeid)
    found: set[str] = set()
    for (module, name), own in cases.items():
        taken = seconds.get(module, {}).get(name, 0.0)
        if taken > SECONDS and (module, name) not in whole:
            drawn = sorted(own, key=lambda nodeid: hashlib.sha256(nodeid.encode()).digest())
            found.update(drawn[int(len(own) * SECONDS / taken) :])
    return found


def record(seconds: Iterable[tuple[str, float]]) -> None:
    """Write how long tests took, summed up by function."""
    modules: dict[str, dict[str, float]] = {}
    for nodeid, taken in seconds:
        module, name = function_of(nodeid)
        functions = modules.setdefault(module, {})
        functions[name] = functions.get(name, 0.0) + taken
    kept = {
        module: {name: round(t, 2) for name, t in sorted(own.items()) if t >= RECORDED}
        for module, own in sorted(modules.items())
    }
    facts = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}",
        "date": datetime.now(UTC).date().isoformat(),
        "seconds": kept,
    }
    DURATIONS.write_text(json.dumps(facts, indent=1) + "\n", "utf-8")
