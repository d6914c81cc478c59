"""The result of a run, and the estimate of one, as JSON for other programs (`--json`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from harness.runs import Run
from harness.runs.scores import scores_of
from parsers import Declaration

if TYPE_CHECKING:
    from harness.planning.estimate import CostEstimate
    from harness.planning.plan import Plan


def result_json(run: Run, *, full: bool, summary: Mapping[str, Any] | None = None) -> str:
    """Write the headline scores of a run, or with `full` its whole summary.

    `summary` replaces that of the run, as where it was scored again. Raises `RunError`.
    """
    found = run.summary if summary is None else {"complete": run.complete, **summary}
    manifest = run.manifest
    about = {
        "directory": str(run.path),
        "complete": run.complete,
        "model": manifest.model_name,
        "benchmark": manifest.config.get("benchmark"),
        "splits": manifest.dataset.get("splits"),
        "protocol": manifest.config.get("protocol"),
    }
    if full:
        return json.dumps({"directory": str(run.path), **found}, indent=2)
    return scores_json(about, found, manifest.declaration)


def scores_json(about: Mapping[str, Any], summary: Mapping[str, Any], declared: Declaration) -> str:
    """Write the headline scores of a summary, behind what it is `about`, a value per line."""
    counts = summary["counts"][0]
    scores = {
        name: {
            "value": score.value,
            "low": score.interval.low if score.interval else None,
            "high": score.interval.high if score.interval else None,
            "n": score.n,
            "over": score.over,
        }
        for name, score in scores_of(summary, declared, "scores").items()
    }
    return _lines(
        {
            **about,
            declared.units: counts["n_settled"],
            "statuses": counts["statuses"],
            **({"cost": summary["cost"]} if "cost" in summary else {}),
            "scores": scores,
        }
    )


def estimate_json(plan: Plan, estimate: CostEstimate, *, full: bool) -> str:
    """Write an estimate: calls, tokens and US dollars of three lengths of replies.

    With `full` it has the parts of each role and of the prompts, too.
    """
    settings = plan.settings
    values: dict[str, Any] = {
        "directory": str(plan.directory),
        "model": plan.model.info.name,
        "benchmark": settings.benchmark,
        "protocol": settings.protocol,
        plan.dataset.units: estimate.steps,
        "invalid": estimate.invalid,
        "calls": [estimate.calls_at_least, estimate.calls_at_most],
        "pictures": estimate.pictures,
        **{name: asdict(case) for name, case in estimate.cases.items()},
    }
    if full:
        values |= {
            "not_offered": estimate.not_offered,
            "too_long": estimate.too_long,
            "picture_tokens": estimate.picture_tokens,
            "text_tokens": estimate.text_tokens,
            "roles": {name: asdict(role) for name, role in estimate.roles.items()},
        }
    return _lines(values)


def _lines(values: Mapping[str, Any]) -> str:
    """Write an object with a value a line; the scores have a line each."""
    lines = []
    for name, value in values.items():
        text = json.dumps(value)
        if name == "scores":
            each = ",\n".join(f"    {json.dumps(key)}: {json.dumps(value[key])}" for key in value)
            text = f"{{\n{each}\n  }}"
        lines.append(f"  {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}"
