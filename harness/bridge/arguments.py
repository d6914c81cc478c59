"""The arguments of a task (`-T`): settings of a run, without those that inspect has options for.

Every setting of `vlm-eval run` is either read here as that reads it, or refused with what to say
instead, so that none is given and ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from inspect_ai.model import GenerateConfig

from harness.errors import UserError
from harness.settings import SETTINGS, Settings, field_of, read_settings

INSPECT = {
    "model": "--model PROVIDER/NAME",
    "base_url": "--model-base-url",
    "adapter_options": "-M NAME=VALUE",
    "temperature": "--temperature",
    "top_p": "--top-p",
    "model_seed": "--seed",
    "effort": "--reasoning-effort",
    "thinking_budget": "--reasoning-tokens",
    "roles": "--model-role NAME=PROVIDER/MODEL",
    "rationale_model": "--model-role rationale=PROVIDER/MODEL",
    "repeats": "--epochs",
    "out": "--log-dir",
    "concurrency": "--max-connections",
    "timeout_s": "--attempt-timeout",
    "attempts": "--max-retries",
    "patience_s": "--timeout",
    "tier": "-M service_tier=TIER",
    "max_cost": "--cost-limit",
    "settle_failures": "--no-fail-on-error",
    "unattempted": "--no-fail-on-error",
    "cache": "--cache",
    "progress": "--display",
    "redo": "`inspect eval-retry`",
    "redo_from": "`inspect eval-retry`",
}
"""What to give to inspect instead of a setting."""
USED = frozenset({"skip_bad_rows", "workers"})
"""Settings of sessions that hold here, too."""
LIMIT = "limit_tasks"
"""Our `--limit`, whose name means something else in inspect."""
DESCRIBED_AS, MAX_PIXELS = "described_as", "max_pixels"
"""What says more about the model: whom it equals in our names, and how large its pictures are."""


@dataclass(frozen=True)
class Arguments:
    """The arguments of a task, taken apart.

    settings: by name, for `read_settings`.
    described_as: our name of the model, "" to go by inspect's.
    options: what our adapter of the model is described with.
    """

    settings: Mapping[str, object]
    described_as: str = ""
    options: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Arguments:
        """Raises `UserError` for a setting that is inspect's, or has no meaning there."""
        settings = dict(given)
        described_as = str(settings.pop(DESCRIBED_AS, "") or "")
        options = {name: settings.pop(name) for name in (MAX_PIXELS,) if name in settings}
        for said in settings:
            _check(said, field_of(said) or "")
        if LIMIT in settings:
            settings["limit"] = settings.pop(LIMIT)
        return cls(settings, described_as, options)

    def resolved(self, model: str, config: GenerateConfig) -> Settings:
        """The settings of a run with the model, whose parameters are those given to inspect.

        Raises `UserError`.
        """
        values = dict(self.settings)
        of_inspect = {
            "temperature": config.temperature,
            "top_p": config.top_p,
            "model_seed": config.seed,
            "effort": config.reasoning_effort,
            "thinking_budget": config.reasoning_tokens,
            "max_tokens": config.max_tokens,
        }
        if config.max_tokens is not None and "max_tokens" in values:
            raise UserError("give -T max_tokens or --max-tokens, not both")
        values |= {name: value for name, value in of_inspect.items() if value is not None}
        try:
            return read_settings({**values, "model": model})
        except ValueError as error:
            told = re.sub("^limit:", f"{LIMIT}:", str(error))
            raise UserError(f"-T {told}") from error


def _check(said: str, name: str) -> None:
    """Raise `UserError` for a setting that is not an argument of a task."""
    if said == "limit":
        raise UserError(
            f"-T limit: give -T {LIMIT}=N for the first N tasks (--limit counts their steps)"
        )
    if name == "embedding_model":
        raise UserError(
            "-T embedding_model: inspect has no embedders; texts are embedded by 'lexical', others "
            "are for vlm-eval run"
        )
    if name in INSPECT:
        raise UserError(f"-T {said} is inspect's: give {INSPECT[name]} instead")
    setting = SETTINGS.get(name)
    if setting is None or name in USED:
        return
    if setting.group == "Models on this machine":
        raise UserError(f"-T {said}: inspect's own providers load models: -M {said}=VALUE")
    if setting.about == "session":
        raise UserError(f"-T {said} has no effect in inspect; leave it out")
