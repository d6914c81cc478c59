"""Recorded steps: their benchmarks, as a run asks about them and scores them."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from harness.benchmarks.contract import Benchmark
from harness.benchmarks.dataset import Dataset
from harness.benchmarks.index import StoredStep
from harness.benchmarks.options import refuse_given
from harness.benchmarks.recorded import StepDataset, recorded_steps
from harness.benchmarks.shows import Ready, Shows
from harness.benchmarks.step.listing import list_step, list_steps, offered, recalled
from harness.benchmarks.step.options import StepOptions
from harness.candidates import check_distractors
from harness.errors import UserError
from harness.pictures import PicturePolicy, plan
from harness.printing import TEST_DATA_NOTE
from harness.protocols import AskingProtocol
from harness.records import UNREADABLE, Row
from harness.runs import StepUnit
from harness.runs.steps import StepDetail
from harness.views import StepView
from parsers import MIND2WEB, Counts, Declaration, ScoringRules, score
from parsers.actions import Action
from parsers.estimates import unanswered
from parsers.records import F1Variant, Prediction, Scores, Status

if TYPE_CHECKING:
    from harness.benchmarks.step.history import EarlierSteps, FinishedTurns
    from harness.benchmarks.step.predictions import StepPredictions
    from harness.settings import Settings


LONGEST = 60
"""Characters of a recorded value that a list shows."""


@dataclass(frozen=True)
class StepBenchmark(Benchmark):
    """A collection of recorded steps.

    Attributes:
        screenshots: True if its rows have screenshots; unless True, a row without one is valid.
            None where other files may have them.
        stores: True if its data has the questions: prompts, choices and pictures.
        candidates: its stored choices in the words of published results; "" if none are stored.
        f1_of_written: the default variant of operation F1 for written elements; None: the usual
            default.
        declared: the measures of Mind2Web, unless it has its own.
    """

    screenshots: bool | None = True
    candidates: str = ""
    f1_of_written: F1Variant | None = None
    declared: Declaration = field(default=MIND2WEB, kw_only=True)

    View = StepView
    Detail = StepDetail
    Options = StepOptions
    protocol = "seeact-two-rounds"
    pictures = True
    stores: ClassVar[bool] = False
    explained: ClassVar[Mapping[str, str]] = {
        "element": "the right element was chosen",
        "operation_f1": "overlap with the right action and text",
        "success": "element, action and text are right",
        "task_success": "tasks with every step right",
    }
    note = TEST_DATA_NOTE

    @abstractmethod
    def open(
        self, *, splits: Sequence[str] | None = None, data: Path | None = None
    ) -> StepDataset: ...

    @property
    def rules(self) -> ScoringRules:
        """Rules of scoring its steps."""
        options = self.options
        return ScoringRules(
            variant=options.f1,
            step_rule=options.step_rule,
            none_zeroes_operation=options.none_zeroes_operation,
            no_element_zeroes_operation=options.no_element_zeroes_operation,
            wrong_element_zeroes_operation=options.wrong_element_zeroes_operation,
            accept_mapped=options.mapped_operations,
            bag=options.bag,
            point_rule=options.point_rule,
        )

    def of_run(self, settings: Settings) -> Self:
        """Raises `UserError` also for a variant of operation F1 that it does not compute."""
        known, chosen = self.declared.variants("operation_f1"), self.options.f1
        if known and chosen not in known:
            raise UserError(
                f"--f1 {chosen} is not a variant of operation F1 on {self.name}, which has "
                f"{', '.join(known)}"
            )
        return self

    def score(self, prediction: Prediction, detail: Any) -> Scores:
        return score(prediction, detail.gold, self.rules)

    # Steps to show, ask about and record.

    def ready(
        self, part: Dataset[Any], whole: Dataset[Any], shows: Shows
    ) -> Iterator[Ready[StepView]]:
        """Rows are decoded one at a time.

        Raises `DataError` if earlier turns that a memory needs are not ranked, or another run has
        no reply about an earlier step.
        """
        selected = recorded_steps(part)
        earlier, turns = self._around(selected, recorded_steps(whole), shows)
        return list_steps(selected, shows, earlier, turns)

    def lister(self, whole: Dataset[Any], shows: Shows) -> Callable[[Row], Ready[StepView]]:
        """Return a function that lists a row. `whole` holds all rows of the tasks."""
        tasks = recorded_steps(whole)
        earlier, turns = self._around(tasks, tasks, shows)
        return partial(list_step, shows=shows, earlier=earlier, turns=turns)

    def _around(
        self, selected: StepDataset, tasks: StepDataset, shows: Shows
    ) -> tuple[EarlierSteps | None, FinishedTurns | None]:
        """The earlier steps and turns that the protocol shows, checked for selected steps."""
        needs, memory = shows.protocol.needs, shows.protocol.history_shown
        if not (needs.turns or needs.before or needs.segments or shows.replies) and memory.plain:
            return None, None
        from harness.benchmarks.step import history

        if shows.ranks is not None and needs.turns:
            before = history.before_selected(selected, tasks, history.in_conversation)
            _check_ranked(shows, before, "earlier")
        if shows.replies is not None:
            before = history.before_selected(selected, tasks, history.in_task)
            shows.replies.check(one.unit_id for one in before)
        earlier, turns = None, None
        if needs.before or needs.segments or not memory.plain or shows.replies is not None:
            plans = partial(plan, shows.pictures, boxes=(), rule=shows.rule)
            pictured = not memory.plain and shows.pictures.name != "none"
            earlier = history.EarlierSteps(
                tasks, needs.segments, plans if pictured else None, memory, shows.replies
            )
        if needs.turns:
            turns = history.FinishedTurns(tasks, partial(offered, shows=shows))
        return earlier, turns

    def recall(self, unit: StepUnit, *, scene: bool = True) -> Ready[StepView]:
        """The scene knows the recorded texts only."""
        return recalled(unit, scene=scene)

    def check(self, units: Dataset[Any], shows: Shows) -> None:
        """Check that there are conversations where the protocol needs them, numbers of distractors
        and letters, and that every step is ranked."""
        from harness.benchmarks.step.settings import check_history, check_letters, check_seen

        steps, protocol = recorded_steps(units), shows.protocol
        if protocol.needs.turns and steps.whole != "conversation":
            raise UserError(
                f"'{protocol.name}' remembers earlier turns of conversations, and "
                f"{self.name} has none"
            )
        if not steps.screenshots:
            check_seen(self.name, protocol, shows.pictures, " next to its files here")
        check_history(self.stores, shows)
        drawn = self.options.distractors
        if drawn is not None and steps.layout.negatives_column is not None and steps.entries:
            check_distractors(steps.negatives(), drawn)
        check_letters(self, protocol)
        _check_ranked(shows, steps.entries)

    def identity(self, shows: Shows, roles: Mapping[str, str]) -> dict[str, Any]:
        """Return what a run records about its candidates, its None option and earlier replies."""
        from harness.benchmarks.step.settings import candidates_told

        return shows.of_replies | ({} if self.stores else candidates_told(shows, roles))

    def fitted(self, protocol: AskingProtocol, settings: Settings, *, is_policy: bool) -> Self:
        """The choice of candidates decides which options have an effect."""
        from harness.benchmarks.step.settings import (
            check_pictures,
            check_stored,
            image_policy_of,
            refuse_candidates,
            source_of,
        )
        from harness.settings import written

        given = self.options
        if self.stores:
            check_stored(self, protocol)
        offered = source_of(given.candidates, protocol)
        # A baseline draws by the seed, too.
        refuse_candidates(self, offered, protocol, settings, draws=is_policy)
        for one, covered in (
            ("no_element_zeroes_operation", "none_zeroes_operation"),
            ("wrong_element_zeroes_operation", "no_element_zeroes_operation"),
        ):
            if getattr(given, one):
                which = f"next to {written(one, 'benchmark')}, which covers it; leave one out"
                refuse_given(self.given, (covered,), which)
        shown = image_policy_of(given.image_policy, protocol)
        check_pictures(self, protocol, PicturePolicy.parse(shown), self.screenshots)
        found: dict[str, Any] = {"candidates": offered, "image_policy": shown}
        if self.f1_of_written is not None and protocol.written and "f1" not in self.given:
            found["f1"] = self.f1_of_written
        if offered == "ranker":
            top_k = given.top_k or protocol.needs.top_k
            found |= {"top_k": top_k, "missed": given.missed or "zero"}
            if given.ranker is None:
                raise UserError(
                    f"'{protocol.name}' asks about the first {top_k} candidates of a ranker: name "
                    "one with --ranker (lexical, or a file of ranks that vlm-eval rankers rank has "
                    "written)"
                )
        if offered != "snapshot":
            found["distractors"] = None
        return replace(self, options=replace(given, **found))

    @property
    def usual_count(self) -> int:
        """Candidates per step according to the options; 100 if it depends on the page."""
        if self.options.candidates == "all":
            return 100
        count: int = self.options.top_k or self.options.distractors + 1
        return count

    def predictions(self, settings: Settings) -> StepPredictions:
        from harness.benchmarks.step.predictions import StepPredictions

        return StepPredictions(settings)

    # Results other than the scores.

    def chance(self, units: Sequence[StepUnit]) -> Iterator[Scores]:
        """The expected scores of `always-click`, CLICK on a choice drawn at random, computed and
        not drawn.

        Without lists of choices it has an operation only, and none where that counts with the right
        element only.
        """
        known: tuple[str, ...] = ("element", "operation_f1", "success")
        rules = self.rules
        if not any(record.detail.choices for record in units):
            known = () if rules.wrong_element_zeroes_operation else known[1:2]
        for record in units:
            found = _chance(record, known, rules)
            yield {name: found[name] for name in known}

    def counts(self, units: Sequence[StepUnit]) -> dict[str, int]:
        return {
            "not_offered": sum(map(not_offered, units)),
            "short": sum(record.detail.short for record in units),
            "same_text": sum(record.detail.same_text > 0 for record in units),
            "related": sum(record.detail.related > 0 for record in units),
        }

    def notes(self, units: Sequence[StepUnit], counts: Counts) -> Iterator[str]:
        if (top_k := self.options.top_k) is not None:
            valid = [record for record in units if record.invalid is None]
            share = f"{sum(map(not_offered, valid))} of {len(valid)} steps"
            yield f"positive not among the top {top_k}: {share}"
        yield f"replies without an element: {unanswered(counts)}"
        if declined := counts.statuses.get(Status.NONE, 0):
            share = f"{100 * declined / counts.n_settled:.1f} %"
            yield f"answered 'none of these': {declined} of {counts.n_settled} ({share})"
        if in_text := counts.flags.get("in_text", 0):
            yield f"letters read from running text: {in_text} of {counts.n_settled}"
        scores = [r.scores for r in units if r.scores and r.scores["element_in_box"] is not None]
        boxed, under = (
            sum(bool(one[name]) for one in scores) for name in ("element_in_box", "element_under")
        )
        if scores:
            yield (
                f"points: {len(scores)}, of which {boxed} in the box of an acceptable element, "
                f"and {under} with one as the smallest candidate under them"
            )
        asked = [record for record in units if record.asked]
        for name, what in (
            ("short", "show fewer negatives than asked for"),
            ("same_text", "have a negative that reads like the positive"),
            ("related", "have a negative around or inside the positive"),
        ):
            if count := sum(getattr(record.detail, name) > 0 for record in asked):
                yield f"choices: {count} of {len(asked)} steps {what}"

    def footnotes(self, *, known: bool) -> Iterator[str]:
        exact = "exactly the recorded operation and value"
        needed = "Op. F1 = 1" if self.options.step_rule == "f1" else exact
        varied = self.declared.variants("operation_f1")
        variant = f"Op. F1 variant: {self.options.f1}. " if varied else ""
        yield f"{variant}A step succeeds with the right element and {needed}."
        ceiling = (
            "the oracle, under this protocol and these rules."
            if known
            else "unknown, as the oracle cannot be asked from the record of this protocol."
        )
        yield f"chance: always-click, expected; ceiling: {ceiling}"

    # Words for people.

    def words(self, unit: StepUnit) -> str:
        """The recorded action in a few words, with the reason why its row is invalid."""
        if unit.invalid == UNREADABLE:
            return f"unreadable: {' '.join(str(unit.error).split())}"
        gold = unit.detail.gold
        value = gold.value[:LONGEST] + ("…" if len(gold.value) > LONGEST else "")
        action = gold.operation + (f" {json.dumps(value, ensure_ascii=False)}" if value else "")
        return f"{action} ({unit.invalid})" if unit.invalid else action

    def offered(self, shows: Shows) -> str:
        """Where the candidates come from, and where "none of these" stands among them."""
        none = getattr(shows.protocol, "none", None)
        return self._offered(shows) + (f", none: {none}" if none is not None else "")

    def _offered(self, shows: Shows) -> str:
        options = self.options
        if self.stores:
            return "as stored"
        if shows.ranks is not None:
            missed = "asked about" if options.missed == "ask" else "zero"
            return (
                f"the first {options.top_k} of ranker {shows.ranks.name}, "
                f"steps without a positive among them: {missed}"
            )
        if options.candidates == "all":
            return "every candidate of the page"
        return f"{options.distractors} distractors, seed {shows.settings.seed}"


def _check_ranked(shows: Shows, entries: Iterable[StoredStep], which: str = "selected") -> None:
    if shows.ranks is not None:
        from harness.rankers import check_covered

        check_covered(shows.ranks, [entry.unit_id for entry in entries], which)


def not_offered(record: StepUnit) -> bool:
    """Return whether the ranker offers no acceptable element of a valid step."""
    if record.invalid is not None:
        return False
    prediction, detail = record.prediction, record.detail
    if prediction is not None and prediction.status is Status.NOT_OFFERED:
        return True
    return bool(detail.choices) and detail.gold.shown is None


def _chance(record: StepUnit, names: Sequence[str], rules: ScoringRules) -> Scores:
    prediction = record.prediction
    missed = prediction is not None and prediction.status is Status.NOT_OFFERED
    if record.invalid is not None or missed:
        return dict.fromkeys(names, 0.0)
    right = next(iter(record.detail.gold.elements), None)
    share = 0.0
    if record.detail.choices:
        share = len(record.detail.right) / len(record.detail.choices)
    hit, miss = (
        score(
            Prediction(Status.ANSWERED, Action("CLICK", element, arguments={"value": ""})),
            record.detail.gold,
            rules,
        )
        for element in (right, "")
    )
    return {name: share * (hit[name] or 0) + (1 - share) * (miss[name] or 0) for name in names}
