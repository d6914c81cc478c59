"""Replies of families of models: worked cases, and every action spelled and read back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers.actions import Action
from parsers.points import to_pixels
from parsers.points.spelling import MOST
from parsers.records import Status
from parsers.screen import DIRECTIONS, Point, from_object, parts
from parsers.screen.families import FAMILIES, Family
from parsers.screen.reading import read_action
from parsers.screen.spelling import write_action
from tests.harness.page.recorded import folder

SIZE = (1080, 2400)


def in_pixels(action: Action, family: Family, sent: tuple[int, int]) -> Action:
    """An action in the numbers of a family, in pixels of a picture of `SIZE`."""

    def pixels(point: Point) -> Point:
        found = to_pixels(point, family.coordinates, sent)
        assert found is not None
        return found[0] * SIZE[0] / sent[0], found[1] * SIZE[1] / sent[1]

    arguments = dict(action.arguments)
    if "to_x" in arguments:
        end = pixels((arguments["to_x"], arguments["to_y"]))  # type: ignore[arg-type]
        arguments |= dict(zip(("to_x", "to_y"), end, strict=True))
    return Action(action.name, point=action.point and pixels(action.point), arguments=arguments)


SIDES = ("left", "top", "right", "bottom")


def test_replies_of_every_family_are_read() -> None:
    with (folder().parent / "screen-steps" / "cases.jsonl").open(encoding="utf-8") as lines:
        cases = [case for case in map(json.loads, lines) if "family" in case]
    assert cases
    for case in cases:
        family = FAMILIES[case["family"]]
        answer = read_action(case["reply"], family)
        expected: dict[str, Any] = dict(case["action"])
        if "no closing tag" in expected.get("why", ""):
            assert answer.status is Status.ANSWERED, case  # A mark is a hint, no condition.
            continue
        if expected["type"] is None:
            outside = answer.action is not None and "outside the schema" in expected.get("why", "")
            assert answer.action is None or outside, case
            continue
        assert answer.action is not None, (case, answer)
        action = answer.action
        if action.point is not None:
            action = in_pixels(action, family, tuple(case.get("sent", SIZE)))
        found = {key: one for key, one in action.arguments.items() if key not in SIDES}
        if expected.get("direction") == "as the set":
            expected["direction"] = found["direction"]
        right = from_object(expected, SIZE)
        assert action.name == right.name and found == pytest.approx(right.arguments, abs=0.24), case
        assert action.point == pytest.approx(right.point, abs=0.24), case


texts = st.text(st.characters(exclude_categories=("Cs", "Cc", "Cf")), min_size=1, max_size=30).map(
    str.strip
)
shares = st.tuples(st.integers(10, 990), st.integers(10, 990))


def numbers(family: Family) -> Any:
    most = MOST[family.coordinates]

    def written(point: Point) -> tuple[str, str]:
        sides = SIZE if most is None else (most, most)
        x, y = (one * top / side for one, top, side in zip(point, sides, SIZE, strict=True))
        return (f"{x:.4f}", f"{y:.4f}") if most == 1 else (str(round(x)), str(round(y)))

    return written


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())
@given(share=shares, text=texts, way=st.sampled_from(DIRECTIONS))
def test_what_is_spelled_is_read_back(
    family: Family, share: tuple[int, int], text: str, way: str
) -> None:
    point = share[0] * 1.08, share[1] * 2.4
    for said in family.actions:
        action = Action(said.name)
        if said.name in ("click", "long_press", "double_click", "right_click", "hover"):
            action = Action(said.name, point=point)
        elif said.name == "scroll":
            action = Action("scroll", arguments={"direction": way})
        elif said.name in ("type", "open_app", "answer"):
            action = Action(said.name, arguments={"text": text})
        else:
            action = Action(said.name)
        if said.name in ("drag", "key", "hotkey"):
            continue
        for side in ("content", "finger"):
            reply = write_action(action, family, numbers(family), SIZE, side=side)
            if reply is None:
                assert family.grammar == "words" or said.name == "scroll", (said, family.name)
                continue
            answer = read_action(reply, family, side=side)
            assert answer.status is Status.ANSWERED, (reply, answer)
            found = answer.action
            assert found is not None
            assert found.name == action.name, reply
            assert found.arguments.get("direction") == action.arguments.get("direction"), reply
            assert found.arguments.get("text", "") == action.arguments.get("text", ""), reply
            if action.point is not None:
                place = in_pixels(found, family, SIZE).point
                assert place == pytest.approx(point, abs=2.5)


@given(st.text(max_size=300), st.sampled_from(sorted(FAMILIES)))
def test_no_reply_raises(text: str, name: str) -> None:
    family = FAMILIES[name]
    for reply in (text, family.opening + text + family.closing, "{" * 50 + text):
        read_action(reply, family)


@pytest.mark.parametrize("text", ["one\ntwo", "Dear Ann,\n\nOK\nbye", "HELLO\nTO YOU", "a [b\nc"])
@pytest.mark.parametrize("script", [False, True])
def test_a_text_of_os_atlas_goes_on_until_its_bracket_closes(text: str, script: bool) -> None:
    family = FAMILIES["os-atlas-pro"]
    reply = f"thoughts:\nType it.\nactions:\nTYPE [{text}]\nPRESS_BACK"
    answer = read_action(reply, family, script=script)
    assert answer.action is not None
    first, *rest = parts(answer.action)
    assert (first.name, first.arguments) == ("type", {"text": text})
    assert [one.name for one in rest] == (["back"] if script else [])


def test_a_text_that_never_closes_ends_where_the_next_action_begins() -> None:
    reply = "actions:\nTYPE [one\ntwo\nPRESS_BACK"
    answer = read_action(reply, FAMILIES["os-atlas-pro"])
    assert answer.action == Action("back")


def test_many_open_texts_are_read_in_linear_time() -> None:
    for line in ("TYPE [one", "AB [one", "[one", "one"):
        reply = "actions:\nTYPE [one\n" + f"{line}\n" * 20_000
        assert read_action(reply, FAMILIES["os-atlas-pro"]).action is None
