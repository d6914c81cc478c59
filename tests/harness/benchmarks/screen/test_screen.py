"""Steps on screens: AndroidControl's gold, one's own steps, and what models answer about them."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import harness
from adapters import PictureSource, Reply, Request
from harness.benchmarks import benchmark
from harness.benchmarks.opening import as_oracle
from harness.benchmarks.screen.aitw import WILD as AITW
from harness.benchmarks.screen.androidcontrol import BENCHMARK, RULES
from harness.benchmarks.screen.benchmark import PRECISION, expected, points_needed
from harness.benchmarks.screen.odyssey import BENCHMARK as GUI_ODYSSEY
from harness.benchmarks.screen.own import OwnSteps
from harness.benchmarks.screen.protocol import ScreenAgent
from harness.errors import DataError, UserError
from harness.pictures import PicturePolicy, plan, read_size
from harness.runs import open_run
from parsers.actions import Action
from parsers.records import Prediction, Scores, Status
from parsers.screen import SCREEN, ScreenDetail
from parsers.screen.families import FAMILIES
from parsers.screen.rules import RULES as ALL_RULES
from parsers.screen.rules import verdicts
from reports.errors import classify_run
from tests.harness.benchmarks.grounding._files import png, write
from tests.harness.commands.tool import call, isolate
from tests.harness.page.recorded import folder as recorded_folder
from tests.test_entry_points import Echo

PHONE = (1080, 2400)
SIZE = (200, 100)
"""The size of `png`'s picture."""
GOLDEN = (5**0.5 - 1) / 2
"""A share of a turn whose multiples cover the circle evenly."""
STEPS: Sequence[dict[str, Any]] = (
    {"action": {"type": "click", "at": [100, 50]}, "boxes": [[90, 40, 110, 60]]},
    {"action": {"type": "scroll", "direction": "down"}},
    {"action": {"type": "type", "text": "coffee table"}},
    {"action": {"type": "open_app", "text": "Maps"}},
    {"action": [{"type": "back"}, {"type": "click", "at": [150, 90]}]},
    {"action": {"type": "wait"}},
)
SCHEMA = 'name = "mine"\npoints = "px"\nscroll = "content"\n'


@pytest.fixture(scope="module")
def gold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """AndroidControl's folder as a user lays it out, without pictures."""
    place = tmp_path_factory.mktemp("data") / "androidcontrol"
    place.mkdir()
    stored = recorded_folder().parent / "screen-steps"
    for name in ("android_control_test.jsonl", "ac_idx.txt"):
        (place / name).symlink_to(stored / name)
    return place


def mine(place: Path, *steps: dict[str, Any], schema: str = SCHEMA) -> Path:
    lines = [
        {"image": "a.png", "goal": "Find it", "episode": "e", "step": number, **step}
        for number, step in enumerate(steps or STEPS)
    ]
    write(place / "screen.toml", schema)
    write(place / "steps.jsonl", "\n".join(map(json.dumps, lines)))
    write(place / "images" / "a.png", png())
    return place


def test_both_test_sets_have_their_published_counts(gold: Path) -> None:
    opened = BENCHMARK.open(data=gold.parent)
    counts = Counter(unit.labels["action"] for unit in opened.entries)
    assert (len(opened.entries), counts["click"], counts["scroll"]) == (8444, 5074, 1211)
    assert opened.declared and opened.declared.main.name == "qwen-ac"
    other = BENCHMARK.open(splits=["os-atlas"], data=gold)
    assert len(other.entries) == 7708 and other.declared
    assert other.declared.main.name == "os-atlas"
    ways = Counter(unit.detail.gold.action.arguments.get("direction") for unit in opened.entries)
    assert (ways["down"], ways["up"], ways["right"], ways["left"]) == (947, 96, 94, 74)
    assert "no pictures" in opened.notices[0]
    step = opened.entries[2].detail
    assert [past.action.name for past in step.asked.before] == ["back", "click"]


