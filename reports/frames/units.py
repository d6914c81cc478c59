"""The columns that frames of units have: of all units, and of a kind of theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from harness.runs import Run, RunError, Unit
from harness.runs.steps import arguments_of
from parsers import Declaration
from parsers.declaration import SPLIT
from reports.kind import reports_on
from reports.load import RunLike, declarations, open_runs
from reports.names import group_column, id_column, level_column, score_column, total_column
from reports.settings import attrs_of

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["category", "str", "boolean", "Int64", "float64"]


NUMBERS: frozenset[Kind] = frozenset({"boolean", "Int64", "float64"})


class Column(NamedTuple):
    """A column of a frame. All kinds can be missing (`pd.isna`)."""

    name: str
    kind: Kind
    meaning: str


def union(listed: Iterable[Sequence[Column]]) -> tuple[Column, ...]:
    """Return the columns of frames of several benchmarks: those of the first, then what others add.

    A column that is a number in one and something else in another is a number or a text in both.
    """
    columns: dict[str, Column] = {}
    for column in (column for one in listed for column in one):
        known = columns.setdefault(column.name, column)
        if known.kind != column.kind:
            kinds = {known.kind, column.kind}
            kind: Kind = "float64" if kinds <= NUMBERS else "str"
            columns[column.name] = known._replace(kind=kind)
    return tuple(columns.values())


def plain_values(column: pd.Series[Any]) -> list[Any]:
    """Return the values of a column as plain Python values; missing ones are None."""
    pairs = zip(column.astype("object").tolist(), column.isna().tolist(), strict=True)
    return [None if missing else value for value, missing in pairs]


def typed(records: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> pd.DataFrame:
    """Return a frame with a row per record and these columns, in this order, of these types."""
    import pandas as pd

    return pd.DataFrame(
        {one.name: series([row.get(one.name) for row in records], one.kind) for one in columns}
    )


def series(values: Any, kind: Kind) -> pd.Series[Any]:
    """Values as a column of one kind."""
    import pandas as pd  # Commands import the declared columns alone.

    column: pd.Series[Any] = pd.Series(values, dtype="object" if isinstance(values, list) else None)
    if kind == "category":
        # By way of strings: a column without a value is then one of strings, too.
        return column.astype("str").astype("category")
    return column.astype(kind)


Getter = Callable[[Unit[Any]], object]


class UnitColumn(NamedTuple):
    """A column of a frame of units, and what it holds of a unit."""

    column: Column
    get: Getter


def unit_column(name: str, kind: Kind, meaning: str, get: Getter | str = "") -> UnitColumn:
    """Return a column that holds what `get` returns, or the attribute of that name."""
    return UnitColumn(
        Column(name, kind, meaning), attrgetter(get or name) if isinstance(get, str) else get
    )


@dataclass(frozen=True, slots=True)
class KindColumns:
    """The columns of a kind, in addition to those of all units.

    Attributes:
        identity: behind the innermost parent.
        detail: in front of tokens and cost.
        outcome: behind the status; missing while a unit has no final outcome.
        texts: long texts, on request.
        digest: a column that has to be equal for two runs to share a unit, and what it is of.
    """

    identity: tuple[UnitColumn, ...] = ()
    detail: tuple[UnitColumn, ...] = ()
    outcome: tuple[UnitColumn, ...] = ()
    texts: tuple[UnitColumn, ...] = ()
    digest: tuple[str, str] | None = None


def unit_columns(declared: Declaration, *, texts: bool = False) -> tuple[UnitColumn, ...]:
    """Return the columns for units of a benchmark, in their order: what a unit is, what it took,
    how it ended, and long texts taken from pages if they are wanted."""
    of_kind = reports_on(declared.kind).columns or KindColumns()
    unit, level = declared.unit, declared.innermost
    parts = (of_kind.identity, of_kind.detail, of_kind.outcome)
    own = {one.column.name for part in parts for one in part}
    return (
        unit_column("repeat", "Int64", "number of the repeat, from 0"),
        unit_column(
            id_column(declared), "str", f"the {unit}, unique in its run and repeat", "unit_id"
        ),
        unit_column(
            level_column(level), "category", f"the {level.one}", _in("parents", level.name)
        ),
        *of_kind.identity,
        unit_column("index", "Int64", f"position in its {level.one}, from 0", "position"),
        unit_column(
            total_column(declared), "Int64", f"{declared.units} of the whole {level.one}", "total"
        ),
        unit_column("benchmark", "category", "the benchmark"),
        unit_column("split", "category", "the split"),
        *(one for one in _groups(declared) if one.column.name not in own),
        unit_column("invalid", "category", "why the row is not valid; missing for valid rows"),
        unit_column("asked", "boolean", "whether the model was asked"),
        unit_column("settled", "boolean", f"whether the {unit} has a final outcome"),
        unit_column("error", "str", "why it has no final outcome"),
        unit_column("source", "str", "file that the row was read from"),
        *of_kind.detail,
        unit_column("prompt_tokens", "Int64", "longest prompt, estimated"),
        unit_column("calls", "Int64", "number of calls", lambda record: len(record.calls)),
        unit_column("cost", "float64", "US dollars; missing without a price"),
        *(
            unit_column(f"{name}_tokens", "Int64", f"{name} tokens as billed", _used(name))
            for name in ("input", "cached", "output")
        ),
        unit_column("status", "category", f"how the {unit} ended", _status),
        *of_kind.outcome,
        unit_column("action", "category", "the predicted action", _action),
        unit_column("arguments", "str", "its arguments as JSON", predicted(arguments_of)),
        unit_column("point_x", "float64", "its point, in pixels of the original", _point(0)),
        unit_column("point_y", "float64", "the same, from the top", _point(1)),
        unit_column("flags", "str", "what the parser repaired, separated by spaces", _flags),
        unit_column(
            "agreement",
            "float64",
            "share of its samples that gave this answer",
            predicted(lambda said: said.agreement),
        ),
        *(one for one in _scores(declared) if one.column.name not in own),
        *(of_kind.texts if texts else ()),
    )


def _groups(declared: Declaration) -> Iterator[UnitColumn]:
    """Return the groups of units, and the parents that do not group them."""
    levels = {level.name: level for level in declared.levels[1:]}
    for group in declared.groups:
        level = levels.pop(group.name, None)
        if group.name in (SPLIT, declared.innermost.name):
            continue
        get = _in("parents" if level else "labels", group.name)
        yield unit_column(group_column(group, declared), "category", group.meaning, get)
    for level in levels.values():
        get = _in("parents", level.name)
        yield unit_column(level_column(level), "category", f"its {level.one}", get)


def _scores(declared: Declaration) -> Iterator[UnitColumn]:
    for one in declared.measures:
        if not one.all_of:
            yield unit_column(score_column(one.name), "float64", one.meaning, _score(one.name))


def _in(mapping: str, name: str) -> Getter:
    return lambda record: getattr(record, mapping).get(name)


def _used(name: str) -> Getter:
    return lambda record: None if record.usage is None else getattr(record.usage, name)


def predicted(get: Callable[[Any], object]) -> Getter:
    """Return the columns of a final prediction."""

    def get_from(record: Unit[Any]) -> object:
        final = record.settled and record.prediction is not None
        return get(record.prediction) if final else None

    return get_from


_status = predicted(lambda said: str(said.status))
_action = predicted(lambda said: said.action and said.action.name)
_flags = predicted(lambda said: " ".join(said.flags))


def _point(place: int) -> Getter:
    return predicted(lambda said: said.point[place] if said.point else None)


def _score(name: str) -> Getter:
    return lambda record: record.scores.get(name) if record.settled and record.scores else None


def columns(declared: Declaration, *, texts: bool = False) -> tuple[Column, ...]:
    """Return the columns for runs of a benchmark.

    Those from `status` on are missing while a unit has no final outcome.
    """
    return (
        Column("run", "category", "the run, as labelled by `reports.load.open_runs`"),
        *(one.column for one in unit_columns(declared, texts=texts)),
    )


def steps_frame(runs: RunLike | Iterable[RunLike], *, texts: bool = False) -> pd.DataFrame:
    """Return a row per run, unit and repeat with the `columns` that the benchmarks declare.

    `texts` adds long texts taken from pages. Raises `RunError` for runs that cannot be read.

    `attrs` of the frame:
    constants, differences: settings that the runs share, and those that differ.
    corrupt: lines about what could not be read and is left out.
    """
    opened = open_runs(runs)
    frame = frame_of(((label, run, run.records()) for label, run in opened.items()), texts=texts)
    frame.attrs = attrs_of(opened)
    return frame


def frame_of(
    runs: Iterable[tuple[str, Run, Sequence[Unit[Any]]]], *, texts: bool = False
) -> pd.DataFrame:
    """Return the frame of some lines of runs, given with their labels. Raises `RunError`."""
    listed = list(runs)
    declared = declarations(run for _, run, _ in listed)
    described = union(columns(one, texts=texts) for one in declared)
    try:
        rows = [row for one in listed for row in _rows(*one, texts)]
        return typed(rows, described)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        paths = ", ".join(str(run.path) for _, run, _ in listed)
        raise RunError(f"{paths} holds a line that cannot be read: {error}") from error


def _rows(
    label: str, run: Run, records: Sequence[Unit[Any]], texts: bool
) -> Iterator[dict[str, object]]:
    wanted = unit_columns(run.manifest.declaration, texts=texts)
    for record in records:
        yield {"run": label, **{one.column.name: one.get(record) for one in wanted}}
