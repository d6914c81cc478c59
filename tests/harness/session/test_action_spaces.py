"""Models that answer with other actions than the benchmark's, and answers outside of any space."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import harness
from adapters.contract import Request
from harness.protocols import PROTOCOLS
from parsers import MIND2WEB
from parsers.actions import Action
from tests.harness.commands.tool import DEV, call, calls, last_lines, steps

HERE = "tests.harness.session.functions"
ASKED = (*DEV, "--protocol", "functions", "--no-cache", "--progress", "off", "--yes")
ODD = {
    "scroll_page('up')": ("no_element", None, ["other_action"]),
    "finish('done')": ("no_element", None, ["other_action"]),
    "switch_tab(3.5)": ("no_element", None, ["other_action"]),
    "scroll_page('left')": (
        "no_element",
        None,
        ["missing_argument", "other_action", "wrong_argument"],
    ),
    "drag('7', 3)": ("parse_error", None, ["unknown_action"]),
    "click()": ("no_element", {"name": "CLICK"}, []),
    "click(7)": ("no_element", {"name": "CLICK"}, ["wrong_argument"]),
    "click(['7'])": ("parse_error", None, []),
    "hover('7')": ("answered", {"name": "CLICK", "element": "7"}, ["mapped_operation"]),
    "type_string('7')": ("answered", {"name": "TYPE", "element": "7"}, ["missing_argument"]),
    r"type_string('7', '\ud800\x1b[2J', True)": (
        "answered",
        {"name": "TYPE", "element": "7", "arguments": {"value": "\ufffd\x1b[2J"}},
        [],
    ),
    f"type_string('7', {'9' * 1000}, True)": (
        "answered",
        {"name": "TYPE", "element": "7"},
        ["missing_argument", "wrong_argument"],
    ),
    "select('7', 1e999)": (
        "answered",
        {"name": "SELECT", "element": "7"},
        ["missing_argument", "wrong_argument"],
    ),
    f"select('7', '{'y' * 30_000}')": ("parse_error", None, []),
    r"click('\udfff')": ("answered", {"name": "CLICK", "element": "\ufffd"}, []),
    "I would scroll.": ("parse_error", None, []),
}
_said: Iterator[str] = iter(())


def odd(request: Request) -> str:
    """The next of the odd answers, then the first one."""
    return next(_said, next(iter(ODD)))


@pytest.fixture(autouse=True)
def functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PROTOCOLS, "_entries", dict(PROTOCOLS._entries))
    for name in ("Functions", "Unwritten", "Misspelt"):
        PROTOCOLS.add(name.lower(), f"{HERE}:{name}")
    monkeypatch.setattr(f"{__name__}._said", iter(ODD))


def test_baselines_are_scored_as_with_letters() -> None:
    for model in ("oracle", "random", "lexical"):
        assert call("--model", model, *ASKED, "--out", model).code == 0
        letters = (*DEV, "--image-policy", "none", "--no-cache", "--progress", "off")
        assert call("--model", model, *letters, "--out", f"{model}-letters").code == 0
        mine = {step["step_id"]: step["scores"] for step in steps(model)}
        theirs = [step for step in steps(f"{model}-letters") if step["asked"]]
        assert theirs and all(mine[step["step_id"]] == step["scores"] for step in theirs)
    assert all(step["scores"]["success"] for step in steps("oracle") if step["asked"])
    assert any(line["reply"]["text"].startswith("type_string(") for line in calls("oracle"))


def test_odd_answers_are_told_by_status_and_flags_and_can_be_read_again() -> None:
    asked = (*ASKED, "--split", "test", "--limit", "4", "--concurrency", "1")
    assert call("--model", f"scripted:{__name__}:odd", *asked, "--out", "run").code == 0
    said = {line["unit_id"]: line["reply"]["text"] for line in calls("run")}
    assert set(said.values()) >= set(ODD)
    for line in last_lines("run"):
        if line["asked"]:
            status, action, flags = ODD[said[line["unit_id"]]]
            prediction = line["prediction"]
            found = prediction.get("action")
            assert (prediction["status"], found, prediction.get("flags", [])) == (
                status,
                action,
                flags,
            )
    again = call("score", "run")
    assert again.code == 0 and " 0 of " in again.out.replace("\n", " ")
    run = harness.open_run("run")
    actions = [record.prediction.action for record in run.records() if record.prediction]
    assert Action("CLICK", "7") in actions
    assert all(len(str(action).splitlines()) == 1 for action in actions)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("unwritten", "no counterparts in 'mind2web', the actions of this benchmark"),
        ("misspelt", "'mind2web' has no PRESS"),
    ],
)
def test_actions_without_counterparts_are_refused_before_anything_is_asked(
    name: str, complaint: str
) -> None:
    done = call("--model", "oracle", *DEV, "--protocol", name, "--out", "run")
    assert done.code == 2 and complaint in done.complaint
    assert not Path("run").exists()


def test_a_run_has_the_action_space_on_record() -> None:
    assert call("--model", "oracle", *ASKED, "--limit", "1", "--out", "run").code == 0
    manifest: dict[str, Any] = json.loads(Path("run/manifest.json").read_text())
    names = [action["name"] for action in manifest["declaration"]["actions"]["actions"]]
    assert names == ["CLICK", "TYPE", "SELECT"]
    assert harness.open_run("run").manifest.declaration.actions == MIND2WEB.actions
