"""The protocol of a run, and what it settles of the settings that were left to it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from adapters import AdapterInfo
from harness.benchmarks import benchmark
from harness.errors import UserError
from harness.evaluation.config import Asking, Choosing, RunConfig
from harness.pictures import PicturePolicy
from harness.protocols.contract import AskingProtocol, Source
from harness.protocols.coordinates import usual_form
from harness.protocols.opening import FROM_MODEL, SHARED, open_named, parameters
from harness.protocols.seeact import TwoRounds

WHOLE = ("candidates", "full", "tiles")
"""Picture policies that show every candidate they are asked for."""
READING = ("none", "first_of_many", "value_style")


def open_protocol(config: RunConfig, info: AdapterInfo | None = None) -> AskingProtocol:
    """The protocol with the settings of the run. Raises `UserError`.

    `info` is the model's, for protocols that must know what its coordinates mean.
    """
    asking = config.asking
    shared: dict[str, object] = {
        name: value for name in READING if (value := getattr(asking, name)) is not None
    }
    if asking.prompts:
        shared["prompts"] = Path(asking.prompts)
    if asking.history is not None:
        shared["history"] = None if asking.history == "all" else asking.history
    shared["max_tokens"] = asking.max_tokens
    options = dict(asking.protocol_options)
    if info is not None and info.coordinates is not None and FROM_MODEL not in options:
        shared[FROM_MODEL] = info.coordinates
    takes_form = info is not None and "form" in parameters(asking.protocol)
    if info is not None and takes_form and options.get("form", "auto") == "auto":
        options["form"] = usual_form(f"{info.name} {info.model}")
    return open_named(asking.protocol, shared, options)


def as_asked(config: RunConfig, protocol: AskingProtocol) -> RunConfig:
    """The settings with nothing left open: what was not given is as the protocol has it.

    Raises `UserError` for settings that do not go together.
    """
    _check_stored(config, protocol)
    return replace(
        config,
        choosing=_choosing(config.choosing, protocol),
        asking=_asking(config, protocol),
    )


def source_of(config: RunConfig, protocol: AskingProtocol) -> Source:
    """Where the candidates come from. Raises `UserError` for a source the protocol cannot use."""
    sources = protocol.needs.sources
    source = config.choosing.candidates or sources[0]
    if source not in sources:
        raise UserError(
            f"--candidates {source}: '{protocol.name}' takes {' or '.join(sources)} only"
        )
    return source


def _choosing(choosing: Choosing, protocol: AskingProtocol) -> Choosing:
    needs = protocol.needs
    source = source_of(RunConfig(model="", choosing=choosing), protocol)
    if source != "ranker":
        for name in ("ranker", "top_k", "missed"):
            if getattr(choosing, name) is not None:
                written = name.replace("_", "-")
                raise UserError(
                    f"--{written} is for the first candidates of a ranker; "
                    "add --candidates ranker, or leave it out"
                )
        return replace(choosing, candidates=source)
    top_k = choosing.top_k or needs.top_k
    if choosing.ranker is None:
        raise UserError(
            f"'{protocol.name}' asks about the first {top_k} candidates of a ranker: name one with "
            "--ranker (lexical, or a file of ranks that vlm-eval rank has written)"
        )
    return replace(choosing, candidates=source, top_k=top_k, missed=choosing.missed or "zero")


def _asking(config: RunConfig, protocol: AskingProtocol) -> Asking:
    asking, needs = config.asking, protocol.needs
    if asking.shuffles > 1 and asking.repeats > 1:
        raise UserError("give --repeats or --shuffles: each shuffle is asked once")
    if asking.shuffles > 1 and not needs.shuffles:
        raise UserError(f"'{protocol.name}' deals nothing out by chance; use --repeats")
    taken = parameters(asking.protocol)
    told = protocol.settings()
    history: Any = told.get("history")
    reading: dict[str, Any] = {name: told.get(name) if name in taken else None for name in READING}
    options = {
        key: _plain(told.get(key, given.get(key)))
        for given in (dict(asking.protocol_options),)
        for key in taken.difference(SHARED)
        if key in told or key in given
    }
    return replace(
        asking,
        history=("all" if history is None else history) if "history" in taken else None,
        image_policy=_image_policy(asking, protocol),
        protocol_options=tuple(sorted(options.items())),
        **reading,
    )


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _image_policy(asking: Asking, protocol: AskingProtocol) -> str:
    needs = protocol.needs
    if needs.pictures == "none":
        for name, given in (("--image-policy", asking.image_policy), ("--pixels", asking.pixels)):
            if given not in (None, "none"):
                raise UserError(f"{name}: '{protocol.name}' shows no pictures; leave it out")
        return "none"
    text = asking.image_policy or needs.picture_policy
    if needs.sees and text.partition(":")[0] == "none":
        raise UserError(f"--image-policy none: '{protocol.name}' cannot be asked without pictures")
    return text


def picture_policy(config: RunConfig) -> PicturePolicy:
    """The screenshot policy of a run whose settings are complete. Raises `UserError`."""
    text = config.asking.image_policy or "full"
    if config.asking.pixels is not None:
        if not text.startswith("full"):
            raise UserError("--pixels is the budget of --image-policy full; leave it out")
        text += ("," if ":" in text else ":") + f"pixels={config.asking.pixels}"
    policy = PicturePolicy.parse(text)
    if config.asking.lost_rows and policy.name != "none":
        raise UserError("--lost-rows is for text-only runs; add --image-policy none")
    return policy


def check_pictures(config: RunConfig, protocol: AskingProtocol, policy: PicturePolicy) -> None:
    """Raise `UserError` for pictures that a benchmark or a protocol has no use for."""
    needs, name = protocol.needs, config.selecting.benchmark
    if needs.sees and needs.pictures == "crops" and policy.name not in WHOLE:
        raise UserError(
            f"--image-policy {policy.name}: '{protocol.name}' marks candidates all down the page, "
            f"and some would lie outside of the picture; ask with {', '.join(WHOLE)}"
        )
    if benchmark(name).screenshots:
        return
    if config.asking.lost_rows:
        raise UserError(
            f"--lost-rows has no effect on {name}, which has no screenshots to lose: all of its "
            "rows are asked about; leave it out"
        )
    if policy.name == "none":
        return
    blind = "" if protocol.needs.sees else "--image-policy none or "
    raise UserError(
        f"{name} has no screenshots, and '{protocol.name}' would show them: ask with {blind}"
        "a protocol that shows none (vlm-eval protocols)"
    )


def check_model(protocol: AskingProtocol, info: AdapterInfo, policy: PicturePolicy) -> None:
    """Raise `UserError` for a model that cannot be asked this way."""
    if policy.name != "none" and not info.takes_pictures:
        hint = (
            f"'{protocol.name}' cannot be asked without them"
            if protocol.needs.sees
            else "ask it text only with --image-policy none"
        )
        raise UserError(f"{info.name} takes no pictures; {hint}")
    if protocol.needs.point and policy.name == "tiles":
        raise UserError(
            "--image-policy tiles shows several pictures, and a point would not say which it "
            f"means: ask '{protocol.name}' with full, viewport or candidates"
        )
    options = protocol.settings()
    declared = info.provider == "policy" or info.coordinates or options.get(FROM_MODEL)
    if protocol.needs.point and not declared:
        raise UserError(
            f"it is not known what the coordinates of {info.name} mean: say "
            "--protocol-option coordinates=absolute (pixels of the picture), unit (0 to 1) or "
            "per-mille (0 to 1000)"
        )


def _check_stored(config: RunConfig, protocol: AskingProtocol) -> None:
    """Questions that a data set stores are two rounds about choices of its own."""
    name = config.selecting.benchmark
    fixes = benchmark(name).fixes
    if "prompts" in fixes and not isinstance(protocol, TwoRounds):
        raise UserError(
            f"{name} stores its questions, in two rounds: '{protocol.name}' asks in another way "
            "and needs multimodal-mind2web"
        )
    if "choices" in fixes and config.choosing.candidates not in (None, "snapshot"):
        raise UserError(f"--candidates has no effect on {name}, whose data fixes the choices")
