"""Sweeps of fake servers: order, kills, money, selection, and what is said of them."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.harness.commands.tool import Called, call, calls, last_lines, replying, start
from tests.programs import Program
from tests.servers import Answer, Ask, WireServer, error

PATIENCE_S = 240
COMMON = """
[defaults]
benchmark = "sample"
split = "dev"
limit = 1
image-policy = "none"
preflight = false
cache = false
"""


def three(runs: str, servers: Sequence[WireServer]) -> str:
    """A file with these runs at each of some servers."""
    text = COMMON
    for number, server in enumerate(servers):
        url = server.base_url("openai")
        text += f'[[run]]\nmodel = "openai:m{number}"\nbase-url = "{url}"\n{runs}\n'
    Path("s.toml").write_text(text)
    return "s.toml"


@pytest.fixture
def servers() -> Iterator[list[WireServer]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(WireServer(replying())) for _ in range(3)]


def plan(folder: str = "o") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((Path(folder) / "sweep.json").read_text())["cells"]
    return found


def states(out: str) -> dict[str, str]:
    """The states in a table, by run."""
    rows = re.findall(r"^(\S.*?) +[\d,]+/[\d,]+ +(.*?)(?:  .*)?$", out, re.MULTILINE)
    return {label: state.strip() for label, state in rows}


def tables(folder: str) -> str:
    """What a reader gets to see of the results."""
    runs = sorted(str(path.parent) for path in Path(folder).glob("*/summary.json"))
    done = call("report", *runs, "--format", "csv")
    assert done.code == 0, done.err
    return done.out


def scored(folder: str) -> dict[str, list[dict[str, Any]]]:
    """Every step's prediction and scores, by run."""
    told = ("unit_id", "repeat", "prediction", "scores", "settled")
    return {
        path.parent.name: sorted(
            ({key: line[key] for key in told if key in line} for line in last_lines(path.parent)),
            key=lambda line: (line["unit_id"], line["repeat"]),
        )
        for path in sorted(Path(folder).glob("*/steps.jsonl"))
    }


def test_every_cell_is_an_ordinary_run_in_its_own_directory(servers: list[WireServer]) -> None:
    other = Path("o/somebody-elses")
    other.mkdir(parents=True)
    (other / "notes.txt").write_text("mine")
    file = three("seed = [1, 2]", servers[:1])
    done = call("sweep", file, "--out", "o", "--jobs", "3")
    assert done.code == 0, done.err
    assert "o/somebody-elses is not of this sweep and is left alone" in done.err
    assert [path.name for path in other.iterdir()] == ["notes.txt"]
    runs = {cell["directory"]: cell for cell in plan()}
    assert len(runs) == 2
    for name, cell in runs.items():
        summary = json.loads((Path("o") / name / "summary.json").read_text())
        assert summary["complete"] and summary["rows"]["all"] == cell["dialogues"]
    lines = done.out.splitlines()
    assert lines[0].split() == ["run", "answered", "state", "Step", "SR"]
    assert states(done.out) == {f"openai:m0 seed={seed}": "complete" for seed in (1, 2)}
    before = {server.port: server.count for server in servers}
    again = call("sweep", file, "--out", "o")
    assert again.code == 0 and "2 runs in o, 2 complete" in again.err
    assert {server.port: server.count for server in servers} == before
    # An ordinary run: the command that the cell stands for finds it complete, too.
    first = plan()[0]
    one = call(
        *("run", "--model", "openai:m0", "--base-url", servers[0].base_url("openai")),
        *("-b", "sample", "--split", "dev", "--limit", "1", "--image-policy", "none"),
        *("--seed", "1", "--no-preflight", "--out", f"o/{first['directory']}", "--progress", "off"),
    )
    assert one.code == 0, one.err
    assert servers[0].count == before[servers[0].port]


