"""Comparison of runs on the steps they share.

    from reports.comparison import compare_runs, render
    print(render(compare_runs(["runs/a", "runs/b"]), "text"))

| module | content |
|---|---|
| `settings` | whether two runs can be compared, and in what they differ |
| `pairing` | steps and tasks shared by two runs, with both scores |
| `results` | a comparison as records, and its verdict in words |
| `compare` | differences, intervals, tests, power |
| `table` | the same as a frame, and as a grid that every format writes |
| `command` | `vlm-eval compare` |

Importing this package imports neither pandas nor scipy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reports.comparison.compare import compare_runs
    from reports.comparison.table import comparison_table, render

_HOMES = {
    "compare_runs": "reports.comparison.compare",
    "comparison_table": "reports.comparison.table",
    "render": "reports.comparison.table",
}

__all__ = ["compare_runs", "comparison_table", "render"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'reports.comparison' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
