"""What the difference between a model's own tool and a prompt is called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.runs import Run, open_run
from reports.comparison.arms import facts
from reports.comparison.compare import compare_runs
from reports.comparison.settings import check_comparable
from tests.reports.runs import setup, worked, write

TOOL = {"tool": "computer", "turns": 3, "zoom": "on", "order": "text-first"}
NATIVE: dict[str, Any] = {"protocol": "native", "protocol_option": TOOL, "effort": "medium"}
FUNCTIONS = {**NATIVE, "protocol_option": {**TOOL, "tool": "functions", "coordinates": "absolute"}}
FORM = {"form": "computer-use", "zoom": "none", "order": "text-first", "pack": "grounding"}
PROMPTED = {"protocol": "grounding", "protocol_option": FORM, "effort": "medium"}


def run(folder: Path, name: str, config: dict[str, Any]) -> tuple[str, Run]:
    return name, open_run(write(folder / name, worked(), setup(**config)))


def option(config: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**config, "protocol_option": {**config["protocol_option"], **more}}


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        (PROMPTED, NATIVE, "native − prompted"),
        (PROMPTED, FUNCTIONS, "functions − prompted"),
        (FUNCTIONS, NATIVE, "native − functions"),
        (NATIVE, PROMPTED, "prompted − native"),
        # Only one of them has the setting: it belongs to the arm.
        (PROMPTED, option(NATIVE, tool_choice="auto"), "native − prompted"),
        (
            option(PROMPTED, refusals="offered"),
            option(NATIVE, refusals="unoffered"),
            "native − prompted, with refusals (offered against unoffered)",
        ),
        (
            {**PROMPTED, "effort": "none"},
            NATIVE,
            "other settings differ: effort (none against medium)",
        ),
        (
            option(PROMPTED, order="picture-first"),
            NATIVE,
            "other settings differ: order (picture-first against text-first)",
        ),
        (
            {**PROMPTED, "image_policy": "viewport"},
            {**NATIVE, "image_policy": "full"},
            "other settings differ: image_policy (viewport against full)",
        ),
        (
            option(PROMPTED, level="low"),
            option(NATIVE, level="high"),
            "other settings differ: level (low against high)",
        ),
    ],
)
def test_a_difference_has_its_name_where_nothing_else_differs(
    first: dict[str, Any], second: dict[str, Any], name: str, tmp_path: Path
) -> None:
    assert check_comparable(run(tmp_path, "a", first), run(tmp_path, "b", second)) == name


def test_two_models_are_no_arms_of_one(tmp_path: Path) -> None:
    first = {**PROMPTED, "model": {"name": "m-1"}}
    found = check_comparable(
        run(tmp_path, "a", first),
        run(tmp_path, "b", {**NATIVE, "model": {"name": "m-2"}}),
        vary=("protocol", "protocol_option.zoom"),
    )
    assert found.startswith("model")


def test_the_arm_without_a_tool_is_the_baseline_in_either_order(tmp_path: Path) -> None:
    native, prompted = (run(tmp_path, *one) for one in (("n", NATIVE), ("p", PROMPTED)))
    for listed in ((native[1], prompted[1]), (prompted[1], native[1])):
        [one] = compare_runs(listed).others
        assert (one.baseline, one.subject) == ("p", "native − prompted")


def test_what_both_get_right_is_counted(tmp_path: Path) -> None:
    native, prompted = (run(tmp_path, *one)[1] for one in (("n", NATIVE), ("p", PROMPTED)))
    scored = [one for one in native.records() if one.scores]
    ids = {one.unit_id for one in scored}
    [line] = facts(prompted, native, ids, native.manifest.declaration)
    main = native.manifest.declaration.main_of_units.name
    right = sum(bool((one.scores or {})[main]) for one in scored)
    assert line == (
        f"right in both: {right}, only prompted: 0, only native: 0, in neither: "
        f"{len(scored) - right}"
    )
    assert list(facts(native, native, ids, native.manifest.declaration)) == []
