"""A protocol that asks two others: one writes a plan, one turns the choices into vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adapters import Conversation, Embedded, Reply, user
from harness.dialogue import Ask, Dialogue, Embed
from harness.protocols import Needs, Role, StepProtocol
from harness.views import StepView
from parsers.records import Prediction, Status


@dataclass(frozen=True)
class Planned(StepProtocol):
    """The planner writes words, the choice most like them is taken unless the model says another.

    `planner` asks for the plan in one sentence.
    """

    name = "planned"
    places = ("choose",)
    needs = Needs(pictures="none", picture_policy="none")
    roles = (
        Role("planner", "writes what to look for"),
        Role("embedding", "finds the choice that is most like it", kind="embed"),
    )

    def dialogue(self, view: StepView) -> Dialogue:
        step, choices = view.step, view.choices
        asked = f"Plan step {len(step.history) + 1}: {step.info.task}"
        plan = yield Ask(Conversation((user(asked),)), "plan", role="planner")
        assert isinstance(plan, Reply)
        texts = (plan.text, *(choice.text for choice in choices))
        embedded = yield Embed(texts, "texts")
        assert isinstance(embedded, Embedded)
        wanted, *offered = embedded.vectors
        best = max(range(len(choices)), key=lambda n: _product(wanted, offered[n]))
        question = f"Plan: {plan.text}. Is it {choices[best].text}?"
        reply = yield Ask(Conversation((user(question),)), "choose")
        assert isinstance(reply, Reply)
        return Prediction.of(Status.ANSWERED, element=choices[best].id, operation="CLICK")

    def write(self, view: StepView, said: Prediction) -> Mapping[str, str]:
        step = view.step
        return {"plan": step.info.task, "choose": "yes"}


def _product(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))