def test_one_run_at_a_time_asks_a_server(servers: list[WireServer]) -> None:
    seen: list[set[str]] = []
    under_way: set[str] = set()
    lock = threading.Lock()

    def react(ask: Ask) -> Answer:
        with lock:
            under_way.add(ask.body["seed"])
            seen.append(set(under_way))
        time.sleep(0.02)
        with lock:
            under_way.discard(ask.body["seed"])
        return replying()(ask)

    servers[0].react = react
    done = call("sweep", three("model-seed = [1, 2]", servers[:1]), "--out", "o", "--jobs", "4")
    assert done.code == 0, done.err
    assert {1, 2} <= set().union(*seen) and all(len(seeds) == 1 for seeds in seen)


def test_only_names_the_runs_by_label_or_directory(servers: list[WireServer]) -> None:
    file = three("seed = [1, 2]", servers)
    assert call("sweep", file, "--out", "o", "--only", "*m1 seed=2").code == 0
    assert [server.count > 0 for server in servers] == [False, True, False]
    status = call("sweep", file, "--out", "o", "--status")
    assert status.code == 1
    told = states(status.out)
    assert told.pop("openai:m1 seed=2") == "complete"
    assert set(told.values()) == {"not started"} and len(told) == 5
    name = plan()[0]["directory"]
    assert call("sweep", file, "--out", "o", "--only", name).code == 0
    assert servers[0].count > 0 and servers[2].count == 0
    none = call("sweep", file, "--out", "o", "--only", "gpt*")
    assert none.code == 2
    assert none.err.splitlines()[-1].startswith("vlm-eval: --only gpt* matches none of the runs")


def test_a_run_that_ends_early_is_tried_again_while_it_gets_on(servers: list[WireServer]) -> None:
    """A server that asks for more patience than there is: the call is given up at once."""
    later = error(503, "come back later", retry_after="1000")
    servers[0].react = lambda ask: later if ask.number in (3, 6) else replying()(ask)
    servers[1].react = later
    done = call("sweep", three("", servers[:2]), "--out", "o", "--jobs", "2")
    assert done.code == 1
    assert "openai:m0: complete" in done.err
    assert "openai:m0: started (attempt 2)" in done.err
    assert "openai:m1: started (attempt 2)" not in done.err
    assert states(done.out) == {"openai:m0": "complete", "openai:m1": "incomplete"}
    assert "\nopenai:m1: " in done.out


def test_status_while_it_runs_and_a_second_sweep(servers: list[WireServer]) -> None:
    go, held = threading.Event(), threading.Semaphore(0)

    def react(ask: Ask) -> Answer:
        if ask.number > 2:
            held.release()
            assert go.wait(PATIENCE_S)
        return replying()(ask)

    servers[0].react = react
    file = three("", servers[:2])
    process = start("sweep", file, "--out", "o")
    try:
        assert held.acquire(timeout=PATIENCE_S)
        status = call("sweep", file, "--out", "o", "--status")
        assert status.code == 1
        assert states(status.out)["openai:m0"] == "running"
        second = call("sweep", file, "--out", "o")
        assert second.code == 2
        assert second.err.splitlines()[-1] == (
            "vlm-eval: another process runs a sweep in o (--status shows it)"
        )
    finally:
        go.set()
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    assert call("sweep", file, "--out", "o", "--status").out == out.rpartition("results: ")[0]


def test_status_without_a_sweep() -> None:
    file = three("", [])
    Path(file).write_text('[[run]]\nmodel = "lexical"')
    done = call("sweep", file, "--status")
    assert done.code == 2
    assert done.complaint == (
        "vlm-eval: no sweep was started in sweeps/s (vlm-eval sweep s.toml starts one)"
    )


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux's signals")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_what_ends_a_sweep_lets_calls_under_way_end_and_the_same_line_goes_on(
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
    file = three("concurrency = 2", servers[:1])
    process = start("sweep", file, "--out", "o")
    for _ in range(2):
        assert held.acquire(timeout=PATIENCE_S)
    [run] = psutil.Process(process.pid).children()
    process.send_signal(sent)
    go.set()
    _, err = process.communicate(timeout=PATIENCE_S)
    if sent is signal.SIGINT:
        assert process.returncode == 130, err
        assert err.splitlines()[-1] == "interrupted; the same line goes on"
    psutil.wait_procs([run], timeout=PATIENCE_S)
    assert not run.is_running()
    path = Path("o") / plan()[0]["directory"]
    asked = servers[0].count
    assert len(calls(path)) == asked < 14
    servers[0].react = replying()
    assert call("sweep", file, "--out", "o").code == 0
    assert servers[0].count == len(calls(path)) == 14


