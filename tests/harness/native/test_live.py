"""Episodes through tools: one conversation, acts one after the other, answers behind them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from adapters import Adapter, Generation, Reply, Request
from harness.dialogue import Ask
from harness.native.protocol import Native
from parsers.actions import Action
from parsers.native import ToolAct
from parsers.native.live import actions_of
from parsers.native.page import Elements
from parsers.native.tools import chord_of, key_of
from parsers.records import Prediction
from tests.harness.commands.tool import at, call, calls, isolate, last_lines, start
from tests.harness.live.browsed import needs_browser
from tests.harness.native.cases import (
    Case,
    Pictures,
    adapter_for,
    cases,
    live_of,
    matches,
    protocol_of,
    replying,
)
from tests.harness.native.test_cases import INSIDE, MESSAGES, TOOLS
from tests.harness.native.test_runs import PATIENCE_S, calling
from tests.servers import Answer, WireServer
from tests.servers import Ask as Sent


def played(case: Case, adapter: Adapter, protocol: Native) -> tuple[list[Action], str]:
    """The actions of an episode, and why it ended."""
    memory: dict[str, Any] = {}
    acts: list[Action] = []

    async def run() -> str:
        failure = ""
        for number in range(1, 20):
            dialogue = protocol.dialogue(live_of(case, number, failure, memory))
            try:
                ask = next(dialogue)
                while True:
                    assert isinstance(ask, Ask)
                    request = Request(ask.conversation, Generation(), "u", ask.place)
                    reply = await adapter.ask(request, Pictures())
                    assert isinstance(reply, Reply)
                    ask = dialogue.send(reply)
            except StopIteration as stop:
                said: Prediction = stop.value
            if said.action is None:
                return "refused" if str(said.status) == "refusal" else str(said.status)
            acts.append(said.action)
            outcome = case.get("world", ["ended"])[len(acts) - 1]
            if said.action.name == "STOP":
                return "stopped"
            if outcome == "ended":
                return "ended"
            failure = outcome.removeprefix("failed: ") if outcome != "ok" else ""
        raise AssertionError("the episode does not end")

    async def closed() -> str:
        try:
            return await run()
        finally:
            await adapter.close()

    end = asyncio.run(closed())
    return acts, end


@pytest.mark.parametrize("case", cases("live", TOOLS))
def test_an_episode_is_played_through_a_tool(case: Case) -> None:
    with WireServer(replying(case["replies"])) as server:
        adapter = adapter_for(case, server)
        acts, end = played(case, adapter, protocol_of(case, adapter))
    assert end == case["expect"]["end"]
    assert [act.name for act in acts] == [one["name"] for one in case["acts"]]
    for act, one in zip(acts, case["acts"], strict=True):
        point, element = one.get("point"), one.get("element")
        assert act.point == (None if point is None else pytest.approx(point, abs=0.01))
        assert act.element == (
            None if element is None else "12" if element == "@ref_2" else element
        )
        assert dict(act.arguments) == one["arguments"]
    where, inside = MESSAGES[case["provider"]], INSIDE.get(case["provider"])
    for number, answers in enumerate(case["answers"], 1):
        said: Any = server.asks[number].body[where]
        said = said[-1][inside] if inside else said[-len(answers) :]
        assert matches(said, answers, case), said


def test_keys_are_told_in_both_words() -> None:
    for key in ("Control+a", "Enter", "ArrowDown", "PageUp", "F5", "Shift+Tab", "+", "x"):
        assert key_of(chord_of(key)) == key


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (ToolAct("press", text="left"), []),
        (ToolAct("press", ref="ref_9", text="left"), []),
        (ToolAct("press", text="back"), ["BACK"]),
        (ToolAct("goto", text="forward"), ["FORWARD"]),
        (ToolAct("goto", text="https://a.example"), ["GOTO"]),
        (ToolAct("end", text="failure"), ["INFEASIBLE"]),
        (ToolAct("answer", text="4"), ["STOP"]),
        (ToolAct("wait", seconds=2.0), ["WAIT"]),
        (ToolAct("scroll", (1, 1), text="left", far=-500), ["SCROLL_BY"]),
        (ToolAct("scroll", (1, 1), text="left"), ["SCROLL"]),
        (ToolAct("type", text="a", submit=True), ["KEYS", "PRESS"]),
        (ToolAct("choose", (1, 1), text="b"), ["SELECT"]),
        (ToolAct("app", text="Clock"), []),
    ],
)
def test_acts_are_actions_of_a_live_page(act: ToolAct, expected: list[str]) -> None:
    found = list(actions_of(act, Elements((), (100, 100)), (100, 200)))
    assert [one.name for one in found] == expected
    if act.far:
        # Thousandths of the width.
        assert found[0].arguments == {"delta_x": -50.0, "delta_y": 0.0}


@pytest.mark.parametrize(("turns", "calls", "pictures"), [(3, 40, 820), (0, 10, 55)])
def test_a_dry_run_counts_an_episode_as_one_growing_conversation(
    turns: int, calls: int, pictures: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    done = call(
        *("run", "--benchmark", "miniwob", "--only", "task=click-test", "--limit", "1"),
        *("--model", "anthropic:claude-opus-5-5", "--protocol", "native"),
        *("--protocol-option", f"turns={turns}", "--dry-run"),
    )
    assert done.code == 0, done.err
    # Every call sends the pictures of all calls before it, up to the last step.
    assert f"{pictures} sent in {calls} calls" in done.out


@pytest.mark.browser
@needs_browser
@pytest.mark.parametrize("tool", ["computer", "browser-toolset"])
def test_scripts_succeed_through_native_calls(
    tool: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    tasks = ("click-button", "enter-text", "choose-list", "click-scroll-list")
    only = (part for task in tasks for part in ("--only", f"task={task}"))
    done = call(
        *("run", "--benchmark", "miniwob", "--benchmark-option", "episodes=1", *only),
        *("--model", "oracle", "--protocol", "native", "--protocol-option", f"tool={tool}"),
        *("--progress", "off", "--out", "a"),
    )
    assert done.code == 0, done.err
    found = {line["unit_id"]: line["scores"]["success"] for line in last_lines("a")}
    assert found == {f"{task}-0": 1.0 for task in tasks}


@pytest.mark.browser
@needs_browser
def test_an_episode_is_one_conversation_with_all_its_pictures(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    corner = ("click", {"x": 900, "y": 900})
    rounds = [
        calling(corner, ("press_keys", {"keys": ["tab"]})),
        calling(("scroll", {"x": 500, "y": 500, "direction": "down"})),
        Answer("Done."),
    ]
    with WireServer(lambda ask: rounds[ask.rounds]) as server:
        done = call(
            *at(server, "--benchmark", "miniwob", "--only", "task=enter-text"),
            *("--benchmark-option", "episodes=2", "--protocol", "native", "--out", "a"),
            *("--protocol-option", "tool=functions", "--protocol-option", "coordinates=per-mille"),
        )
    assert done.code == 0, done.err
    acted = [one["act"]["action"]["name"] for one in calls("a") if one.get("act", {}).get("action")]
    assert sorted(acted) == sorted(2 * ["CLICK", "PRESS", "SCROLL", "STOP"])
    assert [line["prediction"]["parsed"]["end"] for line in last_lines("a")] == 2 * ["stopped"]
    roles = ["system", "user", "assistant", "tool", "tool", "user", "assistant", "tool", "user"]
    asked = [ask.body["messages"] for ask in server.asks]
    # Each episode begins a conversation of its own.
    assert sorted(len(messages) for messages in asked) == [2, 2, 6, 6, 9, 9]
    for messages in (one for one in asked if len(one) == 9):
        assert [one["role"] for one in messages] == roles
        told = [one["content"] for one in messages if one["role"] == "tool"]
        assert told == ["Clicked.", "Pressed tab.", "Scrolled down."]


def test_a_conversation_about_an_episode_has_no_samples(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    with WireServer(lambda ask: Answer("Done.")) as server:
        done = call(
            *at(server, "--benchmark", "miniwob", "--samples", "3", "--temperature", "1"),
            *("--protocol", "native", "--protocol-option", "tool=functions", "--out", "a"),
            *("--protocol-option", "coordinates=per-mille"),
        )
    assert done.code == 2 and server.asks == []
    assert "--samples: 'native' holds one conversation about an episode" in done.complaint


@pytest.mark.browser
@needs_browser
@pytest.mark.skipif(os.name == "nt", reason="there is no kill -9")
def test_a_killed_episode_goes_on_with_its_conversation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    rounds = [
        calling(("click", {"x": 900, "y": 900}), ("press_keys", {"keys": ["tab"]})),
        calling(("type", {"text": "a"})),
        Answer("Done."),
    ]
    reached = threading.Semaphore(0)
    taken: list[str] = []

    def react(ask: Sent) -> Answer:
        # A kill may tear a request.
        taken.extend([json.dumps(ask.messages)] if ask.messages else [])
        reached.release()
        return rounds[ask.rounds]

    with WireServer(react) as server:
        line = (
            *at(server, "--benchmark", "miniwob", "--only", "task=enter-text", "--no-cache"),
            *("--benchmark-option", "episodes=2", "--protocol", "native", "--out", "a"),
            *("--protocol-option", "tool=functions", "--protocol-option", "coordinates=per-mille"),
        )
        for count in (2, 2):
            program = start(*line)
            for _ in range(count):
                assert reached.acquire(timeout=PATIENCE_S)
            program.send_signal(signal.SIGKILL)
            program.wait(PATIENCE_S)
        done = call(*line)
    assert done.code == 0, done.err
    assert [line["prediction"]["parsed"]["end"] for line in last_lines("a")] == 2 * ["stopped"]
    # What goes out again is what went out before, and only calls in flight go out again.
    assert len(set(taken)) == 6 and len(taken) - 6 <= 4
