"""General code knows no benchmark, view or protocol, neither by name nor by class."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import views
from harness.benchmarks import BENCHMARKS
from harness.protocols import PROTOCOLS

ROOT = Path(__file__).parents[1]
FOLDERS = ("harness/engine", "harness/session", "harness/planning", "harness/runs")
PARTS = ("contract", "dataset", "opening", "scoring", "shows")
GENERAL = [
    *(path for folder in FOLDERS for path in sorted((ROOT / folder).glob("*.py"))),
    *(ROOT / "harness/benchmarks" / f"{part}.py" for part in PARTS),
    ROOT / "harness/dialogue.py",
]
# Fields of records and settings have these words, too, a variant of F1, and units on record.
WORDS = {"steps", "sample", "snapshot", "mind2web", "grounding", "question"}
NAMES = {*BENCHMARKS.names(), *PROTOCOLS.names()} - WORDS
VIEWS = {name for name in vars(views) if name.endswith("View")} - {"View", "ItemView"}


def known(tree: ast.Module) -> Iterator[str]:
    """The names of benchmarks and protocols in a module, and its classes of views."""
    told = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node not in told and node.value in NAMES:
            yield repr(node.value)
        if isinstance(node, ast.alias) and node.name.rpartition(".")[2] in VIEWS:
            yield node.name


@pytest.mark.parametrize("path", GENERAL, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_names_none(path: Path) -> None:
    assert not list(known(ast.parse(path.read_text("utf-8"))))