def test_moved_clicks_are_right_as_often_as_published(gold: Path) -> None:
    details = [unit.detail for unit in BENCHMARK.open(data=gold).entries]
    clicks = [
        (detail, detail.gold.action.point)
        for detail in details
        if detail.gold.action.name == "click"
        and detail.gold.action.point is not None
        and all(one <= side for one, side in zip(detail.gold.action.point, PHONE, strict=True))
    ]
    assert len(clicks) == 5041
    turn = 0.0
    rules = ("qwen-ac", "os-atlas", "clawgui-ac", "strict")
    published = {
        100: (66.8, 100, 100, 44.6),
        200: (39.2, 49.1, 100, 19.1),
        300: (31.0, 18.0, 100, 11.3),
    }
    for far, shares in published.items():
        hits: Counter[str] = Counter()
        for detail, (x, y) in clicks:
            place = (-1.0, -1.0)
            while not (0 <= place[0] <= PHONE[0] and 0 <= place[1] <= PHONE[1]):
                turn += GOLDEN
                way = 2 * math.pi * (turn % 1)
                place = x + far * math.cos(way), y + far * math.sin(way)
            said = Action("click", point=place)
            for rule in rules:
                # The published column of the smallest box is about clicks that have one.
                if rule != "strict" or detail.gold.all_boxes:
                    hits[rule] += bool(ALL_RULES[rule].verdict(said, detail.gold, PHONE).step)
        boxed = sum(bool(detail.gold.all_boxes) for detail, _ in clicks)
        of = {rule: boxed if rule == "strict" else len(clicks) for rule in rules}
        found = [100 * hits[rule] / of[rule] for rule in rules]
        assert found == pytest.approx(shares, abs=1.0), far


def test_chance_is_the_published_share_of_random_clicks(gold: Path) -> None:
    # docs/screen-steps.md: 5.6 and 28.7 % of the clicks on 1080 x 2400.
    clicks = [
        unit
        for unit in BENCHMARK.open(data=gold).entries
        if unit.labels["action"] == "click" and unit.detail.size == PHONE
    ]
    rules = ("os-atlas", "clawgui-ac")

    def score(said: Prediction, detail: ScreenDetail) -> Scores:
        found = verdicts(said.action, detail.gold, detail.size, rules)
        return {name: float(verdict.step or 0) for name, verdict in found.items()}

    some = clicks[::4]
    found = [expected(unit, score, points_needed(len(clicks))) for unit in some]
    for rule, share in (("os-atlas", 5.6), ("clawgui-ac", 28.7)):
        assert 100 * sum(one[rule] or 0 for one in found) / len(some) == pytest.approx(share, abs=1)


@pytest.mark.parametrize("steps", [1, 20, 500])
def test_chance_is_as_precise_as_it_says_for_runs_of_any_size(tmp_path: Path, steps: int) -> None:
    # A circle of 140 thousandths of both sides around the middle, and all of the screen but a rim.
    areas = {"circle": math.pi * 0.14**2, "inside": 0.7**2}

    def score(said: Prediction, detail: ScreenDetail) -> Scores:
        assert said.action is not None and said.action.point is not None
        x, y = (one / side - 0.5 for one, side in zip(said.action.point, SIZE, strict=True))
        circle, inside = math.hypot(x, y) <= 0.14, max(abs(x), abs(y)) <= 0.35
        return {"circle": float(circle), "inside": float(inside)}

    drawn, errors = points_needed(steps), dict[str, list[float]]()
    (unit, *_) = OwnSteps().open(data=mine(tmp_path)).entries
    for run in range(8):
        units = [replace(unit, unit_id=f"{run}/{place}") for place in range(steps)]
        found = [expected(one, score, drawn) for one in units]
        for name, area in areas.items():
            mean = sum(scores[name] or 0 for scores in found) / steps
            errors.setdefault(name, []).append(mean - area)
    for of in errors.values():
        assert math.sqrt(sum(error**2 for error in of) / len(of)) < 1.5 * PRECISION


