"""What `benchmarks/same_results.py` compares: every number of a summary, and exact keys alone."""

from __future__ import annotations

import copy
import functools
import json
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.mutations import Mutation, mutations_of
from benchmarks.revisions.environments import ROOT, Revision, prepared
from benchmarks.revisions.equality import Intended, differences, summary_values
from benchmarks.revisions.rows import rows_of
from benchmarks.same_results import TABLES
from tests.harness.commands.tool import call, isolate

RUNS = {
    "steps": "-m lexical -b sample --split dev",
    "strict": "-m lexical -b sample --split dev --invalid fail --f1 cl100k-lc",
    "repeats": "-m random -b sample --split dev --limit 2 --repeats 3",
    "cells and quartiles": "-m random -b sample-grounding --limit 20",
    "no parents": "-m random -b sample-questions --limit 1",
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    place = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as monkeypatch:
        isolate(monkeypatch, place)
        for name, line in RUNS.items():
            called = call("run", *line.split(), "--progress", "off", "--out", name)
            assert called.code == 0, called.err
        yield {name: place / name for name in RUNS}


@pytest.mark.parametrize("name", RUNS)
def test_every_mean_of_a_summary_is_a_row_with_its_ends(runs: dict[str, Path], name: str) -> None:
    summary = json.loads((runs[name] / "summary.json").read_text("utf-8"))
    there = Counter(
        (row["number"], row["low"], row["high"])
        for row in summary["estimates"]
        if row["average"] not in SPREAD
    )
    rows = summary_values(runs[name])["rows"].values()
    read = Counter((row["number"], row["low"], row["high"]) for row in rows if "low" in row)
    assert sum(there.values()) >= 50
    assert read == there


@pytest.mark.parametrize("name", RUNS)
def test_every_number_of_a_summary_that_changes_is_told(runs: dict[str, Path], name: str) -> None:
    summary, manifest = (
        json.loads((runs[name] / file).read_text("utf-8"))
        for file in ("summary.json", "manifest.json")
    )
    for of in ("counts", "estimates"):
        summary[of] = [row for row in summary[of] if not row["group"]]
    before = copy.deepcopy(rows_of(summary, manifest["declaration"]))
    for *path, last in numbers({of: summary[of] for of in ("counts", "estimates", "repeats")}):
        inner = functools.reduce(lambda tree, step: tree[step], path, summary)
        if last == "units" or (inner.get("average") in SPREAD and last in ("n", "clusters")):
            continue
        inner[last] += 1e-9
        after = rows_of(summary, manifest["declaration"])
        assert list(differences(before, after)), [*path, last]
        inner[last] -= 1e-9


def numbers(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every number."""
    if isinstance(tree, dict | list):
        for name, inner in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from numbers(inner, (*path, name))
    elif isinstance(tree, int | float) and not isinstance(tree, bool):
        yield path


SPREAD = ("quartiles", "sd", "sd within", "sd between")
"""What is no mean. Of it, `n` and `clusters` are not compared; `units` is by measure, where some
have no score."""
ONE = "base = head: random/run 1/summary/rows/success | macro |  |  | task | valid/low"


@pytest.mark.parametrize(
    "key",
    (
        "base = head: random/run 1/summary/*",
        "base = head: random",
        "base = head: random/run 1",
        "base = head: random/run 1/summary",
        "base = head: random/run 1/summary/rows",
        "base = head: random/run 2/steps.jsonl",
        "base = head: report/printed 3",
        "head reads base's runs: report/printed 3/*/value",
        "*",
    ),
)
def test_an_intended_difference_is_no_pattern_and_no_whole_file(key: str) -> None:
    with pytest.raises(ValueError, match="not the exact key of one value"):
        Intended.of([{"issue": 40, "reason": "why", "keys": [ONE, key]}])


@pytest.mark.parametrize("left_out", ("issue", "reason", "keys"))
def test_an_intended_difference_names_issue_reason_and_keys(left_out: str) -> None:
    table = {"issue": 40, "reason": "why", "keys": [ONE]}
    del table[left_out]
    with pytest.raises(ValueError, match="issue, reason, keys"):
        Intended.of([table])


def test_commands_in_forked_processes_end_as_they_do_alone(tmp_path: Path) -> None:
    revision = prepared("head", str(ROOT), None, tmp_path)
    lines = ("models", "run -m oracel -b sample", "run -b sample --limit 1 -m oracle -o out")
    with revision.forks() as carry_out:
        for number, line in enumerate((*lines, lines[0])):
            told, alone = tmp_path / f"{number}.out", tmp_path / f"{number}.err"
            job = {
                "arguments": line.split(),
                "folder": str(tmp_path),
                "environment": revision.environment("client", tmp_path),
                "out": str(told),
                "err": str(alone),
            }
            code = carry_out(job, 120)
            if line == lines[2]:
                assert code == 0 and (tmp_path / "out" / "summary.json").exists()
                continue
            called = call(*line.split())
            assert (code, told.read_text("utf-8")) == (called.code, called.out)
            assert alone.read_text("utf-8") == called.err
    revision.close()


def test_an_intended_difference_covers_its_key_alone() -> None:
    intended = Intended.of([{"issue": 40, "reason": "why", "keys": [ONE]}])
    assert intended.covers(ONE)
    assert not intended.covers(ONE.replace("low", "high"))
    assert not intended.covers(f"{ONE}/more")


def test_keys_of_an_intended_difference_may_be_shared_by_cases() -> None:
    key = ONE.removeprefix("base = head: random/")
    table = {"issue": 40, "reason": "why", "cases": ["random", "lexical"], "keys": [key]}
    intended = Intended.of([table])
    assert intended.covers(ONE) and intended.covers(ONE.replace("random", "lexical"))
    assert not intended.covers(ONE.replace("random", "oracle"))


def test_commands_are_spelled_as_an_older_revision_has_them() -> None:
    words = {"--benchmark-option top_k=": "--top-k ", "--benchmark-option lost_rows=yes": "--lost"}
    older = Revision("base", "", Path(), (), Path(), words)
    now = "run --benchmark-option top_k=5 --benchmark-option lost_rows=yes --limit 2"
    assert older.spelled(now) == "run --top-k 5 --lost --limit 2"


def test_the_recorded_table_is_read() -> None:
    tables = tomllib.loads(TABLES.read_text("utf-8"))
    Intended.of(tables.get("intended", ()))


def test_a_mutation_changes_the_nearest_of_equal_lines(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\ny = 2\nx = 1\n", "utf-8")
    mutation = Mutation(1, "", "constant", "a.py", 4, "x = 1\n", "x = 2\n")
    assert mutation.apply(tmp_path)
    assert (tmp_path / "a.py").read_text("utf-8") == "x = 1\ny = 2\nx = 2\n"
    assert not Mutation(2, "", "constant", "a.py", 4, "x = 3\n", "x = 2\n").apply(tmp_path)


def test_mutations_change_what_decides(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("benchmarks.mutations.ROOT", tmp_path)
    (tmp_path / "a.py").write_text(
        '"""Text."""\n\ndef f(a: int, b: "x < 3") -> int:\n    assert a < 2\n'
        "    if not a or a <= b:\n        return a\n    return None\n",
        "utf-8",
    )
    found = {(one.kind, one.after.strip()) for one in mutations_of(tmp_path / "a.py", "")}
    assert found == {
        ("not", "if (a) or a <= b:"),
        ("comparison", "if not a or a < b:"),
        ("if", "if not (not a or a <= b):"),
        ("returned value", "return None"),
    }
