"""Intervals against published tables, hand computation, scipy.stats and simulation."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import special, stats

from parsers import Average, clopper_pearson, mean_interval, t_interval

# 95 % exact limits as tabulated for binomial proportions.
TABLE = [
    (0, 10, 0.0000, 0.3085),
    (1, 10, 0.0025, 0.4450),
    (5, 10, 0.1871, 0.8129),
    (10, 10, 0.6915, 1.0000),
    (2, 20, 0.0123, 0.3170),
    (10, 100, 0.0490, 0.1762),
]


@pytest.mark.parametrize(("successes", "n", "low", "high"), TABLE)
def test_clopper_pearson_agrees_with_the_tables(
    successes: int, n: int, low: float, high: float
) -> None:
    interval = clopper_pearson(successes, n)
    assert interval is not None
    assert (round(interval.low, 4), round(interval.high, 4)) == (low, high)
    assert (interval.method, interval.clusters, interval.level) == ("clopper-pearson", n, 0.95)


def test_clopper_pearson_without_successes_has_a_closed_form() -> None:
    interval = clopper_pearson(0, 142)
    assert interval is not None
    assert interval.high == pytest.approx(1 - 0.025 ** (1 / 142), rel=1e-12)


@given(st.integers(0, 200), st.integers(1, 200), st.sampled_from([0.8, 0.95, 0.99]))
def test_clopper_pearson_agrees_with_scipy(successes: int, n: int, level: float) -> None:
    successes = min(successes, n)
    interval = clopper_pearson(successes, n, level)
    second = stats.binomtest(successes, n).proportion_ci(level, method="exact")
    assert interval is not None
    assert interval.low == pytest.approx(second.low, abs=1e-9)
    assert interval.high == pytest.approx(second.high, abs=1e-9)
    assert interval.low <= successes / n <= interval.high


@given(st.floats(0.01, 0.99))
def test_a_single_task_has_the_interval_of_a_uniform_distribution(level: float) -> None:
    tail = (1 - level) / 2
    for successes, low, high in ((0, 0.0, 1 - tail), (1, tail, 1.0)):
        interval = clopper_pearson(successes, 1, level)
        assert interval is not None
        assert (interval.low, interval.high) == (low, high)
    assert (special.betaincinv(1, 1, tail), special.betaincinv(1, 1, 1 - tail)) == (tail, 1 - tail)


def test_t_interval_by_hand() -> None:
    # Mean 0.5, s = 0.1, n = 4: 0.5 +- 3.182446 * 0.1 / 2.
    interval = t_interval([0.4, 0.6, 0.5 - 0.05 * math.sqrt(2), 0.5 + 0.05 * math.sqrt(2)])
    assert interval is not None
    assert interval.high - 0.5 == pytest.approx(3.182446 * 0.1 / 2, rel=1e-6)
    assert interval.low + interval.high == pytest.approx(1)
    assert (interval.method, interval.clusters, interval.few) == ("t", 4, True)


def test_cluster_t_by_hand() -> None:
    # Mean 3/5; residual sums 0.8, -1.2, 0.4 (a: 1 1, b: 0 0, c: 1), squares sum to 2.24;
    # variance 3/2 * 2.24 / 25 = 0.1344; t with two degrees of freedom at 75 % one-sided 0.816497.
    interval = t_interval([1, 1, 0, 0, 1], list("aabbc"), level=0.5)
    assert interval is not None
    assert interval.high - 0.6 == pytest.approx(0.816497 * math.sqrt(0.1344), rel=1e-6)
    assert 0.6 - interval.low == pytest.approx(0.816497 * math.sqrt(0.1344), rel=1e-6)
    assert (interval.method, interval.clusters, interval.few) == ("cluster-t", 3, True)


SPREAD = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=2, max_size=40).filter(
    lambda values: min(values) < max(values)
)


@given(SPREAD)
def test_t_interval_agrees_with_scipy_within_zero_and_one(values: list[float]) -> None:
    interval = t_interval(values)
    low, high = stats.t.interval(
        0.95, len(values) - 1, loc=sum(values) / len(values), scale=stats.sem(values)
    )
    assert interval is not None
    assert interval.low == pytest.approx(max(low, 0), abs=1e-9)
    assert interval.high == pytest.approx(min(high, 1), abs=1e-9)


@given(SPREAD)
def test_one_value_per_cluster_is_the_t_interval(values: list[float]) -> None:
    plain, clustered = t_interval(values), t_interval(values, range(len(values)))
    assert plain is not None
    assert clustered is not None
    assert clustered.low == pytest.approx(plain.low, abs=1e-12)
    assert clustered.high == pytest.approx(plain.high, abs=1e-12)


@given(SPREAD, st.integers(2, 5))
def test_repeating_every_step_of_a_task_adds_no_certainty(values: list[float], times: int) -> None:
    once = t_interval(values, range(len(values)))
    again = t_interval(
        [value for value in values for _ in range(times)],
        [cluster for cluster in range(len(values)) for _ in range(times)],
    )
    assert once is not None
    assert again is not None
    assert again.low == pytest.approx(once.low, abs=1e-9)
    assert again.high == pytest.approx(once.high, abs=1e-9)


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 6)), max_size=30), st.randoms())
def test_order_of_the_steps_does_not_matter(
    pairs: list[tuple[float, int]], chance: random.Random
) -> None:
    mixed = list(pairs)
    chance.shuffle(mixed)

    def interval(rows: list[tuple[float, int]]) -> object:
        return t_interval([value for value, _ in rows], [cluster for _, cluster in rows])

    assert interval(mixed) == interval(pairs)
    assert t_interval([v for v, _ in mixed]) == t_interval([v for v, _ in pairs])


def test_nothing_is_claimed_without_two_clusters_or_spread() -> None:
    assert clopper_pearson(0, 0) is None
    for values in ([], [0.5], [1 / 3] * 7):
        assert t_interval(values) is None
        assert t_interval(values, range(len(values))) is None
    assert t_interval([0, 1, 1], ["a", "a", "a"]) is None
    assert t_interval([0, 1, 1, 0], ["a", "a", "b", "b"]) is None


def _binary(wins: int, losses: int) -> list[float]:
    return [1.0] * wins + [0.0] * losses


@pytest.mark.parametrize(
    ("wins", "losses", "few"), [(30, 30, False), (29, 113, True), (113, 29, True), (30, 112, False)]
)
def test_few_successes_or_few_failures_are_marked(wins: int, losses: int, few: bool) -> None:
    values = _binary(wins, losses)
    for average in ("macro", "micro"):
        interval = mean_interval(values, range(len(values)), average)
        assert interval is not None
        assert (interval.few, interval.method) == (few, "wilson")
    plain = t_interval(values)
    assert plain is not None and plain.few is few


def test_exact_intervals_are_never_marked() -> None:
    for successes, n in ((0, 5), (3, 29), (1, 142), (142, 142)):
        interval = clopper_pearson(successes, n)
        assert interval is not None and not interval.few


@pytest.mark.parametrize("wins", [0, 1, 3, 40, 141, 142])
def test_steps_that_are_all_of_different_tasks_have_wilsons_interval(wins: int) -> None:
    # scipy's is by the normal quantile: that of t at the level with the same one is compared. The
    # jackknife divides by n - 1, so that there are n - 1 trials; without a spread there are n.
    trials = 141 if 0 < wins < 142 else 142
    level = 2 * special.stdtr(141, 1.96) - 1
    interval = mean_interval(_binary(wins, 142 - wins), range(142), level=level)
    rate, z = wins / 142, 1.96
    center = (rate + z * z / (2 * trials)) / (1 + z * z / trials)
    reach = z * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials**2))
    reach /= 1 + z * z / trials
    assert interval is not None
    assert interval.low == pytest.approx(center - reach, abs=1e-12)
    assert interval.high == pytest.approx(center + reach)
    exact = stats.binomtest(wins, 142).proportion_ci(0.95, method="wilson")
    assert (interval.low, interval.high) == pytest.approx((exact.low, exact.high), abs=2e-3)


def test_the_interval_of_steps_in_tasks_by_hand() -> None:
    # Four tasks of two steps, with 2, 1, 0 and 0 successes: 3/8. Sums of residuals 10/8, 2/8, -6/8
    # and -6/8, over eight steps; the jackknife divides them by 1 - 1/4.
    sums = [10 / 64, 2 / 64, -6 / 64, -6 / 64]
    found = 3 / 4 * sum((one / (3 / 4)) ** 2 for one in sums) / (3 / 8 * 5 / 8)
    # Steps apart would have 1/8 of the variance of one, tasks as one step each 1/4.
    estimate = (found - 1 / 8) / (1 / 4 - 1 / 8)
    assert 0.5 < estimate < 1  # Two tasks have a success, more than the assumed 0.25.
    trials, t = 1 / found, stats.t.ppf(0.975, 3)
    center = (3 / 8 + t**2 / (2 * trials)) / (1 + t**2 / trials)
    reach = t * math.sqrt(15 / 64 / trials + t**2 / (4 * trials**2)) / (1 + t**2 / trials)
    interval = mean_interval([1, 1, 1, 0, 0, 0, 0, 0], list("aabbccdd"), "micro")
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((center - reach, center + reach))
    # Successes of four tasks say nothing on how alike their steps are: 10 x 0.25 weighs as much
    # as 4 x 0 of what they show.
    interval = mean_interval([1, 0, 1, 0, 1, 0, 1, 0], list("aabbccdd"), "micro")
    trials = 1 / (1 / 8 + 10 / 14 * 0.25 / 8)
    reach = t * math.sqrt(1 / 4 / trials + t**2 / (4 * trials**2)) / (1 + t**2 / trials)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((0.5 - reach, 0.5 + reach))


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_ends_rise_with_successes_and_stay_sensible(average: Average) -> None:
    # 22 tasks of seven steps; the successes are spread over tasks, then over their steps.
    tasks = [place % 22 for place in range(154)]
    ends = []
    for wins in range(155):
        interval = mean_interval(_binary(wins, 154 - wins), tasks, average)
        assert interval is not None and interval.low <= wins / 154 <= interval.high
        ends.append((interval.low, interval.high))
    lows, highs = zip(*ends, strict=True)
    assert lows == pytest.approx([1 - high for high in reversed(highs)], abs=1e-12)
    assert lows[0] == 0 and highs[-1] == 1
    # One success in 22 tasks: what was printed before ended at 22.8 %, or at 15.4 % without one.
    assert highs[0] < highs[1] < highs[2] < 0.1
    assert all(high < wins / 154 + 0.2 for wins, high in enumerate(highs))


NEAR_AN_EDGE = st.lists(
    st.sampled_from([0.0, 0.0, 0.0, 1 / 6, 0.5, 5 / 6, 1.0]) | st.floats(0, 1),
    min_size=2,
    max_size=40,
)


def _ends(values: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    interval = mean_interval(values, range(len(values)), level=level)
    assert interval is not None
    return interval.low, interval.high


@given(NEAR_AN_EDGE, st.integers(0, 39), st.floats(0, 1), st.sampled_from([0.5, 0.8, 0.95, 0.99]))
@example([0.0] * 30, 0, 1 / 6, 0.95)
@example([1.0] * 29 + [0.0], 29, 1.0, 0.95)
@example([0.5] * 39 + [0.499], 39, 0.5, 0.95)
def test_no_end_falls_when_a_value_rises(
    values: list[float], place: int, other: float, level: float
) -> None:
    place %= len(values)
    higher = [*values]
    higher[place] = max(values[place], other)
    before, after = _ends(values, level), _ends(higher, level)
    assert after[0] >= before[0] - 1e-12
    assert after[1] >= before[1] - 1e-12


@given(NEAR_AN_EDGE)
def test_intervals_of_values_and_of_what_misses_from_1_mirror_each_other(
    values: list[float],
) -> None:
    low, high = _ends(values)
    assert _ends([1 - value for value in values]) == pytest.approx((1 - high, 1 - low), abs=1e-9)
    assert low <= math.fsum(values) / len(values) + 1e-12 and high >= low


@given(st.lists(st.integers(0, 1), min_size=2, max_size=40), st.floats(0.01, 0.99))
def test_less_spread_than_zeros_and_ones_is_never_wider(outcomes: list[int], near: float) -> None:
    # As many values with the same mean, each drawn towards it.
    mean = sum(outcomes) / len(outcomes)
    drawn = [mean + near * (one - mean) for one in outcomes]
    binary, graded = _ends(outcomes), _ends(drawn)
    if 0 < mean < 1:
        assert graded[0] >= binary[0] - 1e-12 and graded[1] <= binary[1] + 1e-12


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("value", [0.001, 1 / 6, 0.5, 0.9])
def test_a_little_of_one_step_is_no_certainty_about_all(average: Average, value: float) -> None:
    # What was printed before fell from 12.2 to 3.3 %, and from 5.0 to 1.0 % in tasks of six steps.
    for steps in (1, 6):
        tasks = [place // steps for place in range(30 * steps)]
        rows = [[first, *[0.0] * (len(tasks) - 1)] for first in (0.0, value, 1.0)]
        none, little, one = (mean_interval(row, tasks, average) for row in rows)
        assert none is not None and little is not None and one is not None
        assert none.low <= little.low <= one.low
        assert none.high <= little.high <= one.high


def test_many_graded_values_have_the_interval_of_their_own_spread() -> None:
    values = [0.4, 0.5, 0.6] * 400
    found, wanted = _ends(values), t_interval(values)
    assert wanted is not None
    assert found == pytest.approx((wanted.low, wanted.high), abs=0.002)


def test_tasks_that_say_nothing_have_no_interval() -> None:
    assert mean_interval([0.5, 0.5], list("aa")) is None
    assert mean_interval([1, 0], list("aa")) is None
    assert mean_interval([2.0, 0.5], range(2)) is None
    alone = mean_interval([0.0, 0.0], list("aa"))
    assert alone is not None and (alone.low, alone.high) == (0.0, 0.975)
    assert mean_interval([], []) is None


def test_websites_as_clusters_make_intervals_wider_where_they_matter() -> None:
    # Seventy websites of three tasks; on half of them every task succeeds.
    values = [float(site % 2) for site in range(70) for _ in range(3)]
    tasks = range(210)
    sites = [site for site in range(70) for _ in range(3)]
    by_task, by_site = mean_interval(values, tasks), mean_interval(values, tasks, clusters=sites)
    assert by_task is not None and by_site is not None
    assert (by_task.clusters, by_site.clusters) == (210, 70)
    # Three equal tasks of a website say no more than one.
    one_each = mean_interval([float(site % 2) for site in range(70)], range(70))
    assert one_each is not None
    assert by_site.low == pytest.approx(one_each.low)
    assert by_site.high - by_site.low > 1.6 * (by_task.high - by_task.low)


def test_impossible_arguments_are_errors() -> None:
    with pytest.raises(ValueError, match="successes"):
        clopper_pearson(3, 2)
    with pytest.raises(ValueError, match="level"):
        t_interval([0, 1], level=95)
    with pytest.raises(ValueError, match="zip"):
        t_interval([0, 1], ["a"])


def simulate(tasks: int, chance: random.Random) -> tuple[list[float], list[int]]:
    """Steps whose success depends on their task: a rate per task, its mean 0.4, longer or shorter.

    The length is independent of the rate, so that 0.4 is the true micro and macro mean.
    """
    values, clusters = [], []
    for task in range(tasks):
        rate = chance.choice([0.05, 0.35, 0.8])
        for _ in range(chance.choice([2, 5, 9])):
            values.append(float(chance.random() < rate))
            clusters.append(task)
    return values, clusters


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    chance = random.Random(20240501)
    rounds, micro, macro, naive = 600, 0, 0, 0
    for _ in range(rounds):
        values, clusters = simulate(40, chance)
        by_task: dict[int, list[float]] = {}
        for value, cluster in zip(values, clusters, strict=True):
            by_task.setdefault(cluster, []).append(value)
        means = [sum(own) / len(own) for own in by_task.values()]
        for interval, kind in (
            (t_interval(values, clusters), "micro"),
            (t_interval(means), "macro"),
            (t_interval(values), "naive"),
        ):
            assert interval is not None
            covered = interval.low <= 0.4 <= interval.high
            micro += covered and kind == "micro"
            macro += covered and kind == "macro"
            naive += covered and kind == "naive"
    # 95 % with a standard error of 0.9 points; steps taken as independent fall far short.
    assert 0.92 <= micro / rounds <= 0.98
    assert 0.92 <= macro / rounds <= 0.98
    assert naive / rounds < 0.85


def test_clopper_pearson_covers_at_least_what_it_says() -> None:
    for rate in (0.01, 0.05, 0.3, 0.5):
        covered = 0.0
        for successes in range(41):
            interval = clopper_pearson(successes, 40)
            assert interval is not None
            if interval.low <= rate <= interval.high:
                covered += (
                    math.comb(40, successes) * rate**successes * (1 - rate) ** (40 - successes)
                )
        assert covered >= 0.95
