"""Protocols of the web on screens: pointing, and SeeAct's two rounds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import harness
from adapters import PictureSource, Reply, Request
from harness.runs import open_run
from tests.harness.benchmarks.screen.test_screen import mine, tool
from tests.harness.commands.tool import call, isolate
from tests.test_entry_points import Echo

STEPS: tuple[dict[str, Any], ...] = (
    {"action": {"type": "click", "at": [100, 50]}, "boxes": [[90, 40, 110, 60]]},
    {"action": {"type": "scroll", "direction": "down"}, "instruction": "see more"},
    {"action": {"type": "type", "text": "coffee table"}},
)


class Thinker(Echo):
    """Describes the next action, and writes it when it is asked for."""

    def __init__(self, name: str, coordinates: Any) -> None:
        super().__init__(name)
        self.info = replace(self.info, model=name, coordinates=coordinates)
        self.asked: dict[str, list[str]] = {}

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        if request.unit_id == "preflight":
            return Reply("yes")
        texts = self.asked.setdefault(request.unit_id, [])
        texts.append(request.conversation.messages[-1].text)
        if len(texts) == 1:
            return Reply("The middle of the screen has to be tapped.")
        return Reply(tool(action="click", coordinate=[500, 500]))


def scores(run: Path) -> dict[str, float | None]:
    return {one.unit_id: (one.scores or {})["strict"] for one in open_run(run).records()}


def test_seeacts_second_round_asks_for_the_familys_form(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    model = Thinker("qwen3-vl-8b", "per-999")
    harness.evaluate(
        model,
        benchmark="screen-steps",
        data=mine(tmp_path / "mine", *STEPS),
        protocol="seeact-two-rounds",
        out=tmp_path / "run",
    )
    assert scores(tmp_path / "run") == {"e_0": 1, "e_1": 0, "e_2": 0}
    first, second = model.asked["e_2"]
    assert "Find it" in first and "see more" in first and "name the one element" in first
    assert '"name": "mobile_use"' in second and "Find it" not in second
    calls = [one.name for one in open_run(tmp_path / "run").calls()]
    assert sorted(calls) == ["round-1"] * 3 + ["round-2"] * 3
    # The family is on record, and reads the replies again.
    assert open_run(tmp_path / "run").manifest.config["protocol_option"]["family"] == "qwen3-vl"
    assert "0 of 3 predictions read differently" in call("score", tmp_path / "run").out


@pytest.mark.parametrize(
    ("protocol", "right"),
    [
        ("seeact-two-rounds", {"e_0": 1, "e_1": 1, "e_2": 1}),
        # Pages have no name for a scroll of the screen.
        ("coordinates", {"e_0": 1, "e_1": 0, "e_2": 1}),
    ],
)
def test_the_oracle_says_what_the_protocol_can(
    protocol: str, right: dict[str, float], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    data = mine(tmp_path / "mine", *STEPS)
    words = ["--benchmark", "screen-steps", "--data", str(data), "--model", "oracle"]
    done = call(*words, "--protocol", protocol, "--progress", "off", "--out", tmp_path / "run")
    assert done.code == 0, done.err
    assert scores(tmp_path / "run") == right


def test_a_pointing_model_taps_where_it_points(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    reply = json.dumps({"action_type": 4, "click_point": [0.5, 0.5]})

    class Pointer(Thinker):
        async def ask(self, request: Request, pictures: PictureSource) -> Reply:
            await super().ask(request, pictures)
            return Reply(reply)

    model = Pointer("seeclick", "unit")
    harness.evaluate(
        model,
        benchmark="screen-steps",
        data=mine(tmp_path / "mine", *STEPS),
        protocol="coordinates",
        protocol_option={"form": "seeclick"},
        out=tmp_path / "run",
    )
    assert scores(tmp_path / "run") == {"e_0": 1, "e_1": 0, "e_2": 0}
    (question,) = model.asked["e_2"]
    assert "Find it" in question and '"click_point": (0.50,0.50)' in question


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--protocol", "seeact-choice"), "ask with screen-agent"),
        (
            ("--protocol", "seeact-two-rounds", "--protocol-option", "none=first"),
            "unknown key 'none' ('seeact-two-rounds' where it answers ScreenView has ",
        ),
    ],
)
def test_what_needs_elements_is_refused(
    words: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    done = call("--benchmark", "sample-screens", "--model", "oracle", *words)
    assert done.code == 2 and said in done.complaint
