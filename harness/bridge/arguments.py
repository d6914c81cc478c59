"""The arguments of a task (`-T`): settings of a run, except those with an option of inspect.

Every setting of `vlm-eval run` is either read as `run` reads it, or refused with its replacement;
none is ignored.
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
"""Inspect's options by the settings that they replace."""
USED = frozenset({"skip_bad_rows", "workers"})
"""Settings of sessions that also apply here."""
LIMIT = "limit_tasks"
"""Our `--limit`, a name with another meaning in inspect."""
DESCRIBED_AS, MAX_PIXELS = "described_as", "max_pixels"
"""Arguments that describe the model: its name here, and the size of its pictures."""


@dataclass(frozen=True)
class Arguments:
    """The parsed arguments of a task.

    settings: settings by name, for `read_settings`.
    described_as: our name of the model; "" to use inspect's.
    options: options of the adapter that describes the model.
    """

    settings: Mapping[str, object]
    described_as: str = ""
    options: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def read(cls, arguments: Mapping[str, Any]) -> Arguments:
        """Parse arguments. Raises `UserError` for settings that inspect has or that it ignores."""
        settings = dict(arguments)
        described_as = str(settings.pop(DESCRIBED_AS, "") or "")
        options = {name: settings.pop(name) for name in (MAX_PIXELS,) if name in settings}
        for option in settings:
            _check(option, field_of(option) or "")
        if LIMIT in settings:
            settings["limit"] = settings.pop(LIMIT)
        return cls(settings, described_as, options)

    def resolved(self, model: str, config: GenerateConfig) -> Settings:
        """Build the settings of a run with the model and the parameters given to inspect.

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
            message = re.sub("^limit:", f"{LIMIT}:", str(error))
            raise UserError(f"-T {message}") from error


def _check(option: str, name: str) -> None:
    """Raise `UserError` for a setting that tasks do not take."""
    if option == "limit":
        raise UserError(
            f"-T limit: give -T {LIMIT}=N for the first N tasks (--limit counts their steps)"
        )
    if name in INSPECT:
        raise UserError(f"-T {option} is an option of inspect: give {INSPECT[name]} instead")
    setting = SETTINGS.get(name)
    if setting is None or name in USED:
        return
    if setting.group == "Models on this machine":
        raise UserError(f"-T {option}: inspect's providers load models: give -M {option}=VALUE")
    if setting.about == "session":
        raise UserError(f"-T {option} has no effect in inspect; leave it out")
