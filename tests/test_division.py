"""The default run of the tests: what is in it, and how long it takes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests import division

HERE = division.HERE
WANTED = (
    *("a killed run", "a cost limit", "secrecy", "hostile pages and terminals", "bad input"),
    *("every protocol's oracle", "every family", "readers' worked cases", "intervals"),
    "every provider's wire",
)
"""What the default run has at least, as `default.txt` heads it."""
MINUTES = 6
"""The default run on two cores without its installation, on the machine of `durations.json`."""


def functions(module: Path) -> set[str]:
    """The functions of tests in a module."""
    tree = ast.parse(module.read_text("utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {one.name for one in tree.body if isinstance(one, kinds)}


def test_every_module_has_recorded_durations() -> None:
    modules = {path.relative_to(HERE).as_posix() for path in HERE.rglob("test_*.py")}
    missing = modules - division.recorded().keys()
    assert not missing, "pytest --whole --record-durations on a quiet machine"


def test_the_default_run_has_what_it_must_have() -> None:
    always = division.always()
    assert list(always) == list(WANTED) and all(always.values())
    for module, name in (one for of in always.values() for one in of):
        assert name in functions(HERE / module), f"{module} has no {name}"


def test_the_default_run_fits_into_its_minutes() -> None:
    whole = {one for of in division.always().values() for one in of}
    taken = sum(
        seconds if (module, name) in whole else min(seconds, division.SECONDS)
        for module, of in division.recorded().items()
        for name, seconds in of.items()
    )
    assert taken < 2 * 60 * MINUTES


def test_a_slow_function_runs_some_of_its_cases_and_the_same_ones_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seconds = {"test_a.py": {"test_wordings": 100 * division.SECONDS, "test_kill": 9.0}}
    monkeypatch.setattr(division, "recorded", lambda: seconds)
    monkeypatch.setattr(division, "always", lambda: {"a killed run": [("test_a.py", "test_kill")]})
    cases = [f"tests/test_a.py::test_wordings[{n}]" for n in range(300)]
    others = [
        "tests/test_a.py::test_kill",
        "tests/test_a.py::test_quick",
        "tests/test_b.py::test_c",
    ]
    out = division.left_out([*cases, *others])
    assert len(out) == 297 and out == division.left_out([*others, *cases[::-1]])
    assert out < set(cases)
