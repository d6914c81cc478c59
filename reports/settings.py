"""Settings of runs: those that they share, and those that differ."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.runs import Manifest, Run
from harness.settings import FACTS, OF_MODEL, SETTINGS

Setting = str | int | float | bool | None

LEFT_OUT = {
    *("data", "dataset.data", "dataset.partial_tasks", "dataset.rows", "dataset.splits"),
    "candidates_told",
}
"""Not compared: paths of the data (its fingerprint identifies it), facts about the rows, and
descriptions that follow from other settings."""


def heading(constants: Mapping[str, Setting]) -> dict[str, Setting]:
    """Return the shared settings printed above a table; JSON holds all of them."""
    shown: dict[str, Setting] = {}
    about = ("data", "question", "model", "scoring", "session")
    known = sorted({**SETTINGS, **FACTS}.items(), key=lambda item: about.index(item[1].about))
    for name, setting in known:
        value = constants.get(name)
        always = setting.heading == "always"
        unusual = setting.heading == "unusual" and value != _plain(setting.usual_value)
        if value not in (None, "") and (always or unusual):
            shown[name] = value
    return shown


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of several runs.

    constants: settings that all runs share.
    differences: the other settings, each with its value by run.
    """

    constants: dict[str, Setting]
    differences: dict[str, dict[str, Setting]]


def compare(runs: Mapping[str, Run]) -> Settings:
    """Split the settings of runs into shared and differing ones. A single run has constants only.

    A setting missing from a run's manifest counts as None.
    """
    by_run = {label: settings_of(run.manifest) for label, run in runs.items()}
    names = dict.fromkeys(name for settings in by_run.values() for name in settings)
    constants: dict[str, Setting] = {}
    differences: dict[str, dict[str, Setting]] = {}
    for name in names:
        values = {label: settings.get(name) for label, settings in by_run.items()}
        kinds = {(type(value), value) for value in values.values()}
        if len(kinds) == 1:
            constants[name] = next(iter(values.values()))
        else:
            differences[name] = values
    return Settings(constants, differences)


def settings_of(manifest: Manifest) -> dict[str, Setting]:
    """Return the settings of a run, flat. Lists become JSON text, long ones a digest."""
    values: dict[str, Any] = {}
    values |= _flat(manifest.config, "")
    values |= _flat(manifest.model, "model.")
    values |= _flat(manifest.dataset, "dataset.")
    values.setdefault("seed", manifest.seed)
    # Protocols with a fixed rule for "none of these" record it as `none_rule`.
    values["none"] = values.get("none") or values.pop("none_rule", None)
    values.pop("none_rule", None)
    values["prompts_sha256"] = manifest.prompts
    for name in manifest.config.get(OF_MODEL, ()):
        # Settings of the model differ with it, and are not about the question.
        own = f"protocol_options.{name}"
        values[f"model.{name}"] = values.pop(own if own in values else name, None)
    values.pop(OF_MODEL, None)
    values["pictures"] = manifest.pictures
    values["reading"] = manifest.reading
    values["redone"] = None if manifest.redone is None else str(manifest.redone)
    kept = {name: value for name, value in values.items() if not _is_left_out(name)}
    return {name: _plain(value) for name, value in kept.items()}


def _is_left_out(name: str) -> bool:
    return any(name == left_out or name.startswith(f"{left_out}.") for left_out in LEFT_OUT)


def _flat(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


def _plain(value: Any) -> Setting:
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if value in ([], ()):
        return None
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= 60 else "sha256:" + hashlib.sha256(text.encode()).hexdigest()[:16]
