"""Lines of a run directory: what is written for a record, and what reads it back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields, replace
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar, get_type_hints

import msgspec
from msgspec import UNSET

from adapters.decoding import Decoder, decoder_of
from adapters.registry import Registry, UnknownName
from harness.runs.records import CallRecord, Unit
from parsers.records import Prediction

T = TypeVar("T")

KINDS: Registry[Any] = Registry("kind of benchmark", "vlm_eval.kinds")
"""Types of the details of units, by kind.

A package that brings a kind registers a dataclass that JSON can hold, here or as an entry point of
`vlm_eval.kinds`. Where that type is missing, details are read as plain JSON.
"""
KINDS.add("step", "harness.runs.steps:StepDetail", "a recorded step of a task on a website")
KINDS.add("grounding", "parsers.grounding:GroundingDetail", "a place on a picture, given in words")
KINDS.add(
    "episode", "harness.kinds.episode.benchmark:EpisodeDetail", "a live page and an agent in turns"
)
KINDS.add("question", "parsers.question:QuestionDetail", "a question about pictures")
KINDS.add("screen-step", "parsers.screen:ScreenDetail", "a recorded step on a screen")
KINDS.add("trajectory", "harness.judging.trajectory:TrajectoryDetail", "what an agent did")
KINDS.add(
    "prompt",
    "harness.kinds.prompt.kind:PromptDetail",
    "a finished prompt, answered with an action",
)

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
    pictures, the tier, and the last fields of `CallRecord`. So are fields that a prediction lacks.
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
    if (action := prediction.action) is not None:
        said["action"] = {"name": action.name, **_given(action, "element", "point", "arguments")}
    return said


def _given(record: object, *names: str) -> dict[str, Any]:
    """Return those of the fields that hold anything."""
    values = ((name, getattr(record, name)) for name in names)
    return {name: value for name, value in values if value not in _EMPTY}


def line_decoder(kind: type[T]) -> Callable[[bytes], T]:
    """Return the decoder of one kind of record, made once; it raises msgspec's errors."""
    if kind not in _decoders:
        is_unit = kind is Unit
        _decoders[kind] = _unit_decoder() if is_unit else decoder_of(kind).decode
    return _decoders[kind]


_decoders: dict[type[Any], Callable[[bytes], Any]] = {}


def _unit_decoder() -> Callable[[bytes], Unit[Any]]:
    hints = get_type_hints(Unit) | {"detail": msgspec.Raw}
    names = [one.name for one in fields(Unit)]
    required = {"kind", "unit_id", "benchmark", "split", "detail"}
    declared: list[Any] = [(n, hints[n]) for n in names if n in required]
    declared += [(n, hints[n], _default(n)) for n in names if n not in required]
    decode = decoder_of(msgspec.defstruct("UnitLine", declared, gc=False)).decode
    values = attrgetter(*names[:-1])

    def decode_unit(data: bytes) -> Unit[Any]:
        line: Any = decode(data)
        record: Unit[Any] = Unit(
            **dict(zip(names, values(line), strict=False)),
            detail=_detail(line.kind, bytes(line.detail)),
        )
        return record

    return decode_unit


def _detail(kind: str, raw: bytes) -> Any:
    """Return the detail of a unit. Raises what msgspec raises if it is not one of its kind."""
    try:
        detail = KINDS.get(kind)
    except UnknownName:  # No package here brings the kind.
        detail = Any
    return _detail_decoder(detail).decode(raw)


@cache
def _detail_decoder(detail: Any) -> Decoder[Any]:
    return decoder_of(detail)


def _default(name: str) -> Any:
    one = next(one for one in fields(Unit) if one.name == name)
    if one.default is not MISSING:
        return one.default
    return msgspec.field(default_factory=dict)
