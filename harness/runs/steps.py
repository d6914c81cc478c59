"""The part of a line that only recorded steps have, and `steps.parquet`: the steps as a table."""

from __future__ import annotations

import gc
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType

from harness.runs.columns import (
    group_column,
    id_column,
    level_column,
    score_column,
    total_column,
)
from harness.runs.files import read_records, write_error
from harness.runs.records import Unit
from parsers.records import SPLIT, Choice, Gold, PastAction, Prediction, StepInfo, Turn

if TYPE_CHECKING:
    from parsers.declaration import Declaration

STEP = "step"
"""The kind of units that are recorded steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDetail:
    """The detail of a recorded step.

    action_uid: the recorded action to predict; unique within the task.
    history: representations of the actions before it.
    page_size: width and height of the screenshot in pixels.
    positives, negatives: numbers of acceptable elements and of other candidates of the row.
    none_letter: letter of the None option, if there is one.
    same_text, related: shown negatives that read exactly like the shown positive, and those that
        are its ancestors or descendants.
    short: whether the row had fewer negatives than were wanted.
    turns: the finished turns of its conversation, left out of the line where none were shown.
    """

    action_uid: str
    history: tuple[str, ...]
    page_size: tuple[int, int] | None
    positives: int
    negatives: int
    gold: Gold
    choices: tuple[Choice, ...] = ()
    none_letter: str | None = None
    same_text: int = 0
    related: int = 0
    short: bool = False
    turns: tuple[Turn[PastAction], ...] | UnsetType = UNSET

    def accepts(self, choice: Choice) -> bool:
        """Return whether a choice is an acceptable element."""
        return choice.id in self.gold.elements

    @property
    def right(self) -> tuple[Choice, ...]:
        """The choices that are acceptable elements."""
        return tuple(choice for choice in self.choices if self.accepts(choice))


StepUnit = Unit[StepDetail]
"""The record of a unit that is a recorded step."""


def info_of(unit: Unit[Any]) -> StepInfo:
    """Return what a recorded step is, in the terms of its view."""
    parents, labels = unit.parents, unit.labels
    return StepInfo(
        task_id=parents["task"],
        action_uid=unit.detail.action_uid,
        index=unit.position,
        total_steps=unit.total,
        benchmark=unit.benchmark,
        split=unit.split,
        website=parents["website"],
        domain=labels["domain"],
        subdomain=labels["subdomain"],
        task=unit.goal,
        conversation=parents.get("conversation", ""),
        turn=turn_of(unit),
    )


def turn_of(unit: Unit[Any]) -> int | None:
    """Return the place of a step's task in its conversation, from 0; None outside of one."""
    number = unit.labels.get("turn")
    return None if number is None else int(number) - 1


LONG = {
    "task",
    "goal",
    "detail",
    "parents",
    "labels",
    "digests",
    "history",
    "choices",
    "gold",
    "turns",
    "pictures",
    "prediction",
    "scores",
    "usage",
    "calls",
    "roles",
    "tiers",
}


def latest_steps(
    path: Path, on_unreadable: Callable[[str], None] | None = None, detail: Any = Any
) -> list[Unit[Any]]:
    """Return the last line of every step and repeat, by split, task, index, step and repeat.

    `detail` is the type of their details; by default they are JSON values. Raises `RunError` for a
    line that cannot be read, unless `on_unreadable` takes it.
    """
    with _collector_paused():
        latest = {record.key: record for record in read_records(path, Unit, on_unreadable, detail)}
    return sorted(latest.values(), key=_order)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Records hold no cycles, yet the garbage collector would look through all of those read so far
    again and again: half the time of reading a long run."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def write_table(steps: Path, table: Path, declared: Declaration, note: str = "") -> None:
    """Write the table of the steps file. Raises `RunError`, `DiskFull`.

    Its metadata have the `note`.
    """
    import pyarrow.parquet as pq

    content = arrow_table([_row(record, declared) for record in latest_steps(steps)])
    # Of a relative path with a colon, pyarrow takes the beginning for the name of a file system.
    new = table.with_name(table.name + ".new").absolute()
    try:
        about = {b"note": note} if note else None
        pq.write_table(content.replace_schema_metadata(about), new)
        new.replace(table)
    except OSError as error:
        raise write_error(table, error) from error


