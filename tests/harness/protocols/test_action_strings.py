"""Action strings: what is shown, which calls are offered, and what replies come to."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.contract import AdapterInfo
from harness.errors import UserError
from harness.pictures import PicturePolicy, Screenshot, plan
from harness.protocols import ask, open_protocol, written_as
from harness.protocols.action_strings import ActionStrings
from harness.protocols.asking import check_actions
from harness.protocols.autowebglm import AutoWebGLM
from harness.records import BrowserState, Choice, Step
from harness.views import StepView
from parsers.actions import Action, ActionKind, Argument, Value
from parsers.browsergym import HIGH_LEVEL, answer_in, read, spell
from parsers.live import BROWSER_ACTIONS, LIVE_ACTIONS
from parsers.mind2web import MIND2WEB_ACTIONS
from parsers.records import Prediction, Status
from tests.harness.protocols.examples import HISTORY, talk
from tests.harness.protocols.scenes import question

PROTOCOL = ActionStrings()
WINDOW = BrowserState("http://shop.invalid/?q=1", "Shop")
TABS = replace(WINDOW, tabs=(("Shop", "http://shop.invalid/"), ("Cart\n- Tab 9", "x")), tab=1)
HALF = plan(PicturePolicy.parse("full:pixels=1600000"), Screenshot("d" * 64, 1280, 5000))
"""A page at half its size."""


def asked(at: Step, pool: tuple[Choice, ...], protocol: ActionStrings = PROTOCOL) -> str:
    """The user's message."""
    (ask,), _ = talk(protocol.dialogue(StepView(at, pool)), [""])
    first, message = ask.conversation.messages
    assert (first.role, message.role) == ("system", "user")
    return message.text


def said(reply: str, at: Step | None = None, protocol: ActionStrings = PROTOCOL) -> Prediction:
    there, pool = question(3)
    _, found = talk(protocol.dialogue(StepView(at or there, pool)), [reply])
    return found


def test_a_recorded_page_is_shown_with_the_functions_that_it_knows() -> None:
    at, pool = question(3, "Find  a table")
    shown = asked(replace(at, history=HISTORY), pool)
    assert "\n\t\t[n1] link 'Search 1'\n" in shown and "1. [link]  Tables -> CLICK\n" in shown
    assert "Find  a table\n\nThe page as" in shown and "fill(bid: str" in shown
    for name in (
        "scroll",
        "goto",
        "tab_focus",
        "mouse_click",
        "send_msg_to_user",
        "The page is at",
    ):
        assert name not in shown


def test_a_live_page_can_be_left_and_a_browser_has_tabs() -> None:
    at, pool = question(3)
    one, several = (asked(replace(at, window=window), pool) for window in (WINDOW, TABS))
    assert "The page is at http://shop.invalid/?q=1\n\nThe page as" in one
    for name in ("scroll(", "goto(", "go_back(", "keyboard_press(", "send_msg_to_user("):
        assert name in one
    assert "tab_focus(" not in one and "tab_focus(" in several
    assert "\nTab 1: Cart - Tab 9 (x) <- the one that is shown\n" in several


def test_the_page_can_be_html_or_a_picture_or_nothing_at_all() -> None:
    at, pool = question(2)
    html = asked(at, pool, ActionStrings(text="html"))
    assert '<a id="n1">Search 1 </a>' in html
    picture = asked(at, pool, ActionStrings(text="none", points=True))
    assert "Search" not in picture and "mouse_click(" in picture
    blank = asked(replace(at, window=WINDOW), ())
    assert "click(bid" in blank and "[n1]" not in blank


@pytest.mark.parametrize(
    ("reply", "status", "element"),
    [
        ('<action>click("n1")</action>', Status.ANSWERED, "n1"),
        ("I could click('n0').\n<action>\nclick('n2')\n</action>", Status.ANSWERED, "n2"),
        ("click('n1')", Status.ANSWERED, "n1"),
        ("click('n7')", Status.OUT_OF_RANGE, None),
        ("click('n0') click('n1')", Status.AMBIGUOUS, None),
        ("os.system('true')", Status.PARSE_ERROR, None),
        ("", Status.EMPTY, None),
        ("<think><action>click('n0')</action></think>click('n1')", Status.ANSWERED, "n1"),
    ],
)
def test_replies(reply: str, status: Status, element: str | None) -> None:
    _, pool = question(3)
    at, _ = question(3)
    _, found = talk(ask(PROTOCOL, StepView(at, pool), None), [reply])
    assert (found.status, found.element) == (status, element)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("click('n1')", Action("CLICK", "n1")),
        ("fill('n1', 'Ohio')", Action("TYPE", "n1", arguments={"value": "Ohio"})),
        ("press('n1', 'Enter')", Action("PRESS", "n1", arguments={"key": "Enter"})),
        ("hover('n1')", Action("HOVER", "n1")),
        ("scroll(0, -300)", Action("SCROLL_BY", arguments={"delta_x": 0, "delta_y": -300})),
        ("keyboard_press('Tab')", Action("PRESS", arguments={"key": "Tab"})),
        ("goto('http://x.invalid')", Action("GOTO", arguments={"url": "http://x.invalid"})),
        ("go_back()", Action("BACK")),
        ("new_tab()", Action("NEW_TAB")),
        ("tab_focus(2)", Action("FOCUS_TAB", arguments={"index": 2})),
        ("tab_close()", Action("CLOSE_TAB")),
        ("send_msg_to_user('42')", Action("MESSAGE", arguments={"text": "42"})),
        ("report_infeasible('no')", Action("INFEASIBLE", arguments={"reason": "no"})),
    ],
)
def test_what_calls_are_in_a_browser(reply: str, expected: Action) -> None:
    at, pool = question(3)
    _, found = talk(ask(PROTOCOL, StepView(at, pool), BROWSER_ACTIONS), [reply])
    assert (found.status, found.action, found.flags) == (Status.ANSWERED, expected, ())
    again = written_as(PROTOCOL, StepView(at, pool), found, BROWSER_ACTIONS)
    _, found = talk(ask(PROTOCOL, StepView(at, pool), BROWSER_ACTIONS), [again["act"]])
    assert found.action == expected


