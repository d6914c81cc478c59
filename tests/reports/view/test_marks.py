"""Where calls point, as the page draws it."""

from __future__ import annotations

from typing import Any

import pytest

from adapters import Picture, ToolCall
from reports.view.detail import MOST, convention_of, marks_of

PICTURE = Picture("d" * 64, "v1;policy=full", 1000, 500)


@pytest.mark.parametrize(
    ("name", "arguments", "coordinates", "expected"),
    [
        ("click", {"x": 500, "y": 250}, "absolute", [["1 press", 0.5, 0.5]]),
        ("click_at", {"x": 500, "y": 250}, "per-mille", [["1 press", 0.5, 0.25]]),
        ("computer.zoom", {"region": [0, 0, 100, 50]}, None, [["1 zoom", 0, 0, 0.1, 0.1]]),
        (
            "browser.left_click",
            {"target": {"type": "coordinate", "x": 10, "y": 5}},
            None,
            [["1 press", 0.01, 0.01]],
        ),
        (
            "computer_use",
            {"action": "left_click", "coordinate": [100, 100]},
            "absolute",
            [["1 press", 0.1, 0.2]],
        ),
        (
            "computer",
            {"actions": [{"type": "screenshot"}, {"type": "move", "x": 100, "y": 50}]},
            None,
            [["2 hover", 0.1, 0.1]],
        ),
        # Nothing is drawn of what has no place, or one outside.
        ("computer.screenshot", {}, None, []),
        ("click", {"x": 1200, "y": 250}, None, []),
        ("click", {"x": "here"}, None, []),
        ("fly", {}, None, []),
        ("click", None, None, []),
    ],
)
def test_a_call_is_drawn_where_it_points(
    name: str, arguments: Any, coordinates: str | None, expected: list[list[Any]]
) -> None:
    convention = convention_of({"protocol_option": {"coordinates": coordinates}})
    marks = marks_of([ToolCall("c", name, arguments)], PICTURE, convention)
    assert marks == [[one[0], *map(pytest.approx, one[1:])] for one in expected]


def test_few_acts_are_drawn_and_none_without_a_picture() -> None:
    actions = [{"type": "move", "x": 1, "y": 1}] * 10_000
    call = ToolCall("c", "computer", {"actions": actions})
    assert len(marks_of([call], PICTURE, "absolute")) == MOST
    assert marks_of([call], None, "absolute") == []
