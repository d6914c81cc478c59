"""A sweep's file: tables of options whose lists multiply.

The cells of a sweep's file, on disk: `sweep.json` in the folder of its runs.

It lists the runs of the sweep and their sizes: another terminal can then show their progress
without opening models and data. Progress itself is read from their directories.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
from filelock import FileLock, Timeout

from adapters.decoding import decode_json
from adapters.secrets import masked
from harness.commands.config import config_value, read_toml
from harness.errors import UserError
from harness.runs.files import replace_file
from harness.settings import SETTINGS, Setting, Settings, read_settings, unknown
from harness.settings.values import read as read_value

DEFAULTS, RUN = "defaults", "run"
MAX_COST_TOTAL = "max-cost-total"
"""The key of what all cells together may cost; all others are options of `run`."""
SHORT = {"serve": "with-server"}
"""Other names of options in a sweep's file."""
MOST_CELLS = 10_000
REFUSED = {
    "out": "the sweep names the directories of its runs; say --out DIR to `vlm-eval sweep`",
    "wait": "say --wait to `vlm-eval sweep`",
    **dict.fromkeys(
        ("redo", "from", "repair"), "it is for one run at a time; use `vlm-eval run` for it"
    ),
}
"""Options of `run` that a sweep's file cannot have."""


@dataclass(frozen=True)
class Cell:
    """One run of a sweep.

    label: the model, and the options that differ from other cells of that model.
    place: its place in the file, for errors.
    options: what the file says, by option, as TOML has it.
    settings: the same, read.
    """

    label: str
    place: str
    options: Mapping[str, Any]
    settings: Settings

    def without(self, name: str, key: str) -> Cell | None:
        """Return the cell without a setting, or without one key of it; None if it has none."""
        setting, left = SETTINGS[name], dict(self.options)
        option = setting.key.replace("_", "-")
        if option not in left:
            return None
        value = left.pop(option)
        if key:
            pairs = dict(config_value(setting, value))
            if pairs.pop(key, None) is None:
                return None
            left |= {option: pairs} if pairs else {}
        return replace(self, options=left, settings=_settings_of(left))


@dataclass(frozen=True)
class SweepFile:
    """The cells of a sweep.

    max_cost_total: the most that they may cost together in US dollars.
    shared: whether all have the same options, of which each leaves out those without effect on it.
    """

    path: str
    cells: tuple[Cell, ...]
    max_cost_total: float | None = None
    shared: bool = False


@dataclass
class _Table:
    """A `[[run]]` with the defaults: the values of each option; a cell has one of them."""

    place: str
    values: dict[str, list[Any]] = field(default_factory=dict)


def read_sweep(path: str) -> SweepFile:
    """Read the file of a sweep.

    Raises `UserError` if it is not such a file, for an option that `run` does not have, and for a
    value that an option does not take; the message names the place in the file.
    """
    content = read_toml(path, path)
    for key in content:
        if key not in (DEFAULTS, RUN):
            raise UserError(
                f"{path}: {unknown('key', key, (DEFAULTS, RUN))} (options of all runs stand under "
                f"[{DEFAULTS}], those of some under [[{RUN}]])"
            )
    defaults = content.get(DEFAULTS, {})
    runs = content.get(RUN, [])
    if not isinstance(defaults, dict):
        raise UserError(f"{path}: [{DEFAULTS}] is a table")
    if not isinstance(runs, list) or not runs or not all(isinstance(run, dict) for run in runs):
        raise UserError(f"{path}: it has no [[{RUN}]], so there is nothing to run")
    places = {f"[[{RUN}]] {number}": run for number, run in enumerate(runs, 1)}
    return _described(path, dict(defaults), places)


def sweep_of_options(
    options: Mapping[str, Any], path: str, *, max_cost: object = None
) -> SweepFile:
    """Return the sweep of one table of options, whose lists multiply, as a file would have it.

    `max_cost` is for all its runs together; an option without effect on some runs is left out
    there. Raises `UserError` as `read_sweep`.
    """
    described = _described(path, {MAX_COST_TOTAL: max_cost}, {"every run": options})
    return replace(described, shared=True)


