"""The functions of AutoWebGLM: what a reply calls for, and how an action is written."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers import Status
from parsers.actions import Action, Argument
from parsers.autowebglm import FUNCTIONS, SEARCHED, Order, read, spell
from parsers.calls import LONGEST
from parsers.settling import settled


def act(name: str, element: str | None = None, **arguments: Any) -> Action:
    return Action(name, element, arguments=arguments)


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ("click('SD')", act("click", "SD")),
        ('hover("ABCD")', act("hover", "ABCD")),
        ("select('A', 'Two')", act("select", "A", option="Two")),
        ("type_string('A', '', False)", act("type_string", "A", content="", press_enter=False)),
        ("scroll_page('down')", act("scroll_page", direction="down")),
        ("go('backward')", act("go", direction="backward")),
        ("jump_to('a.b', True)", act("jump_to", url="a.b", new_tab=True)),
        ("switch_tab(2)", act("switch_tab", index=2)),
        ("user_input('Please log in.')", act("user_input", message="Please log in.")),
        ("finish('请登录')", act("finish", answer="请登录")),
        ("finish()", act("finish")),
        ("finish(None)", act("finish")),
        ("type_string('A', content='Ohio')", act("type_string", "A", content="Ohio")),
        ("click(id='A')", act("click", "A")),
    ],
)
def test_the_ten_functions(reply: str, action: Action) -> None:
    assert {kind.name for kind in FUNCTIONS.actions} == set(SEARCHED) and len(SEARCHED) == 10
    for text in (
        reply,
        f"A: {reply}  # because the user said so",
        f"```python\n{reply}\n```",
        f"<think>click('X') or go('up')?</think>\n{reply}",
        f"I would open (or close) the menu.\n\n**{reply}**\n\nThat (SD) is it.",
    ):
        found = read(text)
        assert (found.status, found.action, found.flags) == (Status.ANSWERED, action, ())
        assert settled(found, FUNCTIONS) == found


@pytest.mark.parametrize(
    ("reply", "status", "action", "flags"),
    [
        ("click()", "no_element", act("click"), ()),
        ("click(7)", "no_element", act("click"), ("wrong_argument",)),
        ("click(None)", "no_element", act("click"), ()),
        ("click('A', 'B')", "answered", act("click", "A"), ("wrong_argument",)),
        ("click('A', id='B')", "answered", act("click", "A"), ("wrong_argument",)),
        ("select('A')", "answered", act("select", "A"), ("missing_argument",)),
        ("go('up')", "answered", act("go"), ("missing_argument", "wrong_argument")),
        ("finish(1)", "answered", act("finish"), ("wrong_argument",)),
        ("drag('A', 'B')", "parse_error", None, ("unknown_action",)),
        ("click('[SD]')", "answered", act("click", "SD"), ("repaired",)),
        ("finish('a\nb')", "answered", act("finish", answer="a\nb"), ("repaired",)),
        ("finish('\\ud800')", "answered", act("finish", answer="\ufffd"), ()),
        ("click(SD)", "parse_error", None, ()),
        ("click(__import__('os').system('x'))", "parse_error", None, ()),
        (f"finish('{'x' * LONGEST}')", "parse_error", None, ()),
        ("I would scroll.", "parse_error", None, ()),
        ("I'm sorry, I can't do that.", "refusal", None, ()),
        (" \n", "empty", None, ()),
        ("<think>click('A')</think>", "empty", None, ("only_thinking",)),
    ],
)
def test_what_becomes_of_odd_replies(
    reply: str, status: str, action: Action | None, flags: tuple[str, ...]
) -> None:
    found = settled(read(reply), FUNCTIONS)
    assert (found.status, found.action, found.flags) == (status, action, flags)


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ("click('SD'", "truncated"),
        ("type_string('A', 'Oh", "truncated"),
        ("First I look at the page", "truncated"),
        ("click('SD')  # opens the", "answered"),
        ("hover('B'), then click('S", "answered"),
    ],
)
def test_a_call_that_is_cut_off_is_no_answer(reply: str, status: str) -> None:
    found = read(reply, finish="length")
    assert found.status == status
    assert found.flags == (("truncated",) if status == "answered" else ())
    assert read("click('SD')", finish="content_filter").status is Status.CONTENT_FILTER
    with pytest.raises(ValueError, match="unknown finish"):
        read(reply, finish="done")


@pytest.mark.parametrize(
    ("order", "action"),
    [("position", act("go", direction="forward")), ("reference", act("click", "A"))],
)
def test_which_of_several_calls_counts(order: Order, action: Action) -> None:
    reply = "go('forward'), hover('C'), click('A') and click('B')"
    found = read(reply, order=order)
    assert (found.action, found.flags) == (action, ("multiple",))
    assert read("click('A'). So: click(element_id='A')", order=order).flags == ()
    assert read("finish(1). So: finish(True)", order=order).flags == ("multiple",)


TEXTS = st.text(st.characters(codec="utf-8")) | st.text("'\"\\\n\r\t#)(,A ", max_size=9)
IDS = st.from_regex(r"[A-Z]{1,4}", fullmatch=True)


def values(argument: Argument) -> st.SearchStrategy[Any]:
    made: dict[str, st.SearchStrategy[Any]] = {
        "text": TEXTS,
        "choice": st.sampled_from(argument.values or ("",)),
        "flag": st.booleans(),
        "number": st.integers(-(2**63), 2**63 - 1)
        | st.floats(allow_nan=False, allow_infinity=False),
    }
    return made[argument.kind]


@st.composite
def actions(draw: st.DrawFn) -> Action:
    kind = draw(st.sampled_from(FUNCTIONS.actions))
    element = draw(IDS) if kind.places else None
    given = {
        name: draw(values(argument))
        for name, argument in kind.values.items()
        if argument.required or draw(st.booleans())
    }
    return Action(kind.name, element, arguments=given)


@given(actions())
@settings(max_examples=1000)
def test_reading_what_was_spelled_gives_the_action(action: Action) -> None:
    written = spell(action)
    assert len(written.splitlines()) == 1
    for text in (written, f"A: {written}  # it's done", f"```\n{written}\n```"):
        found = read(text)
        assert (found.status, found.action, found.flags) == (Status.ANSWERED, action, ())
        assert settled(found, FUNCTIONS) == found


def test_two_calls_are_the_same_but_for_blanks_flags_and_what_is_said() -> None:
    def same(one: str, other: str) -> bool:
        first, second = read(one).action, read(other).action
        assert first and second
        return FUNCTIONS.same(first, second)

    assert same("type_string('A', 'New  York ', True)", "type_string('A', 'New York', False)")
    assert not same("type_string('A', 'New York')", "type_string('A', 'new york')")
    assert same("finish('yes')", "finish()") and same("user_input('a')", "user_input('b')")
    assert not same("go('forward')", "go('backward')") and not same("click('A')", "hover('A')")
    assert not same("select('A', 'x')", "select('B', 'x')")
