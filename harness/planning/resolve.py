"""Completes the settings of a run with defaults, and rejects those that have no effect."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from adapters import AdapterInfo
from adapters.contract import Generation
from harness.benchmarks import Benchmark
from harness.benchmarks.opening import check_asks
from harness.errors import UserError, WithoutEffect, from_leaf
from harness.pictures import PicturePolicy
from harness.protocols import AskingProtocol, settled_settings, text_first
from harness.settings import OWN_PYTHON, SETTINGS, Settings, written

FLEX_TIMEOUT_S = 900.0
"""Seconds that a reply may take on flex; the providers advise to allow as much."""


def begin(settings: Settings, source: Benchmark) -> Settings:
    """The settings with what follows from benchmark, data and tier alone.

    Raises `UserError` for a setting that the data fixes, `DataError` for data that cannot be read.
    """
    if "protocol" not in settings.given and settings.protocol == SETTINGS["protocol"].default:
        settings = replace(settings, protocol=source.protocol)
    if "flex" in settings.tier and "timeout_s" not in settings.given:
        settings = replace(settings, timeout_s=FLEX_TIMEOUT_S)
    return source.given(settings)


def complete(
    settings: Settings,
    source: Benchmark,
    protocol: AskingProtocol,
    *,
    is_policy: bool,
    is_own: bool = False,
) -> Settings:
    """The settings with the protocol's defaults filled in.

    `source` is the benchmark of the run; `is_policy` says whether a policy answers, `is_own`
    whether the model is the caller's own. Raises `UserError` for settings that do not go together.
    """
    check_asks(source, protocol)
    lacks = source.lacks(settings, protocol, is_policy=is_policy)
    lacks |= _missing(settings.model, protocol, is_policy=is_policy, is_own=is_own)
    if not source.own_python:
        lacks[OWN_PYTHON] = f"on {settings.benchmark}, which runs under this Python; leave it out"
    for feature in {feature for setting in SETTINGS.values() for feature in setting.needs}:
        if feature in SETTINGS and not getattr(settings, feature):
            lacks[feature] = f"without {written(feature)}; add that, or leave it out"
    if "batch" not in settings.tier:
        lacks["--tier batch"] = "without --tier batch; add that, or leave it out"
    if settings.cache is False and not settings.picture_cache:
        lacks["reply cache"] = "with --no-cache; leave one of them out"
    refuse_without_effect(settings.given, lacks)
    if "batch" in settings.tier:
        from_leaf("harness.batches.leaf:check")(settings, lacks)
    if settings.shuffles > 1 and settings.repeats > 1:
        raise UserError(f"give --repeats or {written('shuffles')}: each shuffle is asked once")
    if settings.shuffles > 1 and not protocol.needs.shuffles:
        raise UserError(f"'{protocol.name}' shuffles nothing; use --repeats")
    options = ((name, getattr(source, name)) for name in sorted(source.settable))
    settings = replace(
        settings,
        benchmark_options=tuple(
            (name, list(value) if isinstance(value, tuple) else value) for name, value in options
        ),
    )
    changes = source.completed(settings, protocol)
    changes["lacks"] = source.never_has()
    settled = settled_settings(settings.protocol, protocol, dict(settings.protocol_options))
    settled["protocol_options"] = tuple(sorted(settled["protocol_options"].items()))
    return replace(settings, **changes, **settled)


def refuse_without_effect(given: Collection[str], missing: Mapping[str, str]) -> None:
    """Reject settings that were given but need a feature that the run lacks.

    `missing` says of each such feature where it is missing and what to do. Raises `WithoutEffect`.
    """
    for name, setting in SETTINGS.items():
        if name not in given:
            continue
        for feature in (*setting.needs, setting.selects):
            if feature in missing:
                raise WithoutEffect(name, f"{written(name)} has no effect {missing[feature]}")


def _missing(
    model: str, protocol: AskingProtocol, *, is_policy: bool, is_own: bool
) -> dict[str, str]:
    """The features that settings may need and a model or protocol lacks."""
    missing: dict[str, str] = {}
    if is_own:
        for feature in ("adapter", "local model"):
            missing[feature] = f"on '{model}', which was made by the caller; leave it out"
    if is_policy:
        for feature in ("adapter", "model", "local model"):
            missing[feature] = f"on the policy '{model}'; leave it out"
    if protocol.calls(1 << 10) == (0, 0):
        missing["questions"] = f"on '{protocol.name}', which makes no calls; leave it out"
    if not protocol.roles:
        missing["roles"] = (
            f"on '{protocol.name}', which asks only the model under test; leave it out"
        )
    return missing


def check_model(
    settings: Settings, protocol: AskingProtocol, info: AdapterInfo, policy: PicturePolicy
) -> None:
    """Reject a model that cannot answer this protocol, or whose samples would all be alike."""
    decoding = Generation(temperature=settings.temperature, effort=settings.effort)
    if (settings.samples or 1) > 1 and info.greedy(decoding):
        raise WithoutEffect(
            "samples",
            f"--samples has no effect on {info.name} at temperature 0, where all replies are "
            "alike; add --temperature 0.7, say, or leave it out",
        )
    if policy.name != "none" and not info.takes_pictures:
        hint = (
            f"'{protocol.name}' cannot be asked without them"
            if protocol.needs.sees
            else "ask it text only with --image-policy none"
        )
        raise UserError(f"{info.name} takes no pictures; {hint}")
    if policy.name == "none" and protocol.needs.sees:
        raise UserError(f"--image-policy none: '{protocol.name}' cannot be asked without pictures")
    if policy.name == "none" and text_first(protocol):
        raise UserError(
            "--protocol-option order=text-first: --image-policy none shows no picture; leave out "
            "one of them"
        )
    protocol.check(policy, info)