def _described(
    path: str, defaults: dict[str, Any], runs: Mapping[str, Mapping[str, Any]]
) -> SweepFile:
    total = _total(defaults.pop(MAX_COST_TOTAL, None), path)
    tables = [_table(path, place, defaults, run) for place, run in runs.items()]
    return SweepFile(path, tuple(_cells(path, tables)), total)


def _total(value: object, path: str) -> float | None:
    if value is None:
        return None
    try:
        read: float = read_value(SETTINGS["max_cost"].type, value)
    except ValueError as error:
        raise UserError(f"{path}: [{DEFAULTS}] {MAX_COST_TOTAL}: {error}") from error
    return read


def _table(path: str, place: str, defaults: Mapping[str, Any], run: Mapping[str, Any]) -> _Table:
    known, table = _known(), _Table(place)
    own = {SHORT.get(key, key): value for key, value in run.items()}
    merged = {**{SHORT.get(key, key): value for key, value in defaults.items()}, **own}
    for given in (defaults, run):
        for short, key in SHORT.items():
            if short in given and key in given:
                where = place if given is run else f"[{DEFAULTS}]"
                raise UserError(f"{path}: {where}: {short} and {key} are the same; leave one out")
    for key, value in merged.items():
        where = f"{path}: {place if key in own else f'[{DEFAULTS}]'}"
        if key == MAX_COST_TOTAL:
            raise UserError(f"{where}: {key} is of the whole sweep; put it under [{DEFAULTS}]")
        if key not in known:
            raise UserError(f"{where}: {unknown('key', key, (*known, MAX_COST_TOTAL))}")
        if key in REFUSED:
            raise UserError(f"{where}: {key}: {REFUSED[key]}")
        table.values[key] = _alternatives(known[key], value, f"{where}: {key}")
    if "model" not in table.values:
        raise UserError(f"{path}: {place}: it names no model")
    return table


def _alternatives(setting: Setting, value: Any, where: str) -> list[Any]:
    """Return the values that a setting takes in turn.

    A list of an option that may be repeated is one value; a list of such lists is several.
    """
    several = isinstance(value, list)
    if several and setting.repeatable:
        several = any(isinstance(one, list) for one in value)
    values: list[Any] = value if several else [value]
    if not values:
        raise UserError(f"{where}: an empty list leaves nothing to run")
    for one in values:
        try:
            config_value(setting, one)
        except ValueError as error:
            raise UserError(f"{where}: {error}") from error
    return values


def _cells(path: str, tables: Sequence[_Table]) -> Iterator[Cell]:
    number = sum(math.prod(map(len, table.values.values())) for table in tables)
    if number > MOST_CELLS:
        raise UserError(f"{path}: {number:,} runs are more than {MOST_CELLS:,}")
    expanded = [(table.place, options) for table in tables for options in _multiplied(table)]
    shown = [shown_options(options) for _, options in expanded]
    values: dict[tuple[str, str], set[str]] = {}
    keys = {key for options in shown for key in options}
    for label in shown:
        for key in keys:
            values.setdefault((label["model"], key), set()).add(repr(label.get(key)))
    for (place, options), label in zip(expanded, shown, strict=True):
        try:
            settings = _settings_of(options)
        except ValueError as error:
            raise UserError(f"{path}: {place}: {error}") from error
        varied = (key for key in label if len(values[label["model"], key]) > 1)
        differs = (f"{key}={_label_text(label[key])}" for key in varied)
        yield Cell(" ".join([settings.model, *differs]), place, options, settings)


def _settings_of(options: Mapping[str, Any]) -> Settings:
    return read_settings({key.replace("-", "_"): value for key, value in options.items()})


def _multiplied(table: _Table) -> Iterator[dict[str, Any]]:
    for values in itertools.product(*table.values.values()):
        yield dict(zip(table.values, values, strict=True))


