"""Runs at servers that may serve other weights tomorrow under the same name and address."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.harness.commands.tool import CLICK_A, ONE_TASK, TEXT_ONLY, Called, call, calls
from tests.servers import Answer, Ask, WireServer

STEPS = 7
CALLS = 2 * STEPS
QUIET = ("--progress", "off")


def serving(name: str, text: str = CLICK_A, **facts: Any) -> WireServer:
    """A server whose replies and list of models name the model that it serves."""

    def react(ask: Ask) -> Answer:
        return Answer(text=text if ask.rounds else "I would click it.", model=name)

    server = WireServer(react)
    server.told["/v1/models"] = {"data": [{"id": "m", **facts}]}
    return server


def served(server: WireServer, out: str, *more: str) -> Called:
    """Run one task at an address that is recorded as the same whatever the port."""
    line = ("-m", "openai:m", "--base-url", server.base_url("openai"), *ONE_TASK, *TEXT_ONLY)
    named = "--adapter-option", "recorded_as=mine"
    return call("run", *line, *named, *QUIET, "--out", out, *more)


def line_with(called: Called, word: str) -> str:
    (line,) = (line for line in called.err.splitlines() if word in line)
    return line


def test_another_checkpoint_under_the_same_name_is_asked_itself() -> None:
    with serving("checkpoint-1000", root="/w/1000") as server:
        assert served(server, "a").code == 0
    for more in (("--cache",), (), ("--no-cache",)):
        out = f"b{len(more)}{''.join(more)}"
        with serving("checkpoint-2000", "ELEMENT: C\nACTION: CLICK", root="/w/2000") as server:
            served(server, out, *more)
            assert server.count == 1 + CALLS
        assert not any(record["from_cache"] for record in calls(out))


def test_replies_of_the_same_model_are_taken_where_asked_for() -> None:
    with serving("checkpoint-1000") as server:
        served(server, "runs/a")
        served(server, "runs/b")
        assert server.count == 2 * (1 + CALLS)
        server.asks.clear()
        served(server, "d", "--cache")
        assert server.count == 1
    assert all(record["reused_from"] == "runs/b" for record in calls("d"))


def test_a_change_is_one_warning_in_the_run_that_goes_on_and_in_reports() -> None:
    limited = ("--no-cache", "--concurrency", "1")
    with serving("checkpoint-1000", quantization="bf16") as server:
        react = server.react
        server.react = lambda ask: react(ask) if ask.number < 6 else Answer(status=401)  # type: ignore[operator]
        assert served(server, "a", *limited).code == 2
        begun = len(calls("a"))
        # The server is started again.
        server.react, server.asks = react, []
        server.told["/v1/models"] = {"data": [{"id": "m", "quantization": "int4"}]}
        gone_on = served(server, "a", *limited)
        assert (gone_on.code, server.count) == (0, 1 + CALLS - begun), gone_on.err
    warning = line_with(gone_on, "warning: another model answers than before")
    assert warning.endswith(": quantization is int4, and was bf16")
    report = call("report", "a").out.replace("\n  ", " ")
    assert report.count("another model answers than before: quantization is int4") == 1
    assert "quantization is int4, and was bf16" in call("score", "a").out.replace("\n  ", " ")


def test_a_change_within_a_run_is_one_warning() -> None:
    with serving("checkpoint-1000") as server:
        before, after = server.react, serving("checkpoint-2000").react
        server.react = lambda ask: (before if ask.number < 6 else after)(ask)  # type: ignore[operator]
        done = served(server, "a", "--no-cache", "--adapter-option=preflight=no")
    line = line_with(done, "another model answers than before")
    assert "its name in replies is checkpoint-2000, and was checkpoint-1000" in line
    kept = json.loads(Path("a/manifest.json").read_text())["answerers"]
    assert [facts["reply"] for facts in kept[""]] == ["checkpoint-1000", "checkpoint-2000"]
