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
KINDS.add("grounding", "parsers.grounding:GroundingDetail", "a place on a picture, given in words")
KINDS.add(
    "episode", "harness.kinds.episode.record:EpisodeDetail", "a live page and an agent in turns"
)
KINDS.add(
    "prompt",
    "harness.kinds.prompt.record:PromptDetail",
    "a finished prompt, answered with an action",
)


def decoded_detail(kind: str, raw: bytes) -> Any:
    """Return the detail of a unit. Raises what msgspec raises if it is not one of its kind."""
    return _decoder(_type_of(kind)).decode(raw)


def _type_of(kind: str) -> Any:
    """Return the type of a kind's detail; any JSON where no package here brings one."""
    try:
        return KINDS.get(kind)
    except UnknownName:
        return Any


@cache
def _decoder(detail: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(detail)
