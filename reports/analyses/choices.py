"""Analyses of listed choices: upper bounds on the scores of any model, and position bias."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from operator import and_
from typing import Any

import pandas as pd

from harness.runs import Run, RunError, StepUnit
from harness.tables import interval_record
from harness.tables.results import POOLED
from parsers import Declaration, Level, Status, mean_interval
from reports.analyses.units import (
    RUN,
    Analysed,
    Parent,
    choice_measure,
    mean_words,
    measured,
    parent_of,
    parents_of,
    rate,
    rate_fields,
    scored,
)
from reports.grid import Field, clusters, interval
from reports.load import RunLike

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""

_CROP = re.compile(r";box=(\d+),(\d+),(\d+),(\d+);", re.ASCII)
FIELDS = (
    RUN,
    Field("split", "text", "split"),
    Field("bound", "text", "limit"),
    Field("tasks", "count", "tasks"),
    Field("steps", "count", "rows"),
    *rate_fields("steps_possible", "of steps"),
    Field("tasks_possible", "percent", "of tasks"),
)
LISTED = "a right element is listed"
INSIDE = "target wholly inside one picture"
TOUCHED = "target at least partly in a picture"
BOTH = "listed, and wholly inside one picture"
VALID = "rows that can be answered"
PIXEL = 1.0
"""Tolerance in pixels, because boxes have fractional coordinates."""


def ceilings(run: RunLike | Iterable[RunLike]) -> pd.DataFrame:
    """Return upper bounds by run and split, each as a share of steps and of tasks.

    The listed choices and the pictures are read from the run. Every row counts once, whatever the
    number of repeats. Raises `RunError` for runs that cannot be read.
    """
    analysed = Analysed(run, "ceiling")
    declared = analysed.declared
    records: list[dict[str, Any]] = []
    for label, one in analysed.runs.items():
        first: dict[tuple[str, str], StepUnit] = {}
        for record in one.records():
            first.setdefault((record.split, record.unit_id), record)
        groups: dict[str, list[StepUnit]] = {}
        for record in first.values():
            groups.setdefault(record.split, []).append(record)
        if len(groups) > 1:
            groups[POOLED] = list(first.values())
        for split, rows in groups.items():
            head = {"run": label, "split": split}
            records += (head | bound for bound in _bounds(rows, declared))
        valid = [record for record in first.values() if record.invalid is None]
        analysed.notes += _notes(label, one, valid)
    return analysed.frame(
        records,
        FIELDS,
        "Upper bounds for any model, given what was shown",
        f"{mean_words(declared)} A {declared.innermost.one} can succeed if all its rows can. An "
        "element that no picture shows may still be found by the text of the choices: the picture "
        "bounds hold for a model that relies on what it sees.",
        *analysed.notes,
    )


def crops(record: StepUnit) -> list[Box]:
    """Return the regions of the page that a step's pictures show. Raises `RunError` if unknown."""
    matches = [_CROP.search(picture.recipe) for picture in record.pictures]
    if None in matches:
        raise RunError(f"step {record.unit_id} has a picture with an unknown recipe")
    return [tuple(map(float, crop.groups())) for crop in matches if crop]  # type: ignore[misc]


def targets(record: StepUnit) -> list[Box]:
    """Return the boxes of the acceptable elements, without empty ones."""
    listed = [choice.box for choice in record.detail.right]
    known = [
        box for box in (*record.detail.gold.boxes, *listed) if box and box[2] > 0 and box[3] > 0
    ]
    return [(x, y, x + width, y + height) for x, y, width, height in known]


def inside(target: Box, crop: Box) -> bool:
    """Return True if a target lies wholly in a picture, give or take a pixel."""
    return (
        target[0] >= crop[0] - PIXEL
        and target[1] >= crop[1] - PIXEL
        and target[2] <= crop[2] + PIXEL
        and target[3] <= crop[3] + PIXEL
    )


