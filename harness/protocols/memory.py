"""What a protocol shows of the earlier steps: lines, thoughts, pictures, or turns of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adapters.conversation import Message, Order, Picture, Text, illustrated, user
from harness.protocols.texts import Texts, history_lines
from harness.records import Earlier, Step
from harness.settings import History


def history_of(texts: Texts, step: Step, memory: History) -> str:
    """Write the previous actions, a line each, with the thoughts before them where they are shown;
    or say that they are turns."""
    if memory.turns:
        return texts["earlier_turns"]
    history = list(step.history)
    for one in step.before if memory.thoughts else ():
        thoughts = " ".join(one.thoughts.split())
        if thoughts and one.index is not None and one.index < len(history):
            history[one.index] = texts.fill(
                "thoughts", action=history[one.index], thoughts=thoughts
            )
    return history_lines(texts, history, memory.actions)


def with_earlier(
    texts: Texts,
    text: Callable[[str], str],
    step: Step,
    pictures: Sequence[Picture],
    memory: History,
    order: Order,
    spell: Callable[[Earlier], str],
) -> tuple[Message, ...]:
    """Return the messages of a question behind what is shown of earlier steps.

    Args:
        texts: where the words about earlier pictures are.
        text: the question, given what is said of the pictures before its own.
        pictures: those of the step itself.
        spell: the reply of an earlier step, for its turn.
    """
    if memory.turns:
        return (user(text("")), *turns(step.before, memory, spell), user(*pictures))
    earlier = earlier_pictures(step.before, memory)
    about = texts.fill("earlier_pictures", count=len(earlier)) + " " if earlier else ""
    return (illustrated((*earlier, *pictures), text(about), order=order),)


def turns(
    before: Sequence[Earlier], memory: History, spell: Callable[[Earlier], str]
) -> tuple[Message, ...]:
    """Return the earlier steps as turns: the pictures of the last ones, and every reply."""
    shown, pictured = memory.of(len(before))
    messages: list[Message] = []
    for left, one in zip(range(shown, 0, -1), before[len(before) - shown :], strict=True):
        if left <= pictured and one.pictures:
            messages.append(user(*one.pictures))
        messages.append(Message("assistant", (Text(spell(one)),)))
    return tuple(messages)


def earlier_pictures(before: Sequence[Earlier], memory: History) -> tuple[Picture, ...]:
    """Return the pictures of earlier steps that are shown, oldest first."""
    _, pictured = memory.of(len(before))
    return tuple(one for step in before[len(before) - pictured :] for one in step.pictures)
