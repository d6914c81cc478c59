"""Roles: whom a protocol asks beside the model under test, chosen by the user."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters import AdapterInfo
from harness.protocols import PROTOCOLS, Role
from harness.settings import directory_name, read_settings
from tests.harness.commands.tool import DEV, call
from tests.servers import Answer, WireServer

ONE_TASK = (*DEV, "--limit", "1", "--protocol", "planned", "--progress", "off", "--no-cache")
PRICES = """
["openai:main"]
input = 1000
output = 2000
["openai:planner"]
input = 10
output = 20
["openai:vectors"]
input = 1
output = 0
"""
SECRET = "sk-RECOGNISABLE-0123456789"


@pytest.fixture(autouse=True)
def planned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PROTOCOLS, "_entries", dict(PROTOCOLS._entries))
    PROTOCOLS.add("planned", "tests.harness.evaluation.planned:Planned")
    Path("prices.toml").write_text(PRICES)


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer(lambda ask: Answer(text="Search for it")) as server:
        yield server


def line(server: WireServer, *more: str) -> list[str]:
    url = server.base_url("openai")
    return [
        *("run", "--model", "openai:main", "--base-url", url, *ONE_TASK),
        *("--role", "planner=openai:planner", "--role", f"planner.base_url={url}"),
        *("--role", "embedding=openai:vectors", "--role", f"embedding.base-url={url}"),
        *more,
    ]


def manifest(folder: str = "run") -> dict[str, Any]:
    plain: dict[str, Any] = json.loads((Path(folder) / "manifest.json").read_text())
    return plain


def asked(server: WireServer) -> Counter[str]:
    return Counter(ask.model for ask in server.asks)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (["--role", "writer=gpt-4o"], "--role writer: 'planned' has the roles embedding, planner"),
        (["--role", "planner=lexical"], "--role planner: 'lexical' is an embedder"),
        (["--role", "planner=text-embedding-3-small"], "is an embedder"),
        (["--role", "planner=random"], "--role planner: 'random' is a policy"),
        (["--role", "planner=nobody:x"], "--role planner: unknown model"),
        (["--role", "embedding=gpt-4o"], "--role embedding: unknown embedder 'gpt-4o'"),
        (["--role", "planner.max_tokens=5"], "name the model, too (--role planner=MODEL)"),
        (["--role", "planner"], "expected key=value"),
        (["--role", "planner.a.b=1"], "neither a role nor a setting of one"),
        (
            ["--role", "planner=openai:p", "--role", "planner.max_tokens=few"],
            "--role planner: max_tokens: 'few' is not a number of tokens",
        ),
        (
            ["--role", "planner=openai:p", "--role", "planner.max_tokens=5,6"],
            "--role planner: max_tokens is one number",
        ),
        (
            ["--role", "planner=openai:p", "--role", "planner.colour=red"],
            "--role planner: 'openai' takes no option 'colour'",
        ),
        (
            ["--role", "planner=openai:p", "--role", "planner.revision=main"],
            "--role planner: --revision has no effect on 'openai:p'",
        ),
        (
            ["--role", "planner=openai:p", "--role", f"planner.api_key={SECRET}"],
            "--role planner: keys are read from the environment only",
        ),
        (
            ["--role", "planner=openai:p", "--role", "planner.base_url=http://u:p@localhost/v1"],
            "--role planner: --base-url holds a user or password",
        ),
        (
            ["--role", "embedding=openai:e", "--role", "embedding.temperature=1"],
            "--role embedding: temperature has no effect on an embedder",
        ),
        (["--role", "planner=openai:p"], "--role planner: no API key"),
        (["--protocol", "seeact-two-rounds", "--role", "planner=openai:p"], "asks nobody but"),
    ],
)
def test_a_mistake_is_one_line(given: list[str], complaint: str) -> None:
    Path("script.jsonl").write_text('{"default": true, "text": "yes"}')
    called = call("run", "--model", "scripted:script.jsonl", *ONE_TASK, *given)
    assert called.code == 2
    last = called.err.splitlines()[-1]
    assert complaint in last
    assert SECRET not in called.err
    assert not Path("runs").exists()


def test_a_role_has_no_effect_on_a_policy() -> None:
    called = call("run", "--model", "random", *ONE_TASK, "--role", "planner=openai:p")
    assert (called.code, "--role has no effect on the policy" in called.err) == (2, True)


def test_the_three_ways_to_write_roles_mean_the_same() -> None:
    pairs = (
        ("embedding", "lexical"),
        ("planner", "openai:p"),
        ("planner.max_tokens", "300"),
        ("planner.temperature", "0.5"),
    )
    flat = {"planner": "openai:p", "planner.max-tokens": 300, "planner.temperature": 0.5}
    nested = {"planner": {"model": "openai:p", "max_tokens": 300, "temperature": 0.5}}
    for given in (
        {"role": {**flat, "embedding": "lexical"}},
        {"role": {**nested, "embedding": "lexical"}},
        {"roles": pairs},
        {"role": [f"{name}={value}" for name, value in pairs]},
    ):
        assert read_settings({"model": "m", **given}).roles == pairs


def test_roles_in_a_file_are_those_of_the_command_line(server: WireServer) -> None:
    url = server.base_url("openai")
    Path("roles.toml").write_text(
        f'model = "openai:main"\nbase-url = "{url}"\n[role]\nembedding = "lexical"\n'
        f'[role.planner]\nmodel = "openai:planner"\nbase_url = "{url}"\nmax_tokens = 300\n'
    )
    called = call("run", "--config", "roles.toml", *ONE_TASK, "--dry-run")
    assert called.code == 0
    assert "roles:    planner: openai:planner, embedding: lexical" in called.err


def test_a_run_without_roles_is_what_it_was() -> None:
    plain = {"model": "lexical", "benchmark": "sample"}
    settings = read_settings(plain)
    assert settings.roles == ()
    assert directory_name(settings) == "lexical-sample-k20-" + directory_name(settings)[-8:]
    called = call("run", "--model", "lexical", *DEV, "--limit", "1", "--out", "run")
    assert called.code == 0
    whole = json.dumps(manifest()) + Path("run/summary.json").read_text()
    assert "role" not in whole.replace("[role]", "")


def test_a_dry_run_tells_calls_and_cost_by_role(server: WireServer) -> None:
    called = call(*line(server, "--dry-run", "--prices", "prices.toml"))
    assert called.code == 0, called.err
    lines = called.out.splitlines()
    [planner] = [one for one in lines if "planner (openai:planner)" in one]
    [vectors] = [one for one in lines if "embedding (openai:vectors)" in one]
    assert planner.startswith("of these:") and "calls" in planner and "at most $" in planner
    assert "0.00" not in planner.partition("at most")[2]
    [calls] = [one for one in lines if one.startswith("calls:")]
    # Three calls a step and, before the first, one to each of the three.
    steps = int(next(one for one in lines if one.startswith("rows:")).split()[1])
    assert calls == f"calls:     {3 * steps} (counted; plus 3 preflight calls)"
    assert f": {steps} calls" in planner and f": {steps} calls" in vectors
    assert server.count == 0


def test_a_cost_limit_needs_the_price_of_every_role(server: WireServer) -> None:
    Path("prices.toml").write_text(PRICES.partition('["openai:vectors"]')[0])
    called = call(*line(server, "--max-cost", "5", "--prices", "prices.toml", "--out", "run"))
    assert called.code in (0, 2)  # A server of one's own is free without a price.
    info = AdapterInfo("m", "m", "p")
    assert not info.billed


def test_the_name_of_a_role_can_be_written_as_an_option() -> None:
    with pytest.raises(ValueError, match="not the name of a role"):
        Role("the planner", "plans")
