"""SeeAct's textual choices over a ranker's candidates (Zheng et al. 2024, section 3.2).

The candidates are split into batches from the top of the page to its bottom. Each batch is asked
about in two rounds: the model sees the part of the page around its candidates and describes the
next action; then it chooses from the list of the batch, or none. How SeeAct combines batches is not
published. Here the first choice in order counts, as in the authors' online agent, or the choice of
a final round among the winners.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from adapters.conversation import Message, Order, Picture, Reply, user
from harness.dialogue import Dialogue, together
from harness.options import Source
from harness.protocols import seeact
from harness.protocols.contract import Lettering, Needs, flagged, to_prediction
from harness.protocols.groups import (
    CandidateGroup,
    group_of,
    passed_over,
    passed_over_notes,
    unanswered,
)
from harness.protocols.seeact import described_first, first_messages
from harness.protocols.texts import PromptedProtocol
from harness.records import Choice, Scene, Step
from harness.views import StepView
from parsers import ValueStyle, letter, read_answer, write_answer
from parsers.records import Prediction, Status

Cut = Literal["even", "fixed"]
SCHEMA = replace(seeact.SCHEMA, file="seeact_choice.toml")
NEEDS = Needs(
    sources=("ranker", "snapshot", "all"),
    pictures="crops",
    picture_policy="candidates",
)
_COUNTED = ("", "one batch", "two batches", "three batches", "four batches", "five batches")


@dataclass(frozen=True)
class SeeActChoice(PromptedProtocol):
    """Batches of a ranker's candidates, asked one after the other until an element is chosen."""

    batch_size: int = 17
    """Largest number of candidates in a batch."""
    cut: Cut = "even"
    """Rule of splitting candidates into batches, see `batches`."""
    eager: bool = False
    """True if all batches are asked at the same time; the result is the same."""
    final: bool = False
    """True if all batches are asked and several winners then form a last batch, whose answer
    counts."""
    history: int | str | None = None
    """The earlier steps shown (`History`); None: all actions."""
    max_tokens: tuple[int, ...] = ()
    """Token limits of the replies by round, the last one for all later rounds."""
    first_of_many: bool = False
    """True if a reply that names several letters counts as the first of them."""
    value_style: ValueStyle = "plain"
    """Clean-up of values in replies."""
    order: Order = "picture-first"
    """Where the picture stands."""

    name = "seeact-choice"
    paper = "Zheng et al. 2024 (SeeAct), textual choices"
    needs = NEEDS
    none_rule = "last"
    schema = SCHEMA

    def __post_init__(self) -> None:
        """Raise `UserError` for a wrong prompt file, ValueError for an impossible batch size."""
        if not 1 <= self.batch_size <= 100:
            raise ValueError(f"batch_size={self.batch_size}: expected 1 to 100")
        super().__post_init__()

    def calls(self, count: int) -> tuple[int, int]:
        """Two per batch, and two for a final round."""
        number = math.ceil(count / self.batch_size)
        last = 2 if self.final and number > 1 else 0
        return 2 * (number if self.eager or self.final else min(number, 1)), 2 * number + last

    def candidate_description(self, source: Source, top_k: int | None) -> str:
        """Return the candidates in the words of published rows."""
        if source != "ranker" or top_k is None:
            return f"{source}, batches of {self.batch_size}"
        number = math.ceil(top_k / self.batch_size)
        counted = _COUNTED[number] if number < len(_COUNTED) else f"{number} batches"
        otherwise = (", cut as online" if self.cut == "fixed" and number > 1 else "") + (
            ", final round" if self.final else ""
        )
        return f"ranker top-{top_k}, {counted}{otherwise}"

    def dialogue(self, view: StepView) -> Dialogue:
        """Ask about the batches. Raises ValueError without choices."""
        step, choices = view.step, view.choices
        if not choices:
            raise ValueError(f"step {step.step_id} has no choices to offer")
        dialogues = [
            self._batch(step, group, place) for place, group in self._groups(step, choices)
        ]
        results: list[Prediction] = []
        if self.eager or self.final:
            results.extend((yield from together(*dialogues)))
        else:
            for dialogue in dialogues:
                results.append((yield from dialogue))
                if results[-1].status is Status.ANSWERED:
                    break
        winners = [n for n, result in enumerate(results) if result.status is Status.ANSWERED]
        if not winners:
            return unanswered(results)
        if self.final and len(winners) > 1:
            named = [results[n].element or "" for n in winners]
            last = yield from self._batch(step, self._group(step, choices, named), "final")
            return flagged(last, passed_over(results))
        before = results if self.final else results[: winners[0]]
        return flagged(results[winners[0]], passed_over(before))

    def write(self, view: StepView, said: Prediction) -> Mapping[str, str]:
        """Return the replies to all batches of a model that has settled on `said`."""
        step, choices = view.step, view.choices
        replies: dict[str, str] = {}
        for place, group in self._groups(step, choices):
            positions = {choice.id: number for number, choice in enumerate(group.choices)}
            position = positions.get(said.element or "")
            what = self._description(group, position)
            lettering = self._lettering(group)
            replies[f"{place}-describe"] = f"{said.operation or 'No action'}: {what}"
            replies[f"{place}-choose"] = write_answer(
                position,
                said.operation,
                said.value,
                letters=lettering.choices,
                none_letter=lettering.none or "NA",
            )
        return replies

    def _groups(self, step: Step, choices: Sequence[Choice]) -> list[tuple[str, CandidateGroup]]:
        cut = batches(choices, self.batch_size, self.cut)
        return [
            (f"batch-{number}", self._group(step, choices, [choice.id for choice in batch]))
            for number, batch in enumerate(cut, 1)
        ]

    def _group(self, step: Step, choices: Sequence[Choice], ids: Sequence[str]) -> CandidateGroup:
        return group_of(step, choices, ids)

    def _lettering(self, group: CandidateGroup) -> Lettering:
        """The letters of a batch, the last one for none of these."""
        return Lettering(letters_of(group), letter(len(group.choices)))

    def _description(self, group: CandidateGroup, position: int | None) -> str:
        """The first reply's words about the element at `position`; None: it is in another batch."""
        return "nothing here" if position is None else group.choices[position].text

    def _pictures(self, scene: Scene, group: CandidateGroup) -> tuple[Picture, ...]:
        """The part of the page around the candidates of a batch."""
        return scene.crop([choice.id for choice in group.choices])

    def _batch(self, step: Step, group: CandidateGroup, place: str) -> Dialogue:
        rounds = described_first(
            self.opening(step, group),
            (self.question(group),),
            partial(self._read, group=group),
            places=(f"{place}-describe", f"{place}-choose"),
            max_tokens=self.max_tokens,
        )
        return (yield from rounds)

    def _read(self, reply: Reply, group: CandidateGroup) -> Prediction:
        lettering = self._lettering(group)
        answer = read_answer(
            reply.text,
            [choice.text for choice in group.choices],
            letters=lettering.choices,
            none_letter=lettering.none,
            finish=reply.finish.value,
            first_of_many=self.first_of_many,
            value_style=self.value_style,
        )
        return to_prediction(answer, group.choices, lettering)

    def opening(self, step: Step, group: CandidateGroup) -> tuple[Message, ...]:
        """Return the messages of the first round for a batch."""
        pictures = step.pictures if step.scene is None else self._pictures(step.scene, group)
        return first_messages(self.texts, step, pictures, self.history_shown, self.order)

    def question(self, group: CandidateGroup) -> Message:
        """Return the message that the second round adds for a batch."""
        none = letter(len(group.shown))
        lettered = zip(letters_of(group), group.shown, strict=True)
        lines = [f"{option}. {text}" for option, text in lettered]
        lines.append(f"{none}. {self.texts['none_option']}")
        notice = self.texts.fill("none_notice", none_letter=none)
        return user(
            self.texts.fill(
                "second", choices="\n".join(lines), last_letter=none, none_notice=notice
            )
        )

    def notes(self, flags: Mapping[str, int]) -> list[str]:
        return passed_over_notes(flags)


