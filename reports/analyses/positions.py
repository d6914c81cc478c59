"""Position bias: whether a model prefers positions in the list."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from harness.runs import Run, StepUnit
from harness.tables import interval_record
from parsers import Declaration, Level, Status, mean_interval
from reports.analyses.units import (
    RUN,
    Analysed,
    Parent,
    choice_measure,
    measured,
    parent_of,
    parents_of,
    scored,
)
from reports.grid import Field, clusters, interval
from reports.load import RunLike


def fields(declared: Declaration) -> tuple[Field, ...]:
    """Return the columns for runs of a benchmark."""
    measure = choice_measure(declared)
    there = f"{measure.head} there"
    expected = "expected wrong picks under a uniform choice"
    right = "steps whose right element is there"
    return (
        RUN,
        Field("place", "Int64", "hidden", "place", "the position in the list, from 0"),
        Field("letter", "str", "text", "letter", "the most frequent letter of the position"),
        Field("listed", "Int64", "hidden", "listed", "answered steps whose list has the position"),
        Field("picked", "Int64", "count", "picked", "answered steps that chose it"),
        Field("share", "float64", "percent", "% of picks", "share among the picks"),
        *interval("share", "% of picks"),
        clusters("share", "% of picks"),
        Field("chance", "float64", "percent", "chance", "share under a uniform choice"),
        Field("wrong", "Int64", "count", "wrong", "wrong picks there"),
        Field("wrong_chance", "float64", "number", "by chance", expected),
        Field("right_there", "Int64", "count", "right one there", right),
        Field("accuracy", "float64", "percent", there, f"{measure.meaning} of those"),
        *interval("accuracy", there),
        clusters("accuracy", there),
    )


@dataclass(frozen=True, slots=True)
class Pick:
    """An answered step.

    parent: its innermost parent.
    chosen: position of the chosen element, from 0.
    right: position of the right element; None if it is not listed.
    size: length of the list.
    """

    parent: Parent
    chosen: int
    right: int | None
    size: int

    def chance(self, wrong: bool) -> list[float]:
        """Uniform probability of each position, except the right one for `wrong` picks."""
        left = self.size - (wrong and self.right is not None)
        return [0.0 if wrong and place == self.right else 1 / left for place in range(self.size)]


@dataclass(frozen=True, slots=True)
class PlaceTest:
    """A chi-square test of uniform positions, over lists of one length.

    picks: number of picks.
    size: length of the lists.
    statistic: Pearson's statistic.
    freedom: degrees of freedom.
    design: mean design effect of the positions (Rao and Scott 1981, first order), at least 1; None
        where all picks are of one parent.
    p: p value of the statistic divided by the design effect; None without one.
    p_independent: p value that takes steps as independent.
    least_expected: smallest expected count.
    """

    picks: int
    size: int
    statistic: float
    freedom: int
    design: float | None
    p: float | None
    p_independent: float
    least_expected: float


def option_positions(run: RunLike | Iterable[RunLike]) -> pd.DataFrame:
    """Return a row per run and position: its share of picks, and accuracy if the answer is there.

    Choices are listed in a seeded random order, so without position bias picks are uniform over the
    list, and wrong picks uniform over the wrong elements. Runs that list candidates in the order of
    a ranker or of the page, or letter them in groups, get only a note. `attrs["tests"]` has the
    tests of all picks and of wrong picks by run. Raises `RunError` for runs that cannot be read.
    """
    analysed = Analysed(run, "positions")
    declared, notes = analysed.declared, analysed.notes
    level = declared.innermost
    records: list[dict[str, Any]] = []
    tests: dict[str, dict[str, dict[str, Any] | None]] = {}
    for label, one in analysed.runs.items():
        tests[label] = {"all": None, "wrong": None}
        steps = list(scored(one).values())
        if reason := _not_drawn(one, steps):
            notes.append(f"{label}: nothing to show, because {reason}.")
            continue
        picks = [pick for record in steps if (pick := pick_of(record, level)) is not None]
        records += ({"run": label, **place} for place in _places(one, steps, picks))
        for which in tests[label]:
            test = place_test(picks, which == "wrong")
            tests[label][which] = asdict(test) if test else None
            notes.append(_sentence(label, "picks" if which == "all" else "wrong picks", test))
    return analysed.frame(
        records,
        fields(declared),
        "Positions in the list: how often each is chosen, and how accurately",
        *notes,
        f"{declared.units.capitalize()} of a {level.one} are not independent, so the chi-square "
        f"statistics are divided by the mean design effect of {level.many}; the p values in "
        f"brackets take {declared.units} as independent and are too small.",
        tests=tests,
    )


def _not_drawn(run: Run, steps: Sequence[StepUnit]) -> str:
    """Why the order of a run's lists is not random; "" if it is."""
    source = run.manifest.chosen.get("candidates", "snapshot")
    if source == "ranker":
        return "its candidates come in the order of a ranker"
    if source == "all":
        return "its candidates come in the order of the page"
    if steps and not any(choice.letter for record in steps for choice in record.detail.choices):
        return "its candidates are lettered in groups"
    return ""


