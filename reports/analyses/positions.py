"""Whether a model prefers places in the list."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from harness.runs import Run, StepRecord
from parsers import Status, cluster_t, index_of, letters_for
from reports.about import about_runs
from reports.analyses.steps import Task, chi_square_p, scored, task_of
from reports.frames.schema import Column, schema, typed
from reports.grid import Field, clusters, described, interval
from reports.load import RunLike, open_runs

LETTERS = (
    Column("run", "str", "the run"),
    Column("letter", "str", "the letter of the place"),
    Column("chosen", "Int64", "how many steps chose the element there"),
    Column("chance", "float64", "how many would, were places chosen at random"),
)
LETTERS_SCHEMA = schema(LETTERS)
FIELDS = (
    Field("run", "str", "text", "run", "the run"),
    Field("place", "Int64", "hidden", "place", "the place in the list, from 0"),
    Field("letter", "str", "text", "letter", "the letter of the place, most often"),
    Field("listed", "Int64", "hidden", "listed", "answered steps whose list has the place"),
    Field("picked", "Int64", "count", "picked", "how often the element there was chosen"),
    Field("share", "float64", "percent", "% of picks", "share among the picks"),
    *interval("share", "% of picks"),
    clusters("share", "% of picks"),
    Field("chance", "float64", "percent", "chance", "share if every place were as likely"),
    Field("wrong", "Int64", "count", "wrong", "wrong picks there"),
    Field("wrong_chance", "float64", "number", "by chance", "wrong picks if places were alike"),
    Field("right_there", "Int64", "count", "right one there", "steps whose right element is there"),
    Field("accuracy", "float64", "percent", "Ele. Acc there", "element accuracy of those"),
    *interval("accuracy", "Ele. Acc there"),
    clusters("accuracy", "Ele. Acc there"),
)


@dataclass(frozen=True, slots=True)
class Pick:
    """An answered step: its task, the place chosen and the right one, the length of the list."""

    task: Task
    chosen: int
    right: int | None
    size: int

    def chance(self, wrong: bool) -> list[float]:
        """How likely each place is; without the right one for a pick known to be wrong."""
        left = self.size - (wrong and self.right is not None)
        return [0.0 if wrong and place == self.right else 1 / left for place in range(self.size)]


@dataclass(frozen=True, slots=True)
class PlaceTest:
    """A chi-square test that all places are equally likely, over lists of one length.

    `design` is the mean design effect of the places (Rao and Scott 1981, first order), never taken
    below 1; `p` is of the statistic divided by it, `p_independent` of the statistic as it is.
    """

    picks: int
    size: int
    statistic: float
    freedom: int
    design: float
    p: float
    p_independent: float
    least_expected: float


def option_positions(run: RunLike | Iterable[RunLike]) -> pd.DataFrame:
    """A row per run and place: how often it is chosen, and accuracy when the answer stands there.

    Choices are listed in a seeded random order, so without a preference each place is chosen as
    often as any other of the same list, and wrong picks fall evenly on the wrong elements. Of runs
    that list the candidates of a ranker, or letter them in groups, nothing is shown but a note.
    `attrs` has both tests by run, `tests`. Raises `RunError`.
    """
    opened = open_runs(run)
    records: list[dict[str, Any]] = []
    notes: list[str] = []
    tests: dict[str, dict[str, PlaceTest | None]] = {}
    for label, one in opened.items():
        steps = list(scored(one).values())
        if reason := _not_drawn(one, steps):
            tests[label] = {"all": None, "wrong": None}
            notes.append(f"{label}: nothing to show, because {reason}.")
            continue
        picks = [pick for record in steps if (pick := pick_of(record)) is not None]
        records += _places(label, steps, picks)
        tests[label] = {"all": place_test(picks, False), "wrong": place_test(picks, True)}
        notes += [_sentence(label, which, test) for which, test in tests[label].items()]
    return described(
        records,
        FIELDS,
        title="Positions in the list: how often each is chosen, and how accurately",
        about=about_runs(opened),
        notes=(
            *notes,
            "Steps of a task are not independent, so the chi-square statistics are divided by the "
            "mean design effect of tasks; the p values in brackets take steps as independent and "
            "are too small.",
        ),
        tests={
            label: {which: None if t is None else _plain(t) for which, t in own.items()}
            for label, own in tests.items()
        },
    )


def _not_drawn(run: Run, steps: Sequence[StepRecord]) -> str:
    """Why the places of a run's lists say nothing about chance; "" where they do."""
    source = run.manifest.config.get("candidates", "snapshot")
    if source == "ranker":
        return "its candidates come in the order of a ranker"
    if source == "all":
        return "its candidates come in the order of the page"
    if steps and not any(choice.letter for record in steps for choice in record.choices):
        return "its candidates are lettered in groups"
    return ""


def pick_of(record: StepRecord) -> Pick | None:
    """The pick of a step, None when it names no listed element."""
    said = record.prediction
    if said is None or said.status != Status.ANSWERED or said.letter is None:
        return None
    letters = [choice.letter for choice in record.choices]
    if said.letter not in letters:
        return None
    return Pick(task_of(record), letters.index(said.letter), _right(record), len(letters))


def _right(record: StepRecord) -> int | None:
    return next((p for p, choice in enumerate(record.choices) if choice.positive), None)


