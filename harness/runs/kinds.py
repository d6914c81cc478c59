"""Kinds of units: what a line holds that only units of its kind have.

A kind is open: the package that brings one registers the type of its detail, a dataclass that JSON
can hold, here or as an entry point of `vlm_eval.kinds`. Where that type is not at hand, units of
the kind are read all the same, with their detail as plain JSON.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from adapters.registry import Registry, UnknownName

KINDS: Registry[Any] = Registry("kind of unit", "vlm_eval.kinds")
KINDS.add("step", "harness.runs.steps:StepDetail", "a recorded step of a task on a website")


def decoded_detail(kind: str, raw: bytes) -> Any:
    """The detail of a unit. Raises what msgspec raises if it is not one of its kind."""
    decoder = _decoder(kind)
    return decoder.decode(raw)


@cache
def _decoder(kind: str) -> msgspec.json.Decoder[Any]:
    try:
        return msgspec.json.Decoder(KINDS.get(kind))
    except UnknownName:
        return msgspec.json.Decoder(Any)