def test_runs_that_send_pictures_share_them(servers: list[WireServer], place: Path) -> None:
    file = three("seed = [1, 2]", servers[:1])
    Path(file).write_text(Path(file).read_text().replace('image-policy = "none"\n', ""))
    assert call("sweep", file, "--out", "o", "--only", "*seed=1").code == 0
    kept = place / "cache-home" / "vlm-eval" / "pictures"
    first = {path: path.read_bytes() for path in kept.rglob("*") if path.is_file()}
    assert len(first) == 7
    assert call("sweep", file, "--out", "o").code == 0
    assert {path: path.read_bytes() for path in kept.rglob("*") if path.is_file()} == first


class Killer:
    """Ends the sweep, or a process of it, as soon as servers have had so many more requests."""

    def __init__(self, servers: Sequence[WireServer], seed: int) -> None:
        self._servers = servers
        self._random = random.Random(seed)

    def asked(self) -> int:
        return sum(server.count for server in self._servers)

    def strike(self, process: Program) -> None:
        """Wait for a random instant, and kill something."""
        goal = self.asked() + self._random.randint(0, 6)
        end = time.monotonic() + PATIENCE_S
        while self.asked() < goal and process.poll() is None:
            assert time.monotonic() < end
            time.sleep(self._random.choice((0.001, 0.01, 0.05)))
        if process.poll() is not None:
            return
        victims = [process.pid]
        with contextlib.suppress(psutil.NoSuchProcess):
            victims += [child.pid for child in psutil.Process(process.pid).children()]
        victim = victims[0] if self._random.random() < 0.4 else self._random.choice(victims)
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)


def survives(servers: Sequence[WireServer], runs: str, kills: int, seed: int) -> None:
    for server in servers:
        server.react = slowly(replying())
    file = three(runs, servers)
    undisturbed = call("sweep", file, "--out", "calm", "--jobs", "3")
    assert undisturbed.code == 0, undisturbed.err
    killer = Killer(servers, seed)
    process = start("sweep", file, "--out", "wild", "--jobs", "3")
    for _ in range(kills):
        killer.strike(process)
        if process.poll() is not None:
            process.communicate()
            process = start("sweep", file, "--out", "wild", "--jobs", "3")
    done = ended(process)
    for _ in range(kills):
        if done.code == 0:
            break
        done = ended(start("sweep", file, "--out", "wild", "--jobs", "3"))
    assert done.code == 0, done.err
    assert tables("wild") == tables("calm")
    assert scored("wild") == scored("calm")
    assert done.out.replace("wild", "calm") == undisturbed.out


def slowly(react: Callable[[Ask], Answer]) -> Callable[[Ask], Answer]:
    def later(ask: Ask) -> Answer:
        time.sleep(0.05)
        return react(ask)

    return later


def ended(process: Program) -> Called:
    out, err = process.communicate(timeout=PATIENCE_S)
    return Called(process.wait(), out, err)


def test_a_sweep_survives_kills(servers: list[WireServer]) -> None:
    survives(servers, "", kills=3, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", [2, 3])
def test_twelve_runs_survive_many_kills(servers: list[WireServer], seed: int) -> None:
    runs = "seed = [1, 2]\ndistractors = [10, 20]"
    survives(servers, runs, kills=25, seed=seed)
