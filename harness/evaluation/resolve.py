"""Completes the settings of a run with defaults, and rejects those that have no effect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from adapters import AdapterInfo
from harness.benchmarks import step_benchmark
from harness.errors import UserError
from harness.pictures import PicturePolicy
from harness.protocols import (
    AskingProtocol,
    Source,
    StepProtocol,
    open_protocol,
    settled_settings,
)
from harness.settings import SETTINGS, Settings, written


def open_with(settings: Settings, info: AdapterInfo | None = None) -> AskingProtocol:
    """The protocol with the settings of the run. Raises `UserError`.

    `info` is the model's declaration, for settings that follow from it; None where a policy
    answers.
    """
    shared: dict[str, object] = {}
    options: dict[str, object] = dict(settings.protocol_options)
    for name, setting in SETTINGS.items():
        value = getattr(settings, name)
        if setting.fills_option and value:
            options[name] = value
        if setting.to_protocol and value is not None:
            shared[name] = value
    return open_protocol(settings.protocol, shared, options, model=info)


def complete(
    settings: Settings, protocol: StepProtocol, *, is_policy: bool, is_own: bool = False
) -> Settings:
    """The settings with the protocol's defaults filled in.

    `is_policy` says whether a policy answers, `is_own` whether the model is the caller's own.
    Raises `UserError` for settings that do not go together.
    """
    _check_stored(settings, protocol)
    source = source_of(settings, protocol)
    missing = _missing(settings, protocol, source, is_policy=is_policy, is_own=is_own)
    refuse_without_effect(settings, missing)
    if settings.shuffles > 1 and settings.repeats > 1:
        raise UserError("give --repeats or --shuffles: each shuffle is asked once")
    if settings.shuffles > 1 and not protocol.needs.shuffles:
        raise UserError(f"'{protocol.name}' shuffles nothing; use --repeats")
    changes: dict[str, Any] = {
        "candidates": source,
        "image_policy": _image_policy(settings, protocol),
    }
    if source == "ranker":
        changes |= {
            "top_k": settings.top_k or protocol.needs.top_k,
            "missed": settings.missed or "zero",
        }
        if settings.ranker is None:
            raise UserError(
                f"'{protocol.name}' asks about the first {changes['top_k']} candidates of a "
                "ranker: name one with --ranker (lexical, or a file of ranks that vlm-eval rank "
                "has written)"
            )
    settled = settled_settings(settings.protocol, protocol, dict(settings.protocol_options))
    settled["protocol_options"] = tuple(sorted(settled["protocol_options"].items()))
    return replace(settings, **changes, **settled)


def source_of(settings: Settings, protocol: StepProtocol) -> Source:
    """Where the candidates come from. Raises `UserError` for a source the protocol cannot use."""
    sources = protocol.needs.sources
    source = settings.candidates or sources[0]
    if source not in sources:
        raise UserError(
            f"--candidates {source}: '{protocol.name}' takes {' or '.join(sources)} only"
        )
    return source


def refuse_without_effect(settings: Settings, missing: Mapping[str, str]) -> None:
    """Reject settings that were given but need a feature that the run lacks.

    `missing` says of each such feature where it is missing and what to do. Raises `UserError`.
    """
    for name, setting in SETTINGS.items():
        if name not in settings.given:
            continue
        for feature in setting.needs:
            if feature in missing:
                raise UserError(f"{written(name)} has no effect {missing[feature]}")


def _missing(
    settings: Settings,
    protocol: StepProtocol,
    source: Source,
    *,
    is_policy: bool,
    is_own: bool,
) -> dict[str, str]:
    """The features that settings may need and this run lacks, each with where and what to do."""
    name, needs = protocol.name, protocol.needs
    missing: dict[str, str] = {}
    if is_own:
        for feature in ("adapter", "local model"):
            missing[feature] = f"on '{settings.model}', which was made by the caller; leave it out"
    if is_policy:
        for feature in ("adapter", "model", "local model"):
            missing[feature] = f"on the policy '{settings.model}'; leave it out"
    if source != "snapshot":
        offered = "the first of a ranker is" if source == "ranker" else "everything on the page is"
        where = f"where {offered} offered; leave it out, or add --candidates snapshot"
        missing["drawn choices"] = where
        if not is_policy:  # A baseline draws by the seed, too.
            missing["seed"] = where
    if source != "ranker":
        missing["ranked choices"] = (
            "unless the first candidates of a ranker are offered; add --candidates ranker, or "
            "leave it out"
        )
    if settings.form != "bnid":
        missing["bnid"] = "without --form bnid; add that, or leave it out"
    if not needs.forms:
        missing["form of choices"] = f"on '{name}', which has one form of its own; leave it out"
    if not needs.point:
        missing["points"] = f"on '{name}', which asks for no points; leave it out"
    if protocol.calls(1 << 10) == (0, 0):
        missing["questions"] = f"on '{name}', which asks nobody; leave it out"
    if not protocol.roles:
        missing["roles"] = f"on '{name}', which asks nobody but the model under test; leave it out"
    if settings.no_element_zeroes_operation:
        missing["operations without an element"] = (
            "beside --no-element-zeroes-operation, which covers it; leave one of them out"
        )
    if settings.wrong_element_zeroes_operation:
        missing["operations beside a wrong element"] = (
            "beside --wrong-element-zeroes-operation, which covers it; leave one of them out"
        )
    if not settings.redo:
        missing["redo"] = "without --redo; add that, or leave it out"
    if not settings.cache:
        missing["reply cache"] = "with --no-cache; leave one of them out"
    return missing


def _image_policy(settings: Settings, protocol: StepProtocol) -> str:
    needs = protocol.needs
    if needs.pictures == "none":
        for option, value in (
            ("--image-policy", settings.image_policy),
            ("--pixels", settings.pixels),
        ):
            if value not in (None, "none"):
                raise UserError(f"{option}: '{protocol.name}' shows no pictures; leave it out")
        return "none"
    text = settings.image_policy or needs.picture_policy
    if needs.sees and text.partition(":")[0] == "none":
        raise UserError(f"--image-policy none: '{protocol.name}' cannot be asked without pictures")
    return text


def picture_policy(settings: Settings, protocol: StepProtocol) -> PicturePolicy:
    """The screenshot policy of completed settings.

    Raises `UserError` for pictures that the benchmark or the protocol has no use for.
    """
    text = settings.image_policy or "full"
    if settings.pixels is not None:
        if not text.startswith("full"):
            raise UserError("--pixels is the budget of --image-policy full; leave it out")
        text += ("," if ":" in text else ":") + f"pixels={settings.pixels}"
    policy = PicturePolicy.parse(text)
    if settings.lost_rows and policy.name != "none":
        raise UserError("--lost-rows is for text-only runs; add --image-policy none")
    _check_pictures(settings, protocol, policy)
    return policy


def _check_pictures(settings: Settings, protocol: StepProtocol, policy: PicturePolicy) -> None:
    name = settings.benchmark
    if step_benchmark(name).screenshots:
        return
    if settings.lost_rows:
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
    """Reject a model that cannot answer this protocol or takes no pictures."""
    if policy.name != "none" and not info.takes_pictures:
        hint = (
            f"'{protocol.name}' cannot be asked without them"
            if protocol.needs.sees
            else "ask it text only with --image-policy none"
        )
        raise UserError(f"{info.name} takes no pictures; {hint}")
    protocol.check(policy, info)


def _check_stored(settings: Settings, protocol: StepProtocol) -> None:
    """Reject settings and protocols that do not fit a data set that stores its questions."""
    name = settings.benchmark
    fixes = step_benchmark(name).fixes
    if "prompts" in fixes and not protocol.can_be_stored:
        raise UserError(
            f"{name} stores its questions, in two rounds: '{protocol.name}' asks in another way "
            "and needs multimodal-mind2web"
        )
    if "choices" in fixes and settings.candidates not in (None, "snapshot"):
        raise UserError(f"--candidates has no effect on {name}, whose data fixes the choices")


def as_stored(settings: Settings) -> Settings:
    """The settings of a run, with those that the data set fixes taken from its data.

    Raises `UserError` if the user gave one of these, `DataError` if they cannot be read.
    """
    source = step_benchmark(settings.benchmark)
    for name, setting in SETTINGS.items():
        if name in settings.given and setting.fixed_as in source.fixes:
            raise UserError(
                f"{written(name)} has no effect on {settings.benchmark}, whose data fixes it; "
                "leave it out"
            )
    if not source.fixes:
        return settings
    # Missing data is reported when it is opened.
    data = Path(settings.data) if settings.data and Path(settings.data).exists() else None
    stored = source.stored_settings(data)
    fixed = {
        name: setting.read(stored[name])
        for name, setting in SETTINGS.items()
        # Prompt texts are part of the stored questions, whatever file they came from.
        if setting.fixed_as and name in stored and name != "prompts"
    }
    return replace(settings, **fixed)