def pick_of(record: StepUnit, level: Level) -> Pick | None:
    """Return the pick of a unit, by parents of a level; None unless it names a listed element."""
    prediction = record.prediction
    if prediction is None or prediction.status != Status.ANSWERED or prediction.letter is None:
        return None
    letters = [choice.letter for choice in record.detail.choices]
    if prediction.letter not in letters:
        return None
    return Pick(
        parent_of(record, level), letters.index(prediction.letter), _right(record), len(letters)
    )


def _right(record: StepUnit) -> int | None:
    places = (p for p, one in enumerate(record.detail.choices) if record.detail.accepts(one))
    return next(places, None)


def place_test(picks: Sequence[Pick], wrong: bool) -> PlaceTest | None:
    """Test all picks, or the wrong ones, on lists of the most frequent length.

    None without picks, or with fewer than two positions to choose from.
    """
    from scipy.special import chdtrc

    kept = [pick for pick in picks if not wrong or pick.chosen != pick.right]
    size = Counter(pick.size for pick in kept).most_common(1)[0][0] if kept else 0
    if size < (3 if wrong else 2):
        return None
    kept = [pick for pick in kept if pick.size == size]
    expected = [0.0] * size
    observed = [0] * size
    residuals: dict[Parent, list[float]] = {}
    for pick in kept:
        sums = residuals.setdefault(pick.parent, [0.0] * size)
        observed[pick.chosen] += 1
        sums[pick.chosen] += 1
        for place, chance in enumerate(pick.chance(wrong)):
            expected[place] += chance
            sums[place] -= chance
    places = [place for place in range(size) if expected[place] > 0]
    statistic = math.fsum((observed[p] - expected[p]) ** 2 / expected[p] for p in places)
    clusters, freedom = len(residuals), len(places) - 1
    spread = math.fsum(sums[p] ** 2 / expected[p] for sums in residuals.values() for p in places)
    design = max(1.0, clusters / (clusters - 1) * spread / freedom) if clusters > 1 else None
    return PlaceTest(
        picks=len(kept),
        size=size,
        statistic=statistic,
        freedom=freedom,
        design=design,
        p=float(chdtrc(freedom, statistic / design)) if design is not None else None,
        p_independent=float(chdtrc(freedom, statistic)),
        least_expected=min(expected[p] for p in places),
    )


def _places(run: Run, steps: Sequence[StepUnit], picks: Sequence[Pick]) -> Iterable[dict[str, Any]]:
    declared = run.manifest.declaration
    measure = choice_measure(declared)
    parents = [pick.parent for pick in picks]
    wrong = [pick for pick in picks if pick.chosen != pick.right]
    letters: dict[int, Counter[str]] = {}
    for record in steps:
        for place, choice in enumerate(record.detail.choices):
            letters.setdefault(place, Counter())[choice.letter] += 1
    for place in sorted(letters):
        there = [record for record in steps if _right(record) == place]
        right = [measured(record, measure) == 1 for record in there]
        listing = [pick for pick in picks if place < pick.size]
        yield {
            "place": place,
            "letter": letters[place].most_common(1)[0][0],
            "listed": len(listing),
            "picked": sum(pick.chosen == place for pick in picks),
            **_share("share", [pick.chosen == place for pick in picks], parents),
            "chance": math.fsum(1 / p.size for p in listing) / len(picks) if picks else None,
            "wrong": sum(pick.chosen == place for pick in wrong),
            "wrong_chance": math.fsum(p.chance(True)[place] for p in wrong if place < p.size),
            "right_there": len(there),
            **_share("accuracy", right, parents_of(there, declared)),
        }


def _share(name: str, hits: Sequence[bool], parents: Sequence[Parent]) -> dict[str, Any]:
    """Return the share of hits, its interval with parents as clusters, and their number."""
    values = list(map(float, hits))
    return {
        name: math.fsum(values) / len(values) if values else None,
        **interval_record(name, mean_interval(values, parents, "micro")),
        f"{name}_clusters": len(set(parents)),
    }


def _sentence(label: str, what: str, test: PlaceTest | None) -> str:
    if test is None:
        return f"{label}, {what}: too few positions or picks to test."
    small = " (expected counts below 5: take it as rough)" if test.least_expected < 5 else ""
    corrected = (
        "p unknown with one cluster"
        if test.design is None
        else f"design effect {test.design:.2f}, p = {test.p:.3f}"
    )
    return (
        f"{label}, {test.picks} {what} among {test.size}: chi-square {test.statistic:.1f} with "
        f"{test.freedom} degrees of freedom, {corrected} [{test.p_independent:.3f}]{small}."
    )
