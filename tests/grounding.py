"""A small benchmark of grounding for tests: two pictures, boxes, a polygon, an absent target."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar

from PIL import Image

from adapters.conversation import Picture
from harness.benchmarks import Items
from harness.benchmarks.grounding.benchmark import PlaceBenchmark
from harness.pictures import PicturePolicy, Screenshot, plan
from harness.views import PlaceView
from parsers.declaration import Declaration, Group, Level
from parsers.grounding import KIND, POINTING, SCORERS, GroundingDetail, Target, measures

SIZES = {"wide": (1920, 1080), "tall": (600, 1000)}
TARGETS: Mapping[str, tuple[str, str, Target]] = {
    "search": ("wide", "the search field", Target("box", (1400, 330, 1464, 350))),
    "menu": ("wide", "open the menu", Target("box", (0, 0, 48, 48))),
    "edge": ("wide", "close", Target("box", (1880, 1040, 1920, 1080))),
    "map": ("tall", "the island", Target("polygon", (100, 100, 300, 120, 280, 400, 90, 380))),
    "gone": ("tall", "the dragon", Target("absent")),
}
DECLARED = Declaration(
    measures(("micro", "cells"), ("role",), absent=True),
    levels=(Level("picture", shared=True),),
    groups=(Group("split", "the split"), Group("role", "what it is")),
    kind=KIND,
    unit="item",
    actions=POINTING,
)


@cache
def picture_bytes(name: str) -> bytes:
    """A picture of the set as PNG."""
    out = io.BytesIO()
    Image.new("RGB", SIZES[name], (240, 240, 240)).save(out, "PNG")
    return out.getvalue()


@dataclass(frozen=True)
class Screens(PlaceBenchmark):
    """The benchmark; its first three items are of the role `control`, the others `place`."""

    name: str = "screens"
    declared: Declaration = DECLARED
    scorers: ClassVar = SCORERS

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> Items:
        units = (
            self.unit(
                name,
                GroundingDetail(asked=asked, gold=target, size=SIZES[picture]),
                parents={"picture": picture},
                labels={"role": "control" if picture == "wide" else "place"},
                goal=asked,
            )
            for name, (picture, asked, target) in TARGETS.items()
        )
        return Items.of(units, pictures=lambda unit: (picture_bytes(unit.parents["picture"]),))


def item(size: tuple[int, int] = (1920, 1080), asked: str = "the search field") -> PlaceView:
    """An item with one picture of a size, shown unscaled."""
    return PlaceView("search", asked, (shown(size),))


def shown(size: tuple[int, int], policy: str = "full") -> Picture:
    """A picture as a policy shows it."""
    return plan(PicturePolicy.parse(policy), Screenshot("d" * 64, *size))[0]
