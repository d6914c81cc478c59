"""Lines of a run directory: what is written for a record, and what reads it back."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import MISSING, fields, replace
from operator import attrgetter
from typing import Any, TypeVar, get_type_hints

import msgspec
from msgspec import UNSET

from harness.runs.kinds import decoded_detail
from harness.runs.records import SCHEMA, CallRecord, UnitRecord
from harness.runs.schema1 import line_of, unit_of
from parsers.records import Prediction

T = TypeVar("T")

_ONLY_SOME = ("role", "trial", "asked_by", "embed", "act")
_NONE_OF_THESE = dict.fromkeys(_ONLY_SOME, UNSET)
_EMPTY: tuple[Any, ...] = (None, (), {})


def to_line(record: Any, schema: int = SCHEMA) -> Any:
    """What is written for a record in a run of that schema.

    What only some calls have is left out of the others, as in runs of versions that did not know
    it: reasoning, tokens of pictures, the tier, and the last fields of `CallRecord`. So is what a
    prediction lacks.
    """
    if isinstance(record, CallRecord):
        without: Any = dict(_NONE_OF_THESE)
        if record.role or record.trial or record.asked_by or record.embed or record.act:
            without = {name: UNSET for name in _ONLY_SOME if not getattr(record, name)}
        unset: Any = {
            name: UNSET
            for name, default in (("reasoning", ""), ("picture_tokens", None), ("tier", ""))
            if getattr(record.reply, name) == default
        }
        if unset:
            without["reply"] = replace(record.reply, **unset)
        return replace(record, **without)
    if isinstance(record, UnitRecord) and schema == 1:
        return line_of(record)
    if isinstance(record, UnitRecord):
        changes: Any = {name: UNSET for name in ("roles", "tiers") if not getattr(record, name)}
        if record.prediction is not None:
            changes["prediction"] = _said(record.prediction)
        return replace(record, **changes) if changes else record
    return record


def _said(prediction: Prediction) -> dict[str, Any]:
    fields = ("action", "flags", "letter", "under", "parsed")
    said = {"status": prediction.status, **_given(prediction, *fields)}
    if (action := prediction.action) is not None:
        said["action"] = {"name": action.name, **_given(action, "element", "point", "arguments")}
    return said


def _given(record: object, *names: str) -> dict[str, Any]:
    """Those of the fields that hold anything."""
    values = ((name, getattr(record, name)) for name in names)
    return {name: value for name, value in values if value not in _EMPTY}


def line_decoder(kind: type[T]) -> Callable[[bytes], T]:
    """What reads lines of one kind of record, made once; it raises what msgspec raises."""
    if kind not in _decoders:
        decoder = _unit_decoder() if kind is UnitRecord else msgspec.json.Decoder(kind).decode
        _decoders[kind] = _call_decoder(decoder) if kind is CallRecord else decoder
    return _decoders[kind]


_decoders: dict[type[Any], Callable[[bytes], Any]] = {}
_FIRST = b'{"kind":'
"""How the line of a unit begins since schema 2."""
_ID = rb'(\{"id":"[^"\\]*(?:\\.[^"\\]*)*",)'
_STEP, _UNIT = re.compile(_ID + b'"step_id"'), re.compile(_ID + b'"unit_id"')
"""How the line of a call begins in schema 1, and since."""


def renamed(line: bytes, schema: int) -> bytes:
    """A line with the name that a unit's id has on the lines of calls of a schema."""
    old, new = (_UNIT, b'"step_id"') if schema == 1 else (_STEP, b'"unit_id"')
    begin = old.match(line)
    return line if begin is None else b"".join((begin[1], new, line[begin.end() :]))


def _call_decoder(decode: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    return lambda data: decode(renamed(data, SCHEMA))


def _unit_decoder() -> Callable[[bytes], UnitRecord[Any]]:
    hints = get_type_hints(UnitRecord) | {"detail": msgspec.Raw}
    names = [one.name for one in fields(UnitRecord)]
    required = {"kind", "unit_id", "benchmark", "split", "detail"}
    declared: list[Any] = [(n, hints[n]) for n in names if n in required]
    declared += [(n, hints[n], _default(n)) for n in names if n not in required]
    decode = msgspec.json.Decoder(msgspec.defstruct("UnitLine", declared, gc=False)).decode
    values = attrgetter(*names[:-1])

    def decode_unit(data: bytes) -> UnitRecord[Any]:
        if not data.startswith(_FIRST):
            return unit_of(data)
        line: Any = decode(data)
        record: UnitRecord[Any] = UnitRecord(
            **dict(zip(names, values(line), strict=False)),
            detail=decoded_detail(line.kind, bytes(line.detail)),
        )
        return record

    return decode_unit


def _default(name: str) -> Any:
    one = next(one for one in fields(UnitRecord) if one.name == name)
    if one.default is not MISSING:
        return one.default
    return msgspec.field(default_factory=dict)
