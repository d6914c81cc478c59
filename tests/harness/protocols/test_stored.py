"""Questions that a snapshot fixed are sent as stored."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adapters.conversation import Message, Text
from harness.protocols.seeact import TwoRounds
from harness.records import StoredQuestion
from harness.views import StepView
from parsers.records import Status
from tests.harness.protocols.examples import PICTURE, SECOND_PICTURE, choices, step, talk

IMAGE = {"type": "image_url", "image_url": {"url": None}}
LISTED = choices(None, "<a bnid=4>Home</a>", "<a bnid=9>Away</a>")
STORED = StoredQuestion(
    first=(
        {"role": "system", "content": "You help, {task}."},
        {"role": "user", "content": [{"type": "text", "text": "Look: "}, IMAGE]},
    ),
    second=({"role": "user", "content": [{"type": "text", "text": "A. Home\nB. Away"}]},),
    choices=LISTED,
)


def test_the_stored_texts_are_sent_and_nothing_of_our_own() -> None:
    about = step(stored=STORED, task="not shown", history=["[a]  Not shown -> CLICK"])
    replies = ["Away it is.", "ELEMENT: B\nACTION: CLICK\nVALUE: None"]
    (first, second), prediction = talk(TwoRounds().dialogue(StepView(about, LISTED)), replies)
    assert first.conversation.messages == (
        Message("system", (Text("You help, {task}."),)),
        Message("user", (Text("Look: "), PICTURE)),
    )
    assert second.conversation.added == (
        Message("assistant", (Text("\n\nAway it is."),)),
        Message("user", (Text("A. Home\nB. Away"),)),
    )
    assert (prediction.status, prediction.element) == (Status.ANSWERED, "n1")


def test_image_parts_take_the_pictures_in_order_over_all_messages() -> None:
    showing = {"role": "user", "content": [IMAGE]}
    stored = replace(STORED, first=(showing, showing), second=(showing,))
    third = replace(PICTURE, digest="c" * 64)
    about = step(stored=stored, pictures=(PICTURE, SECOND_PICTURE, third))
    questions, _ = talk(TwoRounds().dialogue(StepView(about, LISTED)), ["x", "A"])
    assert questions[0].conversation.pictures == (PICTURE, SECOND_PICTURE)
    assert questions[1].conversation.pictures == (PICTURE, SECOND_PICTURE, third)


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        ({"role": "tool", "content": "x"}, "role 'tool'"),
        ({"role": "user", "content": None}, "no content"),
        ({"role": "user", "content": [{"type": "audio"}]}, "neither text nor picture"),
        ({"role": "user", "content": [IMAGE, IMAGE]}, "the row does not have"),
    ],
)
def test_what_cannot_be_sent_is_an_error(message: dict[str, object], complaint: str) -> None:
    about = step(stored=replace(STORED, first=(message,)))
    with pytest.raises(ValueError, match=complaint):
        next(TwoRounds().dialogue(StepView(about, LISTED)))
