"""Units that a benchmark hands over as they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.benchmarks import Filters, Items
from harness.errors import DataError
from harness.runs import Unit
from parsers.declaration import Declaration, Group, Level, Measure


def unit(unit_id: str, talk: str, speaker: str, split: str = "test") -> Unit[Any]:
    return Unit(
        kind="turn",
        unit_id=unit_id,
        benchmark="talks",
        split=split,
        parents={"talk": talk, "speaker": speaker},
        detail={},
    )


TURNS = (
    unit("t1", "a", "Ada"),
    unit("t2", "b", "Ben"),
    unit("t3", "a", "Ada"),
    unit("t4", "c", "Ada", "dev"),
    unit("t5", "b", "Ben"),
)


def ids(items: Items) -> list[str]:
    return [entry.unit_id for entry in items.entries]


def test_a_limit_and_shards_keep_together_what_the_benchmark_names() -> None:
    assert ids(Items.of(TURNS).select(Filters(limit=2))) == ["t1", "t2"]
    talks = Items.of(TURNS, whole="talk")
    assert ids(talks.select(Filters(limit=2))) == ["t1", "t2", "t3", "t5"]
    parts = [talks.select(Filters(shard=(number, 3))) for number in (1, 2, 3)]
    assert sorted(one for part in parts for one in ids(part)) == ["t1", "t2", "t3", "t4", "t5"]
    for part in parts:
        assert {e.parents["talk"] for e in part.entries}.isdisjoint(
            e.parents["talk"] for other in parts if other is not part for e in other.entries
        )


def test_the_fingerprint_is_that_of_all_units_whatever_is_selected() -> None:
    items = Items.of(TURNS)
    assert items.select(Filters(limit=1)).fingerprint == items.fingerprint
    assert Items.of(TURNS[:4]).fingerprint != items.fingerprint
    assert items.fingerprint["benchmark"] == "talks"


@pytest.mark.parametrize(
    ("units", "more", "message"),
    [
        ((), {}, "the benchmark has nothing to ask about"),
        (TURNS[:1] * 2, {}, "talks has two rows with the id 't1'"),
        (TURNS, {"whole": "room"}, "t1 of talks has no room among its parents"),
        (TURNS, {"splits": ["tests"]}, "the data has no split 'tests'; did you mean 'test'?"),
    ],
)
def test_units_that_contradict_their_benchmark_are_an_error(
    units: tuple[Unit[Any], ...], more: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError) as caught:
        Items.of(units, **more)
    assert str(caught.value) == message


def test_lines_tell_counts_by_what_is_declared_remarks_and_digests() -> None:
    declared = Declaration(
        (Measure("heard", main=True, averages=("micro",)),),
        levels=(Level("talk"), Level("speaker")),
        groups=(Group("split"), Group("tongue")),
        kind="turn",
    )
    units = [replace(one, labels={"tongue": one.parents["speaker"][0]}) for one in TURNS]
    files = [{"name": "a.json", "size": 1200, "sha256": "d" * 64}]
    items = Items.of(units, origin={"files": files}, remarks=["two turns are whispered"])
    assert list(items.lines(declared)) == [
        "talks, test: 4 turns; 4 valid",
        "talks, dev: 1 turn; 1 valid",
        "  3 talks",
        "  2 speakers",
        "  tongue: A 3, B 2",
        "  two turns are whispered",
        f"  a.json: 1,200 bytes, sha256 {'d' * 64}",
        f"  all turns: sha256 {items.digest}",
    ]


def test_a_unit_in_two_splits_is_asked_about_in_one_at_a_time() -> None:
    twice = (TURNS[0], replace(TURNS[0], split="other"))
    with pytest.raises(DataError, match="has t1 in 'test' and 'other': ask about one split at"):
        Items.of(twice)
    assert ids(Items.of(twice, splits=["other"])) == ["t1"]
