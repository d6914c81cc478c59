"""Protocols by name; open one with the settings of a run.

    protocol = open_protocol("mindact-choice", {"history": 3, "seed": "7"})

The mapping has its options (`--protocol-option`), as text or as values. Missing ones have the
protocol's defaults.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, get_args

from adapters.contract import AdapterInfo
from adapters.options import kinds_of, read
from adapters.registry import Registry, UnknownName
from harness.errors import UserError
from harness.protocols.contract import AskingProtocol
from harness.settings import SETTINGS, written

PROTOCOLS: Registry[AskingProtocol] = Registry(
    "protocol", "vlm_eval.protocols", has=("dialogue", "View", "name"), several=True
)
_BUILT_IN = {
    "seeact-two-rounds": (
        "harness.protocols.seeact:TwoRounds",
        "describe the next action, then choose from one lettered list (SeeAct)",
    ),
    "seeact-choice": (
        "harness.protocols.seeact_choice:SeeActChoice",
        "the same two rounds for each batch of a ranker's candidates, down the page (SeeAct)",
    ),
    "seeact-annotation": (
        "harness.protocols.seeact_annotation:SeeActAnnotation",
        "the same batches, with boxes and letters in the picture instead of a list (SeeAct)",
    ),
    "seeact-attributes": (
        "harness.protocols.seeact_attributes:SeeActAttributes",
        "describe the element in words, which are matched with all elements of the page (SeeAct)",
    ),
    "coordinates": (
        "harness.protocols.coordinates:Coordinates",
        "point at the page, in pixels, fractions or thousandths (SeeClick, Qwen-VL, API models)",
    ),
    "grounding": (
        "harness.benchmarks.grounding.protocol:Grounding",
        "point at what an instruction means on a picture, in the form of the model's family",
    ),
    "question": (
        "harness.benchmarks.question.benchmark:QuestionProtocol",
        "a question about pictures, answered in words or with the letter of an option",
    ),
    "visualwebbench": (
        "harness.benchmarks.question.visualwebbench:WebBench",
        "a question of VisualWebBench, in the form that its task demands",
    ),
    "screen-agent": (
        "harness.benchmarks.screen.protocol:ScreenAgent",
        "the next action on a screen, in the form of the model's family (phones)",
    ),
    "mindact-choice": (
        "harness.protocols.mindact_choice:MindActChoice",
        "text only: a tournament of five candidates at a time, with three solved examples "
        "(MindAct)",
    ),
    "mindact-generate": (
        "harness.protocols.mindact_generate:MindActGenerate",
        "text only: the same tournament, with the element written instead of chosen (Mind2Web)",
    ),
    "classify": (
        "harness.protocols.mindact_choice:Classify",
        "the ranker's first candidate, without any call; element accuracy only (Mind2Web)",
    ),
    "seq2seq": (
        "harness.protocols.mindact_choice:Seq2Seq",
        "text only: the tournament in the form of MindAct's fine-tuned Flan-T5 models",
    ),
    "mt-mindact": (
        "harness.benchmarks.conversation.self_map:MtMindAct",
        "the tournament behind all finished turns of a conversation (MT-Mind2Web)",
    ),
    "mt-mindact-car": (
        "harness.benchmarks.conversation.self_map:MtMindActCar",
        "the tournament about an instruction that another model rewrites first (MT-Mind2Web)",
    ),
    "mt-mindact-fixed": (
        "harness.benchmarks.conversation.self_map:MtMindActFixed",
        "the tournament behind the first three turns of a conversation (MT-Mind2Web)",
    ),
    "mt-synapse": (
        "harness.benchmarks.conversation.self_map:MtSynapse",
        "the tournament behind the turns with the most similar instructions (MT-Mind2Web)",
    ),
    "self-map": (
        "harness.benchmarks.conversation.self_map:SelfMap",
        "the tournament behind the most similar actions, shortened and with rationales (Self-MAP)",
    ),
    "autowebglm": (
        "harness.protocols.autowebglm:AutoWebGLM",
        "text only: the page with ids, answered by calling one of ten functions (AutoWebGLM)",
    ),
    "action-strings": (
        "harness.protocols.action_strings:ActionStrings",
        "one call of BrowserGym's functions: click, fill, scroll, goto, tabs, ... (BrowserGym)",
    ),
    "verbatim": (
        "harness.benchmarks.prompt.autowebbench:Verbatim",
        "text only: a finished prompt as it is, answered with a function call (AutoWebBench)",
    ),
}
"""Where each protocol is, and a line about it."""
for _name, (_target, _summary) in _BUILT_IN.items():
    PROTOCOLS.add(_name, _target, _summary)
PROTOCOLS.add(
    "coordinates", "harness.benchmarks.screen.web:ScreenCoordinates", "the same on screens"
)
PROTOCOLS.add(
    "seeact-two-rounds",
    "harness.benchmarks.screen.web:ScreenRounds",
    "describe the next action on a screen, then write it in the form of the model's family",
)
PROTOCOLS.add(
    "native",
    "harness.native.kinds:NativePlace",
    "a model acts through tools instead of words: on pictures, screens and web pages",
)
PROTOCOLS.add("native", "harness.native.kinds:NativeScreen", "the same on screens")
PROTOCOLS.add("native", "harness.native.live:NativeLive", "the same on live pages")
PROTOCOLS.add("native", "harness.native.kinds:NativeStep", "the same on recorded web pages")

SHARED = {
    "history": "Earlier steps shown: all, none or K actions; more with +thoughts, +pictures:K or "
    "+turns:K.",
    "none": "Position of the choice 'none of these'.",
    "prompts": "File with prompt texts that replace the protocol's.",
    "first_of_many": "If a reply names several letters, take the first instead of none.",
    "value_style": "Cleaning of values in replies.",
}
"""A sentence about each option that several protocols share."""

_NOTHING: Mapping[str, object] = MappingProxyType({})


def open_protocol(
    name: str,
    options: Mapping[str, object] = _NOTHING,
    *,
    max_tokens: object = None,
    model: AdapterInfo | None = None,
    View: type[Any] | None = None,
) -> AskingProtocol:
    """Open a protocol with these options and the defaults of all others.

    Args:
        name: the protocol's name.
        options: its options, as text or as values; a `history` of "all" becomes None.
        max_tokens: the token limits of a run, for protocols that have such a field.
        model: the model's declaration, which decides some options; None for policies.
        View: what it is to answer, where the name means several protocols; None: the first.

    Raises:
        UserError: the protocol does not exist, lacks an option, or rejects a value.
    """
    target = _chosen(name, View)
    kinds = _settings_of(target)
    about = "" if target is PROTOCOLS.get(name) else f" where it answers {target.View.__name__}"
    filled: dict[str, object] = {}
    for key, value in options.items():
        option = written(key, "protocol")
        is_pair = option.startswith("--protocol-option")
        if key not in kinds or key == "max_tokens":
            message = f"{option} has no effect on '{name}'{about}; leave it out"
            if is_pair:
                taken = options_of(name, View)
                near = difflib.get_close_matches(key, taken, n=1)
                hint = f"; did you mean '{near[0]}'?" if near else ""
                hint = f"; give {written(key)}" if key in SETTINGS else hint
                has = f"'{name}'{about} has {', '.join(taken) or 'none'}"
                message = f"--protocol-option: unknown key '{key}'{hint} ({has})"
            raise UserError(message)
        if key == "history":
            value = _history_of(name, value, kinds[key])
        where = f"{option}={value}" if is_pair else f"{option} {value}"
        filled[key] = _read(where, value, kinds[key])
    if max_tokens is not None and "max_tokens" in kinds:
        filled["max_tokens"] = _read(f"--max-tokens {max_tokens}", max_tokens, kinds["max_tokens"])
    complete = getattr(target, "for_model", None)
    if model is not None and complete is not None:
        filled = dict(complete(filled, model))
    try:
        return PROTOCOLS.made(name, target, None, filled)
    except UnknownName as error:
        raise UserError(str(error)) from error
    except ValueError as error:
        raise UserError(f"protocol '{name}': {error}") from error


def options_of(name: str, View: type[Any] | None = None) -> dict[str, Any]:
    """Return the options that a protocol takes, with their types. Raises `UserError`."""
    return {
        key: kind for key, kind in _settings_of(_chosen(name, View)).items() if key != "max_tokens"
    }


def completed_options(
    name: str, protocol: AskingProtocol, given: Mapping[str, object] = _NOTHING
) -> dict[str, Any]:
    """Return the options of an opened protocol, with values from `given` for those that
    `protocol.settings()` lacks; a `history` of None becomes "all"."""
    known = {**given, **protocol.settings()}
    taken = options_of(name, protocol.View)
    # The name of the texts is no file: what was given, is.
    known.pop("prompts", None)
    known |= {"prompts": given["prompts"]} if given.get("prompts") else {}
    found = {
        key: list(value) if isinstance(value := known[key], tuple) else value
        for key in sorted(taken)
        if key in known
    }
    if "history" in found and found["history"] is None:
        found["history"] = "all"
    return found


def _read(where: str, value: object, kind: Any) -> object:
    try:
        return read(kind, value)
    except ValueError as error:
        raise UserError(f"{where}: {error}") from error


def _history_of(name: str, value: object, kind: Any) -> object:
    """Return a history in the words of the field. Raises `UserError` for one that it lacks."""
    if isinstance(value, str) and value != "all" and str not in get_args(kind):
        raise UserError(
            f"--history {value}: '{name}' shows earlier actions as lines only: all, none, or K"
        )
    return None if value == "all" else value


def _chosen(name: str, View: type[Any] | None) -> Any:
    """Return the object of a name: of several the first that answers views of a class, else the
    first. Raises `UserError`."""
    try:
        for target in PROTOCOLS.all(name):
            asked = getattr(target, "View", None)
            if View is None or (isinstance(asked, type) and issubclass(View, asked)):
                return target
        return PROTOCOLS.get(name)
    except UnknownName as error:
        raise UserError(str(error)) from error


def _settings_of(target: Any) -> Mapping[str, Any]:
    """Return the settings that a protocol has, with their types."""
    return {} if PROTOCOLS.is_instance(target) else kinds_of(target)
