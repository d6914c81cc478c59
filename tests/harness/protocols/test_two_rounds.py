"""What a model is shown in the two rounds, and what becomes of its replies."""

from __future__ import annotations

import pytest

from adapters.conversation import Finish, Picture, Reply, Text
from harness.dialogue import Ask
from harness.protocols import PROTOCOLS, lettering
from harness.protocols.seeact import SCHEMA, TwoRounds
from harness.protocols.texts import MEMORY, open_texts
from harness.records import Choice
from harness.views import StepView
from parsers import read_answer
from parsers.records import Status
from tests.harness.protocols.examples import (
    HISTORY,
    PICTURE,
    SECOND_PICTURE,
    choices,
    step,
    talk,
)

ANSWER = "ELEMENT: B\n\nACTION: CLICK\n\nVALUE: None"
TEXTS = ("<a id=0> Home </a>", "<button id=1> Book </button>", "<input id=2 name />")


def asked(protocol: TwoRounds | None = None, **changes: object) -> list[Ask]:
    """Both questions about one step."""
    protocol = protocol or TwoRounds()
    about = step(**changes)  # type: ignore[arg-type]
    questions, _ = talk(
        protocol.dialogue(StepView(about, choices(protocol, *TEXTS))), ["I see.", ANSWER]
    )
    return questions


def question_text(protocol: TwoRounds) -> str:
    return asked(protocol)[1].conversation.messages[-1].text


def test_the_first_round_is_system_then_user_with_the_picture_before_the_text() -> None:
    first = asked()[0]
    assert [message.role for message in first.conversation.messages] == ["system", "user"]
    parts = first.conversation.messages[1].parts
    assert [type(part) for part in parts] == [Picture, Text]
    assert parts[0] == PICTURE
    assert first.place == "round-1"
    assert first.continues


def test_the_second_round_goes_on_from_the_reply_and_shows_no_picture_again() -> None:
    protocol = TwoRounds()
    reply = Reply("  The **Book** button.\n", native={"id": 7})
    questions, _ = talk(
        protocol.dialogue(StepView(step(), choices(protocol, *TEXTS))), [reply, ANSWER]
    )
    first, second = (question.conversation for question in questions)
    assert second.earlier is first
    assert second.messages[:2] == first.messages
    assert [message.role for message in second.added] == ["assistant", "user"]
    assert second.messages[2].text == "  The **Book** button.\n"
    assert second.messages[2].native == {"id": 7}
    assert second.messages[3].pictures == ()
    assert (questions[1].place, questions[1].continues) == ("round-2", False)


def test_task_and_history_are_in_the_first_round_and_choices_are_not() -> None:
    first, second = asked(task="Book a table for 5", history=HISTORY)
    text = first.conversation.messages[-1].text
    assert "Book a table for 5" in text
    assert "1. [link]  Tables -> CLICK\n2. [combobox]  Guests -> SELECT: 5 people\n3. " in text
    assert not any(listed in text for listed in TEXTS)
    assert all(listed in second.conversation.messages[-1].text for listed in TEXTS)


@pytest.mark.parametrize(
    ("last", "shown", "hidden"),
    [
        (None, ["1. [link]", "2. [combobox]", "3. [textbox]"], []),
        (2, ["2. [combobox]", "3. [textbox]"], ["[link]"]),
        (9, ["1. [link]", "2. [combobox]", "3. [textbox]"], []),
        (0, ["(none yet)"], ["[link]", "[combobox]", "[textbox]"]),
    ],
)
def test_shortened_histories_keep_their_numbers(
    last: int | None, shown: list[str], hidden: list[str]
) -> None:
    text = asked(TwoRounds(history=last), history=HISTORY)[0].conversation.messages[-1]
    assert all(line in text.text for line in shown)
    assert not any(line in text.text for line in hidden)


def test_the_first_step_has_no_history() -> None:
    assert "(none yet)" in asked()[0].conversation.messages[-1].text


def test_several_pictures_are_announced_in_order() -> None:
    message = asked(pictures=(PICTURE, SECOND_PICTURE))[0].conversation.messages[1]
    assert message.pictures == (PICTURE, SECOND_PICTURE)
    assert isinstance(message.parts[-1], Text)
    assert "The 2 pictures show the current page in parts" in message.text
    assert "The picture shows" not in message.text


def test_without_a_picture_the_text_says_so() -> None:
    message = asked(pictures=())[0].conversation.messages[1]
    assert message.pictures == ()
    assert "No picture of the page is available" in message.text
    assert "picture shows" not in message.text


@pytest.mark.parametrize(
    ("none", "lines", "last_letter", "named"),
    [
        ("last", ["A. <a", "B. <button", "C. <input", "D. None of"], "D", "choose D"),
        ("first", ["A. None of", "B. <a", "C. <button", "D. <input"], "D", "choose A"),
        ("absent", ["A. <a", "B. <button", "C. <input"], "C", None),
    ],
)
def test_the_none_option_stands_where_the_rule_says(
    none: str, lines: list[str], last_letter: str, named: str | None
) -> None:
    text = question_text(TwoRounds(none=none))  # type: ignore[arg-type]
    listed = [line for line in text.split("\n") if line[1:3] == ". "]
    assert len(listed) == len(lines)
    assert all(line.startswith(start) for line, start in zip(listed, lines, strict=True))
    assert f"from A to {last_letter}." in text
    assert ("If none of them fits" in text) is (named is not None)
    assert named is None or f"{named}." in text


