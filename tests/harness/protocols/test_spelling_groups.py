"""What protocols that ask in groups spell is read back as the same prediction, page or no page."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.conversation import Reply
from harness.benchmarks.step.scene import RecordedScene
from harness.dialogue import Ask
from harness.protocols import PROTOCOLS, AskingProtocol
from harness.views import StepView
from parsers import OPERATIONS, Operation, Prediction, Status
from parsers.scoring import AS_WRITTEN
from parsers.token_scores import operation_string
from tests.harness.protocols.scenes import by_place, hold, question
from tests.harness.protocols.test_spelling import VALUES

WAYS: dict[str, dict[str, object]] = {
    "seeact-choice": {},
    "seeact-choice eager": {"eager": True},
    "seeact-choice final": {"final": True, "cut": "fixed", "batch_size": 4},
    "seeact-annotation": {},
    "seeact-annotation eager": {"eager": True, "batch_size": 4},
    "mindact-choice": {},
    "mindact-choice reference": {"reader": "reference"},
    "mindact-generate": {},
    "mindact-generate once": {"group_size": 100},
    "mindact-generate reference": {"reader": "reference"},
    "seq2seq": {},
    "seq2seq reference": {"reader": "reference"},
    "mt-mindact": {},
    "mt-mindact fine-tuned": {"form": "seq2seq"},
    "self-map": {},
    "self-map fine-tuned reference": {"form": "seq2seq", "reader": "reference"},
    "self-map letters": {"generation": False},
}

TAKES_ANYTHING = ("mindact-generate reference", "self-map fine-tuned reference")
"""Ways in which a reply without an element is the first one, as in MindAct's own code."""


def protocol_of(way: str) -> AskingProtocol:
    return PROTOCOLS.make(way.split(" ")[0], **WAYS[way])


@pytest.mark.parametrize("way", WAYS)
@given(
    count=st.integers(2, 40),
    picked=st.none() | st.integers(0, 39),
    operation=st.sampled_from(OPERATIONS),
    value=VALUES,
    shuffle=st.integers(0, 3),
)
@settings(max_examples=40, deadline=None)
def test_spelled_predictions_are_read_back(
    way: str, count: int, picked: int | None, operation: Operation, value: str, shuffle: int
) -> None:
    protocol = protocol_of(way)
    step, pool = question(count)
    step = replace(step, shuffle=shuffle)
    value = "" if operation == "CLICK" else value
    if picked is None:
        wanted = Prediction.of(Status.NONE, operation=operation, value=value)
        if way.startswith(("mindact", "seq2seq", "mt-", "self-map")):
            # Their word for none of the elements stands alone.
            wanted = Prediction.of(Status.NONE)
    else:
        element = pool[picked % count].id
        wanted = Prediction.of(Status.ANSWERED, None, element, operation=operation, value=value)
    told = protocol.write(StepView(step, pool), wanted)
    _, found = hold(protocol.dialogue(StepView(step, pool)), by_place(told))
    flags = tuple(flag for flag in found.flags if not flag.startswith("match-"))
    if found.parsed:
        assert found.parsed == {AS_WRITTEN: operation_string(wanted.operation, wanted.value)}
    assert replace(found, letter=None, flags=flags, parsed={}) == wanted


@pytest.mark.parametrize("way", WAYS)
@given(data=st.data(), count=st.integers(2, 40))
@settings(max_examples=25, deadline=None)
def test_replies_read_without_the_page_give_the_same_prediction(
    way: str, data: st.DataObject, count: int
) -> None:
    protocol = protocol_of(way)
    step, pool = question(count)
    replies: dict[str, str] = {}
    said = st.sampled_from("ABCDEFGZ").map(lambda c: f"ELEMENT: {c}\nAction: CLICK")
    said |= st.sampled_from("ABCDEFG").map(lambda c: f"Answer: {c}.\nAction: TYPE\nValue: x")
    said |= st.integers(0, 40).map(lambda n: f"Element: <a id={n}>\nAction: CLICK")
    said |= st.sampled_from(["A.", "B.", "@", "", "Element: Book a table", "None", "Element: 3"])

    def answer(ask: Ask) -> Reply:
        return Reply(replies.setdefault(ask.place, data.draw(said)))

    asked, live = hold(protocol.dialogue(StepView(step, pool)), answer)
    again = replace(step, scene=RecordedScene(pool))
    asked_again, read = hold(protocol.dialogue(StepView(again, pool)), by_place(replies))
    assert read == live
    assert [[a.place for a in group] for group in asked_again] == [
        [a.place for a in group] for group in asked
    ]


@pytest.mark.parametrize("way", WAYS)
def test_the_calls_announced_are_the_calls_asked(way: str) -> None:
    protocol = protocol_of(way)
    for count in (2, 6, 17, 18, 35, 50):
        step, pool = question(count)
        calls = []
        for said in (
            "",
            "None",
            "ELEMENT: B\nACTION: CLICK",
            "Answer: B.",
            "B.",
            "Element: <a id=0>",
        ):
            asked, _ = hold(protocol.dialogue(StepView(step, pool)), lambda _, said=said: said)  # type: ignore[misc]
            calls.append(sum(len(group) for group in asked))
        assert (min(calls), max(calls)) == protocol.calls(count), count


@pytest.mark.parametrize("way", WAYS)
def test_settings_are_json_and_hold_every_parameter(way: str) -> None:
    told = protocol_of(way).settings()
    assert told["protocol"] == way.split(" ")[0]
    assert all(told[name] == value for name, value in WAYS[way].items())
    assert {"prompts", "prompts_sha256", "history", "max_tokens"} <= set(told)


@pytest.mark.parametrize("way", WAYS)
def test_a_step_without_choices_is_an_error(way: str) -> None:
    step, _ = question(2)
    with pytest.raises(ValueError, match="has no choices"):
        next(protocol_of(way).dialogue(StepView(step, ())))


@pytest.mark.parametrize("way", [way for way in WAYS if way not in TAKES_ANYTHING])
def test_a_model_that_repeats_the_prompt_has_not_answered(way: str) -> None:
    protocol = protocol_of(way)
    step, pool = question(20)

    def echo(ask: Ask) -> str:
        return "\n\n".join(m.text for m in ask.conversation.messages if m.role != "assistant")

    _, found = hold(protocol.dialogue(StepView(step, pool)), echo)
    assert found.element is None


@pytest.mark.parametrize("value", ["\x08|0", "{|0", ";|0"])
def test_a_bar_in_a_value_makes_no_table(value: str) -> None:
    step, pool = question(3)
    wanted = Prediction.of(Status.ANSWERED, None, pool[0].id, operation="TYPE", value=value)
    protocol = protocol_of("mindact-choice")
    _, found = hold(
        protocol.dialogue(StepView(step, pool)),
        by_place(protocol.write(StepView(step, pool), wanted)),
    )
    assert found.value == value
