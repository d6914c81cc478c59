"""Every tutorial runs as it stands, and its page says what came out."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from PIL import Image

from notebooks.pages import PAGES, execute, page, sources

MOST = 60_000
"""Bytes that a picture of a page may have."""


def _size(content: bytes) -> tuple[int, int]:
    with Image.open(io.BytesIO(content)) as image:
        return image.size


@pytest.mark.parametrize("source", sources(), ids=lambda source: source.stem)
def test_a_tutorial_runs_and_its_page_says_what_came_out(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tutorial"
    folder.mkdir()
    text, pictures = page(execute(source, folder), source.stem)
    how = f"python -m notebooks.pages {source.stem} writes the page anew"
    assert text == (PAGES / f"{source.stem}.md").read_text("utf-8"), how
    stored = {path.name: path.read_bytes() for path in PAGES.glob(f"{source.stem}-[0-9]*")}
    assert stored.keys() == pictures.keys()
    for name, content in pictures.items():
        assert len(content) < MOST and len(stored[name]) < MOST
        # Fonts and versions of matplotlib change pixels; a plot of another shape is another plot.
        for new, old in zip(_size(content), _size(stored[name]), strict=True):
            assert abs(new - old) < 0.1 * old


def test_every_page_has_its_notebook_and_names_nothing_of_a_machine() -> None:
    assert sources()
    assert {path.stem for path in PAGES.glob("*.md")} == {source.stem for source in sources()}
    for path in PAGES.glob("*.md"):
        text = path.read_text("utf-8")
        assert not re.search(r"(?<![\w.<~])/(?:tmp|home|root|usr|opt|var|work)/|[A-Z]:\\\\", text)
        assert "\x1b" not in text
        assert all(alt for alt, _ in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", text))


@pytest.mark.parametrize("source", sources(), ids=lambda source: source.stem)
def test_a_notebook_is_stored_without_outputs(source: Path) -> None:
    notebook = json.loads(source.read_text("utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    assert "check" in {tag for cell in code for tag in cell["metadata"].get("tags", ())}


def test_a_page_is_the_same_wherever_its_notebook_ran() -> None:
    from notebooks.pages import NORMALISED, _replaced

    told = "run:  runs/x\n158/158 steps, 306 calls, 5955.9 steps/min | so far: 51.5\ncomplete\n"
    assert _replaced(NORMALISED, told) == "run:  runs/x\ncomplete\n"
    recipe = "[picture 1280 x 720: v1;policy=full;quality=90;pillow=13.0.0;libjpeg=turbo-3.2.0]\n"
    assert _replaced(NORMALISED, recipe) == "[picture 1280 x 720: v1;policy=full;quality=90]\n"
