"""The core stands without its leaves: an evaluation on recorded steps and its report load none."""

from __future__ import annotations

import ast
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs import completed
from tests.servers import Answer, WireServer, error

ROOT = Path(__file__).parents[1]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
(CORE,) = (c for c in CONTRACTS["contracts"] if c["name"] == "the core imports no leaf")
LEAVES: list[str] = CORE["forbidden_modules"]
WITHOUT_LEAVES = f"""
import importlib.abc, sys
LEAVES = {tuple(LEAVES)!r}

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.startswith(tuple(leaf + "." for leaf in LEAVES)) or name in LEAVES:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
from harness.__main__ import main
main()
"""
LISTING = """
import atexit, sys
atexit.register(lambda: print(*sorted(sys.modules), sep="\\n", file=sys.stderr))
from harness.__main__ import main
main()
"""
SAMPLE = ("-b", "sample", "--split", "dev", "--limit", "1", "--progress", "off", "--no-cache")


def call(*words: str | Path, code: int = 0, script: str = WITHOUT_LEAVES) -> str:
    """Run a command by a script in its own process; return what it printed, errors included."""
    done = completed("-c", script, *words, fresh=True)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def test_every_module_is_named_as_core_or_leaf() -> None:
    folders = (ROOT / name for name in ("adapters", "harness", "harness/benchmarks", "reports"))
    paths = {path for folder in (*folders, ROOT / "reports/kinds") for path in folder.iterdir()}
    code = {path for path in paths if path.suffix == ".py" or any(path.glob("*.py"))}
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in code}
    folded = (".__init__", ".kinds", "harness.benchmarks")
    modules = {name for name in modules if not name.endswith(folded)}
    assert modules == {*CORE["source_modules"], *LEAVES}


LOWER: dict[str, tuple[str, ...]] = {
    "adapters": ("harness", "reports"),
    "parsers": ("harness", "reports"),
    "harness": ("reports",),
}
"""The layers, with those above them."""


def _imported_by_name(tree: ast.AST) -> Iterator[str]:
    """Texts that a call of `import_module` or `__import__` gets, or may take from a table."""
    tables = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func
            name = name.id if isinstance(name, ast.Name) else name
            if name not in ("import_module", "__import__"):
                continue
            for part in (one for argument in node.args for one in ast.walk(argument)):
                places = [part, *ast.walk(tables.get(getattr(part, "id", ""), part))]
                yield from (
                    str(one.value)
                    for one in places
                    if isinstance(one, ast.Constant) and isinstance(one.value, str)
                )


SETTINGS_AND_TABLES = ("harness.settings", "harness.tables")
DECLARED = ("parsers.declaration", "parsers.estimates", "parsers.averages")


@pytest.mark.parametrize(
    ("module", "free_of"),
    [
        ("harness.protocols.seeact", SETTINGS_AND_TABLES),
        ("harness.benchmarks.mind2web", SETTINGS_AND_TABLES),
        ("harness.runs.records", (*SETTINGS_AND_TABLES, *DECLARED, "harness.runs.run")),
        ("harness.runs.steps", (*SETTINGS_AND_TABLES, *DECLARED, "harness.runs.run")),
        *((f"parsers.{name}", DECLARED) for name in ("grounding", "rates", "records", "scoring")),
    ],
)
def test_a_part_loads_nothing_that_it_does_not_use(module: str, free_of: tuple[str, ...]) -> None:
    done = completed("-c", f"import sys, {module}; print(*sys.modules, sep='\\n')", fresh=True)
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.split()
    assert module in loaded
    assert not [one for one in loaded if one.startswith(free_of)]


@pytest.mark.parametrize("layer", LOWER)
def test_no_layer_imports_a_higher_one_by_name(layer: str) -> None:
    found = [
        (path.relative_to(ROOT).as_posix(), name)
        for path in sorted((ROOT / layer).rglob("*.py"))
        for name in _imported_by_name(ast.parse(path.read_text("utf-8")))
        if name.partition(".")[0] in LOWER[layer]
    ]
    assert not found


