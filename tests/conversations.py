"""Turns of conversations for tests, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.benchmarks.step.history import PastScene
from harness.benchmarks.step.scene import RecordedScene
from harness.records import Choice, SeenAction, Step
from parsers.records import Operation, Turn


def page_of(*texts: str) -> str:
    """A page with a button of each text, under the ids "1", "2", ..."""
    buttons = "".join(
        f'<button backend_node_id="{number}">{text}</button>'
        for number, text in enumerate(texts, start=1)
    )
    return f'<html backend_node_id="900"><body backend_node_id="901">{buttons}</body></html>'


def past(
    told: str,
    *texts: str,
    positives: Sequence[str] = ("1",),
    operation: Operation = "CLICK",
    value: str = "",
    ranks: Sequence[int] | None = None,
    known: bool = True,
) -> SeenAction:
    """A finished action on a page with a button of each text (`page_of`), all of them candidates.

    ranks: those of the candidates, in the order of the texts; as listed unless given.
    known: whether the page is at hand; it is not when a run is scored again without its data.
    """
    ids = [str(number) for number in range(1, len(texts) + 1)]
    ranked = zip(ids, ranks if ranks is not None else range(len(ids)), strict=True)
    candidates = sorted(ranked, key=lambda pair: pair[1])
    blank = RecordedScene([Choice("", one, "", "") for one in positives])
    return SeenAction(
        index=0,
        action_uid=told,
        told=told,
        operation=operation,
        value=value,
        positives=tuple(positives),
        candidates=tuple(candidates) if known else (),
        elements=tuple(ids) if known else (),
        scene=PastScene(lambda: page_of(*texts)) if known else blank,
    )


def turn(task: str, *actions: SeenAction, turn_id: str = "") -> Turn[SeenAction]:
    """A finished turn; its actions are numbered in order, and their ids are made unique by it."""
    name = turn_id or task
    numbered = (
        replace(one, index=index, action_uid=f"{name}-{index}") for index, one in enumerate(actions)
    )
    return Turn(name, task, tuple(numbered))


def after(step: Step, *turns: Turn[SeenAction], conversation: str = "conversation") -> Step:
    """The step with finished turns before it."""
    info = replace(step.info, conversation=conversation)
    return replace(step, info=info, turns=turns)