def touches(target: Box, crop: Box) -> bool:
    """Return True if a target and a picture overlap in more than an edge."""
    across = min(target[2], crop[2]) - max(target[0], crop[0])
    along = min(target[3], crop[3]) - max(target[1], crop[1])
    return across > 0 and along > 0


def _bounds(rows: Sequence[StepUnit], declared: Declaration) -> Iterator[dict[str, Any]]:
    valid = [record for record in rows if record.invalid is None]
    yield _share(declared, VALID, rows, map(_has_answer, rows))
    listed = [record.detail.gold.shown is not None for record in valid]
    yield _share(declared, LISTED, valid, listed)
    if any(record.pictures for record in valid):
        seen = [_any(inside, record) for record in valid]
        yield _share(declared, INSIDE, valid, seen)
        yield _share(declared, TOUCHED, valid, [_any(touches, record) for record in valid])
        yield _share(declared, BOTH, valid, map(and_, listed, seen))


def _has_answer(record: StepUnit) -> bool:
    """Return True if an element is acceptable; some benchmarks keep failed rows without one."""
    gold = record.detail.gold
    return record.invalid is None and bool(gold.elements or gold.boxes)


def _share(
    declared: Declaration, bound: str, rows: Sequence[StepUnit], possible: Iterable[bool]
) -> dict[str, Any]:
    """Return the share of rows that can succeed, and of the tasks all of whose rows can."""
    each = list(map(float, possible))
    whole: dict[Parent, float] = {}
    for parent, value in zip(parents_of(rows, declared), each, strict=True):
        whole[parent] = whole.get(parent, 1.0) * value
    return {
        "bound": bound,
        "tasks": len(whole),
        "steps": len(rows),
        **rate("steps_possible", rows, each, declared),
        "tasks_possible": math.fsum(whole.values()) / len(whole) if whole else None,
    }


def _any(test: Any, record: StepUnit) -> bool:
    shown = crops(record)
    return any(test(target, crop) for target in targets(record) for crop in shown)


def _notes(label: str, run: Run, valid: Sequence[StepUnit]) -> Iterator[str]:
    policy = run.manifest.chosen.get("image_policy")
    if not any(record.pictures for record in valid):
        yield f"{label} sent no picture (image policy {policy})."
        return
    yield f"{label} has the image policy {policy}."
    unknown = sum(not targets(record) for record in valid)
    if unknown:
        yield f"{label}: {unknown} targets have no box with an extent, and count as unseen."


def position_fields(declared: Declaration) -> tuple[Field, ...]:
    """Return the columns for runs of a benchmark.

    `chance` and `wrong_chance` are what a uniform choice would give; `accuracy` is over the steps
    whose right element is there.
    """
    measure = choice_measure(declared)
    there = f"{measure.head} there"
    return (
        RUN,
        Field("place", kind="Int64"),
        Field("letter", "text", "letter"),
        Field("listed", kind="Int64"),
        Field("picked", "count", "picked"),
        Field("share", "percent", "% of picks"),
        *interval("share"),
        clusters("share"),
        Field("chance", "percent", "chance"),
        Field("wrong", "count", "wrong"),
        Field("wrong_chance", "number", "by chance"),
        Field("right_there", "count", "right one there"),
        Field("accuracy", "percent", there),
        *interval("accuracy"),
        clusters("accuracy"),
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
        position_fields(declared),
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
            **_share_of("share", [pick.chosen == place for pick in picks], parents),
            "chance": math.fsum(1 / p.size for p in listing) / len(picks) if picks else None,
            "wrong": sum(pick.chosen == place for pick in wrong),
            "wrong_chance": math.fsum(p.chance(True)[place] for p in wrong if place < p.size),
            "right_there": len(there),
            **_share_of("accuracy", right, parents_of(there, declared)),
        }


def _share_of(name: str, hits: Sequence[bool], parents: Sequence[Parent]) -> dict[str, Any]:
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