@pytest.mark.parametrize(
    "code",
    [
        "import_module('reports.listing')",
        "importlib.import_module('reports' + '.x')",
        "__import__(f'reports.{x}')",
        "HOMES = {'a': 'reports.load'}\nimport_module(HOMES[name])",
    ],
)
def test_imports_by_name_are_seen(code: str) -> None:
    assert any(one.startswith("reports") for one in _imported_by_name(ast.parse(code)))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    yield tmp_path


def plain_ways(script: str) -> str:
    """Run a baseline, a hosted model whose first call fails, the same again, and their report."""
    with WireServer([error(500), Answer("ELEMENT: A\nACTION: CLICK\nVALUE: None")]) as server:
        hosted = ("-m", "gpt-4o", "--base-url", server.base_url("openai"), *SAMPLE, "--out", "b")
        printed = [
            call("run", "-m", "lexical", *SAMPLE, "--out", "a", script=script),
            call("run", *hosted, script=script),
            call("run", *hosted, script=script),
            call("report", "a", "b", "--format", "json", script=script),
        ]
    assert server.count > 2
    return "".join(printed)


def test_a_plain_run_and_its_report_need_no_leaf(place: Path) -> None:
    plain_ways(WITHOUT_LEAVES)
    assert json.loads((place / "b" / "summary.json").read_text("utf-8"))


def test_a_plain_run_and_its_report_load_no_module_within_a_leaf(place: Path) -> None:
    loaded = plain_ways(LISTING).splitlines()
    assert "harness.session.run" in loaded
    # The package of a leaf may be loaded: it declares settings.
    assert not [name for name in loaded for leaf in LEAVES if name.startswith(f"{leaf}.")]


def test_an_estimate_of_a_hosted_run_does_not_need_a_leaf(place: Path) -> None:
    assert "expected:" in call("run", "-m", "gpt-4o", *SAMPLE, "--dry-run")


def test_help_does_not_need_a_leaf(place: Path) -> None:
    assert "--distractors" in call("run", "--help")


@pytest.mark.parametrize(
    ("words", "leaf"),
    [
        (("run", "-m", "centre", "-b", "sample-grounding"), "harness.benchmarks.grounding"),
        (("run", "-m", "oracle", "-b", "miniwob"), "harness.benchmarks.episode"),
        (("run", "-m", "qwen2-vl", "-b", "sample"), "adapters.local"),
        (("run", "-m", "gpt-4o", "-b", "sample", "--yes", "--tier", "batch"), "harness.batches"),
        (("run", "-m", "random", "-m", "lexical", "-b", "sample"), "harness.sweep"),
        (("report", "a", "--published"), "reports.published"),
    ],
)
def test_a_name_of_a_missing_leaf_is_refused_in_one_line(
    place: Path, words: tuple[str, ...], leaf: str
) -> None:
    if words[0] == "report":
        call("run", "-m", "lexical", *SAMPLE, "--out", "a")
    lines = call(*words, code=2).splitlines()
    said = [line for line in lines if line.startswith("vlm-eval:")]
    assert len(said) == 1 and f"module {leaf}" in said[0] and "is not installed" in said[0]
    assert not any("Traceback" in line for line in lines)


@pytest.mark.parametrize("leaf", LEAVES)
def test_a_leaf_is_described_on_a_page_of_its_folder(leaf: str) -> None:
    # A family of benchmarks is one leaf, with a folder for asking and one for reporting.
    folder = leaf.replace("reports.kinds", "harness.benchmarks").replace(".", "/")
    if (ROOT / f"{folder}.py").exists():
        assert f"`{folder}.py`" in (ROOT / "ARCHITECTURE.md").read_text("utf-8")
        return
    page = ROOT / folder / "README.md"
    text = page.read_text("utf-8")
    assert "## Contract" in text and "## Try it" in text
