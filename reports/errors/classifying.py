"""Classify the rows of a run.

Pages and replies of round 1 are read for wrong elements only; the step's line has the rest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rapidfuzz.distance import Levenshtein

from harness.runs import CallRecord, ChoiceRecord, DataGone, Run, StepRecord
from harness.tables import clean
from parsers import ELEMENT_ONLY, Prediction, Status, in_box, token_f1
from parsers.cleaned_page import PageError
from reports.errors.classes import CLASS_OF, ErrorClass, Relation
from reports.errors.described import described_target, listed_text
from reports.errors.relations import Box, Found, PageNodes, near

NEAR_F1, NEAR_EDIT = 0.5, 0.2
"""A wrong value is a near miss with at least this F1, or at most this normalised edit distance."""

DESCRIBED, NEAR_MISS = "described_target", "near_miss"
CUT = 80
LONGEST_VALUE = 500

_NUMBER = re.compile(r"([<(][\w:-]+) (?:bn)?id=[^\s<>)]+")
_ENDED = {Status.TRUNCATED: ErrorClass.TRUNCATED, Status.REFUSAL: ErrorClass.REFUSED}
_PLACES = {relation: place for place, relation in enumerate(Relation)}


@dataclass(frozen=True, slots=True)
class StepError:
    """The class of a row. Texts come from pages and models; each is one line, not escaped.

    step_id, repeat: the row.
    error_class: its class.
    detail: the evidence for the class, in words.
    near_f1: token F1 of a wrong value and the recorded one, ignoring case.
    near_edit: their normalised edit distance, ignoring case: 0 equal, 1 nothing in common.
    relation: how a wrong element relates to the target, whatever its class.
    flags: `described_target` (round 1 described the target) and `near_miss` (of a wrong value).
    chosen, target: the chosen and the right element as listed; empty if not listed.
    split, task_id, website: of the step.
    operation: the recorded operation.
    """

    step_id: str
    repeat: int
    error_class: ErrorClass
    detail: str = ""
    near_f1: float | None = None
    near_edit: float | None = None
    relation: Relation | None = None
    flags: tuple[str, ...] = ()
    chosen: str = ""
    target: str = ""
    split: str = field(default="", kw_only=True)
    task_id: str = field(default="", kw_only=True)
    website: str = field(default="", kw_only=True)
    operation: str = field(default="", kw_only=True)


def classify_run(run: Run, *, pages: bool = True) -> list[StepError]:
    """Classify every row of a run, in the order of `Run.steps`.

    Without `pages`, or if a page is not available, wrong elements whose text differs from the
    target's are `wrong_unknown_page`. Raises `RunError` for lines that cannot be read.
    """
    return classify_records(run, run.records(), pages=pages)


def classify_records(
    run: Run, records: Sequence[StepRecord], *, pages: bool = True
) -> list[StepError]:
    """Classify some rows of a run; see `classify_run`."""
    errors = []
    last: tuple[str, PageNodes | str] = "", ""
    for record in records:
        calls: Sequence[CallRecord] = ()
        nodes: PageNodes | str = "the page was not read"
        if _is_wrong_element(record):
            calls = run.calls_of(record.unit_id, record.repeat)
            if pages:
                if last[0] != record.unit_id:
                    last = record.unit_id, _nodes(run, record.unit_id)
                nodes = last[1]
        errors.append(_classify(record, calls, nodes))
    return errors


def classify(record: StepRecord, calls: Sequence[CallRecord], page: str | None) -> StepError:
    """Classify one row from its line, its calls and its page as HTML (None if not available)."""
    nodes: PageNodes | str = "the page is gone"
    if page is not None and _is_wrong_element(record):
        nodes = _parsed(page)
    return _classify(record, calls, nodes)


def _nodes(run: Run, step_id: str) -> PageNodes | str:
    try:
        return _parsed(run.page(step_id))
    except DataGone as gone:
        return _short(gone)


def _parsed(page: str) -> PageNodes | str:
    try:
        return PageNodes(page)
    except PageError as error:
        return _short(error)


def _is_wrong_element(record: StepRecord) -> bool:
    return _by_line(record).error_class is ErrorClass.WRONG_UNKNOWN_PAGE


def _classify(record: StepRecord, calls: Sequence[CallRecord], nodes: PageNodes | str) -> StepError:
    error = _by_line(record)
    prediction = record.prediction
    if error.error_class is not ErrorClass.WRONG_UNKNOWN_PAGE or prediction is None:
        return error
    chosen, target = _chosen(record, prediction), _target(record)
    relation = _relation(record, prediction, chosen, nodes)
    described = (
        chosen is not None
        and target is not None
        and described_target(calls, target, chosen, record.detail.choices)
    )
    error_class = CLASS_OF[relation.relation]
    # Words alone cannot distinguish elements with the same text or nested in each other.
    if described and relation.relation in (
        Relation.NEIGHBOUR,
        Relation.SAME_ROLE,
        Relation.ELSEWHERE,
    ):
        error_class = ErrorClass.WRONG_DESCRIBED
    return replace(
        error,
        error_class=error_class,
        detail=relation.detail,
        relation=relation.relation,
        flags=(DESCRIBED,) if described else (),
    )


def _by_line(record: StepRecord) -> StepError:
    """Classify from the step's line alone, every wrong element as if its page were missing."""
    prediction, target = record.prediction, _target(record)
    chosen = _chosen(record, prediction) if prediction is not None and record.settled else None
    bare = StepError(
        record.unit_id,
        record.repeat,
        ErrorClass.SUCCESS,
        chosen=clean(listed_text(chosen)) if chosen else "",
        target=clean(listed_text(target)) if target else "",
        split=record.split,
        task_id=record.parents["task"],
        website=record.parents["website"],
        operation=record.detail.gold.operation,
    )
    if record.invalid is not None:
        return replace(bare, error_class=ErrorClass.INVALID, detail=_short(record.invalid))
    scores = record.scores
    if not record.settled or prediction is None or scores is None:
        reason = record.error or ("no outcome on record" if record.asked else "not asked yet")
        return replace(bare, error_class=ErrorClass.UNSETTLED, detail=_short(reason))
    if scores.success:
        return bare
    if prediction.status is Status.NONE:
        offered = target is not None
        error_class = ErrorClass.NONE_CHOSEN if offered else ErrorClass.NOT_OFFERED
        return replace(bare, error_class=error_class, detail="" if offered else "None chosen")
    if prediction.status is Status.NOT_OFFERED:
        return replace(bare, error_class=ErrorClass.NOT_OFFERED, detail="nobody was asked")
    if prediction.status is not Status.ANSWERED:
        error_class = _ENDED.get(prediction.status, ErrorClass.NO_ANSWER)
        return replace(bare, error_class=error_class, detail=str(prediction.status))
    if scores.element and ELEMENT_ONLY in prediction.flags:
        return replace(bare, detail="only the element was asked for")
    if scores.element:
        return _right_element(bare, record, prediction)
    if target is None and prediction.point is None:
        return replace(bare, error_class=ErrorClass.NOT_OFFERED, detail="another was chosen")
    return replace(bare, error_class=ErrorClass.WRONG_UNKNOWN_PAGE, relation=Relation.UNKNOWN)


