"""What runs were made with: settings that they share, and settings that tell them apart."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.runs import Manifest, Run
from harness.settings import FACTS, SETTINGS, with_absent

Setting = str | int | float | bool | None

ELSEWHERE = {
    *("data", "dataset.data", "dataset.partial_tasks", "dataset.rows", "dataset.splits"),
    "candidates_told",
}
"""Left out: where the data lay, as its fingerprint says which they were, facts of the rows, and
words that follow from other settings."""


def heading(constants: Mapping[str, Setting]) -> dict[str, Setting]:
    """The shared settings that a reader is told above a table; JSON has them all."""
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
    """`constants` are shared by all runs; `differences` map a setting to its value by run."""

    constants: dict[str, Setting]
    differences: dict[str, dict[str, Setting]]


def compare(runs: Mapping[str, Run]) -> Settings:
    """The settings of runs by label. A single run has constants only.

    A setting that a run does not know counts as None.
    """
    by_run = {label: settings_of(run.manifest) for label, run in runs.items()}
    names = dict.fromkeys(name for own in by_run.values() for name in own)
    constants: dict[str, Setting] = {}
    differences: dict[str, dict[str, Setting]] = {}
    for name in names:
        values = {label: own.get(name) for label, own in by_run.items()}
        kinds = {(type(value), value) for value in values.values()}
        if len(kinds) == 1:
            constants[name] = next(iter(values.values()))
        else:
            differences[name] = values
    return Settings(constants, differences)


def settings_of(manifest: Manifest) -> dict[str, Setting]:
    """The settings that a run is bound to, flat; lists are JSON, long ones a digest."""
    found: dict[str, Any] = {}
    found |= _flat(with_absent(manifest.config), "")
    found |= _flat(manifest.model, "model.")
    found |= _flat(manifest.dataset, "dataset.")
    found.setdefault("seed", manifest.seed)
    # Protocols that leave no choice have a rule all the same.
    found["none"] = found.get("none") or found.pop("none_rule", None)
    found.pop("none_rule", None)
    found["prompts_sha256"] = manifest.prompts
    found["pictures"] = manifest.pictures
    kept = {name: value for name, value in found.items() if not _elsewhere(name)}
    return {name: _plain(value) for name, value in kept.items()}


def _elsewhere(name: str) -> bool:
    return any(name == other or name.startswith(f"{other}.") for other in ELSEWHERE)


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
