"""Rules of Curated, AITZ, GUIAct and OmniACT against worked cases of the authors' own functions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from parsers.actions import Action
from parsers.points.objects import places_in
from parsers.screen import Answers, Edges, several, with_box
from parsers.screen.box_rules import Verdict
from parsers.screen.rules import RULES
from parsers.screen.scripts import click_penalty
from parsers.screen.set_rules import judge_atlas, judge_atlas_script, same_line, same_place
from tests.parsers.screen.test_rules import cases, summed

SIZE = (1000, 1000)
ALIASES = {"press_back": "navigate_back"}


def curated_gold(gold: Mapping[str, Any]) -> list[tuple[str, list[float]]]:
    text = f":{gold['text']}" if "text" in gold else ""
    others = [(name, box) for name, box in gold.get("candidates", ())]
    return [(gold["action"] + text, gold.get("at", [])), *others]


def test_curated_judges_a_line_and_a_place() -> None:
    for case in cases("curated-point", "curated-bbox", "curated-improved"):
        reply = case["predicted"].removeprefix("<answer>").removesuffix("</answer>")
        said, size = json.loads(reply), tuple(case["gold"]["picture"])
        found = []
        for line, place in curated_gold(case["gold"]):
            same = same_line(line, said["action_type"])
            hit = same_place(place, said.get("bbox_2d"), size) if place else True
            found.append(Verdict(same, None, same and hit))
        best = max(found, key=lambda one: (bool(one.step), bool(one.type)))
        assert summed(best) == case["verdict"], case


@pytest.mark.parametrize(
    ("gold", "said", "same"),
    [
        # By hand, as the script does it: a text that the other holds, with its case; a single
        # word that the other's holds, whatever its case; then half of the words.
        ("open_app:Google Maps", "open_app:Maps", True),
        ("open_app:shopping", "open_app:Shop", True),
        ("open_app:Shop", "open_app:shopping", True),
        ("input_text:tea tea", "input_text:TEA", True),
        ("open_app:shopping", "open_app:Shop now", False),
        ("input_text:Green Tea", "input_text:black tea", True),
        ("input_text:green tea pot", "input_text:Tea shop now", False),
        ("open_app:Maps", "input_text:Maps", False),
        ("tap", "click", True),
    ],
)
def test_curated_takes_a_text_that_the_other_holds(gold: str, said: str, same: bool) -> None:
    assert same_line(gold, said) is same


def test_aitz_keeps_the_corner_as_published() -> None:
    def recorded(gold: Mapping[str, Any]) -> Action:
        words = gold["coat_action_desc"].split()
        if words[0] == "click":
            return Action("click", point=tuple(1000 * one for one in gold["touch_yx"][::-1]))
        if words[0] == "scroll":
            return Action("scroll", arguments={"direction": words[1]})
        if words[0] == "input":
            return Action("type", arguments={"text": gold["result_action_text"]})
        return Action("impossible" if words[0] == "stop" else words[2])

    def answered(said: Mapping[str, Any]) -> Action:
        name, given = said["ACTION"].lower(), said["ARGS"]
        if "bbox" in given:
            return with_box(Action("click"), tuple(given["bbox"]))
        if name == "scroll":
            return Action("scroll", arguments={"direction": given["direction"]})
        if name == "input":
            return Action("type", arguments={"text": given["text"]})
        return Action("complete" if name == "stop" else name.removeprefix("press_"))

    for case in cases("aitz-coat"):
        gold = Answers(actions=(recorded(case["gold"]),), boxed=True)
        verdict = RULES["aitz-coat"].verdict(answered(case["predicted"]), gold, SIZE)
        assert summed(verdict) == case["verdict"], case


def box(text: str) -> Edges:
    left, top, right, bottom = places_in(text)[0][0]
    return left, top, right, bottom


def guiact_action(written: Mapping[str, Any]) -> Action:
    name = {"input": "type", "tap": "click", "task_complete": "complete"}.get(
        written["name"], written["name"]
    )
    if "point" in written:
        x, y = places_in(written["point"])[0][0]
        return Action(name, point=(1000 * x, 1000 * y))
    if "scroll" in written:
        down, right = written["scroll"]["down"], written["scroll"]["right"]
        way = ("right" if right > 0 else "left") if abs(right) > abs(down) else "down"
        return Action(name, arguments={"direction": "up" if way == "down" and down <= 0 else way})
    text = {"text": written["text"]} if "text" in written else {}
    action = Action(name, str(written["element_id"]) if "element" in written else None)
    if "element" in written:
        action = with_box(action, box(written["element"]))
    return Action(name, action.element, action.point, {**action.arguments, **text})


def test_guiact_judges_every_recorded_action() -> None:
    for case in cases("guiact"):
        gold = Answers(actions=(several([guiact_action(one) for one in case["gold"]]),))
        listed = [guiact_action(one) for one in case["predicted"]]
        said, rule, wanted = several(listed) if listed else None, RULES["guiact"], case["verdict"]
        found = rule.verdict(said, gold, SIZE)
        assert (found.type, found.step) == (wanted["type"] == 1, wanted["success"]), case
        assert rule.score is not None
        score = rule.score(said, gold.action, gold, SIZE)
        assert score == pytest.approx(wanted["score"], abs=5e-4), case


def test_os_atlas_judges_texts_of_guiact() -> None:
    for case in cases("os-atlas-guiact"):
        found = Verdict(*judge_atlas(case["predicted"], case["gold"], "guiact"))
        # The script counts types apart: an action of the right type may be called wrong.
        wrong = {"wrong", "type only"}
        assert summed(found) == case["verdict"] or {summed(found), case["verdict"]} <= wrong, case


def test_os_atlas_compares_scripts_as_far_as_both_go() -> None:
    for case in cases("os-atlas-omniact"):
        said = case["predicted"]
        lines = [] if isinstance(said, dict) else said.split("\n")
        found = judge_atlas_script(lines, case["gold"].split("\n"))
        steps = [step for _, _, step, _ in found]
        verdict = "not counted" if not steps else "right" if all(steps) else "wrong"
        assert verdict == case["verdict"], case


def test_a_click_of_omniact_costs_its_distance_from_the_box() -> None:
    for case in cases("omniact-click-penalty"):
        gold, said = case["gold"], case["predicted"]
        edges = (*gold["top_left"], *gold["bottom_right"])
        assert click_penalty(edges, (said["x"], said["y"])) == case["verdict"], case


CLICK = with_box(Action("click"), (100, 100, 130, 140))
DOUBLE = with_box(Action("double_click"), (100, 100, 130, 140))
WRITE = Action("type", arguments={"text": "ab"})


@pytest.mark.parametrize(
    ("said", "gold", "published", "mended"),
    [
        ((CLICK, WRITE), (CLICK, WRITE), 1.0, 1.0),
        ((WRITE, CLICK), (CLICK, WRITE), 0.0, 0.0),
        ((CLICK,), (CLICK, WRITE), 0.0, 0.0),
        # A diagonal of 50, and 50 beside the box.
        ((Action("click", point=(180, 120)),), (CLICK,), 0.5, 0.5),
        # The name of a double click is compared in two spellings, and so has no penalty.
        ((Action("double_click", point=(180, 120)),), (DOUBLE,), 1.0, 0.5),
        ((Action("type", arguments={"text": "a"}),) * 2, (WRITE, CLICK), 0.0, 0.0),
        # A text of one letter has no pair of letters.
        ((Action("type", arguments={"text": "a"}),), (Action("type", arguments={"text": "a"}),),
         0.0, 1.0),
        ((Action("hotkey", arguments={"text": "ctrl+a"}),),
         (Action("hotkey", arguments={"text": "a+ctrl"}),), 1.0, 1.0),
    ],
)  # fmt: skip
def test_omniact_grades_a_script(
    said: tuple[Action, ...], gold: tuple[Action, ...], published: float, mended: float
) -> None:
    answers = Answers(actions=(several(gold),))
    for rule, expected in (("omniact", published), ("omniact-mended", mended)):
        found = RULES[rule].verdict(several(said), answers, SIZE)
        assert found.step == pytest.approx(expected), rule


def test_missing_lines_count_only_where_the_rule_is_mended() -> None:
    answers = Answers(actions=(several([CLICK, WRITE]),))
    steps = {
        rule: RULES[rule].verdict(CLICK, answers, SIZE).step
        for rule in ("os-atlas-omniact", "os-atlas-omniact-mended", "strict", "gui-r1")
    }
    assert steps == {
        "os-atlas-omniact": 1.0,
        "os-atlas-omniact-mended": 0.5,
        "strict": False,
        "gui-r1": False,
    }
    assert RULES["os-atlas-omniact"].verdict(None, answers, SIZE).step is None
    assert RULES["os-atlas-omniact-mended"].verdict(None, answers, SIZE).step == 0


def test_aitz_mended_looks_at_the_recorded_point() -> None:
    boxes: tuple[Edges, ...] = ((100, 100, 200, 200), (0, 0, 900, 900))
    gold = Answers(
        actions=(Action("click", point=(195.0, 195.0)),), boxes={"ui": boxes}, boxed=True
    )

    def right(said: Action, rule: str = "aitz") -> object:
        return RULES[rule].verdict(said, gold, SIZE).step

    assert right(with_box(Action("click"), (190, 190, 300, 300)))
    assert right(with_box(Action("click"), (105, 105, 180, 190)))  # most of the element
    assert not right(with_box(Action("click"), (100, 100, 130, 130)))
    assert right(Action("click", point=(110.0, 110.0)))  # in the element's box
    assert not right(with_box(Action("click"), (190, 190, 300, 300)), "aitz-coat")
    assert right(with_box(Action("click"), (0, 0, 10, 10)), "aitz-coat")
