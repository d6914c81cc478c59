"""Benchmarks and protocols handed to `harness.evaluate` as objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.benchmarks import BENCHMARKS, Items, step_benchmark
from harness.errors import UserError
from harness.protocols import PROTOCOLS
from harness.protocols.seeact import TwoRounds
from tests.harness.commands.tool import steps
from tests.test_made_up_kind import ReadTheSign, RoadSigns

TASK: dict[str, Any] = {"split": "dev", "limit": 1, "progress": "off"}


@dataclass(frozen=True)
class Towns(RoadSigns):
    name: str = "towns"
    only: str = ""

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> Items:
        every = super().open()
        return Items.of(u for u in every.entries if self.only in u.parents["town"])


@dataclass(frozen=True)
class Loudly(ReadTheSign):
    louder: int = 1
    name = "loudly"


class Unfielded(ReadTheSign):
    name = "unfielded"

    def __init__(self, louder: int) -> None:
        object.__setattr__(self, "louder", louder)


@pytest.fixture(autouse=True)
def _nothing_is_left(place: Path) -> Iterator[None]:
    yield
    for registry in (BENCHMARKS, PROTOCOLS):
        for name in registry._put:
            del registry._entries[name]
        registry._put.clear()


def on_record(run: harness.Run) -> Mapping[str, Any]:
    return run.manifest.config


def test_objects_of_ones_own_are_evaluated_and_on_record() -> None:
    run = harness.evaluate(
        "oracle", benchmark=Towns(only="Ulm"), protocol=Loudly(louder=3), out="r"
    )
    assert run.complete and len(run.records()) == 2
    assert run.scores.named.value == 1.0
    assert on_record(run)["benchmark"] == "towns"
    assert on_record(run)["benchmark_object"] == {
        "class": "tests.harness.session.test_objects:Towns",
        "only": "Ulm",
    }
    assert on_record(run)["protocol"] == "loudly"
    assert on_record(run)["protocol_option"] == {"louder": 3}
    assert on_record(run)["protocol_class"] == "tests.harness.session.test_objects:Loudly"
    again = harness.evaluate("oracle", benchmark=Towns(only="Ulm"), protocol=Loudly(3), out="r")
    assert again.records() == run.records()


def test_another_object_does_not_go_on_with_the_run() -> None:
    harness.evaluate("oracle", benchmark=Towns(), protocol=Loudly(), out="r")
    for benchmark, protocol, line in (
        (
            Towns(only="Ulm"),
            Loudly(),
            r'benchmark_object.only: \(not set\) on record, "Ulm"',
        ),
        (Towns(), Loudly(2), "protocol_option.louder: 1 on record, 2 now"),
    ):
        with pytest.raises(UserError, match=line) as refused:
            harness.evaluate("oracle", benchmark=benchmark, protocol=protocol, out="r")
        assert "\n" not in str(refused.value)


def test_an_object_that_has_a_name_already_is_that_name() -> None:
    named = harness.evaluate("oracle", benchmark="sample", history=2, out="a", **TASK)
    sample = step_benchmark("sample")
    given = harness.evaluate(
        "oracle", benchmark=sample, protocol=TwoRounds(history=2), out="b", **TASK
    )
    assert on_record(given) == on_record(named)
    assert steps("a") == steps("b")


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (
            {"benchmark": RoadSigns(name="sample")},
            "benchmark 'sample' is registered; give yours another name",
        ),
        (
            {"protocol": TwoRounds(history=2), "history": 3},
            "history: set the options on the object of protocol 'seeact-two-rounds' instead",
        ),
        (
            {"protocol": Loudly(louder=2), "protocol_option": {"louder": 3}},
            "protocol_option: set the options on the object of protocol 'loudly' instead",
        ),
        (
            {"protocol": Unfielded(2)},
            "protocol 'unfielded': Unfielded is not a dataclass whose fields are its settings; "
            "see docs/extending.md",
        ),
    ],
)
def test_an_object_that_cannot_be_used_is_refused_in_one_line(
    settings: dict[str, Any], line: str
) -> None:
    with pytest.raises(UserError) as refused:
        harness.evaluate("oracle", **{"benchmark": Towns(), **settings})
    assert str(refused.value) == line
    assert not Path("runs").exists()
