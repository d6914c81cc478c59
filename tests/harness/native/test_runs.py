"""Runs through tools from the command line: the record, its page, kills, and what is refused."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.harness.commands.tool import at, call, calls, isolate, last_lines, start
from tests.servers import Answer, Ask, Provider, WireServer

PLACES = ("--benchmark", "sample-grounding", "--split", "test", "--limit", "6")
SCREENS = ("--benchmark", "sample-screens", "--limit", "4")
NATIVE = ("--protocol", "native", "--protocol-option", "tool=functions")
NUMBERS = ("--protocol-option", "coordinates=per-mille")
CLAUDE = ("--model", "anthropic:claude-opus-5-5", *NATIVE[:2])
PATIENCE_S = 60.0


@pytest.fixture(autouse=True)
def _isolated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate(monkeypatch, tmp_path)


def calling(*made: tuple[str, Any], finish: str = "tool_calls") -> Answer:
    listed = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for number, (name, arguments) in enumerate(made)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": listed}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return Answer(raw=json.dumps({"id": "c", "model": "m", "choices": [choice]}).encode())


LOOK = ("scroll", {"x": 500, "y": 500, "direction": "down"})
CLICK = ("click", {"x": 500, "y": 500})


def looking_once(ask: Ask) -> Answer:
    return calling(CLICK if ask.rounds else LOOK)


def test_a_look_is_answered_and_the_click_behind_it_counts() -> None:
    with WireServer(looking_once) as server:
        done = call(*at(server, *PLACES, *NATIVE, *NUMBERS, "--out", "a"))
    assert done.code == 0, done.err
    lines = last_lines("a")
    assert [line["prediction"]["status"] for line in lines] == ["answered"] * 6
    assert Counter(one["place"] for one in calls("a")) == {"act": 6, "look-1": 6}
    second = next(ask.body for ask in server.asks if ask.rounds)
    assert second["messages"][-1] == {
        "role": "tool",
        "tool_call_id": "call_0",
        "content": "Error: there is no function 'scroll'.",
    }
    shown = call("show", lines[0]["unit_id"], "--run", "a")
    assert "[call call_0] scroll {" in shown.out and "[call call_0] click {" in shown.out
    assert "there is no function 'scroll'" in shown.out


def test_a_model_that_only_looks_runs_out_of_turns() -> None:
    with WireServer(lambda ask: calling(LOOK)) as server:
        turns = ("--protocol-option", "turns=2")
        done = call(*at(server, *PLACES, *NATIVE, *NUMBERS, *turns, "--out", "a"))
    assert done.code == 0, done.err
    assert {line["prediction"]["status"] for line in last_lines("a")} == {"out_of_turns"}
    assert len(calls("a")) == 6 * 3


def test_a_function_that_is_not_there_is_answered() -> None:
    with WireServer(lambda ask: calling(CLICK if ask.rounds else ("fly", {}))) as server:
        call(*at(server, *PLACES, *NATIVE, *NUMBERS, "--out", "a"))
    assert {tuple(line["prediction"]["flags"]) for line in last_lines("a")} == {("answered_error",)}
    [said] = {ask.body["messages"][-1]["content"] for ask in server.asks if ask.rounds}
    assert said == "Error: there is no function 'fly'."


def test_screens_are_asked_with_the_functions_of_their_set() -> None:
    with WireServer(lambda ask: calling(("press_back", {}))) as server:
        done = call(*at(server, *SCREENS, *NATIVE, *NUMBERS, "--out", "a"))
    assert done.code == 0, done.err
    names = [tool["function"]["name"] for tool in server.asks[0].body["tools"]]
    assert {"click", "long_press", "open_app", "press_back", "finish"} <= set(names)
    assert "drag" not in names
    assert {line["prediction"]["action"]["name"] for line in last_lines("a")} == {"back"}
    texts = [ask.text for ask in server.asks]
    assert all(text.startswith("Task: ") for text in texts)
    assert any("Done so far:\n1. " in text for text in texts)


def test_a_server_without_a_tool_parser_is_named() -> None:
    with WireServer(lambda ask: Answer('<tool_call>{"name": "click"}</tool_call>')) as server:
        done = call(*at(server, *PLACES, *NATIVE, *NUMBERS, "--out", "a"))
    assert {line["prediction"]["status"] for line in last_lines("a")} == {"parse_error"}
    assert "--tool-call-parser" in done.out


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ((*NATIVE,), "it is not known what the coordinates of openai:m mean"),
        ((*NATIVE[:2], *NUMBERS), "tool=functions"),
        ((*NATIVE, *NUMBERS, "--protocol-option", "turns=-1"), "turns=-1: give 0 to 50"),
        ((*NATIVE, *NUMBERS, "--protocol-option", "pairs=next"), "unknown key 'pairs'"),
        ((*NATIVE[:3], "tool=computer-20250124", *NUMBERS), "computer-20250124"),
        ((*NATIVE, *NUMBERS, "--protocol-option", "zoom=off"), "zoom=off has no effect"),
        ((*NATIVE[:3], "tool=computer"), "add --adapter-option wire=responses"),
        ((*NATIVE[:3], "tool=computer-toolset"), "is not a tool of openai:m"),
        ((*NATIVE[:3], "tool=computer", *NUMBERS), "leave out coordinates"),
        ((*NATIVE, *NUMBERS, "--protocol-option", "extras=none"), "extras=none has no effect"),
        ((*NATIVE[:3], "tool=computer", "--protocol-option", "family=own"), "family has no effect"),
        (
            (*CLAUDE, "--protocol-option", "turns=20"),
            "21 pictures in a request, and anthropic:claude-opus-5-5 takes more than 20 only if no "
            "side is over 2000 px: give at most 19 turns, or --image-policy full:max_side=2000",
        ),
    ],
)
def test_what_cannot_be_asked_is_one_line_before_the_first_call(
    given: tuple[str, ...], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    with WireServer(looking_once) as server:
        done = call(*at(server, *PLACES, *given, "--out", "a"))
    assert done.code == 2
    assert complaint in done.complaint
    assert server.asks == []


def responses_item(kind: str, number: int) -> Answer:
    action = {"type": "screenshot"} if kind == "look" else {"type": "click", "x": 9, "y": 9}
    call = {"type": "computer_call", "id": "cu_1", "call_id": f"call_{number}", "actions": [action]}
    call |= {"status": "completed", "pending_safety_checks": []}
    body = {"id": "r", "status": "completed", "output": [call]}
    return Answer(raw=json.dumps(body).encode())


def anthropic_block(kind: str, number: int) -> Answer:
    name, given = ("screenshot", {}) if kind == "look" else ("left_click", {"coordinate": [9, 9]})
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": given}
    content = [call | {"toolset_name": "computer"}]
    return Answer(raw=json.dumps({"content": content, "stop_reason": "tool_use"}).encode())


def gemini_part(kind: str, number: int) -> Answer:
    name, given = ("take_screenshot", {}) if kind == "look" else ("click", {"x": 9, "y": 9})
    call = {"id": f"c{number}", "name": name, "args": given}
    part = {"functionCall": call, "thoughtSignature": "c2ln"}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
    return Answer(raw=json.dumps({"candidates": [candidate]}).encode())


def chat_call(kind: str, number: int) -> Answer:
    return calling(LOOK if kind == "look" else CLICK)


WIRES: dict[str, tuple[Provider, tuple[str, ...], Callable[[str, int], Answer]]] = {
    "functions": ("openai", (*NATIVE, *NUMBERS), chat_call),
    "computer": (
        "responses",
        (
            *("--model", "openai:gpt-5.6", *NATIVE[:3], "tool=computer"),
            *("--adapter-option", "wire=responses", "--adapter-option", "detail=original"),
        ),
        responses_item,
    ),
    "computer-toolset": (
        "anthropic",
        ("--model", "anthropic:claude-opus-5-5", *NATIVE[:2]),
        anthropic_block,
    ),
    "gemini-browser": ("google", ("--model", "google:gemini-3.8-flash", *NATIVE[:2]), gemini_part),
}


@pytest.mark.skipif(os.name == "nt", reason="there is no kill -9")
@pytest.mark.parametrize(
    ("tool", "seen"),
    [
        ("functions", (3, 4, 1, 2)),
        ("computer", (1, 2, 3)),
        ("computer-toolset", (2, 3, 1)),
        ("gemini-browser", (3, 1, 2, 2)),
    ],
)
def test_a_killed_dialogue_goes_on_from_its_record(
    tool: str, seen: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI", "ANTHROPIC", "GEMINI"):
        monkeypatch.setenv(f"{name}_API_KEY", "x")
    provider, asked, answer = WIRES[tool]
    reached = threading.Semaphore(0)
    taken: list[str] = []

    def react(ask: Ask) -> Answer:
        # A kill may tear a request.
        taken.extend([json.dumps(ask.messages)] if ask.messages else [])
        reached.release()
        return answer("click" if ask.rounds or is_answered(ask) else "look", 1)

    with WireServer(react) as server:
        line = at(server, *PLACES, *asked, "--base-url", server.base_url(provider))
        line = (*line, "--no-cache", "--concurrency", "2", "--out", "a")
        for count in seen:
            program = start(*line)
            for _ in range(count):
                assert reached.acquire(timeout=PATIENCE_S)
            program.send_signal(signal.SIGKILL)
            program.wait(PATIENCE_S)
        known = {one["id"] for one in calls("a")} if Path("a/calls.jsonl").exists() else set()
        done = call(*line)
        assert done.code == 0, done.err
    lines = calls("a")
    assert Counter(one["place"] for one in lines) == {"act": 6, "look-1": 6}
    assert known <= {one["id"] for one in lines}
    assert {line["prediction"]["status"] for line in last_lines("a")} == {"answered"}
    # What goes out again is what went out before, and only calls in flight go out again.
    assert len(set(taken)) == 12
    assert len(taken) - 12 <= 2 * len(seen)


def is_answered(ask: Ask) -> bool:
    """Whether items of the Responses wire, which have no turns of the model, answer a call."""
    return any(item.get("type") == "computer_call_output" for item in ask.messages)


def tokens(out: str, case: str) -> int:
    """The prompt tokens of an estimate."""
    [found] = re.findall(rf"^{case}: +([\d,]+) in", out, re.MULTILINE)
    return int(found.replace(",", ""))


@pytest.mark.parametrize(
    "model",
    [
        (
            *("--model", "openai:gpt-5.4", "--adapter-option", "wire=responses"),
            *("--adapter-option", "detail=original"),
        ),
        ("--model", "anthropic:claude-opus-5-5"),
        ("--model", "google:gemini-3.8-flash"),
        ("--model", "google:gemini-3.8-flash", "--protocol-option", "tool=gemini-mobile"),
    ],
)
def test_a_dry_run_counts_the_looks_and_asks_nobody(
    model: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    monkeypatch.setenv("GEMINI_API_KEY", "x")
    done = call("run", *SCREENS[:2], *model, "--protocol", "native", "--dry-run")
    assert done.code == 0, done.err
    assert "49 to 196, depending on the replies" in done.out
    # Every call sends all pictures so far: 1 + 2 + 3 + 4 for each unit.
    assert "490 sent in 196 calls" in done.out
    at_once = call(
        *("run", *SCREENS[:2], *model, "--protocol", "native", "--dry-run"),
        *("--protocol-option", "turns=0"),
    )
    assert "49 (counted" in at_once.out and "49 sent (counted)" in at_once.out
    once, grown = (tokens(done.out, "low"), tokens(done.out, "expected"))
    # Two and a half calls that grow are more than as many of the first.
    assert grown > 2.5 * once


@pytest.mark.parametrize(
    "tool", ["computer", "computer-toolset", "browser-toolset", "gemini-browser", "gemini-mobile"]
)
@pytest.mark.parametrize(
    ("units", "score"),
    [(PLACES[:2], "hit"), (SCREENS[:2], "strict"), (("--benchmark", "sample"), "element")],
)
def test_the_oracle_is_right_through_each_tool(
    tool: str, units: tuple[str, ...], score: str
) -> None:
    chosen = (*NATIVE[:3], f"tool={tool}")
    done = call("run", *units, *chosen, "--model", "oracle", "--limit", "24", "--out", "a")
    assert done.code == 0, done.err
    valid = [line["scores"] for line in last_lines("a") if line["scores"]]
    assert len(valid) >= 21
    assert {one[score] for one in valid} == {1.0}
    # What a recorded step does, and with which text, is right as well.
    assert {one.get("operation_exact", 1.0) for one in valid} == {1.0}


def test_the_text_of_a_field_may_come_in_the_next_reply_and_rules_read_it_again() -> None:
    steps = ("--benchmark", "sample", "--limit", "3")
    done = call("run", *steps, *NATIVE, "--model", "oracle", "--out", "o")
    assert done.code == 0, done.err
    field = next(
        line
        for line in last_lines("o")
        if line["prediction"] and line["prediction"]["action"]["name"] == "TYPE"
    )
    x, y = field["prediction"]["action"]["point"]
    width, height = field["detail"]["page_size"]
    place = {"x": 1000 * x / width, "y": 1000 * y / height}

    def react(ask: Ask) -> Answer:
        return calling(("type", {"text": "Ohio"}) if ask.rounds else ("click", place))

    with WireServer(react) as server:
        done = call(*at(server, *steps, *NATIVE, *NUMBERS, "--out", "a"))
        assert done.code == 0, done.err
        turn = ("--protocol-option", "pairs=turn")
        done = call(*at(server, *steps, *NATIVE, *NUMBERS, *turn, "--out", "b"))
    lines = [line for line in last_lines("a") if line["prediction"]]
    said = {line["unit_id"]: line["prediction"]["action"] for line in lines}
    assert said[field["unit_id"]]["name"] == "TYPE"
    assert said[field["unit_id"]]["arguments"] == {"value": "Ohio"}
    pairs = sum(one["place"] == "pair" for one in calls("a"))
    assert pairs == sum(one["name"] != "CLICK" for one in said.values()) > 0
    assert {one["place"] for one in calls("b")} == {"act"}
    for rule, read in (("turn", pairs), ("first", pairs), ("next", 0)):
        again = call("score", "a", "--protocol-option", f"acts={rule}")
        assert f"{read} of {len(said)} predictions read differently" in again.out
    wrong = call("score", "b", "--protocol-option", "acts=next")
    assert wrong.code == 2 and "acts=next has no effect with pairs=turn" in wrong.complaint


def test_the_page_shows_the_part_that_a_zoom_has_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    zoom = {"type": "tool_use", "id": "toolu_z", "name": "zoom", "toolset_name": "computer"}
    look = {"content": [zoom | {"input": {"region": [0, 0, 40, 20]}}], "stop_reason": "tool_use"}

    def react(ask: Ask) -> Answer:
        if ask.rounds:
            return anthropic_block("click", 1)
        return Answer(raw=json.dumps(look).encode())

    provider, asked, _ = WIRES["computer-toolset"]
    with WireServer(react) as server:
        place = ("--base-url", server.base_url(provider), "--out", "a")
        done = call(*at(server, *PLACES[:4], "--limit", "1", *asked, *place))
    assert done.code == 0, done.err
    assert call("view", "a", "-o", "v").code == 0
    [written] = re.findall(r'\["part","[^"]*","([^"]*)"\]', Path("v/data/step-0.js").read_text())
    assert (Path("v/pictures") / written).is_file()
    assert "[result of call toolu_z]" in Path("v/data/step-0.js").read_text()


def test_what_further_rules_read_is_scored_and_put_on_record() -> None:
    steps = ("--benchmark", "sample", "--limit", "3", *NATIVE[:3], "tool=computer")
    done = call("run", *steps, "--model", "oracle", "--out", "o")
    assert done.code == 0, done.err
    lines = [line for line in last_lines("o") if line["scores"]]
    assert {(line["scores"]["success"], line["scores"]["success.turn"]) for line in lines} == {
        (1.0, 1.0)
    }
    # The first act alone is a press where a text is recorded.
    halves = [line for line in lines if not line["scores"]["success.first"]]
    assert halves
    for line in halves:
        assert set(line["prediction"]["by_rule"]) == {"first"}
        assert line["prediction"]["by_rule"]["first"]["action"]["name"] == "CLICK"
    manifest = json.loads(Path("o/manifest.json").read_text())
    assert json.loads(manifest["config"]["tools"]) == {"type": "computer"}
    again = call("score", "o", "--protocol-option", "acts=first", "--json")
    scores = json.loads(again.out)["scores"]
    assert scores["success"] == scores["success.first"] != scores["success.turn"]
