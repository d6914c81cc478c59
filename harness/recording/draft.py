"""A trajectory while it is recorded: one file per step, so a crash loses the open step only.

OUT/unfinished/task.json          its first address, and the ids
OUT/unfinished/0001.jpg           the page before the first action
OUT/unfinished/0001.step          the page's elements and HTML, the action, notes; without secrets
OUT/task-1a2b3c4d.parquet         a finished trajectory
OUT/task-1a2b3c4d.txt             its steps in words, with notes on what the format cannot express
"""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import get_args
from uuid import uuid4

import msgspec

from adapters.decoding import decode_json
from harness.errors import UserError
from harness.live.nodes import Node, find, tree_of
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

UNFINISHED = "unfinished"
_LARGEST = 256_000_000
_LEVEL = 6
"""Level of zstd: low, since the person waits for it."""
_NOWHERE = Box(0, 0, 0, 0)
NO_POSITIVE = "the element cannot be seen on the page: no model is asked about this step"


class Begun(msgspec.Struct, frozen=True):
    """The first address of a trajectory, and its ids.

    secrets: True if anything was hidden in it.
    """

    annotation_id: str
    url: str
    website: str
    domain: str = ""
    subdomain: str = ""
    secrets: bool = False


@dataclass(frozen=True, slots=True)
class Taken:
    """A recorded step.

    url: the page's address.
    entry: the page's number in the history of its tab.
    """

    action_uid: str
    op: Op
    value: str
    page: PageDescription
    url: str = ""
    entry: int = -1
    notes: tuple[str, ...] = ()

    @property
    def target(self) -> ActedElement:
        """The element that was acted on; an invisible one if the page does not have it."""
        try:
            return target_of(find(tree_of(self.page.nodes), self.page.labelled))
        except KeyError:
            unseen = Node("", self.page.tag or "html", {}, {}, _NOWHERE, False, False)
            return ActedElement(unseen, unseen)

    def step(self, picture: bytes | None) -> PerformedStep:
        """Convert to a step of a trajectory."""
        target = self.target
        *_, root = target.top.ancestors()
        if not target.top.id:
            root = tree_of(self.page.nodes)
        html = html_of(self.page.pieces)
        return PerformedStep(self.action_uid, self.op, self.value, root, html, target, picture)


