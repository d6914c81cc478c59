"""Replies of models that were trained to point, and the places that they mean.

The replies are in the models' published formats. Where a model is asked for a place alone, the last
answer counts, and no action is needed.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers.points import (
    CONVENTIONS,
    DECLINES,
    FIRST,
    FORMS,
    Convention,
    Decline,
    Form,
    PointAnswer,
    from_pixels,
    read_point,
    to_pixels,
    write_place,
)
from parsers.records import Status
from parsers.scoring import within
from tests.clock import linear_time
from tests.parsers.test_points import HOSTILE

SIZE = (1920, 1080)
TARGET = (1432.32, 339.12)


def place(text: str, form: Form, *declines: Decline, finish: str = "stop") -> PointAnswer:
    return read_point(text, form, place_only=True, declines=declines, finish=finish)


def pixels(
    text: str, form: Form, convention: Convention, size: tuple[int, int] = SIZE
) -> tuple[float, float] | None:
    answer = place(text, form)
    assert answer.status is Status.ANSWERED, answer
    assert answer.point is not None
    return to_pixels(answer.point, convention, size)


OS_ATLAS = "<|object_ref_start|>the menu<|object_ref_end|><|box_start|>(576,12),(592,42)<|box_end|>"
COMPUTER = '{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": '
XML = """<tool_call>
<function=computer_use>
<parameter=action>
left_click
</parameter>
<parameter=coordinate>
[746, 314]
</parameter>
</function>
</tool_call>"""
COGAGENT = (
    "Status: a window at [[1,2,3,4]] is open.\nPlan: 1. CLICK(box=[[5,6,7,8]])\n"
    "Action: Click on the search field.\n"
    "Grounded Operation: CLICK(box=[[736,304,756,324]], element_info='Search')\n"
    "<<\u4e00\u822c\u64cd\u4f5c>>"
)
KIMI = (
    "\u25c1think\u25b7Is it (1, 2)? pyautogui.click(x=0.1, y=0.1)\u25c1/think\u25b7## Action:\n"
    "Click it.\n\n## Code:\n```python\npyautogui.click(x=0.746, y=0.314)\n```"
)
MAI = (
    "<grounding_think>Row [1, 2], no: [3, 4].</grounding_think>\n"
    '<answer>\n{"coordinate": [746, 314]}\n</answer>'
)
GLM = (
    "<think>The picture is (1920, 1080) in size.</think>"
    "<answer><|begin_of_box|>[[736, 304, 756, 324]]<|end_of_box|></answer>"
)


@pytest.mark.parametrize(
    ("form", "convention", "text", "expected"),
    [
        pytest.param("qwen3-vl", "per-mille", '{"point_2d":[746,314]}', TARGET, id="1"),
        pytest.param("qwen2-vl", "per-mille", OS_ATLAS, (1121.28, 29.16), id="2"),
        pytest.param("box-text", "per-mille", OS_ATLAS, (1121.28, 29.16), id="2 by tags"),
        pytest.param("gemini", "per-mille", '{"point":[314,746]}', TARGET, id="3"),
        pytest.param(
            "gemini", "per-mille", '{"box_2d": [100,200,300,400]}', (576.0, 216.0), id="4"
        ),
        pytest.param(
            "box-text", "per-mille", "<box>[[100, 200, 300, 400]]</box>", (384.0, 324.0), id="5"
        ),
        pytest.param("glm", "per-mille", GLM, TARGET, id="6"),
        pytest.param("mai", "per-mille", MAI, TARGET, id="7"),
        pytest.param("point-text", "absolute", "[1400, 800]", (1400.0, 800.0), id="10"),
        pytest.param("point-text", "per-mille", "[746, 314]", TARGET, id="14"),
        pytest.param("pyautogui", "unit", "pyautogui.click(x=0.746,y=0.314)", TARGET, id="15"),
        pytest.param("pyautogui", "per-mille", "click(746, 314)", TARGET, id="15 positions"),
        pytest.param("qwen3-vl", "per-mille", COMPUTER + "[746, 314]}}", TARGET, id="15 tool"),
        pytest.param("qwen3.5-xml", "per-mille", XML, TARGET, id="15 tool in tags"),
        pytest.param("pyautogui", "per-mille", "pyautogui.click(x=746, y=314)", TARGET, id="16"),
        pytest.param("pyautogui", "unit", "pyautogui.click(x=0.746, y=0.314)", TARGET, id="17"),
        pytest.param("pyautogui", "absolute", "click(x=746, y=314)", (746.0, 314.0), id="17 px"),
        pytest.param("point-text", "per-mille", "[44, 355]", (84.48, 383.4), id="20"),
    ],
)
def test_replies_that_others_misread(
    form: Form, convention: Convention, text: str, expected: tuple[float, float]
) -> None:
    assert pixels(text, form, convention) == pytest.approx(expected, abs=1e-9)


def test_pixels_are_those_of_the_picture_that_the_model_saw() -> None:
    # Case 9: a server made 1680 x 924 of 3840 x 2160.
    seen = pixels('{"point_2d": [840, 231]}', "qwen2.5-vl", "absolute", (1680, 924))
    assert seen is not None
    assert (seen[0] / 1680 * 3840, seen[1] / 924 * 2160) == (1920.0, 540.0)


def test_a_point_that_rounding_would_push_off_is_on_the_border() -> None:
    # Cases 18 and 20.
    left, top, width, height = 75.0, 383.4, 176.2, 17.8
    found = pixels("[44, 355]", "point-text", "per-mille")
    assert found is not None
    assert within(found, (left, top, left + width, top + height))
    assert within((left + width, top), (left, top, left + width, top + height))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "text",
    [
        "The 2 buttons in row 3",
        "There are 2 buttons, 3 links and 1 field on a page of (1920 x 1080).",
        "Click on the button in the upper right corner, in row 2, column 4.",
        "I'm sorry, but I can't help with that.",
    ],
)
def test_numbers_in_prose_are_no_place(form: Form, text: str) -> None:
    # Cases 8, 12 and 15: unread, so that there is no point that could lie in a target at (0, 0).
    answer = place(text, form)
    assert answer.status in (Status.PARSE_ERROR, Status.REFUSAL)
    assert answer.point is None


@pytest.mark.parametrize(
    ("form", "text", "agreed"),
    [
        ("point-text", "The element does not exist.", "words"),
        ("qwen3-vl", "I cannot find such an element on the screen.", "words"),
        ("gemini", "There is no button with this name.", "words"),
        ("glm", "I'm sorry, but I can\u2019t locate it.", "words"),
        ("mai", "No element on this page matches.", "words"),
        ("cogagent", "It does not appear to be on the screen.", "words"),
        ("ui-tars", "The button click(gear) isn't visible.", "words"),
        ("qwen3-vl", '{"action": "answer", "text": "It does not exist."}', "words"),
        ("qwen2.5-vl", COMPUTER.replace("left_click", "wait")[:-16] + ', "time": 10}}', "wait"),
        ("qwen2.5-vl", '{"action":"wait","time":10}', "wait"),
        ("qwen3-vl", '{"action": "terminate", "status": "failure"}', "failure"),
        (
            "qwen3.5-xml",
            "<function=computer_use><parameter=action>terminate</parameter>"
            "<parameter=status>failure</parameter></function>",
            "failure",
        ),
        ("pyautogui", "computer.terminate(status='failure')", "failure"),
        ("ui-tars", "Thought: nothing here\nAction: wait()", "wait"),
        ("point-text", "[-1,-1]", "minus-one"),
        ("point-text", "[-1, -1, -1, -1]", "minus-one"),
        ("qwen3-vl", '{"point_2d": [-1, -1]}', "minus-one"),
        ("ui-tars", "Action: click(start_box='(-1,-1)')", "minus-one"),
    ],
)
def test_declining_is_what_was_agreed_on(form: Form, text: str, agreed: Decline) -> None:
    assert place(text, form, agreed).status is Status.NONE
    others = {"minus-one", "wait", "failure", "words"} - {agreed}
    assert place(text, form, *others).status is not Status.NONE  # type: ignore[arg-type]
    assert read_point(text, form).status is not Status.NONE


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("computer-use", '{"x":null,"y":null}'),
        ("qwen3-vl", '{"coordinate": null}'),
        ("qwen3-vl", '{"action": "left_click", "coordinate": [null, null]}'),
        ("mai", '<answer>{"coordinate": [null, null]}</answer>'),
        ("qwen3.5-xml", XML.replace("[746, 314]", "null")),
        ("point-text", "None"),
        ("point-text", "[null, null]"),
        ("box-text", "<ref>the menu</ref><box>None</box>"),
        ("glm", "<|begin_of_box|>None<|end_of_box|>"),
        ("click-call", "Click(None, None)"),
        ("pyautogui", "pyautogui.click(x=None, y=None)"),
        ("cogagent", "Grounded Operation: CLICK(box=None)"),
        ("step", "point:None"),
        ("ui-tars", "Action: click(start_box='None')"),
        ("plain", "ELEMENT: None"),
    ],
)
def test_null_in_place_of_numbers_says_none_in_every_form(form: Form, text: str) -> None:
    assert place(text, form).status is Status.NONE


def test_a_refusal_by_policy_declines_nothing() -> None:
    text = "I'm sorry, but I cannot help with that."
    assert place(text, "point-text", "words").status is Status.REFUSAL
    assert place("", "point-text", "words").status is Status.EMPTY
    assert place("x", "point-text", "words", finish="refusal").status is Status.REFUSAL
    success = '{"action": "terminate", "status": "success"}'
    assert place(success, "qwen3-vl", "failure").status is Status.PARSE_ERROR


FAMILIES: list[tuple[str, Form, str]] = [
    ("SeeClick", "point-text", "(0.746,0.314)"),
    ("Qwen-VL", "qwen-vl", "<box>(736,304),(756,324)</box>"),
    ("Qwen2-VL", "qwen2-vl", "<|box_start|>(736,304),(756,324)<|box_end|>"),
    ("OS-Atlas-4B", "point-text", "[[746,314]]"),
    ("OS-Atlas-7B", "box-text", OS_ATLAS.replace("(576,12),(592,42)", "(736,304),(756,324)")),
    ("OS-Atlas-7B", "box-text", OS_ATLAS.replace("(576,12),(592,42)", "[[736,304,756,324]]")),
    ("UGround, initial", "point-text", "(1432, 339)"),
    ("UGround-V1", "point-text", "(746, 314)"),
    ("ShowUI-2B", "point-text", "[0.746, 0.314]"),
    ("Aguvis", "pyautogui", "pyautogui.click(x=0.746, y=0.314)"),
    ("Aguvis, with a plan", "pyautogui", "Action: Click it.\npyautogui.click(x=0.746, y=0.314)"),
    ("bare shares", "point-text", ".746, .314"),
    ("named numbers", "point-text", "x: 746, y: 314"),
    ("a list over lines", "point-text", "```json\n[\n  746,\n  314\n]\n```"),
    ("a label", "point-text", "**Coordinates:** (746, 314)."),
    ("OS-Atlas-7B, tokens lost", "box-text", "the menu(736,304),(756,324)"),
    ("a pair", "pyautogui", "pyautogui.click((746, 314))"),
    ("ScaleCUA", "pyautogui", "<action>\nclick(x=0.746, y=0.314)\n</action>"),
    ("CogAgent-18B", "point-text", "[[736,304,756,324]]"),
    ("CogAgent-9B", "cogagent", COGAGENT),
    ("UI-TARS 1", "ui-tars", "(746,314)"),
    ("UI-TARS-1.5", "ui-tars", "Thought: at (1,2)\nAction: click(start_box='(746,314)')"),
    (
        "UI-TARS-1.5, tokens",
        "ui-tars",
        "Action: click(start_box='<|box_start|>(746,314)<|box_end|>')",
    ),
    ("UI-TARS-1.5, Doubao", "ui-tars", "Action: click(point='<point>746 314</point>')"),
    ("UI-TARS-2", "ui-tars", "<point>746 314</point>"),
    ("Qwen2.5-VL", "qwen2.5-vl", '```json\n[{"bbox_2d": [736, 304, 756, 324]}]\n```'),
    ("Qwen3-VL", "qwen3-vl", f"<tool_call>\n{COMPUTER}[746, 314]}}}}\n</tool_call>"),
    ("Qwen3.5", "qwen3.5-xml", f"It is at [1, 2].\n</think>\n\n{XML}"),
    ("Jedi", "qwen2.5-vl", COMPUTER + "[746, 314]}}"),
    ("GTA1", "point-text", "(746,314)"),
    ("Holo1", "click-call", "Click(746, 314)"),
    ("Holo1.5", "computer-use", '{"action":"click_absolute","x":746,"y":314}'),
    ("Holo2", "computer-use", '{"x":746,"y":314}'),
    ("MAI-UI", "mai", MAI),
    ("UI-Venus 1.5", "point-text", "[746,314]"),
    ("GUI-Owl 1.5", "qwen3-vl", COMPUTER + "[746, 314]}}"),
    ("GUI-G2", "point-text", "[736,304,756,324]"),
    ("Step-GUI", "step", "point:746,314"),
    ("Step-GUI, an action", "step", "action:CLICK\tpoint:746,314\tsummary:opens it"),
    ("GLM", "glm", GLM),
    ("GLM, tokens lost", "glm", "<think>(1, 2)</think>It is at [[736, 304, 756, 324]]."),
    ("GLM, agent", "glm", "left_click(start_box='[746,314]', element_info='Search')"),
    ("GLM, object", "glm", '{"box_2d": [736, 304, 756, 324], "label": "Search"}'),
    ("GLM, other brackets", "glm", "<|begin_of_box|>(746, 314)<|end_of_box|>"),
    ("InternVL", "box-text", "<ref>Search</ref><box>[[736, 304, 756, 324]]</box>"),
    ("InternVL, tokens lost", "box-text", "Search[[736, 304, 756, 324]]"),
    ("Kimi-VL", "pyautogui", KIMI),
    ("Kimi K2.5", "point-text", "(746,314)"),
    ("Claude", "computer-use", '{"action": "left_click", "coordinate": [746, 314]}'),
    ("OpenAI", "computer-use", '{"type":"click","x":746,"y":314}'),
    ("Gemini", "gemini", '[{"point": [314, 746], "label": "Search"}]'),
    ("Gemini's tool", "computer-use", '{"name": "click_at", "args": {"x": 746, "y": 314}}'),
]


@pytest.mark.parametrize(
    ("form", "text"), [row[1:] for row in FAMILIES], ids=[r[0] for r in FAMILIES]
)
def test_the_reply_of_every_family_is_read_by_its_form(form: Form, text: str) -> None:
    answer = place(text, form)
    assert answer.status is Status.ANSWERED
    assert answer.point in [(746.0, 314.0), (0.746, 0.314), (1432.0, 339.0)]
    assert (answer.operation, answer.value) == (None, "")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "thought",
    [
        "<think>It may be (1, 2): [[1, 2, 3, 4]].",
        "\u25c1think\u25b7pyautogui.click(x=1, y=2)",
        '<grounding_think>{"point_2d": [1, 2]}',
        "Thought: click(start_box='(1,2)')",
    ],
)
def test_a_thought_that_is_never_closed_is_truncated(form: Form, thought: str) -> None:
    for finish in ("stop", "length"):
        assert place(thought, form, "words", finish=finish).status is Status.TRUNCATED


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("point-text", "(1, 2)\n(746, 314)"),
        ("point-text", "(1, 2)\nNo, it is further down:\n(746, 314)"),
        ("qwen3-vl", '{"point_2d": [1, 2]}\n{"point_2d": [746, 314]}'),
        (
            "ui-tars",
            "Action: click(start_box='(1,2)')\nNo, wait.\nAction: click(start_box='(746,314)')",
        ),
        ("pyautogui", "pyautogui.moveTo(1, 2)\npyautogui.click(746, 314)"),
        ("box-text", "<box>[[1, 2, 3, 4]]</box> or rather <box>[[746, 314, 746, 314]]</box>"),
        ("glm", "[[1, 2, 3, 4]] <|begin_of_box|>[746, 314]<|end_of_box|>"),
        ("step", "point:1,2\npoint:746,314"),
    ],
)
def test_of_several_places_the_last_counts(form: Form, text: str) -> None:
    assert place(text, form).point == (746.0, 314.0)


@pytest.mark.parametrize("gap", ["\n", "\nThen:\n", "\nThe button is on the right.\n"])
@pytest.mark.parametrize(
    ("form", "call"),
    [
        ("ui-tars", "Action: click(start_box='{}')"),
        ("pyautogui", "pyautogui.click{}"),
        ("qwen3-vl", '{{"name": "t", "arguments": {{"action": "click", "coordinate": "{}"}}}}'),
    ],
)
def test_of_several_calls_the_first_counts(form: Form, call: str, gap: str) -> None:
    found = place(gap.join(map(call.format, ("(746, 314)", "(1, 2)"))), form)
    assert (found.point, found.flags) == ((746.0, 314.0), ("multiple",))


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("qwen3-vl", '[{"point_2d": [1, 2]}, {"point_2d": [3, 4]}]'),
        ("box-text", "<box>[[1, 2, 3, 4], [5, 6, 7, 8]]</box>"),
        ("glm", "<|begin_of_box|>[[1, 2, 3, 4], [5, 6, 7, 8]]<|end_of_box|>"),
    ],
)
def test_a_list_of_places_is_no_answer(form: Form, text: str) -> None:
    assert place(text, form).status is Status.AMBIGUOUS


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("point-text", "746, 31"),
        ("step", "point:746,31"),
        ("point-text", "(746, 31"),
        ("ui-tars", "Action: click(start_box='(746,314"),
        ("qwen3.5-xml", XML[: XML.index("314")]),
        ("box-text", "<box>[[736, 304, 756, 324"),
    ],
)
def test_numbers_may_be_missing_where_a_reply_was_cut(form: Form, text: str) -> None:
    assert place(text, form, finish="length").status is Status.TRUNCATED


def test_a_place_before_the_cut_counts() -> None:
    answer = place("(746, 314)\n", "point-text", finish="length")
    assert (answer.point, answer.flags) == ((746.0, 314.0), ("truncated",))


@pytest.mark.parametrize(
    ("form", "text", "operation", "value"),
    [
        ("ui-tars", "Action: left_double(start_box='(1,2)')", "CLICK", ""),
        ("ui-tars", "Action: type(start_box='(1,2)', content='it\\'s')", "TYPE", "it's"),
        ("pyautogui", "pyautogui.doubleClick(1, 2)", "CLICK", ""),
        ("pyautogui", "pyautogui.click(1, 2)\npyautogui.write('New York')", "TYPE", "New York"),
        ("pyautogui", "browser.select_option(x=1, y=2, value='5 PM')", "SELECT", "5 PM"),
        (
            "pyautogui",
            "pyautogui.click(x=1, y=2)\npyautogui.hotkey('ctrl', 'a')\n"
            "pyautogui.write(message='Ohio')\npyautogui.press('enter')",
            "TYPE",
            "Ohio",
        ),
        ("pyautogui", "pyautogui.moveTo(1, 2); pyautogui.click()", "CLICK", ""),
        ("pyautogui", "pyautogui.click(1, 2)\npyautogui.press('enter')", "CLICK", ""),
        ("click-call", "Write(1, 2, 'New York')", "TYPE", "New York"),
        ("point-text", "(1, 2)\nACTION: TYPE\nVALUE: New York", "TYPE", "New York"),
        ("box-text", "<box>[[1, 2, 1, 2]]</box>\nACTION: SELECT\nVALUE: 5 PM", "SELECT", "5 PM"),
        ("cogagent", "Grounded Operation: TYPE(box=[[1,2,1,2]], text='a, b')", "TYPE", "a, b"),
        ("step", "action:TYPE\tpoint:1,2\tvalue:New York", "TYPE", "New York"),
        (
            "qwen3.5-xml",
            "<function=computer_use><parameter=action>type</parameter>"
            "<parameter=coordinate>[1, 2]</parameter><parameter=text>New York</parameter>"
            "</function>",
            "TYPE",
            "New York",
        ),
    ],
)
def test_steps_have_an_action_beside_the_place(
    form: Form, text: str, operation: str, value: str
) -> None:
    answer = read_point(text, form)
    assert (answer.point, answer.operation, answer.value) == ((1.0, 2.0), operation, value)
    assert answer.flags == ()


@given(
    st.sampled_from(FORMS),
    st.sampled_from(CONVENTIONS),
    st.tuples(*[st.integers(1, 8_000)] * 2),
    st.tuples(*[st.floats(0, 1)] * 2),
)
def test_a_place_that_is_spelled_is_read_back(
    form: Form, convention: Convention, size: tuple[int, int], share: tuple[float, float]
) -> None:
    """Within half a step of the form's numbers on a picture of any size; and exactly as written."""
    meant = (share[0] * size[0], share[1] * size[1])
    numbers = from_pixels(meant, convention, size)
    if form == "seeclick":
        numbers = (round(numbers[0], 2), round(numbers[1], 2))
    answer = place(write_place(form, numbers), form, *DECLINES)
    assert (answer.status, answer.point, answer.flags) == (Status.ANSWERED, numbers, ())
    found = to_pixels(numbers, convention, size)
    assert found is not None
    steps = {"absolute": None, "unit": 0.01, "per-mille": 0.001, "per-999": 1 / 999}[convention]
    for one, other, side in zip(found, meant, size, strict=True):
        assert abs(one - other) <= (steps * side if steps else 1) / 2 + 1e-6


