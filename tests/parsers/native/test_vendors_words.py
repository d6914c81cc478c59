"""What calls of Anthropic's toolsets are answered with, against the vendor's own code."""

from __future__ import annotations

from typing import Any

import pytest

from parsers.native import ToolUse
from parsers.native.live import told
from parsers.native.tools import acts_of
from parsers.native.toolsets import toolset

registry = pytest.importorskip("anthropic.lib.tools._toolsets._registry")
computers = pytest.importorskip("anthropic.lib.tools._toolsets._computer")
render = pytest.importorskip("anthropic.lib.tools._toolsets._render")
base = pytest.importorskip("anthropic.lib.tools._toolsets._base")

AT = {"type": "coordinate", "x": 1, "y": 2}
REF = {"type": "ref", "ref": "ref_7"}
XY = {"coordinate": [1, 2]}
CALLS: list[tuple[str, dict[str, Any]]] = [
    *((f"computer.{kind}_click", XY) for kind in ("left", "right", "middle", "double", "triple")),
    *(
        (f"browser.{kind}_click", {"target": REF})
        for kind in ("left", "right", "middle", "double", "triple")
    ),
    ("computer.key", {"text": "Tab", "repeat": 3}),
    ("browser.key", {"text": "ctrl+a BackSpace"}),
    ("computer.hold_key", {"text": "shift", "duration": 2}),
    ("browser.hold_key", {"text": "shift", "duration": 2}),
    ("computer.type", {"text": "a"}),
    ("computer.mouse_move", XY),
    ("browser.mouse_move", {"target": AT}),
    ("browser.hover", {"target": REF}),
    ("computer.left_mouse_down", {}),
    ("computer.left_mouse_up", {}),
    ("browser.left_mouse_down", {"target": AT}),
    ("browser.left_mouse_up", {"target": AT}),
    ("computer.left_click_drag", {"start_coordinate": [1, 2], **XY}),
    ("browser.left_click_drag", {"from": AT, "target": AT}),
    ("computer.scroll", {"scroll_direction": "left", "scroll_amount": 2, **XY}),
    ("computer.wait", {"duration": 2}),
    ("browser.form_input", {"target": REF, "value": True}),
    ("browser.form_input", {"target": REF, "value": "a"}),
]
WRONG: list[tuple[str, dict[str, Any]]] = [
    ("computer.zoom", {}),
    ("computer.zoom", {"region": "0,0,1,1"}),
    ("computer.zoom", {"region": [1, 2, 3]}),
    ("browser.find", {}),
    ("browser.find", {"query": 5}),
    ("browser.read_page", {"filter": "visible"}),
    ("browser.read_page", {"ref": 5}),
]


def parsed(name: str, fields: dict[str, Any]) -> tuple[Any, Any]:
    """The vendor's member and input. Raises the vendor's error."""
    own, _, member = name.partition(".")
    if own == "computer":
        known = computers.COMPUTER.members[member]
        return known, computers.parse_computer_input(known, fields)
    known = registry.BROWSER_MEMBERS[member]
    return known, base.parse_input(known, fields, family="browser")


@pytest.mark.parametrize(("name", "fields"), CALLS)
def test_a_call_is_answered_in_the_vendors_words(name: str, fields: dict[str, Any]) -> None:
    [block] = render.render_result(*parsed(name, fields), None)
    acts = acts_of([ToolUse(name, fields)], toolset, ())
    assert {told(act) for act in acts} == {block["text"]}


@pytest.mark.parametrize(("name", "fields"), WRONG)
def test_a_look_that_cannot_be_read_fails_in_the_vendors_words(
    name: str, fields: dict[str, Any]
) -> None:
    with pytest.raises(Exception) as raised:
        parsed(name, fields)
    [act] = acts_of([ToolUse(name, fields)], toolset, ())
    assert (act.word, act.wrong) == ("look", str(getattr(raised.value, "content")))  # noqa: B009
