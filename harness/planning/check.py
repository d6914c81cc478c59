"""Refuses settings that do not go together, or that have no effect on a run.

Whoever wonders why an option is refused finds the line by its text.
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


def check_settings(
    settings: Settings,
    protocol: AskingProtocol,
    *,
    is_policy: bool,
    is_own: bool,
) -> None:
    """Check settings that were given, before data are opened.

    `is_policy` says whether a policy answers, `is_own` whether the model is the caller's own.
    Raises `UserError`.
    """
    model, name = settings.model, protocol.name
    if is_own:
        _refuse(settings, OF_ADAPTER, f"on '{model}', which was made by the caller; leave it out")
    if is_policy:
        names = _only("model", "hosted")
        if settings.judge:  # Judges are asked with these.
            names = [one for one in names if SETTINGS[one].group != "Running"]
        _refuse(settings, names, f"on the policy '{model}'; leave it out")
    if protocol.calls(1 << 10) == (0, 0):
        asking = ("max_tokens", "repeats", "samples", "redo")
        _refuse(settings, asking, f"on '{name}', which makes no calls; leave it out")
    if not protocol.roles:
        why = f"on '{name}', which asks only the model under test; leave it out"
        _refuse(settings, ("role",), why)
    for one, other in (("vote", "samples"), ("redo_from", "redo")):
        if not getattr(settings, other):
            _refuse(settings, (one,), f"without {written(other)}; add that, or leave it out")
    if "batch" in settings.tier:
        from_leaf("harness.batches.leaf:check")(settings)
    else:
        why = "without --tier batch; add that, or leave it out"
        _refuse(settings, ("wait", "queue_tokens"), why)
    if settings.shuffles > 1 and settings.repeats > 1:
        raise UserError("give --repeats or --shuffles: each shuffle is asked once")
    if settings.shuffles > 1 and not protocol.needs.shuffles:
        raise UserError(f"'{name}' shuffles nothing; use --repeats")


def check_hosted(settings: Settings, *, here: bool) -> None:
    """Refuse settings of hosted models for a model on this machine (`here`)."""
    if here:
        why = f"on '{settings.model}', which runs on this machine; leave it out"
        _refuse(settings, _only("hosted"), why)


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


def _only(*whom: str) -> list[str]:
    return [name for name, setting in SETTINGS.items() if setting.only in whom]


def _refuse(settings: Settings, names: Iterable[str], why: str) -> None:
    """Raise `WithoutEffect` for a setting of these that was given."""
    for name in names:
        if name in settings.given:
            raise WithoutEffect(name, f"{written(name)} has no effect {why}")
