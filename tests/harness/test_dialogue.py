"""`together` runs dialogues side by side without mixing their replies."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.conversation import Conversation, Reply, user
from harness.dialogue import Ask, Asks, Replies, hold, replies_of, together

Talk = Generator[Asks, Replies, list[str]]


def talk(name: str, rounds: list[int]) -> Talk:
    """Asks as many questions at a time as each number says; returns all replies in order."""
    heard: list[str] = []
    for number, width in enumerate(rounds):
        asks = tuple(
            Ask(Conversation((user(f"{name}/{number}/{i}"),)), f"{name}-{number}-{i}")
            for i in range(width)
        )
        replies = yield asks[0] if width == 1 else asks
        heard += [reply.text for reply in replies_of(replies)]
    return heard


def drive(dialogue: Generator[Asks, Replies, tuple[list[str], ...]]) -> tuple[list[str], ...]:
    """Answer every question with itself."""
    return hold(dialogue, lambda ask: Reply(ask.conversation.messages[0].text))


@given(st.lists(st.lists(st.integers(1, 3), max_size=4), max_size=5))
def test_every_dialogue_hears_the_replies_to_its_own_questions(shape: list[list[int]]) -> None:
    results = drive(together(*(talk(str(i), rounds) for i, rounds in enumerate(shape))))
    expected = [
        [f"{i}/{number}/{part}" for number, width in enumerate(rounds) for part in range(width)]
        for i, rounds in enumerate(shape)
    ]
    assert list(results) == expected


def test_closing_closes_every_dialogue() -> None:
    closed: list[str] = []

    def stubborn(name: str) -> Talk:
        try:
            yield Ask(Conversation((user(name),)), name)
        finally:
            closed.append(name)
        return []

    both = together(stubborn("a"), stubborn("b"))
    next(both)
    both.close()
    assert closed == ["a", "b"]


def test_holding_closes_the_dialogue_when_a_question_cannot_be_answered() -> None:
    closed: list[str] = []

    def asking() -> Talk:
        try:
            yield Ask(Conversation((user("?"),)), "only")
        finally:
            closed.append("only")
        return []

    def answer(ask: Ask) -> Reply:
        raise ValueError(f"no reply to '{ask.place}'")

    with pytest.raises(ValueError, match="no reply to 'only'"):
        hold(asking(), answer)
    assert closed == ["only"]
