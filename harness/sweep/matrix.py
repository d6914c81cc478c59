"""The cells of a sweep: every combination of the values that options are given."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.secrets import masked
from harness.commands.options import RUN, by_key, config_value, is_several, over
from harness.errors import UserError
from harness.settings import (
    SETTINGS,
    SEVERAL,
    Settings,
    allow_code,
    folded,
    read_settings,
    unknown,
    written,
)

MOST_CELLS = 10_000
FOR_ALL = ("out", "max_cost")
"""Settings of the whole sweep: the folder of its runs, and what they may cost together."""
FOR_ONE = ("redo", "redo_from")
"""Settings that are for one run at a time."""

Values = Mapping[str, Sequence[Any]]
"""Settings with the values that each takes in turn."""


@dataclass(frozen=True)
class Variant:
    """One run of a sweep.

    label: the model, and the options that differ from other cells of that model.
    """

    label: str
    settings: Settings


@dataclass(frozen=True)
class Matrix:
    """The cells of a sweep, and the settings `FOR_ALL` of them."""

    cells: Sequence[Variant]
    out: Path | None
    max_cost: float | None


def read_matrix(given: Values, content: Mapping[str, Any], source: str) -> Matrix:
    """Return every combination of values.

    Args:
        given: values from the command line, which take precedence.
        content: a file of options whose lists multiply, with a `[[run]]` for those of some runs.
        source: the name of the file in errors.

    Raises:
        UserError: a key that `run` does not have, or a value that an option does not take; the
            message names the place in the file.
    """
    common_options = dict(content)
    tables = common_options.pop(RUN, [{}])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UserError(f"{source}: {RUN} is not a table; write [[{RUN}]] above its options")
    common, found = _values(common_options, source), list[dict[str, Any]]()
    for number, table in enumerate(tables, 1):
        where = f"{source}: [[{RUN}]] {number}" if RUN in content else source
        try:
            found += _combined({**common, **_values(table, where)}, given)
        except ValueError as error:
            raise UserError(f"{where}: {error}") from error
    if not found:
        raise UserError(f"{source}: an empty list leaves nothing to run")
    for name in FOR_ALL:
        if any(one.get(name) != found[0].get(name) for one in found):
            raise UserError(f"{source}: {_key(name)} is for all runs together; give it once")
    out, max_cost = (found[0].get(name) for name in FOR_ALL)
    each = [{n: v for n, v in one.items() if n not in FOR_ALL} for one in found]
    return Matrix(list(_cells(each, source)), Path(out) if out else None, max_cost)


def _values(table: Mapping[str, Any], where: str) -> dict[str, list[Any]]:
    """Return the values of a table by setting. Raises `UserError`."""
    known, values = by_key(), dict[str, list[Any]]()
    for key, value in table.items():
        if key not in known:
            raise UserError(f"{where}: {unknown('key', key, known)}")
        setting = known[key]
        listed = value if is_several(setting, value) else [value]
        if not listed:
            raise UserError(f"{where}: {key}: an empty list leaves nothing to run")
        try:
            values[setting.name] = [config_value(setting, one) for one in listed]
        except ValueError as error:
            raise UserError(f"{where}: {key}: {error}") from error
    return values


def _combined(values: Values, given: Values) -> Iterator[dict[str, Any]]:
    """Yield every combination, models first: runs of one model may share its server.

    Raises ValueError.
    """
    if "model" not in {**values, **given}:
        raise ValueError("it names no model")
    columns = {
        (n, "file"): v for n, v in values.items() if n not in given or SETTINGS[n].holds_pairs
    }
    columns |= {(n, "given"): v for n, v in given.items()}
    if (number := math.prod(map(len, columns.values()))) > MOST_CELLS:
        raise ValueError(f"{number:,} runs are more than {MOST_CELLS:,}")
    order = sorted(columns, key=lambda column: (*SEVERAL, column[0]).index(column[0]))
    for chosen in itertools.product(*(columns[column] for column in order)):
        parts: dict[str, dict[str, Any]] = {"file": {}, "given": {}}
        for (name, part), value in zip(order, chosen, strict=True):
            parts[part][name] = value
        yield over(folded(parts["file"]), folded(parts["given"]))


def _cells(options: Sequence[dict[str, Any]], source: str) -> Iterator[Variant]:
    """Name each run by its model and what differs among the runs of that model."""
    shown = [_shown(one) for one in options]
    values: dict[tuple[str, str], set[str]] = {}
    names = {name for one in shown for name in one}
    for one, name in itertools.product(shown, names):
        values.setdefault((one["model"], name), set()).add(one.get(name, ""))
    for one, texts in zip(options, shown, strict=True):
        allow_code(one)
        model = texts["model"]
        differs = (f"{_key(n)}={text}" for n, text in texts.items() if len(values[model, n]) > 1)
        label = " ".join([model, *differs])
        try:
            settings = read_settings(one)
        except ValueError as error:
            raise UserError(f"{source}: {label}: {error}") from error
        for name in one:
            if name in FOR_ONE:
                raise UserError(f"{source}: {written(name)} is for one run at a time")
        yield Variant(label, settings)


def _shown(options: Mapping[str, Any]) -> dict[str, str]:
    """Return options as text, with secrets masked."""
    shown = dict[str, str]()
    for name, value in options.items():
        setting = SETTINGS[name]
        if setting.holds_pairs:
            shown |= {k: _text(v) for k, v in masked(dict(setting.read(value))).items()}
        else:
            shown[name] = _text(value)
    return shown


def _text(value: object) -> str:
    items = value if isinstance(value, (list, tuple)) else [value]
    return ",".join(str(one).lower() if isinstance(one, bool) else str(one) for one in items)


def _key(name: str) -> str:
    return (SETTINGS[name].key if name in SETTINGS else name).replace("_", "-")
