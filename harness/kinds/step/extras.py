"""Bounds and extra counts of recorded steps: chance and oracle, the lists, the points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from harness.kinds.extras import Bound, Bounds, Extras, Records, unanswered
from harness.runs import StepUnit
from harness.settings import Settings
from harness.tables import counted
from parsers import Counts
from parsers.records import Status


class StepsExtras(Extras):
    """Of recorded steps, with a list of choices or with points on a picture."""

    def bounds(self, records: Records, settings: Settings) -> Bounds | None:
        from harness.kinds.step.bounds import bounds_of

        return bounds_of(records, settings)

    def rows(self, records: Records) -> dict[str, int]:
        return {
            "not_offered": sum(map(not_offered, records)),
            "short": sum(record.detail.short for record in records),
            "same_text": sum(record.detail.same_text > 0 for record in records),
            "related": sum(record.detail.related > 0 for record in records),
            **{f"conversations_with_{n}_wrong": found for n, found in wrong_steps(records).items()},
        }

    def definitions(self, settings: Settings, ceilings: Iterable[Bound]) -> Iterator[str]:
        exact = "exactly the recorded operation and value"
        needed = "Op. F1 = 1" if settings.step_rule == "f1" else exact
        yield f"A step succeeds with the right element and {needed}."
        known = any(bound["element"] is not None for bound in ceilings)
        ceiling = (
            "the oracle, under this protocol and these rules."
            if known
            else "unknown, as the oracle cannot be asked from the record of this protocol."
        )
        yield f"floor: always-click, expected; ceiling: {ceiling}"

    def answers(self, records: Records, counts: Counts, top_k: int | None) -> Iterator[str]:
        if top_k is not None:
            valid = [record for record in records if record.invalid is None]
            share = f"{sum(map(not_offered, valid))} of {len(valid)} steps"
            yield f"positive not among the top {top_k}: {share}"
        if wrong := wrong_steps(records):
            yield from _wrong_steps(wrong, counts.n_parents)
        yield f"settled without an element: {unanswered(counts)}"
        if declined := counts.statuses.get(Status.NONE, 0):
            share = f"{100 * declined / counts.n_settled:.1f} %"
            yield f"answered 'none of these': {declined} of {counts.n_settled} ({share})"
        if in_text := counts.flags.get("in_text", 0):
            yield f"letters read from running text: {in_text} of {counts.n_settled}"

    def places(self, records: Records) -> Iterator[str]:
        scores = [r.scores for r in records if r.scores and r.scores["element_in_box"] is not None]
        boxed, under = (
            sum(bool(one[name]) for one in scores) for name in ("element_in_box", "element_under")
        )
        if scores:
            yield (
                f"points: {len(scores)}, of which {boxed} in the box of an acceptable element, "
                f"and {under} with one as the smallest candidate under them"
            )

    def questions(self, asked: Records) -> Iterator[str]:
        for count, what in (
            (sum(r.detail.short for r in asked), "show fewer negatives than asked for"),
            (
                sum(r.detail.same_text > 0 for r in asked),
                "have a negative that reads like the positive",
            ),
            (
                sum(r.detail.related > 0 for r in asked),
                "have a negative around or inside the positive",
            ),
        ):
            if count:
                yield f"choices: {count} of {len(asked)} steps {what}"


MORE = "more"
"""Means more than three wrong steps."""


def wrong_steps(records: Iterable[StepUnit]) -> dict[str, int]:
    """The number of conversations with 0, 1, 2, 3 and more wrong steps; {} without conversations.

    Conversations in which a valid step has no result yet are left out.
    """
    conversations: dict[tuple[str, str, int], list[bool | None]] = {}
    for record in records:
        if record.invalid is None and (name := record.parents.get("conversation")):
            won = record.scores["success"] == 1 if record.settled and record.scores else None
            conversations.setdefault((record.split, name, record.repeat), []).append(won)
    if not conversations:
        return {}
    numbers = [won.count(False) for won in conversations.values() if None not in won]
    shown = {str(n): numbers.count(n) for n in range(4)}
    return {**shown, MORE: sum(n > 3 for n in numbers)}


def _wrong_steps(found: Mapping[str, int], turns: int) -> Iterator[str]:
    """The shares, and those that MT-Mind2Web's code prints: it divides by the number of turns."""

    def shares(of: int) -> str:
        return ", ".join(
            f"{'more than 3' if n == MORE else n}: {100 * number / of:.1f} %"
            for n, number in found.items()
        )

    whole = sum(found.values())
    if whole:
        yield f"wrong steps in {counted(whole, 'conversation')}: {shares(whole)}"
        over = counted(turns, "turn")
        yield f"the same as the released code has it, over {over}: {shares(turns)}"


def not_offered(record: StepUnit) -> bool:
    """Return whether the ranker offers no acceptable element of a valid step."""
    if record.invalid is not None:
        return False
    prediction, detail = record.prediction, record.detail
    if prediction is not None and prediction.status is Status.NOT_OFFERED:
        return True
    return bool(detail.choices) and detail.gold.shown is None
