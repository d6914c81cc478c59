"""What all runs may cost together is never exceeded, and is confirmed once."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.errors import UserError
from harness.sweep.command import Sweep
from harness.sweep.planning import Standing
from tests.harness.commands.tool import call, calls, replying
from tests.servers import WireServer

PRICES = '["openai:m"]\ninput = 1000.0\noutput = 1000.0\n'
USAGE = {"input": 100, "cached": 0, "output": 10}
A_CALL = 0.11
"""Dollars for a call of the server below."""


def spent(folder: str) -> float:
    """What the calls of all runs have cost, by plain addition."""
    return sum(
        line["cost"] or 0.0
        for path in Path(folder).glob("*/calls.jsonl")
        for line in calls(path.parent)
    )


def priced(server: WireServer, **more: object) -> str:
    """A file with two runs of a model whose calls have a price."""
    Path("prices.toml").write_text(PRICES)
    options = {
        "model": "openai:m",
        "adapter-option": [["model_seed=1", "preflight=no"], ["model_seed=2", "preflight=no"]],
        "base-url": server.base_url("openai"),
        "prices": "prices.toml",
        "benchmark": "sample",
        "split": "dev",
        "limit": 1,
        "image-policy": "none",
        "cache": False,
        "max-tokens": 64,
        "concurrency": 1,
        **more,
    }
    Path("s.toml").write_text("".join(f"{k} = {json.dumps(v)}\n" for k, v in options.items()))
    return "s.toml"


@pytest.mark.parametrize("share", [0.0, 0.3, 0.75])
def test_the_limit_is_never_exceeded_and_more_money_goes_on(share: float) -> None:
    with WireServer(replying(usage=USAGE)) as server:
        file = priced(server)
        whole = call("run", "--config", file, "--max-cost", "100", "--out", "whole")
        assert whole.code == 0, whole.err
        cost = spent("whole")
        assert cost == pytest.approx(server.count * A_CALL)
        # With what is set aside for a call under way.
        total = round(share * cost + 0.5, 2)
        words = ("run", "--config", file, "--out", "o", "--max-cost")
        poor = call(*words, str(total))
        assert poor.code == 1
        assert spent("o") <= total
        assert f"spent: ${spent('o'):,.2f} of ${total:,.2f}" in poor.out
        # The same line again spends no more than that, either.
        assert call(*words, str(total)).code == 1 and spent("o") <= total
        rich = call(*words, "100")
        assert rich.code == 0, rich.err
        assert spent("o") == pytest.approx(cost)


@pytest.mark.parametrize(
    ("own", "others", "limit"),
    [
        ((0, 0), [(0, 0)], 10),
        ((1, 0), [(3, 0), (2, 1.5)], 3.5),
        # Batches of both are at their provider: each gets its own back, whatever is left.
        ((0, 4), [(0, 6)], 4),
        ((2, 1), [(7, 1)], 2),
        ((0, 0), [(0, 9.99995)], None),
        ((4, 0), [(6, 0)], None),
    ],
)
def test_a_run_may_spend_what_the_others_have_left(
    monkeypatch: pytest.MonkeyPatch,
    own: tuple[float, float],
    others: list[tuple[float, float]],
    limit: float | None,
) -> None:
    known = {
        Path(str(number)): Standing("incomplete", 0, spent, reserved)
        for number, (spent, reserved) in enumerate([own, *others])
    }
    monkeypatch.setattr("harness.sweep.command.standing_of", known.__getitem__)
    runs: list[Any] = [SimpleNamespace(directory=path) for path in known]
    sweep = Sweep(runs, Path(), 10.0)
    if limit is None:
        with pytest.raises(UserError, match="--max-cost is spent"):
            sweep._limit(runs[0])
    else:
        assert sweep._limit(runs[0]) == limit


def test_a_limit_needs_prices() -> None:
    words = ("-m", "openai:gpt-1e", "-m", "lexical", "-b", "sample", "--max-cost", "3")
    done = call("run", *words, "--dry-run")
    assert done.code == 2
    assert done.err.splitlines()[-1] == (
        "vlm-eval: openai:gpt-1e: --max-cost needs a price for openai:gpt-1e; give one with "
        "--prices FILE"
    )


def test_many_calls_are_estimated_and_confirmed_once_for_all() -> None:
    with WireServer(replying(usage=USAGE)) as server:
        file = priced(server, limit=22, split="test")
        done = call("run", "--config", file, "--out", "o")
        assert done.code == 2
        assert "\nall runs " in done.err
        assert done.err.splitlines()[-1].startswith("vlm-eval: 2 runs may cost money: at most ")
        assert done.err.rstrip().endswith("say --yes or --max-cost DOLLARS")
        assert server.count == 0 and not Path("o").exists()


def test_a_dry_run_adds_the_estimates_up_and_needs_no_key() -> None:
    words = ("-b", "sample", "--limit", "1", "--dry-run")
    done = call("run", "-m", "gpt-5.4", "-m", "lexical", *words)
    assert done.code == 0, done.err
    one = call("run", "--model", "gpt-5.4", *words)
    expected = next(line for line in one.out.splitlines() if line.startswith("expected:"))
    tokens, out, cost = expected.removeprefix("expected:").replace(" in", "").split(", ")
    [row] = [line for line in done.out.splitlines() if line.startswith("gpt-5.4")]
    assert row.split()[3:6] == [tokens.strip(), out.split()[0], cost]
    assert any(line.startswith("all runs") for line in done.out.splitlines())
    assert not Path("runs").exists() and not Path("sweeps").exists()
