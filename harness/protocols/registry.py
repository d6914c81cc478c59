"""The protocols by name, and how one is opened with the settings of a run.

    protocol = open_protocol("mindact-choice", {"history": 3}, {"seed": "7"})

The first mapping holds settings that have an option of their own (`SHARED`), the second those given
by `--protocol-option`, as text or as values. What is left out has the protocol's default.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, get_type_hints

from adapters.contract import AdapterInfo
from adapters.registry import Registry, UnknownName
from harness.errors import UserError
from harness.protocols.contract import AskingProtocol
from harness.settings import SETTINGS, values

PROTOCOLS: Registry[AskingProtocol] = Registry("protocol", "vlm_eval.protocols", has=("dialogue",))
PROTOCOLS.add(
    "seeact-two-rounds",
    "harness.protocols.seeact:TwoRounds",
    "describe the next action, then pick the element among lettered choices (SeeAct; 2 calls)",
)
PROTOCOLS.add(
    "seeact-choice",
    "harness.protocols.seeact_choice:SeeActChoice",
    "a ranker's candidates in batches down the page, each described and chosen from (SeeAct)",
)
PROTOCOLS.add(
    "seeact-annotation",
    "harness.protocols.seeact_annotation:SeeActAnnotation",
    "the same batches, but with boxes and letters in the picture instead of a list (SeeAct)",
)
PROTOCOLS.add(
    "seeact-attributes",
    "harness.protocols.seeact_attributes:SeeActAttributes",
    "the model describes the element in words, which are matched with all of the page (SeeAct)",
)
PROTOCOLS.add(
    "coordinates",
    "harness.protocols.coordinates:Coordinates",
    "the model points at the page, in pixels, shares or thousandths (SeeClick, Qwen-VL, APIs)",
)
PROTOCOLS.add(
    "mindact-choice",
    "harness.protocols.mindact_choice:MindActChoice",
    "text only: a tournament of five candidates at a time, three solved examples (MindAct)",
)
PROTOCOLS.add(
    "mindact-generate",
    "harness.protocols.mindact_generate:MindActGenerate",
    "text only: the same tournament, but the model writes the element (Mind2Web)",
)
PROTOCOLS.add(
    "classify",
    "harness.protocols.classify:Classify",
    "the ranker's first candidate, without asking anybody; element accuracy only (Mind2Web)",
)
PROTOCOLS.add(
    "seq2seq",
    "harness.protocols.mindact_choice:Seq2Seq",
    "MindAct's tournament in the form of its fine-tuned Flan-T5 models; text only",
)

SHARED = tuple(name for name, setting in SETTINGS.items() if setting.to_protocol)
"""Settings of protocols that have an option of their own on the command line."""

_NOTHING: Mapping[str, object] = MappingProxyType({})


def open_protocol(
    name: str,
    shared: Mapping[str, object] = _NOTHING,
    options: Mapping[str, object] = _NOTHING,
    *,
    model: AdapterInfo | None = None,
) -> AskingProtocol:
    """The protocol with its settings.

    Args:
        name: the protocol's name.
        shared: settings of `SHARED` that were given; a `history` of "all" is None for protocols.
            `max_tokens` may be given to protocols that do not take it.
        options: settings of this protocol alone, as text or as values.
        model: what the model declares, for settings that follow from it; None for policies.

    Raises:
        UserError: there is no such protocol, it does not take a setting, or a value is wrong.
    """
    kinds = _settings_of(name)
    filled: dict[str, object] = {}
    for key, value in shared.items():
        if key in kinds:
            value = None if key == "history" and value == "all" else value
            filled[key] = _read(f"--{key.replace('_', '-')} {value}", value, kinds[key])
        elif key != "max_tokens":
            raise UserError(f"--{key.replace('_', '-')} means nothing to '{name}'; leave it out")
    for key, value in options.items():
        if key in SHARED:
            written = key.replace("_", "-")
            raise UserError(f"--protocol-option {key}: give --{written} as an option of its own")
        if key not in kinds:
            taken = ", ".join(key for key in kinds if key not in SHARED) or "none"
            raise UserError(f"--protocol-option {key}: '{name}' takes {taken}")
        filled[key] = _read(f"--protocol-option {key}={value}", value, kinds[key])
    complete = getattr(PROTOCOLS.get(name), "for_model", None)
    if model is not None and complete is not None:
        filled = dict(complete(filled, model))
    try:
        return PROTOCOLS.make(name, **filled)
    except UnknownName as error:
        raise UserError(str(error)) from error
    except ValueError as error:
        raise UserError(f"protocol '{name}': {error}") from error


def settled_settings(
    name: str, protocol: AskingProtocol, options: Mapping[str, object] = _NOTHING
) -> dict[str, Any]:
    """The settings of a run that its protocol decides, as the opened protocol has them.

    `none`, `first_of_many` and `value_style` are None where the protocol does not take them, as is
    `history`, which is "all" where the protocol has None. `protocol_options` holds all others; for
    those that `protocol.settings()` lacks, the values in `options`.
    """
    taken, known = _settings_of(name), protocol.settings()
    settled: dict[str, Any] = {
        key: known.get(key) if key in taken else None
        for key in ("none", "history", "first_of_many", "value_style")
    }
    if "history" in taken and settled["history"] is None:
        settled["history"] = "all"
    given = {**options, **known}
    own = sorted(key for key in taken if key not in SHARED and key in given)
    settled["protocol_options"] = {key: _plain(given[key]) for key in own}
    return settled


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _read(where: str, value: object, kind: Any) -> object:
    try:
        return values.read(kind, value)
    except ValueError as error:
        raise UserError(f"{where}: {error}") from error


def _settings_of(name: str) -> Mapping[str, Any]:
    """The settings that a protocol takes, with their types. Raises `UserError`."""
    try:
        found = PROTOCOLS.get(name)
    except UnknownName as error:
        raise UserError(str(error)) from error
    return {} if PROTOCOLS.is_instance(found) else _types_of(found)


@cache
def _types_of(factory: Any) -> Mapping[str, Any]:
    """The parameters of a class or factory with their types, in order."""
    try:
        # Annotations of inherited fields belong to the modules of the classes that have them.
        hints = get_type_hints(factory, include_extras=True)
    except (NameError, TypeError, AttributeError):
        hints = {}
    named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(factory).parameters.values()
    return {p.name: hints.get(p.name, Any) for p in parameters if p.kind in named}
