"""Steps, choices and pictures for the tests of protocols and policies, and a way to talk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from adapters.conversation import Picture, Reply
from harness.dialogue import Ask, Dialogue
from harness.page import Box
from harness.protocols.contract import StepProtocol, lettering
from harness.records import Choice, Step, StoredQuestion
from parsers.records import Prediction, StepInfo

PICTURE = Picture("a" * 64, "full", 1280, 720)
SECOND_PICTURE = Picture("b" * 64, "full", 1280, 900)

HISTORY = (
    "[link]  Tables -> CLICK",
    "[combobox]  Guests -> SELECT: 5 people",
    "[textbox]  Name -> TYPE: Ada",
)


def step(
    task: str = "Book a table for 5",
    history: Sequence[str] = (),
    pictures: Sequence[Picture] = (PICTURE,),
    stored: StoredQuestion | None = None,
    step_id: str = "task_step",
) -> Step:
    """A step of some website."""
    return Step(
        step_id=step_id,
        info=StepInfo(
            task_id=step_id.partition("_")[0],
            action_uid=step_id.partition("_")[2],
            index=len(history),
            total_steps=9,
            benchmark="test",
            split="dev",
            website="somewhere",
            domain="Travel",
            subdomain="Restaurant",
            task=task,
        ),
        history=tuple(history),
        pictures=tuple(pictures),
        stored=stored,
    )


def choices(protocol: StepProtocol | None, *texts: str) -> tuple[Choice, ...]:
    """Choices with these texts, in the order of the page, lettered as the protocol says."""
    letters = lettering(protocol, len(texts)).choices if protocol else "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return tuple(
        Choice(letters[i], f"n{i}", text[1:].split(" ")[0], text, Box(10, 40.0 * i, 100, 30))
        for i, text in enumerate(texts)
    )


def talk(dialogue: Dialogue, replies: Iterable[Reply | str]) -> tuple[list[Ask], Prediction]:
    """Answer a dialogue, one reply per question; what it asked and what it settled on."""
    asked: list[Ask] = []
    answers = iter(replies)
    try:
        question = next(dialogue)
        while True:
            assert isinstance(question, Ask)
            asked.append(question)
            reply = next(answers)
            question = dialogue.send(Reply(reply) if isinstance(reply, str) else reply)
    except StopIteration as stop:
        prediction: Prediction = stop.value
        return asked, prediction
