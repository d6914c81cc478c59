"""What reaches a terminal: no control characters of others, and nothing when it is closed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from harness.engine import EnginePolicy, RetryPolicy
from harness.printing import printable
from tests.harness.commands.tool import ONE_TASK, TEXT_ONLY, at, call, replying, steps
from tests.servers import Answer, Ask, WireServer, error

HOSTILE = "\x1b]0;title\x07\x1b[2J\x9b31m\r\b\u202e"
ROOT = Path(__file__).parents[3]


def test_control_characters_are_made_visible_and_lines_stay_lines() -> None:
    assert printable("a\tb\nc\r\nd") == "a\tb\nc\r\nd"
    assert printable(HOSTILE).isprintable()
    assert printable("a\rb") == "a\ufffdb"


def hostile(ask: Ask) -> Answer:
    """Hostile names, thoughts and replies; the first step's calls fail with hostile words."""
    if "(none yet)" in str(ask.messages):
        return error(500, f"down {HOSTILE}", code=f"c{HOSTILE}")
    answer = replace(replying()(ask), model=f"m{HOSTILE}", thinking=HOSTILE)
    return replace(answer, text=f"{HOSTILE} {answer.text}" if not ask.rounds else answer.text)


def test_a_hostile_server_controls_no_terminal(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = partial(EnginePolicy, retry=RetryPolicy(attempts=2, first_wait_s=0.01))
    monkeypatch.setattr("harness.session.run.EnginePolicy", quick)
    with WireServer(hostile) as server:
        line = at(server, *ONE_TASK, *TEXT_ONLY, "--no-cache", "--out", "a")
        printed = [call(*line, "--progress", "plain")]
    step = next(record["step_id"] for record in steps("a") if record["calls"])
    printed += [
        call("show", step, "--run", "a"),
        call("score", "a"),
        call("report", "a"),
        call("report", "a", "--format", "csv"),
        call("errors", "a"),
    ]
    text = "".join(one.out + one.err for one in printed)
    assert "title" in text
    assert "Traceback" not in text
    assert re.findall("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e]", text) == []


def test_a_program_that_a_notebook_starts_draws_no_bar(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as Jupyter's kernels set it
    called = call("run", "-m", "oracle", *ONE_TASK, *TEXT_ONLY, "--out", "a")
    assert "\x1b" not in called.out + called.err
    assert "steps/min" in called.err


REPORT = ("report", "a")
RUN = ("run", "--model", "oracle", *ONE_TASK, "--progress", "off", "--out", "b")


@pytest.mark.parametrize(
    ("command", "redirect"),
    [(REPORT, ">&-"), (REPORT, "| true"), (RUN, "<&- >&- 2>&-")],
    ids=["report closed", "report to nobody", "run without streams"],
)
def test_a_closed_standard_output_is_no_traceback(
    command: tuple[str, ...], redirect: str, place: Path
) -> None:
    assert call("--model", "oracle", *ONE_TASK, "--out", "a").code == 0
    done = subprocess.run(
        ["sh", "-c", f'"$@" {redirect}', "sh", sys.executable, "-m", "harness", *command],
        cwd=place,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(place)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    if command == RUN:
        assert json.loads(Path("b/summary.json").read_text("utf-8"))["complete"] is True
        assert len(steps("b")) == len(steps("a")), "no file of the run took the stream's place"


def test_what_an_encoding_lacks_is_a_question_mark(place: Path) -> None:
    out = "r \u2212 \u4e2d"
    run = ("run", "--model", "oracle", *ONE_TASK, "--progress", "off", "--out", out)
    for encoding, line in (("cp1252", run), ("ascii", ("report", out))):
        done = subprocess.run(
            [sys.executable, "-m", "harness", *line],
            env={**os.environ, "PYTHONIOENCODING": encoding},
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert line is not run or "r ? ?" in (done.stdout + done.stderr).decode(encoding)


def test_every_command_prints_through_one_module() -> None:
    # Text tables are drawn to a string.
    exempt = {ROOT / "harness" / "printing.py", ROOT / "harness" / "tables" / "text.py"}
    for path in [*(ROOT / "harness").rglob("*.py"), *(ROOT / "reports").rglob("*.py")]:
        if path not in exempt and "sample" not in path.parts:
            assert not re.search(r"click\.s?echo|\bConsole\(", path.read_text("utf-8")), path
