"""Judgements survive a SIGKILL at any moment: twenty of them, while the judged run goes.

One request to end, at any moment, has no call paid twice.
"""

from __future__ import annotations

import json
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.runs import open_run
from tests.programs import Program

KILLS, SIGNS = 20, 40
IN_FLIGHT = 2 + 8
"""Calls at a time: of the run (`--concurrency 2`), and of its judge (what its adapter declares)."""
PROGRAM = f"""
import asyncio, sys
from dataclasses import replace
from adapters.registry import Entry
from harness.benchmarks import BENCHMARKS, Items
from harness.commands.main import run
from harness.protocols import PROTOCOLS
from tests.extensions.test_judge import JudgedSigns, ThreeStages
from tests.test_made_up_kind import ReadTheSign


class ManySigns(JudgedSigns):
    def open(self, **_):
        known = super().open().entries
        units = (replace(known[n % 3], unit_id=f"sign-{{n}}") for n in range({SIGNS}))
        return Items.of(units)


async def slowly(request):
    print(request.unit_id, request.place, file=open("asked.txt", "a"), flush=True)
    await asyncio.sleep(0.01)
    if request.place == "verdict":
        answer = request.conversation.messages[-1].text
        return f"Status: {{'success' if 'Answer: limit' in answer else 'failure'}}"
    return "4" if request.place.startswith("step") else "limit 50"


sys.modules["slow"] = sys.modules["__main__"]
for registry, name, thing in (
    (BENCHMARKS, "judged-signs", ManySigns), (PROTOCOLS, "read-the-sign", ReadTheSign),
    (PROTOCOLS, "three-stages", ThreeStages),
):
    registry._entries[name] = Entry(name, thing)
run()
"""


def start(folder: Path) -> Program:
    (folder / "slow.py").write_text(PROGRAM)
    words = ("run", "-m", "scripted:slow:slowly", "-b", "judged-signs", "-o", "run")
    line = (*words, "--judge", "scripted:slow:slowly", "--concurrency", "2", "--progress", "off")
    return Program(
        "slow.py",
        *line,
        cwd=folder,
        environment={"XDG_CACHE_HOME": str(folder / "cache")},
        log=folder / "log.txt",
    )


def asked(folder: Path) -> list[str]:
    path = folder / "asked.txt"
    return path.read_text().splitlines() if path.exists() else []


def judged_alone(folder: Path) -> bool:
    """Whether the run is complete, and its judgement goes on."""
    return (folder / "run/summary.json").exists() and len(asked(folder)) > SIGNS + 8


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("when", [judged_alone, lambda folder: len(asked(folder)) > 8])
def test_one_signal_ends_run_and_judgement_and_no_call_is_paid_twice(
    tmp_path: Path, number: signal.Signals, when: Callable[[Path], bool]
) -> None:
    program = start(tmp_path)
    while not when(tmp_path) and program.poll() is None:
        time.sleep(0.002)
    program.send_signal(number)
    log = tmp_path / "log.txt"
    assert program.wait(60) == 130, log.read_text()
    assert "interrupted" in log.read_text() and len(asked(tmp_path)) < 4 * SIGNS
    assert start(tmp_path).wait(60) == 0, log.read_text()
    assert sorted(set(asked(tmp_path))) == sorted(asked(tmp_path))
    assert len(asked(tmp_path)) == 4 * SIGNS and len(verdicts(tmp_path)) == SIGNS


def recorded(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("run/**/calls.jsonl"))


def verdicts(folder: Path) -> list[tuple[str, Any, Any]]:
    (path,) = (folder / "run/judgments").iterdir()
    run = open_run(path)
    assert run.complete
    return [(one.unit_id, one.scores, one.prediction) for one in run.records()]


def test_twenty_kills_lose_and_repeat_no_recorded_call(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    whole, killed = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("killed")
    assert start(whole).wait(60) == 0, (whole / "log.txt").read_text()
    chance, kills = random.Random(7), 0
    while kills < KILLS:
        before, paid, program = recorded(killed), len(asked(killed)), start(killed)
        wanted = before + chance.randint(1, 4)
        while recorded(killed) < wanted and program.poll() is None:
            time.sleep(0.002)
        assert program.poll() is None, (killed / "log.txt").read_text()
        program.kill()
        program.wait(20)
        kills += 1
        # What was not on record yet is lost: the calls in flight, and no other.
        assert len(asked(killed)) - paid - (recorded(killed) - before) <= IN_FLIGHT
    assert start(killed).wait(60) == 0, (killed / "log.txt").read_text()
    assert verdicts(killed) == verdicts(whole)
    paths = list(killed.glob("run/**/calls.jsonl"))
    calls = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    assert len(calls) == 4 * SIGNS  # one of the run, three of the judgement
    named = Counter((call["unit_id"], call["place"]) for call in calls)
    assert set(named.values()) == {1}
