"""Replies as families of models write them, and the third edition of the reading rules.

The labels were made before the replies were read (`styles`). The files in `lines` hold replies
with letters to fill in: they weigh options and conclude, leave it open, or only look like letters.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parsers import Answer, Status, read_answer
from parsers.attributes import read_attributes
from parsers.autowebglm import read as read_call
from parsers.browsergym import read as read_function
from parsers.mindact import read_first_character, read_reference
from parsers.points import read_point
from tests.parsers.styles import LETTERS, NONE, OPTIONS, answers

FOLDER = Path(__file__).parent / "lines"
TRIPLES = [("C", "H", "K"), ("A", "B", "I"), ("I", "A", "D")]


def read(text: str, options: list[str] = OPTIONS) -> Answer:
    return read_answer(text, options, none_letter=NONE)


def three(element: str = "C", action: str = "CLICK", value: str = "None") -> str:
    return f"ELEMENT: {element}\nACTION: {action}\nVALUE: {value}"


def filled(name: str) -> list[tuple[str, str]]:
    """The texts of a file with letters filled in, each with its first letter."""
    lines = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").replace("\\n", "\n\t").splitlines()
    texts = "\n".join(lines).replace("\n\t", "\0").split("\n")
    return [
        (text.replace("\0", "\n").format(a=a, b=b, c=c), a) for text in texts for a, b, c in TRIPLES
    ]


def letter(answer: Answer) -> str:
    return LETTERS[answer.option] if answer.option is not None else answer.status.value


def test_answers_in_every_layout_are_read() -> None:
    replies = list(answers())
    assert len(replies) >= 3_000
    errors = []
    for name, text, said in replies:
        found = read(text)
        status = Status.ANSWERED if said.letter else Status.NONE
        option = LETTERS.index(said.letter) if said.letter else None
        right = (status, option, said.operation, " ".join(said.value.split()))
        flagged = found.flags and "{h}" not in name
        if flagged or (found.status, found.option, found.operation, found.value) != right:
            errors.append((name, text, found))
    # The bracket of `\\boxed{}` inside of answer tokens, and quotes in quotes in YAML.
    assert len(errors) <= 5, errors


FORMS = [
    "[ELEMENT] C\n[ACTION] TYPE\n[VALUE] Ohio",
    "Element to use: C\nAction to take: TYPE\nInput value: Ohio",
    "<p><strong>ELEMENT:</strong> C</p>\n<p><b>ACTION:</b> TYPE</p>\n<p><b>VALUE:</b> Ohio</p>",
    "<table><tr><td>ELEMENT</td><td>C</td></tr>\n<tr><td>ACTION</td><td>TYPE</td></tr>\n"
    "<tr><td>VALUE</td><td>Ohio</td></tr></table>",
    "<table>\n<tr><th>ELEMENT</th><th>ACTION</th><th>VALUE</th></tr>\n"
    "<tr><td>C</td><td>TYPE</td><td>Ohio</td></tr>\n</table>",
    "| ELEMENT | C |\n| ACTION | TYPE |\n| VALUE | Ohio |".replace("|", "\u2502"),
    "ELEMENT\tC\nACTION\tTYPE\nVALUE\tOhio",
    "| Element | Action | Value | Reason |\n|:--|:--|:--|:--|\n| C | TYPE | Ohio | needed |",
    "<arg_key>element</arg_key>\n<arg_value>C</arg_value>\n<arg_key>action</arg_key>\n"
    "<arg_value>TYPE</arg_value>\n<arg_key>value</arg_key>\n<arg_value>Ohio</arg_value>",
    "ELEMENT: C<br>ACTION: TYPE<br>VALUE: Ohio<br>",
    '{"element": {"option": "C"}, "action": {"type": "TYPE", "text": "Ohio"}}',
    '[{"name": "TYPE", "arguments": {"element": "C", "value": "Ohio"}}]',
    '{"name": "TYPE", "arguments": "{\\"element\\": \\"C\\", \\"text\\": \\"Ohio\\"}"}',
    "{<ELEMENT>: <C>, <ACTION>: <TYPE>, <VALUE>: <Ohio>}".translate({60: "\u201c", 62: "\u201d"}),
    "{element: 'C', action: 'TYPE', value: 'Ohio'}",
    "Let me see.<|begin_of_box|>C<|end_of_box|>\nACTION: TYPE\nVALUE: Ohio",
]


@pytest.mark.parametrize("text", FORMS)
def test_keys_are_read_in_every_form(text: str) -> None:
    found = read(text)
    assert (letter(found), found.operation, found.value) == ("C", "TYPE", "Ohio")


@pytest.mark.parametrize(("text", "best"), filled("weighing"))
def test_prose_that_weighs_options_is_its_conclusion(text: str, best: str) -> None:
    for reply in (text, f"{text}\n\nACTION: CLICK\nVALUE: None", f"<answer>{text}</answer>"):
        assert letter(read(reply)) == best


@pytest.mark.parametrize(("text", "_"), [*filled("several"), *filled("several_in_prose")])
def test_several_letters_never_become_one_without_a_flag(text: str, _: str) -> None:
    for reply in (text, three(text), f"{text}\n\nACTION: CLICK", f"{three(text)}</s>"):
        answer = read(reply)
        assert answer.status is not Status.ANSWERED or set(answer.flags) - {"prose"}, reply


@pytest.mark.parametrize(
    "text",
    [
        "Options C and H both match",
        "either C or H; I cannot tell",
        "Either I or K, I can't decide.",
        "Both option I and option K lead to the form.",
        "The best match is A. It could also be B.",
        "I see two candidates: C and H.",
    ],
)
def test_an_open_choice_is_ambiguous(text: str) -> None:
    for reply in (text, three(text), f"{text}\nACTION: CLICK"):
        assert read(reply).status is Status.AMBIGUOUS


@pytest.mark.parametrize("name", (FOLDER / "lone_letters.txt").read_text("utf-8").splitlines())
def test_a_name_with_a_lone_letter_names_no_option(name: str) -> None:
    for options in (OPTIONS, ["x"] * 20, [""] * 20):
        assert read(three(name), options).status is Status.NO_ELEMENT
        assert read(name, options).option is None


@pytest.mark.parametrize("name", ["E*TRADE", "A- rating", "E. coli", "$ A"])
def test_the_text_of_the_option_itself_makes_a_letter_of_it(name: str) -> None:
    own = name.lstrip("$ ")[0]
    options = list(OPTIONS)
    options[LETTERS.index(own)] = f"<a id=1> {name.lstrip('$ ')[1:].lstrip('*-. ') or name} </a>"
    expected = Status.NO_ELEMENT if name == "$ A" else Status.ANSWERED
    assert read(three(name), options).status is expected


@pytest.mark.parametrize(
    "element",
    [
        "A. None of the above",
        "A. None of the other options match the correct element",
        "(A) None of these",
        "A: none",
        "Option A - no element matches",
        "A) Not applicable",
    ],
)
def test_a_letter_beside_the_words_of_the_none_option_is_flagged(element: str) -> None:
    for text in (three(element), element, json.dumps({"element": element, "action": "CLICK"})):
        found = read(text)
        assert (found.option, "text_mismatch" in found.flags) == (0, True)
        assert "text_mismatch" in read(text, [""] * 20).flags
    alike = ["<option id=0> None </option>", *OPTIONS[1:]]
    assert read(three("A. None"), alike) == Answer(Status.ANSWERED, 0, "CLICK")
    assert read(three(f"{NONE}. None of the above")) == Answer(Status.NONE, None, "CLICK")


@pytest.mark.parametrize(
    "element",
    [
        *("box C", "bounding box C", 'the red box labelled "C"', "red box C", "Box C"),
        *("The element in box C", "the box with the letter C", "the box marked C"),
    ],
)
def test_boxes_of_a_marked_picture_are_letters(element: str) -> None:
    assert letter(read(three(element), [""] * 20)) == "C"
    assert read(three("box C")).status is Status.NO_ELEMENT


@pytest.mark.parametrize("mark", "\u24b8\u24d2\U0001f152\U0001f172\U0001f132\u249e\U0001f112")
def test_circled_and_parenthesised_letters_are_letters(mark: str) -> None:
    assert read(three(mark)) == Answer(Status.ANSWERED, 2, "CLICK")
    assert letter(read(f"The answer is {mark}.")) == "C"


def test_what_is_struck_out_is_taken_back() -> None:
    assert read(three("~~H~~ C", "~~CLICK~~ TYPE", "Ohio")) == read(three("C", "TYPE", "Ohio"))
    assert read(three("<del>H</del> C")) == Answer(Status.ANSWERED, 2, "CLICK")
    assert read(three("~~H~~")).status is Status.NO_ELEMENT
    struck = read(three("C", "TYPE", "~~Ohio~~ Iowa"))
    assert (struck.value, struck.flags) == ("Iowa", ("altered_value",))


TOKENS = ["<|im_end|>", "</s>", "<|eot_id|>", "<end_of_turn>", "<|endoftext|>", "</answer>", "<br>"]
TOKENS += [
    "**",
    "</s></s>",
    " <|im_end|>\n<|endoftext|>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
]


@pytest.mark.parametrize("token", TOKENS)
def test_tokens_at_the_end_of_a_line_belong_to_no_reader_s_value(token: str) -> None:
    said = Answer(Status.ANSWERED, 2, "TYPE", "Ohio")
    assert read(three("C", "TYPE", "Ohio") + token) == said
    assert read(three("C" + token, "TYPE" + token, "Ohio" + token)) == said
    lines = f"ELEMENT TYPE: BUTTON{token}\nACTION: TYPE{token}\nVALUE: Ohio{token}"
    assert read_attributes(lines).value == "Ohio"
    assert read_point(f"ELEMENT: 3, 4\nACTION: TYPE\nVALUE: Ohio{token}", "plain").value == "Ohio"
    mindact = f"Answer: C.\nAction: TYPE\nValue: Ohio{token}"
    assert read_reference(mindact, 5).value == "Ohio"
    assert read_first_character(mindact[8:], 5).value == "Ohio"
    assert read_call(f"click('AB'){token}").flags == ()
    assert read_function(f"<action>click('3')</action>{token}").status is Status.ANSWERED


@pytest.mark.parametrize("box", ["<|begin_of_box|>{}<|end_of_box|>", "<answer>{}</answer>"])
def test_answer_tokens_are_unwrapped(box: str) -> None:
    said = Answer(Status.ANSWERED, 2, "TYPE", "Ohio")
    whole = three("C", "TYPE", "Ohio")
    for text in (
        box.format(whole),
        three(box.format("C"), box.format("TYPE"), box.format("Ohio")),
        box.format("C") + "\nACTION: TYPE\nVALUE: " + box.format("Ohio"),
        f"{three('H', 'CLICK')}\n{box.format(whole)}",
    ):
        assert read(text) == said
    assert letter(read(f"C or H.\n{box.format('C')}")) == "C"
    assert read_point(box.format("(3, 4)") + " is (1, 2)", "point-text", place_only=True).point == (
        3,
        4,
    )


@pytest.mark.parametrize(
    "value", ["a </s> b", "the <br> tag", "2 ** 3", "a <|im_end|> b", "**b** x"]
)
def test_a_token_between_words_is_text(value: str) -> None:
    assert read(three("C", "TYPE", value)).value == value


@pytest.mark.parametrize(
    ("action", "operation", "value", "flags"),
    [
        ("Enter text", "TYPE", "Ohio", ()),
        ("TYPE and press ENTER", "TYPE", "Ohio", ()),
        ("TYPE & ENTER", "TYPE", "Ohio", ()),
        ("TYPE + ENTER", "TYPE", "Ohio", ()),
        ("TYPE, then press Enter", "TYPE", "Ohio", ()),
        ("type the name and hit enter", "TYPE", "Ohio", ()),
        ("Input", "TYPE", "Ohio", ()),
        ("fill in the field", "TYPE", "Ohio", ()),
        ("Write", "TYPE", "Ohio", ()),
        ("key in the text", "TYPE", "Ohio", ()),
        ("enter the city name", "TYPE", "Ohio", ()),
        ('Enter "New York"', "TYPE", "Ohio", ()),
        ("CLICK the input", "CLICK", "", ()),
        ("ENTER", "CLICK", "", ("mapped_operation",)),
        ("press the ENTER key", "CLICK", "", ("mapped_operation",)),
        ("double-click", "CLICK", "", ("mapped_operation",)),
        ("CLICK, then TYPE", "CLICK", "", ("multiple",)),
    ],
)
def test_words_for_typing(action: str, operation: str, value: str, flags: tuple[str, ...]) -> None:
    found = read(three("C", action, "Ohio"))
    assert (found.operation, found.value, found.flags) == (operation, value, flags)


@pytest.mark.parametrize(
    ("text", "value", "flag"),
    [
        (three("C", "TYPE", '"Ohio" (as required)'), "Ohio", "altered_value"),
        (three("C", "TYPE", '"Ohio".'), "Ohio", "altered_value"),
        (three("C", "PONDER", "Ohio"), "", "dropped_value"),
        ("ELEMENT: C\nVALUE: Ohio", "", "dropped_value"),
        ('ELEMENT: C\nACTION: Enter "New York"', "New York", "value_in_action"),
        (three("C", "TYPE", "Ohio") + "\nVALUE: Iowa", "Ohio", "multiple"),
        (three("C", "CLICK", "Ohio") + "\nACTION: TYPE", "", "multiple"),
        ("ELEMENT: C\nI would TYPE Ohio.", "", "missing_value"),
        ("ELEMENT: C\nI would type Ohio.", "", "unknown_action"),
        ('{"element": "C", "action": "TYPE", "value": ["a", "b"]}', "", "missing_value"),
        ('{"element": "C", "action": "TYPE", "value": "a\\ud800"}', "a\ufffd", "altered_value"),
    ],
)
def test_no_value_or_operation_is_altered_or_lost_without_a_flag(
    text: str, value: str, flag: str
) -> None:
    found = read(text)
    assert (found.option, found.value) == (2, value)
    assert flag in found.flags


@pytest.mark.parametrize(
    "value", ["Ohio", '"Ohio"', "'Ohio'", "**Ohio**", "  Ohio ", "<b>Ohio</b>"]
)
def test_blanks_quotes_and_end_tokens_go_without_a_flag(value: str) -> None:
    assert read(three("C", "TYPE", f"{value}</s>")) == Answer(Status.ANSWERED, 2, "TYPE", "Ohio")
    assert read(three("C", "CLICK", value)) == Answer(Status.ANSWERED, 2, "CLICK")


def test_a_quotation_over_several_lines_is_one_value() -> None:
    found = read(three("C", "TYPE", '"12 Main St\nSpringfield"\n\nThat is the "address"'))
    assert (found.value, found.flags) == ("12 Main St Springfield", ())
    assert read(three("C", "TYPE", '"Ohio\n\nThe "state"')).value == '"Ohio'
