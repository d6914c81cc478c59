"""Several runs at fake servers: order, kills, interrupts, and what is said of them."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.harness.commands.tool import Called, call, calls, last_lines, replying, start
from tests.programs import Program
from tests.servers import Answer, Ask, WireServer, error

PATIENCE_S = 240
COMMON = """
benchmark = "sample"
split = "dev"
limit = 1
image-policy = "none"
adapter-option = {preflight = false}
cache = false
"""
LINE = ("run", "--config", "s.toml", "--out", "o")


def described(common: str, servers: Sequence[WireServer], **own: str) -> None:
    """Write a file with a model at each of some servers."""
    without = "adapter-option = {preflight = false}\n" if "adapter-option" in common else ""
    text = COMMON.replace(without, "") + common
    for number, server in enumerate(servers):
        text += f'\n[[run]]\nmodel = "openai:m{number}"\nbase-url = "{server.base_url("openai")}"\n'
        text += own.get(f"m{number}", "")
    Path("s.toml").write_text(text)


@pytest.fixture
def servers() -> Iterator[list[WireServer]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(WireServer(replying())) for _ in range(3)]


def runs(folder: str = "o") -> list[Path]:
    return sorted(path.parent for path in Path(folder).glob("*/manifest.json"))


def states(out: str) -> dict[str, str]:
    """The states in a table, by run."""
    rows = re.findall(r"^(\S.*?) +[\d,]+/[\d,]+ +(.*?)(?:  .*)?$", out, re.MULTILINE)
    return {label: state.strip() for label, state in rows}


def tables(folder: str) -> str:
    """What a reader gets to see of the results."""
    done = call("report", *runs(folder), "--format", "csv")
    assert done.code == 0, done.err
    return done.out.replace(folder, "")


def scored(folder: str) -> dict[str, list[dict[str, Any]]]:
    """Every step's prediction and scores, by run."""
    told = ("unit_id", "repeat", "prediction", "scores", "settled")
    return {
        path.name: sorted(
            ({key: line[key] for key in told if key in line} for line in last_lines(path)),
            key=lambda line: (line["unit_id"], line["repeat"]),
        )
        for path in runs(folder)
    }


def test_every_cell_is_an_ordinary_run_in_its_own_directory(servers: list[WireServer]) -> None:
    other = Path("o/somebody-elses")
    other.mkdir(parents=True)
    (other / "notes.txt").write_text("mine")
    described("seed = [1, 2]", servers[:1])
    done = call(*LINE)
    assert done.code == 0, done.err
    assert [path.name for path in other.iterdir()] == ["notes.txt"]
    assert len(runs()) == 2
    for run in runs():
        summary = json.loads((run / "summary.json").read_text())
        assert summary["complete"] and summary["rows"]["all"] == 7
    assert states(done.out) == {f"openai:m0 seed={seed}": "complete" for seed in (1, 2)}
    before = servers[0].count
    again = call(*LINE)
    assert again.code == 0 and "2 runs in o, 2 complete" in again.err
    # The command that a cell stands for finds its run complete, too.
    for run in runs():
        seed = str(json.loads((run / "manifest.json").read_text())["config"]["seed"])
        one = call(
            *("run", "--model", "openai:m0", "--base-url", servers[0].base_url("openai")),
            *("-b", "sample", "--split", "dev", "--limit", "1", "--image-policy", "none"),
            *("--seed", seed, "--adapter-option=preflight=no", "--out", run, "--progress", "off"),
        )
        assert one.code == 0, one.err
    assert servers[0].count == before


def test_runs_follow_each_other_in_the_order_of_the_file(servers: list[WireServer]) -> None:
    seen: list[tuple[str, int]] = []

    def react(ask: Ask) -> Answer:
        seen.append((ask.body["model"], ask.body["seed"]))
        return replying()(ask)

    for server in servers[:2]:
        server.react = react
    seeds = ", ".join(f"{{model_seed = {n}, preflight = false}}" for n in (1, 2))
    described(f"adapter-option = [{seeds}]\nconcurrency = 4", servers[:2])
    done = call(*LINE)
    assert done.code == 0, done.err
    assert [one for one, before in zip(seen, [("", 0), *seen], strict=False) if one != before] == [
        ("m0", 1),
        ("m0", 2),
        ("m1", 1),
        ("m1", 2),
    ]
    assert re.findall(r"^\[(./4)\]", done.err, re.MULTILINE) == ["1/4", "2/4", "3/4", "4/4"]


