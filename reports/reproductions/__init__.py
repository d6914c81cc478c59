"""Reproductions: published rows, each with a command to reproduce it.

A file of this folder declares one; `reproductions` reads them. `vlm-eval reproduce` carries one out
and compares the result with the published row of `reports.published`.
"""

from __future__ import annotations

from reports.reproductions.outcome import (
    Measured,
    Needs,
    Outcome,
    Reproduction,
    ReproductionError,
    outcome_of,
    read_reproduction,
    reproductions,
)

__all__ = [
    "Measured",
    "Needs",
    "Outcome",
    "Reproduction",
    "ReproductionError",
    "outcome_of",
    "read_reproduction",
    "reproductions",
]