def place_test(picks: Sequence[Pick], wrong: bool) -> PlaceTest | None:
    """The test over all picks or the wrong ones, on the most frequent length of list.

    None for lists of fewer than two places to choose from, and for no pick.
    """
    kept = [pick for pick in picks if not wrong or pick.chosen != pick.right]
    if not kept:
        return None
    size = Counter(pick.size for pick in kept).most_common(1)[0][0]
    kept = [pick for pick in kept if pick.size == size]
    if size < (3 if wrong else 2):
        return None
    n = len(kept)
    expected = [0.0] * size
    observed = [0] * size
    residuals: dict[Task, list[float]] = {}
    for pick in kept:
        sums = residuals.setdefault(pick.task, [0.0] * size)
        observed[pick.chosen] += 1
        sums[pick.chosen] += 1
        for place, chance in enumerate(pick.chance(wrong)):
            expected[place] += chance
            sums[place] -= chance
    places = [place for place in range(size) if expected[place] > 0]
    statistic = math.fsum((observed[p] - expected[p]) ** 2 / expected[p] for p in places)
    clusters, freedom = len(residuals), len(places) - 1
    spread = math.fsum(sums[p] ** 2 / expected[p] for sums in residuals.values() for p in places)
    design = clusters / (clusters - 1) * spread / freedom if clusters > 1 else math.inf
    design = max(1.0, design)
    return PlaceTest(
        picks=n,
        size=size,
        statistic=statistic,
        freedom=freedom,
        design=design,
        p=chi_square_p(statistic / design, freedom) if math.isfinite(design) else 1.0,
        p_independent=chi_square_p(statistic, freedom),
        least_expected=min(expected[p] for p in places),
    )


def _places(
    label: str, steps: Sequence[StepRecord], picks: Sequence[Pick]
) -> Iterable[dict[str, Any]]:
    tasks = [pick.task for pick in picks]
    wrong = [pick for pick in picks if pick.chosen != pick.right]
    letters: dict[int, Counter[str]] = {}
    for record in steps:
        for place, choice in enumerate(record.choices):
            letters.setdefault(place, Counter())[choice.letter] += 1
    for place in sorted(letters):
        chosen = [float(pick.chosen == place) for pick in picks]
        reach = cluster_t(chosen, tasks) if picks else None
        there = [record for record in steps if _right(record) == place]
        hits = [float(record.scores is not None and record.scores.element) for record in there]
        hit_reach = cluster_t(hits, [task_of(record) for record in there]) if there else None
        listing = [pick for pick in picks if place < pick.size]
        yield {
            "run": label,
            "place": place,
            "letter": letters[place].most_common(1)[0][0],
            "listed": len(listing),
            "picked": sum(pick.chosen == place for pick in picks),
            "share": math.fsum(chosen) / len(picks) if picks else None,
            "share_low": reach.low if reach else None,
            "share_high": reach.high if reach else None,
            "share_clusters": len(set(tasks)),
            "chance": math.fsum(1 / p.size for p in listing) / len(picks) if picks else None,
            "wrong": sum(pick.chosen == place for pick in wrong),
            "wrong_chance": math.fsum(p.chance(True)[place] for p in wrong if place < p.size),
            "right_there": len(there),
            "accuracy": math.fsum(hits) / len(hits) if hits else None,
            "accuracy_low": hit_reach.low if hit_reach else None,
            "accuracy_high": hit_reach.high if hit_reach else None,
            "accuracy_clusters": len({task_of(record) for record in there}),
        }


def _sentence(label: str, which: str, test: PlaceTest | None) -> str:
    what = "picks" if which == "all" else "wrong picks"
    if test is None:
        return f"{label}, {what}: too few positions or picks to test."
    small = " (expected counts below 5: take it as rough)" if test.least_expected < 5 else ""
    return (
        f"{label}, {test.picks} {what} among {test.size}: chi-square {test.statistic:.1f} with "
        f"{test.freedom} degrees of freedom, design effect {test.design:.2f}, p = {test.p:.3f} "
        f"[{test.p_independent:.3f}]{small}."
    )


def _plain(test: PlaceTest) -> dict[str, float]:
    return {name: getattr(test, name) for name in test.__slots__}


def chosen_letters(steps: pd.DataFrame) -> pd.DataFrame:
    """Chosen letters by run and place, from a frame of steps.

    Counted are steps in which an element was chosen: of 21 choices each has a chance of 1/21. The
    choices are in a seeded random order, so the right ones are as likely in one place as in another
    and a model without a preference stays near chance. Snapshots that were ordered by somebody
    else promise no such thing. Runs that list the candidates of a ranker or of a whole page, and
    steps without letters, are left out: by their order, some places are likelier than others.
    """
    found: dict[str, list[object]] = {column.name: [] for column in LETTERS}
    answered = steps[(steps["status"] == "answered") & steps["letter"].notna()]
    answered = answered[answered["letter"].astype("str") != ""]
    sources = _sources(steps)
    for run, own in answered.groupby("run", observed=True):
        if sources.get(str(run), "snapshot") != "snapshot":
            continue
        chosen = Counter(own["letter"].astype("str"))
        chance: dict[str, float] = defaultdict(float, dict.fromkeys(chosen, 0.0))
        lists = Counter(zip(own["choices"], own["none_letter"].astype("object"), strict=True))
        for (size, none), count in lists.items():
            for name in letters_for(int(size), none if isinstance(none, str) else None):
                chance[name] += count / int(size)
        for name in sorted(chance, key=index_of):
            row = (str(run), name, chosen[name], chance[name])
            for column, value in zip(LETTERS, row, strict=True):
                found[column.name].append(value)
    return typed(found, LETTERS)


def _sources(steps: pd.DataFrame) -> dict[str, object]:
    """Where the candidates of each run came from, as far as the frame says."""
    shared = steps.attrs.get("constants", {}).get("candidates")
    differing = steps.attrs.get("differences", {}).get("candidates", {})
    names = [str(name) for name in steps["run"].unique()]
    return {name: differing.get(name, shared) or "snapshot" for name in names}
