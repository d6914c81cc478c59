"""Tools of Gemini: what goes out, what is read of the calls, and what goes back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adapters import (
    Conversation,
    Message,
    ProviderTool,
    Reply,
    Result,
    Text,
    Tool,
    ToolCall,
    user,
)
from adapters.conversation import Finish
from tests.adapters.support import SCREENSHOT, adapter_for, ask, request
from tests.servers import Answer, WireServer

TOOL = Tool("press", "Press a place.", {"type": "object", "properties": {"x": {"type": "number"}}})
OWN = ProviderTool({"computerUse": {"environment": "ENVIRONMENT_BROWSER"}})
START = Conversation((user("Where?", SCREENSHOT),), tools=(OWN, TOOL))


def calling(*calls: Any, finish: str = "STOP", **more: Any) -> Answer:
    parts = [{"functionCall": one, "thoughtSignature": "c2ln"} for one in calls]
    content = {"role": "model", "parts": parts, **more}
    candidate = {"index": 0, "content": content, "finishReason": finish}
    return Answer(raw=json.dumps({"candidates": [candidate]}).encode())


def said(server: WireServer, conversation: Conversation = START) -> Reply:
    [reply] = ask(adapter_for("google", server), request(conversation))
    return reply


LOOK = {"id": "c1", "name": "take_screenshot", "args": {"safety_decision": {"decision": "x"}}}
PRESS = {"name": "press", "args": {"x": 5}}


def test_tools_calls_and_results_make_a_conversation() -> None:
    results = Message(
        "user",
        (
            Result("c1", (Text("Looked."), SCREENSHOT)),
            Result("", (Text("no x"),), is_error=True),
            Text("Go on."),
        ),
    )
    with WireServer([calling(LOOK, PRESS), Answer("done")]) as server:
        first = said(server)
        assert said(server, START.then(first, results)).text == "done"
    assert first.tool_calls == (
        ToolCall("c1", "take_screenshot", LOOK["args"]),
        ToolCall("", "press", {"x": 5}),
    )
    asked, went_on = server.asks
    assert asked.path.startswith("/v1beta/")
    function = {
        "name": "press",
        "description": "Press a place.",
        "parametersJsonSchema": TOOL.parameters,
    }
    assert asked.body["tools"] == [OWN.entry, {"functionDeclarations": [function]}]
    echoed, answers = went_on.body["contents"][1:]
    assert [part["thoughtSignature"] for part in echoed["parts"]] == ["c2ln"] * 2
    looked, failed, text = answers["parts"]
    told = looked["functionResponse"]
    assert (told["id"], told["name"]) == ("c1", "take_screenshot")
    assert told["response"] == {"url": "", "output": "Looked.", "safety_acknowledgement": "true"}
    assert [*told["parts"][0]] == ["inlineData"]
    assert failed["functionResponse"] == {
        "name": "press",
        "response": {"url": "", "error": "no x"},
    }
    assert text == {"text": "Go on."}


@pytest.mark.parametrize(
    "word",
    [
        "MALFORMED_FUNCTION_CALL",
        "UNEXPECTED_TOOL_CALL",
        "MALFORMED_RESPONSE",
        "TOO_MANY_TOOL_CALLS",
    ],
)
def test_a_call_that_google_could_not_read_is_no_fault(word: str) -> None:
    with WireServer(calling(PRESS, finish=word)) as server:
        reply = said(server)
    assert reply.finish is Finish.STOP and reply.tool_calls[-1] == ToolCall("", "", None)


def test_a_text_beside_an_unreadable_call_is_no_answer() -> None:
    answer = calling(finish="MALFORMED_FUNCTION_CALL", parts=[{"text": "click(5)"}])
    with WireServer(answer) as server:
        reply = said(server, Conversation((user("Where?", SCREENSHOT),)))
    assert (reply.text, reply.reasoning) == ("", "click(5)")


@pytest.mark.parametrize("call", [{"name": "go_back"}, {"name": "go_back", "args": None}])
def test_a_call_without_arguments_has_none(call: Any) -> None:
    with WireServer(calling(call)) as server:
        assert said(server).tool_calls == (ToolCall("", "go_back", {}),)


@pytest.mark.parametrize(
    "call",
    [
        "press",
        5,
        {"name": 5, "args": {}},
        {"name": "press", "args": [1]},
        {"name": "press", "args": {"x": 10**400}},
        {"id": "c" * 100_000, "name": "press"},
    ],
)
def test_a_hostile_call_is_a_reply(call: Any) -> None:
    with WireServer(calling(call)) as server:
        reply = said(server)
    assert isinstance(reply, Reply)
