"""Recorded steps: their benchmarks, as a run asks about them and scores them."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from harness.benchmarks.contract import Benchmark
from harness.benchmarks.dataset import Dataset
from harness.benchmarks.index import StoredStep
from harness.benchmarks.ready import Ready
from harness.benchmarks.recorded import StepDataset, recorded_steps
from harness.benchmarks.shows import Shows
from harness.benchmarks.step.listing import (
    list_step,
    list_steps,
    offered,
    recalled,
)
from harness.candidates import check_distractors
from harness.errors import UserError
from harness.notes import TEST_DATA_NOTE
from harness.pictures import plan
from harness.protocols import AskingProtocol
from harness.records import UNREADABLE, Row
from harness.runs import StepUnit
from harness.runs.steps import StepDetail
from harness.views import StepView
from parsers import MIND2WEB, Counts, Declaration, Prediction, ScoringRules, score
from parsers.records import F1Variant, Scores

if TYPE_CHECKING:
    from harness.benchmarks.step.history import EarlierSteps, FinishedTurns
    from harness.benchmarks.step.predictions import StepPredictions
    from harness.settings import Settings

LONGEST = 60
"""Characters of a recorded value that a list shows."""
Fixed = Literal["distractors", "seed", "choices", "prompts", "images"]
"""Settings that stored data can fix: number and seed of sampled negatives, the listed choices,
the prompts around them, and the sent images."""


@dataclass(frozen=True)
class StepBenchmark(Benchmark):
    """A collection of recorded steps.

    Attributes:
        screenshots: True if its rows have screenshots; unless True, a row without one is valid.
            None where other files may have them.
        fixes: settings that the data fixes; options that would change them are refused.
        candidates: its stored choices in the words of published results; "" if none are stored.
        f1_of_written: the default variant of operation F1 for written elements; None: the usual
            default.
        declared: the measures of Mind2Web, unless it has its own.
        rules: how its steps are scored.
    """

    screenshots: bool | None = True
    fixes: frozenset[Fixed] = frozenset()
    candidates: str = ""
    f1_of_written: F1Variant | None = None
    declared: Declaration = field(default=MIND2WEB, kw_only=True)
    rules: ScoringRules = field(default=ScoringRules(), kw_only=True)

    View = StepView
    Detail = StepDetail
    protocol = "seeact-two-rounds"
    pictures = True
    note = TEST_DATA_NOTE

    @abstractmethod
    def open(
        self, *, splits: Sequence[str] | None = None, data: Path | None = None
    ) -> StepDataset: ...

    def stored_settings(self, data: Path | None) -> Mapping[str, Any]:
        """Return the settings that the data was made with, read without opening or downloading it.

        They equal `Dataset.settings`; {} if there are none.

        Raises:
            DataError: `data` cannot be read.
        """
        return {}

    def of_run(self, settings: Settings) -> Self:
        """Return the benchmark with the rules of scoring of a run.

        Raises `UserError` for a variant of operation F1 that it does not compute.
        """
        known = self.declared.variants("operation_f1")
        if known and settings.f1 not in known:
            from harness.settings import SETTINGS

            raise UserError(
                f"{SETTINGS['f1'].written(settings.f1)} is not a variant of operation F1 on "
                f"{self.name}, which has {', '.join(known)}"
            )
        return replace(self, rules=scoring_rules(settings))

    def score(self, prediction: Prediction, detail: Any) -> Scores:
        return score(prediction, detail.gold, self.rules)

    # What is shown, asked and put on record.

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
            _check_ranked(shows, history.entries_before(selected.entries, tasks.entries), "earlier")
        if shows.replies is not None:
            shows.replies.check(history.before_selected(selected, tasks))
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

        steps, settings, protocol = recorded_steps(units), shows.settings, shows.protocol
        if protocol.needs.turns and steps.whole != "conversation":
            raise UserError(
                f"'{protocol.name}' remembers earlier turns of conversations, and "
                f"{self.name} has none"
            )
        if not steps.screenshots:
            check_seen(self.name, protocol, shows.pictures, " next to its files here")
        check_history(self.fixes, shows)
        drawn = settings.candidates in (None, "snapshot")
        if drawn and steps.layout.negatives_column is not None and steps.entries:
            check_distractors(steps.negatives(), settings.distractors)
        check_letters(settings, protocol, self.usual_count(settings))
        _check_ranked(shows, steps.entries)

    def identity(self, shows: Shows, roles: Mapping[str, str]) -> dict[str, Any]:
        """Return what a run records about its candidates and its None option."""
        from harness.benchmarks.step.settings import candidates_told

        known = super().identity(shows, roles)
        return known if "choices" in self.fixes else {**known, **candidates_told(shows, roles)}

    # Settings of a run.

    def given(self, settings: Settings) -> Settings:
        """A snapshot fixes choices, prompts and pictures."""
        from harness.benchmarks.step.settings import fixed

        return fixed(self.fixes, self.stored_settings, settings) if self.fixes else settings

    def never_has(self) -> frozenset[str]:
        """Nothing: runs of recorded steps have all settings on record."""
        return frozenset()

    def lacks(
        self, settings: Settings, protocol: AskingProtocol, *, is_policy: bool
    ) -> dict[str, str]:
        """The choice of candidates decides which options have an effect."""
        from harness.benchmarks.step.settings import check_stored, lacks_of
        from harness.settings import EPISODES, RULES

        check_stored(self.name, self.fixes, settings.candidates, protocol)
        where = f"on {self.name}, which has recorded steps; leave it out"
        return {EPISODES: where, RULES: where, **lacks_of(settings, protocol, is_policy=is_policy)}

    def completed(self, settings: Settings, protocol: AskingProtocol) -> dict[str, Any]:
        from harness.benchmarks.step.settings import completed

        return completed(settings, protocol, self.screenshots, self.f1_of_written)

    def usual_count(self, settings: Settings) -> int:
        """Candidates per step according to the settings; 100 if it depends on the page."""
        if settings.candidates == "all":
            return 100
        return settings.top_k or settings.distractors + 1

    def predictions(self, settings: Settings) -> StepPredictions:
        from harness.benchmarks.step.predictions import StepPredictions

        return StepPredictions(settings)

    # Results, beside the scores.

    def chance(self, units: Sequence[StepUnit]) -> Iterable[Scores]:
        from harness.benchmarks.step import results

        return results.chance(units, self.rules)

    def counts(self, units: Sequence[StepUnit]) -> dict[str, int]:
        from harness.benchmarks.step import results

        return results.counts(units)

    def notes(self, units: Sequence[StepUnit], counts: Counts, settings: Settings) -> Iterator[str]:
        from harness.benchmarks.step import results

        return results.notes(units, counts, settings.top_k)

    def footnotes(self, settings: Settings, *, known: bool) -> Iterator[str]:
        exact = "exactly the recorded operation and value"
        needed = "Op. F1 = 1" if settings.step_rule == "f1" else exact
        varied = self.declared.variants("operation_f1")
        variant = f"Op. F1 variant: {settings.f1}. " if varied else ""
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
        none = shows.settings.none
        return self._offered(shows) + (f", none: {none}" if none is not None else "")

    def _offered(self, shows: Shows) -> str:
        settings = shows.settings
        if {"distractors", "seed"} & self.fixes:
            return "as stored"
        if shows.ranks is not None:
            missed = "asked about" if settings.missed == "ask" else "zero"
            return (
                f"the first {settings.top_k} of ranker {shows.ranks.name}, "
                f"steps without a positive among them: {missed}"
            )
        if settings.candidates == "all":
            return "every candidate of the page"
        return f"{settings.distractors} distractors, seed {settings.seed}"


def _check_ranked(shows: Shows, entries: Iterable[StoredStep], which: str = "selected") -> None:
    if shows.ranks is not None:
        from harness.rankers import check_covered

        check_covered(shows.ranks, [entry.unit_id for entry in entries], which)


def scoring_rules(settings: Settings) -> ScoringRules:
    """Return the rules for scoring the prediction of a step."""
    return ScoringRules(
        variant=settings.f1,
        step_rule=settings.step_rule,
        none_zeroes_operation=settings.none_zeroes_operation,
        no_element_zeroes_operation=settings.no_element_zeroes_operation,
        wrong_element_zeroes_operation=settings.wrong_element_zeroes_operation,
        accept_mapped=settings.mapped_operations,
        bag=settings.bag,
        point_rule=settings.point_rule,
    )
