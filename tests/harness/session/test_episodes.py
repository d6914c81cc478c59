"""Episodes on a made-up page: protocols and policies for recorded steps, step by step."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import harness
from adapters import PictureSource, Reply, Request
from adapters.registry import Entry
from harness.benchmarks import BENCHMARKS
from harness.runs import open_run
from tests.harness.commands.tool import call, calls, isolate
from tests.harness.pictures.test_store import alive
from tests.harness.session.counting import Pressing
from tests.test_entry_points import Echo

RUN: dict[str, Any] = {"benchmark": "pressing", "preflight": False}


class Player(Echo):
    """Answers with what a function makes of the text and the number of the call."""

    def __init__(self, answer: Callable[[str, int], str]) -> None:
        super().__init__("player")
        self._answer = answer
        self.texts: list[str] = []
        self.sizes: list[tuple[int, int]] = []

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        last = request.conversation.messages[-1]
        self.texts.append(last.text)
        for picture in last.pictures:
            shown = await pictures.encoded(picture)
            self.sizes.append((shown.width, shown.height))
        return Reply(self._answer(last.text, len(self.texts)))


@pytest.fixture(autouse=True)
def pressing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Any], None]:
    isolate(monkeypatch, tmp_path)

    def register(source: Any) -> None:
        monkeypatch.setitem(BENCHMARKS._entries, "pressing", Entry("", source))

    register(Pressing)
    return register


def wait_until(is_so: Callable[[], bool]) -> None:
    for _ in range(6000):
        if is_so():
            return
        time.sleep(0.02)
    pytest.fail("it did not happen")


def ends(done: Any) -> list[tuple[Any, ...]]:
    return [
        (record.prediction.parsed["reward"], record.prediction.parsed["steps"], record.scores)
        for record in done.records()
    ]


def test_a_model_points_until_it_is_rewarded(tmp_path: Path) -> None:
    goals = {"button 0": 20, "button 3": 140, "button 4": 180}

    def answer(text: str, number: int) -> str:
        wrong = 100 if "-> CLICK" not in text else None  # button 2, which is never right
        x = wrong or next(x for goal, x in goals.items() if goal in text)
        return f"ELEMENT: {x}, 20\nACTION: CLICK\nVALUE: None"

    player = Player(answer)
    options = {"coordinates": "absolute", "form": "plain"}
    done = harness.evaluate(player, protocol="coordinates", protocol_option=options, **RUN)
    assert done.complete
    assert ends(done) == [(1.0, 2, {"success": 1.0})] * 3
    assert set(player.sizes) == {(200, 40)}


def test_samples_vote_on_the_action_of_each_step(tmp_path: Path) -> None:
    goals = {"button 0": 20, "button 3": 140, "button 4": 180}

    def answer(text: str, number: int) -> str:
        x = next(x for goal, x in goals.items() if goal in text) if number % 3 else 100
        return f"ELEMENT: {x}, 20\nACTION: CLICK\nVALUE: None"

    options = {"coordinates": "absolute", "form": "plain"}
    shared: dict[str, Any] = {**RUN, "protocol": "coordinates", "protocol_option": options}
    voting: dict[str, Any] = {"samples": 3, "temperature": 0.8, "concurrency": 1}
    done = harness.evaluate(Player(answer), **shared, **voting)
    assert ends(done) == [(1.0, 1, {"success": 1.0})] * 3
    assert [one.prediction.votes for one in done.records() if one.prediction] == [(2, 1)] * 3
    assert "0 of 3 predictions read differently" in call("score", done.path).out


@pytest.mark.parametrize(
    "protocol",
    ["coordinates", "seeact-two-rounds", "mindact-choice"],
)
def test_policies_for_steps_play_step_by_step(protocol: str, tmp_path: Path) -> None:
    done = harness.evaluate("lexical", protocol=protocol, out="lexical", **RUN)
    assert done.complete
    # The goal's number is on the button, so that the words overlap.
    assert ends(done) == [(1.0, 1, {"success": 1.0})] * 3
    assert "0 of 3 predictions read differently" in call("score", "lexical").out


def test_what_fails_is_tried_again_and_then_does_not_count(
    pressing: Callable[[Any], None], tmp_path: Path
) -> None:
    once, always = tmp_path / "once", tmp_path / "always"
    given = (
        {"goal": 1},
        {"goal": 2, "dies": str(once)},
        {"goal": 3, "dies": str(always), "always": True},
    )
    pressing(lambda: Pressing(parameters=given))
    done = harness.evaluate("always-click", out="run", **RUN)
    assert done.complete
    kept, again, gone = done.records()
    assert (kept.trial, again.trial, again.invalid) == (0, 0, None)
    assert (gone.invalid, gone.prediction, gone.scores) == ("environment_error", None, None)
    assert "exit status 3" in str(gone.error)
    assert "invalid rows: 1" in call("report", "run").out
    assert harness.evaluate("always-click", out="run", **RUN).complete


def test_unreadable_replies_do_nothing_are_told_and_end_an_episode(tmp_path: Path) -> None:
    player = Player(lambda text, number: "I would rather not say." * (number % 7))
    done = harness.evaluate(player, protocol="seeact-two-rounds", out="run", **RUN)
    for record in done.records():
        assert record.prediction is not None
        assert record.prediction.parsed == {"reward": None, "steps": 3, "end": "no action"}
        assert record.prediction.status in ("parse_error", "empty")
        assert record.scores == {"success": 0.0}
    assert any("no action: the reply could not be read" in text for text in player.texts)


@pytest.mark.parametrize(
    ("protocol", "reply"),
    [
        ("autowebglm", 'type_string("A", "x")'),
        ("coordinates", "ELEMENT: 20, 20\nACTION: TYPE\nVALUE: x"),
    ],
)
def test_what_could_not_be_done_is_told_to_the_model(
    protocol: str, reply: str, tmp_path: Path
) -> None:
    player = Player(lambda text, number: reply)
    options = {"coordinates": "absolute", "form": "plain"} if protocol == "coordinates" else {}
    run = {**RUN, "protocol": protocol, "protocol_option": options}
    harness.evaluate(player, benchmark_option={"max_steps": 2}, **run)
    assert sum("failed: only buttons can be pressed here" in text for text in player.texts) == 3


def test_an_episode_goes_no_further_than_its_limit(tmp_path: Path) -> None:
    player = Player(lambda text, number: "ELEMENT: 100, 20\nACTION: CLICK\nVALUE: None")
    options = {"coordinates": "absolute", "form": "plain"}
    run = {**RUN, "protocol": "coordinates", "protocol_option": options}
    done = harness.evaluate(player, benchmark_option={"max_steps": 2}, out="run", **run)
    steps = [record.prediction and record.prediction.parsed for record in done.records()]
    assert steps == [{"reward": None, "steps": 2, "end": "step limit"}] * 3
    acts = {line["place"]: line["act"]["action"] for line in calls("run") if line.get("act")}
    assert {place: act and act["told"] for place, act in acts.items()} == {
        "begin": None,
        "act-1": "(100, 20) -> CLICK",
        "act-2": "(100, 20) -> CLICK",
    }
    assert "0 of 3 predictions read differently" in call("score", "run").out


def test_a_run_that_was_stopped_goes_on_with_episodes_from_their_beginning(tmp_path: Path) -> None:
    from adapters import Fatal

    def answer(text: str, number: int) -> str:
        if number == 5:
            raise Fatal("stop")
        return "ELEMENT: 100, 20\nACTION: CLICK\nVALUE: None"

    options = {"coordinates": "absolute", "form": "plain"}
    run = {
        **RUN,
        "benchmark_option": {"max_steps": 3},
        "protocol": "coordinates",
        "protocol_option": options,
    }
    run |= {"out": "run", "cache": False, "concurrency": 1}
    with pytest.raises(Fatal):
        harness.evaluate(Player(answer), **run)
    player = Player(lambda text, number: "ELEMENT: 100, 20\nACTION: CLICK\nVALUE: None")
    done = harness.evaluate(player, **run)
    assert done.complete and len(done.records()) == 3
    assert {record.trial for record in done.records()} == {0, 1}
    assert [steps for _, steps, _ in ends(done)] == [3] * 3


def test_a_run_killed_while_a_page_hangs_leaves_no_process_and_goes_on(tmp_path: Path) -> None:
    hangs = tmp_path / "hangs"
    program = (
        "import harness; from adapters.registry import Entry;"
        "from harness.benchmarks import BENCHMARKS;"
        "from tests.harness.session.counting import Pressing;"
        "BENCHMARKS._entries['pressing'] = Entry('', Pressing);"
        "harness.evaluate('lexical', benchmark='pressing', out='run', progress='off')"
    )
    root = str(Path(__file__).parents[3])
    paths = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    hung = {**os.environ, "PYTHONPATH": paths, "PRESSING_HANGS": str(hangs)}
    with subprocess.Popen([sys.executable, "-c", program], env=hung, cwd=tmp_path) as main:
        wait_until(lambda: hangs.exists() and hangs.read_text() != "")
        worker = int(hangs.read_text())
        main.kill()
    wait_until(lambda: not alive(worker))
    begun = {line["unit_id"] for line in calls("run")}
    assert begun
    done = harness.evaluate("lexical", benchmark="pressing", out="run", progress="off")
    assert done.complete
    assert {r.unit_id for r in done.records() if r.trial == 1} == begun
    lines = [record.unit_id for record in open_run(Path("run")).records()]
    assert sorted(lines) == ["press-0", "press-1", "press-2"]
