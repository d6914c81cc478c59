"""The Responses wire: what goes out, what comes back, and how dialogues go on by echo."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adapters import Fatal, Finish, describe
from tests.adapters.support import (
    adapter_for,
    ask,
    bodies,
    request,
    two_rounds,
)
from tests.adapters.test_responses_replies import message, raw, said
from tests.servers import Answer, WireServer, refusing
from tests.servers.responses import complaint_about

PICTURE = "data:image/jpeg;base64,/9hwaWN0dXJl"
INCLUDED = ["reasoning.encrypted_content"]


@pytest.fixture
def as_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers on this machine count as OpenAI itself."""
    monkeypatch.setattr("adapters.openai.HOSTS", ("127.0.0.1",))


def test_a_served_model_is_asked_as_its_server_expects() -> None:
    with WireServer() as server:
        [reply] = ask(adapter_for("responses", server), request(seed=5, top_p=0.5, max_tokens=77))
    sent = server.asks[-1]
    assert sent.path == "/v1/responses"
    assert sent.body == {
        "model": "some-model",
        "instructions": "You operate websites.",
        "input": [
            {
                "role": "user",
                "content": [
                    {"type": "input_image", "image_url": PICTURE, "detail": "auto"},
                    {"type": "input_text", "text": "What would you do?"},
                ],
            }
        ],
        **reply.sent,
    }
    assert (sent.body["seed"], sent.body["top_p"], sent.body["max_output_tokens"]) == (5, 0.5, 77)


@pytest.mark.usefixtures("as_openai")
@pytest.mark.parametrize(
    ("model", "effort", "temperature", "detail", "reasons"),
    [
        ("gpt-4o", None, 0, "high", False),
        ("gpt-5", None, None, "high", True),
        ("gpt-5.5", None, None, "original", True),
        ("gpt-5.6", "medium", None, "original", True),
        ("gpt-6-sol", "none", 0, "original", False),
    ],
)
def test_openai_gets_what_each_model_takes(
    model: str, effort: str | None, temperature: float | None, detail: str, reasons: bool
) -> None:
    with WireServer() as server:
        adapter = adapter_for("responses", server, model=model)
        ask(adapter, request(effort=effort))
    [sent] = bodies(server)
    assert sent.get("temperature") == temperature
    assert sent.get("reasoning") == (None if effort is None else {"effort": effort})
    assert sent.get("include") == (INCLUDED if reasons else None)
    assert (sent["store"], sent["prompt_cache_key"]) == (False, "step-1")
    assert sent["input"][0]["content"][0]["detail"] == detail
    assert adapter.notices() == []


def test_a_dialogue_goes_on_with_the_very_items_of_the_reply() -> None:
    """Those of kinds that nobody knows, too, in their order."""
    output = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAA="},
        message(said("one"), status="completed", phase="commentary"),
        {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "gBB="},
        message(said("two"), status="completed", phase="final_answer"),
    ]
    answers = [raw(output=output), Answer("B")]
    with WireServer(answers) as server:
        one, two = two_rounds(adapter_for("responses", server), effort="low")
    assert (one.text, two.text) == ("one\ntwo", "B")
    first, second = bodies(server)
    assert second["input"][:1] == first["input"]
    without_ids = [{name: item[name] for name in item if name != "id"} for item in output]
    assert second["input"][1:-1] == without_ids
    assert second["include"] == INCLUDED
    assert second["instructions"] == first["instructions"]


def test_items_are_sent_with_their_ids_where_the_user_has_them_stored() -> None:
    output = [message(said("one"), status="completed")]
    with WireServer([raw(output=output), Answer("B")]) as server:
        adapter = adapter_for("responses", server, extra_body={"store": True})
        two_rounds(adapter)
    assert bodies(server)[1]["input"][1:-1] == output
    assert adapter.info.settings["store"] is True


@pytest.mark.parametrize(
    ("output", "echoed"),
    [
        ([], [{"role": "assistant", "content": "(no reply)"}]),
        (
            [{"type": "reasoning", "id": "rs_1", "summary": []}],
            [{"role": "assistant", "content": "(no reply)"}],
        ),
        (
            [
                message(said("one"), status="completed"),
                {"type": "reasoning", "id": "rs_2", "summary": []},
            ],
            [{"type": "message", "role": "assistant", "content": [said("one")]}],
        ),
    ],
)
def test_reasoning_that_nothing_followed_does_not_go_back(output: Any, echoed: Any) -> None:
    cut = raw(
        output=output, status="incomplete", incomplete_details={"reason": "max_output_tokens"}
    )
    with WireServer([cut, Answer("B")]) as server:
        one, two = two_rounds(adapter_for("responses", server))
    assert (one.finish, two.text) == (Finish.LENGTH, "B")
    got = [{n: v for n, v in item.items() if n != "status"} for item in bodies(server)[1]["input"]]
    assert got[1:-1] == echoed


@pytest.mark.usefixtures("as_openai")
def test_a_cache_that_charges_for_writing_is_marked_only_where_two_rounds_pay() -> None:
    mark = {"mode": "explicit"}
    with WireServer() as server:
        two_rounds(adapter_for("responses", server, model="gpt-5.6-sol"))
        ask(adapter_for("responses", server, model="gpt-5.6-sol"))
    one, two, single = bodies(server)
    assert one["input"][0]["content"][-1]["prompt_cache_breakpoint"] == mark
    assert two["input"][0] == one["input"][0], "read at the same mark"
    assert "prompt_cache_breakpoint" not in two["input"][-1]["content"][-1]
    assert "prompt_cache_breakpoint" not in single["input"][0]["content"][-1]
    assert {json.dumps(body["prompt_cache_options"]) for body in bodies(server)} == {
        json.dumps(mark)
    }


