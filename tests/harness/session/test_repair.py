"""Damaged lines are found before a run goes on, and `--repair` asks their steps again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adapters.contract import Request
from tests.harness.commands.tool import (
    DEV,
    ONE_TASK,
    TEXT_ONLY,
    at,
    call,
    calls,
    replying,
    steps,
    summary,
)
from tests.harness.session.test_reading_editions import CHOICE, TOURNAMENT, sometimes_unsure
from tests.servers import WireServer

_ASKED: list[tuple[str, str]] = []
PRICES = '["openai:m"]\ninput = 1000.0\noutput = 2000.0\n'


def counting(request: Request) -> str:
    _ASKED.append((request.unit_id, request.place))
    return sometimes_unsure(request)


MODEL = ("--model", f"scripted:{__name__}:counting", "--progress", "off")
SOME = (*MODEL, *DEV, "--limit", "2", *TEXT_ONLY)


def outcomes(run: str) -> list[tuple[object, ...]]:
    keys = ("prediction", "scores", "settled", "calls", "usage", "cost")
    return sorted((s["step_id"], *(str(s[key]) for key in keys)) for s in steps(run))


def damage(run: str, name: str, number: int, how: str) -> dict[str, Any]:
    """Damage a line of a run and return what stood there."""
    path = Path(run) / f"{name}.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    line = lines[number]
    found: dict[str, Any] = json.loads(line)
    middle = line.index(b"CLICK") if b"CLICK" in line else len(line) // 2
    lines[number] = {
        "bit": line[:middle] + bytes([line[middle] ^ 1]) + line[middle + 1 :],
        "zeros": bytes(len(line) - 1) + b"\n",
        "half": line[: len(line) // 2] + b"\n",
        "edited": json.dumps({**found, "repeat": 0, "edited": 1}).encode() + b"\n",
        "lost": b"",
    }[how]
    path.write_bytes(b"".join(lines))
    return found


@pytest.fixture
def whole() -> str:
    assert call(*SOME, "--out", "whole").code == 0
    assert call(*SOME, "--out", "a").code == 0
    _ASKED.clear()
    return "a"


@pytest.mark.parametrize("how", ["bit", "zeros", "half", "edited"])
@pytest.mark.parametrize("number", [0, 7, -1])
def test_damage_in_a_settled_step_s_calls_is_found_and_the_step_asked_again(
    whole: str, number: int, how: str
) -> None:
    broken = damage(whole, "calls", number, how)
    before = Path(whole, "calls.jsonl").read_bytes()
    line = len(calls("whole")) if number == -1 else number + 1
    for command in ((*SOME, "--out", whole), ("score", whole)):
        found = call(*command)
        assert found.code == 2
        assert f"calls.jsonl line {line} cannot be read" in found.err
        assert "--repair asks its step anew" in found.err
    assert Path(whole, "calls.jsonl").read_bytes() == before and not _ASKED
    mended = call(*SOME, "--out", whole, "--repair")
    assert mended.code == 0, mended.err
    assert "repaired: 1 damaged line set aside, 1 step to be asked again" in mended.err
    assert {step for step, _ in _ASKED} == {broken["unit_id"]}
    assert len(_ASKED) == 2
    assert outcomes(whole) == outcomes("whole")
    assert {**summary(whole), "run": "whole"} == summary("whole")
    assert sorted(c["id"] for c in calls(whole)) == sorted(c["id"] for c in calls("whole"))
    _ASKED.clear()
    again = call(*SOME, "--out", whole)
    assert again.code == 0 and not _ASKED and "warning" not in again.err


@pytest.mark.parametrize("how", ["bit", "zeros", "half"])
def test_a_damaged_line_of_a_step_is_made_again_from_its_calls(whole: str, how: str) -> None:
    damage(whole, "steps", 3, how)
    assert "steps.jsonl line 4 cannot be read" in call(*SOME, "--out", whole).err
    assert call(*SOME, "--out", whole, "--repair").code == 0
    assert not _ASKED
    assert outcomes(whole) == outcomes("whole")


def test_a_lost_line_is_told_and_asked_for_again_when_wanted(whole: str) -> None:
    broken = damage(whole, "calls", 4, "lost")
    told = call(*SOME, "--out", whole)
    assert told.code == 0 and not _ASKED
    assert "warning: not every call of 1 answered step is on record any more" in told.err
    assert call(*SOME, "--out", whole, "--repair").code == 0
    assert {step for step, _ in _ASKED} == {broken["unit_id"]}
    assert outcomes(whole) == outcomes("whole")


@pytest.mark.parametrize(("line", "how"), [(CHOICE, "bit"), (TOURNAMENT, "zeros")])
def test_a_run_that_was_cut_off_goes_on_after_a_repair(line: tuple[str, ...], how: str) -> None:
    assert call(*MODEL, *line, "--out", "whole").code == 0
    assert call(*MODEL, *line, "--out", "a").code == 0
    (Path("a") / "summary.json").unlink()
    path = Path("a/steps.jsonl")
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:5]))
    unsettled = {s["step_id"] for s in steps("whole")} - {s["step_id"] for s in steps("a")}
    number = next(n for n, c in enumerate(calls("a")) if c["unit_id"] in unsettled)
    damage("a", "calls", number, how)
    assert call(*MODEL, *line, "--out", "a").code == 2
    assert call(*MODEL, *line, "--out", "a", "--repair").code == 0
    assert outcomes("a") == outcomes("whole")


def test_what_was_paid_for_damaged_calls_stays_paid() -> None:
    Path("prices.toml").write_text(PRICES)
    with WireServer(replying()) as server:
        line = at(server, *ONE_TASK, *TEXT_ONLY, "--prices", "prices.toml", "--no-cache")
        assert call(*line, "--out", "a").code == 0
        paid = [c["cost"] for c in calls("a")]
        damage("a", "calls", 0, "zeros")
        assert call(*line, "--out", "a", "--repair").code == 0
        assert server.count == 16
    manifest = json.loads(Path("a/manifest.json").read_text())
    again = sum(c["cost"] for c in calls("a"))
    assert again + manifest["unrecorded"] == pytest.approx(sum(paid) * 16 / 14)


def test_a_repair_where_nothing_is_damaged_changes_nothing(whole: str) -> None:
    before = {p.name: p.read_bytes() for p in Path(whole).iterdir() if p.name != "manifest.json"}
    done = call(*SOME, "--out", whole, "--repair")
    assert done.code == 0 and "repaired: 0 damaged lines set aside" in done.err
    kept = {p.name: p.read_bytes() for p in Path(whole).iterdir() if p.name != "manifest.json"}
    assert kept == before
    other = call(*SOME, "--out", whole, "--repair", "--seed", "7")
    assert other.code == 2 and "started with other settings" in other.err
    assert call(*SOME, "--out", "new", "--repair").code == 0
