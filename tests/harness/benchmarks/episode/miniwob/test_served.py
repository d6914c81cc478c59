"""A model behind a server that plays MiniWoB++ through the whole program."""

from __future__ import annotations

from pathlib import Path

import pytest

import harness
from harness.benchmarks.episode.miniwob.benchmark import MiniWoBWorld, episode_of, pages
from harness.benchmarks.episode.miniwob.policy import EpisodeTurn
from harness.records import Step
from parsers.points import write_point
from parsers.records import StepInfo
from tests.harness.benchmarks.episode.miniwob.played import choices_of, needs_miniwob, seen
from tests.harness.commands.tool import call, isolate
from tests.servers import Answer, Ask, WireServer


@pytest.mark.browser
@needs_miniwob
def test_a_model_that_points_at_the_button_gets_the_reward(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    world = MiniWoBWorld({"pages": str(pages())})
    try:
        first = world.begin(episode_of(3, "click-test-2", 0))
        goal, choices = seen(first).goal, choices_of(first)
    finally:
        world.close()
    info = StepInfo("", "", 0, 0, "", "", "", "", "", goal)
    turn = EpisodeTurn.of(Step("", info, ()), choices)
    points = {name: turn.point_of(turn.named(name) or pytest.fail(name)) for name in ("ONE", "TWO")}
    asked: list[Ask] = []

    def react(ask: Ask) -> Answer:
        asked.append(ask)
        return Answer(text=write_point("plain", points["ONE"], "CLICK", ""))

    with WireServer(react) as server:
        done = call(
            *(
                "run",
                "-m",
                "openai:m",
                "--base-url",
                server.base_url("openai"),
                "--adapter-option=preflight=no",
            ),
            *("--benchmark", "miniwob"),
            *("--protocol", "coordinates", "--protocol-option", "coordinates=absolute"),
            *[
                "--only",
                "task=click-test-2",
                "--benchmark-option",
                "episodes=1",
                "--seed",
                "3",
                "-o",
                "run",
            ],
        )
    assert done.code == 0, done.err
    (ask,) = asked
    assert goal in str(ask.body) and ask.pictures == 1
    (record,) = harness.open_run("run").records()
    assert record.scores is not None and record.scores["success"] == 1.0
    assert record.detail.asked.parameters == episode_of(3, "click-test-2", 0)
    assert record.prediction is not None
    assert dict(record.prediction.parsed) == {
        "reward": 1.0,
        "steps": 1,
        "end": "the page ended it",
    }


@pytest.mark.browser
@needs_miniwob
def test_screenshots_that_differ_are_shown_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    world = MiniWoBWorld({"pages": str(pages())})
    try:
        choices = choices_of(world.begin(episode_of(3, "enter-text", 0)))
    finally:
        world.close()
    box = next(one.box for one in choices if one.tag == "input")
    assert box is not None
    place = box.x + box.width / 2, box.y + box.height / 2
    asked: list[Ask] = []

    def react(ask: Ask) -> Answer:
        asked.append(ask)
        return Answer(text=write_point("ui-tars", place, "TYPE", "x" * len(asked)))

    with WireServer(react) as server:
        done = call(
            *(
                "run",
                "-m",
                "openai:m",
                "--base-url",
                server.base_url("openai"),
                "--adapter-option=preflight=no",
            ),
            *("--benchmark", "miniwob", "--protocol", "coordinates", "--history", "turns:3"),
            *("--protocol-option", "coordinates=absolute", "--protocol-option", "form=ui-tars"),
            *[
                "--only",
                "task=enter-text",
                "--benchmark-option",
                "episodes=1",
                "--seed",
                "3",
                "-o",
                "run",
            ],
            *("--benchmark-option", "max_steps=4"),
        )
    assert done.code == 0, done.err
    assert [ask.pictures for ask in asked] == [1, 2, 3, 3]
    shown = [m["content"][0] for m in asked[-1].messages if m["role"] == "user"][1:]
    assert len({str(one) for one in shown}) == 3
