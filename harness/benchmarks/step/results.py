"""Chance and further counts of recorded steps: the lists, the points, the conversations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.runs import StepUnit
from parsers import Counts, ScoringRules, score
from parsers.actions import Action
from parsers.estimates import unanswered
from parsers.records import Prediction, Scores, Status

Records = Sequence[StepUnit]


def counts(records: Records) -> dict[str, int]:
    """Further counts of rows, for `summary.json`."""
    return {
        "not_offered": sum(map(not_offered, records)),
        "short": sum(record.detail.short for record in records),
        "same_text": sum(record.detail.same_text > 0 for record in records),
        "related": sum(record.detail.related > 0 for record in records),
    }


def notes(records: Records, counts: Counts, top_k: int | None) -> Iterator[str]:
    """Lines below the table. `top_k` is the number of candidates of a ranker, None without one."""
    if top_k is not None:
        valid = [record for record in records if record.invalid is None]
        share = f"{sum(map(not_offered, valid))} of {len(valid)} steps"
        yield f"positive not among the top {top_k}: {share}"
    yield f"replies without an element: {unanswered(counts)}"
    if declined := counts.statuses.get(Status.NONE, 0):
        share = f"{100 * declined / counts.n_settled:.1f} %"
        yield f"answered 'none of these': {declined} of {counts.n_settled} ({share})"
    if in_text := counts.flags.get("in_text", 0):
        yield f"letters read from running text: {in_text} of {counts.n_settled}"
    scores = [r.scores for r in records if r.scores and r.scores["element_in_box"] is not None]
    boxed, under = (
        sum(bool(one[name]) for one in scores) for name in ("element_in_box", "element_under")
    )
    if scores:
        yield (
            f"points: {len(scores)}, of which {boxed} in the box of an acceptable element, "
            f"and {under} with one as the smallest candidate under them"
        )
    asked = [record for record in records if record.asked]
    for name, what in (
        ("short", "show fewer negatives than asked for"),
        ("same_text", "have a negative that reads like the positive"),
        ("related", "have a negative around or inside the positive"),
    ):
        if count := sum(getattr(record.detail, name) > 0 for record in asked):
            yield f"choices: {count} of {len(asked)} steps {what}"


def not_offered(record: StepUnit) -> bool:
    """Return whether the ranker offers no acceptable element of a valid step."""
    if record.invalid is not None:
        return False
    prediction, detail = record.prediction, record.detail
    if prediction is not None and prediction.status is Status.NOT_OFFERED:
        return True
    return bool(detail.choices) and detail.gold.shown is None


def chance(records: Records, rules: ScoringRules) -> Iterator[Scores]:
    """The expected scores of `always-click`, CLICK on a choice drawn at random, computed and not
    drawn.

    Without lists of choices it has an operation only, and none where that counts with the right
    element only.
    """
    known: tuple[str, ...] = ("element", "operation_f1", "success")
    listed = any(record.detail.choices for record in records)
    if not listed:
        known = () if rules.wrong_element_zeroes_operation else known[1:2]
    for record in records:
        found = _chance(record, known, rules)
        yield {name: found[name] for name in known}


def _chance(record: StepUnit, names: Sequence[str], rules: ScoringRules) -> Scores:
    prediction = record.prediction
    missed = prediction is not None and prediction.status is Status.NOT_OFFERED
    if record.invalid is not None or missed:
        return dict.fromkeys(names, 0.0)
    right = next(iter(record.detail.gold.elements), None)
    share = 0.0
    if record.detail.choices:
        share = len(record.detail.right) / len(record.detail.choices)
    hit, miss = (
        score(
            Prediction(Status.ANSWERED, Action("CLICK", element, arguments={"value": ""})),
            record.detail.gold,
            rules,
        )
        for element in (right, "")
    )
    return {name: share * (hit[name] or 0) + (1 - share) * (miss[name] or 0) for name in names}