def _right_element(bare: StepError, record: StepRecord, prediction: Prediction) -> StepError:
    gold = record.detail.gold
    if prediction.operation != gold.operation or gold.operation == "CLICK":
        named: str = prediction.operation or "no operation"
        if prediction.operation == gold.operation:
            named = f"an operation that was read as {named}"
        return replace(
            bare,
            error_class=ErrorClass.WRONG_OPERATION,
            detail=f"said {named}, recorded {gold.operation}",
        )
    f1 = token_f1(prediction.value, gold.value, "mind2web-lc")
    edit = edit_distance(prediction.value, gold.value)
    return replace(
        bare,
        error_class=ErrorClass.WRONG_VALUE,
        detail=f"said {_quote(prediction.value)}, recorded {_quote(gold.value)}",
        near_f1=f1,
        near_edit=edit,
        flags=(NEAR_MISS,) if f1 >= NEAR_F1 or edit <= NEAR_EDIT else (),
    )


def edit_distance(first: str, second: str) -> float:
    """Levenshtein distance divided by the longer length: 0 for equal texts, 1 for disjoint ones.

    Case and the amount of white space are ignored, as is everything after `LONGEST_VALUE`
    characters.

    >>> edit_distance("10204", "10203"), edit_distance("New  York", "new york")
    (0.2, 0.0)
    """
    a, b = (" ".join(text.casefold().split())[:LONGEST_VALUE] for text in (first, second))
    return Levenshtein.normalized_distance(a, b)


