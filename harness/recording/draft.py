"""A trajectory while it is recorded: its steps without their secrets, in memory until it ends.

OUT/task-1a2b3c4d.parquet         the trajectory
OUT/task-1a2b3c4d.txt             its steps in words, with notes on what the format cannot express
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from uuid import uuid4

from harness.errors import UserError
from harness.live.clean import Node, find, tree_of
from harness.recording import columns
from harness.recording.columns import (
    ActedElement,
    Op,
    PerformedStep,
    RecordedTask,
    positives,
    target_of,
)
from harness.recording.masking import Secrets, masked_page
from harness.recording.pages import PageDescription, html_of
from parsers.records import Box

_LEVEL = 6
"""Level of zstd: low, since the person waits for it."""
_NOWHERE = Box(0, 0, 0, 0)
NO_POSITIVE = "the element cannot be seen on the page: no model is asked about this step"


@dataclass(frozen=True, slots=True)
class Taken:
    """A recorded step.

    picture: the encoded screenshot; None if there is none.
    """

    op: Op
    value: str
    page: PageDescription
    picture: bytes | None
    notes: tuple[str, ...] = ()

    def step(self) -> PerformedStep:
        """Convert to a step of a trajectory, on an invisible element if the page has none."""
        root = tree_of(self.page.nodes)
        try:
            target = target_of(find(root, self.page.labelled))
        except KeyError:
            unseen = Node("", self.page.tag or "html", {}, {}, _NOWHERE, False, False)
            target = ActedElement(unseen, unseen)
        html = html_of(self.page.pieces)
        return PerformedStep(str(uuid4()), self.op, self.value, root, html, target, self.picture)


class Draft:
    """An unfinished trajectory.

    out: the folder that it will be written to.
    steps: the steps recorded so far.
    """

    def __init__(self, out: Path, website: str) -> None:
        """Raises `UserError` if the folder cannot be made."""
        self.steps: list[Taken] = []
        self._out = out
        self._task = RecordedTask(str(uuid4()), "", website)
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"--out {out}: {error.strerror or error}") from None

    def add(self, taken: Taken, secrets: Secrets) -> None:
        """Add a step without its secrets."""
        self.steps.append(_hidden(taken, secrets))

    def hide(self, secrets: Secrets) -> None:
        """Hide secrets in the steps so far."""
        self.steps = [_hidden(taken, secrets) for taken in self.steps]

    def finish(self, sentence: str, secrets: Secrets) -> Path:
        """Write the trajectory. Returns the parquet file."""
        task = replace(self._task, confirmed_task=secrets.masked(sentence))
        target = self._out / f"task-{task.annotation_id[:8]}.parquet"
        part = target.with_suffix(".part")
        columns.write(part, columns.rows(task, [one.step() for one in self.steps]), level=_LEVEL)
        words = [line for at in range(len(self.steps)) for line in self.lines(at)]
        text = "\n".join([task.confirmed_task, "", *words, ""])
        target.with_suffix(".txt").write_text(text, encoding="utf-8")
        part.replace(target)
        return target

    def lines(self, at: int) -> list[str]:
        """Describe a step in words, with its notes."""
        taken = self.steps[at]
        notes = (f"     note: {one}" for one in taken.notes)
        return [f"{at + 1:3}  {taken.step().words}", *notes]


def _hidden(taken: Taken, secrets: Secrets) -> Taken:
    page, boxes = masked_page(taken.page, secrets)
    found = replace(taken, page=page, value=secrets.masked(taken.value))
    if not positives(found.step().target) and NO_POSITIVE not in found.notes:
        found = replace(found, notes=(*found.notes, NO_POSITIVE))
    if found.picture is not None and boxes:
        found = replace(found, picture=painted(found.picture, boxes))
    return found


def painted(picture: bytes, boxes: Sequence[Sequence[float]]) -> bytes:
    """Paint over boxes of a picture."""
    from PIL import Image, ImageDraw

    with Image.open(BytesIO(picture)) as image:
        image.load()
        draw = ImageDraw.Draw(image)
        for x, y, width, height in boxes:
            draw.rectangle((x, y, x + width, y + height), fill="black")
        out = BytesIO()
        image.save(out, "JPEG", quality=85)
    return out.getvalue()