def test_status_tells_how_far_all_are_and_starts_nothing(servers: list[WireServer]) -> None:
    described("seed = [1, 2]", servers[:1])
    none = call(*LINE, "--status")
    assert none.code == 1 and not Path("o").exists() and servers[0].count == 0
    assert states(none.out) == {f"openai:m0 seed={n}": "not started" for n in (1, 2)}
    # The command line takes a part of a file's runs.
    assert call(*LINE, "--seed", "2").code == 0
    part = call(*LINE, "--status")
    assert part.code == 1
    assert states(part.out) == {"openai:m0 seed=1": "not started", "openai:m0 seed=2": "complete"}
    whole = call(*LINE)
    assert whole.code == 0 and call(*LINE, "--status").code == 0
    assert call(*LINE, "--status").out == whole.out.rpartition("results: ")[0]


def test_a_run_that_ends_early_does_not_end_the_others(servers: list[WireServer]) -> None:
    later = error(503, "come back later", retry_after="1000")
    servers[0].react = lambda ask: later if ask.number == 3 else replying()(ask)
    servers[1].react = lambda ask: error(401, "no such key")
    described("", servers)
    done = call(*LINE)
    assert done.code == 1
    assert states(done.out) == {
        "openai:m0": "incomplete",
        "openai:m1": "not started",
        "openai:m2": "complete",
    }
    assert re.search(r"^openai:m1: .*no such key", done.out, re.MULTILINE)
    for server in servers[:2]:
        server.react = replying()
    asked = servers[2].count
    assert call(*LINE).code == 0 and servers[2].count == asked


def test_a_second_process_is_refused_while_one_works(servers: list[WireServer]) -> None:
    go, held = threading.Event(), threading.Semaphore(0)

    def react(ask: Ask) -> Answer:
        if ask.number > 2:
            held.release()
            assert go.wait(PATIENCE_S)
        return replying()(ask)

    servers[0].react = react
    described("", servers[:2])
    process = start(*LINE)
    try:
        assert held.acquire(timeout=PATIENCE_S)
        status = call(*LINE, "--status")
        assert status.code == 1
        assert states(status.out) == {"openai:m0": "running", "openai:m1": "not started"}
        second = call(*LINE)
        assert second.code == 2
        assert second.err.splitlines()[-1] == "vlm-eval: another process is working on o"
    finally:
        go.set()
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_lets_calls_under_way_end_and_the_same_line_goes_on(
    servers: list[WireServer], sent: signal.Signals
) -> None:
    go, held = threading.Event(), threading.Semaphore(0)

    def react(ask: Ask) -> Answer:
        # Those that come after the signal have to wait, in case it takes its time.
        late = go.is_set()
        if ask.number > 2:
            held.release()
            assert go.wait(PATIENCE_S)
        return replace(replying()(ask), delay_s=1.0 if late else 0.0)

    servers[0].react = react
    described("concurrency = 2", servers[:2])
    process = start(*LINE)
    for _ in range(2):
        assert held.acquire(timeout=PATIENCE_S)
    process.send_signal(sent)
    go.set()
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert err.splitlines()[-1] == "interrupted; the same line goes on"
    (run,) = runs()
    asked = servers[0].count
    assert len(calls(run)) == asked < 14 and servers[1].count == 0
    servers[0].react = replying()
    assert call(*LINE).code == 0
    assert servers[0].count == len(calls(run)) == 14


def strike(servers: Sequence[WireServer], process: Program, chance: random.Random) -> None:
    """Kill a sweep as soon as servers have had some more requests."""

    def asked() -> int:
        return sum(server.count for server in servers)

    goal, end = asked() + chance.randint(0, 6), time.monotonic() + PATIENCE_S
    while asked() < goal and process.poll() is None:
        assert time.monotonic() < end
        time.sleep(chance.choice((0.001, 0.01, 0.05)))
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)
    process.communicate()


def slowly(react: Callable[[Ask], Answer]) -> Callable[[Ask], Answer]:
    def later(ask: Ask) -> Answer:
        time.sleep(0.05)
        return react(ask)

    return later


def survives(servers: Sequence[WireServer], common: str, kills: int, seed: int) -> None:
    described(common, servers)
    calm = call("run", "--config", "s.toml", "--out", "calm")
    assert calm.code == 0, calm.err
    for server in servers:
        server.react = slowly(replying())
    wild, chance = ("run", "--config", "s.toml", "--out", "wild"), random.Random(seed)
    for _ in range(kills):
        strike(servers, start(*wild), chance)
    process = start(*wild)
    out, err = process.communicate(timeout=PATIENCE_S)
    done = Called(process.wait(), out, err)
    assert done.code == 0, done.err
    assert tables("wild") == tables("calm")
    assert scored("wild") == scored("calm")
    assert done.out.replace("wild", "calm") == calm.out


def test_the_same_line_survives_kills(servers: list[WireServer]) -> None:
    survives(servers, "", kills=4, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", [2, 3])
def test_twelve_runs_survive_sixteen_kills(servers: list[WireServer], seed: int) -> None:
    survives(servers, "seed = [1, 2]\ndistractors = [10, 20]", kills=16, seed=seed)
