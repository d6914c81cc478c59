"""Environments over the sample and over three made-up steps of one task."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium

from harness.gym import RecordedEnv

ID = "harness.gym:vlm_eval/Mind2Web-v0"
PAGE = (
    "<html bid='0'><body bid='1'><form bid='2'><input bid='3' aria-label='Search for'>"
    "<select bid='4'><option bid='5'>Lamps</option></select><button bid='6'>Search</button></form>"
    "<a bid='7' href='/'>Home</a></body></html>"
)
BOXES = {"2": [0, 0, 100, 50], "3": [0, 0, 40, 20], "4": [40, 0, 40, 20], "6": [80, 0, 20, 20]}
RIGHT = [("3", "TYPE", "a red lamp"), ("4", "SELECT", "Lamps"), ("6", "CLICK", "")]


def made(**settings: Any) -> RecordedEnv:
    """An environment without the checks that gymnasium puts around it."""
    return RecordedEnv(**{"benchmark": "sample", "split": "dev", **settings})


def registered(**settings: Any) -> gymnasium.Env[dict[str, Any], str]:
    """An environment as users make it."""
    return gymnasium.make(ID, **{"benchmark": "sample", "split": "dev", **settings})


OFFERED = {"lost_rows": True, "candidates": "all"}


def recorded(
    folder: Path, right: list[tuple[str, str, str]] = RIGHT, **changes: Mapping[str, Any]
) -> dict[str, Any]:
    """The settings of an environment over a task on one page, whose steps are `right`.

    Histories do not say what is right; `changes` are columns by the number of a step.
    """
    (folder / "schema.toml").write_text('data = "steps.jsonl"\nid_attribute = "bid"\n')
    lines = []
    for number, (element, operation, value) in enumerate(right):
        line: dict[str, Any] = {
            "task": "Find a red lamp",
            "html": PAGE,
            "operation": operation,
            "value": value,
            "positives": [element],
            "candidates": [{"id": i, "box": BOXES.get(i)} for i in ("7", "6", "4", "3", "2")],
            "history": [f"step {n}" for n in range(number)],
        }
        lines.append(json.dumps({**line, **changes.get(f"step_{number}", {})}))
    (folder / "steps.jsonl").write_text("\n".join(lines))
    data = str(folder / "schema.toml")
    return {"benchmark": "steps", "data": data, "split": "local", "benchmark_option": OFFERED}


def actions(right: list[tuple[str, str, str]] = RIGHT) -> list[str]:
    """The right actions, by `bid`."""
    calls = {
        "CLICK": 'click("{}")',
        "TYPE": 'fill("{}", "{}")',
        "SELECT": 'select_option("{}", "{}")',
    }
    return [calls[operation].format(element, value) for element, operation, value in right]
