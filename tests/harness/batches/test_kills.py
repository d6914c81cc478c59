"""Runs in batches of the three providers that are killed, for real, wherever that may hurt."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.batches import remote
from harness.batches.log import BatchLog
from tests.adapters.support import MODELS
from tests.harness.batches.deferring import told
from tests.harness.commands.tool import (
    ONE_TASK,
    TEXT_ONLY,
    call,
    calls,
    replying,
    start,
)
from tests.programs import completed
from tests.servers import Provider, WireServer

CHILD = Path(__file__).with_name("kill.py")
WAITING = 3


@pytest.fixture(autouse=True)
def keys(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC", "GOOGLE"):
        monkeypatch.setenv(f"{name}_API_KEY", "sk-0123456789")


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer(replying()) as server:
        yield server


def arguments(server: WireServer, provider: Provider = "openai", *more: str) -> list[str]:
    model = ("--model", MODELS[provider], "--base-url", server.base_url(provider))
    rest = ("--workers", "1", "--progress", "off", "--no-cache", "--yes", "--tier", "batch")
    return [*model, *ONE_TASK, *TEXT_ONLY, *rest, "--out", "run", *more]


def killed(point: str, *args: str) -> None:
    """A session that dies at this point."""
    process = completed(CHILD, point, *args)
    assert process.returncode == -signal.SIGKILL, process.stderr


def to_the_end(args: list[str], most: int = 8) -> int:
    """Sessions until the run is complete. Returns how many there were."""
    for number in range(1, most + 1):
        done = call(*args)
        if done.code == 0:
            return number
        assert done.code == WAITING, done.err
    raise AssertionError(f"not complete after {most} sessions: {done.err}")


def batched(server: WireServer) -> list[Any]:
    return [ask for ask in server.asks if ask not in server.asked_at_once]


def check(server: WireServer, *more: str, batches: int = 2) -> None:
    """The run is that of a session at once, and nothing in it was sent or recorded twice."""
    assert server.batches.creates == batches
    lines = calls("run")
    assert len({line["id"] for line in lines}) == len(lines) == len(batched(server))
    assert {line["reply"]["tier"] for line in lines} == {"batch"}
    assert list(Path("run/batches").iterdir()) == []
    assert server.batches.files == {}
    args = arguments(server, "openai", *more)
    at_once = [arg for arg in args if arg not in ("--tier", "batch")]
    at_once[at_once.index("run")] = "at-once"
    if not Path("at-once").exists():
        assert call(*at_once).code == 0
    assert told(Path("run")) == told(Path("at-once"))


def points(now: list[str], at_length: list[str]) -> list[Any]:
    return [*now, *(pytest.param(point, marks=pytest.mark.slow) for point in at_length)]


FIRST = points(
    ["spool:3", "before:uploaded", "before:created", "writing:4"],
    [
        "before:sealed",
        "after:sealed",
        "after:uploaded",
        "before:creating",
        "after:created",
        "writing:2",
    ],
)
"""Where a first session dies."""
LATER = points(
    ["line:2", "after:fetched", "call:3", "after:drained"],
    [
        "before:ended",
        "after:ended",
        "before:created",
        "before:fetched",
        "call:1",
        "before:drained",
        "spool:2",
    ],
)
"""Where one dies that fetches round 1 and sends round 2."""


@pytest.mark.parametrize("point", FIRST)
def test_a_first_session_may_die_anywhere(point: str, server: WireServer) -> None:
    args = arguments(server)
    killed(point, *args)
    to_the_end(args)
    check(server)


@pytest.mark.parametrize("point", LATER)
def test_a_session_that_fetches_may_die_anywhere(point: str, server: WireServer) -> None:
    args = arguments(server)
    assert call(*args).code == WAITING
    killed(point, *args)
    to_the_end(args)
    check(server)


@pytest.mark.parametrize("point", points(["spool:3", "call:6"], ["after:fetched", "after:drained"]))
def test_equal_calls_are_sent_once_wherever_a_session_dies(point: str, server: WireServer) -> None:
    several = ("--split", "test", "--limit", "3", "--history", "none")
    args = arguments(server, "openai", *several)
    if not point.startswith("spool"):
        assert call(*args).code == WAITING
    killed(point, *args)
    to_the_end(args)
    lines, sent = calls("run"), batched(server)
    assert len(sent) == len({json.dumps(ask.messages) for ask in sent})
    assert len(sent) == len({line["request"] for line in lines}) < len(lines)
    assert len([line for line in lines if not line.get("from_cache")]) == len(sent)
    assert len({line["id"] for line in lines}) == len(lines)


@pytest.mark.parametrize(
    "point",
    points(
        ["spool:9"],
        [
            *("before:sealed", "before:created", "after:created", "line:4", "after:fetched"),
            *("before:fetched", "call:1", "call:10", "before:drained", "after:drained", "spool:20"),
        ],
    ),
)
def test_votes_come_to_the_same_wherever_a_session_dies(point: str, server: WireServer) -> None:
    votes = ("--samples", "3", "--temperature", "0.9")
    args = arguments(server, "openai", *votes)
    if not point.endswith(("sealed", "created", ":9")):
        assert call(*args).code == WAITING
    killed(point, *args)
    to_the_end(args)
    check(server, *votes)


@pytest.mark.parametrize("provider", ["anthropic", "google"])
@pytest.mark.parametrize(
    "point", points(["before:created", "line:2"], ["before:uploaded", "call:2"])
)
def test_the_other_providers_batches_are_found_again_too(
    provider: Provider, point: str, server: WireServer
) -> None:
    args = arguments(server, provider)
    if point.startswith(("line", "call")):
        assert call(*args).code == WAITING
    killed(point, *args)
    to_the_end(args)
    assert server.batches.creates == 2
    lines = calls("run")
    assert len({line["id"] for line in lines}) == len(lines) == len(batched(server))


def test_what_was_announced_and_not_sent_is_only_searched_for_at_first(
    server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = arguments(server)
    killed("after:creating", *args)
    for _ in range(2):
        assert call(*args).code == WAITING
    assert server.batches.creates == 0
    monkeypatch.setattr(remote, "GRACE_S", 0.0)
    to_the_end(args)
    check(server)


def test_a_listing_that_lags_behind_makes_no_second_batch(server: WireServer) -> None:
    args = arguments(server)
    server.batches.switches.hide = 4
    killed("before:created", *args)
    to_the_end(args)
    check(server)


@pytest.mark.parametrize("provider", ["openai", "anthropic", "google"])
def test_an_answer_that_was_lost_makes_no_second_batch(
    provider: Provider, server: WireServer
) -> None:
    server.batches.switches.lose_created = 1
    args = arguments(server, provider)
    assert call(*args).code == WAITING
    to_the_end(args)
    assert server.batches.creates == 2
    assert len(calls("run")) == len(batched(server))


def test_a_batch_of_somebody_else_is_left_as_it_is(
    server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = arguments(server, "anthropic")
    killed("after:creating", *args)
    total = BatchLog.read(Path("run")).packs[1].requests
    body = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "Hello"}]}
    lines = [(f"theirs-{number}", body) for number in range(total)]
    theirs = server.batches.begin("anthropic", "", "", lines)
    monkeypatch.setattr(remote, "GRACE_S", 0.0)
    said = ""
    for _ in range(6):
        done = call(*args)
        said += done.err
        if done.code == 0:
            break
    assert done.code == 0, said
    assert "is not of this run, and is left as it is" in said
    assert theirs.id in server.batches.batches, "its results are not ours to delete"
    assert server.batches.creates == 1 + 2
    assert len(calls("run")) == len(batched(server)) - total


def test_results_that_the_provider_deleted_are_told_and_asked_again(server: WireServer) -> None:
    args = arguments(server)
    assert call(*args).code == WAITING
    server.batches.switches.gone = True
    told_of = call(*args)
    assert "may have cost" in told_of.err
    assert "Traceback" not in told_of.err
    server.batches.switches.gone = False
    to_the_end(args)
    assert server.batches.creates == 3


def test_a_torn_download_is_fetched_again(server: WireServer) -> None:
    args = arguments(server)
    assert call(*args).code == WAITING
    server.batches.switches.tear = 1
    to_the_end(args)
    check(server)


def test_a_full_disk_sends_nothing(server: WireServer, monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.batches import log

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    args = arguments(server)
    with monkeypatch.context() as patched:
        patched.setattr(log, "sync_folder", full)
        done = call(*args)
    assert done.code not in (0, WAITING)
    assert "no space left" in done.err.lower()
    assert "Traceback" not in done.err
    assert server.batches.uploads == 0
    to_the_end(args)
    check(server)


def test_a_second_process_is_told_and_touches_nothing(server: WireServer) -> None:
    args = arguments(server)
    server.batches.switches.polls = 10**9
    process = start(*args, "--wait")
    try:
        for line in process.stderr:
            if "batch" in line and "answered" in line:
                break
        before = Path("run/batches.jsonl").read_bytes()
        second = call(*args)
        assert second.code == 2
        assert "another" in second.err or "in use" in second.err
        cancelled = call("batches", "run", "--cancel")
        assert cancelled.code == 2
        assert Path("run/batches.jsonl").read_bytes() == before
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    finally:
        process.kill()
        process.wait()
    # Nothing was cancelled at the provider.
    [batch] = server.batches.batches.values()
    assert not batch.cancelled
    server.batches.switches.polls = 1
    to_the_end(args)
    check(server)


def test_cancelling_collects_and_the_run_goes_on_at_once(server: WireServer) -> None:
    args = arguments(server)
    server.batches.switches.polls = 10**9
    assert call(*args).code == WAITING
    server.batches.switches.polls = 2
    done = call("batches", "run", "--cancel")
    assert "Traceback" not in done.err
    [batch] = server.batches.batches.values()
    assert batch.cancelled, done.err
    at_once = [arg for arg in args if arg not in ("--tier", "batch")]
    assert call(*at_once).code == 0
    assert server.batches.creates == 1


def test_cancelling_asks_the_provider_for_nothing_that_was_not_sent(server: WireServer) -> None:
    killed("after:sealed", *arguments(server))
    cancelled = call("batches", "run", "--cancel")
    assert cancelled.code == 0, cancelled.err
    assert not [path for path in server.batches.calls if "cancel" in str(path)]
    to_the_end(arguments(server))


def test_cancelling_says_that_a_batch_is_not_found_yet(server: WireServer) -> None:
    killed("after:creating", *arguments(server))
    server.batches.switches.hide = 10
    done = call("batches", "run", "--cancel")
    assert done.code == 2
    assert "is not found yet; give the same command again later" in done.err


def test_cancelling_where_nobody_answers_is_one_line_and_may_be_repeated(
    server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.batches.remote.FIRST_WAIT_S", 0.001)
    assert call(*arguments(server)).code == WAITING
    server.batches.switches.down = True
    refused = call("batches", "run", "--cancel")
    assert (refused.code, len(refused.err.splitlines())) == (2, 1), refused.err
    assert "give the same command again later" in refused.err
    server.batches.switches.down = False
    assert call("batches", "run", "--cancel").code in (0, WAITING)
    to_the_end(arguments(server))


def test_events_hold_no_key_and_are_readable(server: WireServer) -> None:
    args = arguments(server)
    to_the_end(args)
    text = Path("run/batches.jsonl").read_text()
    assert "sk-0123456789" not in text
    events = [json.loads(line)["event"] for line in text.splitlines()]
    one = ["sealed", "uploaded", "creating", "created", "ended", "fetched"]
    assert [event for event in events if event != "drained"] == [*one, *one]
