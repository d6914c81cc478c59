"""Sets in their authors' layouts: AITZ, Curated, GUIAct, OmniACT, AgentCPM-GUI's steps."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.benchmarks.screen.aitw import ZOO as AITZ
from harness.benchmarks.screen.androidcontrol import BENCHMARK as ANDROID_CONTROL
from harness.benchmarks.screen.androidcontrol import CURATED, FILES
from harness.benchmarks.screen.benchmark import as_published, does_the_same
from harness.benchmarks.screen.guiact import BENCHMARK as GUIACT
from harness.benchmarks.screen.omniact import BENCHMARK as OMNIACT
from harness.benchmarks.screen.omniact import read as omniact_rows
from harness.benchmarks.screen.sets import ScreenSet
from harness.errors import DataError
from harness.runs import Unit
from parsers.actions import Action
from parsers.records import Prediction, Status
from parsers.screen import Answers, ScreenDetail, box_of, parts, several, with_box
from reports.kinds.screen import TEXT, TYPE, _difference
from tests.harness.benchmarks.grounding._files import png, write

SIZE = (200, 100)


def small(whole: Any, **more: Any) -> Any:
    """A set whose files hold fewer rows than the published ones."""
    return replace(whole, sizes=(), cells={}, **more)


def scores(source: ScreenSet, said: Action | None, detail: ScreenDetail) -> Mapping[str, Any]:
    status = Status.ANSWERED if said else Status.PARSE_ERROR
    return source.score(Prediction(status, said), detail)


def aitz(place: Path, **changed: Any) -> Path:
    step: dict[str, Any] = {
        "episode_id": "G-1",
        "instruction": "open app Clock",
        "result_action_text": "",
        "result_touch_yx": "[-1.0, -1.0]",
        "result_lift_yx": "[-1.0, -1.0]",
        "ui_positions": "[[20, 40, 10, 30], [0, 0, 90, 190]]",
    }
    more: list[dict[str, Any]] = [
        {"result_action_type": 6, "coat_action_desc": "press the home button"},
        {"result_action_type": 4, "coat_action_desc": "click on the clock",
         "result_touch_yx": "[0.25, 0.25]", "result_lift_yx": "[0.25, 0.25]"},
        {"result_action_type": 4, "coat_action_desc": "scroll up",
         "result_touch_yx": "[0.8, 0.5]", "result_lift_yx": "[0.2, 0.5]"},
        {"result_action_type": 3, "result_action_text": "six", "coat_action_desc": "input six"},
        {"result_action_type": 11, "coat_action_desc": "stop and set the query as impossible"},
    ]  # fmt: skip
    steps = [
        {**step, "step_id": n, "image_path": f"general/G-1/G-1_{n}.png", **one, **changed}
        for n, one in enumerate(more)
    ]
    write(place / "aitz" / "test" / "general" / "G-1" / "G-1.json", steps)
    for number in range(len(steps)):
        write(place / "aitz" / "test" / "general" / "G-1" / f"G-1_{number}.png", png())
    return place


def test_aitz_is_read_with_its_elements(tmp_path: Path) -> None:
    opened = small(AITZ).open(data=aitz(tmp_path))
    gold = [unit.detail.gold for unit in opened.entries]
    assert [one.action.name for one in gold] == ["home", "click", "scroll", "type", "impossible"]
    assert gold[1].action.point == (50.0, 25.0)
    assert gold[1].boxes["screen"][0] == (40.0, 20.0, 70.0, 30.0)
    # Its words are the finger's.
    assert gold[2].action.arguments["direction"] == "down"
    assert {unit.labels["subset"] for unit in opened.entries} == {"general"}
    detail = opened.entries[1].detail
    near = scores(AITZ, Action("click", point=(60.0, 28.0)), detail)
    assert (near["aitz"], near["aitz-coat"]) == (1, 0)
    with pytest.raises(DataError, match="where 4,724 are published"):
        AITZ.open(data=tmp_path)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"result_action_type": 2}, "unknown action type 2"),
        ({"ui_positions": "[[1, 2]]"}, "is not 4 numbers"),
        ({"image_path": "general/G-1/gone.png"}, "no picture general/G-1/gone.png"),
    ],
)
def test_a_mistake_in_aitz_is_one_line(changed: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said):
        small(AITZ).open(data=aitz(tmp_path, **changed))


CURATED_ROWS: list[dict[str, Any]] = [
    {"image": "android_control_high/image_3.jpg", "gt_action": "type", "gt_input_text": "Hello",
     "history": " \nStep 1: Open it.\nStep 2: Tap the field.\n\n", "gt_bbox": [-100, -100]},
    {"image": "android_control_high/image_1.jpg", "gt_action": "click", "gt_bbox": [205, 652],
     "history": " \nNone\n"},
    {"image": "android_control_high/image_2.jpg", "gt_action": "scroll", "gt_input_text": "DOWN",
     "history": " \nStep 1: Open it.\n\n", "gt_bbox": [-100, -100]},
]  # fmt: skip


def test_curated_rows_are_put_in_order_by_their_pictures(tmp_path: Path) -> None:
    rows = [{"instruction": "Do it", **row} for row in CURATED_ROWS]
    write(tmp_path / FILES["high-point"], rows)
    opened = small(CURATED).open(data=tmp_path)
    assert [unit.unit_id for unit in opened.entries] == ["task-1_1", "task-1_2", "task-1_3"]
    past = opened.entries[2].detail.asked.before
    assert [one.sentence for one in past] == ["Open it.", "Tap the field."]
    assert opened.entries[1].detail.gold.action.arguments["direction"] == "down"
    assert opened.declared and opened.declared.main.name == "curated-point"
    assert "curated-bbox" not in opened.declared.scores
    text = Action("type", arguments={"text": "hello there"})
    assert scores(CURATED, text, opened.entries[2].detail)["curated-point"] == 1
    with pytest.raises(DataError, match="where 7,708 are published"):
        CURATED.open(data=tmp_path)
    write(tmp_path / FILES["high-point"], [{**rows[0], "image": "x.jpg"}])
    with pytest.raises(DataError, match="no image_NUMBER"):
        small(CURATED).open(data=tmp_path)


def test_improved_tasks_have_several_right_actions(tmp_path: Path) -> None:
    row = {
        "image": "image_1.jpg",
        "instruction": "Do it",
        "revised_task": "Do it well",
        "gt_action": "click",
        "gt_max_bbox": [10, 10, 30, 30],
        "candidate_actions": [
            {"action_type": "navigate_back", "action_bounds": []},
            {"action_type": "swipe:up", "action_bounds": []},
        ],
    }
    write(tmp_path / FILES["improved"], [row])
    opened = small(CURATED).open(data=tmp_path, splits=["improved"])
    detail = opened.entries[0].detail
    assert detail.asked.goal == "Do it well"
    assert box_of(detail.gold.action) == (10, 10, 30, 30)
    inside = Action("click", point=(12.0, 12.0))
    found = scores(CURATED, inside, detail)
    assert (found["curated"], found["curated-bbox"]) == (1, 0)
    down = Action("scroll", arguments={"direction": "down"})
    for said in (Action("back"), down):
        assert scores(CURATED, said, detail)["curated-bbox"] == 1


def guiact(place: Path, *labels: dict[str, Any], picture: str = "") -> Path:
    row = {
        "uid": "uid_image_abc_qa_01",
        "image_id": "abc",
        "image_size": {"width": 200, "height": 100},
        "question": "Search for cats",
        "actions_label": list(labels),
    }
    write(place / "web-single_test_data.json", [row])
    rect = {"x": 10, "y": 10, "width": 40, "height": 20}
    elements = [
        {"uid": 7, "rect": {**rect, "left": 10, "top": 10}},
        {"uid": 9, "rect": {**rect, "x": 100, "left": 100, "top": 10}},
    ]
    table = pa.table(
        {
            "base64": [picture or base64.b64encode(png()).decode()],
            "elements": [elements],
            "__index_level_0__": ["abc"],
        }
    )
    pq.write_table(table, place / "web-single_test_images.parquet")
    return place


CLICKED = {"name": "click", "element": {"id": 7, "absolute": "<box>10, 10, 50, 30</box>"}}


def test_guiact_steps_hold_several_actions_on_elements(tmp_path: Path) -> None:
    labels = (
        CLICKED,
        {"name": "input", "text": "cats"},
        {"name": "enter"},
        {"name": "scroll", "scroll": {"absolute": {"down": 400, "right": 0}}},
    )
    opened = small(GUIACT).open(data=guiact(tmp_path, *labels))
    (unit,) = opened.entries
    detail = unit.detail
    assert opened.pictures(unit) == (png(),) and not opened.notices
    assert [one.name for one in parts(detail.gold.action)] == ["click", "type", "enter", "scroll"]
    assert detail.asked.script and unit.parents["episode"] == "abc"
    said = [
        Action("click", point=(30.0, 20.0)),
        Action("type", arguments={"text": "the cats"}),
        Action("enter"),
        Action("scroll", arguments={"direction": "down"}),
    ]
    found = scores(GUIACT, several(said), detail)
    assert (found["guiact"], found["guiact.type"], found["strict"]) == (1, 1, 0)
    assert found["guiact.score"] == pytest.approx(3 / 4)  # a point overlaps nothing
    other = [Action("click", point=(110.0, 20.0)), *said[1:]]
    assert scores(GUIACT, several(other), detail)["guiact"] == 0
    assert scores(GUIACT, None, detail)["guiact"] == 0
    with pytest.raises(DataError, match="where 1,500 are published"):
        GUIACT.open(data=tmp_path)


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ({"name": "fly"}, "unknown action 'fly'"),
        ({**CLICKED, "element": {"id": 7, "absolute": "10"}}, "is not 4 numbers"),
        ({**CLICKED, "element": {"absolute": "10"}}, "'id'"),
    ],
)
def test_a_mistake_in_guiact_is_one_line(label: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said):
        small(GUIACT).open(data=guiact(tmp_path, label))


def test_a_picture_that_is_not_base64_is_told(tmp_path: Path) -> None:
    opened = small(GUIACT).open(data=guiact(tmp_path, CLICKED, picture="*" * 8))
    with pytest.raises(DataError, match="is not base64"):
        opened.pictures(opened.entries[0])


SCRIPT = """Task: copy the first line
Output Script:
pyautogui.click(30.0,20.0)
pyautogui.write("hello")
pyautogui.hotkey("ctrl", "c")
pyautogui.press("enter")
pyautogui.scroll(-10)
"""


SOME_OMNIACT = small(OMNIACT, read=partial(omniact_rows, counts=()))


def omniact(place: Path, script: str = SCRIPT) -> Path:
    paths = {"task": "data/tasks/web/a.txt", "image": "data/data/web/a.png", "box": "data/a.json"}
    box = {"top_left": [10, 10], "bottom_right": [50, 30]}
    write(place / "test.json", {"7": {**paths, "ocr": ""}})
    write(place / paths["task"], script)
    write(place / paths["image"], png())
    write(place / paths["box"], {"button": {**box, "valid": 1}})
    return place


def test_omniact_scripts_are_read_and_never_run(tmp_path: Path) -> None:
    opened = SOME_OMNIACT.open(data=omniact(tmp_path))
    (unit,) = opened.entries
    gold = unit.detail.gold.action
    assert [str(one) for one in parts(gold)][1:] == [
        'type(text="hello")',
        'hotkey(text="ctrl+c")',
        'key(text="enter")',
        'scroll(direction="down")',
    ]
    assert box_of(parts(gold)[0]) == (10, 10, 50, 30)
    assert unit.detail.asked.goal == "copy the first line" and unit.labels["platform"] == "web"
    assert scores(OMNIACT, gold, unit.detail)["omniact"] == 1
    off = replace(parts(gold)[0], point=(30.0, 74.72), arguments={})
    found = scores(OMNIACT, several([off, *parts(gold)[1:]]), unit.detail)
    assert found["omniact"] == pytest.approx(1 - 0.5 / 5, abs=1e-3)
    with pytest.raises(DataError, match="2,020 or 2,021 are published"):
        OMNIACT.open(data=tmp_path)


def test_scripts_are_added_up_as_published(tmp_path: Path) -> None:
    opened = SOME_OMNIACT.open(data=omniact(tmp_path))
    (unit,) = opened.entries
    gold = unit.detail.gold.action
    short = replace(unit.detail, gold=Answers(actions=(Action("enter"),)))

    def answered(detail: ScreenDetail, said: Action) -> Unit[ScreenDetail]:
        given = Prediction(Status.ANSWERED, said)
        made = replace(unit, detail=detail, prediction=given, settled=True)
        return replace(made, scores=scores(OMNIACT, said, detail))

    two = parts(gold)[:2]
    found = list(
        as_published([answered(unit.detail, several(two)), answered(short, Action("enter"))])
    )
    # The first script weighs 4.1 and the second 0.1; two of three compared lines are the first's.
    assert [line.partition(" ")[0] for line in found] == ["omniact", "os-atlas-omniact"]
    assert found[0].endswith(": 2.4") and found[1].endswith(": 100.0")


@pytest.mark.parametrize(
    "line", ["pyautogui.click(__import__('os'))", "pyautogui.fly(1)", "pyautogui.click(1, 2"]
)
def test_an_unknown_line_of_a_script_is_told(line: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"test.json, task 7: "):
        SOME_OMNIACT.open(data=omniact(tmp_path, f"Task: x\n\n{line}\n"))


def test_answers_of_several_actions_are_classified_by_the_first_wrong_one(tmp_path: Path) -> None:
    labels = (CLICKED, {"name": "input", "text": "cats"})
    (unit,) = small(GUIACT).open(data=guiact(tmp_path, *labels)).entries
    click = Action("click", point=(30.0, 20.0))
    wrong = several([click, Action("type", arguments={"text": "dogs"})])
    assert _difference(wrong, unit.detail, "guiact")[0] == TEXT
    assert _difference(click, unit.detail, "guiact") == (TYPE, "1 actions, not 2")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (with_box(Action("click"), (0, 0, 10, 10)), Action("click", point=(9.0, 9.0)), True),
        (Action("click", point=(0.0, 0.0)), Action("click", point=(90.0, 9.0)), False),
        (Action("scroll", point=(1.0, 1.0), arguments={"direction": "up", "to_x": 1, "to_y": 9}),
         Action("scroll", arguments={"direction": "up"}), True),
        (several([Action("back"), Action("home")]), several([Action("back"), Action("home")]),
         True),
        (several([Action("back"), Action("home")]), Action("back"), False),
    ],
)  # fmt: skip
def test_votes_count_what_an_action_does(one: Action, other: Action, same: bool) -> None:
    pair = [Prediction(Status.ANSWERED, action) for action in (one, other)]
    assert does_the_same(*pair) is same


# TFRecords, written by the definition of their format


def test_the_steps_of_agentcpm_come_from_its_own_conversion(tmp_path: Path) -> None:
    step = {
        "episode_id": 5,
        "image_width": 200,
        "image_height": 100,
        "image_path": "/somewhere/screenshot_5_0.png",
        "instruction": "Buy it",
        "low_instruction": "tap",
        "ui_positions": "[[0.1, 0.05, 0.2, 0.2]]",
        "result_lift_yx": "[0.2, 0.1]",
    }
    steps: list[dict[str, Any]] = [
        {**step, "step_id": 0, "result_action_type": 4, "result_touch_yx": "[0.2, 0.1]"},
        {**step, "step_id": 1, "result_action_type": 4, "result_touch_yx": "[0.5, 0.1]"},
        {**step, "step_id": 2, "result_action_type": 10, "result_touch_yx": "[-1, -1]"},
    ]
    write(tmp_path / "test" / "android_control" / "5" / "5.json", steps)
    opened = small(ANDROID_CONTROL).open(data=tmp_path, splits=["agentcpm"])
    gold = [unit.detail.gold.action for unit in opened.entries]
    assert [one.name for one in gold] == ["click", "scroll", "complete"]
    assert gold[0].point == (20.0, 20.0)
    assert gold[1].arguments["direction"] == "down"  # the finger went up
    assert opened.entries[0].detail.gold.boxes["a11y"] == (pytest.approx((10, 10, 50, 30)),)
    assert opened.declared and opened.declared.main.name == "agentcpm-ac"
    assert "qwen-ac" not in opened.declared.scores  # nobody has chosen these boxes
    with pytest.raises(DataError, match="where 10,161 are published"):
        ANDROID_CONTROL.open(data=tmp_path, splits=["agentcpm"])


def test_without_its_conversion_the_split_is_refused(tmp_path: Path) -> None:
    (tmp_path / "gold.jsonl").write_text("")
    with pytest.raises(DataError, match="does not hold its 137 validation episodes"):
        ANDROID_CONTROL.open(data=tmp_path, splits=["agentcpm"])
