"""WebClick (H Company 2025): web pages as agents and people see them, calendars among them."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.folders import Folder, converted
from harness.benchmarks.parquet import opened, small_columns
from harness.kinds.grounding.sets.boxes import declaration
from harness.kinds.grounding.sets.opening import GroundingSet, Row, Rows
from parsers.declaration import Declaration, Group

DECLARED = declaration(
    groups=(Group("bucket", "who used the page, or calendars"),), cells=("bucket",)
)


class Stored(msgspec.Struct, frozen=True):
    """A row without its picture: a box as `xyxy-unit`."""

    instruction: str
    bbox: tuple[float, float, float, float]
    bucket: str


@dataclass(frozen=True)
class WebClick(GroundingSet):
    """1,639 places on web pages. Pictures have no names: equal ones are one picture."""

    name: str = "webclick"
    description: str = "WebClick (H Company 2025): web pages and calendars, 1,639 places"
    splits: tuple[str, ...] = ("test",)
    default_splits: tuple[str, ...] = ("test",)
    sizes: tuple[SplitSize, ...] = (SplitSize("test", None, 1639),)
    declared: Declaration = DECLARED
    repo: str = "Hcompany/WebClick"
    revision: str | None = "9482a7d5aaa8f4cd5d28d9ed0c8e0c48d20b1e4a"
    files: tuple[str, ...] = ("*.parquet",)

    def rows(self, folder: Folder, split: str) -> Rows:
        files = folder.files("**/*.parquet", f"the rows of {self.name}")
        rows: list[Row] = []
        for file in files:
            pictures = folder.parquet.facts(file.path)
            with opened(file.path) as table:
                records = small_columns(table, ["instruction", "bbox", "bucket"])
                for picture, (*_, record) in zip(pictures, records, strict=True):
                    where = f"{file.name}, row {len(rows) + 1}"
                    one = converted(record, Stored, where)
                    name = picture.digest[:16]
                    folder.stored.setdefault(name, picture.cell)
                    row = Row(
                        where=where,
                        unit_id=f"webclick_{len(rows)}",
                        picture=name,
                        instruction=one.instruction,
                        box=one.bbox,
                        size=picture.size,
                        labels={"bucket": one.bucket},
                    )
                    rows.append(row)
        return Rows(rows, "xyxy-unit", files)


BENCHMARK = WebClick()
