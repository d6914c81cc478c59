"""Tools, calls and results on their way through the engine, the record and the cache."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapters import (
    Conversation,
    Fatal,
    Message,
    Picture,
    Reply,
    Request,
    Result,
    Text,
    Tool,
    ToolCall,
    system,
    user,
)
from adapters.checks import checked
from adapters.contract import EchoRefused
from harness.dialogue import Ask, Dialogue
from harness.engine import Job
from harness.engine.cache import ReplyCache
from harness.engine.dialogues import KeptReply, Observer, says_nothing
from harness.planning.model import tokens_of
from harness.runs import CallRecord, MessageRecord
from harness.runs.records import line_decoder, to_line
from parsers.records import STATUS_WORDS, Prediction, Status
from tests.harness.engine.support import Log, Model, engine, run

PICTURE = Picture("d" * 64, "v1;policy=full", 1280, 720)
TOOL = Tool("press", "Press a place.", {"type": "object", "properties": {"x": {"type": "number"}}})
CALL = ToolCall("call_0", "press", {"x": [1, 2.5, None], "y": "é"})
QUESTION = Conversation((system("You operate websites."), user(PICTURE, "What would you do?")))
ASKED = replace(QUESTION, tools=(TOOL,))
RESULT = Result("call_0", (Text("Pressed."), PICTURE))
RESULTS = Message("user", (RESULT, Text("Go on.")))


def calls_then_ends(request: Request) -> Reply:
    if request.place == "act":
        native = {"role": "assistant", "calls": ["call_0"]}
        return Reply("", tool_calls=(CALL,), native=native, model="m")
    return Reply("done", model="m")


def dialogue() -> Dialogue:
    reply = yield Ask(ASKED, "act", continues=True)
    assert isinstance(reply, Reply)
    then = yield Ask(ASKED.then(reply, RESULTS), "end")
    assert isinstance(then, Reply)
    name, arguments = reply.tool_calls[0].name, reply.tool_calls[0].arguments
    return Prediction.of(Status.ANSWERED, value=f"{name} {arguments['x']} {then.text}")


def model(**info: Any) -> Model:
    return Model(calls_then_ends, **{"takes_tools": True, "weights_known": True, **info})


def test_without_tools_and_results_digests_are_those_of_earlier_versions() -> None:
    first = "e8b4d07364afc0f8f681dda7ab9583249557e407d5c9a79437ae7a852adce3b7"
    second = "137dc0ed3a5839c990df0fb675aa2e8b571dc9ba72e480b398bf8f15f444e62b"
    assert QUESTION.digest() == first
    reply = Reply("Click it.", native=[{"type": "thinking"}])
    assert QUESTION.then(reply, user("And then?")).digest() == second


@pytest.mark.parametrize(
    "other",
    [
        QUESTION,
        replace(ASKED, tools=(replace(TOOL, name="click"),)),
        replace(ASKED, tools=(replace(TOOL, description="Press it."),)),
        replace(ASKED, tools=(replace(TOOL, parameters={}),)),
        replace(ASKED, tools=(TOOL, replace(TOOL, name="click"))),
    ],
)
def test_tools_are_part_of_what_is_asked(other: Conversation) -> None:
    assert other.digest() != ASKED.digest()


@pytest.mark.parametrize(
    "other",
    [
        Message("user", (Text("Pressed."), PICTURE, Text("Go on."))),
        Message("user", (Result("call_1", (Text("Pressed."), PICTURE)), Text("Go on."))),
        Message("user", (Result("call_0", (Text("Pressed."), PICTURE), True), Text("Go on."))),
        Message("user", (Result("call_0", (Text("Pressed."), PICTURE, Text("Go on."))),)),
        Message("user", (replace(RESULT, state={"type": "browser_state"}), Text("Go on."))),
    ],
)
def test_results_are_part_of_what_is_asked(other: Message) -> None:
    assert Conversation((other,)).digest() != Conversation((RESULTS,)).digest()
    assert (other.text, other.pictures) == (RESULTS.text, (PICTURE,))


def test_what_is_built_on_a_conversation_keeps_its_tools() -> None:
    assert ASKED.then(Reply("x"), user("y")).then(Reply("z")).tools == (TOOL,)


def test_a_dialogue_with_tools_is_played_back_from_its_lines() -> None:
    log, first = Log(), model()
    [outcome] = run(engine(first, log), [Job("u", dialogue)])
    lines = [msgspec.json.encode(to_line(record)) for record in log.records]
    read = [line_decoder(CallRecord)(line) for line in lines]
    assert read == log.records
    assert read[0].reply.tool_calls == (CALL,)
    assert read[1].messages[-1] == MessageRecord.of(RESULTS)
    again = model()
    for known in (read, read[:1]):
        recorded = {record.place: record for record in known}
        [resumed] = run(engine(again, Log()), [Job("u", dialogue, recorded=recorded)])
        assert resumed.prediction == outcome.prediction
    assert again.order == [("u", "end")]
    assert again.asked[0].conversation == first.asked[1].conversation


@pytest.mark.parametrize("heard", ["earlier session", "cache", "now"])
def test_a_dialogue_begins_anew_if_the_provider_no_longer_knows_what_it_said(heard: str) -> None:
    def forgetful(request: Request) -> Reply:
        said: Any = request.conversation.messages[-2].native if request.place == "end" else None
        if said and (heard == "now" or said["calls"] == ["call_0"]):
            raise EchoRefused("Item 'call_0' not found")
        native = {"role": "assistant", "calls": ["call_1"]}
        return replace(calls_then_ends(request), native=native)

    earlier = Log()
    run(engine(model(), earlier), [Job("u", dialogue)])
    act = earlier.records[0]

    class Cached:
        async def get(self, key: str) -> KeptReply | None:
            return KeptReply(act.reply, "runs/other") if key == act.request else None

        def keep(self, key: str, reply: Reply) -> None:
            return None

    notices: list[str] = []

    class Notes(Observer):
        def notice(self, text: str) -> None:
            notices.append(text)

    asked = Model(forgetful, takes_tools=True, weights_known=True)
    cache: Any = Cached() if heard == "cache" else None
    job = Job("u", dialogue, recorded={"act": act} if heard == "earlier session" else {})
    made = engine(asked, Log(), cache=cache, reuse=True, observer=Notes())
    if heard == "now":
        with pytest.raises(EchoRefused):
            run(made, [job])
        assert asked.order == [("u", "act"), ("u", "end")]
        return
    [outcome] = run(made, [job])
    assert outcome.prediction is not None and outcome.prediction.status is Status.ANSWERED
    assert outcome.trial == 1
    assert asked.order == [("u", "end"), ("u", "act"), ("u", "end")]
    assert notices == ["unit u begins anew: Item 'call_0' not found"]


def test_a_line_without_calls_has_no_word_of_them() -> None:
    log = Log()
    run(engine(model(), log), [Job("u", dialogue)])
    acting, ending = (msgspec.json.encode(to_line(record)) for record in log.records)
    assert b'"tool_calls"' in acting and b'"tool_calls"' not in ending


def test_a_reply_that_only_calls_is_kept_for_other_runs(tmp_path: Path) -> None:
    async def kept(*, read: bool) -> Reply | None:
        cache = ReplyCache(tmp_path / "c", pytest.fail)
        try:
            if not read:
                cache.keep("k", Reply("", tool_calls=(CALL,)))
                return None
            found = await cache.get("k")
            return found and found.reply
        finally:
            await cache.close()

    asyncio.run(kept(read=False))
    assert asyncio.run(kept(read=True)) == Reply("", tool_calls=(CALL,))


def test_a_model_that_takes_no_tools_is_not_asked_with_them() -> None:
    wordy = model(takes_tools=False)
    with pytest.raises(Fatal, match=r"u, call 'act': the adapter of test does not send tools"):
        run(engine(wordy), [Job("u", dialogue)])
    assert wordy.asked == []


def test_a_call_is_something_said_and_tools_are_counted() -> None:
    assert says_nothing(Reply("")) and not says_nothing(Reply("", tool_calls=(CALL,)))
    info = model().info
    assert tokens_of(ASKED, info) > tokens_of(QUESTION, info) + 10
    exchange = CallRecord(
        "u/0/act", "u", 0, "act", "r", "c", (), Reply("So:", tool_calls=(CALL,))
    ).exchange
    assert exchange[1] == 'So:\n[call call_0] press {"x":[1,2.5,null],"y":"é"}'


def test_calls_that_no_record_holds_are_refused() -> None:
    deep: Any = []
    for _ in range(100):
        deep = [deep]
    for call in (replace(CALL, arguments=deep), replace(CALL, name="n" * 2000)):
        with pytest.raises(ValueError, match="call"):
            checked(Reply("", tool_calls=(call,)))
    assert checked(Reply("", tool_calls=(CALL,))).tool_calls == (CALL,)


def test_every_status_has_words() -> None:
    assert set(STATUS_WORDS) == set(Status) and Status("out_of_turns") in STATUS_WORDS
