"""Refuses settings that do not go together, or that have no effect on a run.

The text of a refusal leads to its line here.
"""

from __future__ import annotations

from collections.abc import Iterable

from adapters import AdapterInfo
from adapters.contract import Generation
from harness.errors import UserError, WithoutEffect, from_leaf
from harness.pictures import PicturePolicy
from harness.protocols import AskingProtocol, text_first
from harness.settings import SETTINGS, Settings, written

OF_ADAPTER = ("base_url", "adapter_option", "with_server")
"""Settings that decide which adapter is made, and how."""


def check_plan(
    settings: Settings,
    protocol: AskingProtocol,
    info: AdapterInfo,
    pictures: PicturePolicy,
    *,
    is_policy: bool,
    is_own: bool,
) -> None:
    """Check completed settings before data are opened, and what their model (`info`) can do.

    `is_policy` says whether a policy answers, `is_own` whether the model is the caller's own.
    Raises `UserError`.
    """
    name = protocol.name
    if is_own:
        why = f"on '{settings.model}', which was made by the caller; leave it out"
        _refuse(settings, OF_ADAPTER, why)
    if is_policy:
        why = f"on the policy '{settings.model}'; leave it out"
        _refuse(settings, _only("model", "hosted"), why)
    if protocol.calls(1 << 10) == (0, 0):
        asking = ("max_tokens", "repeats", "samples", "redo")
        _refuse(settings, asking, f"on '{name}', which makes no calls; leave it out")
    for one, other in (("vote", "samples"), ("redo_from", "redo")):
        if not getattr(settings, other):
            _refuse(settings, (one,), f"without {written(other)}; add that, or leave it out")
    if settings.tier == "batch":
        from_leaf("harness.batches.leaf:check")(settings)
    else:
        why = "without --tier batch; add that, or leave it out"
        _refuse(settings, ("wait", "queue_tokens"), why)
    if settings.shuffles > 1 and settings.repeats > 1:
        raise UserError("give --repeats or --shuffles: each shuffle is asked once")
    if settings.shuffles > 1 and not protocol.needs.shuffles:
        raise UserError(f"'{name}' shuffles nothing; use --repeats")
    decoding = Generation(temperature=settings.temperature, effort=settings.effort)
    if (settings.samples or 1) > 1 and info.greedy(decoding):
        raise WithoutEffect(
            "samples",
            f"--samples has no effect on {info.name} at temperature 0, where all replies are "
            "alike; add --temperature 0.7, say, or leave it out",
        )
    if pictures.name != "none" and not info.takes_pictures:
        hint = (
            f"'{name}' cannot be asked without them"
            if protocol.needs.sees
            else "ask it text only with --image-policy none"
        )
        raise UserError(f"{info.name} takes no pictures; {hint}")
    if pictures.name == "none" and protocol.needs.sees:
        raise UserError(f"--image-policy none: '{name}' cannot be asked without pictures")
    if pictures.name == "none" and text_first(protocol):
        raise UserError(
            "--protocol-option order=text-first: --image-policy none shows no picture; leave out "
            "one of them"
        )
    protocol.check(pictures, info)


def check_here(settings: Settings) -> None:
    """Refuse settings of hosted models for a model on this machine."""
    why = f"on '{settings.model}', which runs on this machine; leave it out"
    _refuse(settings, _only("hosted"), why)


def _only(*whom: str) -> list[str]:
    return [name for name, setting in SETTINGS.items() if setting.only in whom]


def _refuse(settings: Settings, names: Iterable[str], why: str) -> None:
    """Raise `WithoutEffect` for a setting of these that was given."""
    for name in names:
        if name in settings.given:
            raise WithoutEffect(name, f"{written(name)} has no effect {why}")
