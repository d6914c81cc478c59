"""What a request offers, and how calls that only look are answered from a recorded picture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from adapters.conversation import Message, Result, Text, Tool, ToolCall, user
from parsers.native import Act, Call
from parsers.native.spelling import Spell
from parsers.points import Convention

HALTED = "Not executed: an earlier action in this turn failed."


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools of a request.

    read, spell: how their calls are read and written.
    convention: what their numbers mean.
    """

    tools: tuple[Tool, ...]
    read: Callable[[Call], Iterator[Act]]
    spell: Spell
    convention: Convention


def answered(calls: Sequence[ToolCall], acts: Sequence[Act]) -> Message:
    """Return the answers to the calls of a reply that only looks, in their order.

    After a failure the calls behind it are not carried out.
    """
    results: list[Result] = []
    failed = False
    for number, call in enumerate(calls):
        own = [act for act in acts if act.call == number]
        wrong = next((act for act in own if act.word in ("unknown", "bad")), None)
        if failed or wrong is not None:
            said = HALTED if failed or wrong is None else f"Error: {wrong.text}."
            results.append(Result(call.id, (Text(said),), is_error=True))
            failed = True
            continue
        results.append(Result(call.id, (Text(" ".join(map(_words, own))),)))
    return user(*results)


def _words(act: Act) -> str:
    """Return what a look did, in the words that the published tools have for it."""
    if act.word == "wait":
        return f"Waited {act.seconds:g}s."
    return f"Scrolled {act.text}."
