"""SeeAct's grounding by attributes (Zheng et al. 2024, section 3.2).

The model describes the next action on the whole page, then writes five lines about the element. No
choices are offered: the description is matched with all candidates of the page (`matcher`). Flags
on each prediction tell errors of the matching from errors of the model. What the matching costs at
least, a run of the policy `oracle` shows: it writes the right element's own attributes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from adapters.conversation import Message, Reply, user
from harness.dialogue import Dialogue
from harness.protocols.contract import Needs
from harness.protocols.matcher import match, match_notes, told_of
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
    """A description of the next action, then of its element, which is matched with the page."""

    history: int | None = None
    """Number of previous actions shown; None shows all."""
    max_tokens: tuple[int, ...] = ()
    """Token limits of the replies by round, the last one for all later rounds."""

    name = "seeact-attributes"
    paper = "Zheng et al. 2024 (SeeAct), element attributes"
    way = "by attributes"
    places = (FIRST, SECOND)
    needs = Needs(
        sources=("all", "snapshot", "ranker"),
        descriptions=True,
        texts=False,
        forms=False,
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
        """The five lines as a prediction, flagged with how the element was found.

        A description that comes near no element has the status `no_element`.
        """
        said = read_described(reply.text, finish=reply.finish.value)
        if said.status is not Status.ANSWERED:
            return Prediction(
                said.status, operation=said.operation, value=said.value, flags=said.flags
            )
        found = match(choices, said.type, said.text or ("" if said.type else said.name))
        return Prediction(
            Status.ANSWERED if found.choice else Status.NO_ELEMENT,
            element=found.choice.id if found.choice else None,
            operation=said.operation,
            value=said.value,
            flags=tuple(sorted({*said.flags, *found.flags})),
        )

    def spell(
        self, step: Step, choices: Sequence[Choice], prediction: Prediction
    ) -> Mapping[str, str]:
        """Both replies of a model that wants `prediction` and reads its element off the page.

        Read back, they give the element only where no other has the same type and text; else the
        highest of those on the page.
        """
        chosen = next((c for c in choices if c.id == prediction.element), None)
        about = None
        if chosen is not None:
            kind, text = told_of(chosen)
            about = {"name": f"{kind.lower()} {text}".strip(), "type": kind, "text": text}
        answer = spell_described(about, prediction.operation, prediction.value)
        what = about["name"] if about else "none of the elements"
        return {FIRST: f"{prediction.operation or 'No action'}: {what}", SECOND: answer}

    def opening(self, step: Step) -> tuple[Message, ...]:
        """The messages of the first round."""
        return first_messages(self.texts, step, step.pictures, self.history)

    def notes(self, flags: Mapping[str, int]) -> list[str]:
        return match_notes(flags)