def letters_of(group: CandidateGroup) -> tuple[str, ...]:
    """A, B, ... for the choices of a batch."""
    return tuple(letter(number) for number in range(len(group.choices)))


def batches(choices: Sequence[Choice], size: int, cut: Cut) -> list[tuple[Choice, ...]]:
    """Split choices into batches of at most `size`, by position on the page.

    `even` is the offline rule: sorted by the top of the box, ties in document order (or the given
    order if that is unknown), and split into as few batches as possible, which begin at
    floor(i n / batches). 50 candidates in batches of 17 become 16, 17 and 17, as in the example
    that Zheng et al. 2024 released. `fixed` is the online rule: sorted by top, then left, and every
    batch full except the last. The released code drops a last batch of one; here no candidate is
    lost. Candidates without a box come last.

    >>> [len(b) for b in batches([Choice("", str(i), "a", "") for i in range(50)], 17, "even")]
    [16, 17, 17]
    """
    if cut == "fixed":
        ordered = sorted(choices, key=lambda c: (c.box.y, c.box.x) if c.box else (math.inf, 0.0))
        starts = list(range(0, len(ordered), size))
    else:
        ordered = sorted(
            choices,
            key=lambda c: (c.box.y if c.box else math.inf, -1 if c.place is None else c.place),
        )
        count = math.ceil(len(ordered) / size)
        starts = [number * len(ordered) // count for number in range(count)]
    ends = [*starts[1:], len(ordered)]
    return [tuple(ordered[start:end]) for start, end in zip(starts, ends, strict=True)]