def test_chance_of_a_step_depends_on_its_id_alone(tmp_path: Path) -> None:
    def score(said: Prediction, detail: ScreenDetail) -> Scores:
        assert said.action is not None and said.action.point is not None
        return {"x": said.action.point[0]}

    (unit, *_) = OwnSteps().open(data=mine(tmp_path)).entries
    units = [replace(unit, unit_id=str(place)) for place in range(50)]
    found = {one.unit_id: expected(one, score, 1)["x"] for one in units}
    assert len(set(found.values())) == 50
    assert found == {one.unit_id: expected(one, score, 1)["x"] for one in reversed(units)}


def test_the_oracle_is_right_under_every_rule_in_every_form(gold: Path) -> None:
    shown = tuple(plan(PicturePolicy.parse("full"), read_size(png(PHONE)), (), None))
    by_action: dict[str, list[Any]] = {}
    for unit in BENCHMARK.open(data=gold).entries:
        if unit.detail.gold.action.point is None or unit.detail.gold.action.point[1] < PHONE[1]:
            by_action.setdefault(unit.labels["action"], []).append(replace(unit, pictures=shown))
    units = [unit for some in by_action.values() for unit in some[:4]]
    wrong: Counter[tuple[str, str, str]] = Counter()
    for family in FAMILIES.values():
        protocol = ScreenAgent(family=family.name, scroll="content")
        for unit in units:
            question = benchmark("sample-screens").recall(unit)
            right = Prediction(Status.ANSWERED, unit.detail.gold.action)
            if protocol.write(question.view, right)["action"]:
                said = as_oracle(protocol, question, SCREEN).action
                for rule in RULES:
                    verdict = ALL_RULES[rule].verdict(said, unit.detail.gold, PHONE)
                    if verdict.step is False:
                        wrong[rule, family.name, unit.detail.gold.action.name] += 1
    # A true gesture moves the finger against the word that the set stores.
    assert {(rule, action) for rule, _, action in wrong} <= {("qwen-ac", "scroll")}
    assert {family for _, family, _ in wrong} == {
        family.name for family in FAMILIES.values() if family.swipes
    }


def test_own_steps_are_judged_by_rules_that_their_columns_allow(tmp_path: Path) -> None:
    opened = OwnSteps().open(data=mine(tmp_path / "boxed"))
    assert opened.declared and "qwen-ac" in opened.declared.scores
    assert opened.entries[4].detail.gold.actions[1].point == (150.0, 90.0)
    plain = [{key: value for key, value in step.items() if key != "boxes"} for step in STEPS]
    shares = 'name = "x"\npoints = "unit"\nscroll = "finger"\n'
    plain[0] = {"action": {"type": "click", "at": [0.5, 0.5]}}
    plain[4] = {"action": {"type": "back"}}
    other = OwnSteps().open(data=mine(tmp_path / "plain", *plain, schema=shares))
    assert other.declared and "qwen-ac" not in other.declared.scores
    assert other.entries[0].detail.gold.action.point == (100.0, 50.0)
    # The file names the finger: its `down` shows what lies above.
    assert other.entries[1].detail.gold.action.arguments == {"direction": "up"}


@pytest.mark.parametrize(
    ("step", "schema", "said"),
    [
        ({"action": {"type": "tap", "at": [1, 1]}}, SCHEMA, "line 1: an action has a type"),
        ({"action": {"type": "click", "at": [900, 1]}}, SCHEMA, "outside of its picture"),
        ({"action": {"type": "click", "at": [1]}}, SCHEMA, "at is two numbers"),
        ({"action": {"type": "scroll", "direction": "north"}}, SCHEMA, "cannot have direction"),
        ({"action": {"type": "wait"}, "image": "b.png"}, SCHEMA, "no picture b.png"),
        ({"action": {"type": "wait"}}, 'name = "x"\n', "points is px, unit or per-mille"),
        ({"action": {"type": "wait"}}, SCHEMA + 'groups = ["app"]', "no label 'app'"),
        ({"action": []}, SCHEMA, "no action is right"),
    ],
)
def test_a_mistake_in_own_steps_is_one_line(
    step: dict[str, Any], schema: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=said):
        OwnSteps().open(data=mine(tmp_path, step, schema=schema))


