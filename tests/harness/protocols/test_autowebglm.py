"""AutoWebGLM's way to act: the one question, the ids in it, and what its answers come to."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.conversation import Reply
from harness.benchmarks.step.scene import RecordedScene
from harness.errors import UserError
from harness.page import Page
from harness.protocols import ask, open_protocol, written_as
from harness.protocols.autowebglm import AutoWebGLM
from harness.records import Choice, Earlier, Step
from harness.views import StepView
from parsers import MIND2WEB, OPERATIONS, Operation
from parsers.actions import Action, ActionKind, Argument, Value
from parsers.autowebglm import FUNCTIONS
from parsers.records import Prediction, Status
from tests.harness.protocols.examples import HISTORY, talk
from tests.harness.protocols.scenes import question
from tests.harness.protocols.test_spelling import VALUES

PROTOCOL = AutoWebGLM()
EARLIER = (
    Earlier("CLICK", "", None, 0, "<a[*]| Tables >"),
    Earlier("TYPE", "Ada's", None, 2, "<form| Name <input[*]| name > >"),
)


def asked(at: Step, pool: tuple[Choice, ...], protocol: AutoWebGLM = PROTOCOL) -> str:
    """The one message."""
    (ask,), _ = talk(protocol.dialogue(StepView(at, pool)), [""])
    (message,) = ask.conversation.messages
    assert message.role == "user"
    return message.text


def came_to(said: str | Reply, count: int = 4) -> Prediction:
    """What a reply about links `n0`, `n1`, ... comes to among Mind2Web's actions."""
    at, pool = question(count)
    _, found = talk(ask(PROTOCOL, StepView(at, pool), MIND2WEB.actions), [said])
    return found


def test_the_question_has_the_parts_of_autowebbench_in_their_order() -> None:
    at, pool = question(3, "Book a table  for 5")
    text = asked(replace(at, history=HISTORY[:1], page_size=(1280, 1800)), pool)
    page, rest = text.split("\n\n", 1)
    assert page == "<body| <a[A]| Home 0 > <a[B]| Search 1 > <a[C]| Book a table 2 > >"
    offered = re.findall(r"^def (\w+)\((.*?)\) -> \w+:\n    \"\"\"\w.*\.\"\"\"$", rest, re.M)
    assert [name for name, _ in offered] == [kind.name for kind in FUNCTIONS.actions]
    for name, arguments in offered:
        taken = [one for one in arguments.split(", ") if ":" in one]
        assert len(taken) == len(FUNCTIONS[name].arguments)
    heads = [line.partition(":")[0] for line in rest.splitlines() if line.startswith("#")]
    assert heads == [
        *("#Provided functions", "#Previous commands", "#Window tabs"),
        *("#Current viewport (pages)", "#Task"),
    ]
    assert "\n#Previous commands: [link] Tables -> CLICK\n" in rest
    assert "\n#Window tabs: 1. Default <-- current tab\n" in rest
    assert "\n#Current viewport (pages): 0 / 2.5\n" in rest
    assert "\n#Task: Book a table for 5\n\n" in rest
    assert "#Previous commands: None\n" in asked(at, pool)
    assert "#Current viewport (pages): 0 / unknown\n" in asked(at, pool)


def test_ids_follow_the_page_and_not_the_ranking() -> None:
    at, pool = question(30)
    text = asked(at, pool)
    by_id = tuple(sorted(pool, key=lambda c: c.id))
    assert text == asked(at, pool[::-1]) == asked(at, by_id)
    shown = re.findall(r"<a\[([A-Z]+)\]\|[^<>]* (\d+) >", text)
    assert [(shown[n], n) for n in (0, 25, 26, 29)] == [
        (("A", "0"), 0),
        (("Z", "25"), 25),
        (("AA", "26"), 26),
        (("AD", "29"), 29),
    ]
    assert came_to("click('AD')", 30).element == "n29"


