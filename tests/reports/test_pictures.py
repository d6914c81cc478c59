"""Pictures for notebooks: the boxes of a unit on its screenshot, scaled and cut."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from harness.runs import open_run
from parsers.records import Box, Choice, Gold
from reports.pictures import (
    CHOSEN,
    HEIGHT,
    TARGET,
    WIDTH,
    DataGone,
    as_jpeg,
    boxes_on_screenshot,
)
from tests.reports.runs import step, write

PAGE = (1280, 3000)
BOXES = ((40.0, 100.0, 200.0, 30.0), (40.0, 260.0, 200.0, 30.0), (600.0, 300.0, 80.0, 30.0))


def _pictured(monkeypatch: pytest.MonkeyPatch, folder: Path, **more: Any) -> Image.Image:
    """The drawing of a step on a white page: A is chosen, B is right, D is neither."""
    choices = tuple(
        Choice(letter, id_, "a", "text", Box(*box) if box else None)
        for letter, id_, box in zip("ABD", "879", more.pop("boxes", BOXES), strict=True)
    )
    values: dict[str, Any] = {"gold": Gold("CLICK", "", ("7",), (choices[1].box,), "7")}
    write(folder / "run", [step("A", 0, False, choices=choices, **{**values, **more})])
    run = open_run(folder / "run")
    buffer = io.BytesIO()
    Image.new("RGB", PAGE, "white").save(buffer, "PNG")
    monkeypatch.setattr(type(run), "screenshot", lambda self, step_id: buffer.getvalue())
    return boxes_on_screenshot(run, "A_0")


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour[1:]))


def test_target_and_chosen_element_are_drawn_where_they_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    image = _pictured(monkeypatch, tmp_path)
    assert image.width <= WIDTH
    assert image.height <= HEIGHT
    scale = image.width / 960
    found = {image.getpixel((round(140 * scale), round(y * scale))) for y in range(250, 265)}
    assert _rgb(TARGET) in found
    colours = {colour for _, colour in image.getcolors(1 << 16) or ()}
    assert _rgb(CHOSEN) in colours


def test_elements_far_apart_are_scaled_and_none_at_all_show_the_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    far = ((40.0, 20.0, 200.0, 30.0), (900.0, 2950.0, 300.0, 60.0), None)
    assert _pictured(monkeypatch, tmp_path / "far", boxes=far).height == HEIGHT
    none = _pictured(monkeypatch, tmp_path / "none", boxes=(None, None, None))
    assert none.height == HEIGHT
    assert abs(none.width / none.height - PAGE[0] / PAGE[1]) < 0.01
    outside = ((5000.0, 9000.0, 10.0, 10.0), (-50.0, -70.0, 10.0, 10.0), None)
    assert _pictured(monkeypatch, tmp_path / "outside", boxes=outside).width > 0


def test_what_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = open_run(write(tmp_path / "run", [step("A", 0, False)]))
    with pytest.raises(DataGone, match="no step B_0"):
        boxes_on_screenshot(run, "B_0")
    monkeypatch.setattr(type(run), "screenshot", lambda self, step_id: b"no picture")
    with pytest.raises(DataGone, match="cannot be read"):
        boxes_on_screenshot(run, "A_0")


def test_a_shown_picture_has_one_form() -> None:
    shown = as_jpeg(Image.new("RGB", (8, 8)))
    assert shown._repr_mimebundle_(include=None, exclude=None) == {"image/jpeg": shown.data}