def test_changed_gold_is_refused(gold: Path, tmp_path: Path) -> None:
    place = tmp_path / "androidcontrol"
    place.mkdir()
    whole = (gold / "android_control_test.jsonl").read_text("utf-8").splitlines()
    (place / "android_control_test.jsonl").write_text("\n".join(whole[:-1]), "utf-8")
    with pytest.raises(DataError, match="where 8,444 are published"):
        BENCHMARK.open(data=place)
    with pytest.raises(DataError, match=r"has no ac_idx.txt"):
        BENCHMARK.open(splits=["os-atlas"], data=place)


def odyssey(place: Path) -> Path:
    """Two made-up episodes of GUI-Odyssey in its own layout, of the second version."""
    steps: list[dict[str, Any]] = [
        {"action": "CLICK", "info": [[500, 250]], "sam2_bbox": [450, 200, 550, 300]},
        {"action": "CLICK", "info": "KEY_APPSELECT", "sam2_bbox": []},
        {"action": "SCROLL", "info": [[500, 800], [480, 200]]},
        {"action": "TEXT", "info": "hello world"},
        {"action": "INCOMPLETE", "info": ""},
    ]
    for name, category in (("a", "Web_Shopping"), ("b", "Multi_Apps")):
        told = {
            "episode_id": name,
            "device_info": {"w": 200, "h": 100, "device_name": "Pixel Fold"},
            "task_info": {"category": category, "instruction": "Buy it"},
            "steps": [
                {"step": n, "screenshot": f"{name}_{n}.png", "low_level_instruction": "do", **one}
                for n, one in enumerate(steps)
            ],
        }
        write(place / "annotations" / f"{name}.json", told)
        for number in range(len(steps)):
            write(place / "screenshots" / f"{name}_{number}.png", png())
    write(place / "splits" / "random_split.json", {"train": [], "test": ["a.json", "b.json"]})
    return place


def test_gui_odyssey_is_read_in_its_own_layout(tmp_path: Path) -> None:
    opened = GUI_ODYSSEY.open(data=odyssey(tmp_path))
    gold = [unit.detail.gold for unit in opened.entries[:5]]
    assert [one.action.name for one in gold] == [
        *("click", "recents", "scroll", "type", "impossible")
    ]
    assert gold[0].action.point == (100.0, 25.0)
    assert gold[0].boxes["sam2"] == ((90.0, 20.0, 110.0, 30.0),)
    # The finger goes up, so the view goes down; the file's own word is the finger's.
    assert gold[2].action.arguments["direction"] == "down" and gold[2].stored == "finger"
    assert opened.declared and opened.declared.main.averages[0] == "cells"
    write(tmp_path / "annotations" / "a.json", {"episode_id": "a"})
    with pytest.raises(DataError, match=r"a\.json is not a file of this set"):
        GUI_ODYSSEY.open(data=tmp_path)


def test_steps_in_the_wild_are_read_as_seeclick_has_them(tmp_path: Path) -> None:
    step = {"img_filename": "x", "goal": "Go", "annot_position": [0.4, 0.4, 0.2, 0.2]}
    steps: list[dict[str, Any]] = [
        {**step, "action_type_id": 4, "action_type_text": "click", "touch": [0.5, 0.25]},
        {**step, "action_type_id": 4, "action_type_text": "scroll left"},
        {**step, "action_type_id": 3, "type_text": "cats"},
        {**step, "action_type_id": 10, "action_type_text": "status task complete"},
    ]
    write(tmp_path / "aitw_data_test.json", {"general": [steps[:2]], "install": [steps[2:]]})
    write(tmp_path / "aitw_images" / "x.png", png())
    opened = AITW.open(data=tmp_path)
    gold = [unit.detail.gold for unit in opened.entries]
    assert gold[0].action.point == (100.0, 25.0)
    assert gold[0].boxes["screen"] == (pytest.approx((80.0, 40.0, 120.0, 60.0)),)
    assert gold[1].action.arguments == {"direction": "left"}
    assert [one.action.name for one in gold[2:]] == ["type", "complete"]
    assert {unit.labels["task"] for unit in opened.entries} == {"general", "install"}
    write(tmp_path / "aitw_data_test.json", {"general": [[{**step, "action_type_id": 9}]]})
    with pytest.raises(DataError, match="unknown action type 9"):
        AITW.open(data=tmp_path)


