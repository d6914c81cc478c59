"""Finished prompts: what chance and the right answers reach on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from harness.benchmarks import benchmark
from harness.errors import UserError
from harness.kinds.contract import UnitKind
from harness.kinds.prompt.policies import elements
from harness.kinds.prompt.record import PromptDetail
from harness.kinds.protocols import as_answered, open_with
from harness.kinds.scoring import Bound, Bounds, Extras, UnitBounds, key_of, scorer_of
from harness.runs import Unit
from harness.settings import Settings
from parsers.actions import Action
from parsers.records import Prediction, Scores, Status

PromptRecord = Unit[PromptDetail]


class PromptsExtras(Extras):
    """Of finished prompts; the floor is a click on a random element."""

    def bounds(self, records: Sequence[PromptRecord], settings: Settings) -> Bounds | None:
        try:
            protocol = open_with(settings)
        except UserError:
            return None
        declared = benchmark(settings.benchmark).declared
        score = scorer_of(settings, declared)

        def scored(record: PromptRecord, action: Action) -> Scores:
            answer = Prediction(Status.ANSWERED, action)
            asked = Prompts.of_record(record).asked
            said = as_answered(protocol, asked, answer, declared.actions)
            return score(said, record.detail)

        distinct = {key_of(record): record for record in records}
        return UnitBounds(
            declared,
            chance={key: expected(one, scored) for key, one in distinct.items()},
            oracle={key: scored(one, one.detail.gold) for key, one in distinct.items()},
        )

    def definitions(self, settings: Settings, ceilings: Iterable[Bound]) -> Iterator[str]:
        yield "floor: a click on a random element, expected; ceiling: the right answers."


class Prompts(UnitKind):
    """Units that are finished prompts."""

    extras = PromptsExtras()


def expected(record: PromptRecord, scored: Callable[[PromptRecord, Action], Scores]) -> Scores:
    """The scores of a click on an element of the page drawn at random, in expectation.

    All wrong clicks are assumed to score the same. Without any element, those of `finish()`.
    """
    ids = [one for one, _ in elements(record.detail.asked)]
    if not ids:
        return scored(record, Action("finish"))
    right = record.detail.gold.element
    wrong = next((one for one in ids if one != right), "")
    share = (right in ids) / len(ids)
    hit, miss = (scored(record, Action("click", one)) for one in (right or wrong, wrong or right))
    return {name: _between(share, hit[name], miss[name]) for name in hit}


def _between(share: float, hit: float | None, miss: float | None) -> float | None:
    return None if hit is None or miss is None else share * hit + (1 - share) * miss
