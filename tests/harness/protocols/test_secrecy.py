"""Nothing that reaches a model tells the answer, on the real questions of the sample."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow.parquet as pq
import pytest

from adapters.conversation import Conversation
from harness.benchmarks import open_steps
from harness.benchmarks.shows import Ready, Shows
from harness.benchmarks.step.listing import list_step
from harness.benchmarks.step.options import StepOptions
from harness.protocols.seeact import TwoRounds
from harness.records import Row
from harness.sample import files
from harness.settings import Settings
from harness.views import StepView
from tests.harness.protocols.examples import talk
from tests.units import changed

PROTOCOL = TwoRounds()
MARKERS = ("pos_candidates", "is_original_target", "is_top_level_target", "positive", "gold")


@pytest.fixture(scope="module")
def rows() -> tuple[Row, ...]:
    return tuple(open_steps("sample", splits=["dev"]).rows())


def ready(row: Row) -> Ready[StepView]:
    return list_step(row, Shows(Settings(), StepOptions(), PROTOCOL))


def conversations(question: Ready[StepView]) -> list[Conversation]:
    """What a model that answers nothing of use is asked about a step."""
    dialogue = PROTOCOL.dialogue(StepView(question.view.step, question.view.choices))
    questions, _ = talk(dialogue, ["I cannot say.", "I cannot say."])
    return [ask.conversation for ask in questions]


def texts(conversation: Conversation) -> Iterator[str]:
    return (message.text for message in conversation.messages)


def representations() -> dict[str, list[str]]:
    """The recorded actions of every dev task, read from the file and not through the loader."""
    columns = ["annotation_id", "action_reprs"]
    table = pq.read_table(files()["dev"], columns=columns).to_pylist()
    return {row["annotation_id"]: row["action_reprs"] for row in table}


def test_the_recorded_action_and_those_after_it_are_never_shown(rows: tuple[Row, ...]) -> None:
    recorded = representations()
    checked = 0
    for row in rows:
        question = ready(row)
        if not question.view.choices:
            continue
        past = recorded[row.parents["task"]][: row.position]
        assert list(question.view.step.history) == past
        for line in set(recorded[row.parents["task"]][row.position :]) - set(past):
            checked += 1
            for conversation in conversations(question):
                assert not any(line in text for text in texts(conversation))
    assert checked > 100


def test_no_word_of_the_data_set_marks_the_answer(rows: tuple[Row, ...]) -> None:
    for row in rows:
        question = ready(row)
        if question.view.choices:
            sent = "\n".join(texts(conversations(question)[-1]))
            assert not any(marker in sent for marker in MARKERS)
            assert row.detail.action_uid not in sent
            assert row.parents["task"] not in sent


def test_another_operation_and_value_give_the_same_conversations(rows: tuple[Row, ...]) -> None:
    for row in rows:
        other = changed(
            row, operation="TYPE" if row.detail.operation == "SELECT" else "SELECT", value="another"
        )
        asked, swapped = ready(row), ready(other)
        assert swapped.secret.gold != asked.secret.gold
        if asked.view.choices:
            assert conversations(swapped) == conversations(asked)


def test_another_right_choice_gives_the_same_conversations(rows: tuple[Row, ...]) -> None:
    """With everything listed either way, the labels decide nothing of what is sent."""
    compared = 0
    for row in rows:
        asked = ready(row)
        if asked.secret.shown is None or len(row.detail.positives) != 1 or row.invalid:
            continue
        listed = {choice.id for choice in asked.view.choices}
        negatives = [c for c in row.detail.negatives if c.id in listed]
        first = changed(row, negatives=tuple(negatives))
        exchanged = changed(
            row, positives=(negatives[0],), negatives=(*negatives[1:], *row.detail.positives)
        )
        one, two = ready(first), ready(exchanged)
        assert one.secret.shown != two.secret.shown
        assert conversations(one) == conversations(two)
        compared += 1
    assert compared > 30
