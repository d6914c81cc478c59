"""Everything about one unit in one run, as plain data for its script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from adapters.conversation import Picture
from harness.runs import CallRecord, MessageRecord, Unit
from harness.runs.messages import ResultRecord
from harness.runs.pictures import sent_picture
from parsers import Declaration
from parsers.points import Convention
from reports.view.marks import marks_of
from reports.view.parts import Frame, UnitPage, UnitPart, Window, facts_of, key_of
from reports.view.points import Points


def detail(
    record: Unit[Any],
    calls: Sequence[CallRecord],
    points: Points,
    part: UnitPart,
    blobs: Mapping[str, Sequence[Any]],
    layers: Mapping[str, Window],
    convention: Convention = "absolute",
) -> dict[str, Any]:
    """Return the data of a unit's view. Untrusted texts are values only, never keys.

    blobs: file name, width and height by digest, of the blobs that are pictures.
    layers: the files that are laid over the enlarged picture, with the part that each shows.
    convention: what the numbers in calls mean.
    """
    page, declared, prediction = points.page, points.declared, record.prediction
    whole = next(iter(record.pictures), None)
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
        "raw": None if part.raw in (None, {}, []) else as_json(part.raw),
        "prediction": None
        if prediction is None
        else {"status": str(prediction.status), "flags": list(prediction.flags)},
        "scores": list(_scores(record, points)),
        "tokens": [record.usage.input, record.usage.output] if record.usage else None,
        "cost": record.cost,
        "roles": _roles(calls),
        "sent": [[name, list(window)] for name, window in layers.items()],
        "strip": [_framed(one, blobs) for one in part.strip],
        "rounds": [
            _round(call, blobs, whole, linked=part.cuts is None) | _marked(call, whole, convention)
            for call in calls
        ],
    }


def _marked(
    call: CallRecord, picture: Picture | None, convention: Convention
) -> dict[str, list[Any]]:
    marks = marks_of(call.reply.tool_calls, picture, convention)
    return {"marks": marks} if marks else {}


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
    listed = {fact.key for fact in facts_of(page, declared)}
    return [(name, text) for name, text in record.labels.items() if key_of(name) not in listed]


def _scores(record: Unit[Any], points: Points) -> Iterator[list[Any]]:
    """Yield title, value, whether it is a yes or no, and meaning of the declared scores that were
    measured, the main one first; variants of a measure are left out."""
    declared, scores = points.declared, record.scores or {}
    for measure in sorted(declared.measures, key=lambda one: one is not declared.main_of_units):
        value = scores.get(measure.name)
        variant = "." in measure.name and not measure.rule
        if value is not None and not variant:
            yield [measure.title, value, measure.name not in points.graded, measure.meaning]


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


def _round(
    call: CallRecord,
    blobs: Mapping[str, Sequence[Any]],
    whole: Picture | None,
    *,
    linked: bool,
) -> dict[str, Any]:
    """Return a call. `whole` is the picture that a zoom shows part of; `linked` says whether the
    page has the pictures that were sent."""
    reply = call.reply
    messages, answer = call.exchange
    plain: dict[str, Any] = {
        "place": call.name,
        "messages": [[message.role, list(_parts(message, whole, linked))] for message in messages],
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
        plain["act"] = [as_json(call.act.action), as_json(call.act.observation), seen]
    return plain


def _parts(message: MessageRecord, whole: Picture | None, linked: bool) -> Iterator[list[str]]:
    """Yield texts and pictures; those of a result below the call that it answers."""
    for part in message.parts:
        if not isinstance(part, ResultRecord):
            yield _shown(part, "picture", linked)
            continue
        yield ["text", f"[{'error' if part.is_error else 'result'} of call {part.call_id}]"]
        for one in part.parts:
            is_zoom = (
                whole is not None
                and isinstance(one, Picture)
                and one.digest == whole.digest
                and one.recipe != whole.recipe
            )
            yield _shown(one, "part" if is_zoom else "picture", linked or is_zoom)


def _shown(part: str | Picture, kind: str, linked: bool) -> list[str]:
    if isinstance(part, str):
        return ["text", part]
    return [kind, f"{part.width} × {part.height} pixels", _name(part) if linked else ""]


def _name(picture: Picture) -> str:
    sent = sent_picture(picture)
    return sent.name if sent is not None else ""


LONGEST = 50_000
"""Longest text of what is shown as it is on record, in characters."""


def as_json(value: Any) -> str:
    """Return what is on record as indented JSON, cut where it is very long.

    >>> print(as_json({"a": [1, None]}).replace("\\n", ""))
    {  "a": [    1,    null  ]}
    """
    plain = msgspec.to_builtins(value, str_keys=True, builtin_types=())
    text = msgspec.json.format(msgspec.json.encode(plain), indent=2).decode()
    left_out = len(text) - LONGEST
    return text if left_out <= 0 else f"{text[:LONGEST]}\n… {left_out:,} more characters"
