"""Runs as pandas frames and tables.

    from reports import main_table, render, steps_frame
    print(render(main_table(["runs/a", "runs/b"]), "text"))

`steps_frame` and `runs_frame` are tidy and typed (`reports.frames` documents their columns).
`main_table` holds the metrics with their intervals, `status_table` the outcomes of
steps, `cost_table` calls, tokens, cost and latency, `published_table` results from papers. `render`
writes a table as text, Markdown, CSV, LaTeX, JSON or HTML. The analyses are in `reports.analyses`.

Pass runs as paths or as returned by `harness.runs.open_run`. Importing this package does not import
pandas.

Part of vlm-web-eval.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reports.formats import FORMATS, TEST_DATA_NOTE, clean, render
    from reports.frames.runs import runs_frame
    from reports.frames.units import steps_frame
    from reports.listing import list_runs
    from reports.load import open_runs
    from reports.published.beside import published_beside, published_table
    from reports.spending import cost_table
    from reports.statuses import status_table
    from reports.tables import main_table

__all__ = [
    "FORMATS",
    "TEST_DATA_NOTE",
    "clean",
    "cost_table",
    "list_runs",
    "main_table",
    "open_runs",
    "published_beside",
    "published_table",
    "render",
    "runs_frame",
    "status_table",
    "steps_frame",
]

_NAMES = {
    "reports.formats": "FORMATS TEST_DATA_NOTE clean render",
    "reports.tables": "main_table",
    "reports.spending": "cost_table",
    "reports.listing": "list_runs",
    "reports.published.beside": "published_beside published_table",
    "reports.statuses": "status_table",
    "reports.load": "open_runs",
    "reports.frames.runs": "runs_frame",
    "reports.frames.units": "steps_frame",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'reports' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
