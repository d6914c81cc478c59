"""Tables for spreadsheets and pandas: plain CSV with one line of column names, or parquet.

`results` has a row per run, split, measure and average, `runs` a row per run with its settings,
`steps` a row per unit and repeat as `Run.steps(texts=True)` has them; `run` joins them. In CSV,
texts that a spreadsheet would evaluate begin with an apostrophe.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from harness.tables import Data, Grid, render
from reports.exports import option
from reports.exports.results import parts_of, results_of
from reports.load import guarding_notes
from reports.names import name_of

if TYPE_CHECKING:
    import pyarrow as pa

    from harness.runs import Run
    from reports.exports import ExportFolder

RESULTS = (
    *("run", "model", "benchmark", "split", "measure", "average", "invalid", "headline", "value"),
    *("low", "high", "level", "method", "few", "n", "over", "part", "complete"),
)
"""The columns of `results` (docs/export.md)."""


@dataclass(frozen=True, slots=True)
class CsvExport:
    """Tables for spreadsheets and pandas."""

    form: ClassVar[str] = "csv"
    with_steps: bool = option(
        False,
        "Write every step as well, with texts of tasks, pages and replies: keep such files where "
        "no crawler collects them.",
    )

    def write(self, runs: Mapping[str, Run], folder: ExportFolder) -> Iterable[str]:
        """Write the tables of all runs together."""
        import pyarrow as pa

        from reports.frames.units import steps_frame

        results = [row for label, run in runs.items() for row in _results(label, run)]
        self._put(folder, "results", _table(RESULTS, results))
        settings = list(_runs(runs))
        names = dict.fromkeys(name for row in settings for name in row)
        self._put(folder, "runs", _table(tuple(names), settings))
        if self.with_steps:
            frame = steps_frame(runs.values(), texts=True)
            frame.attrs = {}
            self._put(folder, "steps", pa.Table.from_pandas(frame, preserve_index=False))
            yield from filter(None, [guarding_notes(run.path for run in runs.values())])

    def _put(self, folder: ExportFolder, name: str, table: pa.Table) -> None:
        import pyarrow.parquet as pq

        path = folder.path(f"{name}.{self.form}")
        if self.form == "parquet":
            pq.write_table(table, path)
            return
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        grid = Grid("", (), (), data=Data(tuple(table.column_names), tuple(rows)))
        path.write_text(render(grid, "csv", note=""), encoding="utf-8", newline="")


@dataclass(frozen=True, slots=True)
class ParquetExport(CsvExport):
    """The same tables, whose columns have types."""

    form: ClassVar[str] = "parquet"


def _results(label: str, run: Run) -> Iterator[dict[str, Any]]:
    parts = parts_of(run)
    config = run.manifest.config
    for one in results_of(run):
        ends = ("low", "high", "level", "method", "few")
        yield {
            "run": label,
            "model": run.manifest.model_name,
            "benchmark": str(config.get("benchmark")),
            "split": one.split,
            "measure": name_of(one.measure, run.manifest.declaration),
            "average": one.average or None,
            "invalid": "fail" if one.line == "strict" else "exclude",
            "headline": one.headline,
            "value": one.value,
            **{name: getattr(one.interval, name, None) for name in ends},
            "n": one.n,
            "over": one.over,
            "part": parts.get(one.split) or None,
            "complete": run.complete,
        }


def _runs(runs: Mapping[str, Run]) -> Iterator[dict[str, Any]]:
    from reports.frames.runs import FACTS, runs_frame
    from reports.grid import plain_records
    from reports.settings import settings_of

    facts = plain_records(runs_frame(runs.values())[[*(fact.name for fact in FACTS), "created"]])
    for fact, run in zip(facts, runs.values(), strict=True):
        settings = {f"setting.{n}": value for n, value in settings_of(run.manifest).items()}
        yield {**fact, "note": guarding_notes([run.path]) or None, **settings}


def _table(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    import pyarrow as pa

    columns = [_of_one_type([row.get(name) for row in rows]) for name in names]
    return pa.table([pa.array(values) for values in columns], list(names))


def _of_one_type(values: list[Any]) -> list[Any]:
    """Return the values of a column; as texts, if a setting has several types (5 or "auto")."""
    types = {type(value) for value in values if value is not None}
    if len(types) < 2 or types == {int, float}:
        return values
    return [value if value is None else str(value) for value in values]
