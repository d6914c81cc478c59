"""Settings as given, as recorded by a run, and in the name of its directory.

`Setting` is the record of a setting of a run, or of an option of a benchmark.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from adapters.options import SESSION_OPTIONS, alternatives, bare, choices, is_list, read
from adapters.registry import allow
from adapters.secrets import has_password, key_in, masked
from harness.settings.declared import Settings, ShortForms, pairs

Group = Literal["Model", "Data", "Question", "Scoring", "Running"]
"""What a setting is about, and its heading in `vlm-eval run --help-all`."""
GROUPS: tuple[Group, ...] = ("Model", "Data", "Question", "Scoring", "Running")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting of a run, or an option of a benchmark.

    Attributes:
        name: its name in Python, in files and on record.
        type: the type annotation of its values, with constraints.
        default: its value unless given.
        help: one or two sentences for `--help`.
        group: what it is about, and its heading in the help.
        short: its short option ("-k"), "" without one.
        metavar: the word for the value in the help, "" for the usual word of its type.
        parse: turns the text of a command line into a value, if the type is not enough.
        identity: whether a run with another value is another run. If not, it may change on resume
            and is not on record.
        of: whose it is: "" the run's; "benchmark", "protocol": a short form of an option of that;
            "adapter_option", "benchmark_option", "protocol_option": written among these, though the
            run reads it.
        only: whom it is for, and refused for others: "model" (not a policy), "hosted" (a model
            behind an address).
    """

    name: str
    type: Any
    default: Any
    help: str
    group: Group
    short: str = ""
    metavar: str = ""
    parse: Callable[[str], Any] | None = None
    identity: bool = True
    of: Literal[
        "", "benchmark", "protocol", "adapter_option", "benchmark_option", "protocol_option"
    ] = ""
    only: Literal["", "model", "hosted"] = ""

    def read(self, value: object) -> Any:
        """Return the value in the setting's own type. Raises ValueError naming what was
        expected."""
        if isinstance(value, Mapping) and self.holds_pairs:
            value = tuple(sorted(value.items()))
        if self.parse is not None:
            if self.repeatable:
                items = value if isinstance(value, (list, tuple)) else (value,)
                value = [self.parse(item) if isinstance(item, str) else item for item in items]
            elif isinstance(value, str):
                value = self.parse(value)
        return read(self.type, value)

    @property
    def key(self) -> str:
        """Its name in a file (with dashes there) and in Python: without the unit (`timeout_s`)."""
        return self.name.removesuffix("_s")

    @property
    def among(self) -> str:
        """The setting among whose pairs it is written, "" if it is an option of its own."""
        return self.of if self.of.endswith("_option") else ""

    @property
    def option(self) -> str:
        """The long option of the command line ("--max-cost")."""
        return f"--{self.key.replace('_', '-')}"

    def written(self, value: object = None) -> str:
        """Return it as on a command line, with a value if one is given.

        A switch without a value is written as it is turned from its default: `--no-cache`.
        """
        if self.among:
            pair = self.key if value is None else f"{self.key}={value}"
            return f"--{self.among.replace('_', '-')} {pair}"
        option = self.option
        if self.is_switch and self.default is True:
            option = option.replace("--", "--no-", 1)
        return option if value is None else f"{option} {value}"

    @property
    def holds_pairs(self) -> bool:
        """Return True if its values are keys with values."""
        inner = get_args(alternatives(self.type)[0]) if is_list(self.type) else ()
        return bool(inner) and get_origin(inner[0]) is tuple

    @property
    def choices(self) -> tuple[str, ...]:
        """The values it may take, () where they are not listed."""
        return choices(self.type)

    @property
    def is_switch(self) -> bool:
        return bare(self.type) is bool or self.type == (bool | None)

    @property
    def one_text(self) -> bool:
        """Return True if a list is written as one value ("800,300"), as its `metavar` shows."""
        return is_list(self.type) and "," in self.metavar

    @property
    def repeatable(self) -> bool:
        """Return True if its option may be given several times."""
        return is_list(self.type) and not self.one_text


