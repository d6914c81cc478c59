"""A hosted model's provider is one module and one line of a registry: see `acme.py` beside this."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from adapters import ADAPTERS, Fatal, Finish, describe, make, names, options_of
from adapters.entry_points import EntryPoint
from adapters.prices import PriceSheet
from tests.adapters.support import KEY, ask, bodies
from tests.servers import Answer, WireServer, refusing


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ADAPTERS, "_foreign", {"acme": EntryPoint("tests.adapters.acme:acme")})
    monkeypatch.delenv("ACME_API_KEY", raising=False)


def test_it_is_listed_and_described_without_a_key_and_refuses_what_it_does_not_take() -> None:
    assert "acme" in names()
    assert options_of("acme:acme-large") == (
        *("base_url", "api_key", "timeout_s", "concurrency", "tier"),
    )
    described = describe("acme:acme-large", tier="2", concurrency=3)
    info = described.info
    assert (info.name, info.model, info.provider) == ("acme:acme-large", "acme-large", "acme")
    assert info.settings == {"api": "chat.completions", "tier": 2, "endpoint": None}
    assert (info.concurrency, info.billed, info.runs_here) == (3, True, False)
    assert info.image_rule is not None and info.image_rule.fit(1600, 1600) == (1131, 1131)
    assert not PriceSheet().has_price(info)
    with pytest.raises(Fatal, match="no API key: set the environment variable ACME_API_KEY"):
        described.load()
    with pytest.raises(Fatal, match="no API key"):
        describe("acme:acme-large", loads=True)
    with pytest.raises(Fatal, match=r"'acme' takes no option 'detail' \(it takes: base_url, "):
        describe("acme:acme-large", detail="low")
    with pytest.raises(Fatal, match="tier: expected a whole number, not 'high'"):
        describe("acme:acme-large", tier="high")
    with pytest.raises(Fatal, match="tier must be 1 or 2: 3"):
        describe("acme:acme-large", tier="3")
    with pytest.raises(Fatal, match="which model\\? name it like acme:acme-large"):
        describe("acme")


def test_it_is_asked_and_what_it_refuses_is_left_out() -> None:
    with WireServer(refusing("temperature", then=lambda _: Answer("I would click it"))) as server:
        url = server.base_url("openai")
        adapter = make("acme:acme-small", base_url=url, api_key=KEY, timeout_s=5.0)
        [reply] = ask(adapter)
    assert (reply.text, reply.finish) == ("I would click it", Finish.STOP)
    assert reply.sent == {"max_tokens": 1024, "store": False}
    assert [body.get("temperature") for body in bodies(server)] == [0.0, None]
    assert all(body["store"] is False for body in bodies(server))
    assert adapter.notices() == ["acme:acme-small refused temperature=0.0: no longer sent"]
    assert adapter.info.settings["endpoint"] == url


def test_a_failure_is_told_without_the_key() -> None:
    with (
        WireServer(Answer(status=401, message=f"bad key {KEY}")) as server,
        pytest.raises(Fatal) as caught,
    ):
        ask(make("acme:acme-small", base_url=server.base_url("openai"), api_key=KEY))
    assert "answered 401" in str(caught.value)
    assert KEY not in str(caught.value)


def test_its_module_loads_no_sdk() -> None:
    code = "import sys, tests.adapters.acme; print(*{'openai', 'httpx2'} & {*sys.modules})"
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""
