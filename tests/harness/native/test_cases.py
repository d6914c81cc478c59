"""The worked cases of tools through the adapters, over the wires of the providers."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from adapters import Fatal, Fault
from adapters.contract import EchoRefused
from parsers.actions import Action
from parsers.records import Prediction, Status
from tests.harness.native.cases import (
    Case,
    adapter_for,
    asked,
    cases,
    compare,
    compare_action,
    is_absent,
    matches,
    of_wires,
    protocol_of,
    replying,
    view_of,
)
from tests.servers import Answer, WireServer, gemini, messages, responses

TOOLS = (
    *("functions", "computer", "computer-toolset", "browser-toolset"),
    *("gemini-browser", "gemini-mobile"),
)
ANSWERED: dict[str, Any] = {
    "chat": {"id": "c", "choices": [{"message": {"content": "no"}, "finish_reason": "stop"}]},
    "openai": {
        "id": "r",
        "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "no"}]}],
    },
    "anthropic": {"id": "m", "content": "no", "stop_reason": "end_turn"},
    "google": {
        "candidates": [{"content": {"parts": [{"text": "no"}]}, "finishReason": "STOP"}],
    },
}
MESSAGES = {
    "chat": "messages",
    "openai": "input",
    "anthropic": "messages",
    "google": "contents",
}
INSIDE = {"anthropic": "content", "google": "parts"}


def by_rule(case: Case, replies: Sequence[Any]) -> None:
    """Assert what the same replies come to under each rule."""
    for rule, action in case["expect"].get("by_rule", {}).items():
        # Of a script all acts count, and a place is always the first act's.
        if not case["unit"].startswith(("w-", "s-phone", "s-ends")):
            continue
        with WireServer(replying(replies)) as server:
            adapter = adapter_for(case, server)
            found = asked(case, adapter, protocol_of(case, adapter, acts=rule))
        compare_action(found, action)


@pytest.mark.parametrize("case", cases("reply", TOOLS))
def test_a_reply_is_one_prediction(case: Case) -> None:
    case = {"pairs": "turn", **case} if case and case["unit"].startswith("w-") else case
    with WireServer(replying([case["reply"]])) as server:
        adapter = adapter_for(case, server)
        found = asked(case, adapter, protocol_of(case, adapter))
    compare(found, case["expect"])
    by_rule(case, [case["reply"]])


@pytest.mark.parametrize("case", cases("transcript", TOOLS))
def test_looks_are_answered_from_the_picture(case: Case) -> None:
    with WireServer(replying(case["replies"])) as server:
        adapter = adapter_for(case, server)
        found = asked(case, adapter, protocol_of(case, adapter))
    compare(found, case["expect"])
    by_rule(case, case["replies"])
    assert len(server.asks) == case["expect"]["calls"]
    where = MESSAGES[case["provider"]]
    first = server.asks[0].body[where][0]
    for number, answers in enumerate(case["answers"], 1):
        said = server.asks[number].body[where]
        inside = INSIDE.get(case["provider"])
        said = said[-1][inside] if inside else said[-len(answers) :]
        assert matches(said, answers, case), said
    if "second" in case:
        assert matches(server.asks[1].body, case["second"], case, first), server.asks[1].body


@pytest.mark.parametrize("case", cases("request", TOOLS))
def test_the_first_request_offers_the_tool(case: Case) -> None:
    with WireServer(replying([ANSWERED[case["provider"]]])) as server:
        adapter = adapter_for(case, server)
        asked(case, adapter, protocol_of(case, adapter))
    [one] = server.asks
    assert matches(one.body, case["body"], case), one.body
    assert all(is_absent(one.body, path) for path in case["absent"])
    headers = {name.lower(): value for name, value in one.headers.items()}
    assert all(headers.get(name) == value for name, value in case.get("headers", {}).items())
    assert all(word in one.text for word in case.get("user_contains", ()))


def as_items(case: Case, text: str) -> list[Any]:
    """What a policy writes, as items of the provider."""
    items = []
    for call in json.loads(text) if text else []:
        name, arguments = call["name"], call["arguments"]
        toolset, _, member = name.partition(".")
        if name == "computer":
            items.append({"type": "computer_call", **arguments})
        elif case["provider"] == "google":
            items.append({"name": name, "args": arguments})
        elif case["provider"] == "openai":
            items.append({"type": "function_call", **call})
        elif member:
            items.append({"toolset_name": toolset, "name": member, "input": arguments})
        else:
            items.append({"name": name, "input": arguments})
    return items


@pytest.mark.parametrize("case", cases("spell", TOOLS))
def test_a_prediction_is_written_as_the_calls_that_mean_it(case: Case) -> None:
    with WireServer() as server:
        protocol = protocol_of(case, adapter_for(case, server))
    said = case["prediction"]["action"]
    point = said.get("point")
    action = Action(said["name"], said.get("element"), point and tuple(point), said["arguments"])
    written = protocol.write(view_of(case), Prediction(Status.ANSWERED, action))["act"]
    assert matches(as_items(case, written), case["items"], case), written


def picture_text(width: int, height: int) -> str:
    """A plain picture in base64."""
    written = BytesIO()
    Image.new("1", (width, height)).save(written, "PNG")
    return b64encode(written.getvalue()).decode()


@pytest.mark.parametrize("case", of_wires("fake", ("openai", "google", "anthropic")))
def test_the_fake_server_refuses_what_the_provider_refuses(case: Case) -> None:
    told = re.sub(r'"@data:[^"]*"', '"data:image/png;base64,AAAA"', json.dumps(case["request"]))
    told = re.sub(
        r"@b64:(?:(\d+)x(\d+)|\w+)",
        lambda found: picture_text(int(found[1] or 1920), int(found[2] or 1080)),
        told,
    )
    body = json.loads(told)["body"]
    if case["provider"] == "anthropic":
        complaint = messages.complaint_about(body)
    elif case["provider"] == "openai":
        complaint = responses.complaint_about(body)
    else:
        complaint = gemini.complaint_about(case["path"], body)
    assert (complaint is None) == (case["verdict"] == 200), complaint


USUAL: dict[str, dict[str, Any]] = {
    "openai": {"tool": "computer", "model": "gpt-5.6"},
    "anthropic": {"tool": "computer-toolset", "model": "claude-opus-5-5"},
    "google": {"tool": "gemini-browser", "model": "gemini-3.8-flash"},
}


@pytest.mark.parametrize("case", of_wires("error", tuple(USUAL)))
def test_errors_are_one_line_or_one_status(case: Case) -> None:
    expected = case["expect"]
    # What then happens to the unit: `tests/harness/engine/test_tools.py`.
    kinds = {"Fatal": Fatal, "Fault": Fault, "then": EchoRefused}
    case = {**USUAL[case["provider"]], "unit": "g-hd", "sent": [1920, 1080], **case}
    if case.get("wire") == "chat":
        case |= {"provider": "chat", "tool": "functions", "coordinates": "absolute"}
    answer = Answer(raw=json.dumps(case["body"]).encode(), status=case["http"])
    with WireServer(lambda asked: answer) as server:
        adapter = adapter_for(case, server)
        protocol = protocol_of(case, adapter)
        if "status" in expected:
            assert str(asked(case, adapter, protocol).status) == expected["status"]
            return
        with pytest.raises(kinds[expected.get("raises", "then")]) as raised:
            asked(case, adapter, protocol)
    assert all(word in str(raised.value) for word in expected.get("says", ()))
    assert getattr(raised.value, "kind", None) == expected.get("kind")