def test_tabs_are_not_there_where_a_benchmark_has_none() -> None:
    at, pool = question(3)
    for space in (LIVE_ACTIONS, MIND2WEB_ACTIONS):
        _, found = talk(ask(PROTOCOL, StepView(at, pool), space), ["new_tab()"])
        assert (found.status, found.flags) == (Status.NO_ELEMENT, ("other_action",))
    for space in (LIVE_ACTIONS, BROWSER_ACTIONS, MIND2WEB_ACTIONS):
        check_actions(PROTOCOL, space)
        check_actions(AutoWebGLM(), space)


def test_points_are_those_of_the_picture() -> None:
    at = replace(question(3)[0], pictures=HALF)
    found = said("mouse_click(320, 500)", at)
    assert found.point == (640, 1000)
    drag = said("mouse_drag_and_drop(from_x=1, from_y=2, to_x=3, to_y=4)", at).action
    assert drag == Action("mouse_drag_and_drop", None, (2, 4), {"to_x": 6, "to_y": 8})
    assert said("mouse_click(700, 3)", at).status is Status.OUT_OF_RANGE
    pool = question(3)[1]
    again = PROTOCOL.write(StepView(at, pool), found)["act"]
    assert again == "<action>\nmouse_click(320.0, 500.0)\n</action>"


@pytest.mark.parametrize(
    ("options", "pictures", "words"),
    [
        ({"text": "none"}, "none", "text=none: --image-policy none shows no picture"),
        ({"marks": "true"}, "none", "marks=true: --image-policy none"),
        ({"points": "true"}, "tiles", "tiles shows several pictures"),
        ({"points": "true"}, "full", "are no pixels"),
        ({"text": "pdf"}, "full", "text=pdf"),
    ],
)
def test_what_does_not_go_together_is_one_line(
    options: dict[str, str], pictures: str, words: str
) -> None:
    model = AdapterInfo("m", "m", "openai", coordinates="per-mille")
    with pytest.raises(UserError, match=words):
        open_protocol("action-strings", options).check(PicturePolicy.parse(pictures), model)


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cf"]), max_size=40)
NUMBERS = st.integers(-5000, 5000) | st.floats(-5000, 5000).map(lambda x: round(x, 3))


def values(argument: Argument) -> st.SearchStrategy[Value]:
    if argument.kind == "number":
        return NUMBERS
    return st.sampled_from(argument.values) if argument.kind == "choice" else TEXTS


@st.composite
def actions(draw: st.DrawFn) -> Action:
    kind: ActionKind = draw(st.sampled_from(HIGH_LEVEL.actions))
    kinds = {place.kind for place in kind.places}
    element = draw(st.from_regex(r"[a-zA-Z]{0,2}[0-9]{1,4}", fullmatch=True))
    point = draw(st.tuples(st.floats(0, 999).map(lambda x: round(x, 2)), st.floats(0, 999)))
    given = {name: draw(values(one)) for name, one in kind.values.items() if one.name != "button"}
    return Action(
        kind.name,
        element if "element" in kinds else None,
        point if "point" in kinds else None,
        given,
    )


@settings(max_examples=300)
@given(actions(), st.booleans())
def test_what_is_spelled_is_read_again(action: Action, tagged: bool) -> None:
    text = spell(action, HIGH_LEVEL)
    text = f"First I thought of click('1').\n<action>{text}</action>" if tagged else text
    inside = answer_in(text)
    if "<action>" in spell(action, HIGH_LEVEL).lower():
        return  # A text that holds the tag itself.
    found = read(inside, HIGH_LEVEL)
    assert (found.status, found.action, found.flags) == (Status.ANSWERED, action, ())


@settings(max_examples=200)
@given(st.text(max_size=200))
def test_no_reply_raises(text: str) -> None:
    at, pool = question(3)
    for reply in (
        text,
        f"<action>{text}",
        f"click({text})",
        f"<action>fill('n1', {text})</action>",
    ):
        _, found = talk(ask(PROTOCOL, StepView(at, pool), BROWSER_ACTIONS), [reply])
        assert isinstance(found, Prediction)
