"""SeeAct's grounding by attributes (Zheng et al. 2024, section 3.2).

The model describes the next action on the whole page, then writes five lines about the element. No
choices are listed: the description is matched with all candidates of the page (`matcher`). Flags on
each prediction separate errors of the matcher from errors of the model. A run of the policy
`oracle`, which writes the right element's own attributes, measures the matcher's share alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from adapters.conversation import Message, Order, Reply, user
from harness.dialogue import Dialogue
from harness.protocols.contract import Needs
from harness.protocols.matcher import described_as, match, match_notes
from harness.protocols.seeact import described_first, first_messages
from harness.protocols.texts import PromptedProtocol, Schema
from harness.records import Choice, Step
from parsers.attributes import read_described, spell_described
from parsers.records import Prediction, Status

SCHEMA = Schema(
    file="seeact_attributes.toml",
    allowed={
        "system": frozenset(),
        "first": frozenset({"task", "history", "pictures"}),
        "second": frozenset(),
        "history_line": frozenset({"number", "action"}),
        "no_history": frozenset(),
        "one_picture": frozenset(),
        "several_pictures": frozenset({"count"}),
    },
    needed={"first": frozenset({"task"}), "history_line": frozenset({"action"})},
)
FIRST, SECOND = "describe", "attributes"


@dataclass(frozen=True)
class SeeActAttributes(PromptedProtocol):
    """Describe the next action, then its element, which is matched with the page."""

    history: int | None = None
    """Number of previous actions shown; None shows all."""
    max_tokens: tuple[int, ...] = ()
    """Token limits of the replies by round, the last one for all later rounds."""
    order: Order = "picture-first"
    """Where the picture stands."""

    name = "seeact-attributes"
    paper = "Zheng et al. 2024 (SeeAct), element attributes"
    way = "by attributes"
    places = (FIRST, SECOND)
    needs = Needs(
        sources=("all", "snapshot", "ranker"),
        descriptions=True,
        texts=False,
        scene=False,
        sees=True,
    )
    none_rule = "in words"
    schema = SCHEMA

    def dialogue(self, step: Step, choices: Sequence[Choice]) -> Dialogue:
        """Describe the action, then the element. Raises ValueError when there are no choices."""
        if not choices:
            raise ValueError(f"step {step.step_id} has no candidates to match with")
        rounds = described_first(
            self.opening(step),
            (user(self.texts["second"]),),
            partial(self.read, choices=choices),
            places=(FIRST, SECOND),
            max_tokens=self.max_tokens,
        )
        return (yield from rounds)

    def read(self, reply: Reply, choices: Sequence[Choice]) -> Prediction:
        """Return the five lines as a prediction, with flags for how the element was matched.

        The status is `no_element` if no element matches.
        """
        answer = read_described(reply.text, finish=reply.finish.value)
        if answer.status is not Status.ANSWERED:
            return Prediction.of(
                answer.status, operation=answer.operation, value=answer.value, flags=answer.flags
            )
        matched = match(choices, answer.type, answer.text or ("" if answer.type else answer.name))
        return Prediction.of(
            Status.ANSWERED if matched.choice else Status.NO_ELEMENT,
            element=matched.choice.id if matched.choice else None,
            operation=answer.operation,
            value=answer.value,
            flags=tuple(sorted({*answer.flags, *matched.flags})),
        )

    def spell(
        self, step: Step, choices: Sequence[Choice], prediction: Prediction
    ) -> Mapping[str, str]:
        """Both replies of a model that describes the element of `prediction` as the page shows it.

        Reading them gives the element back unless a higher one has the same type and text.
        """
        chosen = next((c for c in choices if c.id == prediction.element), None)
        about = None
        if chosen is not None:
            kind, text = described_as(chosen)
            about = {"name": f"{kind.lower()} {text}".strip(), "type": kind, "text": text}
        answer = spell_described(about, prediction.operation, prediction.value)
        what = about["name"] if about else "none of the elements"
        return {FIRST: f"{prediction.operation or 'No action'}: {what}", SECOND: answer}

    def opening(self, step: Step) -> tuple[Message, ...]:
        """Return the messages of the first round."""
        return first_messages(self.texts, step, step.pictures, self.history, self.order)

    def notes(self, flags: Mapping[str, int]) -> list[str]:
        return match_notes(flags)