def _relation(
    record: StepRecord, prediction: Prediction, chosen: ChoiceRecord | None, nodes: PageNodes | str
) -> Found:
    """The closest relation to any acceptable element."""
    texts = [
        _without_ids(listed_text(choice)) for choice in record.detail.choices if choice.positive
    ]
    if chosen is not None and listed_text(chosen) and _without_ids(listed_text(chosen)) in texts:
        return Found(Relation.SAME_TEXT, "reads the same in the list")
    box: Box | None = chosen.box if chosen else None
    if chosen is None and prediction.point is not None:
        box = (*prediction.point, 0.0, 0.0)
    element = chosen.id if chosen else prediction.element
    by_box = [near(box, target_box) for target_box in record.detail.gold.boxes]
    if element is None:
        # The point lies in no listed choice, so there is no node to compare.
        return _closest(by_box) or Found(Relation.ELSEWHERE, "a point beside all choices")
    if isinstance(nodes, str):
        guess = _closest(by_box)
        return Found(Relation.UNKNOWN, f"{nodes}; {guess.detail}" if guess else nodes)
    targets = [element_id for element_id in record.detail.gold.elements if element_id in nodes]
    targets.sort(key=lambda element_id: element_id != record.detail.gold.shown)
    if element not in nodes or not targets:
        return Found(Relation.UNKNOWN, "the element is not on the page")
    by_tree = [nodes.relation(element, target) for target in targets]
    closest = _closest([*by_tree, *by_box])
    if closest is not None:
        return closest
    roles = [nodes.roles(element, target) for target in targets]
    shared_role = next(
        (element_id for element_id, target_box in roles if element_id == target_box), None
    )
    if shared_role is not None:
        return Found(Relation.SAME_ROLE, _short(f"both {shared_role}"))
    element_id, target_box = roles[0]
    return Found(Relation.ELSEWHERE, _short(f"{element_id}, target {target_box}"))


def _closest(relations: Sequence[Found | None]) -> Found | None:
    candidates = [one for one in relations if one is not None]
    return min(candidates, key=lambda one: _PLACES[one.relation]) if candidates else None


def _without_ids(choice_text: str) -> str:
    """A choice as listed, without node ids. Tags are kept to distinguish a button from the label
    inside it."""
    return " ".join(_NUMBER.sub("", choice_text).split())


def _target(record: StepRecord) -> ChoiceRecord | None:
    """The listed acceptable element, preferably the one the list was made for."""
    right = [c for c in record.detail.choices if c.positive or c.id == record.detail.gold.shown]
    return next((c for c in right if c.id == record.detail.gold.shown), right[0] if right else None)


def _chosen(record: StepRecord, prediction: Prediction) -> ChoiceRecord | None:
    """The listed choice that was picked; for a point, the smallest choice that contains it."""
    if prediction.element is not None:
        return next((c for c in record.detail.choices if c.id == prediction.element), None)
    if prediction.point is None:
        return None
    point = prediction.point
    hit = [
        (c.box[2] * c.box[3], c) for c in record.detail.choices if c.box and in_box(point, c.box)
    ]
    return min(hit, key=lambda pair: pair[0])[1] if hit else None


def _quote(text: str) -> str:
    return f"'{_short(text)}'"


def _short(text: object) -> str:
    line = clean(text)
    return line if len(line) <= CUT else line[: CUT - 1] + "…"
