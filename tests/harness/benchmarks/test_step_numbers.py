from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.benchmarks.step_numbers import Unplaced, recover

ENDS = ("CLICK", "TYPE: x", "SELECT: y")


def unplaced(actions: tuple[str, ...], end: str, action: str | None = None) -> Unplaced:
    operation, _, value = end.partition(": ")
    return Unplaced(actions, (operation,), value, action)


@given(st.lists(st.sampled_from(ENDS), min_size=1, max_size=12))
def test_a_whole_task_counts_from_zero(ends: list[str]) -> None:
    actions = tuple(f"[a]  b -> {end}" for end in ends)
    assert recover([unplaced(actions, end) for end in ends]) == (list(range(len(ends))), True)


@given(st.data())
def test_a_task_with_lost_rows_is_never_surely_wrong(data: st.DataObject) -> None:
    ends = data.draw(st.lists(st.sampled_from(ENDS), min_size=1, max_size=10))
    actions = tuple(f"[a]  b -> {end}" for end in ends)
    kept = sorted(data.draw(st.sets(st.sampled_from(range(len(ends))), min_size=1)))
    found, sure = recover([unplaced(actions, ends[place]) for place in kept])
    assert [ends[place] for place in found] == [ends[place] for place in kept]
    assert found == sorted(set(found))
    if sure:
        assert found == kept


def test_an_action_that_is_stored_says_more_than_its_ending() -> None:
    actions = ("[a]  one -> CLICK", "[a]  two -> CLICK", "[a]  three -> CLICK")
    assert recover([unplaced(actions, "CLICK", actions[2])]) == ([2], True)
    assert recover([unplaced(actions, "CLICK")]) == ([0], False)


def test_rows_that_fit_nowhere_count_as_they_stand() -> None:
    actions = ("[a]  one -> TYPE: x",)
    assert recover([unplaced(actions, "CLICK"), unplaced(actions, "CLICK")]) == ([0, 1], False)
