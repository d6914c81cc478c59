"""Calls of units that act, read as steps, whatever somebody's environment has returned."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.conversation import Reply
from harness.runs import ActRecord, CallRecord
from harness.runs.live_steps import PerformedAction, Sight, steps_taken
from parsers.actions import Action

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
NAMES = st.sampled_from(("name", "element", "point", "arguments", "told", "box", "reward", "ended"))


def ask(place: str, text: str = "", role: str = "") -> CallRecord:
    reply = Reply(text, model="model-1")
    return CallRecord(f"u/0/{place}", "u", 0, place, "", "", (), reply, role=role)


def act(place: str, action: Any, **seen: Any) -> CallRecord:
    acted = ActRecord(action, seen, {"screenshot": "ab"} if seen else {})
    return CallRecord(f"u/0/{place}", "u", 0, place, "", "", (), Reply(""), act=acted)


CLICK = {"name": "CLICK", "element": "7", "box": [1, 2, 30, 40], "told": "[button] Go -> CLICK"}


def test_a_turn_is_a_look_what_was_asked_about_it_and_one_action() -> None:
    calls = [
        act("begin", None, goal="Go.", viewport=[320, 420]),
        ask("1/round-1", "I see a button."),
        ask("1/round-2", "A"),
        act("act-1", CLICK, reward=0.5, error="it was covered"),
        ask("2/round-1", "hm"),
        ask("3/plan", "look closer", role="planner"),
        ask("3/round-1", "B"),
        act("act-3", {"name": "STOP"}, ended=True, reward=1, reason="done"),
    ]
    first, second, third, last = steps_taken(calls)
    assert first.seen == Sight(goal="Go.", viewport=(320, 420), screenshot="ab")
    assert first.said == "I see a button.\n\nA"
    assert first.done == PerformedAction(
        Action("CLICK", "7"), "[button] Go -> CLICK", (1, 2, 30, 40)
    )
    assert first.after is not None and first.after.outcome == "failed: it was covered, reward 0.5"
    assert second.done is None and second.said == "hm" and second.seen == third.seen
    assert third.said == "B" and third.done == PerformedAction(Action("STOP"), "STOP()")
    assert last.asks == () and last.act is None
    assert last.seen.outcome == "reward 1, ended: done"


def test_an_episode_may_end_with_questions_and_units_that_do_not_act_have_no_turns() -> None:
    steps = steps_taken([act("begin", None, goal="Go."), ask("1/only", "no")])
    assert [step.said for step in steps] == ["no", ""]
    assert steps_taken([ask("round-1", "A"), ask("round-2", "B")]) == [] == steps_taken([])
    scripted = steps_taken([act("begin", None), act("act-1", CLICK), act("act-2", CLICK)])
    assert [step.done and step.done.short for step in scripted] == ["CLICK", "CLICK", None]


@given(JSON | st.dictionaries(NAMES, JSON))
def test_any_observation_and_any_action_can_be_read(value: Any) -> None:
    seen, done = Sight.of(value, {}), PerformedAction.of(value)
    assert isinstance(seen.told, str)
    assert done is None or isinstance(done.told + done.short, str)
    assert steps_taken([act("begin", value), ask("1/only"), act("act-1", value)])


@pytest.mark.parametrize(
    "box", [[1, 2, 3], [1, 2, 3, "4"], [1, 2, 3, True], [0, 0, 0, 1e999], "ab"]
)
def test_a_box_that_is_none_is_left_out(box: Any) -> None:
    done = PerformedAction.of({**CLICK, "box": box})
    assert done is not None and done.box is None
