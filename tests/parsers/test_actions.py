"""Actions and action spaces: what is kept of an answer, and how two actions are compared."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers import MIND2WEB, OPERATIONS, Declaration, Prediction, Status
from parsers.actions import LONGEST, Action, ActionKind, ActionSpace, Argument, Counterpart
from parsers.settling import settled, spoken_as
from parsers.token_scores import operation_exact

ID = Argument("id", "element")
FUNCTIONS = ActionSpace(
    "ten functions",
    (
        ActionKind("click", (ID,)),
        ActionKind("hover", (ID,)),
        ActionKind("select", (ID, Argument("option", "text"))),
        ActionKind(
            "type_string", (ID, Argument("content", "text"), Argument("press_enter", "flag"))
        ),
        ActionKind("scroll_page", (Argument("direction", "choice", ("up", "down")),)),
        ActionKind("switch_tab", (Argument("index", "number"),)),
        ActionKind("finish", (Argument("answer", "text", required=False, compared="ignored"),)),
    ),
)
COUNTERPARTS = {
    "click": Counterpart("CLICK"),
    "hover": Counterpart("CLICK", mapped=True),
    "select": Counterpart("SELECT", {"option": "value"}),
    "type_string": Counterpart("TYPE", {"content": "value"}),
}
OPERATION_SPACE = MIND2WEB.actions


def answered(name: str, element: str | None = None, **arguments: Any) -> Prediction:
    return Prediction(Status.ANSWERED, Action(name, element, arguments=arguments))


def read(prediction: Prediction) -> tuple[str, Action | None, tuple[str, ...]]:
    found = settled(prediction, FUNCTIONS)
    return found.status, found.action, found.flags


@pytest.mark.parametrize(
    ("name", "element", "arguments"),
    [
        ("click", "12", {}),
        ("type_string", "12", {"content": "Ohio", "press_enter": True}),
        ("scroll_page", None, {"direction": "down"}),
        ("switch_tab", None, {"index": 2}),
        ("finish", None, {}),
    ],
)
def test_an_answer_in_the_space_is_left_as_it_is(
    name: str, element: str | None, arguments: dict[str, Any]
) -> None:
    prediction = answered(name, element, **arguments)
    assert settled(prediction, FUNCTIONS) is prediction


def test_a_name_that_the_space_does_not_have_is_no_action() -> None:
    assert read(answered("drag", "12", by=3)) == ("answered", Action("", "12"), ("unknown_action",))
    assert read(answered("goto", url="x")) == ("parse_error", None, ("unknown_action",))


def test_an_action_without_its_element_names_none() -> None:
    assert read(answered("click")) == ("no_element", Action("click"), ())


@pytest.mark.parametrize(
    ("name", "arguments", "left", "flags"),
    [
        ("scroll_page", {"direction": "left"}, {}, ("missing_argument", "wrong_argument")),
        ("scroll_page", {}, {}, ("missing_argument",)),
        ("switch_tab", {"index": True}, {}, ("missing_argument", "wrong_argument")),
        ("switch_tab", {"index": 1, "fast": True}, {"index": 1}, ("wrong_argument",)),
        ("finish", {"answer": 10}, {}, ("wrong_argument",)),
        ("finish", {"answer": None}, {}, ()),
    ],
)
def test_arguments_are_those_that_the_action_takes(
    name: str, arguments: dict[str, Any], left: dict[str, Any], flags: tuple[str, ...]
) -> None:
    found = settled(answered(name, **arguments), FUNCTIONS)
    assert (found.status, found.flags) == (Status.ANSWERED, flags)
    assert found.action == Action(name, arguments=left)


def test_of_a_text_as_much_is_kept_as_can_be_written() -> None:
    long = answered("select", "7", option="y" * (LONGEST + 1))
    kept = Action("select", "7", arguments={"option": "y" * LONGEST})
    assert read(long) == ("answered", kept, ("cut_argument",))


def test_an_element_of_an_action_that_takes_none_is_left_out() -> None:
    expected = ("answered", Action("finish"), ("wrong_argument",))
    assert read(answered("finish", "12")) == expected


def test_statuses_that_name_no_answer_stay_what_they_are() -> None:
    refusal = Prediction(Status.REFUSAL, Action("drag"), ("seen",))
    found = settled(refusal, FUNCTIONS)
    assert found == Prediction(Status.REFUSAL, None, ("seen", "unknown_action"))


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(
    "where", [{"element": "7"}, {"point": (3.5, 4.0)}, {"element": "7", "point": (3.5, 4.0)}]
)
def test_every_prediction_of_a_recorded_step_is_in_the_space_of_mind2web(
    operation: Any, where: dict[str, Any]
) -> None:
    value = "" if operation == "CLICK" else "Ohio"
    for prediction in (
        Prediction.of(Status.ANSWERED, operation=operation, value=value, **where),
        Prediction.of(Status.ANSWERED, **where),
        Prediction.of(Status.ANSWERED, operation=operation, flags=("missing_value",), **where),
        Prediction.of(Status.NO_ELEMENT, operation=operation, value=value),
        Prediction.of(Status.NONE),
    ):
        assert settled(prediction, OPERATION_SPACE) is prediction


@pytest.mark.parametrize(
    ("said", "status", "action", "flags"),
    [
        (answered("click", "7"), "answered", Action("CLICK", "7"), ()),
        (answered("hover", "7"), "answered", Action("CLICK", "7"), ("mapped_operation",)),
        (
            answered("type_string", "7", content="Ohio", press_enter=True),
            "answered",
            Action("TYPE", "7", arguments={"value": "Ohio"}),
            (),
        ),
        (
            answered("select", "7", option="Two"),
            "answered",
            Action("SELECT", "7", arguments={"value": "Two"}),
            (),
        ),
        (answered("scroll_page", direction="up"), "no_element", None, ("other_action",)),
        (answered("drag", "7"), "answered", Action("", "7"), ("unknown_action",)),
        (answered("drag"), "parse_error", None, ("unknown_action",)),
    ],
)
def test_functions_count_as_operations(
    said: Prediction, status: str, action: Action | None, flags: tuple[str, ...]
) -> None:
    found = settled(said, OPERATION_SPACE, FUNCTIONS, COUNTERPARTS)
    assert (found.status, found.action, found.flags) == (status, action, flags)


def test_operations_are_said_as_functions() -> None:
    for operation, value, name, arguments in (
        ("CLICK", "", "click", {}),
        ("TYPE", "Ohio", "type_string", {"content": "Ohio"}),
        ("SELECT", "Two", "select", {"option": "Two"}),
        (None, "", "", {}),
    ):
        prediction = Prediction.of(Status.ANSWERED, "A", "7", None, operation, value)  # type: ignore[arg-type]
        said = spoken_as(prediction, COUNTERPARTS)
        assert said.action == Action(name, "7", arguments=arguments)
        back = settled(said, OPERATION_SPACE, FUNCTIONS, COUNTERPARTS)
        assert back.action == prediction.action


TEXT = st.text(st.characters(exclude_categories=()), max_size=8)
ANYTHING: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([2**63, -(2**63) - 1, 10**400]),
    st.floats(),
    TEXT,
    st.builds(str.__mul__, st.just("x"), st.just(200_000)),
    st.binary(max_size=3),
    st.lists(st.integers(), max_size=3),
    st.tuples(st.floats(), st.floats()),
    st.dictionaries(TEXT, st.integers(), max_size=2),
    st.builds(object),
    st.just(math),
)
NAMES = st.sampled_from([action.name for action in FUNCTIONS.actions])
ARGUMENTS = st.sampled_from(["content", "press_enter", "direction", "index", "answer", "option"])
ACTIONS = st.builds(
    Action,
    name=NAMES | TEXT | ANYTHING,
    element=TEXT | ANYTHING,
    point=st.none() | st.tuples(st.floats(), st.integers()) | ANYTHING,
    arguments=st.dictionaries(ARGUMENTS | TEXT, ANYTHING, max_size=3) | ANYTHING,
)
PREDICTIONS = st.builds(
    Prediction,
    status=st.sampled_from(Status),
    action=st.none() | ACTIONS,
    flags=st.just(("seen",)),
    parsed=st.just({}) | st.dictionaries(TEXT, ANYTHING, max_size=3) | ANYTHING,
)
AS_JSON = msgspec.json.Decoder(Prediction)


@given(PREDICTIONS, st.sampled_from([FUNCTIONS, OPERATION_SPACE, None]), st.booleans())
def test_what_is_left_of_any_answer_can_be_written_and_read(
    prediction: Prediction, space: ActionSpace | None, translated: bool
) -> None:
    more = (FUNCTIONS, COUNTERPARTS) if translated else ()
    found = settled(prediction, space, *more)
    assert AS_JSON.decode(msgspec.json.encode(found)) == found
    assert settled(found, space) == found
    action = found.action
    if found != prediction:
        assert found.flags != prediction.flags or found.status is not prediction.status
    if action is not None and space is not None and action.name:
        kind = space[action.name]
        assert all(kind.values[name].takes(value) for name, value in action.arguments.items())
        line = str(action)
        assert line.startswith(f"{action.name}(") and len(line.splitlines()) == 1


@given(ACTIONS.filter(lambda action: isinstance(action.arguments, dict)))
def test_any_action_is_printed_in_one_line(action: Action) -> None:
    line = str(settled(Prediction(Status.ANSWERED, action), None).action)
    assert len(line.splitlines()) == 1 and len(line) < 2_000
    assert not {"\x1b", "\u202e"} & set(line)


def test_lines_for_people() -> None:
    assert str(Action("click", "12")) == 'click(element="12")'
    assert str(Action("TYPE", "7", None, {"value": 'a "b"\n'})) == (
        r'TYPE(element="7", value="a \"b\"\n")'
    )
    assert str(Action("", None, (3.5, 4.0))) == "?(point=(3.5, 4.0))"
    assert str(Action("go", arguments={"far": 10**5000, "on": True})) == "go(far=?, on=true)"
    assert str(Action("say", arguments={"text": "\u4f60\u597d\u202e\x1b[2J\ud800"})) == (
        'say(text="\u4f60\u597d\\u202e\\u001b[2J\\ud800")'
    )


VALUES = st.text("ab \t\n", max_size=6)


@given(VALUES, VALUES, st.sampled_from(OPERATIONS), st.sampled_from(OPERATIONS))
def test_operations_are_the_same_by_the_exact_rule(
    one: str, other: str, first: Any, second: Any
) -> None:
    def action(operation: str, value: str) -> Action:
        arguments = {} if operation == "CLICK" else {"value": value}
        return Action(operation, "7", arguments=arguments)

    assert OPERATION_SPACE is not None
    same = OPERATION_SPACE.same(action(first, one), action(second, other))
    assert same == operation_exact(first, one, second, other)


def test_what_is_ignored_and_what_is_not() -> None:
    def finish(answer: str) -> Action:
        return Action("finish", arguments={"answer": answer})

    assert FUNCTIONS.same(finish("a"), finish("b"))
    assert not FUNCTIONS.same(Action("click", "1"), Action("click", "2"))
    assert not FUNCTIONS.same(Action("click", "1"), Action("hover", "1"))
    up, down = (Action("scroll_page", arguments={"direction": way}) for way in ("up", "down"))
    assert FUNCTIONS.same(up, up) and not FUNCTIONS.same(up, down)


@pytest.mark.parametrize(
    ("actions", "problem"),
    [
        ((ActionKind("go"), ActionKind("go")), "two of its actions are named go"),
        ((ActionKind("go", (ID, Argument("to", "element"))),), "two elements"),
        ((ActionKind("go", (Argument("way", "choice"),)),), "choices have values"),
        ((ActionKind("a\nb"),), "is not a name for an action"),
    ],
)
def test_a_space_that_contradicts_itself_is_refused(
    actions: tuple[ActionKind, ...], problem: str
) -> None:
    with pytest.raises(ValueError, match=f"action space 'odd': .*{problem}"):
        ActionSpace("odd", actions)


def test_a_declaration_holds_the_space_as_plain_values() -> None:
    written = msgspec.json.encode(MIND2WEB)
    assert msgspec.json.decode(written, type=Declaration) == MIND2WEB
    assert OPERATION_SPACE is not None
    assert tuple(action.name for action in OPERATION_SPACE.actions) == OPERATIONS
