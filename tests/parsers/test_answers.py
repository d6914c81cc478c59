"""Every line of the behaviour table for answers, then what the table leaves open."""

from __future__ import annotations

import pytest

from parsers import Answer, Status, letters_for, read_answer

OPTIONS = [f"<button id={i} submit> Button {i} </button>" for i in range(20)]
OPTIONS[7] = "<button id=7 submit search> Search </button>"
OPTIONS[14] = "<button id=14 button> Cancel </button>"
NONE_LETTER = "U"
H = 7


def read(text: str, **kwargs: object) -> Answer:
    return read_answer(text, OPTIONS, none_letter=NONE_LETTER, **kwargs)  # type: ignore[arg-type]


def three(element: str = "H", action: str = "CLICK", value: str = "None") -> str:
    return f"ELEMENT: {element}\n\nACTION: {action}\n\nVALUE: {value}"


def answered(
    option: int = H, operation: str = "CLICK", value: str = "", flags: tuple[str, ...] = ()
) -> Answer:
    return Answer(Status.ANSWERED, option, operation, value, flags)  # type: ignore[arg-type]


JSON = '{"ELEMENT": "H", "ACTION": "CLICK", "VALUE": "None"}'

H_CLICK = {
    "clean three lines": three(),
    "bold keys": "**ELEMENT:** H\n**ACTION:** CLICK\n**VALUE:** None",
    "bold keys, colon outside": "**ELEMENT**: H\n**ACTION**: CLICK\n**VALUE**: None",
    "bold values": "ELEMENT: **H**\nACTION: **CLICK**\nVALUE: **None**",
    "bold lines": "**ELEMENT: H**\n**ACTION: CLICK**\n**VALUE: None**",
    "lower-case letter": three("h"),
    "lower-case action": three(action="click"),
    "keys in title case": "Element: H\nAction: CLICK\nValue: None",
    "no blank after the colon": "ELEMENT:H\nACTION:CLICK\nVALUE:None",
    "two blanks after the colon": "ELEMENT:  H\nACTION:  CLICK\nVALUE:  None",
    "newline after the colon": "ELEMENT:\nH\nACTION:\nCLICK\nVALUE:\nNone",
    "empty line after the colon": "ELEMENT:\n\nH\n\nACTION:\n\nCLICK\n\nVALUE:\n\nNone",
    "round brackets": three("(H)"),
    "square brackets": three("[H]"),
    "quotes": three('"H"'),
    "closing bracket": three("H)"),
    "period": three("H."),
    "angle brackets": three("<H>"),
    "option before the letter": three("Option H"),
    "option before a lower-case letter": three("option h"),
    "letter with its choice text": three("H. <button id=7 submit search> Search </button>"),
    "letter with a shortened choice text": three("H. <button id=7 submit…"),
    "letter with the visible text": three('H. "Search"'),
    "letter with a remark": three("H. This is the button, option A is wrong"),
    "template echoed before the answer": (
        "ELEMENT: The uppercase letter of your choice.\n\n"
        "ACTION: Choose an action from {CLICK, TYPE, SELECT}.\n\n"
        "VALUE: Provide additional input based on ACTION.\n\n" + three()
    ),
    "another element mentioned in the reasoning": "I first thought ELEMENT: C fits.\n" + three(),
    "another element on a line of the reasoning": "ELEMENT: C was my guess.\n\n" + three(),
    "an action on a line of the reasoning": "Action: TYPE comes later.\n" + three(),
    "action before element": "ACTION: CLICK\nELEMENT: H\nVALUE: None",
    "list marks": "- ELEMENT: H\n- ACTION: CLICK\n- VALUE: None",
    "numbers": "1. ELEMENT: H\n2. ACTION: CLICK\n3. VALUE: None",
    "headings": "### ELEMENT: H\n### ACTION: CLICK\n### VALUE: None",
    "one line": "ELEMENT: H, ACTION: CLICK, VALUE: None",
    "one line after an introduction": "Final answer: ELEMENT: H ACTION: CLICK VALUE: None",
    "JSON": JSON,
    "JSON, fenced": f"Here it is:\n```json\n{JSON}\n```\n",
    "JSON, lower-case keys": '{"element": "H", "action": "click", "value": null}',
    "JSON over several lines": '{\n  "ELEMENT": "H",\n  "ACTION": "CLICK",\n  "VALUE": "None"\n}',
    "JSON with other keys": '{"reasoning": "ELEMENT: C {x}", "ELEMENT": "H", "ACTION": "CLICK"}',
    "JSON inside an object": '{"answer": {"ELEMENT": "H", "ACTION": "CLICK"}}',
    "JSON inside an action": '{"action": {"ELEMENT": "H", "ACTION": "CLICK"}}',
    "JSON inside a sentence": f"My answer is {JSON}, as explained.",
    "almost JSON": "{'ELEMENT': 'H', 'ACTION': 'CLICK', 'VALUE': 'None',}",
    "fenced block": f"```\n{three()}\n```",
    "carriage returns": three().replace("\n", "\r\n"),
    "old line ends": three().replace("\n", "\r"),
    "thinking before": f"<think>\n{three('C', 'TYPE', 'x')}\n</think>\n\n{three()}",
    "thinking without opening tag": f"{three('C', 'TYPE', 'x')}\n</think>\n{three()}",
    "thinking twice": f"<think>a</think>\n<think>{three('B')}</think>{three()}",
    "full-width colon": "ELEMENT：H\nACTION：CLICK\nVALUE：None",
    "full-width letter": three("Ｈ"),
    "full-width brackets": three("（H）"),
    "text of another script around": "我选择搜索按钮。\n" + three("选项H，因为"),
    "letter that looks the same": three("\u041d"),
    "byte order mark and invisible marks": "\ufeff" + three("\u200bH\u200b"),
    "no-break blanks": three().replace(": ", ":\u00a0"),
    "MindAct keys": "Answer: H.\nAction: CLICK\nValue: None",
}


