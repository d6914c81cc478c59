"""Lines of a run directory: what is written for a record, and what reads it back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields, replace
from operator import attrgetter
from typing import Any, TypeVar, get_type_hints

import msgspec
from msgspec import UNSET

from adapters.decoding import decoder_of
from harness.runs.records import CallRecord, Unit
from parsers.records import Prediction

T = TypeVar("T")

_ONLY_SOME = (
    *("role", "trial", "asked_by", "embed", "act", "sample", "temperature", "seed"),
    "reused_from",
)
_NONE_OF_THESE = dict.fromkeys(_ONLY_SOME, UNSET)
_only_some = attrgetter(*_ONLY_SOME)
_USUAL: tuple[Any, ...] = tuple(
    one.default for one in fields(CallRecord) if one.name in set(_ONLY_SOME)
)
_EMPTY: tuple[Any, ...] = (None, (), {})


def to_line(record: Any) -> Any:
    """Return what is written for a record.

    Fields that only some calls have are left out of the others: reasoning, refusal, tokens of
    pictures, the tier, calls of tools, and the last fields of `CallRecord`. So are fields that a
    prediction lacks.
    """
    if isinstance(record, CallRecord):
        without: Any = dict(_NONE_OF_THESE)
        if (values := _only_some(record)) != _USUAL:
            of_some = zip(_ONLY_SOME, values, _USUAL, strict=True)
            without = {name: UNSET for name, value, usual in of_some if value == usual}
        unset: Any = {
            name: UNSET
            for name in ("reasoning", "picture_tokens", "tier", "refusal")
            if getattr(record.reply, name) in ("", None)
        }
        if not record.reply.tool_calls:
            unset["tool_calls"] = UNSET
        if unset:
            without["reply"] = replace(record.reply, **unset)
        return replace(record, **without)
    if isinstance(record, Unit):
        changes: Any = {name: UNSET for name in ("roles", "tiers") if not getattr(record, name)}
        if record.prediction is not None:
            changes["prediction"] = _said(record.prediction)
        return replace(record, **changes) if changes else record
    return record


def _said(prediction: Prediction) -> dict[str, Any]:
    fields = ("action", "flags", "letter", "under", "parsed", "votes", "sample")
    said = {"status": prediction.status, **_given(prediction, *fields)}
    if prediction.by_rule:
        said["by_rule"] = {rule: _said(one) for rule, one in prediction.by_rule.items()}
    if (action := prediction.action) is not None:
        said["action"] = {"name": action.name, **_given(action, "element", "point", "arguments")}
    return said


def _given(record: object, *names: str) -> dict[str, Any]:
    """Return those of the fields that hold anything."""
    values = ((name, getattr(record, name)) for name in names)
    return {name: value for name, value in values if value not in _EMPTY}


def line_decoder(kind: type[T], detail: Any = Any) -> Callable[[bytes], T]:
    """Return the decoder of one kind of record; it raises msgspec's errors.

    `detail` is the type of the details of units; by default they are JSON values.
    """
    key = kind, detail
    if key not in _decoders:
        is_unit = kind is Unit
        _decoders[key] = _unit_decoder(detail) if is_unit else decoder_of(kind).decode
    return _decoders[key]


_decoders: dict[Any, Callable[[bytes], Any]] = {}


def _unit_decoder(detail: Any) -> Callable[[bytes], Any]:
    hints = get_type_hints(Unit) | {"detail": detail}
    names = [one.name for one in fields(Unit)]
    required = {"kind", "unit_id", "benchmark", "split", "detail"}
    declared: list[Any] = [(n, hints[n]) for n in names if n in required]
    declared += [(n, hints[n], _default(n)) for n in names if n not in required]
    decode = decoder_of(msgspec.defstruct("UnitLine", declared, gc=False)).decode
    values = attrgetter(*names)

    def decode_unit(data: bytes) -> Unit[Any]:
        return Unit(**dict(zip(names, values(decode(data)), strict=True)))

    return decode_unit


def _default(name: str) -> Any:
    one = next(one for one in fields(Unit) if one.name == name)
    if one.default is not MISSING:
        return one.default
    return msgspec.field(default_factory=dict)
