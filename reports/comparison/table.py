"""A comparison as a tidy, typed frame: a row per run, metric and average."""

from __future__ import annotations

from typing import Any

import pandas as pd

from reports.comparison.results import Comparison, Comparisons, Contrast
from reports.frames.schema import Column, schema, typed

COLUMNS = (
    Column("baseline", "str", "the first run of the pair"),
    Column("run", "str", "the other run"),
    Column("subject", "str", "what they differ in"),
    Column("metric", "str", "element, operation_f1, step_success or task_success"),
    Column("average", "str", "macro (over tasks), micro (over steps), or tasks for task success"),
    Column("tasks", "Int64", "shared tasks"),
    Column("steps", "Int64", "shared steps"),
    Column("baseline_rate", "float64", "a share between 0 and 1"),
    Column("run_rate", "float64", "a share between 0 and 1"),
    Column("difference", "float64", "the run's less the baseline's"),
    Column("low", "float64", "95 % interval of the difference"),
    Column("high", "float64", "95 % interval of the difference"),
    Column("few", "boolean", "fewer than 30 tasks: the interval is too narrow"),
    Column("p_permutation", "float64", "two-sided; corrected where several runs are compared"),
    Column("p_mcnemar", "float64", "the same; missing where scores are not right or wrong"),
    Column("p_permutation_raw", "float64", "before correction"),
    Column("p_mcnemar_raw", "float64", "before correction"),
    Column("permutation_exact", "boolean", "whether all sign patterns were looked at"),
    Column("better", "Int64", "steps (micro) or tasks in which the run is better"),
    Column("worse", "Int64", "in which it is worse"),
    Column("same", "Int64", "in which they are the same"),
    Column("tasks_needed", "Int64", "to see this difference, or the planned one, with 80 % power"),
    Column("visible", "float64", "the difference that these tasks show with 80 % power"),
)
COMPARISON_SCHEMA = schema(COLUMNS)


def comparison_table(found: Comparisons) -> pd.DataFrame:
    """The frame; `COLUMNS` says what the columns hold, `attrs` the settings of the runs."""
    records = [_record(one, contrast) for one in found.others for contrast in one.contrasts]
    table = typed({c.name: [record[c.name] for record in records] for c in COLUMNS}, COLUMNS)
    table.attrs = {
        "constants": found.settings.constants,
        "differences": found.settings.differences,
        "given": found.given,
        "variant": found.variant,
        "correction": found.correction,
        "planned": found.planned,
    }
    return table


def _record(one: Comparison, contrast: Contrast) -> dict[str, Any]:
    difference, mcnemar = contrast.difference, contrast.mcnemar
    return {
        "baseline": one.baseline,
        "run": one.run,
        "subject": one.subject,
        "metric": contrast.metric,
        "average": contrast.average,
        "tasks": difference.tasks,
        "steps": difference.steps or None,
        "baseline_rate": difference.first,
        "run_rate": difference.second,
        "difference": difference.difference,
        "low": difference.low,
        "high": difference.high,
        "few": difference.few,
        "p_permutation": contrast.p_permutation,
        "p_mcnemar": contrast.p_mcnemar,
        "p_permutation_raw": contrast.permutation.p,
        "p_mcnemar_raw": mcnemar.p if mcnemar else None,
        "permutation_exact": contrast.permutation.exact,
        "better": contrast.effect.better,
        "worse": contrast.effect.worse,
        "same": contrast.effect.same,
        "tasks_needed": contrast.needed,
        "visible": contrast.visible,
    }