@pytest.mark.parametrize("text", H_CLICK.values(), ids=H_CLICK)
def test_reads_as_click_on_option_h(text: str) -> None:
    assert read(text) == answered()


NONE = [
    *("None", "none", "NA", "N/A", "n/a", "none of the above", "None of the above.", "null"),
    *("U", "U. None of the other options match the correct element", "(U)", "None (U)", "**None**"),
    *("Not applicable", "There is none of the listed ones: none of them fits"),
]


@pytest.mark.parametrize("element", NONE)
def test_reads_as_none_of_the_options(element: str) -> None:
    assert read(three(element)) == Answer(Status.NONE, operation="CLICK")


@pytest.mark.parametrize("word", ["NA", "N/A", "None", "none of the above"])
@pytest.mark.parametrize("count", [1, 20, 27, 400, 500])
def test_words_for_none_are_none_at_any_number_of_options(word: str, count: int) -> None:
    for none_letter in (None, "ZZ"):
        answer = read_answer(three(word), ["x"] * count, none_letter=none_letter)
        assert answer.status is Status.NONE


def test_json_null_is_none() -> None:
    answer = read('{"ELEMENT": null, "ACTION": "CLICK"}')
    assert answer == Answer(Status.NONE, operation="CLICK")


ELEMENT_UNREADABLE = {
    "words of a choice": ("BUTTON search", Status.NO_ELEMENT),
    "article": ("A button with the word search", Status.NO_ELEMENT),
    "a word": ("Search", Status.NO_ELEMENT),
    "abbreviation": ("the Washington D.C. link", Status.NO_ELEMENT),
    "beyond the list": ("W", Status.OUT_OF_RANGE),
    "beyond the list, in a sentence": ("The correct choice is W.", Status.OUT_OF_RANGE),
    "two letters with few options": ("AA", Status.NO_ELEMENT),
    "comma": ("F, H", Status.AMBIGUOUS),
    "or": ("F or H", Status.AMBIGUOUS),
    "slash": ("F/H", Status.AMBIGUOUS),
    "and, quoted": ('"F" and "H"', Status.AMBIGUOUS),
    "sentence with two letters": ("either F or possibly H", Status.AMBIGUOUS),
    "range": ("F - H", Status.AMBIGUOUS),
}


@pytest.mark.parametrize(("element", "status"), ELEMENT_UNREADABLE.values(), ids=ELEMENT_UNREADABLE)
def test_keeps_the_operation_when_only_the_element_is_unreadable(
    element: str, status: Status
) -> None:
    assert read(three(element)) == Answer(status, operation="CLICK")
    assert read(three(element, "TYPE", "ab")) == Answer(status, operation="TYPE", value="ab")


@pytest.mark.parametrize("element", ["F, H", "F or H", '"F" and "H"', "F/H/B"])
def test_first_of_many_letters_on_request(element: str) -> None:
    assert read(three(element), first_of_many=True) == answered(5, flags=("first_of_many",))


