"""Recorded steps as a run asks about them: candidates, pictures of pages, what the data fixes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adapters.contract import AdapterInfo
from harness.benchmarks import (
    Benchmark,
    Dataset,
    StepDataset,
    StoredStep,
    recorded_steps,
    step_benchmark,
)
from harness.candidates import check_distractors
from harness.errors import DataError, UserError, WithoutEffect
from harness.kinds.contract import Question, UnitKind
from harness.kinds.step.extras import StepsExtras
from harness.kinds.step.listing import step_of, unlisted
from harness.kinds.step.questions import (
    Preparer,
    StepQuestion,
    blank,
    recorded_question,
    unreadable,
)
from harness.kinds.step.settings import (
    check_history,
    check_letters,
    check_seen,
    check_stored,
    image_policy_of,
    lacks_of,
    pictures_of,
    source_of,
)
from harness.pictures import PicturePolicy, plan
from harness.protocols import AskingProtocol, text_first
from harness.records import UNREADABLE
from harness.runs import StepUnit
from harness.settings import EPISODES, RULES, SETTINGS, Settings, written

if TYPE_CHECKING:
    from harness.kinds.step.predictions import StepPredictions
    from harness.rankers import Ranks

LONGEST = 60
"""Characters of a recorded value that a list shows."""


class RecordedSteps(UnitKind):
    """Recorded steps, whose elements are offered as candidates.

    ranks: the ranks of the candidates; None unless a ranker is used.
    """

    extras = StepsExtras()

    def __init__(self, settings: Settings, protocol: AskingProtocol) -> None:
        self.settings = settings
        self.protocol = protocol
        self.pictures = pictures_of(settings, self.protocol)
        self.ranks: Ranks | None = None

    @classmethod
    def given(cls, settings: Settings) -> Settings:
        """A snapshot fixes choices, prompts and pictures."""
        source = step_benchmark(settings.benchmark)
        for name, setting in SETTINGS.items():
            if name in settings.given and setting.fixed_as in source.fixes:
                raise WithoutEffect(
                    name,
                    f"{written(name)} has no effect on {settings.benchmark}, whose data fixes it; "
                    "leave it out",
                )
        if not source.fixes:
            return settings
        # Missing data is reported when it is opened.
        data = Path(settings.data) if settings.data and Path(settings.data).exists() else None
        stored = source.stored_settings(data)
        fixed = {
            name: setting.read(stored[name])
            for name, setting in SETTINGS.items()
            # Prompt texts are part of the stored questions, whatever file they came from.
            if setting.fixed_as and name in stored and name != "prompts"
        }
        return replace(settings, **fixed)

    @classmethod
    def never_has(cls, source: Benchmark) -> frozenset[str]:
        """Nothing: runs of recorded steps have all settings on record."""
        return frozenset()

    @classmethod
    def lacks(
        cls, settings: Settings, protocol: AskingProtocol, *, is_policy: bool
    ) -> dict[str, str]:
        """The choice of candidates decides which options have an effect."""
        check_stored(settings.benchmark, settings.candidates, protocol)
        where = f"on {settings.benchmark}, which has recorded steps; leave it out"
        return {EPISODES: where, RULES: where, **lacks_of(settings, protocol, is_policy=is_policy)}

    @classmethod
    def completed(cls, settings: Settings, protocol: AskingProtocol) -> dict[str, Any]:
        source = source_of(settings.candidates, protocol)
        completed: dict[str, Any] = {
            "candidates": source,
            "image_policy": image_policy_of(settings.image_policy, settings.pixels, protocol),
        }
        f1 = step_benchmark(settings.benchmark).f1_of_written
        if f1 is not None and protocol.written and "f1" not in settings.given:
            completed["f1"] = f1
        if source == "ranker":
            completed |= {
                "top_k": settings.top_k or protocol.needs.top_k,
                "missed": settings.missed or "zero",
            }
            if settings.ranker is None:
                raise UserError(
                    f"'{protocol.name}' asks about the first {completed['top_k']} candidates of a "
                    "ranker: name one with --ranker (lexical, or a file of ranks that vlm-eval "
                    "rank has written)"
                )
        return completed

    @classmethod
    def usual_count(cls, settings: Settings) -> int:
        """Candidates per step according to the settings; 100 if it depends on the page."""
        if settings.candidates == "all":
            return 100
        return settings.top_k or settings.distractors + 1

    @classmethod
    def predictions(cls, settings: Settings) -> StepPredictions:
        from harness.kinds.step.predictions import StepPredictions

        return StepPredictions(settings)

    def open(self) -> None:
        """Open the ranks of the candidates, and another run's replies. Raises `UserError`."""
        super().open()
        if self.settings.ranker is not None:
            from harness.rankers import open_ranks

            self.ranks = open_ranks(self.settings.ranker)

    def check(self, selected: Dataset[Any]) -> None:
        """Check that there are conversations where the protocol needs them, numbers of distractors
        and letters, and that every step is ranked."""
        steps = recorded_steps(selected)
        if self.protocol.needs.turns and steps.whole != "conversation":
            raise UserError(
                f"'{self.protocol.name}' remembers earlier turns of conversations, and "
                f"{self.settings.benchmark} has none"
            )
        if not steps.screenshots:
            check_seen(steps.benchmark, self.protocol, self.pictures, " next to its files here")
        given = self.replies is not None
        check_history(self.settings, self.protocol, self.pictures, replied=given)
        drawn = self.settings.candidates in (None, "snapshot")
        if drawn and steps.layout.negatives_column is not None and steps.entries:
            check_distractors(steps, self.settings.distractors)
        check_letters(self.settings, self.protocol, self.usual_count(self.settings))
        self._check_ranked(steps.entries)

    def described(self, roles: Mapping[str, str]) -> dict[str, Any]:
        """Return what a run records about its candidates and its None option.

        A ranker is identified by its own name and a digest, since the same scores may be stored in
        different files. The description used to match published rows is left out where the
        benchmark stores the choices.
        """
        known = super().described(roles)
        settings, ranks, needs = self.settings, self.ranks, self.protocol.needs
        if "choices" in step_benchmark(settings.benchmark).fixes:
            return known
        rule = settings.none or self.protocol.none_rule
        source = settings.candidates or "snapshot"
        description = self.protocol.candidate_description(source, settings.top_k)
        description += ", text first" if text_first(self.protocol) else ""
        description += "".join(f", {role} {name}" for role, name in roles.items())
        if settings.candidates != "snapshot":
            usual = (
                "none"
                if needs.pictures == "none"
                else PicturePolicy.parse(needs.picture_policy).text
            )
            if self.pictures.text != usual:
                description += f", pictures {self.pictures.text}"
            if settings.missed == "ask":
                description += ", asked about where the ranker misses"
        if ranks is None:
            return {**known, "candidates_told": description, "none_rule": rule}
        from harness.rankers import PUBLISHED

        if ranks.name != PUBLISHED:
            description += f", by {ranks.name}"
        by = {"ranker": ranks.name, "ranker_sha256": ranks.digest}
        return {**known, "candidates_told": description, "none_rule": rule, **by}

    def shown(self) -> str:
        if {"images", "prompts"} & step_benchmark(self.settings.benchmark).fixes:
            return "pictures and prompts as stored"
        return super().shown()

    def offered(self) -> str:
        """Where the candidates come from, and where "none of these" stands among them."""
        none = self.settings.none
        return self._offered() + (f", none: {none}" if none is not None else "")

    def _offered(self) -> str:
        settings = self.settings
        if {"distractors", "seed"} & step_benchmark(settings.benchmark).fixes:
            return "as stored"
        if self.ranks is not None:
            missed = "asked about" if settings.missed == "ask" else "zero"
            return (
                f"the first {settings.top_k} of ranker {self.ranks.name}, "
                f"steps without a positive among them: {missed}"
            )
        if settings.candidates == "all":
            return "every candidate of the page"
        return f"{settings.distractors} distractors, seed {settings.seed}"

    def questions(
        self, dataset: Dataset[Any], whole: Dataset[Any], info: AdapterInfo, *, is_blind: bool
    ) -> Iterator[StepQuestion]:
        """Rows are decoded one at a time.

        Raises `DataError` if earlier turns that a memory needs are not ranked, or another run has
        no reply about an earlier step.
        """
        selected = self._covered(dataset, whole)
        return self.preparer(whole, info, is_blind=is_blind).questions(selected)

    def _covered(self, dataset: Dataset[Any], whole: Dataset[Any]) -> StepDataset:
        selected = recorded_steps(dataset)
        if self.ranks is not None and self.protocol.needs.turns:
            from harness.kinds.step.history import entries_before

            earlier = entries_before(selected.entries, recorded_steps(whole).entries)
            self._check_ranked(earlier, "earlier")
        if self.replies is not None:
            from harness.kinds.step.history import before_selected

            self.replies.check(before_selected(selected, recorded_steps(whole)))
        return selected

    def _check_ranked(self, entries: Iterable[StoredStep], which: str = "selected") -> None:
        if self.ranks is not None:
            from harness.rankers import check_covered

            check_covered(self.ranks, [entry.unit_id for entry in entries], which)

    def preparer(self, whole: Dataset[Any], info: AdapterInfo, *, is_blind: bool) -> Preparer:
        """Return the preparer of rows. `whole` holds all rows of the tasks, for earlier actions."""
        tasks, needs = recorded_steps(whole), self.protocol.needs
        earlier, memory = None, self.protocol.history_shown
        if needs.before or needs.segments or not memory.plain or self.replies is not None:
            from harness.kinds.step.history import EarlierSteps

            plans = partial(plan, self.pictures, boxes=(), rule=info.image_rule)
            shows = not memory.plain and self.pictures.name != "none"
            earlier = EarlierSteps(
                tasks, needs.segments, plans if shows else None, memory, self.replies
            )
        return Preparer(
            self.settings,
            self.protocol,
            self.pictures,
            info.image_rule,
            ranks=self.ranks,
            # Such a policy reads choices even where models are not shown them.
            texts=needs.texts or is_blind,
            earlier=earlier,
            tokens=info.text_tokens,
            conversations=tasks if needs.turns else None,
        )

    @classmethod
    def listed(cls, dataset: Dataset[Any]) -> Iterator[StepUnit]:
        """Rows are decoded one at a time."""
        for entry, row in recorded_steps(dataset).decoded():
            if isinstance(row, DataError):
                yield unreadable(blank(entry), str(row))
            else:
                yield unlisted(row)

    @classmethod
    def right(cls, record: StepUnit) -> str:
        """The recorded action in a few words, with the reason why its row is invalid."""
        if record.invalid == UNREADABLE:
            return f"unreadable: {' '.join(str(record.error).split())}"
        gold = record.detail.gold
        value = gold.value[:LONGEST] + ("…" if len(gold.value) > LONGEST else "")
        action = gold.operation + (f" {json.dumps(value, ensure_ascii=False)}" if value else "")
        return f"{action} ({record.invalid})" if record.invalid else action

    def about(self, record: StepUnit) -> str:
        info, detail = step_of(record).info, record.detail
        size = f"{detail.page_size[0]} x {detail.page_size[1]}" if detail.page_size else "lost"
        return (
            f"step {record.unit_id} ({info.split}, {info.website}, number {info.index + 1} of "
            f"{info.total_steps}), screenshot {size}, "
            f"{detail.positives} positive and {detail.negatives} negative candidates"
        )

    def why_unasked(self, question: Question) -> str:
        return (
            f"the recorded element is not among the first {self.settings.top_k} of the "
            "ranker: scored as zero, and no model is asked about it"
        )

    @classmethod
    def ended(cls, record: StepUnit) -> str:
        """The reply is in the words of the protocol, which follow."""
        return str(record.prediction.status) if record.prediction else "not answered"

    @classmethod
    def answer(cls, record: StepUnit) -> str:
        gold = record.detail.gold
        action = f"{gold.operation} {gold.value}".strip()
        listed = [
            f"{choice.letter or 'one without a letter'}: {choice.text}"
            for choice in record.detail.right
        ]
        return (
            f"recorded: {action} on {', '.join(gold.elements)} "
            f"(listed as {', '.join(listed) or 'nothing'})"
        )

    @classmethod
    def of_record(cls, record: StepUnit, *, scene: bool = True) -> StepQuestion:
        """The scene knows the recorded texts only."""
        return recorded_question(record, scene=scene)
