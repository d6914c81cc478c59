"""Actions in words, and which words are decoys."""

from __future__ import annotations

import pytest

from benchmarks.sample.counts import decoys
from harness.live.clean import Node
from harness.recording.columns import representation, target_of
from tests.harness.conftest import Dom


def _only(root: Node, tag: str) -> Node:
    (found,) = (node for node in root.elements() if node.tag == tag)
    return found


@pytest.mark.parametrize(
    ("markup", "tag", "action", "expected"),
    [
        (
            "<body><button>Search</button></body>",
            "button",
            ("CLICK", ""),
            "[button]  Search -> CLICK",
        ),
        (
            "<body><label for='z'>Zip code</label><input id='z'/></body>",
            "input",
            ("TYPE", "10203"),
            "[textbox]  Zip code -> TYPE: 10203",
        ),
        (
            "<body><label>Size <select><option>Small</option></select></label></body>",
            "select",
            ("SELECT", "Small"),
            "[combobox]  Size Small -> SELECT: Small",
        ),
        (
            "<body><div role='gridcell'>4</div></body>",
            "div",
            ("HOVER", ""),
            "[gridcell]  4 -> HOVER",
        ),
        (
            "<body><a _clickable='' aria-label='Home page'><svg/></a></body>",
            "svg",
            ("CLICK", ""),
            "[svg]  Home page -> CLICK",
        ),
        (f"<p>{'x' * 60}</p>", "p", ("CLICK", ""), f"[p]  {'x' * 50}... -> CLICK"),
    ],
)
def test_an_action_is_written_as_in_mind2web(
    dom: Dom, markup: str, tag: str, action: tuple[str, str], expected: str
) -> None:
    assert representation(target_of(_only(dom(markup), tag)), *action) == expected


def test_the_words_of_the_target_elsewhere_are_a_decoy(dom: Dom) -> None:
    root = dom(
        "<body><button _clickable=''><span>Place hold</span></button>"
        "<p>How to place a hold</p><p>Hold on</p><p _hidden=''>Place hold</p></body>"
    )
    found = decoys(root, target_of(_only(root, "span")))
    assert [node.full_text() for node in found] == ["How to place a hold"]


def test_a_fields_own_label_and_what_surrounds_it_are_no_decoys(dom: Dom) -> None:
    root = dom(
        "<form title='Email'><label for='e'>Email</label><input id='e' _clickable=''/></form>"
    )
    assert decoys(root, target_of(_only(root, "input"))) == []