@pytest.mark.parametrize("form", [form for form in FORMS if form != "seeclick"])
def test_every_form_but_one_has_a_word_for_none(form: Form) -> None:
    assert place(write_place(form, None), form).status is Status.NONE
    assert place(write_place("seeclick", None), "seeclick").status is Status.PARSE_ERROR


PIECES = [
    "click(",
    "click([[1,2],",
    "click(x='\\",
    "pyautogui.click(x=",
    "click(start_box='",
    "click(1,2)\n",
    "<point>1 2",
    "<|begin_of_box|>[[1,2],",
    "<function=a><parameter=b>",
    "<function=a>" + "<parameter=coordinate>[1,2]</parameter>" * 3,
    "[[1,2,",
    "Thought: (1,2)\n",
    "<grounding_think>",
    "\nGrounded Operation: CLICK(box=[[1,2,3,4]])",
    "point:1,2\t",
    "ACTION: CLICK\n1,2\n",
    "</point>",
    "None\n",
    "is not ",
]


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join), st.sampled_from(FORMS))
def test_no_text_of_pieces_of_answers_raises(text: str, form: Form) -> None:
    for place_only in (True, False):
        answer = read_point(text, form, place_only=place_only, declines=DECLINES)
        assert (answer.point is not None) == (answer.status is Status.ANSWERED)


@pytest.mark.parametrize("piece", [*PIECES, *HOSTILE])
def test_texts_that_repeat_such_a_piece_take_no_time(piece: str) -> None:
    text = piece * (20_000 // len(piece))
    for form in FORMS:
        if form not in FIRST:
            with linear_time():
                place(text, form, *DECLINES)


@pytest.mark.parametrize("text", ["y: 314, x: 746", "(1, 2, 3)", "1.2.3, 4", "12 buttons, 3", "5"])
def test_other_numbers_on_a_line_are_no_place(text: str) -> None:
    assert place(text, "point-text").status is Status.PARSE_ERROR


@pytest.mark.parametrize("form", ["plain", "ui-tars", "click-call", "mai", "step"])
def test_an_answer_after_a_thought_counts(form: Form) -> None:
    spelled = write_place(form, (746.0, 314.0))
    assert place(f"Thought: not (1, 2).\n{spelled}", form).point == (746.0, 314.0)
