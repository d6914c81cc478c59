"""Pictures for notebooks: a unit's boxes drawn on its screenshot, and encoded figures.

from reports import open_runs
from reports.pictures import as_jpeg, boxes_on_screenshot
[run] = open_runs("runs/a").values()
as_jpeg(boxes_on_screenshot(run, run.records()[0].unit_id))   # the last line of a cell
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PIL import Image, ImageDraw, ImageFont

from harness.runs import DataGone, Run, StepDetail, StepUnit, Unit
from reports.view.points import page_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["DataGone", "NotebookPicture", "as_jpeg", "as_png", "boxes_on_screenshot"]

WIDTH, HEIGHT = 820, 620
"""Largest size of a drawn screenshot, in pixels."""
MARGIN = 90
SMALLEST = 960, 420
"""Margin around the target and the chosen element, and smallest crop, in page pixels."""
TARGET, CHOSEN, OTHER = "#00703c", "#c4320a", "#6f6f6f"
COLOURS = {"target": TARGET, "chosen": CHOSEN, "distractor": OTHER}

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class NotebookPicture:
    """An encoded picture that a notebook displays.

    data: the encoded picture.
    mime: its media type.
    """

    data: bytes
    mime: str

    def _repr_mimebundle_(self, **_: object) -> dict[str, bytes]:
        return {self.mime: self.data}


def as_jpeg(image: Image.Image) -> NotebookPicture:
    """Encode an image as JPEG, which keeps screenshots small."""
    buffer = io.BytesIO()
    image.convert("RGB").save(buffer, "JPEG", quality=70, optimize=True)
    return NotebookPicture(buffer.getvalue(), "image/jpeg")


def as_png(figure: Figure) -> NotebookPicture:
    """Encode a matplotlib figure as PNG; needs no display."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=90)
    return NotebookPicture(buffer.getvalue(), "image/png")


def boxes_on_screenshot(run: Run, unit_id: str, repeat: int = 0) -> Image.Image:
    """Draw the boxes of a unit on its screenshot, cropped to the region of interest.

    Right elements have a solid green box, the chosen element a dashed red one; the listed ones are
    labelled. Every other choice has a thin grey box with its letter. Elements without a box on the
    page are left out. The picture is cropped around the listed right element and the chosen one and
    scaled to at most `WIDTH` by `HEIGHT`. Units of other kinds than recorded steps have the boxes
    that their kind brings to the page. Raises `DataGone` if the unit or its screenshot is not
    available.
    """
    record = _record(run, unit_id, repeat)
    page = _opened(run.screenshot(unit_id), unit_id)
    if isinstance(record.detail, StepDetail):
        boxes, around = list(_boxes(record)), _around(record)
    else:
        drawn = page_of(run).part(record).boxes or ()
        boxes = [(one.box, one.text, COLOURS[one.kind]) for one in drawn]
        around = [one.box for one in drawn if one.kind != "distractor"]
    left, top, right, bottom = _region(around, page.size)
    scale = min(1.0, WIDTH / (right - left), HEIGHT / (bottom - top))
    size = max(1, round((right - left) * scale)), max(1, round((bottom - top) * scale))
    part = page.crop((left, top, right, bottom)).resize(size, Image.Resampling.LANCZOS)
    draw = ImageDraw.Draw(part)
    for box, label, colour in boxes:
        x, y, width, height = box
        ends = (x - left, y - top, x + width - left, y + height - top)
        _mark(draw, [end * scale for end in ends], label, colour)
    return part


def _record(run: Run, unit_id: str, repeat: int) -> Unit[Any]:
    for record in run.records():
        if record.key == (unit_id, repeat):
            return record
    raise DataGone(f"the run has no {run.manifest.declaration.unit} {unit_id} of repeat {repeat}")


def _opened(data: bytes, unit_id: str) -> Image.Image:
    try:
        with Image.open(io.BytesIO(data)) as image:
            return image.convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataGone(f"the screenshot of {unit_id} cannot be read: {error}") from error


