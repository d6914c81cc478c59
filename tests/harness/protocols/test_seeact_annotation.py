"""Letters in the picture instead of a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from adapters.conversation import Picture
from harness.page import Box
from harness.pictures.marks import place
from harness.protocols.seeact_annotation import UNMARKED, SeeActAnnotation
from harness.records import Choice, Step
from harness.views import StepView
from parsers import letter
from parsers.records import Prediction, Status
from tests.harness.protocols.examples import step
from tests.harness.protocols.scenes import PageScene, by_place, hold, page_of

PAGE = (0, 0, 1280, 700)


@dataclass(frozen=True)
class MarkedScene(PageScene):
    """A picture whose digest says what is marked on it, and how."""

    seen: list[tuple[Sequence[str], Sequence[str]]] = field(default_factory=list)

    def marked(self, ids: Sequence[str], marks: Sequence[str]) -> tuple[Picture, ...]:
        self.seen.append((tuple(ids), tuple(marks)))
        return (Picture("+".join(ids), "marked", 1280, 700),)


def question(count: int, unseen: Sequence[int] = ()) -> tuple[Step, tuple[Choice, ...]]:
    pool = tuple(
        Choice("", f"n{i}", "a", "", None if i in unseen else Box(10, 40.0 * i, 100, 30), i)
        for i in range(count)
    )
    return replace(step(), scene=MarkedScene(page_of(1))), pool


def answers(chosen: dict[str, str]) -> dict[str, str]:
    return {
        f"batch-{n}-{part}": chosen.get(f"{n}", "ELEMENT: NA\nACTION: CLICK")
        for n in range(1, 5)
        for part in ("describe", "choose")
    }


def test_a_batch_is_a_picture_with_letters_and_no_list() -> None:
    asked, picture = question(50)
    asks, found = hold(
        SeeActAnnotation(eager=True).dialogue(StepView(asked, picture)),
        by_place(answers({"2": "ELEMENT: C\nACTION: TYPE\nVALUE: Ohio"})),
    )
    assert isinstance(asked.scene, MarkedScene)
    assert [len(ids) for ids, _ in asked.scene.seen] == [16, 17, 17]
    assert all(marks[0] == "A" for _, marks in asked.scene.seen)
    assert found == Prediction.of(Status.ANSWERED, "C", "n18", operation="TYPE", value="Ohio")
    first, second = asks[0][1], asks[1][1]
    assert len(first.conversation.pictures) == 1
    text = second.conversation.added[-1].text
    assert "from A to Q" in text and "answer NA" in text
    assert "<a" not in text, "choices are not listed"
    assert not second.conversation.added[-1].pictures, "the picture is sent once"


def test_what_lies_beyond_the_edges_of_the_page_takes_no_letter() -> None:
    asked, pool = question(4)
    asked = replace(asked, page_size=(1280, 700))
    pool = (
        replace(pool[0], box=Box(1280, 0, 100, 30)),
        replace(pool[1], box=Box(1279, 40, 100, 30)),
        replace(pool[2], box=Box(10, 700, 100, 30)),
        pool[3],
    )
    _, found = hold(
        SeeActAnnotation().dialogue(StepView(asked, pool)),
        by_place(answers({"1": "ELEMENT: B\nACTION: CLICK"})),
    )
    assert isinstance(asked.scene, MarkedScene)
    assert asked.scene.seen == [(("n1", "n3"), ("A", "B"))]
    assert (found.element, found.flags) == ("n3", (UNMARKED,))
    boxes = [(letter(n), choice.box) for n, choice in enumerate(pool[:3]) if choice.box]
    drawn = place(boxes, PAGE, (1280, 700))
    assert [mark.letter for mark in drawn] == ["B"]


@pytest.mark.parametrize("said", ["NA", "N/A", "None", "**NA**", "NA (not marked)", "none of them"])
@pytest.mark.parametrize("count", [5, 30, 90])
def test_words_for_none_are_no_letters(said: str, count: int) -> None:
    asked, pool = question(count)
    _, found = hold(
        SeeActAnnotation(batch_size=100).dialogue(StepView(asked, pool)),
        by_place(answers({"1": f"ELEMENT: {said}\nACTION: CLICK\nVALUE: None"})),
    )
    assert (found.status, found.element) == (Status.NONE, None)


def test_elements_without_a_box_carry_no_letter_and_are_counted() -> None:
    asked, pool = question(5, unseen=[0, 3])
    protocol = SeeActAnnotation()
    _, found = hold(
        protocol.dialogue(StepView(asked, pool)),
        by_place(answers({"1": "ELEMENT: B\nACTION: CLICK"})),
    )
    assert (found.letter, found.element, found.flags) == ("B", "n2", (UNMARKED,))
    wanted = Prediction.of(Status.ANSWERED, "A", "n3", operation="CLICK")
    _, none = hold(
        protocol.dialogue(StepView(asked, pool)),
        by_place(protocol.write(StepView(asked, pool), wanted)),
    )
    assert (none.status, none.flags) == (Status.NONE, (UNMARKED,))


def test_a_step_without_anything_to_mark_is_none_without_a_call() -> None:
    asked, pool = question(3, unseen=[0, 1, 2])
    asks, found = hold(SeeActAnnotation().dialogue(StepView(asked, pool)), by_place({}))
    assert (asks, found) == ([], Prediction.of(Status.NONE, flags=(UNMARKED,)))
