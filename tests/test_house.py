"""The rules of the house: who imports whom, what ships, and what importing costs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("adapters", "harness", "parsers", "reports")
HEAVY = (
    "torch",
    "transformers",
    "vllm",
    "datasets",
    "pandas",
    "pyarrow",
    "scipy",
    "PIL",
    "tiktoken",
)
SDKS = ("openai", "anthropic", "google.genai", "genai_prices")


def python(code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=False
    )


def test_imports_follow_the_table_of_the_architecture_page(tmp_path: Path) -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--config", ROOT / "pyproject.toml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_is_typed_and_carries_the_mark_of_the_distribution(package: str) -> None:
    assert files(package).joinpath("py.typed").is_file()
    assert "Part of vlm-web-eval." in files(package).joinpath("__init__.py").read_text("utf-8")


def test_data_files_ship() -> None:
    assert files("harness").joinpath("prompts/seeact.toml").is_file()
    for split in ("dev", "test"):
        assert files("harness").joinpath(f"sample/data/{split}.parquet").is_file()


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_a_package_loads_nothing_heavy(package: str, tmp_path: Path) -> None:
    done = python(f"import sys, {package}; print(*sys.modules)", tmp_path)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert not loaded & {*HEAVY, *SDKS}


@pytest.mark.parametrize("line", ["--help", "models", "benchmarks", "protocols"])
def test_help_and_lists_load_nothing_heavy(line: str, tmp_path: Path) -> None:
    code = (
        "import sys, atexit\n"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
        "import harness.commands.main as main\n"
        f"main.run([{line!r}])"
    )
    done = python(code, tmp_path)
    assert done.returncode == 0
    assert not set(done.stderr.split()) & {*HEAVY, *SDKS}


def test_the_report_command_is_found_by_its_entry_point() -> None:
    names = {point.name for point in entry_points(group="vlm_eval.commands")}
    assert "report" in names


def contract(words: str) -> dict[str, Any]:
    """The import contract whose name has these words."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    (found,) = (c for c in settings["contracts"] if words in c["name"])
    return dict(found)


def test_reports_may_import_three_packages_of_the_harness() -> None:
    forbidden = contract("reports reads runs")
    assert forbidden["forbidden_modules"] == ["harness"]
    assert set(forbidden["ignore_imports"]) == {
        f"reports.** -> harness.{name}"
        for name in ("runs", "runs.*", "settings", "tables", "tables.*")
    }


def test_circles_are_looked_for_below_every_package() -> None:
    circles = contract("circles")
    assert set(circles["ancestors"]) == set(PACKAGES)
    assert not {"depth", "skip_descendants", "ignore_imports"} & set(circles)


RUNS_CODE = {"eval", "exec", "compile", "__import__", "runpy"}
ALLOWED = {
    (
        "adapters/processes/child.py",
        "runpy",
    ): "a child's entry, which its parent gives, not a model",
}
"""Where code is run that is not imported, with the reasons."""


def names_in(tree: ast.AST) -> set[str]:
    """The names that a module reads or imports, and `eval` and `exec` as strings."""
    read = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    names = {node.id for node in read if isinstance(node.ctx, ast.Load)}
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names |= {alias.name for node in imported for alias in node.names}
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return names | {text for text in ("eval", "exec") if text in texts}


def test_no_text_is_run_as_code() -> None:
    """What ruff does not see: `compile`, and functions that are called by another name."""
    found = {
        (path.relative_to(ROOT).as_posix(), name)
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for name in names_in(ast.parse(path.read_text("utf-8"))) & RUNS_CODE
    }
    assert found == set(ALLOWED)
    assert names_in(ast.parse("run = getattr(x, 'eval'); run(compile)")) & RUNS_CODE == {
        "eval",
        "compile",
    }


def test_ruff_bans_what_runs_code() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["ruff"]["lint"]
    assert {"S102", "S301", "S307", "TID251"} <= set(settings["select"])
    banned = settings["flake8-tidy-imports"]["banned-api"]
    assert {"ast", "builtins", "code", "codeop", "runpy"} <= set(banned)
    assert set(settings["per-file-ignores"]) & {"adapters/**", "harness/**", "parsers/**"} == set()


def test_ruff_bans_what_two_threads_must_not_do_at_once() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["ruff"]["lint"]
    banned = settings["flake8-tidy-imports"]["banned-api"]
    decoding = {"convert", "json.decode", "json.Decoder", "msgpack.decode"}
    assert {f"msgspec.{name}" for name in decoding} <= set(banned)
    excepted = {name for name, rules in settings["per-file-ignores"].items() if "TID251" in rules}
    assert excepted == {"tests/**", "adapters/decoding.py"}


def test_what_is_printed_says_answered_and_chance_instead_of_settled_and_floor() -> None:
    words = re.compile(
        r"\b(un)?settled\b|\bfloor\b|\bunits? of kind\b|\bclean tasks\b", re.IGNORECASE
    )
    found = []
    for path in sorted(file for name in PACKAGES for file in (ROOT / name).rglob("*.py")):
        if path.name == "lexicon.py":  # Words of replies.
            continue
        tree = ast.parse(path.read_text("utf-8"))
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant) or id(node) in docstrings:
                continue
            text = node.value
            # A name of a column or of a key in a file is no word for a reader.
            if isinstance(text, str) and " " in text.strip() and words.search(text):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}: {text[:60]}")
    assert found == []
