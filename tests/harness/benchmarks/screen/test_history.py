"""Earlier screens, as a model's family was trained to see them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.benchmarks import open_benchmark
from tests.harness.commands.tool import at, call, isolate
from tests.servers import Answer, Ask, WireServer

REPLY = "Thought: number {number}\nAction: click(start_box='<|box_start|>({number},7)<|box_end|>')"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch, tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")


def asked(out: str, *more: str) -> list[list[Any]]:
    """The messages about an episode of at least six steps, step by step."""
    found: list[list[Any]] = []

    def react(ask: Ask) -> Answer:
        found.append(list(ask.messages))
        return Answer(REPLY.format(number=len(found)))

    units = open_benchmark("sample-screens").entries
    counts = Counter(unit.parents["episode"] for unit in units)
    episode = counts.most_common(1)[0][0]
    with WireServer(react) as server:
        line = at(server, "--model", "openai:ui-tars-7b", "-b", "sample-screens", "--out", out)
        done = call(*line, "--only", f"episode={episode}", "--concurrency", "1", *more)
    assert done.code == 0, done.err
    assert len(found) >= 6
    return found


def shape(messages: list[Any]) -> list[tuple[str, int]]:
    """The role of every message, and its pictures."""
    return [
        (one["role"], sum(part["type"] == "image_url" for part in one["content"]))
        if isinstance(one["content"], list)
        else (one["role"], 0)
        for one in messages
    ]


def test_ui_tars_sees_five_screens_and_every_reply() -> None:
    steps = asked("run")
    for number, messages in enumerate(steps):
        turns: list[tuple[str, int]] = []
        for place in range(number):
            turns += [("user", 1)] * (place > number - 5) + [("assistant", 0)]
        assert shape(messages) == [("user", 0), *turns, ("user", 1)]
        for before, message in enumerate(steps[number - 1][1:] if number else ()):
            if 0 < number < 5 and before + 1 < len(steps[number - 1]):
                assert message == messages[before + 1]
    said = [one["content"] for one in steps[-1] if one["role"] == "assistant"]
    assert all("Action: " in text and "number" not in text for text in said)
    settings = harness.open_run("run").manifest.config
    assert settings["protocol_option"]["history"] == "all+turns:5"


def test_sentences_of_the_recording_are_thoughts_where_they_are_asked_for() -> None:
    steps = asked("run", "--history", "turns:2+thoughts")
    said = [one["content"] for one in steps[-1] if one["role"] == "assistant"]
    assert all(text.startswith("Thought: ") and "\nAction: " in text for text in said)
    assert any(text.removeprefix("Thought: ").partition("\n")[0] for text in said)
    assert sum(pictures for _, pictures in shape(steps[-1])) == 2


def test_another_run_speaks_for_itself() -> None:
    asked("first", "--history", "2")
    steps = asked("own", "--history", "turns:1", "--benchmark-option", "history_from=first")
    said = [one["content"] for one in steps[-1] if one["role"] == "assistant"]
    assert said == [REPLY.format(number=place + 1) for place in range(len(steps) - 1)]
    assert harness.open_run("own").manifest.config["history_from_sha256"]