def _known() -> dict[str, Setting]:
    """Return the settings by their keys in a file."""
    return {setting.key.replace("_", "-"): setting for setting in SETTINGS.values()}


def shown_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with secrets masked, for display."""
    known, shown = _known(), dict(options)
    for key, value in options.items():
        if known[key].holds_pairs:
            shown[key] = masked(dict(config_value(known[key], value)))
    return shown


def _label_text(value: Any) -> str:
    """Return a value in a label."""
    if isinstance(value, list):
        return ",".join(map(_label_text, value))
    if isinstance(value, Mapping):
        return ",".join(f"{key}={_label_text(one)}" for key, one in value.items())
    return str(value).lower() if isinstance(value, bool) else str(value)


FILE = "sweep.json"
SCHEMA = 1
LOCK = ".sweep.lock"


@dataclass(frozen=True)
class Cost:
    """Estimated cost of a run in US dollars: with usual replies, and at most."""

    expected: float
    high: float


@dataclass(frozen=True, kw_only=True)
class CellPlan:
    """One run of a sweep.

    label: how a reader tells it from the others.
    directory: the name of its directory.
    options: what the file says of it, secrets masked.
    dialogues: the number of units times that of repeats.
    slot: of runs with the same slot, only one works at a time; "" for those that share nothing.
    server: the command that serves its model, and the model's name for it; None without one.
    sends: whether it sends pictures elsewhere.
    spends: whether its calls may cost money.
    most_calls: the largest number of calls that it can take.
    priced_by: where prices came from, "" where the cost was not estimated.
    cost: None where it was not estimated, or no price is known.
    """

    label: str
    directory: str
    options: dict[str, Any]
    dialogues: int
    slot: str = ""
    server: tuple[str, str] | None = None
    sends: bool = False
    spends: bool = False
    most_calls: int = 0
    priced_by: str = ""
    cost: Cost | None = None

    def log(self, folder: Path) -> Path:
        """Return the file with the output of its processes, next to its directory."""
        return folder / f"{self.directory}.log"


@dataclass(frozen=True, kw_only=True)
class Expansion:
    """The runs of a sweep, in the order of the file."""

    file: str
    cells: Sequence[CellPlan] = field(default_factory=tuple)
    max_cost_total: float | None = None
    schema: int = SCHEMA

    def having(self, cells: Sequence[CellPlan]) -> Expansion:
        """Return the same with these of its cells only."""
        return replace(self, cells=tuple(cells))

    def write(self, folder: Path) -> None:
        """Keep it in the folder of the runs. Raises `RunError`."""
        data = msgspec.json.format(msgspec.json.encode(self), indent=2)
        replace_file(folder / FILE, [data, b"\n"])


def read_expansion(folder: Path) -> Expansion | None:
    """Read the expansion of the sweep in a folder, None where none was begun.

    Raises `UserError` for a file that cannot be read.
    """
    path = folder / FILE
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    try:
        found = decode_json(data, Expansion)
        if found.schema != SCHEMA:
            raise ValueError(f"schema {found.schema}; this version reads {SCHEMA}")
        for cell in found.cells:
            if Path(cell.directory).name != cell.directory or cell.directory in ("", ".."):
                raise ValueError(f"{cell.directory!r} is not a valid name of a directory")
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError) as error:
        raise UserError(
            f"{path} is not the plan of a sweep ({error}); remove it, and start the sweep again: "
            "the runs are kept"
        ) from error
    return found


@contextlib.contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Make the folder of a sweep, and keep others from starting a sweep in it meanwhile.

    Raises `UserError` where another process has it, or it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / LOCK)
        lock.acquire(blocking=False)
    except Timeout:
        raise UserError(f"another process runs a sweep in {folder} (--status shows it)") from None
    except OSError as error:
        raise UserError(f"cannot use {folder}: {error.strerror or error}") from error
    try:
        yield
    finally:
        lock.release()
