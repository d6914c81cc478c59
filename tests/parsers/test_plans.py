"""Several answers in one reply, in every format: a plan, or a draft and its correction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers import Status, letter, read_answer
from parsers.attributes import read_attributes
from parsers.mindact import option_letters, read_element
from parsers.points import Form, read_point
from tests.clock import linear_time

Found = tuple[int | None, str | None, str, Status, tuple[str, ...]]
"""Number, operation, value, status and flags of what was read."""


@dataclass(frozen=True)
class Format:
    """A way to write an answer, and to read it.

    write: the answer with an element of this number, an operation and a value.
    read: what is read from a reply, and how the reply ended.
    alone: the element by itself.
    """

    write: Callable[[int, str, str], str]
    read: Callable[..., Found]
    alone: Callable[[int], str]


def lettered(text: str, finish: str = "stop") -> Found:
    found = read_answer(text, ["x"] * 20, none_letter="U", finish=finish)
    return found.option, found.operation, found.value, found.status, found.flags


def mindact(text: str, finish: str = "stop") -> Found:
    found = read_answer(
        text, ["x"] * 20, letters=option_letters(20), none_letter="A", finish=finish
    )
    return found.option, found.operation, found.value, found.status, found.flags


def written(text: str, finish: str = "stop") -> Found:
    def find(content: str) -> tuple[int, tuple[str, ...]] | None:
        number = content.removeprefix("<a id=").removesuffix(">")
        return (int(number), ()) if number.isdigit() else None

    found = read_element(text, find, 20, finish=finish)
    return found.option, found.operation, found.value, found.status, found.flags


def described(text: str, finish: str = "stop") -> Found:
    found = read_attributes(text, finish=finish)
    number = found.text.removeprefix("Button ")
    return (
        int(number) if number.isdigit() else None,
        found.operation,
        found.value,
        found.status,
        found.flags,
    )


def pointed(form: Form) -> Callable[..., Found]:
    scale = 100 if form == "seeclick" else 1

    def read(text: str, finish: str = "stop") -> Found:
        found = read_point(text, form, finish=finish)
        number = round(found.point[0] * scale) if found.point else None
        return number, found.operation, found.value, found.status, found.flags

    return read


def quoted(value: str) -> str:
    return f'"{value}"' if value else "null"


DIGITS = {"CLICK": 4, "TYPE": 3, "SELECT": 2}
FORMATS = {
    "SeeAct's lines": Format(
        lambda n, op, v: f"ELEMENT: {letter(n)}\nACTION: {op}\nVALUE: {v or 'None'}",
        lettered,
        lambda n: f"ELEMENT: {letter(n)}",
    ),
    "SeeAct's keys as JSON": Format(
        lambda n, op, v: f'{{"ELEMENT": "{letter(n)}", "ACTION": "{op}", "VALUE": {quoted(v)}}}',
        lettered,
        lambda n: f'{{"ELEMENT": "{letter(n)}"}}',
    ),
    "MindAct": Format(
        lambda n, op, v: f"Answer: {letter(n + 1)}.\nAction: {op}\nValue: {v or 'None'}",
        mindact,
        lambda n: f"Answer: {letter(n + 1)}.",
    ),
    "MindAct, element written": Format(
        lambda n, op, v: f"Element: <a id={n}>\nAction: {op}\nValue: {v or 'None'}",
        written,
        lambda n: f"Element: <a id={n}>",
    ),
    "description": Format(
        lambda n, op, v: (
            f"ELEMENT: a button\nELEMENT TYPE: BUTTON\nELEMENT TEXT: Button {n}\n"
            f"ACTION: {op}\nVALUE: {v or 'None'}"
        ),
        described,
        lambda n: f"ELEMENT: a button\nELEMENT TYPE: BUTTON\nELEMENT TEXT: Button {n}",
    ),
    "point": Format(
        lambda n, op, v: f"ELEMENT: {n}, 5\nACTION: {op}\nVALUE: {v or 'None'}",
        pointed("plain"),
        lambda n: f"ELEMENT: {n}, 5",
    ),
    "Qwen-VL": Format(
        lambda n, op, v: (
            f"ELEMENT: <ref>x</ref><box>({n},5),({n},5)</box>\nACTION: {op}\nVALUE: {v or 'None'}"
        ),
        pointed("qwen-vl"),
        lambda n: f"ELEMENT: <box>({n},5),({n},5)</box>",
    ),
    "Qwen3-VL with lines": Format(
        lambda n, op, v: f'{{"point_2d": [{n}, 5]}}\nACTION: {op}\nVALUE: {v or "None"}',
        pointed("qwen3-vl"),
        lambda n: f'{{"point_2d": [{n}, 5]}}',
    ),
    "tool call": Format(
        lambda n, op, v: (
            f'<tool_call>\n{{"name": "computer", "arguments": {{"action": "{op.lower()}", '
            f'"coordinate": [{n}, 5], "text": {quoted(v)}}}}}\n</tool_call>'
        ),
        pointed("computer-use"),
        lambda n: f'{{"coordinate": [{n}, 5]}}',
    ),
    "SeeClick": Format(
        lambda n, op, v: (
            f'{{"action_type": {DIGITS[op]}, "click_point": (0.{n:02},0.05), "value": {quoted(v)}}}'
        ),
        pointed("seeclick"),
        lambda n: f'{{"click_point": (0.{n:02},0.05)}}',
    ),
}
FIRST, SECOND, THIRD = (2, "TYPE", "Ohio"), (7, "CLICK", ""), (9, "SELECT", "5 PM")
formats = pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)

SEQUENCE = {
    "line break": "\n",
    "rule": "\n\n---\n\n",
    "comma": "\n,\n",
    "fences with a language": "\n```\n\n```json\n",
    "number": "\n\n2.\n",
    "step": "\n\nStep 2:\n",
    "step in bold": "\n\n**Step 2:**\n\n",
    "then": "\nThen:\n",
    "finally": "\n\nFinally:\n",
    "ordinal": "\nSecond action:\n",
    "followed by": "\nfollowed by\n",
    "then with a verb": "\nThen click the button:\n",
    "step after an explanation": "\n\nThis opens the menu.\n\nStep 2:\n",
    "title with a word that could correct": "\nStep 2: select the correct option\n",
}


@formats
@pytest.mark.parametrize("gap", SEQUENCE.values(), ids=SEQUENCE)
def test_of_a_plan_the_first_action_counts(form: Format, gap: str) -> None:
    found = form.read(f"{form.write(*FIRST)}{gap}{form.write(*SECOND)}")
    assert found == (*FIRST, Status.ANSWERED, ("multiple",))


@formats
def test_a_plan_may_be_long(form: Format) -> None:
    steps = [form.write(*FIRST), *(form.write(n % 20, "CLICK", "") for n in range(3, 60))]
    text = "".join(f"Step {number}:\n{step}\n\n" for number, step in enumerate(steps, 1))
    assert form.read(text) == (*FIRST, Status.ANSWERED, ("multiple",))


CORRECTIONS = {
    "wait": "\n\nWait, that is wrong.\n\n",
    "no": "\n\nNo, the other one:\n\n",
    "actually": "\nActually, it is this:\n",
    "mistake": "\n\nI made a mistake.\n\n",
    "reconsider": "\n\nLet me reconsider. The next step is\n\n",
    "final answer": "\n\nFinal answer:\n\n",
    "then, with a word of correction": "\n\nThen I noticed that this is wrong.\n\n",
}
DRAFTS = {
    **CORRECTIONS,
    "alternative": "\n\nAlternatively:\n\n",
    "explanation": "\n\nThis button opens the search. It is on the right.\n\n",
    "one": "\nIt is this one:\n",
    "verb": "\nI would click this:\n",
}


@formats
@pytest.mark.parametrize("gap", DRAFTS.values(), ids=DRAFTS)
def test_of_a_draft_and_its_correction_the_last_counts(form: Format, gap: str) -> None:
    found = form.read(f"{form.write(*FIRST)}{gap}{form.write(*SECOND)}")
    # Of calls of functions the first is the next action, unless it is taken back.
    call = form is FORMATS["tool call"] and gap not in CORRECTIONS.values()
    assert found == (*(FIRST if call else SECOND), Status.ANSWERED, ("multiple",))


@formats
def test_of_a_corrected_plan_the_first_action_counts(form: Format) -> None:
    draft, first, then = (form.write(*answer) for answer in (FIRST, SECOND, THIRD))
    text = f"{draft}\n\nWait, that is wrong.\n\n{first}\n\nThen:\n\n{then}"
    assert form.read(text) == (*SECOND, Status.ANSWERED, ("multiple",))
    text = f"{draft}\n\nThen:\n\n{then}\n\nWait, that is wrong.\n\n{first}"
    assert form.read(text) == (*SECOND, Status.ANSWERED, ("multiple",))


@formats
@pytest.mark.parametrize("gap", CORRECTIONS.values(), ids=CORRECTIONS)
def test_an_element_alone_behind_words_of_correction_replaces_the_one_before(
    form: Format, gap: str
) -> None:
    found = form.read(f"{form.write(*FIRST)}{gap}{form.alone(7)}")
    assert found == (7, *FIRST[1:], Status.ANSWERED, ("multiple",))


@formats
@pytest.mark.parametrize("gap", ["\n\n", "\n\nThis is close to it:\n\n"])
def test_an_element_alone_behind_other_words_is_passed_over(form: Format, gap: str) -> None:
    found = form.read(f"{form.write(*FIRST)}{gap}{form.alone(7)}")
    assert found == (*FIRST, Status.ANSWERED, ())


@formats
def test_a_correction_of_a_later_step_leaves_the_first_alone(form: Format) -> None:
    steps = f"{form.write(*FIRST)}\n\nThen:\n\n{form.write(*SECOND)}"
    found = form.read(f"{steps}\n\nWait, that is wrong.\n\n{form.alone(9)}")
    assert found == (*FIRST, Status.ANSWERED, ("multiple",))


@formats
@pytest.mark.parametrize(
    "rest",
    [
        "\n\nWait",
        "\n\nWait, that is wrong. The right one is",
        "\n\nActually, th",
        "\n\nI made a mistake: the button that",
    ],
)
def test_an_answer_that_a_cut_reply_takes_back_does_not_count(form: Format, rest: str) -> None:
    assert form.read(form.write(*SECOND) + rest, finish="length")[3] is Status.TRUNCATED
    assert form.read(form.write(*SECOND) + rest)[:3] == SECOND
    cut = f"{form.write(*SECOND)}{rest}\n\n{form.alone(2)}"
    assert form.read(cut, finish="length")[3] is Status.TRUNCATED


@formats
@pytest.mark.parametrize("rest", ["\n\nThis is bec", "\n\nStep 2:\n", "\n\n---\n"])
def test_an_answer_that_a_cut_reply_leaves_standing_counts(form: Format, rest: str) -> None:
    found = form.read(form.write(*SECOND) + rest, finish="length")
    assert found == (*SECOND, Status.ANSWERED, ("truncated",))


@formats
def test_of_a_cut_plan_the_first_action_counts(form: Format) -> None:
    text = f"{form.write(*SECOND)}\n\nStep 2:\n\n{form.write(*FIRST)}"
    found = form.read(text[:-3], finish="length")
    assert (found[:3], found[3]) == (SECOND, Status.ANSWERED)


LISTS = [name for name, form in FORMATS.items() if form.write(*FIRST).startswith("{")]


@pytest.mark.parametrize("name", [n for n in LISTS if n != "Qwen3-VL with lines"])
@pytest.mark.parametrize(
    "around",
    [
        "[{}, {}]",
        "```json\n[\n  {},\n  {}\n]\n```",
        '{{"actions": [{}, {}]}}',
        '{{"thought": "{{x}}", "action": [{}, {}]}}',
        '{{"step 1": {}, "step 2": {}}}',
        "{}\n{}",
        "{}, {}",
        "{}{}",
    ],
)
def test_objects_in_a_list_or_one_after_another_are_a_plan(name: str, around: str) -> None:
    form = FORMATS[name]
    found = form.read(around.format(form.write(*FIRST), form.write(*SECOND)))
    assert found == (*FIRST, Status.ANSWERED, ("multiple",))


def test_an_echo_of_the_format_is_no_answer() -> None:
    echo = "ELEMENT: {}\nACTION: CLICK, TYPE or SELECT\nVALUE: the text to type\n\n"
    for name, element in (
        ("SeeAct's lines", "the letter of your choice"),
        ("point", "x, y"),
        ("Qwen-VL", "<ref>name of the element</ref><box>(x1,y1),(x2,y2)</box>"),
        ("Qwen-VL", "<box>(1,2),(3,4)</box>"),
        ("description", "what it is"),
    ):
        form = FORMATS[name]
        assert form.read(echo.format(element) + form.write(*SECOND)) == (
            *SECOND,
            Status.ANSWERED,
            (),
        )


@pytest.mark.parametrize(
    "line",
    [
        "Wait, that is wrong. ELEMENT: H",
        "Correction: ELEMENT: H",
        "No, ELEMENT: **H**",
        "Final answer: ELEMENT: H",
        "FINAL ELEMENT: H",
    ],
)
def test_a_correction_on_the_line_of_its_element(line: str) -> None:
    assert lettered(f"ELEMENT: C\nACTION: CLICK\nVALUE: None\n\n{line}")[:2] == (7, "CLICK")


@pytest.mark.parametrize(
    "text",
    [
        "Step 1: ELEMENT: C, ACTION: CLICK, VALUE: None\n"
        "Step 2: ELEMENT: H, ACTION: TYPE, VALUE: x",
        "1. ELEMENT: C, ACTION: CLICK, VALUE: None\n2. ELEMENT: H, ACTION: TYPE, VALUE: x",
        "ELEMENT: C, ACTION: CLICK, VALUE: None\nThen: ELEMENT: H, ACTION: TYPE, VALUE: x",
        "ELEMENT 1: C\nACTION 1: CLICK\nVALUE 1: None\nELEMENT 2: H\nACTION 2: TYPE\nVALUE 2: x",
        '{"ELEMENT_1": "C", "ACTION_1": "CLICK", "ELEMENT_2": "H", "ACTION_2": "TYPE"}',
        "Action 1: open the menu\nELEMENT: C\nACTION: CLICK\n\n"
        "Action 2: enter x\nELEMENT: H\nACTION: TYPE\nVALUE: x",
    ],
)
def test_numbered_steps(text: str) -> None:
    assert lettered(text)[:2] == (2, "CLICK")


def test_a_step_without_an_element_is_passed_over() -> None:
    scroll = '{"action": "scroll", "scroll_y": 300}'
    click = '{"action": "left_click", "coordinate": [7, 5]}'
    typed = '{"action": "type", "coordinate": [9, 5], "text": "x"}'
    read = pointed("computer-use")
    assert read(f"{scroll}\n{click}\n{typed}")[:2] == (7, "CLICK")
    assert read(f"{click}\n{scroll}\n{typed}")[:2] == (7, "CLICK")


# "Final answer:" is a key of its own if more than an answer follows.
SOME = [gap for gap in (*SEQUENCE.values(), *DRAFTS.values()) if "Final answer" not in gap]
GAPS = st.lists(st.sampled_from([*SOME, "\n", ", ", "Step 3: "]), max_size=3).map("".join)


@given(st.sampled_from(list(FORMATS.values())), st.lists(GAPS, max_size=4), st.booleans())
def test_one_of_the_answers_that_were_given_is_read(
    form: Format, gaps: list[str], cut: bool
) -> None:
    answers = [(n + 2, "SELECT", f"v{n}") for n in range(len(gaps) + 1)]
    text = "".join(
        form.write(*answer) + f"\n{gap}\n" for answer, gap in zip(answers, [*gaps, ""], strict=True)
    )
    found = form.read(text, finish="length" if cut else "stop")
    assert found[:3] in answers
    assert ("multiple" in found[4]) == (len(gaps) > 0)


@formats
def test_hostile_gaps_take_no_time(form: Format) -> None:
    for piece in ("then ", "step 2: ", "wait ", "no, ", "<a", "<a>", "```", "it is ", "2.\n", "#"):
        gap = piece * (20_000 // len(piece))
        with linear_time():
            form.read(form.write(*FIRST) + "\n" + gap + "\n" + form.write(*SECOND))