def declared_by(owner: type) -> Mapping[str, Setting]:
    """Return what a dataclass declares by `setting`, by name, in order."""
    return _declared_by(owner)


@cache
def _declared_by(owner: Any) -> Mapping[str, Setting]:
    types = get_type_hints(owner, include_extras=True)
    return {
        one.name: Setting(
            name=one.name, type=types[one.name], default=one.default, **dict(one.metadata)
        )
        for one in fields(owner)
        if one.metadata
    }


SETTINGS: dict[str, Setting] = {**declared_by(Settings), **declared_by(ShortForms)}
"""Every setting and short form by name, in the order of the help."""
FIELDS = frozenset(one.name for one in fields(Settings)) - {"given"}
NAMES = frozenset({"model", "benchmark", "protocol", "ranker", "role", "benchmark_option", "track"})
"""Settings that name models, benchmarks, protocols, policies, rankers, embedders and trackers."""
HANDED_OVER = ("base_url", "concurrency", "timeout_s")
"""Settings that are handed over with the options of an adapter."""
SEVERAL = ("model", "benchmark")
"""Settings that `run` takes several times: every model is then asked about every benchmark."""
OF_MODEL = "of_model"
"""The key on record of the protocol's settings that are as the model usually has them."""

_MOVED = {
    "--benchmark-option": (
        "candidates top_k missed positives shown exclude_related exclude_same_text order lost_rows "
        "history_from step_rule none_zeroes_operation no_element_zeroes_operation "
        "wrong_element_zeroes_operation mapped_operations bag point_rule episodes max_steps "
        "environments env_python"
    ),
    "--protocol-option": "none prompts first_of_many value_style",
    "--adapter-option": (
        "max_pixels ends model_path revision dtype attn quantization batch_size devices device_map"
    ),
    "--only": "website domain task_id step_id",
}
"""Options that once stood by themselves, by the option that takes them as `KEY=VALUE`."""
_RENAMED = {
    "candidate_option": "--benchmark-option KEY=VALUE",
    "scoring_option": "--benchmark-option KEY=VALUE",
    "pixels": "--image-policy full:pixels=N",
    "from": "--redo-from RUN",
    "judge": "--benchmark judgment:METHOD:RUN",
    "cache_dir": "XDG_CACHE_HOME=FOLDER in the environment",
    "websites": "--only website=VALUE",
    "domains": "--only domain=VALUE",
    "task_ids": "--only task_id=VALUE",
    "step_ids": "--only step_id=VALUE",
}


def moved(name: str) -> str:
    """Return how an option that once stood by itself is given now; "" for other names.

    >>> moved("candidates")
    '--benchmark-option candidates=VALUE'
    """
    name = name.strip("-").replace("-", "_")
    setting = SETTINGS.get(field_of(name) or field_of(name.removeprefix("no_")) or "")
    if setting is not None and setting.among:
        return setting.written("VALUE")
    for option, names in _MOVED.items():
        for key in (name, name.removeprefix("no_")):
            if key in names.split():
                return f"{option} {key}=VALUE"
    return _RENAMED.get(name, "")


def field_of(name: str) -> str | None:
    """Return the name of a setting that is named by that or by its option (`timeout_s` or
    `timeout`)."""
    if name in SETTINGS:
        return name
    return next((one.name for one in SETTINGS.values() if one.key == name), None)


def written(name: str, owner: str = "") -> str:
    """Return the name of a setting on a command line; with an `owner` ("adapter",
    "benchmark", "protocol"), an option of that.

    >>> written("seed"), written("history", "protocol"), written("seed", "protocol")
    ('--seed', '--history', '--protocol-option seed')
    """
    known = SETTINGS.get(name)
    if known is not None and (not owner or known.of == owner):
        return known.written()
    return f"--{owner}-option {name}"


