"""The user's own grounding items: `grounding.toml`, `items.jsonl` and pictures in a folder.

    vlm-eval --benchmark grounding-items --data my-screens --model oracle

The files are documented in docs/grounding-data.md. A package can give such a folder a name:

    TILLS = GroundingItems("tills", data=HERE)
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from harness.benchmarks.items import Items
from harness.errors import DataError, suggestion
from harness.kinds.grounding.sets.boxes import (
    CONVENTIONS,
    PICTURE,
    Convention,
    declaration,
    points_of,
)
from harness.kinds.grounding.sets.folders import Folder, decoded_text
from harness.kinds.grounding.sets.opening import GroundingSet, Row, Rows
from parsers.declaration import Declaration, Group, Level
from parsers.grounding import Target

SCHEMA, ITEMS = "grounding.toml", "items.jsonl"
DECLARED = declaration()


class Schema(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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


class Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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
    """The user's own items.

    Attributes:
        data: the folder to read if the user names none.
    """

    name: str = "grounding-items"
    description: str = "your own grounding items, given with --data"
    splits: tuple[str, ...] = ("test",)
    default_splits: tuple[str, ...] = ("test",)
    guarded = False
    folders: tuple[str, ...] = ("", "images", "images.zip")
    declared: Declaration = DECLARED
    data: Path | None = None

    def holds(self, data: Path) -> bool:
        return self.data is None and bool(_folders(data))

    def folder(self, data: Path | None) -> Folder:
        data = data or self.data
        if data is None:
            raise DataError(f"{self.name} are read from a folder of yours: give it with --data")
        found = _folders(data)
        if not found:
            raise DataError(f"{data} has no {SCHEMA}, which says what the boxes of its items are")
        if len(found) > 1:
            names = ", ".join(folder.name for folder in found)
            raise DataError(f"{data} has a {SCHEMA} in several folders ({names}): give one of them")
        return Folder(found[0], {"origin": "local"}, self.folders)

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> Items:
        """Open a folder of items, or the one above it."""
        schema = _schema(self.folder(data))
        opened = super().open(splits=splits, data=data)
        origin = {**opened.origin, "set": schema.name}
        absent = any(unit.detail.gold.kind == "absent" for unit in opened.entries)
        return replace(opened, declared=_declared(schema, absent=absent), origin=origin)

    def rows(self, folder: Folder, split: str) -> Rows:
        schema = _schema(folder)
        files = [*folder.files(SCHEMA, "the schema"), *folder.files(ITEMS, "a line per item")]
        return Rows(list(_rows(folder, schema)), schema.box, files)


def _folders(data: Path) -> list[Path]:
    """Return the folder, or those in it, that have a schema."""
    if (data / SCHEMA).is_file():
        return [data]
    return sorted(path.parent for path in data.glob(f"*/{SCHEMA}"))


def _schema(folder: Folder) -> Schema:
    path = folder.root / SCHEMA
    try:
        return msgspec.convert(tomllib.loads(path.read_text("utf-8")), Schema)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not valid TOML: {error}") from error
    except msgspec.ValidationError as error:
        raise DataError(f"{path}: {error}; box is one of {', '.join(CONVENTIONS)}") from error


def _declared(schema: Schema, *, absent: bool) -> Declaration:
    levels, clusters = [PICTURE], ["picture"]
    if schema.cluster not in ("", "picture"):
        levels.append(Level(schema.cluster, shared=True))
        clusters.insert(0, schema.cluster)
    groups = [Group(name) for name in schema.groups if name not in ("split", *clusters)]
    try:
        return declaration(
            levels=levels,
            clusters=clusters,
            groups=groups,
            cells=[one.name for one in groups],
            absent=absent,
        )
    except ValueError as error:
        raise DataError(f"{SCHEMA}: {error}") from error


def _rows(folder: Folder, schema: Schema) -> Iterator[Row]:
    cluster = "" if schema.cluster == "picture" else schema.cluster
    for number, one in decoded_text(folder.root / ITEMS, Stored):
        where = f"{ITEMS}, line {number}"
        for name in (*schema.groups, *filter(None, [cluster])):
            if name not in one.labels:
                hint = suggestion(name, one.labels)
                raise DataError(f"{folder.root}/{where}: {one.id} has no label '{name}'; {hint}")
        yield Row(
            where=where,
            unit_id=one.id,
            picture=one.image,
            instruction=one.instruction,
            box=_box(one, schema.box, folder, where),
            parents={cluster: one.labels[cluster]} if cluster else {},
            labels={name: value for name, value in one.labels.items() if name != cluster},
        )


def _box(
    one: Stored, convention: Convention, folder: Folder, where: str
) -> Sequence[float] | Target:
    given = [one.box is not None, one.polygon is not None, one.absent]
    if sum(given) != 1:
        raise DataError(f"{folder.root}/{where}: {one.id} needs one of box, polygon and absent")
    if one.absent:
        return Target("absent")
    if one.box is not None:
        return one.box
    try:
        return Target("polygon", points_of(one.polygon or (), convention, folder.size(one.image)))
    except ValueError as error:
        raise DataError(f"{folder.root}/{where}: {error}") from error