@pytest.mark.usefixtures("as_openai")
def test_sampling_with_reasoning_is_refused_to_users_and_dropped_for_protocols() -> None:
    with WireServer() as server:
        adapter = adapter_for("responses", server, model="gpt-5.6")
        asked: dict[str, Any] = {"temperature": 0.0, "top_p": 0.5}
        for name in asked:
            own = request(effort="low", **{name: asked[name]})
            with pytest.raises(Fatal, match=f"takes no {name} with reasoning: leave out {name} or"):
                ask(adapter_for("responses", server, model="gpt-5.6"), own)
        assert server.count == 0
        [reply] = ask(adapter, request(effort="low", **asked, by_protocol=asked))
    assert {"temperature", "top_p"}.isdisjoint(reply.sent)
    assert not adapter.info.greedy(request(effort="low", **asked).generation)
    assert adapter.notices() == [
        f"openai:gpt-5.6 takes no {name} with reasoning: not sent" for name in asked
    ]


@pytest.mark.usefixtures("as_openai")
def test_what_openais_wire_does_not_have_is_told_once() -> None:
    with WireServer() as server:
        adapter = adapter_for("responses", server, model="gpt-4o")
        ask(adapter, *[request(seed=3, thinking_budget=9)] * 2)
    assert adapter.notices() == [
        "openai:gpt-4o has no thinking budget (only an effort): not sent",
        "openai:gpt-4o: OpenAI's Responses wire has no seed: not sent",
    ]


@pytest.mark.parametrize("name", ["store", "include", "repetition_penalty", "temperature"])
def test_what_a_server_refuses_of_ours_is_left_out_with_a_notice(name: str) -> None:
    with WireServer(refusing(name)) as server:
        adapter = adapter_for("responses", server, model="Qwen/Qwen3-VL-8B-Thinking")
        replies = ask(adapter, request(), request())
        assert server.count == 3
    assert [name in reply.sent for reply in replies] == [False, False]
    [notice] = adapter.notices()
    assert f"refused {name}" in notice


def test_an_effort_that_the_user_asked_for_is_not_left_out() -> None:
    refused = pytest.raises(Fatal, match="leave out what you asked for: reasoning")
    with WireServer(refusing("reasoning")) as server, refused:
        ask(adapter_for("responses", server), request(effort="low"))


def test_an_effort_and_the_users_own_reasoning_go_out_together() -> None:
    own = {"reasoning": {"summary": "auto"}}
    with WireServer() as server:
        ask(adapter_for("responses", server, extra_body=own), request(effort="low"))
    assert bodies(server)[0]["reasoning"] == {"effort": "low", "summary": "auto"}


def test_the_wires_are_two_models_on_record() -> None:
    plain = describe("gpt-5.6").info.settings
    over = describe("gpt-5.6", wire="responses").info.settings
    assert plain == describe("gpt-5.6", wire="chat").info.settings
    assert (plain["api"], over["api"]) == ("chat.completions", "responses")
    assert (over["state"], over["store"]) == ("echo", False)
    with pytest.raises(Fatal, match="wire: expected one of chat, responses"):
        describe("gpt-5.6", wire="smoke")


def shown(*parts: Any) -> dict[str, Any]:
    return {"input": [{"role": "user", "content": list(parts)}]}


TEXT, IMAGE = {"type": "input_text", "text": "x"}, {"type": "input_image", "image_url": PICTURE}
HIDDEN = {"type": "reasoning", "summary": [], "encrypted_content": "gA"}
DONE = {"status": "completed"}
ANSWER = {"role": "assistant", "content": "x"}


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        ("max_tokens: unknown parameter", {"max_tokens": 100}),
        ("messages: unknown parameter", {"messages": []}),
        ("not supported with", {"temperature": 0, "reasoning": {"effort": "medium"}}),
        ("content", shown({"type": "text", "text": "x"})),
        ("detail: missing", shown(IMAGE)),
        ("image_url", shown({**IMAGE, "image_url": {"url": PICTURE}, "detail": "low"})),
        ("base64", shown({**IMAGE, "image_url": "data:image/png;base64,?", "detail": "low"})),
        ("following item", {"input": [HIDDEN, *shown(TEXT)["input"]]}),
        ("not found", {"input": [message(said("x"), **DONE)]}),
        ("id: missing", {"input": [HIDDEN, message(**DONE)], "store": True}),
        ("not encrypted", {"input": [{"type": "reasoning", "summary": []}, ANSWER]}),
        ("effort", {"reasoning": {"effort": "huge"}}),
        ("previous", {"previous_response_id": "r", "input": [message(**DONE)], "store": True}),
        ("not supported", {"model": "gpt-4o", "include": INCLUDED}),
    ],
)
def test_the_server_of_these_tests_refuses_what_openai_refuses(words: str, wrong: Any) -> None:
    good = {"model": "gpt-5.6", "store": False, **shown(TEXT, {**IMAGE, "detail": "original"})}
    assert complaint_about(good) is None
    assert words in str(complaint_about(good | wrong))