def folded(given: Mapping[str, object]) -> dict[str, Any]:
    """Return settings by field: short forms are put among the options of their owners, and
    settings that are written there are taken out.

    >>> folded({"distractors": 5, "benchmark_option": {"order": 1}})
    {'benchmark_option': [('distractors', 5), ('order', 1)]}
    >>> folded({"adapter_option": {"detail": "low", "top_p": 0.9}})
    {'adapter_option': [('detail', 'low')], 'top_p': 0.9}

    Raises ValueError for an unknown name, and for a value of a short form that it does not take.
    """
    found: dict[str, Any] = {}
    pairs: dict[str, list[object]] = {}
    for said, value in given.items():
        name = field_of(said)
        if name is None:
            raise ValueError(unknown("setting", said, (one.key for one in SETTINGS.values())))
        setting = SETTINGS[name]
        if setting.of in ("benchmark", "protocol"):
            if value is not None:
                read = _checked(said, setting, value)
                pairs.setdefault(f"{setting.of}_option", []).append((name, read))
        else:
            found[name] = value
    for name, own in pairs.items():
        found[name] = [*own, *_entries(found.get(name, ()))]
    for option in ("adapter_option", "benchmark_option", "protocol_option"):
        if isinstance(found.get(option), (str, Mapping, list, tuple)):
            entries = list(_entries(found.pop(option)))
            taken = [_taken(entry, option) for entry in entries]
            rest = [entry for entry, one in zip(entries, taken, strict=True) if one is None]
            if rest or not entries:
                found[option] = rest
            for one in taken:
                if one is None:
                    continue
                setting, value = one
                if setting.repeatable:
                    found.setdefault(setting.name, []).append(value)
                elif setting.name in found:
                    raise ValueError(f"{option}: {setting.key} is given twice")
                else:
                    found[setting.name] = value
    return found


def _taken(entry: object, option: str) -> tuple[Setting, object] | None:
    """Return the setting that an entry of an option of pairs gives, and its value; None for an
    entry that is none."""
    if isinstance(entry, str):
        key, sign, value = entry.partition("=")
        entry = (key, value) if sign else ()
    if not isinstance(entry, (tuple, list)) or len(entry) != 2 or not isinstance(entry[0], str):
        return None
    setting = SETTINGS.get(field_of(entry[0].strip().replace("-", "_")) or "")
    return (setting, entry[1]) if setting is not None and setting.among == option else None


def _entries(value: Any) -> Iterator[Any]:
    """Yield texts and pairs of an option of pairs; a list of values is a pair for each."""
    if not isinstance(value, Mapping):
        yield from (value,) if isinstance(value, str) else value
        return
    for key, item in value.items():
        for one in item if isinstance(item, list) else (item,):
            yield key.replace("-", "_"), one


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """Return the complaint about a name that there is not."""
    near = difflib.get_close_matches(name, list(known), n=1)
    now = moved(name)
    hint = f"give {now}" if now else f"did you mean '{near[0]}'?" if near else ""
    return f"unknown {what} '{name}'" + (f"; {hint}" if hint else "")


def read_settings(named: Mapping[str, object]) -> Settings:
    """Return the settings with the values given, by field or by option name (`timeout`).

    Raises ValueError for an unknown name and for a value that a setting does not take.
    """
    read: dict[str, Any] = {}
    for name, value in folded(named).items():
        setting = SETTINGS[name]
        if isinstance(value, Mapping):
            value = pairs(value) if name == "role" else list(_entries(value))
        read[name] = _checked(setting.key, setting, value)
    for name in read:
        if SETTINGS[name].holds_pairs:
            read[name] = tuple(sorted(read[name], key=itemgetter(0)))
            keys = [key for key, _ in read[name]]
            for key in keys:
                if keys.count(key) > 1:
                    raise ValueError(f"{SETTINGS[name].key}: {key} is given twice")
    return Settings(**read, given=frozenset(read))


def _checked(said: str, setting: Setting, value: object) -> Any:
    """Read a value that holds no key and no password. Raises ValueError."""
    if isinstance(value, Path):
        value = str(value)
    if variable := key_in(value):
        raise ValueError(
            f"{said} holds the value of {variable}, which a run would write down: leave it "
            "out; keys are read from the environment"
        )
    # An address that is asked is recorded without its password.
    flat = value if isinstance(value, (list, tuple)) else (value,)
    if has_password([one for one in flat if "base_url" not in (setting.name, _key_of(one))]):
        raise ValueError(f"{said} holds the password of an address: leave it out")
    try:
        return setting.read(value)
    except ValueError as error:
        raise ValueError(f"{said}: {error}") from error


