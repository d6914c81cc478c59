from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from adapters import (
    Adapter,
    Conversation,
    EncodedPicture,
    Fatal,
    Fault,
    Finish,
    Generation,
    Picture,
    PixelPicture,
    Reply,
    Request,
    Usage,
    make,
    user,
)
from adapters.scripted import scripted


class NoPictures:
    async def encoded(self, picture: Picture) -> EncodedPicture:
        raise AssertionError("no picture was wanted")

    async def pixels(self, picture: Picture) -> PixelPicture:
        raise AssertionError("no picture was wanted")


def request(step: str = "a1", place: str = "round-1") -> Request:
    return Request(Conversation((user("what now?"),)), Generation(), step, place)


def ask(adapter: Adapter, step: str = "a1", place: str = "round-1") -> Reply:
    return asyncio.run(adapter.ask(request(step, place), NoPictures()))


def test_a_file_answers_by_step_and_place_then_in_order_then_by_default(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    lines = [
        {"place": "round-2", "text": "any second round"},
        {"step": "a1", "place": "round-2", "text": "second round of a1"},
        {"text": "first come"},
        {"default": True, "text": "the rest", "finish": "length"},
    ]
    path.write_text("\n".join(json.dumps(line) for line in lines))
    adapter = make(f"scripted:{path}")
    assert ask(adapter, place="round-2").text == "second round of a1"
    assert ask(adapter, "b2", "round-2").text == "any second round"
    assert ask(adapter).text == "first come"
    rest = ask(adapter)
    assert (rest.text, rest.finish) == ("the rest", Finish.LENGTH)
    assert len(str(adapter.info.settings["script"])) == 64


def test_lines_with_one_key_follow_each_other_so_that_a_fault_can_pass() -> None:
    adapter = scripted(
        lines=[
            {"step": "a1", "fault": "rate_limit", "retry_after_s": 0.5},
            {"step": "a1", "text": "now", "usage": {"input": 9, "cached": 4, "output": 2}},
        ]
    )
    with pytest.raises(Fault) as caught:
        ask(adapter)
    assert (caught.value.kind, caught.value.retry_after_s) == ("rate_limit", 0.5)
    assert ask(adapter).usage == Usage(input=9, cached=4, output=2)
    assert ask(adapter).text == "now"


def test_a_function_may_answer() -> None:
    async def answer(request: Request) -> str:
        return request.conversation.messages[-1].text.upper()

    assert ask(scripted(function=answer)).text == "WHAT NOW?"
    by_name = make("scripted:tests.adapters.test_scripted:answer_with_step")
    assert ask(by_name, "s7").text == "s7"
    assert by_name.info.settings["function"] == "answer_with_step"


def answer_with_step(request: Request) -> dict[str, object]:
    return {"text": request.unit_id}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"txt": "x"}, "unknown field 'txt'"),
        ({"fault": "sunspots"}, "unknown fault 'sunspots'"),
        ({"finish": "bored"}, "unknown finish 'bored'"),
        ({"text": 5}, "'text' must be text"),
        ({"text": "x", "latency_s": "long"}, "'latency_s' must be a number"),
        ({"text": "x", "usage": {"inputs": 3}}, "'usage' must hold numbers of tokens"),
        ({"text": "x", "usage": 3}, "'usage' must hold numbers of tokens"),
    ],
)
def test_a_line_that_means_nothing_is_refused(line: dict[str, object], message: str) -> None:
    with pytest.raises(Fatal, match=message):
        scripted(lines=[line])


def test_a_script_that_is_missing_or_used_up_says_so(tmp_path: Path) -> None:
    with pytest.raises(Fatal, match=r"no such file: .*none\.jsonl"):
        make(f"scripted:{tmp_path}/none.jsonl")
    with pytest.raises(Fatal, match="no reply for step 'a1' at 'round-1'"):
        ask(scripted(lines=[]))
    with pytest.raises(Fatal, match="the account is closed"):
        ask(scripted(lines=[{"fatal": "the account is closed"}]))
