"""Settings as given, as recorded by a run, and in the name of its directory."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

from adapters.secrets import masked
from harness.settings.declared import Settings
from harness.settings.setting import ELEMENTS, PICTURES, STEPS, Group, Setting
from harness.settings.values import pairs
from parsers.records import READING

GROUPS: tuple[Group, ...] = (
    "Model",
    "Data",
    "Question",
    "Scoring",
    "Running",
    "Models on this machine",
)


def declarations(declared: type[Settings]) -> dict[str, Setting]:
    """Return the settings that a class declares, by name, in order."""
    types = get_type_hints(declared, include_extras=True)
    found = {}
    for declaration in fields(declared):
        facts = dict(declaration.metadata)
        if not facts:
            continue
        facts.setdefault("option", f"--{declaration.name.replace('_', '-')}")
        found[declaration.name] = Setting(
            name=declaration.name,
            type=types[declaration.name],
            default=declaration.default,
            **facts,
        )
    return found


OF_MODEL = "of_model"
"""The key on record of the protocol's settings that are as the model usually has them."""


def _fact(name: str, **facts: Any) -> Setting:
    facts = {"about": "model", "group": "Model", "heading": "never", **facts}
    return Setting(name=name, type=Any, default=None, help="", option="", **facts)


FACTS: dict[str, Setting] = {
    fact.name: fact
    for fact in (
        _fact("model.name", follows=("model",)),
        _fact("model.model", follows=("model",)),
        _fact("model.provider", follows=("model",)),
        _fact("model.revision", follows=("model", "revision")),
        # The recipe follows from what the model's provider takes.
        _fact("pictures", follows=("model", "image_policy", "pixels")),
        _fact(
            "prompts_sha256",
            about="question",
            forbids_ranking=True,
            follows=("protocol", "prompts", "history", "image_policy", "none"),
        ),
        _fact(
            "ranker_sha256",
            about="question",
            forbids_ranking=True,
            follows=("candidates", "ranker"),
        ),
        _fact("reading", about="scoring", forbids_ranking=True, heading="unusual", usual=READING),
        _fact("benchmark_object", about="data", forbids_ranking=True, follows=("benchmark",)),
        _fact("protocol_class", about="question", forbids_ranking=True, follows=("protocol",)),
        _fact("role_models", forbids_ranking=True, follows=("roles",)),
        _fact("redone", forbids_ranking=True, heading="unusual"),
        _fact(
            "dataset.files",
            about="data",
            forbids_ranking=True,
            heading="unusual",
            follows=("benchmark", "splits"),
        ),
        # Asking batches at once gives the same answers.
        _fact("protocol_options.eager", about="question"),
        _fact("dataset.revision", about="data", heading="unusual", follows=("benchmark",)),
    )
}
"""Recorded facts other than settings, if more than their name is known."""

SETTINGS: dict[str, Setting] = declarations(Settings)
"""Every setting by name, in the order of the help."""

SEVERAL = ("model", "benchmark")
"""Settings that `run` takes several times: every model is then asked about every benchmark."""


def field_of(name: str) -> str | None:
    """Return the field of a setting that is named by its field or by its option (`splits` or
    `split`)."""
    return name if name in SETTINGS else _by_option().get(name)


def _by_option() -> dict[str, str]:
    return {setting.option.strip("-").replace("-", "_"): name for name, setting in SETTINGS.items()}


