"""A policy dressed as a model gets the answer only if it says that it needs it."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field

import pytest

from adapters.contract import EncodedPicture, Fatal, Generation, PixelPicture, Request
from adapters.conversation import Conversation, Picture, user
from harness.policies import About, RandomPolicy, Secret
from harness.policies.as_model import PolicyAdapter
from harness.protocols.seeact import TwoRounds
from harness.records import Step
from harness.views import StepView
from parsers.records import Gold, Prediction, Status
from tests.harness.protocols.examples import choices, step, talk

PROTOCOL = TwoRounds()
LISTED = choices(PROTOCOL, *(f"<a id={i}> {i} </a>" for i in range(10)))
SECRET = Secret(Gold("CLICK", "", ("n1",)), "n1")


@dataclass
class Spy:
    """Remembers what it is given."""

    needs_gold: bool
    name: str = "spy"
    given: list[tuple[Step, Secret | None]] = field(default_factory=list)

    View = StepView

    def predict(self, view: StepView, chance: random.Random, secret: Secret | None) -> Prediction:
        step, choices = view.step, view.choices
        self.given.append((step, secret))
        return Prediction.of(
            Status.ANSWERED, choices[2].letter, choices[2].id, operation="TYPE", value="x"
        )


class NoPictures:
    """Policies look at no picture."""

    async def encoded(self, picture: Picture) -> EncodedPicture:
        raise AssertionError("a policy asked for a picture")

    async def pixels(self, picture: Picture) -> PixelPicture:
        raise AssertionError("a policy asked for a picture")


def ask(
    adapter: PolicyAdapter,
    place: str,
    asked: Step | None = None,
    repeat: int = 0,
    secret: Secret | None = None,
) -> str:
    asked = asked or step()
    request = Request(
        Conversation((user("?"),)),
        Generation(max_tokens=99),
        asked.step_id,
        place,
        repeat=repeat,
        about=About(StepView(asked, LISTED), secret),
    )
    return asyncio.run(adapter.ask(request, NoPictures())).text


@pytest.mark.parametrize("needs_gold", [True, False])
def test_the_answer_goes_only_to_policies_that_declare_it(needs_gold: bool) -> None:
    spy = Spy(needs_gold)
    adapter = PolicyAdapter(spy, PROTOCOL, seed=42)
    assert adapter.needs_gold is needs_gold
    ask(adapter, "round-1", secret=SECRET)
    assert spy.given == [(step(), SECRET if needs_gold else None)]


def test_both_replies_speak_the_format_of_the_protocol() -> None:
    adapter = PolicyAdapter(Spy(False), PROTOCOL, seed=42)
    replies = [ask(adapter, place) for place in PROTOCOL.places]
    _, prediction = talk(PROTOCOL.dialogue(StepView(step(), LISTED)), replies)
    assert (prediction.element, prediction.operation, prediction.value) == ("n2", "TYPE", "x")


def test_a_call_that_says_nothing_of_its_unit_is_fatal() -> None:
    adapter = PolicyAdapter(Spy(False), PROTOCOL, seed=42)
    request = Request(Conversation((user("?"),)), Generation(max_tokens=99), "task_step", "round-1")
    with pytest.raises(Fatal, match="not shown"):
        asyncio.run(adapter.ask(request, NoPictures()))


def test_answers_depend_on_step_seed_and_repeat_and_not_on_the_order_of_questions() -> None:
    steps = [step(step_id=f"task_{number}") for number in range(40)]

    def answers(seed: int, order: list[Step], repeat: int = 0) -> dict[str, str]:
        adapter = PolicyAdapter(RandomPolicy(), PROTOCOL, seed)
        return {s.step_id: ask(adapter, "round-2", s, repeat) for s in order}

    first = answers(1, steps)
    assert answers(1, steps[::-1]) == first
    assert answers(2, steps) != first
    assert answers(1, steps, repeat=1) != first