def _boxes(record: StepUnit) -> Iterator[tuple[Box, str, str]]:
    """Return boxes with label and colour, the most important last: they are drawn on top."""
    chosen = _chosen(record)
    listed = [choice for choice in record.detail.choices if choice.box]
    for choice in listed:
        if choice.box and not record.detail.accepts(choice) and choice.id != chosen:
            yield choice.box, choice.letter, OTHER
    for target in filter(None, record.detail.gold.boxes):
        yield target, "", TARGET
    for choice in listed:
        if choice.box and record.detail.accepts(choice):
            label = "" if choice.id == chosen else f"{choice.letter} target".lstrip()
            yield choice.box, label, TARGET
    for choice in listed:
        if choice.box and choice.id == chosen:
            right = "target, " if record.detail.accepts(choice) else ""
            yield choice.box, f"{choice.letter} {right}chosen".lstrip(), CHOSEN


def _chosen(record: StepUnit) -> str | None:
    """Return the id of the chosen element. (Its letter is ambiguous if choices are lettered in
    groups.)"""
    return record.prediction.element if record.prediction is not None else None


def _around(record: StepUnit) -> list[Box]:
    """Return the listed right element and the chosen one, else all right ones."""
    chosen = _chosen(record)
    detail = record.detail
    around: list[Box] = [
        c.box for c in detail.choices if c.box and (detail.accepts(c) or c.id == chosen)
    ]
    return around or [box for box in record.detail.gold.boxes if box]


def _region(around: Sequence[Box], size: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return the crop as left, top, right, bottom; the whole page if no box is known."""
    if not around:
        return 0, 0, *size
    across = _span(((x, x + width) for x, _, width, _ in around), SMALLEST[0], size[0])
    down = _span(((y, y + height) for _, y, _, height in around), SMALLEST[1], size[1])
    return across[0], down[0], across[1], down[1]


def _span(ends: Iterable[tuple[float, float]], least: int, most: int) -> tuple[int, int]:
    """Return an interval of the page with a margin around all `ends`, at least `least` long.

    >>> _span([(500.0, 520.0)], 400, 1280)
    (310, 710)
    >>> _span([(0.0, 20.0), (300.0, 320.0)], 400, 1280)
    (0, 410)
    >>> _span([(5000.0, 5020.0)], 400, 1280)
    (880, 1280)
    """
    pairs = list(ends)
    low = min(start for start, _ in pairs) - MARGIN
    high = max(end for _, end in pairs) + MARGIN
    missing = max(0.0, least - (high - low)) / 2
    first, last = max(0, round(low - missing)), min(most, round(high + missing))
    if last - first < min(least, most):
        first, last = (0, least) if first == 0 else (max(0, most - least), most)
    return max(0, min(first, most - 1)), min(last, most)


def _mark(draw: ImageDraw.ImageDraw, ends: list[float], label: str, colour: str) -> None:
    left, top, right, bottom = ends
    right, bottom = max(right, left), max(bottom, top)
    if colour == CHOSEN:
        _dashed(draw, left, top, right, bottom)
    else:
        draw.rectangle(
            (left, top, right, bottom), outline=colour, width=1 if colour == OTHER else 3
        )
    if label:
        _tag(draw, ends, label, colour)


def _tag(draw: ImageDraw.ImageDraw, ends: list[float], label: str, colour: str) -> None:
    """Draw a label above the box (below it for the chosen element), if possible in the picture."""
    left, top, _, bottom = ends
    font = ImageFont.load_default(11 if colour == OTHER else 14)
    width, height = draw.textbbox((0, 0), label, font=font)[2:]
    width, height = width + 6, height + 4
    above, below = top - height, bottom
    if colour == CHOSEN:
        y = below if below + height <= draw.im.size[1] else above
    else:
        y = above if above >= 0 else below
    draw.rectangle((left, y, left + width, y + height), fill=colour)
    draw.text((left + 3, y + 1), label, fill="white", font=font)


def _dashed(
    draw: ImageDraw.ImageDraw, left: float, top: float, right: float, bottom: float
) -> None:
    dash, gap = 9, 6
    for start in range(round(left), round(right), dash + gap):
        for y in (top, bottom):
            draw.line((start, y, min(start + dash, right), y), fill=CHOSEN, width=3)
    for start in range(round(top), round(bottom), dash + gap):
        for x in (left, right):
            draw.line((x, start, x, min(start + dash, bottom)), fill=CHOSEN, width=3)