def read_settings(values: Mapping[str, object]) -> Settings:
    """Return the settings with the values given, by field or by option name (`splits` or `split`).

    Raises ValueError for an unknown name and for a value that a setting does not take.
    """
    read: dict[str, Any] = {}
    for given, value in values.items():
        name = field_of(given)
        if name is None:
            near = difflib.get_close_matches(given, _by_option(), n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise ValueError(f"unknown setting '{given}'{hint}")
        setting = SETTINGS[name]
        if isinstance(value, Mapping):
            value = pairs(value) if name == "roles" else tuple(value.items())
        if isinstance(value, Path):
            value = str(value)
        try:
            read[name] = setting.read(value)
        except ValueError as error:
            raise ValueError(f"{given}: {error}") from error
    for name in ("adapter_options", "protocol_options", "roles"):
        if name in read:
            read[name] = tuple(sorted(read[name]))
    keys = [key for key, _ in read.get("roles", ())]
    for key in keys:
        if keys.count(key) > 1:
            raise ValueError(f"role: {key} is given twice")
    return Settings(**read, given=frozenset(read))


def on_record(settings: Settings) -> dict[str, Any]:
    """Return the identity of a run directory, flat and JSON: equal values mean the same run.

    Secrets among the options are masked.
    """
    plain: dict[str, Any] = {}
    for name, setting in SETTINGS.items():
        value = getattr(settings, name)
        if not settings.lacks.isdisjoint(setting.needs):
            continue
        if setting.recorded == "always" or (setting.recorded == "when set" and value):
            plain[name] = list(value) if isinstance(value, tuple) else value
    for name in ("adapter_options", "protocol_options", "roles"):
        if name in plain:
            plain[name] = masked(dict(getattr(settings, name)))
    if "roles" in plain:
        plain["roles"] = {k: v for k, v in plain["roles"].items() if _is_recorded(k)}
    if settings.candidates not in (None, "snapshot") and "distractors" in plain:
        # Nothing is drawn. A kind of units without candidates leaves this open.
        plain["distractors"] = None
    return plain


def _is_recorded(key: str) -> bool:
    """Return True if a run has a setting of a role on record, as it would one of the model's."""
    setting = SETTINGS.get(key.partition(".")[2])
    return setting is None or setting.recorded != "never"


def of_session(settings: Settings) -> dict[str, Any]:
    """Return the settings that change no result and may differ between the sessions of a run."""
    names = [name for name, setting in SETTINGS.items() if setting.about == "session"]
    return {name: getattr(settings, name) for name in names}


def from_record(config: Mapping[str, Any]) -> Settings:
    """Return the settings of a run from its configuration on record.

    Raises ValueError for one that is missing or of another type.
    """
    read: dict[str, Any] = {}
    for name, value in config.items():
        setting = SETTINGS.get(name)
        if setting is None or (name == "distractors" and value is None):
            continue
        try:
            read[name] = setting.read(value)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    lacks = _lacking(config)
    for name, setting in SETTINGS.items():
        if setting.recorded != "always" or name in config:
            continue
        if lacks.isdisjoint(setting.needs):
            raise ValueError(f"{name} is missing")
    return Settings(**read, lacks=lacks)


def _lacking(config: Mapping[str, Any]) -> frozenset[str]:
    """Return the features that the units of a recorded run lack."""
    needed = {f for name in config if name in SETTINGS for f in SETTINGS[name].needs}
    return frozenset({STEPS, ELEMENTS, PICTURES} - needed)


def setting_of(name: str) -> Setting | None:
    """Return the facts about a flat recorded name: a setting, an option's key, or another fact.

    A key of a model or of its adapter is known as `model`, one of a protocol's own options as
    `protocol_options`.
    """
    if name in SETTINGS or name in FACTS:
        return SETTINGS.get(name) or FACTS[name]
    whole, _, key = name.partition(".")
    if whole == "dataset":
        return FACTS["dataset.files" if key.startswith("files") else "dataset.revision"]
    whole = "model" if whole == "adapter_options" else whole
    return SETTINGS.get(whole) or FACTS.get(whole)


def directory_name(settings: Settings) -> str:
    """Return a name that says what the run is and differs whenever a setting of its identity
    does."""
    plain = {**on_record(settings), "data": settings.data}
    for name, setting in SETTINGS.items():
        value = getattr(settings, name)
        if setting.about == "model" and setting.recorded == "never" and value is not None:
            plain[name] = value
    text = json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    short = hashlib.sha256(text.encode()).hexdigest()[:8]
    name = _plain(settings.model)[-48:].strip("-.") or "model"
    asked = _plain(settings.benchmark)
    if STEPS in settings.lacks:
        return f"{name}-{asked}-{short}"
    offered = f"k{settings.distractors}"
    if settings.candidates == "ranker":
        offered = f"top{settings.top_k}"
    elif settings.candidates == "all":
        offered = "all"
    return f"{name}-{asked}-{offered}-{short}"


def _plain(text: str) -> str:
    """Return a text as part of a file's name."""
    return "".join(c if c.isalnum() or c in "-._" else "-" for c in text).strip("-.")


RUNS = Path("runs")
"""Where the directories of runs lie."""


def directory_of(settings: Settings, folder: Path = RUNS) -> Path:
    """Return the directory of a run: the named one, or one in `folder` named by its settings."""
    return Path(settings.out or folder / directory_name(settings))


def written(name: str) -> str:
    """Return a setting in the form of a command line: `--no-cache` for a switch that is on."""
    setting = SETTINGS[name]
    if setting.is_switch and setting.default is True:
        return setting.option.replace("--", "--no-", 1)
    return setting.option
