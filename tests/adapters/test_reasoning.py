"""What a model thought is kept on record for people, and is part of nothing else."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from adapters import Finish, Reply
from harness.runs.files import sealed
from harness.runs.records import CallRecord, line_decoder
from tests.adapters.support import adapter_for, ask, bodies, two_rounds
from tests.adapters.test_failures import every_wire
from tests.servers import Answer, Provider, WireServer

THOUGHT = "The user wants <b>the red button\x1b[2J</b>."


@every_wire
def test_thoughts_are_kept_beside_the_text(provider: Provider) -> None:
    with WireServer(Answer("click", thinking=THOUGHT)) as server:
        [reply] = ask(adapter_for(provider, server))
    assert (reply.text, reply.reasoning) == ("click", THOUGHT)
    with WireServer(Answer("click")) as server:
        assert ask(adapter_for(provider, server))[0].reasoning == ""


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_servers_of_open_models_call_them_by_two_names(field: str) -> None:
    answer = Answer("", thinking=THOUGHT, thinking_as=field, finish="length")
    with WireServer(answer) as server:
        [reply] = ask(adapter_for("openai", server))
    assert (reply.text, reply.finish, reply.reasoning) == ("", Finish.LENGTH, THOUGHT)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_they_do_not_go_back_to_a_served_model(field: str) -> None:
    with WireServer(Answer("click", thinking=THOUGHT, thinking_as=field)) as server:
        two_rounds(adapter_for("openai", server))
    assert bodies(server)[1]["messages"][2] == {"role": "assistant", "content": "click"}


def record(reply: Reply) -> CallRecord:
    return CallRecord("s/0/a", "s", 0, "a", "k", "d", (), reply)


def test_a_line_has_the_key_only_where_there_is_something_to_keep() -> None:
    without, with_ = record(Reply("A")), record(Reply("A", reasoning=THOUGHT))
    assert "reasoning" not in msgspec.json.decode(sealed(without))["reply"]
    assert msgspec.json.decode(sealed(with_))["reply"]["reasoning"] == THOUGHT
    read = line_decoder(CallRecord)
    assert (read(sealed(without)), read(sealed(with_))) == (without, with_)
    assert replace(with_, reply=replace(with_.reply, reasoning="")) == without