def _order(record: Unit[Any]) -> tuple[str, str, int, str, int]:
    parent = next(iter(record.parents.values()), "")
    return record.split, parent, record.position, record.unit_id, record.repeat


def _row(record: Unit[Any], declared: Declaration) -> dict[str, Any]:
    """Return a unit, whose detail is JSON values, in a row: what it is, how it ended, and its
    scores, in the terms of its benchmark."""
    row = _plain(record, declared)
    if record.kind == STEP:
        detail = record.detail
        row |= {name: value for name, value in detail.items() if name not in LONG}
        row |= {f"{name}_digest": record.digests.get(name) for name in ("html", "screenshot")}
        row["gold_shown"] = detail["gold"]["shown"]
        row["choices"] = len(detail["choices"])
    row["calls"] = len(record.calls)
    prediction = record.prediction
    row["status"] = str(prediction.status) if prediction else None
    for name in ("letter", "element", "operation", "value"):
        row[name] = getattr(prediction, name) if prediction else None
    said = prediction.action if prediction else None
    row["action"] = said.name if said else None
    row["arguments"] = arguments_of(prediction) if prediction else None
    row["point_x"], row["point_y"] = (said and said.point) or (None, None)
    row["flags"] = list(prediction.flags) if prediction else []
    row["agreement"] = prediction.agreement if prediction else None
    scores = record.scores or {}
    row |= {score_column(name): scores.get(name) for name in declared.scores}
    for name in ("input", "cached", "output"):
        row[f"{name}_tokens"] = getattr(record.usage, name) if record.usage else None
    return row


def arguments_of(prediction: Prediction) -> str | None:
    """Return the arguments of the predicted action as JSON; None without any."""
    if prediction.action is None or not prediction.action.arguments:
        return None
    return msgspec.json.encode(dict(prediction.action.arguments), order="deterministic").decode()


def _plain(record: Unit[Any], declared: Declaration) -> dict[str, Any]:
    """Return the identity of a unit: ids, places and groups in the columns of its benchmark."""
    named = {
        "unit_id": id_column(declared),
        "position": "index",
        "total": total_column(declared),
    }
    plain = msgspec.to_builtins(record)
    levels = {level.name: level_column(level) for level in declared.levels}
    return {
        **{named.get(name, name): value for name, value in plain.items() if name not in LONG},
        **{
            group_column(group, declared): record.labels.get(group.name)
            for group in declared.groups
            if group.name != SPLIT and group.name not in levels
        },
        **{column: record.parents.get(name) for name, column in levels.items()},
    }


def arrow_table(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return the table that `Table.from_pylist` makes of rows of JSON values, but without
    pandas."""
    import pyarrow as pa
    from pyarrow import json

    if not rows:
        return pa.Table.from_pylist([])
    schema = pa.schema({name: _arrow_type(row[name] for row in rows) for name in rows[0]})
    lines = b"\n".join(map(msgspec.json.encode, rows))
    return json.read_json(
        io.BytesIO(lines),
        read_options=json.ReadOptions(use_threads=False, block_size=len(lines)),
        parse_options=json.ParseOptions(explicit_schema=schema),
    )


def _arrow_type(values: Iterable[Any]) -> Any:
    """Return the type that Arrow infers for values of JSON: nulls fit all, an integer is also a
    double."""
    import pyarrow as pa

    known = [value for value in values if value is not None]
    kinds = {type(value) for value in known}
    if kinds and kinds <= {list, tuple}:
        return pa.list_(_arrow_type(chain.from_iterable(known)))
    by_kind = {bool: pa.bool_(), int: pa.int64(), str: pa.string()}
    if len(kinds) == 1 and (kind := kinds.pop()) in by_kind:
        return by_kind[kind]
    return pa.float64() if known else pa.null()
