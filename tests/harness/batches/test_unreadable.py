"""Batches that cannot be read, as a whole or in part: paid for, reported, never in the way."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.batches import remote
from harness.batches.log import BatchLog
from harness.runs import open_run
from harness.runs.on_record import unrecorded_at
from tests.adapters.support import MODELS, PROVIDERS
from tests.harness.commands.tool import ONE_TASK, TEXT_ONLY, Called, call, calls, replying
from tests.servers import Ask, Provider, WireServer

WAITING = 3
every = pytest.mark.parametrize("provider", PROVIDERS)
Json = dict[str, Any]


@pytest.fixture(autouse=True)
def quick(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC", "GOOGLE"):
        monkeypatch.setenv(f"{name}_API_KEY", "sk-0123456789")
    monkeypatch.setattr(remote, "FIRST_WAIT_S", 0.0)


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer(replying()) as server:
        yield server


def run(server: WireServer, provider: Provider, *more: str) -> Called:
    """One session of a run whose calls cost money."""
    names = {name.partition(":")[2] for name in MODELS.values()}
    Path("prices.toml").write_text("".join(f'["{n}"]\ninput=10\noutput=10\n' for n in names))
    model = ("--model", MODELS[provider], "--base-url", server.base_url(provider))
    rest = ("--progress", "off", "--no-cache", "--details", "--yes")
    to = ("--out", "run", "--prices", "prices.toml")
    return call(*model, *ONE_TASK, *TEXT_ONLY, *rest, *to, *more)


def in_batch(server: WireServer, provider: Provider, *more: str) -> Called:
    return run(server, provider, "--tier", "batch", *more)


def to_the_end(server: WireServer, provider: Provider, most: int = 10) -> Called:
    for _ in range(most):
        done = in_batch(server, provider)
        assert "Traceback" not in done.err
        if done.code != WAITING:
            return done
    raise AssertionError(f"not complete after {most} sessions: {done.err}")


def bounds() -> float:
    """US dollars that the requests that came to nothing may have cost."""
    return unrecorded_at(Path("run"))


def batched(server: WireServer) -> list[Ask]:
    return [ask for ask in server.asks if ask not in server.asked_at_once]


def without_answer(row: Json) -> bytes:
    for name in ("response", "result"):
        if name in row:
            row[name] = {"status_code": 200, "type": "succeeded", "body": {}, "message": {}}
    return json.dumps(row).encode()


def with_usage(value: object) -> Callable[[Json], bytes]:
    def spoil(row: Json) -> bytes:
        text = json.dumps(row)
        counts = "prompt_tokens|input_tokens|promptTokenCount"
        return re.sub(f'("(?:{counts})": )[0-9]+', rf"\g<1>{json.dumps(value)}", text).encode()

    return spoil


def not_utf8(row: Json) -> bytes:
    return json.dumps(row).encode().replace(b"would click", b"would \xff click")


def nothing_said(row: Json) -> bytes:
    return json.dumps({name: row[name] for name in ("custom_id", "key") if name in row}).encode()


def first_line(spoil: Callable[[Json], bytes]) -> Callable[[bytes], bytes]:
    def download(data: bytes) -> bytes:
        first, rest = data.split(b"\n", 1)
        return spoil(json.loads(first)) + b"\n" + rest

    return download


UNREADABLE = {
    "no answer": without_answer,
    "not UTF-8": not_utf8,
    "nothing": nothing_said,
}


@pytest.mark.parametrize(
    ("provider", "spoil"),
    [
        *(("openai", spoil) for spoil in UNREADABLE),
        *((provider, "no answer") for provider in ("anthropic", "google")),
    ],
)
def test_an_answer_that_cannot_be_read_counts_at_its_bound(
    provider: Provider, spoil: str, server: WireServer
) -> None:
    assert in_batch(server, provider).code == WAITING
    [pack] = BatchLog.read(Path("run")).packs.values()
    uppers = [one.upper for one in BatchLog.read(Path("run")).calls(pack.n)]
    server.batches.switches.spoil = first_line(UNREADABLE[spoil])
    done = in_batch(server, provider)
    assert min(uppers) <= bounds() <= max(uppers)
    server.batches.switches.spoil = None
    done = to_the_end(server, provider)
    assert done.code == 0, done.err
    assert len(batched(server)) == len(calls("run")) + 1
    unrecorded = open_run(Path("run")).manifest.unrecorded
    assert unrecorded >= bounds() > 0
    spent = sum(line["cost"] for line in calls("run")) + unrecorded
    assert (
        f"cost: ${spent:.4f} billed in this run, at most ${unrecorded:.4f}"
        in call("score", "run").out
    )


@every
@pytest.mark.parametrize("count", ["many", float("nan"), 10**30, -1])
def test_a_reply_whose_tokens_cannot_be_known_is_taken_and_counts_at_its_bound(
    provider: Provider, count: object, server: WireServer
) -> None:
    assert in_batch(server, provider).code == WAITING
    [pack] = BatchLog.read(Path("run")).packs.values()
    uppers = [one.upper for one in BatchLog.read(Path("run")).calls(pack.n)]
    server.batches.switches.spoil = first_line(with_usage(count))
    in_batch(server, provider)
    server.batches.switches.spoil = None
    assert to_the_end(server, provider).code == 0
    assert len(batched(server)) == len(calls("run")), "nothing is asked for twice"
    # The first call is in it as well.
    assert min(uppers) <= open_run(Path("run")).manifest.unrecorded <= max(uppers) + 0.01


@every
def test_answers_that_can_never_be_read_stay_within_the_limit(
    provider: Provider, server: WireServer
) -> None:
    def spoil(data: bytes) -> bytes:
        return b"".join(without_answer(json.loads(row)) + b"\n" for row in data.splitlines())

    server.batches.switches.spoil = spoil
    limit, most = 0.2 if provider == "openai" else 1.0, 0.0
    for _ in range(12):
        done = in_batch(server, provider, "--max-cost", str(limit))
        log = BatchLog.read(Path("run"))
        most = sum(pack.upper for pack in log.packs.values() if pack.stage != "unsent")
        assert most <= limit, (most, limit)
        if done.code != WAITING:
            break
    assert done.code == 1, (most, done.err)
    assert 0 < bounds() <= most + 1e-9
    assert open_run(Path("run")).manifest.unrecorded <= limit
    assert "cost limit" in done.err, most


@every
def test_what_the_provider_says_has_failed_costs_nothing(
    provider: Provider, server: WireServer
) -> None:
    server.batches.switches.expire_after = 2
    assert in_batch(server, provider).code == WAITING
    in_batch(server, provider)
    assert bounds() == 0.0
    server.batches.switches.expire_after = None
    assert to_the_end(server, provider).code == 0


@every
def test_results_that_break_off_every_time_are_taken_as_far_as_they_come(
    provider: Provider, server: WireServer
) -> None:
    assert in_batch(server, provider).code == WAITING
    [pack] = BatchLog.read(Path("run")).packs.values()
    server.batches.switches.tear = 4 * remote.UNREAD_LOOKS
    for _ in range(remote.UNREAD_LOOKS - 1):
        assert "looked at again later" in in_batch(server, provider).err
    assert "its whole lines are read" in in_batch(server, provider).err
    assert to_the_end(server, provider).code == 0
    assert len(calls("run")) < len(batched(server)) < len(calls("run")) + pack.requests


@pytest.mark.parametrize(
    ("provider", "field", "ends"),
    [
        *(("openai", "status", way) for way in ("--cancel", "batch", "at once")),
        ("openai", "id", "--cancel"),
        ("openai", "output_file_id", "at once"),
        ("anthropic", "processing_status", "batch"),
        ("anthropic", "results_url", "batch"),
        ("google", "done", "batch"),
        ("google", "response", "--cancel"),
    ],
)
def test_a_batch_with_an_odd_field_holds_nothing_up(
    provider: Provider, field: str, ends: str, server: WireServer
) -> None:
    """Every field is spoilt in tests of the adapters; here, those that decide how a batch ends."""
    assert in_batch(server, provider).code == WAITING
    server.batches.switches.object = lambda batch: {**batch, field: [7]}
    if ends == "--cancel":
        done = call("batches", "run", "--cancel")
        assert done.code in (0, WAITING), done.err
    for _ in range(remote.UNREAD_LOOKS):
        done = in_batch(server, provider) if ends == "batch" else run(server, provider)
        assert "Traceback" not in done.err
        first = BatchLog.read(Path("run")).packs[1]
        if first.stage == "over":
            break
    assert first.stage == "over"
    server.batches.switches.object = None
    server.batches.switches.polls = 0
    assert to_the_end(server, provider).code == 0
    if first.event == "dropped" and ends == "batch":
        assert bounds() == pytest.approx(first.upper)
    else:
        assert bounds() in (0.0, pytest.approx(first.upper))


@every
def test_a_batch_whose_creation_is_answered_in_no_form_counts_and_is_asked_again(
    provider: Provider, server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.batches.switches.object = lambda batch: {**batch, "id": 7, "name": 7}
    assert in_batch(server, provider).code == WAITING
    monkeypatch.setattr("harness.batches.remote.GRACE_S", 0.0)
    done = in_batch(server, provider)
    assert "may have cost up to" in done.err
    upper = BatchLog.read(Path("run")).packs[1].upper
    assert bounds() == pytest.approx(upper) and upper > 0
    server.batches.switches.object = None
    assert to_the_end(server, provider).code == 0


def test_a_batch_long_after_its_end_is_given_up(
    server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.batches.switches.polls = 10**9
    assert in_batch(server, "openai").code == WAITING
    monkeypatch.setattr(remote, "OVERDUE_S", -1e9)
    for _ in range(remote.UNREAD_LOOKS):
        done = in_batch(server, "openai")
    assert "long after it should have ended" in done.err
    assert bounds() > 0
    [first, *_] = server.batches.batches.values()
    assert first.cancelled
