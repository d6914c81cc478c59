"""What `sample-questions` asks about windows of the recorded sample's screenshots.

That is what their pages and recordings say: the main heading, the text in a box, the heading behind
a click, the box of an element, a value next to its label, and one that is on another page only.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.sample.windows import Box, View, hash_of, outer, shares_of, text_of, views
from harness.page import decode_candidates

Row = dict[str, Any]
OPTIONS = 4
ELEMENT_EVERY, BOX_EVERY, ABSENT_EVERY = 3, 3, 3
"""Of screenshots, those whose text in a box, or whose box of an element is asked for; of values,
those that are also asked for where they are not."""
_MEANING = "Boxes are left, top, right, bottom, as shares of the picture's width and height."
_WORDS = range(2, 11)
_SAYS = re.compile(r"\w")
_PRICE = re.compile(r"£[\d,]+(?:\.\d\d)?")


class Value(NamedTuple):
    """A value on a page: the question that it answers, and the boxes that one looks at for it."""

    question: str
    text: str
    boxes: tuple[Box, ...]
    metric: str = ""


def headings(shown: Sequence[View]) -> Iterator[Row]:
    """Ask for the main heading, each once for a site."""
    asked = set[tuple[str, str]]()
    for view in shown:
        element = next(iter(view.root.iter("h1")), None)
        box = None if element is None else view.box(element)
        if box and (view.website, view.heading) not in asked:
            asked.add((view.website, view.heading))
            question = "What does the main heading of the page say?"
            yield from _row(view, "heading", view.top(box), question, [view.heading])


def elements(shown: Sequence[View]) -> Iterator[Row]:
    """Ask for the text in a box, each once for a site."""
    asked = set[tuple[str, str]]()
    for view in shown[::ELEMENT_EVERY]:
        found = []
        for element in view.root.iter():
            text, box = text_of(element), view.box(element)
            alone = all(part.tag == "text" for part in element) and len(element) > 0
            if alone and box and len(text.split()) in _WORDS and element.tag != "h1":
                found.append((hash_of(view.id, text), text, box))
        fresh = (one for one in sorted(found) if (view.website, one[1]) not in asked)
        for _, text, box in islice(fresh, 1):
            asked.add((view.website, text))
            top = view.top(box)
            shares = shares_of(box, top or 0)
            question = f"What does the text in the box {shares} say? {_MEANING}"
            yield from _row(view, "element", top, question, [text], box=shares)


def next_pages(recorded: Sequence[tuple[View, Mapping[str, Any]]]) -> Iterator[Row]:
    """Ask which heading of its site the page has that a recorded click opened."""
    known: dict[str, dict[str, None]] = defaultdict(dict)
    for view, _ in recorded:
        known[view.website][view.heading] = None
    by_place = {
        (row["annotation_id"], int(row["target_action_index"])): view for view, row in recorded
    }
    asked = set[tuple[str, str, str]]()
    for view, row in recorded:
        after = by_place.get((row["annotation_id"], int(row["target_action_index"]) + 1))
        target = decode_candidates(row["pos_candidates"][:1])
        box = view.boxes.get(target[0].id) if target else None
        if after is None or box is None or after.heading in ("", view.heading):
            continue
        key = view.website, view.heading, after.heading
        if key in asked or '"original_op": "CLICK"' not in row["operation"]:
            continue
        asked.add(key)
        top = view.top(box)
        others = [one for one in known[view.website] if one not in ("", after.heading)]
        shares = shares_of(box, top or 0)
        question = (
            f"A click into the box {shares} opens another page. Which heading does that page have? "
            f"{_MEANING}"
        )
        rows = _choice(
            view, "next-page", top, question, after.heading, others, len(asked), box=shares
        )
        yield from rows


def which_boxes(shown: Sequence[View]) -> Iterator[Row]:
    """Ask which box holds an element, among those of others in the window."""
    number = 0
    for view in shown[1::BOX_EVERY]:
        top = view.top()
        alone = sorted(
            outer(view.clickables(top or 0)), key=lambda one: hash_of(view.id, "which", one.id)
        )
        if len(alone) >= OPTIONS:
            number += 1
            one, *others = alone
            question = f"Which box holds the {one.role} “{one.name}”? {_MEANING}"
            boxes = [str(shares_of(other.box, 0)) for other in others]
            right = str(shares_of(one.box, 0))
            yield from _choice(view, "which-box", top, question, right, boxes, number)


def values(view: View) -> Iterator[Value]:
    """Yield the values of a page that stand next to a label: in tables, and prices in cards."""

    def seen(question: str, text: str, *parts: Any, metric: str = "") -> Iterator[Value]:
        boxes = tuple(box for part in parts if (box := view.box(part)) is not None)
        if _SAYS.search(text) and len(boxes) == len(parts) and all(map(text_of, parts)):
            yield Value(question, text, boxes, metric)

    for table in view.root.iter("table"):
        rows = [[cell for cell in row if cell.tag in ("td", "th")] for row in table.iter("tr")]
        names = [text_of(row[0]) for row in rows if row]
        columns = rows[0] if rows and all(cell.tag == "th" for cell in rows[0]) else []
        for row in rows:
            if not row or names.count(text_of(row[0])) > 1:
                continue
            label = text_of(row[0])
            if len(row) == 2 and not columns:
                yield from seen(f"What stands next to “{label}”?", text_of(row[1]), *row)
            elif row is not columns and len(row) == len(columns):
                for column, cell in list(zip(columns, row, strict=True))[1:]:
                    question = f"What stands in the row “{label}” under “{text_of(column)}”?"
                    yield from seen(question, text_of(cell), row[0], column, cell)
    for card in view.root.iter("article"):
        prices, names = _PRICE.findall(text_of(card)), [*card.iter("h2", "h3", "h4")]
        if len(prices) == 1 and len(names) == 1:
            question = f"What does “{text_of(names[0])}” cost, in pounds?"
            yield from seen(question, prices[0], names[0], card, metric="number")


def short(shown: Sequence[View]) -> Iterator[Row]:
    """Ask for values, each once, and for some of them on other pages of the site, where they are
    not."""
    asked = set[tuple[str, str]]()
    for view in shown:
        found = [one for one in values(view) if (view.website, one.question) not in asked]
        found = [one for one in found if view.top(*one.boxes) is not None]
        for one in sorted(found, key=lambda one: hash_of(view.id, one.question))[:1]:
            asked.add((view.website, one.question))
            top = view.top(*one.boxes)
            yield from _row(view, "short", top, one.question, [one.text], metric=one.metric)
            if len(asked) % ABSENT_EVERY == 0:
                yield from _elsewhere(one, view, shown)


def _elsewhere(value: Value, view: View, shown: Sequence[View]) -> Iterator[Row]:
    labels = [label.casefold() for label in re.findall("“(.*?)”", value.question)]
    pages = (
        one
        for one in sorted(shown, key=lambda one: hash_of(one.id, value.question))
        if one.website == view.website and labels[0] not in one.words
    )
    for one in pages:
        yield from _row(one, "unanswerable", one.top(), value.question, [None], metric=value.metric)
        return


def _row(
    view: View, task: str, top: int | None, question: str, answers: list[Any], **more: Any
) -> Iterator[Row]:
    """Yield a row of the window that begins at `top`, none without one."""
    if top is not None:
        yield {
            "question": question,
            "answers": answers,
            "labels": {
                "task": task,
                "page": f"{view.website}: {view.heading}",
                "website": view.website,
            },
            "view": view,
            "top": top,
            **more,
        }


def _choice(
    view: View,
    task: str,
    top: int | None,
    question: str,
    right: str,
    others: Iterable[str],
    number: int,
    **more: Any,
) -> Iterator[Row]:
    """Yield a row with four options; the place of the right one goes round."""
    options = sorted(dict.fromkeys(others), key=lambda one: hash_of(view.id, question, one))
    options = options[: OPTIONS - 1]
    place = number % OPTIONS
    if len(options) == OPTIONS - 1:
        options.insert(place, right)
        yield from _row(view, task, top, question, [place], options=options, **more)


def lines(file: Path) -> Iterator[Row]:
    """Yield the questions about the screenshots of a file of the recorded sample."""
    recorded = [*views(file)]
    shown = list(dict.fromkeys(view for view, _ in recorded))
    made = (*headings(shown), *elements(shown), *next_pages(recorded), *which_boxes(shown))
    counts: dict[str, int] = defaultdict(int)
    for row in (*made, *short(shown)):
        view, top, task = row.pop("view"), row.pop("top"), row["labels"]["task"]
        id = f"{view.id}-{task}"
        counts[id] += 1
        id += f"-{counts[id]}" if counts[id] > 1 else ""
        yield {**view.line(top), "item": {"id": id, **row}}
