"""Published rules against worked cases of the authors' own functions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from parsers.actions import Action
from parsers.screen import Answers, Edges, Point, several
from parsers.screen.box_rules import Verdict
from parsers.screen.families import FAMILIES
from parsers.screen.reading import read_action
from parsers.screen.rules import RULES
from parsers.screen.set_rules import duals_match, judge_atlas, judge_odyssey
from tests.harness.page.recorded import folder

PHONE = (1080, 2400)
RECORDED = {"BACK": "back", "HOME": "home", "ENTER": "enter", "RECENT": "recents"}


def cases(*rules: str) -> Iterator[Mapping[str, Any]]:
    with (folder().parent / "screen-steps" / "cases.jsonl").open(encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    yield from (one for one in found if one.get("rule") in rules)


def summed(verdict: Verdict) -> str:
    """The verdict in the words of the cases."""
    if verdict.raised:
        return "crash (IndexError)"
    if verdict.step:
        return "right"
    return "type only" if verdict.type else "wrong"


def test_os_atlas_judges_lines_as_its_scripts_do() -> None:
    for case in cases("os-atlas-ac", "os-atlas-odyssey"):
        said = case["predicted"]
        if isinstance(said, dict):  # A whole reply: what follows the marker is the line.
            raw = said["raw"]
            if raw == "actions:\n":
                continue  # Nothing after the marker stops the script; ours calls it unreadable.
            said = raw.partition("actions:\n")[2]
        part = "ac" if case["rule"] == "os-atlas-ac" else "odyssey"
        assert summed(Verdict(*judge_atlas(said, case["gold"], part))) == case["verdict"], case


def test_gui_odyssey_judges_lines_as_its_function_does() -> None:
    for case in cases("odyssey-ams"):
        verdict = Verdict(*judge_odyssey(case["predicted"], case["gold"]["answer"], None))
        assert summed(verdict._replace(raised=False)) == case["verdict"], case


def qwen_action(written: Mapping[str, Any], size: tuple[int, int] = PHONE) -> Action:
    sent = written.get("picture_as_sent", size)
    at = written.get("coordinate")
    point = (at[0] * size[0] / sent[0], at[1] * size[1] / sent[1]) if at else None
    text = {} if "text" not in written else {"text": written["text"]}
    name = {"open": "open_app", "system_button": written.get("button", "").strip().lower()}.get(
        written["action"], written["action"]
    )
    return Action(name, point=point, arguments=text)


def test_qwen_judges_boxes_texts_and_buttons() -> None:
    for case in cases("qwen-ac"):
        gold = case["gold"]
        boxes: tuple[Edges, ...] = tuple(map(tuple, gold.get("candidate_bbox", ())))
        answers = Answers(actions=(qwen_action(gold),), boxes={"a11y": boxes}, boxed=True)
        verdict = RULES["qwen-ac"].verdict(qwen_action(case["predicted"]), answers, PHONE)
        assert summed(verdict._replace(raised=False)) == case["verdict"], case


def test_qwen_takes_a_tap_on_the_icon_for_opening_an_app_and_stops_at_one_without_a_place() -> None:
    opened = Action("open_app", arguments={"text": "Maps"})
    answers = Answers(actions=(opened,), boxes={"a11y": ((100, 100, 300, 300),)}, boxed=True)
    judge = RULES["qwen-ac"].verdict
    assert judge(Action("click", point=(150.0, 200.0)), answers, PHONE) == (True, None, True, False)
    assert judge(Action("click", point=(900.0, 2000.0)), answers, PHONE).step is False
    assert judge(Action("click"), answers, PHONE) == (False, None, False, True)


def test_gui_r1_has_three_rates() -> None:
    def action(written: Mapping[str, Any]) -> Action:
        point = tuple(map(float, written["point"])) if "point" in written else None
        if written["action"] == "scroll":
            return Action("scroll", arguments={"direction": written["text"]})
        text = {} if "text" not in written else {"text": written["text"]}
        return Action(written["action"], point=point, arguments=text)  # type: ignore[arg-type]

    for case in cases("gui-r1"):
        answers = Answers(actions=(action(case["gold"]),))
        found = RULES["gui-r1"].verdict(action(case["predicted"]), answers, PHONE)
        assert found._asdict() == {**case["verdict"], "raised": False}, case


def test_agentcpm_judges_in_shares() -> None:
    def recorded(gold: Mapping[str, Any]) -> Answers:
        name = {4: "click", 3: "type", 1: "wait", 6: "home"}[gold["result_action_type"]]
        touch = json.loads(gold.get("result_touch_yx", "null"))
        boxes = tuple(
            (1000 * x, 1000 * y, 1000 * (x + w), 1000 * (y + h))
            for y, x, h, w in json.loads(gold.get("ui_positions", "[]"))
        )
        text = {"text": gold["result_action_text"]} if name == "type" else {}
        point = (1000 * touch[1], 1000 * touch[0]) if touch else None
        action = Action(name, point=point, arguments=text)
        return Answers(actions=(action,), boxes={"a11y": boxes}, boxed=True)

    def answered(said: Mapping[str, Any]) -> Action:
        if "POINT" in said:
            across, down = map(float, said["POINT"])
            return Action("click", point=(across, down))
        if "TYPE" in said:
            return Action("type", arguments={"text": said["TYPE"]})
        return Action("complete" if "STATUS" in said else RECORDED[said["PRESS"]])

    for case in cases("agentcpm", "agentcpm-ac"):
        rule = RULES[case["rule"]]
        verdict = rule.verdict(answered(case["predicted"]), recorded(case["gold"]), (1000, 1000))
        assert summed(verdict) == case["verdict"], case


def test_seeclick_compares_two_gestures() -> None:
    def recorded(gold: Mapping[str, Any]) -> Action:
        if gold["action_type_id"] == 3:
            return Action("type", arguments={"text": gold["type_text"]})
        if gold["action_type_text"] == "click":
            return Action("click", point=(1000 * gold["touch"][0], 1000 * gold["touch"][1]))
        return Action("scroll", arguments={"direction": gold["action_type_text"].split()[1]})

    for case in cases("seeclick-aitw"):
        gold = case["gold"]
        boxes = gold["boxes_yxhw"]
        placed: tuple[Edges, ...] = tuple(
            (1000 * x, 1000 * y, 1000 * (x + w), 1000 * (y + h))
            for y, x, h, w in zip(*(iter(boxes),) * 4, strict=True)
        )
        answers = Answers(actions=(recorded(gold),), boxes={"screen": placed}, boxed=True)
        said = read_action(case["predicted"], FAMILIES["seeclick"]).action
        if said is not None and said.point is not None:
            said = Action(said.name, point=(1000 * said.point[0], 1000 * said.point[1]))
        verdict = RULES["seeclick-aitw"].verdict(said, answers, (1000, 1000))
        assert summed(verdict) == case["verdict"], case


def test_android_in_the_wild_compares_taps_and_drags() -> None:
    for case in cases("aitw"):
        ends = [
            tuple((one[f"{end}_yx"][1], one[f"{end}_yx"][0]) for end in ("touch", "lift"))
            for one in (case["predicted"], case["gold"])
        ]
        same = case["predicted"]["type"] == case["gold"]["type"]
        found = same and duals_match(ends[0], ends[1], ())  # type: ignore[arg-type]
        assert ("right" if found else "wrong") == case["verdict"], case


def test_clawgui_judges_on_one_screen() -> None:
    def action(written: Mapping[str, Any]) -> Action:
        given = written["arguments"]
        points = given.get("points")
        point: Point | None = None
        if points:
            point = (points[0][0] * 1.08, points[0][1] * 2.4)
        arguments = {"text": given.get("text", given.get("app"))}
        if "direction" in given:
            # The answer's word is the finger's; the recorded one is the content's.
            way = given["direction"]
            arguments = {"direction": way if written is gold else FINGER[way]}
        return Action(written["action"], point=point, arguments=arguments)

    for case in cases("clawgui-ac"):
        gold, said = case["gold"], case["predicted"]
        if "raw" in said:
            said = {"action": "open_app", "arguments": {"app": "Maps"}}
        boxes: tuple[Edges, ...] = tuple(map(tuple, gold.get("candidate_bbox", ())))
        answers = Answers(actions=(action(gold),), boxes={"a11y": boxes}, boxed=True)
        assert summed(RULES["clawgui-ac"].verdict(action(said), answers, PHONE)) == case["verdict"]


FINGER = {"up": "down", "down": "up", "left": "right", "right": "left"}


@pytest.mark.parametrize("rule", [name for name, rule in RULES.items() if rule.boxes])
def test_a_rule_of_boxes_says_nothing_in_a_set_without_them(rule: str) -> None:
    click = Action("click", point=(5.0, 5.0))
    assert RULES[rule].verdict(click, Answers(actions=(click,)), PHONE) == Verdict(None, None, None)


@pytest.mark.parametrize(
    ("to", "way"),
    [
        # Wider than tall in shares, taller than wide in pixels of 1080 x 2400; then the reverse.
        ((0.2, -0.15), "down"),
        ((-0.2, 0.15), "up"),
        ((0.2, -0.05), "left"),
        ((-0.4, 0.15), "right"),
        ((0.1, 0.1), "up"),
    ],
)
@pytest.mark.parametrize("size", [PHONE, (400, 400), (2400, 1080)])
def test_clawgui_compares_swipes_in_pixels_of_its_screen(
    to: Point, way: str, size: tuple[int, int]
) -> None:
    x, y = 0.5 * size[0], 0.5 * size[1]
    end = {"to_x": x + to[0] * size[0], "to_y": y + to[1] * size[1]}
    said = Action("scroll", point=(x, y), arguments=dict(end))
    for direction in ("up", "down", "left", "right"):
        answers = Answers(
            actions=(Action("scroll", arguments={"direction": direction}),), boxed=True
        )
        assert RULES["clawgui-ac"].verdict(said, answers, size).step is (direction == way)


@pytest.mark.parametrize(
    ("family", "start", "end", "way"),
    [
        # The published readers compare the numbers of the reply: pixels of one, per mille of the
        # other.
        ("qwen2.5-vl", (540, 1200), (756, 840), "down"),
        ("qwen3-vl", (500, 500), (700, 350), "left"),
        ("qwen3-vl", (500, 500), (600, 350), "down"),
    ],
)
def test_clawgui_takes_the_way_of_a_swipe_from_the_numbers_of_the_reply(
    family: str, start: Point, end: Point, way: str
) -> None:
    call = {"action": "swipe", "coordinate": start, "coordinate2": end}
    written = json.dumps({"name": "mobile_use", "arguments": call})
    reply = f"<tool_call>\n{written}\n</tool_call>"
    said = read_action(reply, FAMILIES[family]).action
    assert said is not None
    answers = Answers(actions=(Action("scroll", arguments={"direction": way}),), boxed=True)
    assert RULES["clawgui-ac"].verdict(said, answers, PHONE).step is True


def _typed(*texts: str) -> Action:
    return several([Action("type", arguments={"text": text}) for text in texts])


@pytest.mark.parametrize(
    ("said", "gold", "published", "mended"),
    [
        # By hand, as the script does it: it splits both at line breaks, and compares as far as
        # both go.
        (("one\ntwo",), ("one\ntwo",), 1.0, 1.0),
        (("one\ntwo",), ("one",), 0.0, 0.0),
        (("one\ntwo",), ("one x\ntwo",), 1.0, 1.0),
        (("one\ntwo",), ("one\nthree",), 0.5, 1.0),
        (("one\ntwo", "x"), ("one\ntwo", "x"), 1.0, 1.0),
        (("one\ntwo", "x"), ("one", "x"), 0.0, 0.5),
        (("one\n\ntwo",), ("one\n\ntwo",), 1.0, 1.0),
    ],
)
def test_os_atlas_splits_a_script_at_line_breaks_in_texts(
    said: tuple[str, ...], gold: tuple[str, ...], published: float, mended: float
) -> None:
    answers = Answers(actions=(_typed(*gold),))
    for rule, wanted in (("os-atlas-omniact", published), ("os-atlas-omniact-mended", mended)):
        assert RULES[rule].verdict(_typed(*said), answers, PHONE).step == wanted
