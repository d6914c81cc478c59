"""Runs written in the formats of other projects.

    from reports.exports import export
    export(["runs/a", "runs/b"], "csv", "exported", with_steps=True)

| module | content |
|---|---|
| `contract` | what a format is, the registry of formats, options of formats |
| `folder` | the output folder: safe names, nothing half written, nothing replaced unasked |
| `results` | a run's measures, one by one, as `vlm-eval report` computes them |
| `facts` | facts about a run other than its numbers |
| `units` | what formats say of a unit: its calls in order, the answer, what is right |
| `write` | `export`, which the command calls |
| `csv`, `eee`, `hub`, `inspect` | a format each |

A format is a frozen dataclass: its fields are options of `vlm-eval export`, and `write` writes some
runs into a folder. It is added to `EXPORTS`, or by a package as an entry point of
`vlm_eval.exports`.
"""

from __future__ import annotations

from reports.exports.contract import (
    EXPORTS,
    ExportError,
    ExportFormat,
    Folder,
    export,
    file_name,
    option,
)

__all__ = ["EXPORTS", "ExportError", "ExportFormat", "Folder", "export", "file_name", "option"]
