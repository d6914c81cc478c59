"""The page of a recorded step: its choices, the recorded action, the actions before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter

from harness.runs import CallRecord, StepUnit
from parsers.records import Choice
from reports.view.parts import (
    LONGEST,
    ComparedCell,
    ComparedLine,
    DrawnBox,
    Fact,
    Listed,
    ListItem,
    Score,
    UnitPage,
    UnitPart,
    label,
    parent,
)


def _target(record: StepUnit) -> str:
    return next((choice.text[:LONGEST] for choice in record.detail.right), "")


class StepPage(UnitPage):
    """Recorded steps."""

    measures = ("operation_f1",)
    answers = False
    labels = False
    pictured = True
    searched = "task, element, site, id"
    same = "chose the same element"
    card = ("op", "target")
    facts = (
        Fact("site", "Site", "Site", early=True, heading="value", value=parent("website")),
        Fact("domain", heading="value", value=label("domain")),
        Fact(
            *("turn", "No.", "Turn number"),
            early=True,
            heading="named",
            value=label("turn"),
            orders=True,
        ),
        Fact("op", "Action", "Operation", tail="value", value=attrgetter("detail.gold.operation")),
        Fact("value", word=False, value=lambda record: record.detail.gold.value[:LONGEST]),
        Fact("target", "Target", word=False, code=True, value=_target),
    )

    def answer(self, record: StepUnit) -> str | None:
        return chosen_element(record)

    def part(self, record: StepUnit, calls: Sequence[CallRecord]) -> UnitPart:
        detail = record.detail
        chosen = chosen_element(record)
        return UnitPart(
            page=detail.page_size,
            boxes=list(_boxes(record, chosen)),
            point=record.prediction.point if record.prediction else None,
            focus=_focus(record, chosen),
            heads=("recorded", "answered"),
            lines=list(_lines(record, chosen)),
            lists=(
                Listed(
                    "Choices",
                    _items(record, chosen),
                    note=f"{detail.positives} acceptable and {detail.negatives} other candidates "
                    "on the page",
                    early=True,
                ),
                Listed("Earlier turns", list(_turns(record)), early=True),
                Listed("Actions before", [*map(ListItem, detail.history)], empty=FIRST),
            ),
            scores=_scores(record),
        )


FIRST = "None: this is the first."


def chosen_element(record: StepUnit) -> str | None:
    """Return the id of the chosen element, from the prediction or its letter."""
    prediction = record.prediction
    if prediction is None:
        return None
    by_letter = (c.id for c in record.detail.choices if c.letter == prediction.letter)
    return prediction.element or next(by_letter, None)


def _turns(record: StepUnit) -> Iterator[ListItem]:
    """Return the earlier instructions of its conversation, each with its actions."""
    for turn in record.detail.turns or ():
        yield ListItem(f"“{turn.task}” {'; '.join(action.told for action in turn.actions)}")


def _boxes(record: StepUnit, chosen: str | None) -> Iterator[DrawnBox]:
    """Yield the most important last. Of several acceptable elements one is listed, and named."""
    choices, gold = record.detail.choices, record.detail.gold
    for one in choices:
        if one.box and not record.detail.accepts(one) and one.id != chosen:
            yield DrawnBox("distractor", one.box, one.letter)
    right = _positive(record)
    shown = (right and right.box) or next(filter(None, gold.boxes), None)
    for box in gold.boxes:
        if box and box != shown:
            yield DrawnBox("target", box)
    if shown:
        yield DrawnBox("target", shown, f"target {right.letter}" if right else "target")
    picked = _choice(record, chosen)
    if picked and picked.box:
        yield DrawnBox("chosen", picked.box, f"chosen {picked.letter}")


def _focus(record: StepUnit, chosen: str | None) -> tuple[float, float, float, float] | None:
    boxes = (
        *(one.box for one in record.detail.right),
        *record.detail.gold.boxes,
        *(one.box for one in record.detail.choices if one.id == chosen),
    )
    return next(filter(None, boxes), None)


def _positive(record: StepUnit) -> Choice | None:
    return next(iter(record.detail.right), None)


def _choice(record: StepUnit, chosen: str | None) -> Choice | None:
    return next((one for one in record.detail.choices if one.id == chosen), None)


def _says_none(record: StepUnit) -> bool:
    none, said = record.detail.none_letter, record.prediction
    return bool(said and none and said.letter == none)


def _items(record: StepUnit, chosen: str | None) -> list[ListItem]:
    detail = record.detail
    items = [
        ListItem(
            one.text, one.letter, detail.accepts(one), one.id == chosen, "" if one.box else "no box"
        )
        for one in detail.choices
        # Where a place is asked for, nothing is said of most elements.
        if one.text or one.letter or detail.accepts(one) or one.id == chosen
    ]
    if letter := record.detail.none_letter:
        none = ListItem("none of these", letter, chosen=_says_none(record))
        items.insert(0 if items and letter == "A" else len(items), none)
    return items


def _lines(record: StepUnit, chosen: str | None) -> Iterator[ComparedLine]:
    gold, said, scores = record.detail.gold, record.prediction, record.scores or {}
    right, picked = _positive(record), _choice(record, chosen)
    answered = "–"
    if said and said.letter:
        answered = said.letter + (" (none of these)" if _says_none(record) else "")
    elif said:
        answered = str(said.status)
    yield ComparedLine(
        "element",
        (
            ComparedCell(f"{right.letter} ", right.text) if right else ComparedCell("not offered"),
            ComparedCell(f"{picked.letter} ", picked.text) if picked else ComparedCell(answered),
        ),
        bool(scores["element"]) if scores else None,
    )
    operation = said.operation if said else None
    same = operation == gold.operation if scores else None
    yield ComparedLine(
        "operation", (ComparedCell(gold.operation), ComparedCell(operation or "–")), same
    )
    yield ComparedLine(
        "value", (ComparedCell(gold.value or "–"), ComparedCell((said and said.value) or "–"))
    )


def _scores(record: StepUnit) -> list[Score]:
    scores = record.scores or {}
    f1 = "operation_f1."
    named = (
        ("step success", "success"),
        ("element", "element"),
        ("operation and value exact", "operation_exact"),
    )
    if not scores:
        return []
    return [
        *(Score(name, scores.get(key), binary=True) for name, key in named),
        *(
            Score(f"Op. F1 {key.removeprefix(f1)}", value, binary=False)
            for key, value in scores.items()
            if key.startswith(f1)
        ),
    ]


STEP_PAGE = StepPage()
