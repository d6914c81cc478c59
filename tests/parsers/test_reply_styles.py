"""Fourth edition of the reading rules: one opening, one reader of letters, one reader of calls.

The labels were made before the replies were read (`call_styles`). The files
`choices`, `held_out` and `answers` in `lines` hold replies to questions, with letters and texts to
fill in; in the files `..._open` no letter, or none of several, is the answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import process_time

import pytest

from parsers import Answer, Status, read_answer
from parsers.points import Form, read_point
from parsers.question import Asked
from parsers.question.metrics import METRICS
from parsers.question.metrics import read_answer as read_question
from parsers.records import Prediction
from parsers.screen.families import FAMILIES
from parsers.screen.reading import read_action
from tests.clock import linear_time
from tests.parsers import call_styles
from tests.parsers.styles import LETTERS, NONE, OPTIONS

FOLDER = Path(__file__).parent / "lines"
CHOICES = [
    ("red lamp", "blue chair", "green table", "white sofa"),
    ("Home page", "Basket", "Checkout", "Help center"),
    ("Monday 5 May", "Tuesday 6 May", "Wednesday 7 May", "Friday 9 May"),
]
TRIPLES = ("BDC", "ACD", "CAB", "DBA")
DRESSES = (
    "{}",
    "<think>It may be A, or C.</think>\n{}",
    "<answer>{}</answer>",
    "{}<|im_end|>",
    "<|begin_of_box|>{}<|end_of_box|>",
    "\ufeff{}\u200b",
    "<analysis>Answer: D?</analysis>\n{}</s>",
    "<reflection>\n{}\n</reflection>",
)


def filled(name: str) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Replies of a file with their options, each with its first letter; in a long file the options
    of each line are one of the sets."""
    lines = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    for at, line in enumerate(lines):
        for number, texts in enumerate(CHOICES):
            if len(lines) > 400 and number != at % len(CHOICES):
                continue
            for place, triple in enumerate(TRIPLES):
                names = dict(zip("abc", triple, strict=True))
                names["d"] = next(one for one in "ABCD" if one not in triple)
                names |= {f"t{k}": texts["ABCD".index(one)] for k, one in names.items()}
                names |= {f"t{k}": one for k, one in enumerate(texts)}
                names["la"] = triple[0].lower()
                dress = DRESSES[(4 * number + place) % len(DRESSES)]
                reply = dress.replace("{}", line.replace("\\n", "\n").format(**names))
                yield reply, texts, triple[0]


def chosen(reply: str, options: tuple[str, ...]) -> str:
    found = read_question(reply, Asked(prompt="?", metric="choice", options=options))
    return str(found.action.arguments["text"]) if found.action else found.status.value


def share_of(errors: list[object], replies: int) -> float:
    return len(errors) / replies


@pytest.mark.parametrize("name", ["choices", "held_out", "answers"])
def test_answers_to_questions_are_read(name: str) -> None:
    replies = list(filled(name))
    errors: list[object] = [
        (reply, letter, found)
        for reply, options, letter in replies
        if (found := chosen(reply, options)) != letter
    ]
    assert len(replies) > 700
    assert share_of(errors, len(replies)) <= 0.005, errors


@pytest.mark.parametrize("name", ["choices_open", "held_out_open", "answers_open"])
def test_no_letter_is_read_where_several_are_meant_or_none(name: str) -> None:
    for reply, options, _ in filled(name):
        assert chosen(reply, options) not in LETTERS, reply


def test_screens_are_read_in_every_form_of_a_call() -> None:
    errors: list[object] = []
    replies = list(call_styles.screens())
    for name, text, call in replies:
        action = read_action(text, FAMILIES[call.family]).action
        said = action and str(action.arguments.get("text", ""))
        place = action and action.point if call.label[1] else None
        if action is None or (action.name, place, said) != call.label:
            errors.append((name, text, action))
    assert len(replies) > 1_500
    assert share_of(errors, len(replies)) <= 0.005, errors


@pytest.mark.parametrize(("family", "text"), call_styles.UNCLOSED)
def test_marks_and_brackets_at_the_end_of_a_call_may_be_missing(family: str, text: str) -> None:
    action = read_action(text, FAMILIES[family]).action
    assert action is not None and action.point == (504, 801)


@pytest.mark.parametrize(
    ("gap", "x"),
    [
        (gap, 7 if name == "later" else 504)
        for name, gaps in call_styles.GAPS.items()
        for gap in gaps
    ],
)
@pytest.mark.parametrize(("family", "pair"), call_styles.PAIRS)
def test_of_several_calls_the_first_counts_unless_it_is_taken_back(
    family: str, pair: list[str], gap: str, x: float
) -> None:
    found = read_action(gap.join(pair), FAMILIES[family])
    assert found.action is not None and found.action.point == (x, 801)
    assert found.flags == ("multiple",)


