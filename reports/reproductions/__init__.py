"""Reproductions: published rows, each with the command that ought to give it.

A file of this folder declares one; `reproductions` reads them. `vlm-eval reproduce` carries one out
and holds the result against the published row, whose figures and keys stand in `reports.published`
alone.
"""

from __future__ import annotations

from reports.reproductions.declared import (
    Measured,
    Needs,
    Reproduction,
    ReproductionError,
    read_reproduction,
    reproductions,
)
from reports.reproductions.outcome import Outcome, outcome_of

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
