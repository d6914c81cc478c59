"""`harness.evaluate`: the command line's evaluation, called from Python."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import harness
from adapters import AdapterInfo, PictureSource, Reply, Request
from harness.errors import UserError
from harness.policies import Secret
from harness.views import StepView
from parsers.records import Prediction, Status
from tests.harness.commands.tool import CLICK_A, ONE_TASK, call, calls, replying, steps, summary
from tests.harness.session.test_processes import PATIENCE_S, Held
from tests.numbers import results
from tests.servers import WireServer

TASK: dict[str, Any] = {"benchmark": "sample", "split": "dev", "limit": 1}


def summary_table(output: str) -> list[str]:
    """The lines of a result from its head to its last count, without wrapping."""
    words = " ".join(output.split())
    return words[words.index("Ele. Acc") : words.index(" rows: ")].split()


class FirstChoice:
    """A policy of the caller's."""

    name = "first-choice"
    View = StepView
    needs_gold = False

    def predict(self, view: StepView, chance: random.Random, secret: Secret | None) -> Prediction:
        choices = view.choices
        assert secret is None
        return Prediction.of(Status.ANSWERED, choices[0].letter, choices[0].id, operation="CLICK")


class Renamed(FirstChoice):
    """Another class under the same name."""


class Mute:
    """A policy that names no class of views."""

    name = "first-choice"
    needs_gold = False
    predict = FirstChoice.predict


class Steadfast:
    """An adapter of the caller's: it clicks on the first choice."""

    info = AdapterInfo(name="steadfast", model="steadfast-1", provider="mine", revision="r7")
    closed = False

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        return Reply(CLICK_A, model="steadfast-1")

    def notices(self) -> list[str]:
        return []

    async def close(self) -> None:
        self.closed = True


def test_an_evaluation_gives_what_the_command_line_writes(place: Path) -> None:
    run = harness.evaluate(model="lexical", **TASK, progress="off")
    assert call("--model", "lexical", *ONE_TASK, "--out", "same").code == 0
    assert run.complete
    assert results(run.summary) == results(summary("same"))
    assert steps(run.path) == steps("same")
    assert len(run.steps()) == len(steps("same"))
    assert summary_table(call("score", "same").out) == summary_table(str(run.table()))
    # Names and defaults are those of the command line, the name of the directory included.
    assert call("--model", "lexical", *ONE_TASK).err.splitlines()[4] == (
        f"run:      {Path('runs') / run.path.name}"
    )


def test_an_adapter_object_is_asked_and_stays_open(place: Path) -> None:
    adapter = Steadfast()
    run = harness.evaluate(adapter, **TASK, image_policy="none", out="a", progress="off")
    assert run.complete
    assert run.manifest.model["name"] == "steadfast"
    assert run.manifest.model["revision"] == "r7"
    assert {line["prediction"]["letter"] for line in steps("a") if line["asked"]} == {"A"}
    assert not adapter.closed


def test_a_policy_object_is_known_by_its_name_and_class(place: Path) -> None:
    run = harness.evaluate(FirstChoice(), **TASK, out="a", progress="off")
    assert run.complete
    assert run.manifest.model["name"] == "first-choice"
    assert run.manifest.model["settings"]["class"].endswith(":FirstChoice")
    again = harness.evaluate(FirstChoice(), **TASK, out="a", progress="off")
    assert again.records() == run.records()
    with pytest.raises(UserError, match="a was started with other settings"):
        harness.evaluate(Renamed(), **TASK, out="a", progress="off")
    with pytest.raises(UserError, match="'first-choice' does not say what it answers: give its cl"):
        harness.evaluate(Mute(), **TASK, out="b", progress="off")  # type: ignore[arg-type]


def test_it_can_be_called_where_an_event_loop_is_running(place: Path) -> None:
    async def notebook() -> None:
        here = harness.evaluate(model="oracle", **TASK, out="a", progress="off")
        there = await harness.aevaluate(model="oracle", **TASK, out="b", progress="off")
        assert results(here.summary) == results(there.summary)

    asyncio.run(notebook())


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"benchmrk": "sample"}, "unknown setting 'benchmrk'; did you mean 'benchmark'?"),
        ({"limit": 0}, "limit: expected a whole number of at least 1, not '0'"),
        ({"temperature": 1}, "--temperature has no effect on the policy 'lexical'; leave it out"),
        (
            {"protocol": "seeact-choise"},
            "unknown protocol 'seeact-choise'; did you mean 'seeact-choice'?",
        ),
    ],
)
def test_a_mistake_is_an_exception_with_the_line_of_the_command_line(
    place: Path, settings: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(UserError) as error:
        harness.evaluate(model="lexical", **{"benchmark": "sample", **settings})
    assert str(error.value) == complaint
    assert not (place / "runs").exists()


def script(server: WireServer, place: Path, settings: str) -> subprocess.Popen[str]:
    """Start a script without a guard around its one call."""
    path = place / "script.py"
    path.write_text(
        "print('imported', flush=True)\n"
        "import harness\n"
        f"run = harness.evaluate(model='openai:m', base_url={server.base_url('openai')!r},\n"
        "    benchmark='sample', split='dev', limit=1, preflight=False, cache=False, out='a',\n"
        f"    progress='off', {settings})\n"
        "print(run.complete, 'estimates' in run.summary)\n"
    )
    return subprocess.Popen(
        [sys.executable, str(path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENAI_API_KEY": "sk-none"},
    )


def test_an_unguarded_script_is_run_once(place: Path) -> None:
    with WireServer(replying()) as server:
        out, err = script(server, place, "repeats=1").communicate(timeout=PATIENCE_S)
    assert out.splitlines() == ["imported", "True True"], err
    assert any("recipe" in str(record["messages"]) for record in calls("a"))


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_an_interrupt_lets_calls_end_and_the_same_call_goes_on(place: Path) -> None:
    held = Held(answered=3)
    with WireServer(held) as server:
        settings = "image_policy='none', concurrency=2"
        process = script(server, place, settings)
        for _ in range(2):
            assert held.held.acquire(timeout=PATIENCE_S)
        process.send_signal(signal.SIGINT)
        held.go.set()
        _, err = process.communicate(timeout=PATIENCE_S)
        assert "KeyboardInterrupt" in err
        run = harness.open_run(Path("a"))
        assert not run.complete
        assert run.summary["complete"] is False
        assert 0 < run.summary["rows"]["all"] < 7
        on_record = len(calls("a"))
        assert 2 <= on_record < 14
        asked = server.count
        server.react = replying()
        out, err = script(server, place, settings).communicate(timeout=PATIENCE_S)
        assert out.splitlines()[-1] == "True True", err
        assert server.count == asked + 14 - on_record


def test_the_public_names_are_listed() -> None:
    assert {"evaluate", "aevaluate", "Run", "open_run"} <= set(dir(harness))
    with pytest.raises(AttributeError, match="no attribute 'evalute'"):
        harness.evalute  # noqa: B018