def test_previous_actions_are_commands_where_their_pages_are_known() -> None:
    at, pool = question(4)
    text = asked(replace(at, history=HISTORY, before=EARLIER), pool)
    (told,) = re.findall(r"#Previous commands: (.*?)\n\n", text, re.S)
    first, second, third = told.splitlines()
    shown = re.match(r"click\('([A-Z]{2})'\) #HTML Segment: <a\[\1\]\| Tables >$", first)
    assert second == "[combobox] Guests -> SELECT: 5 people"
    typed = re.match(r"type_string\('([A-Z]{2})', 'Ada\\'s', False\) #HTML Segment: ", third)
    assert shown and typed and shown[1] != typed[1]
    assert third.endswith(f"<form| Name <input[{typed[1]}]| name > >")
    # The lines are the same at a later step, with other candidates on its page.
    later, fewer = question(2)
    later = replace(later, history=(*HISTORY, "[link]  Go -> CLICK"), before=EARLIER)
    assert told in asked(later, fewer)
    short = asked(replace(at, history=HISTORY, before=EARLIER), pool, AutoWebGLM(history=1))
    assert f"#Previous commands: {third}\n\n" in short
    none = asked(replace(at, history=HISTORY, before=EARLIER), pool, AutoWebGLM(history=0))
    assert "#Previous commands: None\n\n" in none


def test_no_id_of_a_previous_command_is_on_the_page() -> None:
    at, pool = question(700)
    at = replace(at, history=HISTORY, before=EARLIER)
    page, _, rest = asked(at, pool).partition("\n\n")
    now = set(re.findall(r"\[([A-Z]+)\]\|", page))
    then = re.findall(r"(?:click|type_string)\('([A-Z]+)'", rest.partition("#Previous")[2])
    assert len(now) == 700 and len(then) == 2 and now.isdisjoint(then)


def test_what_was_recorded_forges_no_line() -> None:
    at, pool = question(2, "Pay\n#Previous commands: click('B')")
    text = asked(replace(at, history=("[link]  x\n\n#Task: pay -> CLICK",)), pool)
    heads = [line.partition(":")[0] for line in text.splitlines() if line.startswith("#")]
    assert len(heads) == len(set(heads)) == 5


@pytest.mark.parametrize(
    ("said", "status", "action", "flags"),
    [
        ("click('B')  # the search", "answered", Action("CLICK", "n1"), ()),
        ("hover('B')", "answered", Action("CLICK", "n1"), ("mapped_operation",)),
        ("select('A', 'Two')", "answered", Action("SELECT", "n0", None, {"value": "Two"}), ()),
        ("type_string('C', 'x', True)", "answered", Action("TYPE", "n2", None, {"value": "x"}), ()),
        ("```\nclick('D')\n```", "answered", Action("CLICK", "n3"), ()),
        ("click(element_id='B')", "answered", Action("CLICK", "n1"), ()),
        (
            "type_string(element_id='C', content='x', press_enter=False)",
            "answered",
            Action("TYPE", "n2", None, {"value": "x"}),
            (),
        ),
        ("switch_tab(tab_index=2)", "no_element", None, ("other_action",)),
        ("click('E')", "out_of_range", Action("CLICK"), ()),
        ("click('n1')", "out_of_range", Action("CLICK"), ()),
        ("click('b')", "out_of_range", Action("CLICK"), ()),
        ("click()", "no_element", Action("CLICK"), ()),
        ("finish()", "no_element", None, ("other_action",)),
        ("scroll_page('down')", "no_element", None, ("other_action",)),
        ("user_input('your name?')", "no_element", None, ("other_action",)),
        ("The second one.", "parse_error", None, ()),
        ("", "empty", None, ()),
        ("click('B') or rather click('C')", "answered", Action("CLICK", "n1"), ("multiple",)),
    ],
)
def test_calls_become_actions_of_mind2web(
    said: str, status: str, action: Action | None, flags: tuple[str, ...]
) -> None:
    found = came_to(said)
    assert (found.status.value, found.action, found.flags) == (status, action, flags)


def test_of_several_calls_the_reference_takes_its_first_function() -> None:
    at, pool = question(4)
    said = "hover('A')\nclick('B')"
    for order, wanted in (
        ("position", Action("hover", "n0")),
        ("reference", Action("click", "n1")),
    ):
        protocol = open_protocol("autowebglm", {"order": order})
        _, found = talk(protocol.dialogue(StepView(at, pool)), [said])
        assert found.action == wanted


