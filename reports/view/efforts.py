"""Runs that differ in the model's effort only, with the tokens they took and their scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.runs import Run
from reports.grid import plain_records
from reports.settings import settings_of
from reports.view.parts import main_of
from reports.view.tables import Summary

EFFORTS = ("effort", "thinking_budget")
"""Settings that say how much a model thinks."""


@dataclass(frozen=True, slots=True)
class Rung:
    """One of these runs.

    effort: the value in which it differs.
    tokens: mean output tokens per answered unit, thoughts included.
    value, low, high: the main measure with its interval, shares; None without one.
    """

    run: str
    effort: str
    tokens: float
    value: float
    low: float | None
    high: float | None


def ladders(runs: Mapping[str, Run], summary: Summary) -> dict[str, list[Rung]]:
    """Group the runs by everything but their effort: two or more of a model, by tokens.

    The key is the model's name. Scores are those over all splits.
    """
    main = main_of(summary.declared)
    name = f"{main.result}_{main.averages[0]}"
    table = next(iter(summary.frames.values()))
    headlines = {one["run"]: one for one in plain_records(table) if one["headline"]}
    groups: dict[str, list[Rung]] = {}
    for label, run in runs.items():
        one = headlines.get(label)
        settings = settings_of(run.manifest)
        effort = next((settings[key] for key in EFFORTS if settings.get(key) is not None), None)
        if one is None or one.get(name) is None or not one["output_tokens"]:
            continue
        others = {k: v for k, v in settings.items() if k.rpartition(".")[2] not in EFFORTS}
        tokens = one["output_tokens"] / one[summary.declared.units]
        ends = (one.get(f"{name}_{end}") for end in ("low", "high"))
        rung = Rung(label, str(effort or "default"), tokens, one[name], *ends)
        groups.setdefault(repr(sorted(others.items())), []).append(rung)
    found: dict[str, list[Rung]] = {}
    for rungs in groups.values():
        if len({rung.effort for rung in rungs}) < 2:
            continue
        model = str(_model(runs[rungs[0].run]))
        label = model if model not in found else f"{model} ({rungs[0].run})"
        found[label] = sorted(rungs, key=lambda rung: rung.tokens)
    return found


def _model(run: Run) -> Any:
    return run.manifest.model.get("name") or run.manifest.config.get("model")
