"""Roles: whom a protocol asks beside the model under test, chosen by the user."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import harness
from adapters import Reply
from harness.errors import UserError
from harness.protocols import PROTOCOLS
from reports.spending import cost_table
from tests.harness.commands.tool import DEV, call, calls, summary
from tests.harness.engine.support import BatchModel
from tests.servers import Answer, Ask, WireServer, error

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
    PROTOCOLS.add("planned", "tests.harness.session.planned:Planned")
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
        (["--role", "planner=openai:p", "--role", "planner=openai:q"], "planner is given twice"),
        (
            ["--role", "planner=openai:p", "--role", "planner.limit=3"],
            "--role planner: limit is not a setting of a model",
        ),
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
            "--role planner: 'openai' takes no option 'revision'",
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
        (["--protocol", "seeact-two-rounds", "--role", "planner=openai:p"], "asks only the model"),
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


@pytest.mark.parametrize("private", [True, False])
@pytest.mark.parametrize("unpriced", ["main", "planner", "vectors"])
def test_a_cost_limit_needs_the_price_of_every_role(
    server: WireServer, monkeypatch: pytest.MonkeyPatch, unpriced: str, private: bool
) -> None:
    """Gateways that bill stand at private addresses, too."""
    monkeypatch.setattr("adapters.endpoints.is_private", lambda url: private)
    Path("prices.toml").write_text(PRICES.replace(f"openai:{unpriced}", "openai:another"))
    called = call(*line(server, "--max-cost", "5", "--prices", "prices.toml", "--out", "run"))
    assert called.code == 2
    roles = {"main": "", "planner": " (role planner)", "vectors": " (role embedding)"}
    [told] = called.err.splitlines()[-1:]
    assert f"--max-cost needs a price for openai:{unpriced}{roles[unpriced]}" in told
    assert "--prices FILE" in told
    assert ("if its server is free, with the prices 0" in told) == private
    assert server.count == 0
    assert not Path("run").exists()


def bill(server: WireServer, model: str) -> float:
    """What the server would charge for the calls of a model, by the prices above."""
    dollars = {"main": (1000, 2000), "planner": (10, 20), "vectors": (1, 0)}[model]
    total = 0.0
    for ask in server.asks:
        if ask.model != model:
            continue
        if model == "vectors":
            tokens = sum(len(text.split()) for text in ask.body["input"]), 0
        else:
            tokens = 100, 10
        total += sum(n * price for n, price in zip(tokens, dollars, strict=True)) / 1e6
    return total


def test_a_run_asks_all_roles_and_tells_calls_and_cost_of_each(server: WireServer) -> None:
    money = ("--prices", "prices.toml", "--details")
    called = call(*line(server, *money, "--out", "run", "--adapter-option=preflight=no"))
    assert called.code == 0, called.err
    told = summary("run")["by_role"]
    steps = summary("run")["rows"]["asked"]
    assert asked(server) == {"main": steps, "planner": steps, "vectors": steps}
    for role, model in (("", "main"), ("planner", "planner"), ("embedding", "vectors")):
        assert told[role]["calls"] == steps
        assert told[role]["cost"] == pytest.approx(bill(server, model))
    whole = summary("run")["cost"]
    assert whole == pytest.approx(sum(part["cost"] for part in told.values()))
    [line_of_roles] = [one for one in called.out.splitlines() if one.startswith("by role: ")]
    assert f"planner: {steps} calls, ${bill(server, 'planner'):.4f}" in line_of_roles
    notes = cost_table("run").attrs["notes"]
    assert any(f"planner: {steps} calls, ${bill(server, 'planner'):.4f}" in one for one in notes)


def test_what_was_chosen_is_on_record_and_another_choice_is_another_run(
    server: WireServer,
) -> None:
    assert call(*line(server, "--out", "run")).code == 0
    config = manifest()["config"]
    assert config["role"]["planner"] == "openai:planner"
    assert config["role_models"]["planner"]["model"] == "planner"
    assert config["role_models"]["planner"]["generation"] == {"max_tokens": 1024}
    assert config["role_models"]["embedding"]["endpoint"] == server.base_url("openai")
    before = server.count
    assert call(*line(server, "--out", "run")).code == 0
    assert server.count == before
    # How fast it is asked does not matter.
    quick = ("--role", "planner.concurrency=2", "--role", "embedding.concurrency=1")
    assert call(*line(server, "--out", "run", *quick)).code == 0
    for other in ("planner.max_tokens=7", "embedding.dimensions=2"):
        assert call(*line(server, "--out", "run", "--role", other)).code == 2, other
    changed = [word.replace("openai:planner", "openai:main") for word in line(server)]
    assert call(*changed, "--out", "run").code == 2
    called = call(*line(server, "--out", "run", "--role", "planner.temperature=0.5"))
    assert "role.planner.temperature: (not set) on record" in called.err
    assert server.count == before


def test_a_key_in_an_option_of_a_role_is_masked_on_record(server: WireServer) -> None:
    body = json.dumps({"customer_key": SECRET})
    called = call(*line(server, "--out", "run", "--role", f"planner.extra_body={body}"))
    assert called.code == 0
    assert SECRET in json.dumps([dict(ask.body) for ask in server.asks])
    for path in Path().rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path
    assert SECRET not in called.out + called.err


def test_without_a_choice_the_model_plans_and_letters_are_compared(server: WireServer) -> None:
    url = server.base_url("openai")
    run = ("run", "--model", "openai:main", "--base-url", url, *ONE_TASK, "--out", "run")
    called = call(*run, "--adapter-option=preflight=no")
    assert called.code == 0, called.err
    assert manifest()["config"]["role"] == {"embedding": "lexical"}
    steps = summary("run")["rows"]["asked"]
    assert asked(server) == {"main": 2 * steps}
    assert {role: part["calls"] for role, part in summary("run")["by_role"].items()} == {
        "": steps,
        "planner": steps,
        "embedding": steps,
    }
    assert list(harness.open_run("run").manifest.answered_by) == ["main-2026-01-01"]


def test_baselines_answer_for_every_role_and_need_no_embedder() -> None:
    called = call("run", "--model", "oracle", *ONE_TASK, "--out", "run")
    assert called.code == 0, called.err
    assert manifest()["config"]["role_models"]["embedding"]["name"] == "lexical"
    assert {"", "embedding", "planner"} == set(summary("run")["by_role"])


def test_every_role_is_preflighted_and_a_wrong_one_ends_the_run_before_it_begins() -> None:
    def react(ask: Ask) -> Answer:
        return error(401, "no such key") if ask.model == "vectors" else Answer()

    with WireServer(react) as server:
        called = call(*line(server, "--out", "run"))
        assert asked(server) == {"main": 1, "planner": 1, "vectors": 1}
    assert called.code == 2
    assert "no such key" in called.err.splitlines()[-1]


def test_a_text_is_embedded_once_in_a_run() -> None:
    sent: list[str] = []

    def react(ask: Ask) -> Answer:
        sent.extend(ask.body.get("input", ()))
        return Answer(text="Search for it")

    with WireServer(react) as server:
        done = call(
            *line(server, "--adapter-option=preflight=no", "--concurrency", "1"), "--out", "a"
        )
    assert done.code == 0
    # Calls that are under way together may have texts in common.
    texts = texts_of("a")
    assert set(sent) == set(texts) and len(set(texts)) <= len(sent) < len(texts)


def texts_of(run: str) -> list[str]:
    """The texts that a run has embedded."""
    return [text for call in calls(run) if "embed" in call for text in call["embed"]["texts"]]


def test_the_cost_limit_holds_for_all_roles_together_and_the_same_line_goes_on() -> None:
    """The planner is the dear one here."""
    dollars = {"main": 1e3, "planner": 4e4, "vectors": 2e3}
    prices = (f'["openai:{name}"]\ninput = {price}\noutput = 0' for name, price in dollars.items())
    Path("prices.toml").write_text("\n".join(prices))
    paid: list[float] = []

    def react(ask: Ask) -> Answer:
        texts = ask.body["input"] if ask.model == "vectors" else [ask.text]
        words = sum(len(text.split()) for text in texts)
        paid.append(words * dollars[ask.model] / 1e6)
        return Answer(text="Search for it", usage={"input": words, "output": 1})

    with WireServer(react) as server:
        run = line(
            server, "--out", "run", "--adapter-option=preflight=no", "--prices", "prices.toml"
        )
        called = call(*run, "--max-cost", "4")
        assert called.code == 1
        assert "with a higher --max-cost" in called.err
        assert 0.5 < sum(paid) <= 4
        assert call(*run, "--max-cost", "60").code == 0
        assert summary("run")["cost"] == pytest.approx(sum(paid))
        steps = summary("run")["rows"]["asked"]
        # What was answered is not asked again.
        assert asked(server) == {"main": steps, "planner": steps, "vectors": steps}


def test_roles_from_python() -> None:
    Path("script.jsonl").write_text('{"default": true, "text": "Search for it"}')
    run = harness.evaluate(
        model="scripted:script.jsonl",
        benchmark="sample",
        split="dev",
        limit=1,
        protocol="planned",
        role={"planner": {"model": "scripted:script.jsonl", "max_tokens": 9}},
        out="run",
        progress="off",
    )
    assert run.complete
    config = run.manifest.config
    assert config["role"]["planner.max_tokens"] == "9"
    assert config["role_models"]["planner"]["provider"] == "scripted"
    with pytest.raises(UserError, match="--role writer"):
        harness.evaluate(
            model="scripted:script.jsonl",
            benchmark="sample",
            protocol="planned",
            role={"writer": "x"},
        )


def test_a_model_that_answers_in_batches_answers_for_a_role_in_the_same_batches() -> None:
    model = BatchModel(lambda request: Reply("Search for it"), batch_size=3)
    run = harness.evaluate(
        model=model,
        benchmark="sample",
        split="dev",
        limit=2,
        protocol="planned",
        out="run",
        progress="off",
    )
    assert run.complete
    asked = {part["calls"] for part in run.summary["by_role"].values()}
    assert asked == {run.summary["rows"]["asked"]}