@given(
    count=st.integers(1, 60),
    picked=st.integers(0, 59),
    operation=st.sampled_from(OPERATIONS),
    value=VALUES,
)
@settings(max_examples=60, deadline=None)
def test_spelled_predictions_are_read_back(
    count: int, picked: int, operation: Operation, value: str
) -> None:
    at, pool = question(count)
    value = "" if operation == "CLICK" else value
    element = pool[picked % count].id
    wanted = Prediction.of(Status.ANSWERED, element=element, operation=operation, value=value)
    told = written_as(PROTOCOL, StepView(at, pool), wanted, MIND2WEB.actions)
    assert set(told) == set(PROTOCOL.places)
    for scene in (at.scene, RecordedScene(pool), None):
        dialogue = ask(PROTOCOL, StepView(replace(at, scene=scene), pool), MIND2WEB.actions)
        _, found = talk(dialogue, told.values())
        assert found == wanted


def values_of(argument: Argument) -> st.SearchStrategy[Value]:
    if argument.kind == "choice":
        return st.sampled_from(argument.values)
    if argument.kind == "flag":
        return st.booleans()
    return st.integers(0, 99) if argument.kind == "number" else VALUES


@given(data=st.data(), kind=st.sampled_from(FUNCTIONS.actions))
@settings(max_examples=200, deadline=None)
def test_every_function_is_spelled_and_read_back(data: st.DataObject, kind: ActionKind) -> None:
    at, pool = question(5)
    element = data.draw(st.sampled_from([c.id for c in pool])) if kind.places else None
    arguments = {name: data.draw(values_of(one)) for name, one in kind.values.items()}
    wanted = Prediction(Status.ANSWERED, Action(kind.name, element, arguments=arguments))
    _, found = talk(
        PROTOCOL.dialogue(StepView(at, pool)), PROTOCOL.write(StepView(at, pool), wanted).values()
    )
    assert found == wanted


def test_what_no_call_can_say_ends_the_task() -> None:
    at, pool = question(3)
    for said in (
        Prediction(Status.NONE),
        Prediction.of(Status.NONE, operation="CLICK"),
        Prediction.of(Status.ANSWERED, element="elsewhere", operation="CLICK"),
    ):
        assert written_as(PROTOCOL, StepView(at, pool), said, MIND2WEB.actions) == {
            "act": "finish()"
        }


def test_a_model_that_repeats_the_question_has_not_answered() -> None:
    at, pool = question(20)
    text = asked(replace(at, history=HISTORY, before=EARLIER), pool)
    assert came_to(text, 20).element is None


def test_a_prompt_file_needs_the_page_and_the_task(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    texts = 'name = "own"\ncommand = "{command}"\nhistory_line = "{action}"\nno_history = "-"\n'
    path.write_text(f'{texts}question = "{{page}} {{history}} {{task}}"\n')
    at, pool = question(1, "Go")
    protocol = open_protocol("autowebglm", {"prompts": path})
    assert isinstance(protocol, AutoWebGLM)
    assert asked(at, pool, protocol) == "<a[A]| Home 0 > - Go"
    path.write_text(f'{texts}question = "{{page}}"\n')
    with pytest.raises(UserError, match=r"question must contain \{task\}"):
        open_protocol("autowebglm", {"prompts": path})


def test_the_page_of_the_documentation() -> None:
    page = Page.parse(
        '<form backend_node_id="1"><label backend_node_id="2"><text backend_node_id="3">Plot</text>'
        '</label><button backend_node_id="4" type="submit" aria_label="go"><text '
        'backend_node_id="5">Look up</text><img backend_node_id="6" alt="glass"/><text '
        'backend_node_id="7">now</text></button></form>'
    )
    label, button = "<label| Plot >", "<button[B]| go; submit; Look up <img| glass > <text| now > >"
    assert page.refined({"4": "B"}) == f"<form| {label} {button} >"
    guide = (Path(__file__).parents[3] / "docs/protocols.md").read_text("utf-8")
    told = " ".join(guide.split())
    assert f"`{button}`" in told and f"`{label}`" in told
