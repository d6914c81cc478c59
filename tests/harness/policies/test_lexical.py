"""The lexical baseline on worked cases, on any text, and on hostile text."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.policies.lexical import Lexical
from harness.records import Choice
from harness.views import StepView
from parsers.records import OPERATIONS, Prediction, Status
from tests.clock import linear_time
from tests.harness.protocols.examples import choices, step


def predict(task: str, texts: list[str], history: tuple[str, ...] = ()) -> Prediction:
    return Lexical().predict(
        StepView(step(task=task, history=history), choices(None, *texts)), random.Random(0), None
    )


@pytest.mark.parametrize(
    ("text", "operation"),
    [
        ("<input id=0 search q />", "TYPE"),
        ("<textarea id=0 comment />", "TYPE"),
        ("<div id=0 textbox city> </div>", "TYPE"),
        ("<select id=0 people> <option true> 2 people </option>", "SELECT"),
        ("<input id=0 submit search />", "CLICK"),
        ("<input id=0 checkbox vegan />", "CLICK"),
        ("<input id=0 radio one way />", "CLICK"),
        ("<button id=0 submit> Go </button>", "CLICK"),
        ("<a id=0> Menu </a>", "CLICK"),
        ("<span id=0> Menu </span>", "CLICK"),
    ],
)
def test_the_operation_follows_from_the_kind_of_element(text: str, operation: str) -> None:
    assert predict("Find a vegan Menu in Oslo", [text]).operation == operation


def test_the_link_named_in_the_task_is_clicked() -> None:
    links = ["<a id=0> Careers </a>", "<a id=1> Roof repair </a>", "<a id=2> Windows </a>"]
    answer = predict("Compare offers for roof repair near Leeds", links)
    assert (answer.element, answer.operation, answer.value) == ("n1", "CLICK", "")


@pytest.mark.parametrize(
    ("task", "field", "value"),
    [
        (
            "Subscribe with ada@example.org for Ada",
            "<input id=0 email address />",
            "ada@example.org",
        ),
        ('Search for "slow trains" in Books', "<input id=0 search q />", "slow trains"),
        ("Find weather near 10203 on Monday", "<input id=0 zip code />", "10203"),
        ("Fly from New York to Oslo", "<input id=0 destination />", "Oslo"),
        ("Fly from New York to Oslo", "<input id=0 origin from />", "New York"),
        ("Log in with card 4412 0099 for Ada Byron", "<input id=0 card number />", "4412 0099"),
        ("Reserve at Chez Luc for Ada Byron", "<input id=0 your name />", "Ada Byron"),
        ("Find a used guitar under 300", "<input id=0 search />", "used guitar"),
    ],
)
def test_the_value_is_the_phrase_of_the_fields_kind(task: str, field: str, value: str) -> None:
    answer = predict(task, [field])
    assert (answer.operation, answer.value) == ("TYPE", value)


@pytest.mark.parametrize(
    ("task", "options", "value"),
    [
        ("Book a table for 5 people", "<option true> 2 people </option> <option> 3", "5 people"),
        ("A taxi on Friday 9 May", "<option true> Monday 5 May </option> <option>", "Friday 9 May"),
        ("Show flats, newest first", "<option> Oldest </option> <option> Newest", "Newest"),
    ],
)
def test_an_option_is_known_by_its_words_or_its_form(task: str, options: str, value: str) -> None:
    answer = predict(task, [f"<select id=0> {options}"])
    assert (answer.operation, answer.value) == ("SELECT", value)


def test_a_value_is_not_typed_twice() -> None:
    fields = ["<input id=0 from leeds />", "<input id=1 to />"]
    answer = predict("Trains from Leeds to York", fields, ("[textbox]  From -> TYPE: Leeds",))
    assert (answer.element, answer.operation, answer.value) == ("n1", "TYPE", "York")


def test_fields_with_an_open_value_come_before_the_button_and_the_button_after_them() -> None:
    task = "Trains from Leeds to York"
    page = [
        "<button id=0 submit> Search trains </button>",
        "<input id=1 from />",
        "<input id=2 to />",
    ]
    assert predict(task, page).value == "Leeds"
    done = ["<button id=0 submit> Search trains </button>", "<input id=1 from leeds />"]
    done.append("<input id=2 to york />")
    history = ("[textbox]  From -> TYPE: Leeds", "[textbox]  To -> TYPE: York")
    answer = predict(task, done, history)
    assert (answer.element, answer.operation) == ("n0", "CLICK")


def test_the_link_wins_against_the_list_around_it() -> None:
    page = ["<ul id=0> <a> Opening hours </a> </ul>", "<a id=1> Opening hours </a>"]
    assert predict("Find the opening hours", page).element == "n1"


WORDS = st.sampled_from(
    [
        "find",
        "Oslo",
        "the",
        "5 people",
        "£7",
        "->",
        "TYPE:",
        "[a]  ",
        "'",
        '"',
        "a@b.c",
        "1 May",
        "\n",
    ]
)
TEXTS = st.text(max_size=40) | st.lists(WORDS | st.text(max_size=3), max_size=12).map(" ".join)
TAGS = st.sampled_from(["input", "select", "a", "button", "div", "", "SPAN", "textarea"])
MARKUP = st.sampled_from(
    ["<input id=0 ", "<select> <option true> ", "<option> ", "</a>", "/>", ">"]
)
CHOICES = st.lists(
    st.tuples(TAGS, st.lists(MARKUP | TEXTS, max_size=5).map("".join)), min_size=1, max_size=6
)


@given(TEXTS, st.lists(TEXTS, max_size=4), CHOICES)
@settings(max_examples=300, deadline=None)
def test_any_text_gives_one_and_the_same_listed_answer(
    task: str, history: list[str], listed: list[tuple[str, str]]
) -> None:
    offered = tuple(Choice(chr(65 + i), f"n{i}", tag, text) for i, (tag, text) in enumerate(listed))
    about = step(task=task, history=history)
    answer, again = (
        Lexical().predict(StepView(about, offered), random.Random(seed), None) for seed in (1, 2)
    )
    assert answer == again
    assert answer.status is Status.ANSWERED
    assert (answer.letter, answer.element) in {(c.letter, c.id) for c in offered}
    assert answer.operation in OPERATIONS
    assert answer.operation != "CLICK" or answer.value == ""
    assert "\n" not in answer.value


@pytest.mark.parametrize(
    "unit", ["A", " ", "1", '"', "Ab ", "1 ", "a@b.", "find the x ", "A-", "of A ", "1 May ", "£1 "]
)
def test_time_grows_with_the_task_and_not_with_its_square(unit: str) -> None:
    page = ["<input id=0 search q name />", "<select id=1> <option> 2 people", "<a id=2> Find </a>"]

    task = unit * (100_000 // len(unit))
    with linear_time():
        predict(task, page, (f"[a]  {task} -> CLICK", "[b]  x -> TYPE: y"))
