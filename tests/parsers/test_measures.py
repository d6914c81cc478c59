"""Measures that a benchmark declares for itself: cells, other parents, units left open, main."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from parsers import (
    AggregationRules,
    Declaration,
    Group,
    Level,
    Measure,
    ScoredUnit,
    Status,
    results,
)
from parsers.counting import Rule
from parsers.estimates import PARENTS, SD
from tests.numbers import estimate, results_by
from tests.parsers.steps import once

ITEMS = Declaration(
    measures=(
        Measure("hit", main=True, averages=("cells", "micro"), cells=("platform", "form")),
        Measure("nearness", averages=("micro",)),
    ),
    levels=(Level("picture", shared=True),),
    groups=(Group("platform", whole="picture"), Group("form")),
    kind="item",
)
CONVERSATIONS = Declaration(
    measures=(
        Measure("right"),
        Measure("turn_success", main=True, all_of="right"),
        Measure("conversation_success", all_of="right", over="conversation"),
        Measure("right_by_conversation", over="conversation", averages=("macro",)),
    ),
    levels=(Level("turn"), Level("conversation")),
    groups=(Group("site", whole="turn"), Group("operation")),
    clusters=("conversation", "turn"),
)


def item(
    number: int,
    platform: str,
    form: str,
    hit: float | None,
    picture: str = "",
    **more: float | None,
) -> ScoredUnit:
    return ScoredUnit(
        unit_id=f"i{number}",
        split="test",
        parents={"picture": picture or f"p{number}"},
        labels={"platform": platform, "form": form},
        invalid=None,
        scores={"hit": hit, "nearness": more.get("nearness", 0.0)},
        status=Status.ANSWERED,
    )


def turn(name: str, place: int, right: bool | None, invalid: str | None = None) -> ScoredUnit:
    conversation, _, _ = name.partition(".")
    scores = None if right is None else {"right": float(right)}
    if scores is not None:
        scores["right_by_conversation"] = scores["right"]
    return ScoredUnit(
        unit_id=f"{name}.{place}",
        split="test",
        parents={"turn": name, "conversation": conversation},
        labels={"site": conversation.upper(), "operation": "CLICK"},
        invalid=invalid,
        scores=scores,
        status=Status.ANSWERED if scores else None,
    )


def test_the_mean_over_cells_weighs_cells_alike_and_the_one_over_units_does_not() -> None:
    # Cells: (web, text) 1 of 4, (web, icon) 1 of 1, (mobile, text) 0 of 1; (mobile, icon) is empty.
    hits = [
        ("web", "text", 1),
        *[("web", "text", 0)] * 3,
        ("web", "icon", 1),
        ("mobile", "text", 0),
    ]
    rows = [item(number, *cell) for number, cell in enumerate(hits)]
    found = results(once(rows), ITEMS)
    cells = estimate(found, "hit", "cells")
    assert (cells.number, cells.n) == pytest.approx(((1 / 4 + 1 + 0) / 3, 3))
    assert estimate(found, "hit", "micro").number == pytest.approx(2 / 6)
    averages = [row.average for row in found.rows if (row.measure, row.rule) == ("hit", "valid")]
    assert averages == ["cells", "micro"]
    assert found.row("hit") == cells


def test_the_interval_over_cells_adds_up_residuals_within_cells_by_cluster() -> None:
    # Cell a: 1 1 0 over pictures p, p, q; cell b: 1 0 over pictures q, r. Means 2/3 and 1/2.
    # Residuals over (2 cells x units of the cell): p (1/3 + 1/3)/6, q -2/3/6 + 1/2/4, r -1/2/4.
    placed = [("a", 1, "p"), ("a", 1, "p"), ("a", 0, "q"), ("b", 1, "q"), ("b", 0, "r")]
    rows = [item(n, cell, "text", hit, picture) for n, (cell, hit, picture) in enumerate(placed)]
    cells = estimate(results(once(rows), ITEMS), "hit", "cells")
    value = (2 / 3 + 1 / 2) / 2
    sums = [1 / 9, -1 / 9 + 1 / 8, -1 / 8]
    weights = [2 / 6, 1 / 6 + 1 / 4, 1 / 4]
    parts = zip(sums, weights, strict=True)
    jackknife = 2 / 3 * sum((total / (1 - weight)) ** 2 for total, weight in parts)
    spread = (2 * 1 / 9 + 4 / 9) / 6 + 2 * 1 / 4 / 4
    apart, together = 3 / 36 + 2 / 16, sum(weight**2 for weight in weights)
    estimated = (jackknife / spread - apart) / (together - apart)
    # Two pictures have a success and two a failure, against ten times a quarter.
    drawn = (2 * min(max(estimated, 0), 1) + 10 / 4) / 12
    trials = (
        value * (1 - value) / spread / max(jackknife / spread, apart + drawn * (together - apart))
    )
    t = student.ppf(0.975, 1 / together - 1)
    center = (value + t**2 / (2 * trials)) / (1 + t**2 / trials)
    reach = t * math.sqrt(value * (1 - value) / trials + t**2 / (4 * trials**2))
    reach /= 1 + t**2 / trials
    assert cells.number == pytest.approx(value)
    assert cells.interval is not None
    assert cells.interval.low == pytest.approx(center - reach)
    assert cells.interval.high == pytest.approx(center + reach)
    assert (cells.interval.clusters, cells.interval.few) == (3, True)


def test_cells_that_all_hit_have_the_interval_of_as_many_clusters() -> None:
    rows = [item(number, "web", form, 1) for number, form in enumerate(["text", "icon"] * 5)]
    cells = estimate(results(once(rows), ITEMS), "hit", "cells")
    assert cells.interval is not None
    t = student.ppf(0.975, 9)
    assert cells.interval.low == pytest.approx(10 / (10 + t**2))
    assert (cells.interval.high, cells.interval.method) == (1, "wilson")


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.booleans()), min_size=1))
def test_the_mean_over_cells_is_that_of_the_cells_own_means(
    cells: list[tuple[str, str, bool]],
) -> None:
    rows = [item(n, platform, form, float(hit)) for n, (platform, form, hit) in enumerate(cells)]
    together: dict[tuple[str, str], list[bool]] = {}
    for platform, form, hit in cells:
        together.setdefault((platform, form), []).append(hit)
    expected = sum(sum(hits) / len(hits) for hits in together.values()) / len(together)
    mean = estimate(results(once(rows), ITEMS), "hit", "cells")
    assert mean.number == pytest.approx(expected)
    if mean.interval is not None:
        assert 0 <= mean.interval.low <= mean.interval.high <= 1


def test_a_unit_without_a_score_is_left_out_of_that_measure_alone() -> None:
    rows = [
        item(0, "web", "text", 1, nearness=0.5),
        item(1, "web", "text", None, nearness=0.75),
        item(2, "web", "icon", None, nearness=0.25),
    ]
    found = results(once(rows), ITEMS)
    assert found.counts.behind["valid"] == (3, 3)
    for average in ("micro", "cells"):
        row = estimate(found, "hit", average)
        assert (row.number, row.n, row.units) == (1, 1, 1)
    row = estimate(found, "nearness", "micro")
    assert (row.number, row.units) == (0.5, 3)


def test_a_measure_without_any_score_is_unknown_and_not_zero() -> None:
    found = results(once([item(0, "web", "text", None)]), ITEMS)
    for average in ("cells", "micro"):
        row = estimate(found, "hit", average)
        assert (row.number, row.interval, row.units) == (None, None, 0)
    assert estimate(found, "nearness").number == 0


def test_success_of_turns_and_of_conversations() -> None:
    # Conversation a: turns 2 of 2 and 1 of 1 right; b: one turn wrong, one right.
    rows = [
        turn("a.0", 0, True),
        turn("a.0", 1, True),
        turn("a.1", 0, True),
        turn("b.0", 0, False),
        turn("b.1", 0, True),
    ]
    found = results(once(rows), CONVERSATIONS)
    turns, conversations = (
        estimate(found, name) for name in ("turn_success", "conversation_success")
    )
    assert (turns.number, turns.won, turns.n) == (3 / 4, 3, 4)
    assert (conversations.number, conversations.n) == (1 / 2, 2)
    assert found.counts.n_parents == 4
    # Macro over turns is 3/4, over conversations (1 + 1/2)/2.
    assert estimate(found, "right", "macro").number == 3 / 4
    by_conversation = estimate(found, "right_by_conversation", "macro")
    assert (by_conversation.number, by_conversation.n) == (3 / 4, 2)


@pytest.mark.parametrize(
    ("cluster", "measure", "average", "clusters"),
    [
        ("", "turn_success", PARENTS, 4),
        ("turn", "turn_success", PARENTS, 8),
        ("turn", "right", "micro", 8),
        ("turn", "right_by_conversation", "macro", 4),
    ],
)
def test_intervals_of_turns_take_conversations_as_clusters_and_never_less_than_a_parent(
    cluster: str, measure: str, average: str, clusters: int
) -> None:
    rows = [turn(f"c{n}.{k}", 0, (n + k) % 3 > 0) for n in range(4) for k in range(2)]
    found = results(once(rows), CONVERSATIONS, AggregationRules(cluster=cluster))
    assert found.rules.cluster == (cluster or "conversation")
    interval = estimate(found, measure, average).interval
    assert interval is not None and interval.clusters == clusters


def test_success_of_a_conversation_is_withheld_while_a_turn_of_it_is_incomplete() -> None:
    rows = [turn("a.0", 0, True), turn("a.1", 0, None), turn("b.0", 0, True)]
    found = results(once(rows), CONVERSATIONS)
    cut = results(once([rows[0], rows[2]]), CONVERSATIONS, lengths={"a.0": 2})
    for part, measure, total in (
        (found, "conversation_success", 2),
        (found, "turn_success", 3),
        (cut, "conversation_success", 2),
    ):
        row = estimate(part, measure)
        assert (row.number, row.complete, row.n) == (None, total - 1, total)


def test_an_invalid_unit_fails_its_parents_in_the_strict_line_alone() -> None:
    rows = [turn("a.0", 0, True), turn("a.0", 1, None, "no_positive"), turn("a.1", 0, True)]
    found = results(once(rows), CONVERSATIONS)
    valid, strict, clean = (
        estimate(found, "conversation_success", PARENTS, rule) for rule in get_args(Rule)
    )
    assert (valid.number, strict.number, clean.n) == (1, 0, 0)


def test_groups_have_the_measures_of_parents_that_they_hold_whole() -> None:
    rows = once([turn("a.0", 0, True), turn("b.0", 0, False)])
    for key, whole in (("site", ["turn_success"]), ("operation", [])):
        for found in results_by(key, rows, CONVERSATIONS).values():
            rated = dict.fromkeys(row.measure for row in found.rows if row.average == PARENTS)
            assert list(rated) == whole


def test_repeats_of_a_main_measure_of_parents_spread_by_it() -> None:
    found = results([(0, turn("a.0", 0, True)), (1, turn("a.0", 0, False))], CONVERSATIONS)
    assert estimate(found, "turn_success", SD).number == pytest.approx(0.5**0.5)
    assert estimate(found, "conversation_success").number == 0.5


@pytest.mark.parametrize("invalid", [None, "no_screenshot"])
def test_a_unit_that_counts_as_failed_is_left_out_of_measures_of_some_units(
    invalid: str | None,
) -> None:
    declared = replace(
        ITEMS,
        measures=(
            Measure("hit", main=True, averages=("micro",)),
            Measure("nearness", averages=("micro",)),
        ),
    )
    first = item(0, "web", "text", 1, nearness=0.5)
    without = item(2, "web", "text", 1, nearness=None)
    failed = replace(item(1, "web", "text", 1), scores=None, status=None, invalid=invalid)
    rules = AggregationRules(invalid="fail", unattempted="fail")
    found = results(once([first, without, failed]), declared, rules)
    assert estimate(found, "hit", "micro").number == pytest.approx(2 / 3)
    nearness = estimate(found, "nearness", "micro")
    assert (nearness.number, nearness.units) == (0.5, 1)
    # Nothing says that it is about some units only; unread answers do not say it either.
    unread = replace(without, scores={"hit": None, "nearness": None})
    found = results(once([first, unread, failed]), declared, rules)
    assert estimate(found, "nearness", "micro").number == 0.25


def test_groups_take_from_the_whole_run_which_measures_some_units_lack() -> None:
    first, without = (
        item(0, "web", "icon", 1, nearness=0.5),
        item(1, "web", "text", 1, nearness=None),
    )
    invalid = replace(item(2, "web", "icon", 1), scores=None, status=None, invalid="gone")
    rules = AggregationRules(invalid="fail")
    icons = results_by("form", once([first, without, invalid]), ITEMS, rules)["icon"]
    assert estimate(icons, "nearness", "micro").number == 0.5
    assert icons.seen.partial == icons.seen.graded == {"nearness"}
