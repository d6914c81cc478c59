"""Function tools over chat completions: what goes out, and what is read of the calls."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adapters import Conversation, Fault, Message, Reply, Result, Text, Tool, ToolCall, user
from adapters.checks import checked
from adapters.event_streams import chat_answer
from tests.adapters.support import SCREENSHOT, adapter_for, ask, first_round, request
from tests.servers import Answer, Ask, WireServer

TOOL = Tool("press", "Press a place.", {"type": "object", "properties": {"x": {"type": "number"}}})
START = Conversation((user("Where?", SCREENSHOT),), tools=(TOOL,))


def said(server: WireServer, conversation: Conversation = START) -> Reply:
    [reply] = ask(adapter_for("openai", server), request(conversation))
    return reply


def call(arguments: Any = '{"x": 5}', id: str = "call_0", name: Any = "press") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calling(*calls: Any, content: Any = None, finish: str = "tool_calls") -> Answer:
    message = {"role": "assistant", "content": content, "tool_calls": list(calls)}
    body = {"id": "c", "model": "m", "choices": [{"message": message, "finish_reason": finish}]}
    return Answer(raw=json.dumps(body).encode())


def test_tools_calls_and_results_make_a_conversation() -> None:
    answers = iter([calling(call(), call("{}", "call_1"), content="Two."), Answer("done")])

    def react(asked: Ask) -> Answer:
        return next(answers)

    results = Message(
        "user",
        (
            Result("call_0", (Text("Pressed."), SCREENSHOT)),
            Result("call_1", (Text("no x"),), is_error=True),
            Text("Go on."),
        ),
    )
    with WireServer(react) as server:
        first = said(server)
        said(server, START.then(first, results))
    assert first.tool_calls == (
        ToolCall("call_0", "press", {"x": 5}),
        ToolCall("call_1", "press", {}),
    )
    assert first.text == "Two."
    asked, went_on = (one.body for one in server.asks)
    function = {"name": "press", "description": "Press a place.", "parameters": TOOL.parameters}
    assert asked["tools"] == went_on["tools"] == [{"type": "function", "function": function}]
    echoed, tool_0, tool_1, shown = went_on["messages"][1:]
    assert echoed == {
        "role": "assistant",
        "content": "Two.",
        "tool_calls": [call(), call("{}", "call_1")],
    }
    assert tool_0 == {"role": "tool", "tool_call_id": "call_0", "content": "Pressed."}
    assert tool_1 == {"role": "tool", "tool_call_id": "call_1", "content": "no x"}
    assert [part["type"] for part in shown["content"]] == ["image_url", "text"]


def test_results_of_words_alone_need_no_message_of_the_user() -> None:
    answers = iter([calling(call()), Answer("done")])
    with WireServer(lambda asked: next(answers)) as server:
        first = said(server)
        waited = Message("user", (Result("call_0", (Text("Waited 1s."),)),))
        said(server, START.then(first, waited))
    assert [m["role"] for m in server.asks[1].body["messages"]] == ["user", "assistant", "tool"]


def test_a_question_without_tools_has_no_word_of_them() -> None:
    with WireServer(lambda asked: Answer("fine")) as server:
        reply = said(server, first_round())
    assert "tools" not in server.asks[0].body
    assert (reply.tool_calls, reply.native) == ((), None)


@pytest.mark.parametrize(
    "text",
    [
        '{"x": [896, 56}',
        "",
        '{"x": NaN}',
        '{"x": 1e999}',
        '{"x": ' + "9" * 5000 + "}",
        "[" * 90 + "]" * 90,
        "[" * 5000,
        '{"x": "\\ud800"}',
    ],
)
def test_arguments_that_no_record_holds_stay_a_text(text: str) -> None:
    with WireServer(lambda asked: calling(call(text))) as server:
        reply = said(server)
    assert checked(reply).tool_calls == (ToolCall("call_0", "press", text),)


@pytest.mark.parametrize("one", [None, 5, "press", {}, {"function": []}, call(name=None)])
def test_a_call_of_another_form_is_a_malformed_reply(one: Any) -> None:
    with (
        WireServer(lambda asked: calling(one)) as server,
        pytest.raises(Fault, match="tool_calls"),
    ):
        said(server)


@pytest.mark.parametrize("told", [None, {}, "press", 3])
def test_calls_that_are_no_list_are_none(told: Any) -> None:
    message = {"role": "assistant", "content": "fine", "tool_calls": told}
    body = {"id": "c", "model": "m", "choices": [{"message": message, "finish_reason": "stop"}]}
    with WireServer(lambda asked: Answer(raw=json.dumps(body).encode())) as server:
        assert said(server).tool_calls == ()


def test_the_pieces_of_streamed_calls_are_joined() -> None:
    def chunk(*pieces: Any, finish: str | None = None) -> dict[str, Any]:
        return {"choices": [{"delta": {"tool_calls": list(pieces)}, "finish_reason": finish}]}

    def piece(index: int, text: str, **more: Any) -> dict[str, Any]:
        return {"index": index, **more, "function": {"arguments": text}}

    named = {"id": "a", "type": "function"}
    stream = [
        chunk({**named, "index": 0, "function": {"name": "press", "arguments": ""}}),
        chunk(piece(0, '{"x"')),
        chunk({**named, "id": "b", "index": 1, "function": {"name": "wait", "arguments": "{}"}}),
        chunk(piece(0, ": 5}"), finish="tool_calls"),
    ]
    [choice] = chat_answer(stream)["choices"]
    assert choice["message"]["tool_calls"] == [
        {**named, "function": {"name": "press", "arguments": '{"x": 5}'}},
        {**named, "id": "b", "function": {"name": "wait", "arguments": "{}"}},
    ]
