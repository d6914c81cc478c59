"""From the lines of a step to its class.

Pages and first replies are looked up for wrong elements only: the rest is on the step's line.
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
from reports.errors.described import as_told, described_target
from reports.errors.relations import Box, Found, PageNodes, near

NEAR_F1, NEAR_EDIT = 0.5, 0.2
"""A wrong value is a near miss with at least this F1 or at most this edit distance."""

DESCRIBED, NEAR_MISS = "described_target", "near_miss"
CUT = 80
LONGEST_VALUE = 500

_NUMBER = re.compile(r"([<(][\w:-]+) (?:bn)?id=[^\s<>)]+")
_ENDED = {Status.TRUNCATED: ErrorClass.TRUNCATED, Status.REFUSAL: ErrorClass.REFUSED}
_PLACES = {relation: place for place, relation in enumerate(Relation)}


@dataclass(frozen=True, slots=True)
class StepError:
    """The class of a row. Texts come from pages and models: one line each, but not escaped.

    `near_f1` (words in lower case) and `near_edit` compare a wrong value with the recorded one.
    `relation` is set for wrong elements, also where round 1 described the target. `flags` holds
    `described_target` whatever the class, and `near_miss`. `chosen` and `target` are the choices as
    listed, empty where there is none.
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
    website: str = field(default="", kw_only=True)
    operation: str = field(default="", kw_only=True)


def classify_run(run: Run, *, pages: bool = True) -> list[StepError]:
    """The class of every row of a run, in the order of `Run.steps`.

    Without `pages`, and where a page cannot be had, wrong elements that do not read like the target
    are `wrong_unknown_page`. Raises `RunError` for lines that cannot be read.
    """
    return classify_records(run, run.records(), pages=pages)


def classify_records(
    run: Run, records: Sequence[StepRecord], *, pages: bool = True
) -> list[StepError]:
    """As `classify_run`, for some of the run's rows."""
    found = []
    last: tuple[str, PageNodes | str] = "", ""
    for record in records:
        calls: Sequence[CallRecord] = ()
        nodes: PageNodes | str = "the page was not read"
        if _is_wrong_element(record):
            calls = run.calls_of(record.step_id, record.repeat)
            if pages:
                if last[0] != record.step_id:
                    last = record.step_id, _nodes(run, record.step_id)
                nodes = last[1]
        found.append(_classify(record, calls, nodes))
    return found


def classify(record: StepRecord, calls: Sequence[CallRecord], page: str | None) -> StepError:
    """The class of one row, from its line, its calls and its page as HTML (None when gone)."""
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
    found = _by_line(record)
    said = record.prediction
    if found.error_class is not ErrorClass.WRONG_UNKNOWN_PAGE or said is None:
        return found
    chosen, target = _chosen(record, said), _target(record)
    relation = _relation(record, said, chosen, nodes)
    described = (
        chosen is not None
        and target is not None
        and described_target(calls, target, chosen, record.choices)
    )
    error_class = CLASS_OF[relation.relation]
    # A reply in words cannot tell apart what reads the same or stands one inside the other.
    if described and relation.relation in (
        Relation.NEIGHBOUR,
        Relation.SAME_ROLE,
        Relation.ELSEWHERE,
    ):
        error_class = ErrorClass.WRONG_DESCRIBED
    return replace(
        found,
        error_class=error_class,
        detail=relation.detail,
        relation=relation.relation,
        flags=(DESCRIBED,) if described else (),
    )


def _by_line(record: StepRecord) -> StepError:
    """The class as far as the step's line says it; any wrong element as if its page were gone."""
    said, target = record.prediction, _target(record)
    chosen = _chosen(record, said) if said is not None and record.settled else None
    bare = StepError(
        record.step_id,
        record.repeat,
        ErrorClass.SUCCESS,
        chosen=clean(as_told(chosen)) if chosen else "",
        target=clean(as_told(target)) if target else "",
        split=record.info.split,
        website=record.info.website,
        operation=record.gold.operation,
    )
    if record.invalid is not None:
        return replace(bare, error_class=ErrorClass.INVALID, detail=_short(record.invalid))
    scores = record.scores
    if not record.settled or said is None or scores is None:
        reason = record.error or ("no outcome on record" if record.asked else "not asked yet")
        return replace(bare, error_class=ErrorClass.UNSETTLED, detail=_short(reason))
    if scores.success:
        return bare
    if said.status is Status.NONE:
        offered = target is not None
        error_class = ErrorClass.NONE_CHOSEN if offered else ErrorClass.NOT_OFFERED
        return replace(bare, error_class=error_class, detail="" if offered else "None chosen")
    if said.status is Status.NOT_OFFERED:
        return replace(bare, error_class=ErrorClass.NOT_OFFERED, detail="nobody was asked")
    if said.status is not Status.ANSWERED:
        error_class = _ENDED.get(said.status, ErrorClass.NO_ANSWER)
        return replace(bare, error_class=error_class, detail=str(said.status))
    if scores.element and ELEMENT_ONLY in said.flags:
        return replace(bare, detail="only the element was asked for")
    if scores.element:
        return _right_element(bare, record, said)
    if target is None and said.point is None:
        return replace(bare, error_class=ErrorClass.NOT_OFFERED, detail="another was chosen")
    return replace(bare, error_class=ErrorClass.WRONG_UNKNOWN_PAGE, relation=Relation.UNKNOWN)


