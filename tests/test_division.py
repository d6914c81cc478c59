"""The default run of the tests: what is in it, how long it takes, and where it works."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests import division

HERE = division.HERE
WANTED = (
    *("a killed run", "a cost limit", "secrecy", "hostile pages and terminals", "bad input"),
    *("every protocol's oracle", "every family", "readers' worked cases", "intervals"),
    "every provider's wire",
)
"""What the default run has at least, as `default.txt` heads it."""
MINUTES = 3.2
"""The default run on two cores without its installation."""
DISTRIBUTION = "vlm-web-eval"
REASONS = (
    "extra",
    "Chromium",
    "chromedriver",
    "GPU",
    "CUDA",
    "VLM_EVAL_TEST_DATA",
    "takes minutes",
)
"""Words of the reasons for which a test may be skipped on Linux in an environment of [test]."""
LOADED = ("hypothesis", "pytest11")
"""Groups of entry points that they load at their start."""


def functions(module: Path) -> set[str]:
    """The functions of tests in a module, with their classes."""
    tree = ast.parse(module.read_text("utf-8"))
    nested = [(f"{c.name}::", c) for c in tree.body if isinstance(c, ast.ClassDef)]
    return {
        f"{prefix}{one.name}"
        for prefix, of in [("", tree), *nested]
        for one in of.body
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
    }


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


COLLECT = """
import json, sys
from importlib.machinery import PathFinder

import pytest

absent, out = set(json.loads(sys.argv[1])), sys.argv[2]

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name in absent else PathFinder.find_spec(name, path, target)

class Reasons:
    errors, reasons = [], []
    def pytest_collectreport(self, report):
        if report.failed:
            self.errors.append([report.nodeid, report.longreprtext[-400:]])
        if report.skipped:
            self.reasons.append(str(report.longrepr[2]))
    def pytest_collection_modifyitems(self, items):
        for item in items:
            for mark in item.iter_markers("skipif"):
                if mark.args and mark.args[0] is True:
                    self.reasons.append(mark.kwargs["reason"])

sys.meta_path[:] = [Without if one is PathFinder else one for one in sys.meta_path]
code = pytest.main(["--collect-only", "--whole", "-q", "-p", "no:xdist"], plugins=[Reasons()])
json.dump([int(code), Reasons.errors, sorted(set(Reasons.reasons))], open(out, "w"))
"""


def plain(name: str) -> str:
    return name.lower().replace("_", "-")


def needed(distribution: str, extra: str = "") -> set[str]:
    """The installed distributions that one needs, itself included, with or without an extra."""
    seen: set[tuple[str, str]] = set()
    found = [(distribution, ""), (distribution, extra)]
    while found:
        name, of = found.pop()
        if (name, of) in seen:
            continue
        seen.add((name, of))
        with suppress(metadata.PackageNotFoundError):
            for wanted in map(Requirement, metadata.requires(name) or ()):
                if wanted.marker is None or wanted.marker.evaluate({"extra": of}):
                    one = plain(wanted.name)
                    found += [(one, ""), *((one, inner) for inner in wanted.extras)]
    return {plain(name) for name, _ in seen}


def test_an_environment_of_the_light_install_collects_and_skips_for_good_reasons(
    tmp_path: Path,
) -> None:
    """Packages that [test] does not bring are hidden from the process that collects."""
    light = needed(DISTRIBUTION, "test")
    # With what they need, those stay that pytest and hypothesis load by themselves.
    points = [one for group in LOADED for one in metadata.entry_points(group=group)]
    kept = light.union(*(needed(one.dist.name) for one in points if one.dist is not None))
    absent = [
        module
        for module, names in metadata.packages_distributions().items()
        if not any(plain(name) in kept for name in names)
        and module not in ("pip", "setuptools", "pkg_resources", "_distutils_hack")
    ]
    assert {"torch", "inspect_ai", "rapidocr", "mkdocs"}.isdisjoint(light)
    out = tmp_path / "collected.json"
    command = [sys.executable, "-c", COLLECT, json.dumps(absent), str(out)]
    done = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, check=False)
    assert out.exists(), done.stdout[-2000:] + done.stderr[-2000:]
    code, errors, reasons = json.loads(out.read_text("utf-8"))
    assert (code, errors) == (0, [])
    assert [one for one in reasons if not any(word in one for word in REASONS)] == []
