"""The user's own grounding items, and the sample's.

`grounding.toml`, `items.jsonl` and pictures are in a folder:

    vlm-eval --benchmark grounding-items --data my-screens --model oracle

The files are documented in docs/grounding.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.dataset import Items
from harness.benchmarks.folders import Folder, decoded_text, decoded_toml
from harness.benchmarks.grounding.sets import (
    CONVENTIONS,
    PICTURE,
    Convention,
    GroundingSet,
    Instruction,
    Size,
    declaration,
    points_of,
)
from harness.benchmarks.picture_sets import check_labels, own_folder, own_folders, reading
from harness.benchmarks.sample import refuse_data
from harness.benchmarks.sample_windows import SIZE, SampleWindows, Window
from harness.errors import DataError
from harness.sample import WINDOWS
from parsers.declaration import Declaration, Group, Level
from parsers.grounding import Target

SCHEMA, ITEMS = "grounding.toml", "items.jsonl"
DECLARED = declaration()


class _Schema(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`grounding.toml`.

    name: what the set is called, for the record.
    box: meaning of the numbers of boxes and polygons.
    groups: labels that results are broken down by; all items have them.
    cluster: the label whose values intervals take as independent; pictures unless given.
    """

    name: str
    box: Convention
    groups: list[str] = []
    cluster: str = ""


class _Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of `items.jsonl`, with one of box, polygon and absent."""

    id: str
    image: str
    instruction: str
    box: tuple[float, float, float, float] | None = None
    polygon: list[float] | None = None
    absent: bool = False
    labels: dict[str, str] = {}


@dataclass(frozen=True)
class GroundingItems(GroundingSet):
    """The user's own items."""

    name: str = "grounding-items"
    guarded = False
    folders: tuple[str, ...] = ("", "images", "images.zip")
    declared: Declaration = DECLARED

    def holds(self, data: Path) -> bool:
        """Return True for a folder with a schema, and for a schema."""
        return bool(own_folders(data, SCHEMA))

    def folder(self, data: Path | None, splits: Sequence[str] = ()) -> Folder:
        return own_folder(self.name, data, SCHEMA, "the boxes of its items", self.folders)

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> Items:
        """Open a folder of items, or the one above it."""
        schema = _schema(self.folder(data).root / SCHEMA)
        opened = super().open(splits=splits, data=data)
        origin = {**opened.origin, "set": schema.name}
        absent = any(unit.detail.gold.kind == "absent" for unit in opened.entries)
        return replace(opened, declared=_declared(schema, absent=absent), origin=origin)

    def rows(self, folder: Folder, split: str) -> Iterator[Instruction]:
        schema = _schema(folder.root / SCHEMA)
        folder.files(SCHEMA, "the schema")
        folder.files(ITEMS, "a line per item")
        for number, one in decoded_text(folder.root / ITEMS, _Stored):
            yield _row(one, f"{ITEMS}, line {number}", folder, schema)


def _schema(path: Path) -> _Schema:
    return decoded_toml(path, _Schema, f"box is one of {', '.join(CONVENTIONS)}")


def _declared(schema: _Schema, *, absent: bool) -> Declaration:
    levels, clusters = [PICTURE], ["picture"]
    if schema.cluster not in ("", "picture"):
        levels.append(Level(schema.cluster, shared=True))
        clusters.insert(0, schema.cluster)
    groups = [Group(name) for name in schema.groups if name not in ("split", *clusters)]
    with reading(SCHEMA):
        return declaration(
            levels=levels,
            clusters=clusters,
            groups=groups,
            cells=[one.name for one in groups],
            absent=absent,
        )


def _row(
    one: _Stored, where: str, folder: Folder, schema: _Schema, size: Size | None = None
) -> Instruction:
    cluster = "" if schema.cluster == "picture" else schema.cluster
    needed = [*schema.groups, *([cluster] if cluster else [])]
    check_labels(needed, SCHEMA, one.labels, f"{folder.root}/{where}: {one.id}")
    return Instruction(
        where=where,
        unit_id=one.id,
        picture=one.image,
        instruction=one.instruction,
        box=_box(one, schema.box, folder, where),
        convention=schema.box,
        size=size,
        parents={cluster: one.labels[cluster]} if cluster else {},
        labels={name: value for name, value in one.labels.items() if name != cluster},
    )


def _box(
    one: _Stored, convention: Convention, folder: Folder, where: str
) -> Sequence[float] | Target:
    given = [one.box is not None, one.polygon is not None, one.absent]
    if sum(given) != 1:
        raise DataError(f"{folder.root}/{where}: {one.id} needs one of box, polygon and absent")
    if one.absent:
        return Target("absent")
    if one.box is not None:
        return one.box
    with reading(f"{folder.root}/{where}"):
        return Target("polygon", points_of(one.polygon or (), convention, folder.size(one.image)))


REFINED = "-refined"
"""Suffix of the sample's splits with instructions that name a neighbour."""
_SAMPLE = _Schema("sample-grounding", "xyxy-px", cluster="website")


class _Place(Window, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of the sample; `refined` is its instruction in the refined split."""

    item: _Stored
    refined: str


@dataclass(frozen=True)
class _Windows(Folder):
    """Windows of screenshots as pictures, by the name of the picture."""

    windows: dict[str, tuple[SampleWindows, Window]] = field(default_factory=dict)

    def picture(self, name: str) -> bytes:
        screenshots, window = self.windows[name]
        return screenshots.cut(window)


@dataclass(frozen=True)
class GroundingSample(GroundingSet):
    """Places on pages of made-up sites; scores do not measure a model's ability."""

    guarded = False

    def holds(self, data: Path) -> bool:
        return False

    def folder(self, data: Path | None, splits: Sequence[str] = ()) -> Folder:
        refuse_data(self.name, data)
        return _Windows(WINDOWS, {"origin": "package"})

    def rows(self, folder: Folder, split: str) -> Iterator[Instruction]:
        assert isinstance(folder, _Windows)
        screenshots = SampleWindows(split.removesuffix(REFINED))
        folder.used[screenshots.file.name] = screenshots.file
        for where, line in screenshots.lines("places", _Place):
            folder.windows[line.item.image] = screenshots, line
            row = _row(line.item, where, folder, _SAMPLE, SIZE)
            yield replace(row, instruction=line.refined) if REFINED in split else row


SAMPLE = GroundingSample(
    "sample-grounding",
    splits=("dev", "test", f"dev{REFINED}", f"test{REFINED}"),
    sizes=tuple(
        SplitSize(f"{split}{suffix}", pictures, items)
        for suffix in ("", REFINED)
        for split, pictures, items in (("dev", 65, 117), ("test", 114, 205))
    ),
    declared=declaration(
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
    ),
)
