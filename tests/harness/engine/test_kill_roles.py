"""`kill -9` before and after every call of a dialogue that asks two roles, embeds and acts."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from harness.runs import CallRecord, open_run
from tests.harness.engine.child_roles import PRICES
from tests.harness.engine.counting_server import CountingServer, Messages
from tests.harness.engine.roles import PLACES
from tests.programs import Program

CHILD = Path(__file__).with_name("child_roles.py")
ROLES = ("", "planner", "embedding", "environment")
PATIENCE_S = 60


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, CountingServer]]:
    with ExitStack() as stack:
        yield {role: stack.enter_context(CountingServer()) for role in ROLES}


def start(run: Path, servers: dict[str, CountingServer]) -> Program:
    urls = [server.url for server in servers.values()]
    return Program(CHILD, run, *urls)


def killed_at(run: Path, servers: dict[str, CountingServer], number: int, *, after: bool) -> bool:
    """Start the program and kill it when its call of that number comes in, or is answered.

    Returns False if it was quicker than the kill after its last answer.
    """
    process = start(run, servers)
    left, counting = number, threading.Lock()

    def count(_: Messages | int) -> None:
        nonlocal left
        with counting:  # The servers' threads come at the same time.
            is_next, left = left == 0, left - 1
        if is_next:
            process.send_signal(signal.SIGKILL)

    for server in servers.values():
        if after:
            server.on_answered = count
        else:
            server.on_asked = count
    code = process.wait(PATIENCE_S)
    for server in servers.values():
        server.drain()
        server.on_answered = lambda number: None
        server.on_asked = lambda messages: None
    last = after and number == len(PLACES) - 1
    assert code == -signal.SIGKILL or last, "the process had finished before it was killed"
    return code == -signal.SIGKILL


def asked(servers: dict[str, CountingServer]) -> Counter[str]:
    return Counter({role: server.asked.total() for role, server in servers.items()})


def role_of(record: CallRecord) -> str:
    return "environment" if record.act else record.role


@pytest.mark.skipif(os.name == "nt", reason="there is no kill -9")
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("number", range(len(PLACES)), ids=PLACES)
def test_nothing_is_repeated_within_a_trial_and_the_cost_is_the_bill(
    tmp_path: Path, servers: dict[str, CountingServer], number: int, after: bool
) -> None:
    run, before = tmp_path / "run", asked(servers)
    if not killed_at(run, servers, number, after=after):
        return
    at_kill = asked(servers) - before
    assert at_kill.total() == number + 1
    recorded = list(open_run(run).calls())
    # The call under way may be on record, and all those before it are.
    assert number <= len(recorded) <= number + after
    acted = any(record.act for record in recorded)

    assert start(run, servers).wait(PATIENCE_S) == 0
    resumed = asked(servers) - before - at_kill
    # A new trial asks anew, but the vectors of the same texts are on record.
    assert resumed.total() == len(PLACES) - (1 if acted else len(recorded))

    (unit,) = open_run(run).records()
    calls = list(open_run(run).calls())
    assert calls[: len(recorded)] == recorded
    assert unit.settled and unit.trial == int(acted)
    assert len({record.id for record in calls}) == len(calls)
    last = [record.place for record in calls if record.trial == unit.trial]
    assert sorted(last) == sorted(PLACES)
    assert unit.calls == tuple(f"s0/0/{'trial-1/' if acted else ''}{place}" for place in PLACES)
    # What the servers bill, but for an answer that the kill kept from being recorded.
    lost = at_kill - Counter(map(role_of, recorded))
    bill = asked(servers) - before - lost
    assert Counter(role_of(call) for call in calls if not call.from_cache) == bill
    for role, price in PRICES.items():
        lines = [record.cost for record in calls if role_of(record) == role]
        assert sum(cost or 0.0 for cost in lines) == pytest.approx(price * bill[role])
        assert unit.roles[role].cost == pytest.approx(price * bill[role])
    assert unit.cost == pytest.approx(sum(PRICES[role] * bill[role] for role in PRICES))