def test_letters_go_on_after_z() -> None:
    letters = lettering(TwoRounds(), 27)
    assert letters.choices[-2:] == ("Z", "AA")
    assert letters.none == "AB"
    many = choices(TwoRounds(), *(f"<a> {i} </a>" for i in range(27)))
    message = TwoRounds().question(step(), many)[0]
    assert "from A to AB." in message.text


@pytest.mark.parametrize(
    ("limits", "expected"),
    [((), [None, None]), ((300,), [300, 300]), ((300, 90), [300, 90])],
)
def test_replies_are_bounded_per_round(limits: tuple[int, ...], expected: list[int | None]) -> None:
    questions = asked(TwoRounds(max_tokens=limits))
    assert [question.max_tokens for question in questions] == expected


@pytest.mark.parametrize(
    ("finish", "status"),
    [
        (Finish.REFUSAL, Status.REFUSAL),
        (Finish.CONTENT_FILTER, Status.CONTENT_FILTER),
        (Finish.TOO_LONG, Status.TOO_LONG),
    ],
)
def test_a_first_round_that_was_withheld_ends_the_dialogue(finish: Finish, status: Status) -> None:
    protocol = TwoRounds()
    dialogue = protocol.dialogue(StepView(step(), choices(protocol, *TEXTS)))
    questions, prediction = talk(dialogue, [Reply(ANSWER, finish), ANSWER])
    assert len(questions) == 1
    assert prediction.status is status
    assert prediction.element is None and prediction.operation is None


def test_a_truncated_description_is_flagged_and_the_answer_still_counts() -> None:
    protocol = TwoRounds()
    dialogue = protocol.dialogue(StepView(step(), choices(protocol, *TEXTS)))
    _, prediction = talk(dialogue, [Reply("The bu", Finish.LENGTH), ANSWER])
    assert (prediction.letter, prediction.element) == ("B", "n1")
    assert prediction.flags == ("round-1-truncated",)


def test_only_the_second_reply_is_the_answer() -> None:
    protocol = TwoRounds()
    dialogue = protocol.dialogue(StepView(step(), choices(protocol, *TEXTS)))
    described = "ELEMENT: A\nACTION: TYPE\nVALUE: no"
    _, prediction = talk(dialogue, [described, ANSWER])
    assert (prediction.element, prediction.operation, prediction.value) == ("n1", "CLICK", "")


def test_page_text_with_placeholders_is_passed_on_as_it_is() -> None:
    protocol = TwoRounds()
    hostile = "{choices} {task} {last_letter} {none_notice} {history} {unknown}"
    listed = (Choice("A", "n0", "a", f"<a> {hostile} </a>"), *choices(protocol, *TEXTS)[1:])
    about = step(task=f"task {hostile}", history=[f"[a]  {hostile} -> CLICK"])
    (first, second), _ = talk(protocol.dialogue(StepView(about, listed)), [hostile, ANSWER])
    first_text = first.conversation.messages[-1].text
    assert first_text.count(hostile) == 2
    assert second.conversation.messages[2].text == hostile
    question = second.conversation.messages[-1].text
    assert question.count(hostile) == 1
    assert question.count("<button id=1> Book </button>") == 1


@pytest.mark.parametrize("pictures", [(), (PICTURE,), (PICTURE, SECOND_PICTURE)])
@pytest.mark.parametrize("none", ["last", "first", "absent"])
def test_a_model_that_repeats_the_prompt_has_not_answered(
    none: str, pictures: tuple[Picture, ...]
) -> None:
    protocol = TwoRounds(none=none)  # type: ignore[arg-type]
    about = step(pictures=pictures)
    letters = lettering(protocol, len(TEXTS))
    listed = choices(protocol, *TEXTS)
    prompts = [*protocol.opening(about), *protocol.question(about, listed)]
    for message in prompts:
        answer = read_answer(message.text, TEXTS, letters=letters.choices, none_letter=letters.none)
        assert answer.option is None
        assert answer.status is not Status.NONE


def test_a_step_without_choices_is_an_error() -> None:
    with pytest.raises(ValueError, match="task_step has no choices"):
        next(TwoRounds().dialogue(StepView(step(), ())))


def test_the_protocol_is_found_by_name_and_records_what_changes_dialogues() -> None:
    plain = PROTOCOLS.get("seeact-two-rounds")()
    other = PROTOCOLS.get("seeact-two-rounds")(none="first", history=3, max_tokens=(5,))
    assert plain.settings()["prompts_sha256"] == open_texts(SCHEMA).digest(MEMORY)
    differing = {key for key, value in plain.settings().items() if other.settings()[key] != value}
    assert differing == {"none", "history", "max_tokens"}
