"""Bounds and extra counts of recorded steps: chance and oracle, the lists, the points.

Chance and oracle are under the run's protocol and rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from harness.benchmarks import actions_of
from harness.benchmarks.opening import as_answered, open_with
from harness.benchmarks.recorded import scoring_rules
from harness.benchmarks.scoring import Extras, Records, unanswered
from harness.benchmarks.step.listing import step_of
from harness.benchmarks.step.scene import RecordedScene
from harness.errors import UserError
from harness.policies import Oracle, Secret, chance_for
from harness.protocols import AskingProtocol
from harness.runs import StepUnit
from harness.settings import Settings
from harness.tables import counted
from harness.views import StepView
from parsers import Bounds, Counts, ScoringRules, score
from parsers.actions import Action, ActionSpace
from parsers.records import Prediction, Scores, Status


class StepsExtras(Extras):
    """Of recorded steps, with a list of choices or with points on a picture."""

    def bounds(self, records: Records, settings: Settings) -> Bounds | None:
        return bounds_of(records, settings)

    def rows(self, records: Records) -> dict[str, int]:
        return {
            "not_offered": sum(map(not_offered, records)),
            "short": sum(record.detail.short for record in records),
            "same_text": sum(record.detail.same_text > 0 for record in records),
            "related": sum(record.detail.related > 0 for record in records),
            **{f"conversations_with_{n}_wrong": found for n, found in wrong_steps(records).items()},
        }

    def definitions(self, settings: Settings, *, known: bool) -> Iterator[str]:
        exact = "exactly the recorded operation and value"
        needed = "Op. F1 = 1" if settings.step_rule == "f1" else exact
        yield f"A step succeeds with the right element and {needed}."
        ceiling = (
            "the oracle, under this protocol and these rules."
            if known
            else "unknown, as the oracle cannot be asked from the record of this protocol."
        )
        yield f"chance: always-click, expected; ceiling: {ceiling}"

    def answers(self, records: Records, counts: Counts, top_k: int | None) -> Iterator[str]:
        if top_k is not None:
            valid = [record for record in records if record.invalid is None]
            share = f"{sum(map(not_offered, valid))} of {len(valid)} steps"
            yield f"positive not among the top {top_k}: {share}"
        if wrong := wrong_steps(records):
            yield from _wrong_steps(wrong, counts.n_parents)
        yield f"replies without an element: {unanswered(counts)}"
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


def bounds_of(records: Sequence[StepUnit], settings: Settings) -> Bounds:
    """The scores of chance and of the oracle on the rows of a run, without data and pictures.

    Without lists of choices, chance has an operation only; and none where that counts with the
    right element only.
    """
    rules = scoring_rules(settings)
    known: tuple[str, ...] = _names(rules)
    if not any(record.detail.choices for record in records):
        known = () if rules.wrong_element_zeroes_operation else known[1:2]
    chance = {
        _key(record): {name: one for name, one in _chance(record, rules).items() if name in known}
        for record in records
    }
    return Bounds(chance, _oracle(records, settings, rules))


def _key(record: StepUnit) -> tuple[int, str, str]:
    return record.repeat, record.split, record.unit_id


def _names(rules: ScoringRules) -> tuple[str, ...]:
    return "element", f"operation_f1.{rules.variant}", "success"


def _values(scores: Scores, rules: ScoringRules) -> Scores:
    return {name: scores[name] or 0.0 for name in _names(rules)}


def _is_asked(record: StepUnit) -> bool:
    """Return False for a step that is not asked, because no right element is listed."""
    prediction = record.prediction
    return not (prediction and prediction.status is Status.NOT_OFFERED)


def _chance(record: StepUnit, rules: ScoringRules) -> dict[str, float]:
    """The expected scores of `always-click`, CLICK on a choice drawn at random, computed and not
    drawn."""
    if record.invalid is not None or not _is_asked(record):
        return dict.fromkeys(_names(rules), 0.0)
    right = next(iter(record.detail.gold.elements), None)
    share = 0.0
    if record.detail.choices:
        share = len(record.detail.right) / len(record.detail.choices)
    hit, miss = (
        _values(score(_answer(element, "CLICK", ""), record.detail.gold, rules), rules)
        for element in (right, "")
    )
    return {name: share * (hit[name] or 0) + (1 - share) * (miss[name] or 0) for name in hit}


def _answer(element: str | None, operation: str, value: str) -> Prediction:
    action = Action(operation, element, arguments={"value": value})
    return Prediction(Status.ANSWERED, action)


def _oracle(
    records: Sequence[StepUnit], settings: Settings, rules: ScoringRules
) -> dict[tuple[int, str, str], Scores] | None:
    """The scores of the oracle; None if it cannot be asked."""
    try:
        protocol = open_with(replace(settings, prompts=None))
    except UserError:
        return None
    space = actions_of(settings.benchmark)
    known: dict[tuple[int, str, str], Scores] = {}
    found: dict[tuple[int, str, str], Scores] = {}
    for record in records:
        if record.invalid is not None:
            continue
        shuffle = record.repeat if settings.shuffles > 1 else 0
        key = shuffle, record.split, record.unit_id
        if not _is_asked(record):
            found[_key(record)] = dict.fromkeys(_names(rules), 0.0)
            continue
        if key not in known:
            try:
                prediction = _asked(protocol, record, shuffle, space)
            except Exception:
                # A protocol of a plugin may need more than the record; a table is still printed.
                return None
            known[key] = _values(score(prediction, record.detail.gold, rules), rules)
        found[_key(record)] = known[key]
    return found


def _asked(
    protocol: AskingProtocol, record: StepUnit, shuffle: int, space: ActionSpace | None
) -> Prediction:
    """Read the oracle's answers as the protocol spells them."""
    choices = record.detail.choices
    gold = record.detail.gold
    if not choices:
        return _answer(next(iter(gold.elements), None), gold.operation, gold.value)
    step = replace(step_of(record), shuffle=shuffle, scene=RecordedScene(choices))
    view = StepView(step, choices)
    secret = Secret(gold, gold.shown)
    chance = chance_for(0, record.repeat, record.unit_id, "oracle")
    right = Oracle().predict(view, chance, secret)
    return as_answered(protocol, view, right, space)
