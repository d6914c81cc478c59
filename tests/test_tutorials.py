"""Every tutorial runs as it stands, and its page says what came out."""

from __future__ import annotations

import ast
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from docs.site.tutorials import NORMALISED, PAGES, SHELL, SOURCES, execute, page, replaced, sources
from parsers.records import Status
from tests.programs import command
from tests.reports.runs import call, setup, step, worked, write

MOST = 60_000
"""Bytes that a picture of a page may have."""


def _size(content: bytes) -> tuple[int, int]:
    with Image.open(io.BytesIO(content)) as image:
        return image.size


@pytest.mark.parametrize("source", sources(), ids=lambda source: source.stem)
def test_a_tutorial_runs_and_its_page_says_what_came_out(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tutorial"
    folder.mkdir()
    (tmp_path / "bin").mkdir()
    with command(tmp_path / "bin" / "vlm-eval"):
        notebook = execute(source, folder, command=str(tmp_path / "bin"))
    text, pictures = page(notebook, source.stem)
    how = f"python -m docs.site.tutorials {source.stem} writes the page anew"
    assert text == (PAGES / f"{source.stem}.md").read_text("utf-8"), how
    stored = {path.name: path.read_bytes() for path in PAGES.glob(f"{source.stem}-[0-9]*")}
    assert stored.keys() == pictures.keys()
    for name, content in pictures.items():
        assert len(content) < MOST and len(stored[name]) < MOST
        # Fonts and versions of matplotlib change pixels; a plot of another shape is another plot.
        for new, old in zip(_size(content), _size(stored[name]), strict=True):
            assert abs(new - old) < 0.1 * old


def _cells(source: Path) -> list[dict[str, Any]]:
    cells = json.loads(source.read_text("utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def test_every_page_has_its_notebook_and_names_nothing_of_a_machine() -> None:
    assert len(sources()) == 5
    assert {path.stem for path in PAGES.glob("*.md")} == {source.stem for source in sources()}
    for path in PAGES.glob("*.md"):
        text = path.read_text("utf-8")
        assert not re.search(r"(?<![\w.<~])/(?:tmp|home|root|usr|opt|var|work)/|[A-Z]:\\\\", text)
        assert "\x1b" not in text
        assert all(alt for alt, _ in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", text))


def test_the_folder_of_notebooks_holds_nothing_else() -> None:
    files = [path for path in SOURCES.rglob("*") if path.is_file()]
    assert sorted(path for path in files if ".ipynb_checkpoints" not in path.parts) == sources()


@pytest.mark.parametrize("source", sources(), ids=lambda source: source.stem)
def test_a_notebook_is_stored_without_outputs(source: Path) -> None:
    code = _cells(source)
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)
    assert len({cell["id"] for cell in code}) == len(code)
    assert "check" in {tag for cell in code for tag in cell["metadata"].get("tags", ())}


@pytest.mark.parametrize("source", sources(), ids=lambda source: source.stem)
def test_a_notebook_imports_what_an_installed_package_has(source: Path) -> None:
    written, imported = set(), set()
    for cell in _cells(source):
        text = "".join(cell["source"])
        if text.startswith("%%writefile "):
            written.add(Path(text.split()[1]).stem)
        elif not text.startswith(SHELL):
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ImportFrom):
                    imported.add(str(node.module).partition(".")[0])
                elif isinstance(node, ast.Import):
                    imported |= {alias.name.partition(".")[0] for alias in node.names}
    ours = {"adapters", "harness", "parsers", "reports"}
    theirs = {"IPython", "PIL", "matplotlib", "pandas", "scipy"}
    assert imported - written <= ours | theirs | sys.stdlib_module_names


def _analysed(folder: Path) -> str:
    """What the tutorial on errors prints about the runs in `folder/runs`."""
    text, _ = page(execute(SOURCES / "analyse-errors.ipynb", folder, checks=False), "errors")
    return text


def test_errors_are_analysed_in_runs_of_one_s_own(tmp_path: Path) -> None:
    first = worked()
    said = [call(record, "I would \x1b[2J click <b>A</b>") for record in first if record.asked]
    write(tmp_path / "runs" / "one", first, calls=said)
    second = [step("A", 0, False, status=Status.PARSE_ERROR), step("A", 1, True, settled=False)]
    second = [*second, *worked(repeat=1)]
    write(tmp_path / "runs" / "two", second, setup(repeats=2, distractors=5), complete=False)
    (tmp_path / "runs" / "something else").mkdir()
    text = _analysed(tmp_path)
    assert "reply:  I would [2J click <b>A</b>" in text
    assert "\x1b" not in text
    assert "differs: distractors: 20 (one); 5 (two)" in text
    assert "no screenshot: " in text
    assert "no further class of failing steps" in text


@pytest.mark.parametrize("steps", [[step("A", 0, True)], []], ids=["nothing failed", "no steps"])
def test_errors_are_analysed_where_there_are_none(tmp_path: Path, steps: list[Any]) -> None:
    write(tmp_path / "runs" / "one", steps, setup(dataset={"rows": 1}), complete=bool(steps))
    (tmp_path / "notebooks").mkdir()
    assert "no further class of failing steps" in _analysed(tmp_path / "notebooks")


def test_a_page_is_the_same_wherever_its_notebook_ran() -> None:
    told = "run:  runs/x\n158/158 steps, 306 calls, 5955.9 steps/min | so far: 51.5\ncomplete\n"
    assert replaced(NORMALISED, told) == "run:  runs/x\ncomplete\n"
    recipe = "[picture 1280 x 720: v1;policy=full;quality=90;pillow=13.0.0;libjpeg=turbo-3.2.0]\n"
    assert replaced(NORMALISED, recipe) == "[picture 1280 x 720: v1;policy=full;quality=90]\n"