def _right_element(bare: StepError, record: StepRecord, said: Prediction) -> StepError:
    gold = record.gold
    if said.operation != gold.operation or gold.operation == "CLICK":
        named: str = said.operation or "no operation"
        if said.operation == gold.operation:
            named = f"an operation that was read as {named}"
        return replace(
            bare,
            error_class=ErrorClass.WRONG_OPERATION,
            detail=f"said {named}, recorded {gold.operation}",
        )
    f1 = token_f1(said.value, gold.value, "mind2web-lc")
    edit = edit_distance(said.value, gold.value)
    return replace(
        bare,
        error_class=ErrorClass.WRONG_VALUE,
        detail=f"said {_quote(said.value)}, recorded {_quote(gold.value)}",
        near_f1=f1,
        near_edit=edit,
        flags=(NEAR_MISS,) if f1 >= NEAR_F1 or edit <= NEAR_EDIT else (),
    )


def edit_distance(first: str, second: str) -> float:
    """Levenshtein distance over the longer length: 0 for the same text, 1 for nothing in common.

    Case and the width of blanks do not count, and only the first `LONGEST_VALUE` characters do.

    >>> edit_distance("10204", "10203"), edit_distance("New  York", "new york")
    (0.2, 0.0)
    """
    a, b = (" ".join(text.casefold().split())[:LONGEST_VALUE] for text in (first, second))
    return Levenshtein.normalized_distance(a, b)


def _relation(
    record: StepRecord, said: Prediction, chosen: ChoiceRecord | None, nodes: PageNodes | str
) -> Found:
    """The closest relation to any of the acceptable elements."""
    texts = [_as_read(as_told(choice)) for choice in record.choices if choice.positive]
    if chosen is not None and as_told(chosen) and _as_read(as_told(chosen)) in texts:
        return Found(Relation.SAME_TEXT, "reads the same in the list")
    box: Box | None = chosen.box if chosen else None
    if chosen is None and said.point is not None:
        box = (*said.point, 0.0, 0.0)
    element = chosen.id if chosen else said.element
    by_box = [near(box, other) for other in record.gold.boxes]
    if element is None:
        # A point beside everything listed: there is no node to look at.
        return _closest(by_box) or Found(Relation.ELSEWHERE, "a point beside all choices")
    if isinstance(nodes, str):
        guess = _closest(by_box)
        return Found(Relation.UNKNOWN, f"{nodes}; {guess.detail}" if guess else nodes)
    targets = [own for own in record.gold.elements if own in nodes]
    targets.sort(key=lambda own: own != record.gold.shown)
    if element not in nodes or not targets:
        return Found(Relation.UNKNOWN, "the element is not on the page")
    by_tree = [nodes.relation(element, target) for target in targets]
    found = _closest([*by_tree, *by_box])
    if found is not None:
        return found
    roles = [nodes.roles(element, target) for target in targets]
    same = next((own for own, other in roles if own == other), None)
    if same is not None:
        return Found(Relation.SAME_ROLE, _short(f"both {same}"))
    own, other = roles[0]
    return Found(Relation.ELSEWHERE, _short(f"{own}, target {other}"))


def _closest(found: Sequence[Found | None]) -> Found | None:
    known = [one for one in found if one is not None]
    return min(known, key=lambda one: _PLACES[one.relation]) if known else None


def _as_read(choice_text: str) -> str:
    """A choice as listed without the numbers of its nodes. Tags stay: they tell a label that
    stands inside a button from the button."""
    return " ".join(_NUMBER.sub("", choice_text).split())


def _target(record: StepRecord) -> ChoiceRecord | None:
    """The acceptable element among the choices."""
    right = [c for c in record.choices if c.positive or c.id == record.gold.shown]
    return next((c for c in right if c.id == record.gold.shown), right[0] if right else None)


def _chosen(record: StepRecord, said: Prediction) -> ChoiceRecord | None:
    """The listed choice that was picked; for a point the smallest one that it lies in."""
    if said.element is not None:
        return next((c for c in record.choices if c.id == said.element), None)
    if said.point is None:
        return None
    point = said.point
    hit = [(c.box[2] * c.box[3], c) for c in record.choices if c.box and in_box(point, c.box)]
    return min(hit, key=lambda pair: pair[0])[1] if hit else None


def _quote(text: str) -> str:
    return f"'{_short(text)}'"


def _short(text: object) -> str:
    line = clean(text)
    return line if len(line) <= CUT else line[: CUT - 1] + "…"