def allow_code(given: Mapping[str, object]) -> None:
    """Let the code be loaded that a user's settings name (`module:Class`), by field or option.

    Never for settings that are read from a run: it may come from another user.
    """
    for name, value in given.items():
        if field_of(name) in NAMES:
            for text in _texts(value):
                allow(text)
                allow(text.partition("=")[2])  # Of a role, or an option.


def _texts(value: object) -> Iterator[str]:
    """Yield the texts of a value, those of pairs and lists one by one."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _texts(one)


def _key_of(member: object) -> str:
    """Return the last part of the key of a pair, `base_url` of `("planner.base_url", ...)`."""
    key = member[0] if isinstance(member, tuple) and member else str(member).partition("=")[0]
    return str(key).rpartition(".")[2]


def on_record(settings: Settings) -> dict[str, Any]:
    """Return the identity of a run directory as JSON values: equal ones mean the same run.

    Secrets among the options are masked.
    """
    plain: dict[str, Any] = {}
    for name in FIELDS:
        value = getattr(settings, name)
        if not SETTINGS[name].identity or value is None or value == ():
            continue
        if SETTINGS[name].holds_pairs:
            told = {key: one for key, one in value if _identifies(name, key)}
            if told:
                plain[name] = masked(told)
        else:
            plain[name] = list(value) if isinstance(value, tuple) else value
    return {name: plain[name] for name in SETTINGS if name in plain}


def _identifies(setting: str, key: str) -> bool:
    """Return True if a key of a setting of pairs is on record: an option of an adapter unless it
    changes no reply, a setting of a role (`planner.effort`) if it is one of a run's identity."""
    if setting == "adapter_option":
        return key not in SESSION_OPTIONS
    _, dot, name = key.rpartition(".")
    if setting != "role" or not dot:
        return True
    return name not in SESSION_OPTIONS and (name not in SETTINGS or SETTINGS[name].identity)


def of_session(settings: Settings) -> dict[str, Any]:
    """Return the settings, and options of the adapter, that change no result and may differ
    between the sessions of a run."""
    running = (name for name in FIELDS if SETTINGS[name].group == "Running")
    of_adapter = {key: one for key, one in settings.adapter_option if key in SESSION_OPTIONS}
    return {**of_adapter, **{name: getattr(settings, name) for name in running}}


def from_record(config: Mapping[str, Any]) -> Settings:
    """Return the settings of a run from its configuration on record.

    Raises ValueError for one that is missing or of another type.
    """
    read: dict[str, Any] = {}
    for name, setting in SETTINGS.items():
        if name in FIELDS and name in config:
            try:
                read[name] = setting.read(config[name])
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from error
        elif name in FIELDS and setting.identity and setting.default not in (None, ()):
            raise ValueError(f"{name} is missing")
    return Settings(**read)


def directory_name(settings: Settings) -> str:
    """Return a name that says what the run is and differs whenever a setting of its identity
    does."""
    path = dict(settings.adapter_option).get("model_path")
    plain = {**on_record(settings), "data": settings.data, "model_path": path}
    text = json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    short = hashlib.sha256(text.encode()).hexdigest()[:8]
    name = _plain(settings.model)[-48:].strip("-.") or "model"
    return f"{name}-{_plain(settings.benchmark)}-{short}"


def _plain(text: str) -> str:
    """Return a text as part of a file's name."""
    return "".join(c if c.isalnum() or c in "-._" else "-" for c in text).strip("-.")


VERIFIED = Path("verify")
"""The folder of records of verified deployments."""
RUNS = Path("runs")
"""Where the directories of runs lie."""


def directory_of(settings: Settings, folder: Path = RUNS) -> Path:
    """Return the directory of a run: the named one, or one in `folder` named by its settings."""
    return Path(settings.out or folder / directory_name(settings))
