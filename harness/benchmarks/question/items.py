"""From rows to questions: answers, options, pictures, prompts, and what is wrong with each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from harness.benchmarks.question.folder import (
    DECLINE,
    SCHEMA,
    Bad,
    Pictures,
    QuestionsFile,
    Template,
    check_metric,
    refused,
)
from harness.benchmarks.question.rows import Read, TurnRow, given, pictures_of, turns_of
from harness.errors import DataError, suggestion
from parsers.question import LETTERS, Asked, PastTurn, Right, offered
from parsers.question.metrics import METRICS, number_of, squad_words, write_answer

COLUMNS = {
    *("id", "question", "answers", "answer", "images", "image", "options", "metric", "box"),
    *("hint", "system", "split", "labels", "turns"),
}
_FILLED = ("question", "options", "hint", "box", "no_answer", "decline", "letter", "option")


@dataclass
class Item:
    """A question of a file.

    Attributes:
        problem: what is wrong with it, by kind and in words; then other attributes may be empty.
        pictures: names of its pictures (`Pictures.read`), with their `digests`.
        shows_options: whether its prompt lists its options.
        only_numbers: whether every right answer is a number.
        dialogue, turn, turns: its dialogue, its number there, from 1, and how many there are; "", 0
            and 0 for a question by itself.
    """

    id: str
    where: str
    problem: tuple[str, str] | None = None
    asked: Asked = field(default_factory=lambda: Asked(prompt=""))
    gold: Right = field(default_factory=Right)
    split: str = "test"
    labels: dict[str, str] = field(default_factory=dict)
    pictures: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    shows_options: bool = True
    only_numbers: bool = False
    dialogue: str = ""
    turn: int = 0
    turns: int = 0


def items_of(
    rows: Iterable[Read], schema: QuestionsFile, pictures: Pictures, name: str
) -> Iterator[Item]:
    """Yield the items of rows: one of each, or one of each turn."""
    decline = DECLINE if schema.no_answer else ""
    templates = {
        key: Template(getattr(schema.prompt, key).replace("{decline}", decline))
        for key in ("system", "question", "options", "choice")
    }
    asked = [(place, turns_of(row, schema.history)) for place, row in rows]
    scored = any(
        not isinstance(turn, Bad) and given(turn, "answers", "answer") is not None
        for _, turns in asked
        for turn in turns
    )
    for place, turns in asked:
        where = f"{name}{place}"
        items = [Item("", where) for _ in turns]
        for item, turn in zip(items, turns, strict=True):
            try:
                if isinstance(turn, Bad):
                    raise turn
                item.id = str(turn.get("id", ""))
                _fill(item, turn, schema, pictures, templates, scored=scored)
            except Bad as bad:
                kind, text = bad.args
                item.problem = kind, f"{where}: {text}"
            except DataError as error:
                item.problem = "metric", str(error)
        if isinstance(turns[0], TurnRow):
            _join(items, schema.history, turns[0].dialogue)
        yield from items


def grouped(items: Iterable[Item]) -> list[str]:
    """Return every problem once, with the number of items that have it and the first one."""
    found: dict[str, list[str]] = {}
    for kind, text in (item.problem for item in items if item.problem):
        found.setdefault(kind, []).append(text)
    return [
        texts[0] + (f" ({len(texts)} items)" if len(texts) > 1 else "") for texts in found.values()
    ]


def _join(items: Sequence[Item], history: str, dialogue: str) -> None:
    """Make the items of turns one dialogue: name them, and show each what was before it."""
    before: list[PastTurn] = []
    pictures: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    for number, item in enumerate(items, 1):
        item.dialogue, item.turn, item.turns = dialogue, number, len(items)
        item.id = f"{dialogue}_turn-{number}"
        if history == "none":
            continue
        reply = None
        if history == "gold":
            gold = next(iter(item.gold.answers), item.gold.no_answer)
            if not gold and number < len(items) and item.problem is None:
                what = f"turn {number} of {dialogue} has no answer for its later turns (history)"
                item.problem = "history", f"{item.where}: {what}"
            reply = write_answer(gold, item.asked)
        own = dialogue if history == "own" else ""
        before.append(PastTurn(item.asked.prompt, len(item.pictures), reply))
        item.asked = replace(item.asked, before=tuple(before[:-1]), dialogue=own)
        item.pictures = pictures = (*pictures, *item.pictures)
        item.digests = digests = (*digests, *item.digests)


def _fill(
    item: Item,
    row: dict[str, Any],
    schema: QuestionsFile,
    pictures: Pictures,
    templates: Mapping[str, Template],
    *,
    scored: bool,
) -> None:
    if "id" not in row or not item.id or isinstance(row["id"], (list, dict)):
        raise Bad("id", "no id, which every item needs")
    for name in row.keys() - COLUMNS:
        if why := refused(name):
            raise Bad(name, why)
    item.split = _text(row, "split", item.id) or "test"
    item.labels = _labels(row, item.id)
    for label in (*schema.cells, *([schema.cluster] if schema.cluster else [])):
        if label not in item.labels:
            needs = "cells" if label in schema.cells else "cluster"
            raise Bad("label", f"{item.id} has no label '{label}', which {needs} needs")
    question = _text(row, "question", item.id)
    if not question:
        raise Bad("question", f"{item.id} has no question")
    metric = schema.metric_for(_text(row, "metric", item.id), item.labels)
    check_metric(metric, item.where)
    if not metric:
        raise Bad("metric", f"{item.id} has no metric, and {SCHEMA} names none")
    options = _options(row, item.id, metric)
    item.gold = _right(row, item.id, metric, options, schema, scored=scored)
    item.only_numbers = bool(item.gold.answers) and all(
        number_of(one) is not None for one in item.gold.answers
    )
    try:
        found = [pictures.add(one) for one in pictures_of(row)]
    except Bad as bad:
        raise Bad(bad.args[0], f"{item.id}: {bad.args[1]}") from None
    item.pictures, item.digests = tuple(n for n, _ in found), tuple(d for _, d in found)
    _ask(item, row, schema, templates, question, options, metric)


def _ask(
    item: Item,
    row: Mapping[str, Any],
    schema: QuestionsFile,
    templates: Mapping[str, Template],
    question: str,
    options: tuple[str, ...],
    metric: str,
) -> None:
    """Write the prompt of an item."""
    others = {
        name: str(value)
        for name, value in row.items()
        if name not in COLUMNS and isinstance(value, (str, int, float))
    }
    values: dict[str, Any] = {
        **others,
        **item.labels,
        "question": question,
        "hint": _text(row, "hint", item.id),
        "box": _box(row, item.id, schema),
        "no_answer": schema.no_answer,
    }
    chosen = templates["choice" if metric == "choice" else "question"]
    lines = [
        templates["options"].fill({**values, "letter": letter, "option": option})
        for letter, option in offered(options).items()
    ]
    values["options"] = "\n".join(lines)
    for template in (*((templates["options"],) if options else ()), chosen, templates["system"]):
        for name in sorted(template.names - {*values, "letter", "option"}):
            hint = suggestion(name, (*values, *_FILLED))
            raise Bad(
                "placeholder", f"{SCHEMA}: {{{name}}} is neither a column nor a label; {hint}"
            )
    item.shows_options = "options" in chosen.names
    item.asked = Asked(
        prompt=chosen.fill(values),
        system=_text(row, "system", item.id) or templates["system"].fill(values),
        question=question,
        options=options,
        metric=metric,
        after=schema.answer_after,
        no_answer=schema.no_answer,
        box=values["box"] if schema.box == "xyxy-unit" else "",
    )


def _text(row: Mapping[str, Any], name: str, id: str) -> str:
    value = row.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Bad(name, f"{name} of {id} is no text")
    return value


def _labels(row: Mapping[str, Any], id: str) -> dict[str, str]:
    labels = row.get("labels")
    if labels is None:
        return {}
    if not isinstance(labels, dict) or not all(isinstance(one, str) for one in labels.values()):
        raise Bad("labels", f"labels of {id} is no object of texts")
    return dict(labels)


def _box(row: Mapping[str, Any], id: str, schema: QuestionsFile) -> str:
    box = row.get("box")
    if box is None:
        return ""
    numbers = isinstance(box, (list, tuple)) and all(isinstance(n, (int, float)) for n in box)
    if not numbers or len(box) != 4 or not all(map(math.isfinite, box)):
        raise Bad("box", f"box of {id} is not four numbers")
    if not schema.box:
        raise Bad("box", f"{id} has a box, and {SCHEMA} does not say what its numbers mean (box)")
    return ", ".join(f"{n:g}" for n in box)


def _listed(value: Any, name: str, id: str) -> list[Any]:
    if isinstance(value, str) and value.lstrip()[:1] == "[" and value.rstrip()[-1:] == "]":
        raise Bad("list", f"{name} of {id} is a text that looks like a list; write a list")
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _options(row: Mapping[str, Any], id: str, metric: str) -> tuple[str, ...]:
    value = row.get("options")
    if value is None:
        if metric == "choice":
            raise Bad("options", f"{id} is scored as choice and has no options")
        return ()
    options = _listed(value, "options", id)
    # A letter may be left out, as where a table has an empty cell ahead of others.
    if not all(one is None or (isinstance(one, str) and one.strip()) for one in options):
        raise Bad("options", f"options of {id} are not all texts")
    many = sum(one is not None for one in options)
    if many < 2 or len(options) > len(LETTERS):
        raise Bad("options", f"{id} has {many} options; 2 to {len(LETTERS)} can be shown")
    return tuple(one or "" for one in options)


def _right(
    row: Mapping[str, Any],
    id: str,
    metric: str,
    options: tuple[str, ...],
    schema: QuestionsFile,
    *,
    scored: bool,
) -> Right:
    name = "answers" if row.get("answers") is not None else "answer"
    value = row.get(name)
    if value is None and not scored:
        return Right()
    listed = [] if value is None else _listed(value, name, id)
    if not listed:
        raise Bad("answers", f"{id} has no answers; [null] says that it cannot be answered")
    if None in listed and not schema.no_answer:
        raise Bad(
            "null",
            f"{id} has the answer null, but {SCHEMA} does not say what stands for it (no_answer)",
        )
    texts = [_answer(one, id, metric, options) for one in listed if one is not None]
    return Right(
        answers=tuple(dict.fromkeys(texts)),
        unanswerable=None in listed,
        no_answer=schema.no_answer,
        absolute=schema.tolerance.absolute,
        relative=schema.tolerance.relative,
    )


def _answer(value: object, id: str, metric: str, options: tuple[str, ...]) -> str:
    if metric == "choice":
        return _letter(value, id, options)
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise Bad("answers", f"an answer of {id} is neither a text nor a number")
    text = str(value)
    if not text.strip():
        raise Bad("answers", f"{id} has an empty answer; [null] says that it cannot be answered")
    if METRICS[metric].words and not squad_words(text):
        raise Bad("gold", f"the answer '{text}' of {id} has no words for {metric}; exact takes it")
    if metric == "number" and number_of(text) is None:
        raise Bad("gold", f"the answer '{text}' of {id} is no number")
    return text


def _letters(shown: Mapping[str, str]) -> str:
    letters = "".join(shown)
    whole = letters == LETTERS[: len(letters)]
    return f"A to {letters[-1]}" if whole else ", ".join(letters)


def _letter(value: object, id: str, options: tuple[str, ...]) -> str:
    """Return the letter of an answer: a letter, an index from 0, or the text of an option."""
    shown = offered(options)
    last = f"beyond its {len(shown)} options ({_letters(shown)})"
    if isinstance(value, int) and not isinstance(value, bool):
        if not 0 <= value < len(options) or LETTERS[value] not in shown:
            raise Bad("outside", f"the answer {value} of {id} is {last}")
        return LETTERS[value]
    if not isinstance(value, str):
        raise Bad("answers", f"an answer of {id} is neither a letter, an index nor an option")
    same = [place for place, one in enumerate(options) if one == value != ""]
    place = LETTERS.find(value) if len(value) == 1 else -1
    is_index = value.isascii() and value.isdigit() and int(value) < len(options)
    if same and (len(same) > 1 or (place >= 0 and place < len(options)) or is_index):
        other = f"the text of option {LETTERS[same[0]]}"
        what = "an index" if is_index else "a letter" if place >= 0 else other
        if len(same) > 1:
            other = f"of option {LETTERS[same[1]]}"
        raise Bad("ambiguous", f"the answer '{value}' of {id} is {what} and {other}")
    if same:
        return LETTERS[same[0]]
    if place >= 0:
        if value not in shown:
            raise Bad("outside", f"the answer '{value}' of {id} is {last}")
        return value
    raise Bad("outside", f"the answer '{value}' of {id} is neither a letter nor an option")
