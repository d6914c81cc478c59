"""How what all runs may cost together is divided, and that it is never exceeded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.sweep.child import Claim, limit_of
from tests.harness.commands.tool import call, calls, replying
from tests.servers import WireServer

PRICES = '["openai:m"]\ninput = 1000.0\noutput = 1000.0\n'
USAGE = {"input": 100, "cached": 0, "output": 10}
A_CALL = 0.11
"""Dollars for a call of the server below."""

amounts = st.floats(0, 100)


@given(
    st.floats(0, 1000),
    st.lists(st.tuples(amounts, amounts, amounts), min_size=1, max_size=6),
)
def test_limits_given_one_after_the_other_never_add_up_to_more(
    total: float, parts: list[tuple[float, float, float]]
) -> None:
    claims = {str(n): Claim(spent, 0.0, needs) for n, (spent, _, needs) in enumerate(parts)}
    spent = sum(claim.spent for claim in claims.values())
    for name in claims:
        limit = limit_of(name, total, claims)
        claims[name] = Claim(claims[name].spent, max(limit, claims[name].spent), 0.0)
    held = sum(claim.taken for claim in claims.values())
    assert held <= max(total, spent) + 1e-6


def test_those_that_need_more_get_more_and_nobody_gets_what_another_holds() -> None:
    claims = {
        "done": Claim(spent=2.0),
        "running": Claim(spent=1.0, allotted=3.0),
        "small": Claim(needs=1.0),
        "begun": Claim(spent=1.0, needs=3.0),
    }
    assert limit_of("small", 10.0, claims) == 1.0
    assert limit_of("begun", 10.0, claims) == 4.0
    assert limit_of("begun", 5.0, claims) == 1.0


def spent(folder: str) -> float:
    """What the calls of all runs have cost, by plain addition."""
    return sum(
        line["cost"] or 0.0
        for path in Path(folder).glob("*/calls.jsonl")
        for line in calls(path.parent)
    )


def priced(server: WireServer, **defaults: Any) -> str:
    Path("prices.toml").write_text(PRICES)
    options = {
        "benchmark": "sample",
        "split": "dev",
        "limit": 1,
        "image-policy": "none",
        "preflight": False,
        "cache": False,
        "max-tokens": 64,
        **defaults,
    }
    text = "[defaults]\n" + "".join(f"{key} = {json.dumps(v)}\n" for key, v in options.items())
    text += f'[[run]]\nmodel = "openai:m"\nbase-url = "{server.base_url("openai")}"\n'
    text += 'prices = "prices.toml"\nmodel-seed = [1, 2]\n'
    Path("s.toml").write_text(text)
    return "s.toml"


def test_the_total_is_never_exceeded_and_more_money_goes_on() -> None:
    with WireServer(replying(usage=USAGE)) as server:
        whole = call("sweep", priced(server, **{"max-cost-total": 100}), "--out", "whole")
        assert whole.code == 0, whole.err
        cost = spent("whole")
        assert cost == pytest.approx(server.count * A_CALL)
        # Enough for more than one of the two, with what is set aside for calls under way.
        total = 0.75 * cost + 1.0
        file = priced(server, **{"max-cost-total": total, "concurrency": 1})
        poor = call("sweep", file, "--out", "o")
        assert poor.code == 1
        assert spent("o") <= total
        assert f"spent: ${spent('o'):,.2f} of ${total:,.2f}" in poor.out
        rich = call("sweep", priced(server, **{"max-cost-total": 100}), "--out", "o")
        assert rich.code == 0, rich.err
        assert spent("o") == pytest.approx(cost)


def test_a_total_needs_prices() -> None:
    text = '[defaults]\nbenchmark = "sample"\nmax-cost-total = 3\n[[run]]\nmodel = "openai:gpt-1e"'
    Path("s.toml").write_text(text)
    done = call("sweep", "s.toml", "--dry-run")
    assert done.code == 2
    assert done.err.splitlines()[-1] == (
        "vlm-eval: s.toml: [[run]] 1 (openai:gpt-1e): --max-cost needs a price for openai:gpt-1e; "
        "give one with --prices FILE"
    )


def test_many_calls_have_to_be_confirmed_once_for_all() -> None:
    with WireServer(replying(usage=USAGE)) as server:
        file = priced(server, limit=22, split="test")
        done = call("sweep", file, "--out", "o")
        assert done.code == 2
        assert done.err.splitlines()[-1].startswith("vlm-eval: 2 runs may cost money: at most ")
        assert "put max-cost-total = DOLLARS or yes = true under [defaults]" in done.err
        assert server.count == 0 and not Path("o").exists()


def test_a_dry_run_adds_the_estimates_up_and_needs_no_key() -> None:
    text = '[defaults]\nbenchmark = "sample"\nlimit = 1\n[[run]]\nmodel = ["gpt-5.4", "lexical"]'
    Path("s.toml").write_text(text)
    done = call("sweep", "s.toml", "--dry-run")
    assert done.code == 0, done.err
    one = call("run", "--model", "gpt-5.4", "-b", "sample", "--limit", "1", "--dry-run")
    expected = next(line for line in one.out.splitlines() if line.startswith("expected:"))
    tokens, out, cost = expected.removeprefix("expected:").replace(" in", "").split(", ")
    [row] = [line for line in done.out.splitlines() if line.startswith("gpt-5.4")]
    assert row.split()[3:6] == [tokens.strip(), out.split()[0], cost]
    assert any(line.startswith("all runs") for line in done.out.splitlines())
    assert not Path("runs").exists()
