"""Shards of a run, joined, are the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.harness.commands.tool import DEV, TEXT_ONLY, at, call, calls, replying, steps, summary
from tests.servers import WireServer

SHARDS = ("s1", "s2", "s3")
FOUR = (*DEV, "--limit", "4")


def numbers(value: Any) -> Any:
    """A summary without names, floats rounded: the steps of shards come in another order."""
    if isinstance(value, dict):
        return {k: numbers(v) for k, v in value.items() if k not in ("run", "answered_by")}
    if isinstance(value, list):
        return [numbers(inner) for inner in value]
    return round(value, 9) if isinstance(value, float) else value


def shard(number: int, *more: str) -> int:
    line = ("--model", "lexical", *FOUR, "--shard", f"{number}/3", "--out", f"s{number}")
    return call(*line, *more).code


def test_three_shards_merged_have_the_numbers_of_the_whole() -> None:
    whole = call("--model", "lexical", *FOUR, "--details", "--out", "whole")
    assert [shard(number) for number in (1, 2, 3)] == [0, 0, 0]
    parts = [{line["task_id"] for line in steps(run)} for run in SHARDS]
    assert sum(map(len, parts)) == len(set.union(*parts)) == 4
    merged = call("merge", *SHARDS, "--out", "merged")
    assert merged.code == 0
    assert numbers(summary("merged")) == numbers(summary("whole"))
    body = whole.out.splitlines()
    assert merged.out.splitlines()[: len(body)] == body
    assert sorted(json.dumps(line) for line in steps("merged")) == sorted(
        json.dumps(line) for line in steps("whole")
    )
    again = call("score", "merged")
    assert (again.code, again.out.splitlines()[: len(body)]) == (0, body)


def test_a_missing_shard_leaves_the_joined_run_open() -> None:
    assert [shard(1), shard(2)] == [0, 0]
    merged = call("merge", "s1", "s2", "--out", "merged")
    assert merged.code == 1
    count = len(steps("s1")) + len(steps("s2"))
    assert f"{count} of 30 steps are answered: merged. " in merged.out
    assert not Path("merged/summary.json").exists()


def test_a_joined_run_goes_on_as_a_whole() -> None:
    with WireServer(replying()) as server:
        for number in (1, 2):
            line = at(server, *FOUR, *TEXT_ONLY, "--shard", f"{number}/3", "--out", f"s{number}")
            assert call(*line).code == 0
        assert call("merge", "s1", "s2", "--out", "merged").code == 1
        before = server.count
        whole = call(*at(server, *FOUR, *TEXT_ONLY, "--no-cache", "--out", "merged"))
    assert whole.code == 0, whole.err
    assert server.count == len(calls("merged"))
    assert before < server.count
    assert summary("merged")["complete"] is True


def test_a_shard_without_tasks_says_so_and_joins_like_any_other() -> None:
    empty = call("--model", "lexical", *DEV, "--limit", "1", "--shard", "1/3", "--out", "a")
    other = call("--model", "lexical", *DEV, "--limit", "1", "--shard", "3/3", "--out", "b")
    third = call("--model", "lexical", *DEV, "--limit", "1", "--shard", "2/3", "--out", "c")
    texts = [called.err for called in (empty, other, third)]
    assert sum("this shard has none of the selected steps" in text for text in texts) == 2
    assert call("merge", "a", "b", "c", "--out", "merged").code == 0