class Draft:
    """An unfinished trajectory in a folder.

    folder: its folder.
    steps: the steps recorded so far.
    """

    def __init__(self, folder: Path, begun: Begun, steps: Sequence[Taken] = ()) -> None:
        self.begun = begun
        self.steps = list(steps)
        self._out = folder
        self.folder = folder / UNFINISHED

    @classmethod
    def begin(cls, out: Path, url: str, *, website: str, domain: str, subdomain: str) -> Draft:
        """Begin a trajectory in a new folder.

        Raises:
            UserError: there is an unfinished one, or the folder cannot be written to.
        """
        if (out / UNFINISHED).exists():
            raise UserError(
                f"{out / UNFINISHED} holds an interrupted recording: continue it "
                "(--resume), or delete it (--discard)"
            )
        begun = Begun(str(uuid4()), url, website, domain, subdomain)
        draft = cls(out, begun)
        try:
            draft.folder.mkdir(parents=True)
            draft._write("task.json", msgspec.json.encode(begun))
        except OSError as error:
            raise UserError(f"--out {out}: {error.strerror or error}") from None
        return draft

    @classmethod
    def resume(cls, out: Path) -> Draft:
        """Continue an unfinished trajectory, without a step that was written in part.

        Raises:
            UserError: there is none, or its files cannot be read.
        """
        folder = out / UNFINISHED
        try:
            begun = decode_json((folder / "task.json").read_bytes(), Begun)
        except FileNotFoundError:
            raise UserError(f"{out} has no unfinished recording") from None
        except (OSError, msgspec.MsgspecError) as error:
            raise UserError(f"{folder / 'task.json'} cannot be read: {error}") from None
        draft = cls(out, begun)
        while (path := draft._path(len(draft.steps), "step")).exists():
            draft.steps.append(_read(path))
        return draft

    def add(self, taken: Taken, picture: bytes | None, secrets: Secrets) -> Taken:
        """Write a step without its secrets, and return the written step."""
        at = len(self.steps)
        written = self._put(at, taken, picture, secrets)
        self.steps.append(written)
        if secrets and not self.begun.secrets:
            self._note_secrets()
        return written

    def undo(self) -> Taken | None:
        """Remove the last step; None if there is none."""
        if not self.steps:
            return None
        at = len(self.steps) - 1
        self._path(at, "step").unlink(missing_ok=True)
        self._path(at, "jpg").unlink(missing_ok=True)
        return self.steps.pop()

    def hide(self, secrets: Secrets) -> None:
        """Hide secrets in the steps that have been written."""
        for at, taken in enumerate(self.steps):
            picture = self._path(at, "jpg")
            data = picture.read_bytes() if picture.exists() else None
            self.steps[at] = self._put(at, taken, data, secrets)
        self._note_secrets()

    def finish(self, sentence: str, secrets: Secrets) -> Path:
        """Write the trajectory, and remove the draft. Returns the parquet file."""
        begun = self.begun
        trajectory = RecordedTask(
            begun.annotation_id,
            secrets.masked(sentence),
            begun.website,
            begun.domain,
            begun.subdomain,
        )
        pictures = (self._path(at, "jpg") for at in range(len(self.steps)))
        steps = [
            taken.step(path.read_bytes() if path.exists() else None)
            for taken, path in zip(self.steps, pictures, strict=True)
        ]
        target = self._out / f"task-{begun.annotation_id[:8]}.parquet"
        part = target.with_suffix(".part")
        columns.write(part, columns.rows(trajectory, steps), level=_LEVEL)
        lines = [trajectory.confirmed_task, "", *self.lines()]
        target.with_suffix(".txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        part.replace(target)
        self.discard()
        return target

    def lines(self) -> list[str]:
        """Describe all steps in words, each with its notes."""
        return [line for at in range(len(self.steps)) for line in self.step_lines(at)]

    def step_lines(self, at: int) -> list[str]:
        """Describe a step in words, with its notes."""
        taken = self.steps[at]
        return [
            f"{at + 1:3}  {taken.step(None).words}",
            *(f"     note: {one}" for one in taken.notes),
        ]

    def discard(self) -> None:
        """Remove the draft."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _put(self, at: int, taken: Taken, picture: bytes | None, secrets: Secrets) -> Taken:
        hidden = masked_page(taken.page, secrets)
        value, url = secrets.masked(taken.value), secrets.masked(taken.url)
        written = replace(taken, page=hidden.page, value=value, url=url)
        if not positives(written.target) and NO_POSITIVE not in written.notes:
            written = replace(written, notes=(*written.notes, NO_POSITIVE))
        if picture is not None:
            self._write(self._path(at, "jpg").name, painted(picture, hidden.boxes))
        self._write(self._path(at, "step").name, zlib.compress(msgspec.json.encode(written), 6))
        return written

    def _note_secrets(self) -> None:
        self.begun = msgspec.structs.replace(self.begun, secrets=True)
        self._write("task.json", msgspec.json.encode(self.begun))

    def _path(self, at: int, suffix: str) -> Path:
        return self.folder / f"{at + 1:04}.{suffix}"

    def _write(self, name: str, data: bytes) -> None:
        part = self.folder / f"{name}.part"
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(self.folder / name)


def painted(picture: bytes, boxes: Sequence[Sequence[float]]) -> bytes:
    """Paint over boxes of a picture; without boxes, return the same bytes."""
    if not boxes:
        return picture
    from PIL import Image, ImageDraw

    with Image.open(BytesIO(picture)) as image:
        image.load()
        draw = ImageDraw.Draw(image)
        for x, y, width, height in boxes:
            draw.rectangle((x, y, x + width, y + height), fill="black")
        out = BytesIO()
        image.save(out, "JPEG", quality=85)
    return out.getvalue()


def _read(path: Path) -> Taken:
    """Raises `UserError`."""
    try:
        unpacked = zlib.decompressobj().decompress(path.read_bytes(), _LARGEST)
        taken = decode_json(unpacked, Taken)
        tree_of(taken.page.nodes)
        if taken.op not in get_args(Op):
            raise ValueError(taken.op)
    except (OSError, zlib.error, ValueError) as error:
        raise UserError(
            f"{path} cannot be read: {error}; delete it to continue without it"
        ) from None
    return taken