class Phone(Echo):
    """A model of a known family that answers step by step."""

    def __init__(self, *replies: str) -> None:
        super().__init__("qwen3-vl-8b")
        self.info = replace(self.info, model="qwen3-vl-8b", coordinates="per-999")
        self.replies, self.questions = replies, [""] * len(replies)

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        if request.unit_id == "preflight":
            return Reply("yes")
        number = int(request.unit_id.rpartition("_")[2])
        self.questions[number] = request.conversation.messages[-1].text
        return Reply(self.replies[number])


def tool(**arguments: object) -> str:
    return (
        "<tool_call>\n"
        + json.dumps({"name": "mobile_use", "arguments": arguments})
        + "\n</tool_call>"
    )


ANSWERS = (
    tool(action="click", coordinate=[500, 500]),
    tool(action="swipe", coordinate=[500, 200], coordinate2=[500, 800]),
    tool(action="type", text="coffee mug"),
    tool(action="click", coordinate=[10, 10]),
    tool(action="system_button", button="Back"),
    "I am sorry, but I cannot do that.",
)


def test_one_run_has_every_rule_side_by_side(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    phone = Phone(*ANSWERS)
    run = harness.evaluate(
        phone, benchmark="screen-steps", data=mine(tmp_path / "mine"), out=tmp_path / "run"
    )
    scores = {record.unit_id: record.scores for record in open_run(tmp_path / "run").records()}
    names = ("strict", "os-atlas", "gui-r1", "qwen-ac")
    assert {unit: [(found or {})[name] for name in names] for unit, found in scores.items()} == {
        "e_0": [1, 1, 1, 1],
        # The finger moves down, so the view goes up; qwen-ac reads the finger.
        "e_1": [0, 0, 0, 1],
        "e_2": [0, 1, 1, 0],
        "e_3": [0, 0, 0, 0],
        "e_4": [1, 1, None, 1],
        "e_5": [0, 0, None, 0],
    }
    assert "Find it" in phone.questions[0] and "done so far" not in phone.questions[0]
    assert '"text": "coffee table"}}\n</tool_call>\n\nAnswer with' not in phone.questions[2]
    assert '"coffee table"}} </tool_call>\n\nAnswer with one action' in phone.questions[3]
    classes = {one.unit_id: one.error_class for one in classify_run(open_run(tmp_path / "run"))}
    assert [classes[f"e_{step}"] for step in (1, 2, 3)] == ["opposite_scroll", "first_word", "icon"]
    assert classes["e_5"] == "refused"
    assert run.summary["rows"]["os-atlas.raised"] == 0
    assert call("view", tmp_path / "run", "-o", tmp_path / "page").code == 0


def test_a_form_whose_scrolls_nobody_explained_has_to_be_declared(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    with pytest.raises(UserError, match="scroll=content or scroll=finger"):
        harness.evaluate(
            Phone(*ANSWERS),
            benchmark="screen-steps",
            data=mine(tmp_path / "mine"),
            protocol_option={"family": "mai-ui"},
        )


def test_actions_and_replies_of_others_are_scored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    lines = [
        {"step": "e_0", "action": {"type": "click", "at": [0.5, 0.5]}},
        {"step": "e_1", "reply": ANSWERS[1], "family": "qwen3-vl"},
        {"step": "e_4", "action": {"type": "click", "at": [5, 5]}, "points": "px"},
    ]
    path = tmp_path / "said.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    data = str(mine(tmp_path / "mine"))
    words = ["score", "--predictions", str(path), "-b", "screen-steps", "--data", data]
    printed = call(*words, "--json").out
    assert json.loads(printed)
    path.write_text(json.dumps({"step": "e_0", "reply": "x", "family": "qwen"}), "utf-8")
    assert "family 'qwen'" in call(*words).err
    pixels = {"step": "e_0", "action": {"type": "click", "at": [100, 50]}}
    path.write_text(json.dumps(pixels), "utf-8")
    assert "places are shares of its sides" in call(*words).complaint
