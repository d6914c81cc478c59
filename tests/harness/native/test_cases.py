"""The worked cases of tools through the adapters, over the wires of the providers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.harness.native.cases import (
    Case,
    adapter_for,
    asked,
    cases,
    compare,
    protocol_of,
    replying,
)
from tests.servers import WireServer

TOOLS = ("functions",)


@pytest.mark.parametrize("case", cases("reply", TOOLS))
def test_a_reply_is_one_prediction(case: Case) -> None:
    with WireServer(replying([case["reply"]])) as server:
        adapter = adapter_for(case, server)
        found = asked(case, adapter, protocol_of(case, adapter))
    compare(found, case["expect"])


@pytest.mark.parametrize("case", cases("transcript", TOOLS))
def test_looks_are_answered_from_the_picture(case: Case) -> None:
    with WireServer(replying(case["replies"])) as server:
        adapter = adapter_for(case, server)
        found = asked(case, adapter, protocol_of(case, adapter))
    compare(found, case["expect"])
    assert len(server.asks) == case["expect"]["calls"] == case["expect"]["looks"] + 1
    for number, answers in enumerate(case["answers"], 1):
        body = server.asks[number].body
        said = json.loads(json.dumps(body["messages"][-len(answers) :]))
        assert said == answers


@pytest.mark.parametrize("case", cases("request", TOOLS))
def test_the_first_request_offers_the_tool(case: Case) -> None:
    reply = {"choices": [{"message": {"content": "no"}, "finish_reason": "stop"}], "id": "c"}
    with WireServer(replying([reply])) as server:
        adapter = adapter_for(case, server)
        asked(case, adapter, protocol_of(case, adapter))
    [one] = server.asks
    assert _matches(one.body, case["body"]), one.body
    assert [tool.get("name") for tool in one.body["tools"]] == [None]


def _matches(found: Any, wanted: Any) -> bool:
    """Whether a body has the wanted parts; `@...` stands for a text or a value of ours."""
    if isinstance(wanted, str) and wanted.startswith("@description:"):
        return all(word in found for word in wanted.partition(":")[2].split(","))
    if isinstance(wanted, str) and wanted.startswith("@"):
        return bool(found)
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            name in found and _matches(found[name], one) for name, one in wanted.items()
        )
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(_matches, found, wanted))
    return bool(found == wanted)
