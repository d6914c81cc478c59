"""What a policy may see of the past is what a model would be shown."""

from __future__ import annotations

import pytest

from harness.kinds.step.questions import latest

LINES = ("first", "second", "third")


@pytest.mark.parametrize(
    ("last", "seen"),
    [(None, LINES), (0, ()), (1, ("third",)), (2, ("second", "third")), (9, LINES)],
)
def test_policies_see_as_many_actions_as_are_shown(last: int | None, seen: tuple[str, ...]) -> None:
    assert latest(LINES, last) == seen
