"""The steps on a phone that ship with the package, and one set of replies under every rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from benchmarks.sample.screens import differences, episodes, lines, record, write
from harness.benchmarks import benchmark
from harness.benchmarks.opening import as_oracle
from harness.benchmarks.screen.own import SAMPLE
from harness.benchmarks.screen.protocol import ScreenAgent
from harness.live.chromium import chromium
from harness.pictures import PicturePolicy, plan, read_size
from harness.runs import Unit, open_run
from harness.sample import SCREENS
from parsers.actions import Action
from parsers.screen import SCREEN, ScreenDetail, text_of
from parsers.screen.rules import RULES, verdicts
from tests.harness.commands.tool import call, isolate

RULES_TABLE = Path(__file__).with_name("rules.txt")
PHONE = (412, 915)
Said = Callable[[Unit[ScreenDetail]], Action | None]


@pytest.fixture(scope="module")
def steps() -> list[Unit[ScreenDetail]]:
    opened = SAMPLE.open(splits=["test"])
    return [
        replace(unit, pictures=tuple(_shown(opened.pictures(unit)[0]))) for unit in opened.entries
    ]


def _shown(data: bytes) -> Iterator[Any]:
    yield from plan(PicturePolicy.parse("full"), read_size(data), (), None)


def test_it_has_both_splits_and_all_that_a_phone_is_asked_for() -> None:
    opened = SAMPLE.open(splits=["dev", "test"])
    counts = Counter(unit.labels["action"] for unit in opened.entries)
    assert len(opened.entries) == 85
    assert len({unit.parents["episode"] for unit in opened.entries}) == 14
    wanted = "click type scroll back home long_press open_app enter complete impossible answer"
    assert set(counts) == set(wanted.split())
    assert counts["impossible"] == 1 and counts["complete"] == 12
    assert {unit.detail.size for unit in opened.entries} == {PHONE}
    assert all(unit.detail.asked.instruction for unit in opened.entries)
    assert sum(file.stat().st_size for file in SCREENS.iterdir()) < 4_000_000
    assert len(SAMPLE.open().entries) == 49


def _spelled(family: str) -> Said:
    """The recorded action as a family writes it, read back."""
    protocol = ScreenAgent(family=family)
    return lambda unit: as_oracle(protocol, benchmark("sample-screens").recall(unit), SCREEN).action


def _recorded(unit: Unit[ScreenDetail]) -> Action:
    return unit.detail.gold.action


def _moved(unit: Unit[ScreenDetail]) -> Action:
    action = _recorded(unit)
    if action.point is None:
        return action
    x, y = action.point
    return replace(action, point=(x, y + 60 if y < PHONE[1] / 2 else y - 60))


def _told(change: Callable[[str], str]) -> Said:
    def said(unit: Unit[ScreenDetail]) -> Action:
        action, text = _recorded(unit), text_of(_recorded(unit))
        if text is None:
            return action
        return replace(action, arguments={**action.arguments, "text": change(text)})

    return said


REPLIES: dict[str, Said] = {
    "`ui-tars`": _spelled("ui-tars"),
    "`qwen2.5-vl`": _spelled("qwen2.5-vl"),
    "taps 60 px off": _moved,
    "first words": _told(lambda text: text.split()[0]),
    "no text": _told(lambda text: ""),
    "`wait`": lambda unit: Action("wait"),
}


def table(steps: list[Unit[ScreenDetail]]) -> str:
    """How many steps of six sets of replies are right under every rule, in per cent."""
    found = [["rule", *REPLIES], ["---"] * (len(REPLIES) + 1)]
    judged = {
        name: [verdicts(said(unit), unit.detail.gold, PHONE, RULES) for unit in steps]
        for name, said in REPLIES.items()
    }
    for rule in RULES:
        cells = []
        for name in REPLIES:
            steps_right = [value for one in judged[name] if (value := one[rule].step) is not None]
            cells.append(f"{100 * sum(steps_right) / len(steps_right):.1f}")
        found.append([f"`{rule}`", *cells])
    return "\n".join(f"| {' | '.join(row)} |".replace("| --- ", "|---") for row in found)


def test_replies_get_the_same_figures_under_every_rule(steps: list[Unit[ScreenDetail]]) -> None:
    assert table(steps).replace("--- |", "---|") + "\n" == RULES_TABLE.read_text("utf-8")


def test_the_recorded_action_is_right_under_rules_that_know_its_type(
    steps: list[Unit[ScreenDetail]],
) -> None:
    unknown = {
        "seeclick-aitw": {"open_app", "long_press", "answer"},
        "clawgui-ac": {"complete", "impossible", "answer", "enter"},
        "aitz": {"open_app", "long_press", "answer"},
        # A point is never right.
        "aitz-coat": {"open_app", "long_press", "answer", "click"},
        "curated-bbox": {"click", "long_press"},
    }
    for unit in steps:
        for rule, verdict in verdicts(_recorded(unit), unit.detail.gold, PHONE, RULES).items():
            if unit.labels["action"] not in unknown.get(rule, ()):
                assert verdict.step in (1, None), (rule, unit.unit_id)


@pytest.mark.browser
@pytest.mark.skipif(find_spec("playwright") is None, reason="needs the extra [live]")
@pytest.mark.skipif(chromium() is None, reason="Chromium is not installed")
def test_an_episode_recorded_again_equals_the_shipped_one(tmp_path: Path) -> None:
    (wanted,) = (one for one in episodes() if one.name == "remove-photos")
    again = record([wanted])
    shipped = [line for line in lines() if line["episode"] == "remove-photos"]
    assert differences(shipped, [line for line, _ in again])[0] == []
    write(again, tmp_path)
    assert [line["step"] for line in lines(tmp_path)] == [0, 1, 2]


def test_a_user_chooses_the_rule_of_the_headline(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    words = ["--benchmark", "sample-screens", "--model", "wait", "--progress", "off"]
    done = call(*words, "--rule", "agentcpm", "--out", tmp_path / "run")
    assert done.code == 0, done.err
    run = open_run(tmp_path / "run")
    assert run.manifest.declaration.main.name == "agentcpm"
    assert run.manifest.declaration["episode_success"].all_of == "agentcpm"
    assert "sample-screens, test is judged under" in call(*words, "--rule", "guiact").complaint
    other = ["--benchmark", "sample-grounding", "--model", "random", "--rule", "strict"]
    assert "--rule has no effect on sample-grounding" in call(*other).complaint
