"""Settings as given, as recorded by a run, and in the name of its directory."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from operator import itemgetter
from pathlib import Path
from typing import Any, get_type_hints

from adapters.registry import allow
from adapters.secrets import has_password, key_in, masked
from harness.settings import values
from harness.settings.declared import Settings
from harness.settings.setting import ELEMENTS, PICTURES, STEPS, Group, Setting

GROUPS: tuple[Group, ...] = (
    "Model",
    "Data",
    "Question",
    "Scoring",
    "Running",
    "Models on this machine",
)

NAMES = frozenset({"model", "benchmark", "protocol", "ranker", "roles"})
"""Settings that name models, benchmarks, protocols, policies, rankers and embedders."""


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

SETTINGS: dict[str, Setting] = declarations(Settings)
"""Every setting by name, in the order of the help."""

SEVERAL = ("model", "benchmark")
"""Settings that `run` takes several times: every model is then asked about every benchmark."""


UNDER: dict[str, dict[str, str]] = {
    name: {one.key: field for field, one in SETTINGS.items() if one.under == setting.option}
    for name, setting in SETTINGS.items()
}
"""The settings under each option, by their keys: `UNDER["scoring_options"]["step_rule"]`."""


def field_of(name: str) -> str | None:
    """Return the field of a setting that is named by its field or by its option (`splits` or
    `split`)."""
    return name if name in SETTINGS else _by_option().get(name)


def _by_option() -> dict[str, str]:
    return {setting.key: name for name, setting in SETTINGS.items()}


def unfolded(given: Mapping[str, object]) -> dict[str, object]:
    """Return settings with those under other options by their own names.

    >>> unfolded({"adapter_option": {"detail": "low", "dtype": "float32"}})
    {'adapter_option': [('detail', 'low')], 'dtype': 'float32'}

    Raises ValueError for a setting that is given twice, and a key that an option does not have.
    """
    found: dict[str, object] = {}
    under: dict[str, list[object]] = {}
    for name, value in given.items():
        setting = SETTINGS.get(field_of(name) or "")
        members = UNDER[setting.name] if setting is not None else {}
        if setting is None or not members or not isinstance(value, (str, Mapping, list, tuple)):
            found[name] = value
            continue
        others: list[object] = []
        for entry in _entries(value):
            key, item = values.pair(entry) if isinstance(entry, str) else entry
            if key in members:
                under.setdefault(members[key], []).append(item)
            elif setting.members_only:
                raise ValueError(f"{name}: {unknown('key', key, members)}")
            else:
                joined = f"{key}={item}" if isinstance(entry, tuple) else entry
                others.append(entry if setting.holds_pairs else joined)
        if others or not value:
            found[name] = others
    fields = {field_of(name) for name in found}
    for name, items in under.items():
        setting = SETTINGS[name]
        if name in fields or (len(items) > 1 and not setting.repeatable):
            raise ValueError(f"{setting.key} is given twice")
        found[name] = items if setting.repeatable else items[0]
    return found


def _entries(value: str | Mapping[str, object] | Sequence[Any]) -> Iterator[Any]:
    """Yield texts and pairs; a list of values is a pair for each."""
    if not isinstance(value, Mapping):
        yield from (value,) if isinstance(value, str) else value
        return
    for key, item in value.items():
        for one in item if isinstance(item, (list, tuple)) else (item,):
            yield key.replace("-", "_"), one


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """Return the complaint about a name that there is not."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"unknown {what} '{name}'" + (f"; did you mean '{near[0]}'?" if near else "")


def read_settings(named: Mapping[str, object]) -> Settings:
    """Return the settings with the values given, by field or by option name (`splits` or `split`).

    Raises ValueError for an unknown name and for a value that a setting does not take.
    """
    read: dict[str, Any] = {}
    for given, value in unfolded(named).items():
        name = field_of(given)
        if name is None:
            raise ValueError(unknown("setting", given, _by_option()))
        setting = SETTINGS[name]
        if isinstance(value, Mapping):
            value = values.pairs(value) if name == "roles" else tuple(value.items())
        if isinstance(value, Path):
            value = str(value)
        if variable := key_in(value):
            raise ValueError(
                f"{given} holds the value of {variable}, which a run would write down: leave it "
                "out; keys are read from the environment"
            )
        # An address that is asked is recorded without its password.
        if has_password([one for one in _flat(value) if "base_url" not in (name, _key_of(one))]):
            raise ValueError(f"{given} holds the password of an address: leave it out")
        try:
            read[name] = setting.read(value)
        except ValueError as error:
            raise ValueError(f"{given}: {error}") from error
    for name in read:
        if SETTINGS[name].holds_pairs:
            read[name] = tuple(sorted(read[name], key=itemgetter(0)))
            keys = [key for key, _ in read[name]]
            for key in keys:
                if keys.count(key) > 1:
                    raise ValueError(f"{SETTINGS[name].key}: {key} is given twice")
    return Settings(**read, given=frozenset(read))


def allow_code(given: Mapping[str, object]) -> None:
    """Let the code be loaded that a user's settings name (`module:Class`), by field or option.

    Never for settings that are read from a run: it may come from another user.
    """
    for name, value in given.items():
        if field_of(name) in NAMES:
            for text in _texts(value):
                allow(text)
                allow(text.partition("=")[2])  # Of a role.


def _texts(value: object) -> Iterator[str]:
    """Yield the texts of a value, those of pairs and lists one by one."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _texts(one)


def _flat(value: object) -> Iterator[object]:
    """Yield the members of a list, or the value itself."""
    yield from value if isinstance(value, (list, tuple)) else (value,)


def _key_of(member: object) -> str:
    """Return the last part of the key of a pair, `base_url` of `("planner.base_url", ...)`."""
    key = member[0] if isinstance(member, tuple) and member else str(member).partition("=")[0]
    return str(key).rpartition(".")[2]


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
    for name in plain:
        if SETTINGS[name].holds_pairs:
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
    """Return a setting as it is written on a command line (`Setting.written`)."""
    return SETTINGS[name].written()
