"""Samples of a dialogue that vote: what counts as one answer, and which answer is elected."""

from __future__ import annotations

import pytest

from adapters.conversation import Reply
from harness.benchmarks import benchmark
from harness.benchmarks.contract import calls_about
from harness.benchmarks.shows import Shows
from harness.benchmarks.step.options import StepOptions
from harness.dialogue import Act, Ask, Call, Dialogue, Embed, Result, hold_turns
from harness.protocols import open_protocol
from harness.protocols.asking import NEAR, Rule, Vote, elected
from harness.protocols.asking import same_answer as same
from harness.runs.live_steps import behind
from harness.settings import Settings
from harness.views import StepView
from parsers.actions import Action
from parsers.records import Prediction, Status
from tests.harness.engine.support import say
from tests.harness.protocols.examples import choices, step

SAMPLE = benchmark("sample")
STEP, CHOICES = step(), choices(None, "<a Home", "<a Tables", "<a Menu")
VIEW = StepView(STEP, CHOICES)
UNREADABLE = Prediction(Status.PARSE_ERROR)
DECLINED = Prediction(Status.NONE, letter="C")


def click(element: str) -> Prediction:
    return Prediction.of(Status.ANSWERED, element=element, operation="CLICK")


def at(x: float, y: float, under: str | None = None, value: str = "") -> Prediction:
    return Prediction.of(Status.ANSWERED, point=(x, y), operation="CLICK", under=under, value=value)


@pytest.mark.parametrize(
    ("answers", "rule", "chosen", "votes"),
    [
        ("abbab", "majority", "b", (3, 2)),
        ("abcab", "majority", "a", (2, 2, 1)),
        ("abbbb", "first", "a", (1, 4)),
        ("abc", "majority", "a", (1, 1, 1)),
        ("a", "majority", "a", (1,)),
    ],
)
def test_the_answer_of_most_samples_is_elected_and_of_several_the_first(
    answers: str, rule: Rule, chosen: str, votes: tuple[int, ...]
) -> None:
    found = elected([click(one) for one in answers], Vote(len(answers), rule, same))
    assert (found.element, found.votes) == (chosen, votes)
    assert found.sample == answers.index(chosen)
    assert found.agreement == votes[0] / len(answers)


def test_declined_and_unreadable_answers_are_votes_of_their_own() -> None:
    vote = Vote(5, "majority", same)
    said = elected([click("a"), DECLINED, UNREADABLE, DECLINED, UNREADABLE], vote)
    assert (said.status, said.votes) == (Status.NONE, (2, 2, 1))
    said = elected([click("a"), UNREADABLE, UNREADABLE], vote)
    assert (said.status, said.votes) == (Status.PARSE_ERROR, (2, 1))


def test_points_are_the_same_on_one_candidate_and_else_within_the_radius() -> None:
    assert same(at(0, 0, "a"), at(300, 40, "a"))
    assert not same(at(0, 0, "a"), at(1, 0, "b"))
    assert not same(at(0, 0, "a"), at(1, 0))
    assert same(at(0, 0), at(0, NEAR))
    assert not same(at(0, 0), at(1, NEAR))
    assert not same(at(0, 0), at(0, 0, value="x"))


def test_actions_are_the_same_where_name_element_and_arguments_are() -> None:
    typed = Action("type", "7", arguments={"text": "tea"})
    assert same(
        Prediction(Status.ANSWERED, typed, ("multiple",)), Prediction(Status.ANSWERED, typed)
    )
    for other in (Action("type", "7", arguments={"text": "coffee"}), Action("click", "7"), None):
        assert not same(Prediction(Status.ANSWERED, typed), Prediction(Status.ANSWERED, other))


def shown_with(samples: int | None) -> Shows:
    options = StepOptions(candidates="snapshot")
    return Shows(Settings(samples=samples), options, open_protocol("seeact-two-rounds"))


def test_every_sample_is_asked_side_by_side() -> None:
    once, three = (calls_about(SAMPLE, 20, shown_with(samples)) for samples in (None, 3))
    assert (once, three) == ((2, 2), (6, 6))
    turns: list[list[str]] = []

    def answer(calls: tuple[Call, ...]) -> list[Result]:
        turns.append([call.name for call in calls])
        letters = ["B" if "#" in call.name else "A" for call in calls]
        return [Reply(f"ELEMENT: {letter}\nACTION: CLICK\nVALUE: None") for letter in letters]

    said = hold_turns(SAMPLE.dialogue(VIEW, shown_with(3)), answer)
    assert turns == [[f"round-{n}", f"round-{n}#1", f"round-{n}#2"] for n in (1, 2)]
    assert (said.letter, said.votes) == ("B", (2, 1))


def test_samples_within_samples_keep_numbers_of_their_own() -> None:
    def panel() -> Dialogue:
        yield tuple(Ask(say("?"), "judge", sample=number) for number in range(3))
        yield Embed(("x",), "texts")
        return UNREADABLE

    names: list[str] = []

    def answer(calls: tuple[Call, ...]) -> list[Result]:
        names.extend(call.name for call in calls)
        return [Reply("") for _ in calls]

    hold_turns(Vote(2, "majority", same).held(panel), answer)
    assert len(names) == len(set(names)) == 8


def test_actions_in_an_environment_are_not_sampled() -> None:
    def acting() -> Dialogue:
        yield Act("go", "step")
        return UNREADABLE

    with pytest.raises(ValueError, match="cannot be sampled"):
        hold_turns(Vote(2, "majority", same).held(acting), lambda calls: [])


def test_the_calls_behind_a_prediction_are_those_of_the_elected_sample() -> None:
    asks = [Ask(say("?"), place, sample=n) for place in ("look", "choose") for n in range(3)]
    asks.insert(0, Ask(say("?"), "plan"))
    said = elected([click("a"), click("b"), click("b")], Vote(3, "majority", same))
    assert [ask.name for ask in behind(said, asks)] == ["plan", "look#1", "choose#1"]
    assert behind(click("a"), asks) == asks == behind(None, asks)
