"""Everything about one unit in one run, as plain data for its script."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from adapters.conversation import Picture
from harness.runs import CallRecord, MessageRecord, Unit
from harness.runs.pictures import sent_picture
from parsers import Declaration
from reports.view.parts import Frame, Score, UnitPage, UnitPart, Window, facts_of, key_of
from reports.view.points import Points


def detail(
    record: Unit[Any],
    calls: Sequence[CallRecord],
    points: Points,
    part: UnitPart,
    blobs: Mapping[str, Sequence[Any]],
    layers: Mapping[str, Window],
) -> dict[str, Any]:
    """Return the data of a unit's view. Untrusted texts are values only, never keys.

    blobs: file name, width and height by digest, of the blobs that are pictures.
    layers: the files that are laid over the enlarged picture, with the part that each shows.
    """
    page, declared, prediction = points.page, points.declared, record.prediction
    shown = _scores(record, points) if part.scores is None else part.scores
    return {
        "source": record.source.replace("\\", "/").rsplit("/", 1)[-1],
        "invalid": record.invalid,
        "error": record.error,
        "trial": record.trial,
        "told": _groups(record, declared, page),
        "page": list(part.page) if part.page else None,
        "boxes": None if part.boxes is None else [_plain(one) for one in part.boxes],
        "point": list(part.point) if part.point else None,
        "focus": list(part.focus) if part.focus else None,
        "actual": part.actual,
        "heads": list(part.heads),
        "lines": [
            [line.name, [[cell.text, cell.code] for cell in line.cells], line.right]
            for line in part.lines
        ],
        "lists": [_listed(one) for one in part.lists if one.items or one.empty],
        "raw": None if part.raw in (None, {}, []) else tree(part.raw),
        "prediction": None
        if prediction is None
        else {"status": str(prediction.status), "flags": list(prediction.flags)},
        "scores": [[one.name, one.value, one.binary, one.meaning] for one in shown],
        "tokens": [record.usage.input, record.usage.output] if record.usage else None,
        "cost": record.cost,
        "roles": _roles(calls),
        "sent": [[name, list(window)] for name, window in layers.items()],
        "strip": [_framed(one, blobs) for one in part.strip],
        "rounds": [_round(call, blobs, linked=part.cuts is None) for call in calls],
    }


def _plain(drawn: Any) -> list[Any]:
    corners = [list(corner) for corner in drawn.corners]
    return [drawn.kind, list(drawn.box), drawn.text, *([corners] if corners else [])]


def _framed(one: Frame, blobs: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    frame = one._asdict()
    return frame | {"picture": list(blobs.get(one.picture, ())), "boxes": [*map(_plain, one.boxes)]}


def _listed(one: Any) -> list[Any]:
    items = [list(item) for item in one.items]
    return [one.title, items, one.note, one.empty, one.early]


def _groups(record: Unit[Any], declared: Declaration, page: UnitPage) -> list[tuple[str, str]]:
    """Return further groups of a unit, beyond the facts of the list."""
    if not page.labels:
        return []
    listed = {fact.key for fact in facts_of(page, declared)}
    return [(name, text) for name, text in record.labels.items() if key_of(name) not in listed]


def _scores(record: Unit[Any], points: Points) -> Iterator[Score]:
    """Yield the declared scores, the main one first; then the others."""
    scores, main = record.scores or {}, points.declared.main_of_units
    if not scores:
        return
    declared = points.declared
    for measure in sorted(declared.measures, key=lambda one: one is not main):
        if measure.name in scores:
            yes_or_no = measure.name not in points.graded
            yield Score(measure.title, scores[measure.name], yes_or_no, measure.meaning)
    for name, value in scores.items():
        if name not in declared.scores:
            yield Score(name, value, binary=False)


def _roles(calls: Sequence[CallRecord]) -> list[list[Any]]:
    """Calls, tokens in and out and cost by role; () where only the model under test was asked."""
    if not any(call.role for call in calls):
        return []
    sums: dict[str, list[Any]] = {}
    for call in calls:
        if call.act is not None:
            continue
        entry = sums.setdefault(call.role, [0, 0, 0, 0.0])
        usage = call.reply.usage
        entry[0] += 1
        entry[1] += usage.input if usage else 0
        entry[2] += usage.output if usage else 0
        entry[3] = None if entry[3] is None or call.cost is None else entry[3] + call.cost
    return [[role, *entry] for role, entry in sums.items()]


def _round(call: CallRecord, blobs: Mapping[str, Sequence[Any]], *, linked: bool) -> dict[str, Any]:
    """Return a call; `linked` says whether the page has the pictures that were sent."""
    reply = call.reply
    messages, answer = call.exchange
    plain: dict[str, Any] = {
        "place": call.name,
        "messages": [[message.role, _parts(message, linked)] for message in messages],
        "reasoning": reply.reasoning,
        "reply": answer,
        "finish": str(reply.finish),
        "model": reply.model,
        "latency": reply.latency_s,
        "tokens": [reply.usage.input, reply.usage.output] if reply.usage else None,
        "cost": call.cost,
        "attempts": call.attempts,
        "cached": call.from_cache,
    }
    if call.role:
        plain["role"] = call.role
    if call.trial:
        plain["trial"] = call.trial
    if call.asked_by:
        plain["shared"] = call.asked_by
    if call.embed is not None:
        plain["embed"] = True
    if call.act is not None:
        plain |= {"messages": [], "reply": ""}
        seen = [[name, *blobs.get(digest, ())] for name, digest in call.act.blobs.items()]
        plain["act"] = [tree(call.act.action), tree(call.act.observation), seen]
    return plain


def _parts(message: MessageRecord, linked: bool) -> list[list[str]]:
    return [
        ["text", part]
        if isinstance(part, str)
        else ["picture", f"{part.width} × {part.height} pixels", _name(part) if linked else ""]
        for part in message.parts
    ]


def _name(picture: Picture) -> str:
    sent = sent_picture(picture)
    return sent.name if sent is not None else ""


DEEPEST = 24
"""Levels that are taken apart; what lies deeper is one text."""
MOST = 2_000
"""Most values of a tree; behind them a word says how many are left out."""
LONGEST_KEY = 200


def tree(value: Any) -> list[Any]:
    """Return a node: its kind (`object`, `list` or `value`), and its content.

    An object holds pairs of key and node, a list nodes, a value a scalar. Numbers that a script
    cannot hold are texts.

    >>> tree({"a": [1, None]})
    ['object', [['a', ['list', [['value', 1], ['value', None]]]]]]
    """
    plain = msgspec.to_builtins(value, str_keys=True, builtin_types=())
    return _node(plain, 0, [MOST])


def _node(value: Any, depth: int, left: list[int]) -> list[Any]:
    if isinstance(value, (dict, list)) and value and depth >= DEEPEST:
        return ["value", msgspec.json.encode(value).decode("utf-8", "replace")]
    if isinstance(value, dict):
        pairs = [[str(key)[:LONGEST_KEY], one] for key, one in value.items()]
        kept = pairs[: max(0, left[0])]
        left[0] -= len(kept)
        nodes = [[key, _node(one, depth + 1, left)] for key, one in kept]
        return ["object", nodes, *_omitted(len(pairs) - len(kept))]
    if isinstance(value, (list, tuple)):
        items = list(value)[: max(0, left[0])]
        left[0] -= len(items)
        return [
            "list",
            [_node(one, depth + 1, left) for one in items],
            *_omitted(len(value) - len(items)),
        ]
    return ["value", _scalar(value)]


def _omitted(count: int) -> list[int]:
    return [count] if count else []


def _scalar(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 2**53:
        return str(value)
    return value if isinstance(value, (str, bool, int, float)) or value is None else str(value)
