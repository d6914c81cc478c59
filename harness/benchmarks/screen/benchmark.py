"""Steps on screens as a run asks about them: whole pictures, earlier screens, chance, baselines.

Where published scripts add figures up otherwise than by a mean over steps, their sums are shown.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from adapters.contract import ImageRule
from harness.benchmarks.contract import Benchmark, Scorer
from harness.benchmarks.dataset import Dataset, Items
from harness.benchmarks.picture_sets import mean_scores
from harness.benchmarks.prediction_file import Predictions
from harness.benchmarks.shows import Ready, Shows
from harness.benchmarks.step.options import EarlierOptions
from harness.dialogue import Dialogue
from harness.errors import DataError, UserError, suggestion
from harness.options import History, short_form
from harness.pictures import PictureError, PicturePolicy, plan, read_size
from harness.policies import ItemPolicy, Secret, chance_for
from harness.protocols import ask
from harness.protocols.asking import same_answer
from harness.records import Earlier
from harness.runs import Unit
from harness.settings import Settings
from harness.tables import counted
from harness.views import ScreenView
from parsers import Counts
from parsers.actions import Action
from parsers.points import Convention, to_pixels
from parsers.records import Prediction, Scores, Status
from parsers.screen import Point, ScreenDetail, Side, from_object, gist, parts, placed, told
from parsers.screen.families import FAMILIES
from parsers.screen.reading import read_action
from parsers.screen.rules import atlas_lines
from parsers.screen.scripts import script_weight

if TYPE_CHECKING:
    from harness.benchmarks.replies import PastReplies


ScreenRecord = Unit[ScreenDetail]

PRECISION, FEWEST = 0.003, 8
"""The most that the standard error of chance, as a mean over the steps of a run, may be, and the
smallest number of points of each picture."""
_ACROSS, _DOWN = 0.7548776662466927, 0.5698402909980532
"""The steps of the R2 sequence (Roberts 2018), which covers a square evenly."""
_OPPOSITE_SHARE = 0.8
_NEAR = 60.0
"""Half of the smallest target that Android recommends, 48 dp, at 2.5 pixels per dp."""


@dataclass(frozen=True, kw_only=True)
class RuleOptions(EarlierOptions):
    """Options of a set that is judged under published rules."""

    rule: str | None = short_form("rule")


@dataclass(frozen=True)
class ScreenBenchmark(Benchmark):
    """Recorded steps on screens, each shown whole."""

    View = ScreenView
    Detail = ScreenDetail
    Options = EarlierOptions
    protocol = "screen-agent"
    pictures = whole_pictures = True

    def dialogue(self, view: Any, shows: Shows) -> Dialogue:
        """A vote counts as one answer what does the same."""
        return ask(shows.protocol, view, self.declared.actions, shows.vote(does_the_same))

    def ready(self, part: Dataset[Any], whole: Dataset[Any], shows: Shows) -> Iterator[Ready[Any]]:
        """With the earlier steps, where more of them is shown than what was recorded in words."""
        asked = super().ready(part, whole, shows)
        questions = asked if _shows_sentences(shows) else map(_without_sentence, asked)
        history, replies = shows.protocol.history_shown, shows.replies
        if replies is not None:
            replies.check(unit.unit_id for unit in whole.entries)
        elif not history.turns and history.pictures[1] == 1:
            return questions
        return with_before(questions, whole, history, shows.pictures, shows.rule, replies)

    def identity(self, shows: Shows, roles: Mapping[str, str]) -> dict[str, Any]:
        """Return what a run records about the replies that it shows of earlier steps."""
        return shows.of_replies

    def check(self, units: Dataset[Any], shows: Shows) -> None:
        """Raise `UserError` if steps without a sentence are asked about with theirs."""
        if not _shows_sentences(shows):
            return
        blank = [unit.unit_id for unit in units.entries if not unit.detail.asked.instruction]
        if blank:
            raise UserError(
                f"level=low shows the sentence about each step, and {counted(len(blank), 'step')} "
                f"(the first is {blank[0]}) have none: ask with level=high"
            )

    def predictions(self, settings: Settings) -> ScreenPredictions:
        return ScreenPredictions(settings)

    def words(self, unit: ScreenRecord) -> str:
        return " or ".join(map(told, unit.detail.gold.actions))

    def chance(self, units: Sequence[ScreenRecord]) -> Iterator[Scores]:
        drawn = points_needed(sum(_is_placed(unit.detail) for unit in units))
        return (expected(unit, self.score, drawn) for unit in units)

    def footnotes(self, *, known: bool) -> Iterator[str]:
        yield (
            "chance: a tap at a random point, expected; ceiling: the recorded action, as the form "
            "of the answers can say it"
        )

    def notes(self, units: Sequence[ScreenRecord], counts: Counts) -> Iterator[str]:
        yield from super().notes(units, counts)
        yield from as_published(units)

    def mistake(self, units: Sequence[ScreenRecord], settings: Settings) -> str:
        """Say where most scrolls go the opposite way: then the words are declared wrongly."""
        pairs = [
            (said.arguments.get("direction"), unit.detail.gold.action.arguments["direction"])
            for unit in units
            if unit.prediction and (said := unit.prediction.action) and said.name == "scroll"
            if unit.detail.gold.action.name == "scroll"
        ]
        opposite = {("up", "down"), ("down", "up"), ("left", "right"), ("right", "left")}
        wrong = sum(pair in opposite for pair in pairs)
        if len(pairs) < 10 or wrong < _OPPOSITE_SHARE * len(pairs):
            return ""
        return (
            f"{wrong} of {len(pairs)} scrolls go the opposite way: the model may name the "
            "finger where the view is expected, or the other way about; see --protocol-option "
            "scroll=content|finger"
        )


def does_the_same(one: Prediction, other: Prediction) -> bool:
    """Return whether two answers do the same: places near one another, scrolls one way."""
    ours, theirs = (parts(said.action) if said.action else () for said in (one, other))
    if not ours or len(ours) != len(theirs):
        return (one.status, one.action) == (other.status, other.action)
    pairs = zip(ours, theirs, strict=True)
    return all(
        same_answer(replace(one, action=gist(a)), replace(other, action=gist(b)), _NEAR)
        for a, b in pairs
    )


def _shows_sentences(shows: Shows) -> bool:
    return getattr(shows.protocol, "level", "") == "low"


def _without_sentence(question: Ready[Any]) -> Ready[Any]:
    """Return a question without the sentence about its step, which policies could read, too."""
    view: ScreenView = question.view
    task = replace(view.content, instruction="")
    return replace(question, view=replace(view, content=task))


def points_needed(steps: int) -> int:
    """Return how many points of each picture chance needs, to be as precise as `PRECISION`.

    Of n points of the sequence from a random start, the share within a region has a standard error
    of about 0.5 / n^(3/4) for half of the picture, and less for others.

    >>> points_needed(1), points_needed(100), points_needed(5_000)
    (918, 43, 8)
    """
    needed = math.pow(0.5 / (PRECISION * math.sqrt(max(steps, 1))), 4 / 3)
    return max(FEWEST, math.ceil(needed))


def _is_placed(detail: ScreenDetail) -> bool:
    """Return whether a rule may look at where a tap is."""
    gold = detail.gold
    return bool(gold.all_boxes) or any(action.point for action in gold.actions)


def expected(record: ScreenRecord, score: Scorer, drawn: int) -> Scores:
    """Return the mean scores of taps at evenly spread points.

    drawn: number of points. The id of the step says where they begin.
    """
    width, height = record.detail.size
    start = chance_for(0, 0, record.unit_id, "chance")
    x, y = start.random(), start.random()
    taps = [
        Action("click", point=((x + _ACROSS * n) % 1 * width, (y + _DOWN * n) % 1 * height))
        for n in range(drawn if _is_placed(record.detail) else 1)
    ]
    return mean_scores([score(Prediction(Status.ANSWERED, tap), record.detail) for tap in taps])


def with_before(
    questions: Iterable[Ready[Any]],
    whole: Dataset[ScreenDetail],
    history: History,
    policy: PicturePolicy,
    rule: ImageRule | None,
    replies: PastReplies | None,
) -> Iterator[Ready[Any]]:
    """Yield questions with the earlier steps of their episodes.

    Args:
        whole: all steps of the episodes, selected or not.
        policy: which pictures a screenshot gives.
        replies: what another run replied; None for what was recorded.

    Raises `DataError` for a picture that cannot be read.
    """
    if not isinstance(whole, Items):
        raise TypeError("steps on screens come ready from their set")
    episodes: dict[tuple[str, ...], dict[int, Unit[ScreenDetail]]] = {}
    for unit in whole.entries:
        episodes.setdefault((unit.split, *unit.parents.values()), {})[unit.position] = unit
    units = {unit.unit_id: unit for unit in whole.entries}

    @lru_cache(maxsize=history.pictures[1])
    def screenshot(unit_id: str) -> bytes:
        (data,) = whole.pictures(units[unit_id])
        return data

    for question in questions:
        unit = question.unit
        steps = episodes[unit.split, *unit.parents.values()]
        earlier = [steps[place] for place in sorted(steps) if place < unit.position]
        _, pictured = history.of(len(earlier))
        before, sources = list[Earlier](), dict(question.sources)
        for left, one in zip(range(len(earlier), 0, -1), earlier, strict=True):
            record = Earlier(index=one.position, page_size=one.detail.size)
            if left <= pictured:
                try:
                    shown = read_size(screenshot(one.unit_id))
                    record = replace(record, pictures=plan(policy, shown, (), rule))
                except PictureError as error:
                    raise DataError(f"{one.source or one.unit_id}: {error}") from error
                sources[shown.digest] = screenshot(one.unit_id)
            before.append(record if replies is None else replies.instead(one.unit_id, record))
        view = replace(question.view, before=tuple(before))
        yield replace(question, view=view, sources=sources)


def random_tap(view: ScreenView, chance: random.Random, secret: Secret | None) -> Prediction:
    """Return a tap at a uniformly random point."""
    width, height = view.content.size
    point = chance.random() * width, chance.random() * height
    return Prediction(Status.ANSWERED, Action("click", point=point))


def repeat(view: ScreenView, chance: random.Random, secret: Secret | None) -> Prediction:
    """Return the recorded action of the step before; a wait in the first step."""
    before = view.content.before
    return Prediction(Status.ANSWERED, before[-1].action if before else Action("wait"))


DOWN = Action("scroll", arguments={"direction": "down"})
RANDOM = ItemPolicy("random", ScreenView, random_tap)
REPEAT = ItemPolicy("repeat", ScreenView, repeat)
SCROLL_DOWN = ItemPolicy("scroll-down", ScreenView, lambda *_: Prediction(Status.ANSWERED, DOWN))
WAIT = ItemPolicy("wait", ScreenView, lambda *_: Prediction(Status.ANSWERED, Action("wait")))
Sums = Callable[[Sequence[ScreenRecord]], float | None]


def as_published(records: Sequence[ScreenRecord]) -> Iterator[str]:
    """Lines on the rules that the records have scores of and whose scripts add up otherwise."""
    settled = [one for one in records if one.settled and not one.invalid and one.scores]
    for rule, (how, sums) in _SUMS.items():
        scored = [one for one in settled if rule in (one.scores or {})]
        value = sums(scored) if scored else None
        if value is not None:
            yield f"{rule} as its script adds it up ({how}): {100 * value:.1f}"


def _score(record: Unit[ScreenDetail], name: str) -> float | None:
    return (record.scores or {}).get(name)


def _gui_r1(records: Sequence[ScreenRecord]) -> float | None:
    """Classes of actions without a single hit are in neither sum."""
    kinds: dict[str, list[float]] = {}
    for one in records:
        if (value := _score(one, "gui-r1")) is not None:
            kinds.setdefault(one.detail.gold.action.name, []).append(value)
    found = [value for values in kinds.values() if any(values) for value in values]
    return sum(found) / len(found) if found else None


def _omniact(records: Sequence[ScreenRecord]) -> float | None:
    """Scripts weigh as many as their lines, less 0.9."""
    weights = [script_weight(one.detail.gold.action) for one in records]
    pairs = zip(weights, records, strict=True)
    return sum(weight * (_score(one, "omniact") or 0) for weight, one in pairs) / sum(weights)


def _atlas(records: Sequence[ScreenRecord]) -> float | None:
    """A mean over the lines that both scripts have."""
    hits, lines = 0.0, 0
    for one in records:
        said = one.prediction.action if one.prediction else None
        value = _score(one, "os-atlas-omniact")
        if said is not None and value is not None:
            gold, size = one.detail.gold, one.detail.size
            both = min(len(atlas_lines(action, gold, size)) for action in (said, gold.action))
            hits, lines = hits + value * both, lines + both
    return hits / lines if lines else None


_SUMS: Mapping[str, tuple[str, Sums]] = {
    "gui-r1": ("without classes of actions that have no hit", _gui_r1),
    "omniact": ("scripts weighed by their lines", _omniact),
    "os-atlas-omniact": ("over the lines that both scripts have", _atlas),
}


SLACK = 0.05


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    """`step` is the id; `action` has shares of the picture, unless `points` says pixels."""

    step: str
    action: dict[str, Any] | None = None
    points: Literal["unit", "px"] = "unit"
    reply: str | None = None
    family: str = ""
    coordinates: Convention | None = None
    scroll: Side | None = None
    sent: tuple[int, int] | None = None


def _share(point: Point) -> Point | None:
    """A place in shares, with a little room around the picture."""
    return point if all(-SLACK <= one <= 1 + SLACK for one in point) else None


class ScreenPredictions(Predictions):
    """An action, or a reply with its family; a line with neither was not read.

    A step without a line counts as wrong.
    """

    line = _Line
    unit = "step"
    missing = "fail"

    def read(self, line: _Line, where: str) -> _Line:
        if line.action is not None and line.reply is not None:
            raise UserError(f"{where}: give one of action and reply")
        if line.reply is not None:
            if line.family not in FAMILIES:
                raise UserError(
                    f"{where}: family '{line.family}'; {suggestion(line.family, FAMILIES)}"
                )
            if FAMILIES[line.family].scroll is None and line.scroll is None:
                raise UserError(
                    f"{where}: {line.family} has not published what its scrolls name; add "
                    '"scroll": "content" or "finger"'
                )
        if line.action is not None:
            try:
                action = from_object(line.action, (1, 1))
            except ValueError as error:
                raise UserError(f"{where}: {error}") from error
            if line.points == "unit" and placed(action, _share) is None:
                raise UserError(
                    f"{where}: {told(action)} lies outside of the picture: places are shares of "
                    'its sides, unless the line has "points": "px"'
                )
        return line

    def predicted(self, line: _Line, detail: ScreenDetail) -> Prediction:
        if line.action is not None:
            size = detail.size if line.points == "unit" else (1, 1)
            return Prediction(Status.ANSWERED, from_object(line.action, size))
        if line.reply is None:
            return Prediction(Status.PARSE_ERROR)
        family = FAMILIES[line.family]
        side = family.side(line.scroll, detail.gold.stored)
        answer = read_action(line.reply, family, side=side, script=detail.asked.script)
        if answer.action is None:
            return Prediction(answer.status, flags=answer.flags)
        size, sent = detail.size, line.sent or detail.size
        convention = line.coordinates or family.coordinates

        def pixels(point: Point) -> Point | None:
            found = to_pixels(point, convention, sent)
            return found and (found[0] * size[0] / sent[0], found[1] * size[1] / sent[1])

        action = placed(answer.action, pixels)
        return Prediction(answer.status if action else Status.OUT_OF_RANGE, action, answer.flags)
