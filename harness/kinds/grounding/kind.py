"""Grounding items as a run asks about them: whole pictures, chance, the form's rounding."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.benchmarks import Dataset, benchmark, declared
from harness.errors import UserError
from harness.kinds.grounding.predictions import mistaken
from harness.kinds.scoring import (
    Bound,
    Bounds,
    Extras,
    UnitBounds,
    key_of,
    scorer_of,
)
from harness.kinds.whole_pictures import WholePictures, oracle_scores
from harness.pictures import Recipe
from harness.policies import Secret
from harness.records import Item
from harness.runs import Unit
from harness.settings import Settings
from harness.tables import counted
from parsers import Counts
from parsers.actions import Action
from parsers.grounding import CLICK, KIND, GroundingDetail, Target
from parsers.points import CONVENTIONS
from parsers.records import Prediction, Scores, Status
from parsers.reply_text import ENDED

if TYPE_CHECKING:
    from harness.kinds.grounding.predictions import GroundingPredictions


GroundingRecord = Unit[GroundingDetail]
UNREAD = (Status.PARSE_ERROR, Status.NO_ELEMENT, Status.AMBIGUOUS, Status.EMPTY)


class GroundingExtras(Extras):
    """Of instructions about pictures."""

    def bounds(self, records: Sequence[GroundingRecord], settings: Settings) -> Bounds | None:
        source = declared(settings.benchmark)
        if source is None:
            return None
        score = scorer_of(settings, source.declared)
        chance = {key_of(record): expected(record.detail) for record in records}
        return UnitBounds(chance, oracle_scores(records, settings, score))

    def definitions(self, settings: Settings, ceilings: Iterable[Bound]) -> Iterator[str]:
        known = any(bound["hit"] is not None for bound in ceilings)
        ceiling = "the middle of every target, in the numbers of the form" if known else "unknown"
        yield f"chance: a random point, expected; ceiling: {ceiling}"

    def answers(
        self, records: Sequence[GroundingRecord], counts: Counts, top_k: int | None
    ) -> Iterator[str]:
        shown: tuple[tuple[str, tuple[Status, ...]], ...] = (
            ("declined", (Status.NONE,)),
            ("unreadable", UNREAD),
            ("cut off", (Status.TRUNCATED,)),
            ("out of range", (Status.OUT_OF_RANGE,)),
            ("refused", tuple(ENDED.values())),
            ("no reply", (Status.NO_REPLY,)),
        )
        shares = []
        for name, statuses in shown:
            number = sum(counts.statuses.get(status, 0) for status in statuses)
            share = 100 * number / counts.n_settled if counts.n_settled else 0.0
            shares.append(f"{name} {number} ({share:.1f} %)")
        yield f"of {counts.n_settled} answers: {', '.join(shares)}"
        if absent := [record for record in records if record.detail.gold.kind == "absent"]:
            right = sum(bool(record.scores and record.scores["hit"]) for record in absent)
            yield (
                f"absent targets, which Present leaves out: {right} of {len(absent)} declined, as "
                "is right"
            )

    def warning(self, records: Sequence[GroundingRecord], settings: Settings) -> str:
        used = dict(settings.protocol_options).get("coordinates")
        return mistaken(records, used) if used in CONVENTIONS else ""


class GroundingItems(WholePictures):
    """Pictures, each shown whole with an instruction."""

    extras = GroundingExtras()

    @classmethod
    def predictions(cls, settings: Settings) -> GroundingPredictions:
        from harness.kinds.grounding.predictions import GroundingPredictions

        return GroundingPredictions(settings)

    def check(self, selected: Dataset[Any]) -> None:
        """Raise `UserError` for more items without an instruction than are published so."""
        name = self.settings.benchmark
        blank = [unit.unit_id for unit in selected.entries if not unit.detail.asked.strip()]
        if len(blank) > getattr(benchmark(name), "known", {}).get("unasked", 0):
            raise UserError(
                f"{counted(len(blank), 'item')} of {name} (the first is {blank[0]}) have no "
                "instruction to ask about: complete the file, or leave them out"
            )


def expected(detail: GroundingDetail) -> Scores:
    """Return the mean scores of a point drawn uniformly from the picture."""
    width, height = detail.size
    share = min(1.0, _visible(detail.gold, detail.size) / (width * height))
    other = "declined" if detail.gold.kind == "absent" else "present"
    return dict.fromkeys(("hit", other, *detail.classes), share)


def _visible(target: Target, size: tuple[int, int]) -> float:
    """Return the area of a target, of a box that within the picture; 0 where it is absent."""
    if target.kind != "box":
        return target.area
    left, top, right, bottom = target.bounds
    across = min(right, size[0]) - max(left, 0)
    down = min(bottom, size[1]) - max(top, 0)
    return max(0.0, across) * max(0.0, down)


@dataclass(frozen=True, slots=True)
class RandomPoint:
    """A uniformly random point; never declines. Hits as often as targets are large."""

    name: str = "random"
    needs_gold: bool = False
    kind: str = KIND

    def predict(self, item: Item[str], chance: random.Random, secret: Secret | None) -> Prediction:
        return _at(item, chance.random(), chance.random())


@dataclass(frozen=True, slots=True)
class Centre:
    """The middle of the picture, where some replies that cannot be read are put elsewhere."""

    name: str = "centre"
    needs_gold: bool = False
    kind: str = KIND

    def predict(self, item: Item[str], chance: random.Random, secret: Secret | None) -> Prediction:
        return _at(item, 0.5, 0.5)


def _at(item: Item[str], across: float, down: float) -> Prediction:
    left, top, right, bottom = Recipe.parse(item.pictures[0].recipe).box
    point = left + across * (right - left), top + down * (bottom - top)
    return Prediction(Status.ANSWERED, Action(CLICK, point=point))
