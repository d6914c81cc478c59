"""The rule of Mind2Web, Appendix C.1, on pages small enough to work out by hand."""

from __future__ import annotations

import json

from harness.live.clean import find
from harness.live.snapshot import attributes_json, is_candidate
from harness.recording.columns import (
    candidate_json,
    negatives,
    positives,
    target_of,
)
from tests.harness.conftest import Dom

BUTTON = """
<html>
  <body>
    <button class="go" data-x="1" _clickable="" _box="10,10,80,30">
      <svg _box="15,15,10,10"><path/></svg>
      <span _box="30,15,40,20">Search</span>
      <i _hidden="">busy</i>
      <em _box="200,15,20,20">new</em>
    </button>
    <p>Search</p>
  </body>
</html>
"""


def test_a_click_on_the_text_of_a_button_accepts_the_button_and_what_it_shows(dom: Dom) -> None:
    root = dom(BUTTON)
    span = next(node for node in root.elements() if node.tag == "span")
    accepted = positives(target_of(span))
    assert [node.tag for node in accepted] == ["button", "svg", "span"]


def test_a_click_on_the_button_itself_accepts_the_same(dom: Dom) -> None:
    root = dom(BUTTON)
    by_tag = {node.tag: node for node in root.elements()}
    assert positives(target_of(by_tag["button"])) == positives(target_of(by_tag["span"]))


def test_descendants_outside_the_box_and_parts_of_drawings_are_not_accepted(dom: Dom) -> None:
    root = dom(BUTTON)
    by_tag = {node.tag: node for node in root.elements()}
    tags = {node.tag for node in positives(target_of(by_tag["svg"]))}
    assert tags.isdisjoint({"em", "i", "path"})


def test_the_labelled_node_counts_even_where_it_sticks_out(dom: Dom) -> None:
    root = dom(BUTTON)
    emphasis = next(node for node in root.elements() if node.tag == "em")
    tags = [node.tag for node in positives(target_of(emphasis))]
    assert tags == ["button", "svg", "span", "em"]


def test_without_a_clickable_ancestor_the_labelled_node_stands_alone(dom: Dom) -> None:
    root = dom("<html><body><div><p _box='0,0,50,10'>Hello</p></div></body></html>")
    paragraph = next(node for node in root.elements() if node.tag == "p")
    target = target_of(paragraph)
    assert target.top is paragraph
    assert positives(target) == [paragraph]


def test_the_nearest_clickable_ancestor_wins_over_one_further_up(dom: Dom) -> None:
    root = dom("<div _clickable=''><a _clickable=''><b>Go</b></a></div>")
    bold = next(node for node in root.elements() if node.tag == "b")
    assert target_of(bold).top.tag == "a"


def test_an_invisible_target_leaves_no_positive(dom: Dom) -> None:
    root = dom("<form><input type='radio' _clickable='' _hidden=''/><label>Yes</label></form>")
    radio = next(node for node in root.elements() if node.tag == "input")
    assert positives(target_of(radio)) == []


def test_negatives_are_all_other_visible_elements_with_root_and_body(dom: Dom) -> None:
    root = dom(BUTTON)
    by_tag = {node.tag: node for node in root.elements()}
    accepted = positives(target_of(by_tag["span"]))
    assert [node.tag for node in negatives(root, accepted)] == ["html", "body", "em", "p"]


def test_options_are_shown_but_never_offered(dom: Dom) -> None:
    root = dom("<select _clickable=''><option>One</option></select>")
    assert [node.tag for node in root.elements() if is_candidate(node)] == ["select"]


def test_entries_hold_json_in_json_with_ids_and_boxes(dom: Dom) -> None:
    root = dom(BUTTON)
    span = next(node for node in root.elements() if node.tag == "span")
    target = target_of(span)
    button, _, inner = (json.loads(candidate_json(node, target)) for node in positives(target))
    assert (button["is_original_target"], button["is_top_level_target"]) == (False, True)
    assert (inner["is_original_target"], inner["is_top_level_target"]) == (True, False)
    assert json.loads(button["attributes"]) == {
        "backend_node_id": button["backend_node_id"],
        "bounding_box_rect": "10,10,80,30",
        "class": "go",
        "is_clickable": "true",
        "data_pw_testid_buckeye_candidate": "1",
    }
    other = json.loads(candidate_json(find(root, "1")))
    assert list(other) == ["tag", "attributes", "backend_node_id"]


def test_boxes_are_written_without_needless_zeros(dom: Dom) -> None:
    root = dom("<p _box='0,596.59375,93,-0.5'>x</p>")
    attributes = json.loads(attributes_json(root, root.box))
    assert attributes["bounding_box_rect"] == "0,596.59375,93,-0.5"
