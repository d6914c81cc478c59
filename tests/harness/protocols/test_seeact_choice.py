"""Batches down the page, two rounds each, and which batch's answer counts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.conversation import Finish, Reply
from harness.dialogue import Ask
from harness.page import Box
from harness.protocols.seeact_choice import Cut, SeeActChoice, batches
from harness.records import Choice
from harness.views import StepView
from parsers import Status
from tests.harness.protocols.scenes import hold, question

CLICK = "\nACTION: CLICK\nVALUE: None"


def answers(told: dict[int, str], described: str = "I see.") -> Callable[[Ask], str]:
    """Letters by batch number; None's letter everywhere else."""

    def answer(ask: Ask) -> str:
        if ask.place.endswith("describe"):
            return described
        batch = ask.place.split("-")[1]
        letter = told.get(int(batch), "None") if batch.isdigit() else told[0]
        return f"ELEMENT: {letter}{CLICK}"

    return answer


def at(*boxes: Box | None) -> list[Choice]:
    return [Choice("", str(n), "a", f"<a id={n}>", box) for n, box in enumerate(boxes)]


@pytest.mark.parametrize(
    ("count", "cut", "sizes"),
    [
        (50, "even", [16, 17, 17]),
        (50, "fixed", [17, 17, 16]),
        (51, "even", [17, 17, 17]),
        (52, "even", [13, 13, 13, 13]),
        (35, "fixed", [17, 17, 1]),
        (35, "even", [11, 12, 12]),
        (17, "even", [17]),
        (1, "even", [1]),
    ],
)
def test_every_candidate_is_in_one_batch(count: int, cut: Cut, sizes: list[int]) -> None:
    found = batches(at(*(Box(0, 9.0 * n, 1, 1) for n in range(count))), 17, cut)
    assert [len(batch) for batch in found] == sizes
    assert [choice.id for batch in found for choice in batch] == [str(n) for n in range(count)]


def test_batches_go_down_the_page_and_equal_tops_keep_their_order_or_go_right() -> None:
    low, right, left, unknown = Box(5, 90, 1, 1), Box(70, 10, 1, 1), Box(5, 10, 1, 1), None
    choices = at(unknown, low, right, left)
    assert [c.id for (c,) in batches(choices, 1, "even")] == ["2", "3", "1", "0"]
    assert [c.id for (c,) in batches(choices, 1, "fixed")] == ["3", "2", "1", "0"]


def test_a_batch_is_shown_as_its_own_crop_and_its_own_list_from_a_to_none() -> None:
    step, pool = question(35)
    asked, _ = hold(SeeActChoice(eager=True).dialogue(StepView(step, pool)), answers({}))
    describe, choose = asked
    assert [ask.place for ask in choose] == [f"batch-{n}-choose" for n in (1, 2, 3)]
    assert [ask.continues for ask in describe] == [True] * 3
    second = choose[1].conversation
    # Candidates 11 to 22 of the page, whatever their ranks.
    assert {p.digest for p in second.pictures} == {"+".join(f"n{n}" for n in range(11, 23))}
    text = second.messages[-1].text
    assert "A. <a id=0> Menu 12" not in text and "A. <a id=0> Book a table 11 </a>\n" in text
    assert "L. <a id=11> Sign in 22 </a>\nM. The right element is not among" in text
    assert "choose M." in text and "from A to M." in text
    assert second.earlier is not None and second.earlier.messages[-1].role == "user"
    assert "Book a table for 5" in second.messages[1].text


def test_the_first_batch_with_an_element_settles_the_step_and_no_further_one_is_asked() -> None:
    step, pool = question(35)
    asked, found = hold(SeeActChoice().dialogue(StepView(step, pool)), answers({2: "C", 3: "A"}))
    assert [ask.place for (ask,) in asked] == [
        *("batch-1-describe", "batch-1-choose"),
        *("batch-2-describe", "batch-2-choose"),
    ]
    assert (found.status, found.letter, found.element) == (Status.ANSWERED, "C", "n13")
    assert (found.operation, found.flags) == ("CLICK", ())


@given(told=st.dictionaries(st.integers(1, 4), st.sampled_from(["A", "B", "Z", "A, B", "?"])))
@settings(max_examples=60, deadline=None)
def test_asking_all_batches_at_once_gives_the_same_answer(told: dict[int, str]) -> None:
    step, pool = question(40)
    _, one_by_one = hold(SeeActChoice(batch_size=10).dialogue(StepView(step, pool)), answers(told))
    eager = SeeActChoice(batch_size=10, eager=True)
    asked, at_once = hold(eager.dialogue(StepView(step, pool)), answers(told))
    assert at_once == one_by_one
    assert [len(group) for group in asked] == [4, 4]


def test_a_final_round_is_held_among_the_winners_only() -> None:
    step, pool = question(35)
    asked, found = hold(
        SeeActChoice(final=True).dialogue(StepView(step, pool)), answers({1: "A", 3: "B", 0: "B"})
    )
    last = asked[-1][0]
    assert last.place == "final-choose"
    assert "A. <a id=0> Home 0 </a>\nB. <a id=1> Help 24 </a>\nC. The right" in (
        last.conversation.messages[-1].text
    )
    assert {p.digest for p in last.conversation.pictures} == {"n0+n24"}
    assert (found.letter, found.element) == ("B", "n24")


def test_a_single_winner_needs_no_final_round_and_a_final_none_is_none() -> None:
    step, pool = question(35)
    asked, found = hold(SeeActChoice(final=True).dialogue(StepView(step, pool)), answers({2: "A"}))
    assert [ask.place[:5] for group in asked for ask in group] == ["batch"] * 6
    assert found.element == "n11"
    _, rejected = hold(
        SeeActChoice(final=True).dialogue(StepView(step, pool)),
        answers({1: "A", 2: "A", 0: "none"}),
    )
    assert (rejected.status, rejected.element) == (Status.NONE, None)


def test_batches_that_cannot_be_read_are_passed_over_and_flagged() -> None:
    step, pool = question(35)
    _, found = hold(SeeActChoice().dialogue(StepView(step, pool)), answers({1: "Z", 2: "A"}))
    assert (found.element, found.flags) == ("n11", ("group-out_of_range",))
    _, nothing = hold(
        SeeActChoice().dialogue(StepView(step, pool)), answers({1: "Z", 2: "Z", 3: "Z"})
    )
    assert (nothing.status, nothing.flags) == (Status.OUT_OF_RANGE, ("group-out_of_range",))


def test_a_description_that_was_withheld_ends_its_batch_and_not_the_step() -> None:
    step, pool = question(35)

    def answer(ask: Ask) -> Reply:
        if ask.place == "batch-1-describe":
            return Reply("", Finish.CONTENT_FILTER)
        return Reply(f"ELEMENT: A{CLICK}")

    asked, found = hold(SeeActChoice().dialogue(StepView(step, pool)), answer)
    assert [ask.place for (ask,) in asked] == [
        *("batch-1-describe", "batch-2-describe", "batch-2-choose")
    ]
    assert (found.element, found.flags) == ("n11", ("group-content_filter",))


@pytest.mark.parametrize(
    ("options", "top_k", "words"),
    [
        ({}, 50, "ranker top-50, three batches"),
        ({}, 17, "ranker top-17, one batch"),
        ({"final": True}, 50, "ranker top-50, three batches, final round"),
    ],
)
def test_the_candidates_are_told_in_the_words_of_the_published_rows(
    options: dict[str, bool], top_k: int, words: str
) -> None:
    assert SeeActChoice(**options).candidate_description("ranker", top_k) == words  # type: ignore[arg-type]
