"""What a success takes in comparisons, leaderboards and plots, against numbers by hand."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.conversation import Usage
from reports.comparison.compare import compare_runs
from reports.formats import render
from reports.spending import cost_table, per_success, ratio_difference
from reports.tables import leaderboard, main_table
from tests.reports.runs import call, setup, step, worked, write


def efforts(folder: Path) -> list[Path]:
    """Runs of a model under two efforts: the second succeeds more often and takes more tokens."""
    made = []
    for effort, tokens, rights in (("low", 10, 1), ("high", 40, 2)):
        steps = [
            replace(step(f"t{t}", n, n < rights), cost=0.5, usage=Usage(100, output=tokens + t))
            for t in range(8)
            for n in range(3)
        ]
        calls = [
            replace(
                call(record, "B"), cost=0.5, reply=replace(call(record, "B").reply, latency_s=2.0)
            )
            for record in steps
        ]
        made.append(write(folder / effort, steps, setup(effort=effort), calls=calls))
    return made


def test_a_comparison_says_what_a_success_takes_in_both(tmp_path: Path) -> None:
    (found,) = compare_runs(efforts(tmp_path)).others
    takes = {one.name: one for one in found.takes}
    assert (takes["tokens_per_step"].first, takes["tokens_per_step"].second) == (13.5, 43.5)
    # One of three steps succeeds, then two of three.
    assert (takes["tokens_per_success"].first, takes["tokens_per_success"].second) == (40.5, 65.25)
    assert takes["price_per_success"].second == pytest.approx(0.75)
    assert takes["tokens_per_success"].interval is not None
    (alone,) = compare_runs([write(tmp_path / name, worked()) for name in "ab"]).others
    assert [one.name for one in alone.takes] == ["tokens_per_step", "tokens_per_success"]


@pytest.mark.parametrize("unknown", [range(6), [0], [5]])
def test_units_whose_tokens_nobody_counted_have_no_costs(
    tmp_path: Path, unknown: Sequence[int]
) -> None:
    steps = [
        replace(one, usage=None, cost=None) if place in unknown else one
        for place, one in enumerate(worked())
    ]
    table = cost_table(write(tmp_path / "run", steps))
    assert table["tokens_per_success"].isna().all() == (len(unknown) == 6)
    assert render(table, "text").count("run") >= 1


def test_a_leaderboard_says_what_a_success_takes(tmp_path: Path) -> None:
    printed = render(leaderboard(main_table(efforts(tmp_path), "split", spending=True)), width=200)
    assert re.search(r"high .* 65\.2 \[.*\] +3\.00 +\$0\.7500", printed)
    policy = main_table(write(tmp_path / "p", worked()), "split")
    assert "/success" not in render(leaderboard(policy))


def test_a_board_says_what_a_success_takes_on_each_benchmark(tmp_path: Path) -> None:
    made = []
    for name, cost in (("one", 0.5), ("two", None)):
        steps = [
            replace(step(f"t{n}", 0, n % 2 == 0), cost=cost, usage=Usage(100, output=10))
            for n in range(8)
        ]
        calls = [replace(call(record, "B"), cost=cost) for record in steps]
        made.append(write(tmp_path / name, steps, setup(benchmark=name), calls=calls))
    board = leaderboard(main_table(made, "split", spending=True))
    assert board[["one price", "one tokens", "two tokens"]].iloc[0].tolist() == [1.0, 20.0, 20.0]
    text = render(board, width=200)
    assert "one $/success" in text and "tokens out/success" not in text
    assert "$/success" not in render(leaderboard(main_table(made, "split")), width=200)


def test_what_a_success_takes_is_a_ratio_of_sums_with_fiellers_interval() -> None:
    # Two clusters' sums (amount, successes): the quadratic is solved by hand elsewhere; here the
    # ends are those r for which a t statistic of (amount - r * success) is at its quantile.
    amounts = [4.0, 2.0, 6.0, 3.0, 5.0, 4.0, 7.0, 1.0]
    wins = [True, True, False, True, True, True, True, True]
    clusters = list("aabbccdd")
    ratio, interval = per_success(amounts, wins, clusters)
    assert ratio == pytest.approx(32 / 7) and interval is not None
    for end in (interval.low, interval.high):
        sums = [
            sum(a - end * w for a, w, c in zip(amounts, wins, clusters, strict=True) if c == name)
            for name in "abcd"
        ]
        statistic = sum(sums) / (statistics.stdev(sums) * 2)
        assert abs(statistic) == pytest.approx(3.182446, rel=1e-5)
    assert per_success([1.0, 2.0], [False, False], "ab") == (None, None)
    assert per_success([1.0, 2.0], [True, False], "aa") == (3.0, None)


def test_what_a_success_takes_is_not_below_zero() -> None:
    # Everything succeeds: it is the t interval of the mean amount, cut off at zero.
    amounts = [0.0, 0.0, 0.0, 10.0]
    ratio, interval = per_success(amounts, [True] * 4, "abcd")
    assert ratio == 2.5 and interval is not None
    assert interval.low == 0.0
    assert interval.high == pytest.approx(2.5 + 3.182446 * statistics.stdev(amounts) / 2, rel=1e-5)


def test_ratios_of_two_runs_differ_with_the_delta_methods_interval() -> None:
    before, after = [2.0, 3.0, 5.0, 4.0, 6.0], [4.0, 4.0, 9.0, 5.0, 8.0]
    ones = [1.0] * 5
    difference, interval = ratio_difference((before, ones), (after, ones), "abcde")
    assert interval is not None
    # Of means over the same units it is the paired t interval.
    gained = [b - a for a, b in zip(before, after, strict=True)]
    reach = 2.776445 * statistics.stdev(gained) / math.sqrt(5)
    assert difference == pytest.approx(statistics.fmean(gained))
    assert (interval.low, interval.high) == pytest.approx(
        (difference - reach, difference + reach), rel=1e-5
    )
    won = [1.0, 0.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 0.0, 1.0]
    difference, interval = ratio_difference((before, won[0]), (after, won[1]), "aabbc")
    assert difference == pytest.approx(30 / 4 - 20 / 3)
    parts = [
        (a2 - 7.5 * w2) / 4 - (a1 - 20 / 3 * w1) / 3
        for a1, w1, a2, w2 in zip(before, won[0], after, won[1], strict=True)
    ]
    sums = [parts[0] + parts[1], parts[2] + parts[3], parts[4]]
    reach = 4.302653 * math.sqrt(1.5 * math.fsum(one * one for one in sums))
    assert interval is not None and interval.high - difference == pytest.approx(reach, rel=1e-5)
    assert ratio_difference((before, ones), (after, ones), "aaaaa")[1] is None