def test_a_letter_in_a_sentence_is_flagged() -> None:
    assert read(three("The correct choice is H.")) == answered(flags=("in_text",))


@pytest.mark.parametrize("count", [27, 47, 60])
def test_two_letters_with_many_options(count: int) -> None:
    options = ["x"] * count
    for place, letter in enumerate(letters_for(count)):
        for written in (letter, f"({letter})", f"The choice is {letter}.", letter.lower()):
            answer = read_answer(three(written), options, none_letter=None)
            flags = ("in_text",) if written.startswith("The") else ()
            assert answer == answered(place, flags=flags), written
    assert read_answer(three("ZA"), options, none_letter=None).status is Status.OUT_OF_RANGE


def test_none_first_shifts_the_letters() -> None:
    assert read_answer(three("A"), ["x", "y"], none_letter="A").status is Status.NONE
    assert read_answer(three("C"), ["x", "y"], none_letter="A") == answered(1)


def test_letters_may_be_given() -> None:
    answer = read_answer(three("Q"), ["x", "y"], none_letter=None, letters=["P", "Q"])
    assert answer == answered(1)


@pytest.mark.parametrize(
    ("options", "letters", "none_letter"),
    [
        (2, ["A"], None),
        (2, ["A", "A"], None),
        (2, ["A", "B"], "B"),
        (1, ["1"], None),
        (1, None, "?"),
    ],
)
def test_letters_that_do_not_fit_are_an_error(
    options: int, letters: list[str] | None, none_letter: str | None
) -> None:
    with pytest.raises(ValueError, match="letter"):
        read_answer("", ["x"] * options, none_letter=none_letter, letters=letters)


def test_a_block_and_a_later_json_block() -> None:
    assert read(three("C") + "\nNo:\n" + JSON) == answered(flags=("multiple",))
    assert read(JSON + "\nThen:\n" + three("C")) == answered(flags=("multiple",))


def test_incomplete_block_after_a_complete_one_is_overlooked() -> None:
    assert read(three() + "\n\nELEMENT: C would be second best") == answered()


KEYS = {
    "doubled equals sign": "ELEMENT == H\nACTION == CLICK\nVALUE == None",
    "assignment": "ELEMENT := H\nACTION := CLICK\nVALUE := None",
    "equals sign": "ELEMENT = H\nACTION = CLICK\nVALUE = None",
    "assignments on one line": "ELEMENT=H, ACTION=CLICK, VALUE=None",
    "condition after the element": (
        "ELEMENT: H (If ACTION == SCROLL DOWN, there is no element.)\nACTION: CLICK\nVALUE: None"
    ),
    "condition after the action": (
        "ELEMENT: H\nACTION: CLICK (if VALUE == None, nothing is typed)\nVALUE: None"
    ),
    "condition with one equals sign": "ELEMENT: H (If ACTION = TYPE, a box)\nACTION: CLICK",
    "condition in the reasoning": "If ACTION == TYPE, write a VALUE == text.\n" + three(),
    "condition after the value": three() + "\n(If ACTION == TYPE, the text)",
}


@pytest.mark.parametrize("text", KEYS.values(), ids=KEYS)
def test_keys_and_conditions(text: str) -> None:
    assert read(text) == answered()


VALUES = {
    "double quotes": ('"text"', "text"),
    "single quotes": ("'text'", "text"),
    "backticks": ("`text`", "text"),
    "bold": ("**text**", "text"),
    "curly quotes": ("“text”", "text"),
    "final period kept": ("Washington D.C.", "Washington D.C."),
    "one pair only": ("\"'text'\"", "'text'"),
    "quotes that are no pair": ('"a" or "b"', '"a" or "b"'),
    "apostrophe": ("'it's'", "it's"),
    "blanks": ("  New \t York ", "New York"),
    "case kept": ("new York", "new York"),
    "key inside": ("ACTION: go", "ACTION: go"),
    "full-width characters kept": ("１０２", "１０２"),
}