def test_the_same_call_twice_is_one() -> None:
    family, (first, _) = call_styles.PAIRS[0]
    assert read_action(f"{first}\n{first}", FAMILIES[family]).flags == ()


def test_a_status_beside_an_action_is_flagged_where_it_would_end_the_task() -> None:
    family = FAMILIES["agentcpm-gui"]
    for status in ("finish", "satisfied", "impossible", "interrupt", "need_feedback"):
        found = read_action(f'{{"PRESS":"BACK","STATUS":"{status}"}}', family)
        assert found.flags == ("status",)
    for status in ("continue", "start"):
        assert read_action(f'{{"PRESS":"BACK","STATUS":"{status}"}}', family).flags == ()


def test_places_are_read_in_every_form_of_a_call() -> None:
    replies = list(call_styles.places())
    errors: list[object] = []
    for name, text, call in replies:
        found = read_point(text, call.family, place_only=True)  # type: ignore[arg-type]
        if found.point != (504.0, 801.0):
            errors.append((name, text, found))
    assert len(replies) > 400
    assert share_of(errors, len(replies)) <= 0.005, errors


@pytest.mark.parametrize("form", ["qwen3-vl", "ui-tars", "pyautogui"])
@pytest.mark.parametrize("typed", ["[504, 801]", "(504, 801)", "504, 801"])
def test_a_typed_text_that_looks_like_a_pair_is_no_place(form: Form, typed: str) -> None:
    for text in (
        f'{{"action": "type", "text": "{typed}"}}',
        f"type(content='{typed}')",
        f"pyautogui.write(message='{typed}')",
    ):
        assert read_point(text, form, place_only=True).point is None
    typing = read_action(f'{{"action": "type", "text": "{typed}"}}', FAMILIES["qwen3-vl"])
    assert typing.action is not None and typing.action.arguments["text"] == typed


def three(element: str = "C", action: str = "CLICK", value: str = "None") -> str:
    return f"ELEMENT: {element}\nACTION: {action}\nVALUE: {value}"


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("<![CDATA[AT&T]]>", "AT&T"),
        ("AT&amp;T", "AT&T"),
        ("&quot;x&quot; &lt;b&gt;", '"x" <b>'),
        ("&#39;s-Gravenhage", "'s-Gravenhage"),
        ("https://x.org/?a=1&copy=2", "https://x.org/?a=1&copy=2"),
        ("Ohio<|im_end|>", "Ohio"),
        ("Ohio<turn|>", "Ohio"),
        ("Ohio[e~[", "Ohio"),
        ("\\boxed{Ohio}", "Ohio"),
        ("New York # city", "New York # city"),
        ("New\u200b York\ufeff", "New York"),
    ],
)
def test_a_value_keeps_nothing_that_dresses_it(value: str, read: str) -> None:
    assert read_answer(three("C", "TYPE", value), OPTIONS, none_letter=NONE).value == read


@pytest.mark.parametrize(
    ("element", "status", "flag"),
    [
        ("A (or M if it is visible)", Status.AMBIGUOUS, ""),
        ("C, or M if visible", Status.AMBIGUOUS, ""),
        ("C unless M is visible", Status.ANSWERED, "in_text"),
        ("A. Departure city", Status.ANSWERED, "text_mismatch"),
        ("A (Departure city)", Status.ANSWERED, "text_mismatch"),
        ("A - [Departure city]", Status.ANSWERED, "text_mismatch"),
        ("A \u300cDeparture city\u300d", Status.ANSWERED, "text_mismatch"),
        ("A, Departure city", Status.ANSWERED, "text_mismatch"),
        ("option A: Departure city", Status.ANSWERED, "text_mismatch"),
    ],
)
def test_conditions_and_other_texts_beside_a_letter(
    element: str, status: Status, flag: str
) -> None:
    found = read_answer(three(element), OPTIONS, none_letter=NONE)
    assert found.status is status
    assert not flag or flag in found.flags


@pytest.mark.parametrize(
    "element", ["A. Search flights", "A (Search flights)", "A: the first button"]
)
def test_its_own_text_or_a_remark_beside_a_letter_is_no_mismatch(element: str) -> None:
    assert "text_mismatch" not in read_answer(three(element), OPTIONS, none_letter=NONE).flags


@pytest.mark.parametrize(
    ("action", "operation"), [("TAP", "CLICK"), ("PRESS", "CLICK"), ("Tap on it", "CLICK")]
)
def test_tapping_and_pressing_are_clicks(action: str, operation: str) -> None:
    assert read_answer(three("C", action), OPTIONS, none_letter=NONE).operation == operation
    assert read_answer(three("C", "PRESS TAB"), OPTIONS, none_letter=NONE).operation is None


