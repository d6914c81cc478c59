"""Sets of recorded steps on screens: what their rows become, what is measured, what is refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from harness.benchmarks.dataset import Items
from harness.benchmarks.folders import Folder
from harness.benchmarks.picture_sets import PictureBenchmark
from harness.benchmarks.screen.benchmark import RuleOptions, ScreenBenchmark
from harness.errors import DataError
from harness.runs.records import Unit
from parsers.actions import Action
from parsers.declaration import Declaration, Group, Level, Measure
from parsers.records import Prediction, Scores, Status
from parsers.screen import (
    BEYOND,
    KIND,
    SCREEN,
    Answers,
    Device,
    Edges,
    Past,
    ScreenDetail,
    Side,
    Task,
    parts,
)
from parsers.screen.rules import RULES, verdicts

PHONE = (1080, 2400)
"""The size of most pictures of AndroidControl; assumed where a set was opened without pictures."""
SLACK_PX = 2
EPISODE = Level("episode", extent="episodes of the same kind")


class ScreenStep(NamedTuple):
    """A recorded step as a file of a set has it.

    where: file and place, for messages.
    pictures: the names that its picture may have.
    actions: those that are right, the recorded one first, in pixels.
    past: the earlier steps; None for the rows of the episode before this one.
    """

    where: str
    episode: str
    step: int
    pictures: tuple[str, ...]
    goal: str
    actions: tuple[Action, ...]
    instruction: str = ""
    boxes: Mapping[str, tuple[Edges, ...]] = {}
    labels: Mapping[str, str] = {}
    size: tuple[int, int] | None = None
    past: tuple[Past, ...] | None = None


def declaration(
    rules: Sequence[str],
    headline: str,
    groups: Sequence[Group] = (),
    level: Level = EPISODE,
    cells: Sequence[str] = (),
) -> Declaration:
    """Return the declaration of a set whose steps are judged under these rules.

    Every rule is a measure of its name; its rates of types and places are `RULE.type` and
    `RULE.grounding`. An episode succeeds if all its steps do, each asked about on the recorded
    screen (teacher forcing). A `level` other than `EPISODE` says what steps lie in that are no
    episodes.
    """
    measures = list(_measures(rules, headline, tuple(cells)))
    return Declaration(
        measures=tuple(measures if level == EPISODE else measures[:-1]),
        levels=(level,),
        groups=(
            Group("split", "the split", whole="episode"),
            Group("action", "the right action"),
            *groups,
        ),
        kind=KIND,
        unit="step",
        actions=SCREEN,
    )


def _measures(rules: Sequence[str], headline: str, cells: tuple[str, ...]) -> Iterator[Measure]:
    for name in (headline, *(one for one in rules if one != headline)):
        rule, main = RULES[name], name == headline
        averages = (*(("cells",) if cells else ()), "micro", "macro")
        yield Measure(
            name,
            name,
            f"steps that are right: {rule.meaning}",
            main=main,
            averages=averages if main else ("micro",),
            cells=cells if main else (),
        )
    for name in (headline, *(one for one in rules if one != headline)):
        main = name == headline
        yield Measure(
            f"{name}.type",
            "type" * main,
            f"steps with the right kind of action, by {name}",
            averages=("micro",),
        )
        yield Measure(
            f"{name}.grounding",
            "place" * main,
            f"places that are right, by {name}",
            averages=("micro",),
        )
        if RULES[name].score:
            yield Measure(
                f"{name}.score",
                "score" * main,
                f"graded scores of steps, by {name}",
                averages=("micro",),
            )
        if RULES[name].raises:
            yield Measure(
                f"{name}.raised",
                meaning=f"answers at which the published code of {name} stops; they count as wrong",
                averages=(),
            )
    yield Measure(
        "episode_success",
        "episodes",
        f"episodes whose steps are all right by {headline}, each on its recorded screen",
        all_of=headline,
        averages=("micro",),
    )


@dataclass(frozen=True)
class ScreenSet(PictureBenchmark, ScreenBenchmark):
    """Recorded steps on screens.

    Attributes:
        rules: the rules that its steps are judged under.
        judged: the rules of splits that not all of `rules` fit, by split.
        headline: the rule of the headline, by split; the others have that of `declared`.
        level: what the steps of a split lie in, by split; the others have that of `declared`.
        averaged: groups whose values the headline is averaged over, by split.
        stored: which side its files name in a scroll.
        boxed: whether its files come with boxes.
        script: whether its steps may hold several actions.
        device: what its screens belong to.
    """

    rules: tuple[str, ...] = ("strict",)
    judged: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    headline: Mapping[str, str] = field(default_factory=dict)
    level: Mapping[str, Level] = field(default_factory=dict)
    averaged: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    stored: Side = "content"
    boxed: bool = False
    script: bool = False
    device: Device = "phone"
    folders: tuple[str, ...] = ("images", "")
    elsewhere: str = "give its folder with --data (docs/screen-steps.md says which files it holds)"
    cell_labels: tuple[str, ...] = ("action",)
    whole = "episode"
    Options = RuleOptions

    def score(self, prediction: Prediction, detail: ScreenDetail) -> Scores:
        """Return the verdicts of every declared rule; an answer that could not be read is wrong."""
        said = prediction.action if prediction.status is Status.ANSWERED else None
        scores: dict[str, float | None] = {}
        rules = tuple(name for name in self.rules if name in self.declared.scores)
        for name, verdict in verdicts(said, detail.gold, detail.size, rules).items():
            parts_of = {"": verdict.step, ".type": verdict.type, ".grounding": verdict.grounding}
            for part, value in parts_of.items():
                scores[name + part] = None if value is None else float(value)
            if RULES[name].raises:
                scores[f"{name}.raised"] = float(verdict.raised)
            if graded := RULES[name].score:
                gold = detail.gold
                scores[f"{name}.score"] = graded(said, gold.action, gold, detail.size)
        return scores

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> Items:
        """Open the folder of the set, or the one above it. Raises `DataError`."""
        opened = super().open(splits=splits, data=data)
        return replace(opened, declared=self.declared_for((splits or self.default_splits)[0]))

    def declared_for(self, split: str) -> Declaration:
        """Return the declaration with the rules and the headline of a split.

        Raises `DataError` for a rule that the split is not judged under.
        """
        usual = self.headline.get(split, self.declared.main.name)
        headline, rules = self.options.rule or usual, self.judged.get(split, self.rules)
        if headline not in rules:
            raise DataError(
                f"--rule {headline}: {self.name}, {split} is judged under {', '.join(rules)}"
            )
        level = self.level.get(split, self.declared.innermost)
        cells = self.averaged.get(split, ()) if headline == usual else ()
        return declaration(rules, headline, self.declared.groups[2:], level, cells)

    def notices(
        self, read: Mapping[str, Sequence[ScreenStep]], units: Sequence[Unit[Any]], folder: Folder
    ) -> list[str]:
        """Say that pictures are missing."""
        if folder.stored or _pictured(folder, read):
            return []
        return [
            f"{folder.root} has no pictures: places are judged as on screens of "
            f"{PHONE[0]} x {PHONE[1]} pixels, and no model can be asked"
        ]

    def units(
        self, read: Mapping[str, Sequence[ScreenStep]], folder: Folder
    ) -> Iterator[tuple[Unit[Any], str]]:
        """Yield the steps, episode by episode. Without any pictures, screens are like `PHONE`."""
        pictured = _pictured(folder, read)
        for split, rows in read.items():
            known = {one.name for row in rows for several in row.actions for one in parts(several)}
            has = tuple(name for name in BEYOND if name in known)
            before: list[Past] = []
            episode = None
            for row in rows:
                if row.episode != episode:
                    before, episode = [], row.episode
                name = _found(folder, row) if pictured else row.pictures[0]
                size = row.size or (folder.size(name) if pictured else PHONE)
                if pictured:
                    self._check_places(row, size, folder)
                past = tuple(before) if row.past is None else row.past
                yield self._step(row, name, size, split, past, has), name
                before.append(Past(row.actions[0], row.instruction))

    def _step(
        self,
        row: ScreenStep,
        name: str,
        size: tuple[int, int],
        split: str,
        past: tuple[Past, ...],
        has: tuple[str, ...],
    ) -> Unit[Any]:
        task = Task(
            goal=row.goal,
            instruction=row.instruction,
            size=size,
            before=past,
            stored=self.stored,
            script=self.script,
            device=self.device,
            has=has,
        )
        boxes = {origin: boxes for origin, boxes in row.boxes.items() if boxes}
        gold = Answers(actions=row.actions, boxes=boxes, boxed=self.boxed, stored=self.stored)
        return self.unit(
            f"{row.episode}_{row.step}",
            ScreenDetail(asked=task, gold=gold),
            split,
            parents={"episode": row.episode},
            labels={"action": row.actions[0].name, **row.labels},
            goal=row.goal,
            position=len(past),
            source=f"{row.where} {name}",
        )

    def _check_places(self, row: ScreenStep, size: tuple[int, int], folder: Folder) -> None:
        for action in (one for several in row.actions for one in parts(several)):
            if action.point is not None and not all(
                -SLACK_PX <= one <= side + SLACK_PX
                for one, side in zip(action.point, size, strict=True)
            ):
                raise DataError(
                    f"{folder.root}/{row.where}: the place {action} lies outside of its picture of "
                    f"{size[0]} x {size[1]} pixels; is the picture another one, or made smaller?"
                )


def by_episode(rows: Iterable[ScreenStep]) -> list[ScreenStep]:
    """Return rows with the steps of an episode together and in order."""
    rows, first = list(rows), dict[str, int]()
    for row in rows:
        first.setdefault(row.episode, len(first))
    return sorted(rows, key=lambda row: (first[row.episode], row.step))


def _pictured(folder: Folder, read: Mapping[str, Sequence[ScreenStep]]) -> bool:
    """Return whether the folder has any pictures: in a place for them, or that of the first row."""
    places = [place for place in folder.pictures if place]
    if "" in folder.pictures:
        places += [name for row in next(iter(read.values()))[:1] for name in row.pictures]
    return any((folder.root / place).exists() for place in places)


def _found(folder: Folder, row: ScreenStep) -> str:
    """Return the name of a step's picture among those that it may have."""
    for name in row.pictures:
        with suppress(DataError):
            folder.size(name)
            return name
    raise DataError(
        f"{folder.root}/{row.where}: step {row.step} of episode {row.episode} has no picture "
        f"{' or '.join(row.pictures)}"
    )