@pytest.mark.parametrize(("written", "value"), VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("operation", ["TYPE", "SELECT"])
def test_value_is_cleaned(operation: str, written: str, value: str) -> None:
    assert read(three("H", operation, written)) == answered(H, operation, value)


def test_value_on_the_next_line() -> None:
    text = "ELEMENT: H\nACTION: TYPE\nVALUE:\n\nNew York\nbecause"
    assert read(text) == answered(H, "TYPE", "New York")


def test_json_values() -> None:
    text = '{"ELEMENT": "H", "ACTION": "TYPE", "VALUE": %s}'
    assert read(text % '"New  York"').value == "New York"
    assert read(text % "10203").value == "10203"
    assert read(text % "1.50").value == "1.50"
    assert read(text % "null") == answered(H, "TYPE", "", ("missing_value",))
    assert read(text % '"a\\ud800"').value == "a\ufffd"


def test_seeact_value_style() -> None:
    text = three("H", "TYPE", '"Washington D.C."')
    assert read(text, value_style="seeact") == answered(H, "TYPE", "Washington D.C")


@pytest.mark.parametrize("operation", ["TYPE", "SELECT"])
def test_absent_value_is_missing(operation: str) -> None:
    text = f"ELEMENT: H\nACTION: {operation}"
    assert read(text) == answered(H, operation, "", ("missing_value",))


@pytest.mark.parametrize("word", ["None", "none", "N/A", "null", "", '""', '"None"', "None."])
@pytest.mark.parametrize("operation", ["TYPE", "SELECT"])
def test_words_for_no_value_are_missing(operation: str, word: str) -> None:
    answer = read(three("H", operation, word))
    assert answer == answered(H, operation, "", ("missing_value",))


@pytest.mark.parametrize("word", ["None", "N/A", "null", "something", ""])
def test_value_of_a_click_is_dropped(word: str) -> None:
    assert read(three(value=word)) == answered()


@pytest.mark.parametrize("action", ["HOVER", "ENTER", "PRESS ENTER", "press enter", "PRESS_ENTER"])
def test_mapped_operations_are_clicks(action: str) -> None:
    assert read(three(action=action)) == answered(flags=("mapped_operation",))


@pytest.mark.parametrize("action", ["SCROLL", "SCROLL DOWN", "TERMINATE", "NONE", "None", "N/A"])
def test_other_actions_are_no_operation(action: str) -> None:
    answer = read(three(action=action))
    assert answer == Answer(Status.ANSWERED, H, flags=("other_action",))


def test_unknown_and_listed_actions_are_no_operation() -> None:
    assert read(three(action="PONDER")) == Answer(Status.ANSWERED, H, flags=("unknown_action",))
    listed = Answer(Status.ANSWERED, H, flags=("several_actions",))
    assert read(three(action="CLICK or TYPE")) == listed


@pytest.mark.parametrize(
    ("action", "operation"),
    [
        ("CLICK the SELECT box", "CLICK"),
        ("Select from the list", "SELECT"),
        ("`TYPE`", "TYPE"),
        ("CLICK (not TYPE)", "CLICK"),
        ("clicking", "CLICK"),
        ("left_click", "CLICK"),
    ],
)
def test_operation_within_words(action: str, operation: str) -> None:
    assert read(three(action=action, value="x")).operation == operation


REFUSALS = [
    "I'm sorry, but I can't help with that.",
    "I’m sorry, I can’t assist with this request.",
    "I cannot assist with purchases such as Plan B.",
    "I am unable to help with this.",
    "Sorry, but that is against my guidelines.",
    "As an AI, I must refrain.",
    "ELEMENT: I'm sorry, I can't help with that",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_refusal_by_wording(text: str) -> None:
    assert read(text) == Answer(Status.REFUSAL)


def test_apology_with_an_answer_is_an_answer() -> None:
    assert read("I'm sorry, I can't see it well.\n" + three()) == answered()
    assert read("I'm sorry, I can't be sure, but I choose option H.").option == H


@pytest.mark.parametrize("text", ["", "  \n\t ", "\u200b\n"])
def test_no_text_is_empty(text: str) -> None:
    assert read(text) == Answer(Status.EMPTY)


def test_only_thinking_is_empty() -> None:
    assert read(f"<think>{three()}</think>") == Answer(Status.EMPTY, flags=("only_thinking",))


PROSE = {
    "one letter": ("I think it is H", Status.ANSWERED, H),
    "article besides": ("A button named H is what I want", Status.ANSWERED, H),
    "only an article": ("A button is what I want", Status.PARSE_ERROR, None),
    "two letters": ("It is H, perhaps G", Status.AMBIGUOUS, None),
    "two sentences": ("Option C is a menu. It is below option H.", Status.AMBIGUOUS, None),
    "a conclusion": ("Option C is a menu. So the answer is H.", Status.ANSWERED, H),
    "a letter and a remark": ("H. It stands below option C.", Status.ANSWERED, H),
    "a letter on its own line": ("I look for the search.\n\n**H**", Status.ANSWERED, H),
    "denied": ("It is not C.", Status.NO_ELEMENT, None),
    "denied, then named": ("Option C is wrong.\nThe answer is H.", Status.ANSWERED, H),
    "corrected": ("I choose C.\nWait, it should be H.", Status.ANSWERED, H),
    "a name": ("I look for a seat in Row K, with Plan A.", Status.PARSE_ERROR, None),
    "bare letter": ("H", Status.ANSWERED, H),
    "beyond the list": ("It must be X", Status.OUT_OF_RANGE, None),
    "none": ("None of the options matches.", Status.NONE, None),
    "none letter": ("It is U", Status.NONE, None),
    "no letter": ("Click the search button.", Status.PARSE_ERROR, None),
    "punctuation": ("?!", Status.PARSE_ERROR, None),
}


@pytest.mark.parametrize(("text", "status", "option"), PROSE.values(), ids=PROSE)
def test_prose(text: str, status: Status, option: int | None) -> None:
    answer = read(text)
    assert (answer.status, answer.option, answer.operation) == (status, option, None)
    assert ("prose" in answer.flags) == (status is not Status.PARSE_ERROR)


def test_operation_without_element_line_is_kept() -> None:
    assert read("ACTION: TYPE\nVALUE: ab") == Answer(
        Status.NO_ELEMENT, operation="TYPE", value="ab", flags=("prose",)
    )
    # MindAct's format, which has no key for the letter.
    assert read("H.\nACTION: CLICK") == answered()
    assert read("The answer is H.\nACTION: CLICK") == answered(flags=("in_text", "prose"))


def test_neither_element_nor_operation_is_a_parse_error() -> None:
    for text in ("ELEMENT: ??\nACTION: ??", "ELEMENT:\nACTION:\nVALUE:", "hello"):
        assert read(text).status is Status.PARSE_ERROR, text
    template = three("The uppercase letter of your choice.", "one of {CLICK, TYPE, SELECT}")
    assert read(template).status is Status.PARSE_ERROR


MISMATCHES = [
    "H. <button id=14 button> Cancel </button>",
    'H. "Cancel"',
    "H - <button id=14…",
    "H <input id=7 text>",
]


@pytest.mark.parametrize("element", MISMATCHES)
def test_letter_wins_over_a_different_choice_text(element: str) -> None:
    assert read(three(element)) == answered(flags=("text_mismatch",))


def test_choice_text_without_a_letter_names_the_option() -> None:
    assert read(three(OPTIONS[H])) == answered(flags=("by_text",))


@pytest.mark.parametrize(
    ("finish", "status"),
    [
        ("refusal", Status.REFUSAL),
        ("content_filter", Status.CONTENT_FILTER),
        ("too_long", Status.TOO_LONG),
    ],
)
def test_what_the_provider_decided_is_the_status(finish: str, status: Status) -> None:
    assert read(three(), finish=finish) == Answer(status)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The webpage shows a search bar, H is",
        "<think>ELEMENT: H\nACTION: CLICK",
        "ELEMENT: H",
        "ELEMENT: H\nACTION: CL",
        "ELEMENT: H\nACTION: TYPE",
        "ELEMENT: H\nACTION: TYPE\nVALUE: New Yo",
        '{"ELEMENT": "H", "ACTION": "TYPE", "VALUE": "New Yo',
    ],
)
def test_cut_reply_without_complete_block_is_truncated(text: str) -> None:
    assert read(text, finish="length") == Answer(Status.TRUNCATED)


@pytest.mark.parametrize(
    ("text", "operation", "value"),
    [
        ("ELEMENT: H\nACTION: CLICK", "CLICK", ""),
        ("ELEMENT: H\nACTION: TYPE\nVALUE: New York\n\nThis", "TYPE", "New York"),
        (JSON + "\nThis is bec", "CLICK", ""),
        (three() + "\n\nELEMENT: C\nACTION: TYPE\nVALUE: N", "CLICK", ""),
    ],
)
def test_cut_reply_with_complete_block_is_read_and_flagged(
    text: str, operation: str, value: str
) -> None:
    assert read(text, finish="length") == answered(H, operation, value, ("truncated",))


def test_unknown_finish_is_an_error() -> None:
    with pytest.raises(ValueError, match="finish"):
        read("", finish="tool_calls")