def test_a_reply_that_is_all_reflection_is_read_with_a_flag() -> None:
    for tag in ("analysis", "scratchpad", "reflection", "reasoning", "thought"):
        found = read_answer(f"<{tag}>\n{three()}\n</{tag}>", OPTIONS, none_letter=NONE)
        assert found == Answer(Status.ANSWERED, 2, "CLICK", flags=("in_thought",))
        other = read_answer(
            f"<{tag}>\n{three('H')}\n</{tag}>\n{three()}", OPTIONS, none_letter=NONE
        )
        assert other == Answer(Status.ANSWERED, 2, "CLICK")
        cut = read_answer(f"<{tag}>\n{three()}", OPTIONS, none_letter=NONE)
        assert cut.status is Status.TRUNCATED
    channel = f"analysis{three()}assistantfinal"
    assert read_answer(channel, OPTIONS, none_letter=NONE).flags == ("in_thought",)


@pytest.mark.parametrize("metric", sorted(set(METRICS) - {"choice"}))
@pytest.mark.parametrize("dress", DRESSES)
def test_no_text_or_number_is_read_with_what_dresses_it(metric: str, dress: str) -> None:
    asked = Asked(prompt="?", metric=metric)
    for said, plain in (("42", "42"), ("\uff14\uff12", "42")):
        found = read_question(dress.replace("{}", said), asked)
        assert found.action is not None and found.action.arguments["text"] == plain


@pytest.mark.parametrize(
    ("reply", "options", "letter"),
    [
        ("Yes, this page offers refunds. A note says so.", ("Yes", "No"), "A"),
        ("No. I cannot see any.", ("Yes", "No"), "B"),
        ("The answer is no.", ("Yes", "No"), "B"),
        ("So the right answer is b.", ("red", "blue"), "B"),
        ("The correct option is (b)", ("red", "blue"), "B"),
        ("I choose b.", ("red", "blue"), "B"),
        ("The answer is a lamp.", ("a lamp", "a chair"), "A"),
        ("The answer is a chair.", ("a lamp", "a chair"), "B"),
        ("I", tuple("abcdefghij"), "I"),
        ("I think it is blue", tuple("abcdefghij"), "parse_error"),
        ("Z", ("red", "blue"), "out_of_range"),
        ("The answer is E.", ("red", "blue"), "out_of_range"),
        ("It is not red, it is blue.", ("red", "blue"), "B"),
        ("The Home page", ("Home", "Home page"), "B"),
        ("\uff22", ("red", "blue"), "B"),
        ("\u24b7", ("red", "blue"), "B"),
        ("I cannot help with that.", ("red", "blue"), "refusal"),
    ],
)
def test_texts_of_options_and_lone_letters(
    reply: str, options: tuple[str, ...], letter: str
) -> None:
    assert chosen(reply, options) in (letter, "parse_error" if letter == "refusal" else letter)


def test_a_question_whose_reply_is_cut_off() -> None:
    asked = Asked(prompt="?", metric="choice", options=("red", "blue"))
    assert read_question("<think>B", asked) == Prediction(Status.TRUNCATED)
    assert read_question("", asked, finish="length") == Prediction(Status.TRUNCATED)


PIECES = [
    *("<analysis>", "</analysis>", "<analysis>\n</think>", "\\boxed{", "\\boxed{a:}", "{"),
    *('{"a": [', '{"arguments": "{', "f(a='", "click(x=", "<a b='c' ", "[e~[", "\u200b"),
    *("<function=f><parameter=a>", "A or ", "B, ", "<|channel|>analysis<|message|>", "Yes "),
    *("the answer is B\n", "red lamp ", "&amp;", "<turn|>", "<![CDATA[", "so B is right. "),
    *("if A and ", "~~B~~", "element: C # x\n"),
]


@pytest.mark.parametrize("piece", ["B, ", "b, ", "A or ", "B ", "B? ", "B if ", "<p>B</p>"])
def test_the_letters_of_a_long_reply_that_are_looked_at_are_bounded(piece: str) -> None:
    text = piece * (60_000 // len(piece))
    begun = process_time()
    assert chosen(text, CHOICES[0]) in (*"AB", "ambiguous", "parse_error")
    read_answer(text, OPTIONS, none_letter=NONE)
    assert process_time() - begun < 0.6


@pytest.mark.parametrize("piece", PIECES)
def test_long_replies_are_read_in_linear_time(piece: str) -> None:
    text = piece * (40_000 // len(piece))
    with linear_time():
        chosen(text, CHOICES[0])
        read_answer(text, OPTIONS, none_letter=NONE)
        read_point(text, "qwen3-vl", place_only=True)
        read_point(text, "ui-tars", place_only=True)
        for family in ("qwen2.5-vl", "ui-tars", "agentcpm-gui", "os-atlas-pro"):
            read_action(text, FAMILIES[family])
