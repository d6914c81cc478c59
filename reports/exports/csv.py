"""Tables for spreadsheets and pandas: plain CSV with one line of column names.

`results.csv` has a row per run, split, measure and average, `runs.csv` a row per run with its
settings, `steps.csv` a row per unit and repeat as `Run.steps(texts=True)` has them; `run` joins
them. Texts that a spreadsheet would evaluate begin with an apostrophe.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.tables import Data, Grid, render
from reports.exports import option
from reports.load import guarding_notes

if TYPE_CHECKING:
    import pandas as pd

    from harness.runs import Run
    from reports.exports import Folder

RESULTS = (
    *("run", "model", "benchmark", "split", "measure", "average", "invalid", "headline", "value"),
    *("low", "high", "level", "method", "few", "n", "over", "part", "complete"),
)
"""The columns of `results.csv` (docs/export.md)."""


@dataclass(frozen=True, slots=True)
class CsvExport:
    """Tables for spreadsheets and pandas."""

    with_steps: bool = option(
        False,
        "Write every step as well, with texts of tasks, pages and replies: keep such files where "
        "no crawler collects them.",
    )

    def write(self, runs: Mapping[str, Run], folder: Folder) -> Iterable[str]:
        """Write the tables of all runs together."""
        from reports.frames.steps import steps_frame
        from reports.grid import plain_records

        results = [row for label, run in runs.items() for row in _results(label, run)]
        _write(folder, "results.csv", RESULTS, results)
        settings = list(_runs(runs))
        names = dict.fromkeys(name for row in settings for name in row)
        _write(folder, "runs.csv", tuple(names), settings)
        if self.with_steps:
            frame: pd.DataFrame = steps_frame(runs.values(), texts=True)
            _write(folder, "steps.csv", tuple(map(str, frame.columns)), plain_records(frame))
            yield from filter(None, [guarding_notes(run.path for run in runs.values())])


def _results(label: str, run: Run) -> Iterator[dict[str, Any]]:
    from reports.exports.results import parts_of, results_of

    parts = parts_of(run)
    config = run.manifest.config
    for one in results_of(run):
        interval = one.interval
        yield {
            "run": label,
            "model": run.manifest.model_name,
            "benchmark": str(config.get("benchmark")),
            "split": one.split,
            "measure": one.measure.result,
            "average": one.average or None,
            "invalid": "fail" if one.line == "strict" else "exclude",
            "headline": one.headline,
            "value": one.value,
            "low": interval.low if interval else None,
            "high": interval.high if interval else None,
            "level": interval.level if interval else None,
            "method": interval.method if interval else None,
            "few": interval.few if interval else None,
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


def _write(
    folder: Folder, name: str, columns: Sequence[str], rows: Iterable[Mapping[Any, Any]]
) -> None:
    data = Data(
        tuple(columns),
        tuple(tuple(row.get(column) for column in columns) for row in rows),
    )
    text = render(Grid("", (), (), data=data), "csv", note="")
    folder.path(name).write_text(text, encoding="utf-8", newline="")
