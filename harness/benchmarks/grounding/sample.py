"""The sample of grounding: places on screenshots of the recorded sample, found when it is opened.

Each screenshot is cut to a window; in it, at most two elements that can be clicked are asked about
by their names. Every tenth item asks for something that is not there. Every choice is made
by hash, and windows are cut without decoding: items and pictures are the same on every
machine. The `refined` splits ask about the same targets, and name what is next to them as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.folders import Cell, Folder, ParquetPictures
from harness.benchmarks.grounding.sample_pages import (
    SIZE,
    Clickable,
    View,
    direction,
    hash_of,
    jpeg_rows,
    outer,
    views,
)
from harness.benchmarks.grounding.sets import PICTURE, GroundingSet, Row, Rows, declaration
from harness.benchmarks.sample import refuse_data
from harness.data_files import DataFile
from harness.errors import DataError
from parsers.declaration import Declaration, Group, Level
from parsers.grounding import Target

PER_PICTURE, ABSENT_EVERY = 2, 10
REFINED = "-refined"
"""Suffix of splits with instructions that name a neighbour."""

_DOING = {
    "link": "open “{}”",
    "button": "press “{}”",
    "textbox": "type into “{}”",
    "combobox": "choose from “{}”",
    "checkbox": "tick “{}”",
    "radio": "select “{}”",
    "tab": "switch to “{}”",
}
_AREAS = ((1_800, "small"), (5_000, "medium"))
DECLARED = declaration(
    levels=(PICTURE, Level("website", shared=True)),
    clusters=("picture", "website"),
    groups=(
        Group("role", "what is asked for"),
        Group("size", "the size of the target"),
        Group("target", "whether there is a target"),
    ),
    cells=("role", "size"),
    absent=True,
    shared=True,
)


@dataclass(frozen=True)
class GroundingSample(GroundingSet):
    """Places on pages of made-up sites; scores do not measure a model's ability."""

    name: str = "sample-grounding"

    splits: tuple[str, ...] = ("dev", "test", f"dev{REFINED}", f"test{REFINED}")
    default_splits: tuple[str, ...] = ("test",)
    sizes: tuple[SplitSize, ...] = (
        SplitSize("dev", 65, 117),
        SplitSize("test", 114, 205),
        SplitSize(f"dev{REFINED}", 65, 117),
        SplitSize(f"test{REFINED}", 114, 205),
    )
    guarded = False
    declared: Declaration = DECLARED

    def holds(self, data: Path) -> bool:
        return False

    def folder(self, data: Path | None, splits: Sequence[str] = ()) -> Folder:
        from harness.sample import files

        refuse_data(self.name, data)
        return _Windows(files()["test"].parent, {"origin": "package"})

    def rows(self, folder: Folder, split: str) -> Rows:
        assert isinstance(folder, _Windows)
        name = split.removesuffix(REFINED)
        file = folder.root / f"{name}.parquet"
        if not file.exists():
            raise DataError(f"the sample is missing from this installation ({file})")
        stored = DataFile(file, None, file.name, file.stat().st_size)
        windows = list(_windows(folder, file))
        return Rows(list(_rows(windows, refined=split != name)), "xyxy-px", [stored])


class _Window(NamedTuple):
    """Clickable elements in a window of a screenshot, all and those that are asked about."""

    view: View
    shown: Sequence[Clickable]
    targets: Sequence[Clickable]


@dataclass(frozen=True)
class _Windows(Folder):
    """The sample's files, with windows as pictures."""

    cells: dict[str, tuple[Cell, int]] = field(default_factory=dict)
    screenshots: ParquetPictures = field(default_factory=lambda: ParquetPictures("screenshot"))

    def picture(self, name: str) -> bytes:
        cell, top = self.cells[name]
        return jpeg_rows(self.screenshots(cell), top, SIZE[1])


def _windows(folder: _Windows, file: Path) -> Iterator[_Window]:
    """Yield the window of every distinct screenshot, in the order of the file."""
    for view in dict.fromkeys(view for view, _ in views(file)):
        top = view.tops[hash_of(view.digest) % len(view.tops)]
        folder.cells[view.id] = view.cell, top
        shown = view.clickables(top)
        targets = sorted(outer(shown), key=lambda one: hash_of(view.digest, one.id))
        yield _Window(view, shown, targets[:PER_PICTURE])


def _rows(windows: Sequence[_Window], *, refined: bool) -> Iterator[Row]:
    names = [(w.view.website, one) for w in windows for one in w.targets]
    number = 0
    for window in windows:
        for place, one in enumerate(window.targets, start=1):
            number += 1
            unit_id = f"{window.view.id}-{place}"
            absent = number % ABSENT_EVERY == 0
            asked = _of_another_site(unit_id, window, names, one) if absent else one
            text = _DOING[asked.role].format(asked.name)
            if refined and (next_to := direction(one, window.shown)):
                text += f", {next_to}"
            yield Row(
                where=window.view.where,
                unit_id=unit_id,
                picture=window.view.id,
                instruction=text,
                box=Target("absent") if absent else one.box,
                size=SIZE,
                parents={"website": window.view.website},
                labels={
                    "role": asked.role,
                    "size": "absent" if absent else _size(one),
                    "target": "absent" if absent else "present",
                },
            )


def _of_another_site(
    unit_id: str, window: _Window, names: Sequence[tuple[str, Clickable]], instead: Clickable
) -> Clickable:
    """Something of that role that only other sites have."""
    others = (
        one
        for website, one in sorted(names, key=lambda pair: hash_of(unit_id, pair[1].name))
        if website != window.view.website
        and one.role == instead.role
        and one.name.casefold() not in window.view.words
    )
    return next(others)


def _size(one: Clickable) -> str:
    left, top, right, bottom = one.box
    area = (right - left) * (bottom - top)
    return next((name for most, name in _AREAS if area < most), "large")


BENCHMARK = GroundingSample()
