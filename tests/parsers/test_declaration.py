"""What a benchmark declares: the names that follow, and declarations that are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from parsers import MIND2WEB, Declaration, Group, Level, Measure

HIT = Measure("hit", main=True)


def test_a_new_measure_gives_one_name_only() -> None:
    declared = Declaration(measures=(HIT,), levels=(Level("picture"),), kind="item")
    (hit,) = declared.measures
    assert declared.in_tables == (hit,)
    assert hit.head == "hit"
    assert (declared.unit, declared.units) == ("item", "items")
    assert (declared.innermost.one, declared.innermost.many) == ("picture", "pictures")
    assert declared.clusters == ("picture",)
    assert declared.groups == (Group("split", "the split", whole="picture"),)


def test_a_declaration_is_kept_in_a_manifest_as_json() -> None:
    kept = msgspec.json.encode(MIND2WEB)
    assert msgspec.json.decode(kept, type=Declaration) == MIND2WEB


def test_variants_are_measures_of_their_own_that_tables_leave_out() -> None:
    variants = MIND2WEB.variants("operation_f1")
    assert variants == ("mind2web", "mind2web-lc", "cl100k-lc")
    named = {f"operation_f1.{one}" for one in variants}
    assert set(MIND2WEB.scores) >= {*named, "operation_f1", "success", "element_under"}
    assert "task_success" not in MIND2WEB.scores
    shown = {one.name for one in MIND2WEB.shown}
    assert shown == {"element", "operation_f1", "success", "task_success"}


def test_tables_show_measures_with_a_head_and_always_the_main_one_and_those_of_parents() -> None:
    others = Measure("near"), Measure("far", "Far"), Measure("px", averages=("quartiles",))
    declared = Declaration((*others, HIT, Measure("all", all_of="hit")), levels=(Level("p"),))
    assert [one.name for one in declared.shown] == ["far", "hit", "all"]
    assert [one.name for one in declared.spread] == ["px"]


def test_levels_are_found_by_name_and_ordered_from_the_innermost() -> None:
    assert MIND2WEB.level("") == MIND2WEB.innermost == MIND2WEB.level("task")
    assert (MIND2WEB.rank("task"), MIND2WEB.rank("website")) == (0, 1)
    with pytest.raises(KeyError):
        MIND2WEB.rank("conversation")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"measures": ()}, "one measure has to be the main one, not none"),
        ({"measures": (HIT, replace(HIT, name="b"))}, "the main one, not hit, b"),
        ({"measures": (HIT, Measure("hit"))}, "two of the measures are named hit"),
        ({"measures": (HIT, Measure("<b>"))}, "'<b>' is not a name for a measure"),
        ({"measures": (HIT, Measure("a", over="day"))}, "a names the level day"),
        ({"measures": (HIT, Measure("a", all_of="b"))}, "a names the measure b"),
        ({"measures": (HIT, Measure("a", all_of="a"))}, "measure a names no measure of units"),
        ({"measures": (HIT, Measure("a", needs=("b",)))}, "a names the measure b"),
        ({"measures": (HIT, Measure("a", averages=("cells",)))}, "the groups of its cells"),
        ({"measures": (HIT, Measure("a", cells=("split",)))}, "the groups of its cells"),
        ({"measures": (HIT, Measure("a", averages=("mean",)))}, "a has an unknown average"),  # type: ignore[arg-type]
        ({"measures": (HIT, Measure("cost"))}, "the measure cost is named as a column"),
        ({"measures": (HIT, Measure("task"))}, "the measure task is named as a column"),
        ({"groups": (Group("hit"),)}, "the group hit is named as a column"),
        ({"groups": (Group("status"),)}, "the group status is named as a column"),
        (
            {"measures": (HIT, Measure("a", averages=("quartiles", "micro")))},
            "quartiles and other averages",
        ),
        ({"measures": (replace(HIT, averages=()),)}, "the main measure hit has no average"),
        ({"errors": ("hit",)}, "the error class hit is not one of the measures besides"),
        ({"errors": ("lost",)}, "the error class lost is not one of the measures besides"),
        (
            {"measures": (HIT, Measure("a", all_of="hit", cells=("task",)))},
            "a has no parents within task",
        ),
        ({"levels": ()}, "no level of parents"),
        ({"clusters": ("day",)}, "the cluster day is not a level"),
        ({"groups": (Group("site", whole="day"),)}, "holds whole day, which is not a level"),
    ],
)
def test_a_declaration_that_contradicts_itself_is_refused(
    changes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        Declaration(**{"measures": (HIT,), **changes})


def test_a_declaration_on_disk_is_checked_when_it_is_read() -> None:
    with pytest.raises(msgspec.ValidationError, match="main one, not none"):
        msgspec.json.decode(b'{"measures": []}', type=Declaration)
