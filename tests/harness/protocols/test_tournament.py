"""Groups from a queue: who wins, in how many calls, and asking side by side changes nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.conversation import Conversation, Reply
from harness.dialogue import Ask
from harness.protocols.mindact import calls_of, tournament
from parsers.records import Prediction, Status
from tests.harness.protocols.scenes import hold

Answerer = Callable[[tuple[str, ...]], str | None]


def one_by_one(queue: list[str], size: int, answer: Answerer) -> tuple[str | None, int]:
    """The queue as MindAct's paper has it, a group at a time: the answer and the calls."""
    waiting, last, calls = list(queue), None, 0
    while len(waiting) > 1:
        group, waiting = waiting[:size], waiting[size:]
        calls += 1
        chosen = answer(tuple(group))
        if chosen is not None:
            waiting.append(chosen)
            last = chosen
    return (last if waiting else None), calls


def side_by_side(queue: list[str], size: int, answer: Answerer) -> tuple[Prediction, list[int]]:
    groups: dict[str, tuple[str, ...]] = {}

    def ask(place: str, ids: tuple[str, ...]) -> Ask:
        groups[place] = ids
        return Ask(Conversation(()), place)

    def read(place: str, reply: Reply) -> Prediction:
        if not reply.text:
            return Prediction.of(Status.NONE)
        if reply.text == "?":
            return Prediction.of(Status.PARSE_ERROR)
        return Prediction.of(Status.ANSWERED, element=reply.text, operation="CLICK", value=place)

    asked, prediction = hold(
        tournament(queue, size, ask, read), lambda ask: answer(groups[ask.place]) or ""
    )
    places = [one.place for group in asked for one in group]
    assert places == [f"group-{number + 1}" for number in range(len(places))]
    return prediction, [len(group) for group in asked]


@given(
    count=st.integers(1, 60),
    size=st.integers(2, 7),
    salt=st.integers(0, 10**6),
    rejecting=st.integers(0, 100),
)
@settings(max_examples=250, deadline=None)
def test_asking_full_groups_at_once_is_the_sequential_queue(
    count: int, size: int, salt: int, rejecting: int
) -> None:
    def answer(group: tuple[str, ...]) -> str | None:
        drawn = int.from_bytes(hashlib.sha256(f"{salt}{group}".encode()).digest()[:4])
        return None if drawn % 100 < rejecting else group[drawn // 100 % len(group)]

    queue = [f"n{number}" for number in range(count)]
    expected, calls = one_by_one(queue, size, answer)
    prediction, rounds = side_by_side(queue, size, answer)
    assert prediction.element == expected
    assert sum(rounds) == calls
    least, most = calls_of(count, size)
    assert least <= calls <= most


@pytest.mark.parametrize(
    ("count", "least", "most"),
    [(1, 0, 0), (2, 1, 1), (5, 1, 1), (6, 1, 2), (10, 2, 3), (50, 10, 13)],
)
def test_calls_when_all_groups_are_rejected_and_when_none_is(
    count: int, least: int, most: int
) -> None:
    queue = [f"n{number}" for number in range(count)]
    assert calls_of(count, 5) == (least, most)
    assert sum(side_by_side(queue, 5, lambda _: None)[1]) == least
    assert sum(side_by_side(queue, 5, lambda group: group[0])[1]) == most


def test_the_winner_of_the_first_five_meets_the_sixth() -> None:
    prediction, rounds = side_by_side(list("abcdef"), 5, lambda group: group[-1])
    assert rounds == [1, 1]
    # The second group is (f, e): the winner went to the back.
    assert (prediction.element, prediction.value) == ("e", "group-2")


def test_a_queue_that_ends_empty_has_no_answer_and_no_operation() -> None:
    # (a b c d e) -> c; (f c) -> none of them: the queue is empty although c was chosen once.
    prediction, _ = side_by_side(list("abcdef"), 5, lambda g: "c" if len(g) == 5 else None)
    assert (prediction.status, prediction.element, prediction.operation) == (
        Status.NONE,
        None,
        None,
    )
    assert prediction.flags == ("winners-rejected",)


def test_an_unreadable_reply_is_flagged_where_a_later_one_rejects_the_winners() -> None:
    # (a..e) -> c, (f..j) -> unreadable, (k c) -> none of them.
    replies = {"a": "c", "f": "?", "k": None}
    prediction, rounds = side_by_side(list("abcdefghijk"), 5, lambda group: replies[group[0]])
    assert rounds == [2, 1]
    assert prediction.status is Status.NONE
    assert set(prediction.flags) == {"winners-rejected", "group-parse_error"}


def test_a_single_candidate_is_never_asked_about() -> None:
    prediction, rounds = side_by_side(["a"], 5, lambda group: group[0])
    assert rounds == []
    assert prediction == Prediction.of(Status.NONE, flags=("nothing-asked",))
