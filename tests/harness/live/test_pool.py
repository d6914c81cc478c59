"""Worlds in worker processes: lent, held to limits, replaced."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from typing import Any

import pytest

from adapters.contract import Fatal, Fault
from harness.dialogue import Observation
from harness.errors import UserError
from harness.live.contract import Seen, World
from harness.live.pool import TimeLimits, Worlds
from parsers.actions import Action

ENTRY = f"{__name__}:Counter"


class Counter(World):
    """Counts what it is told, and fails in every way on demand."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        if "wrong" in options:
            raise UserError(options["wrong"])
        self.count = 0

    def begin(self, episode: Mapping[str, Any]) -> Observation:
        self.count = episode["from"]
        return self._seen()

    def act(self, action: Action) -> Observation:
        match action.name:
            case "HANG":
                while True:
                    pass
            case "RAISE":
                raise ValueError("broken\x1b[2J\nsecond line")
            case "DIE":
                os.kill(os.getpid(), signal.SIGKILL)
            case "CLICK":
                self.count += 1
        return self._seen()

    def _seen(self) -> Observation:
        return Seen(title=str(self.count), goal=str(os.getpid())).observation(b"picture")


def worlds(count: int = 1, limits: TimeLimits | None = None, **options: Any) -> Worlds:
    return Worlds(ENTRY, options, count=count, limits=limits or TimeLimits())


def test_episodes_follow_each_other_in_one_worker() -> None:
    async def play() -> list[Seen]:
        ours, seen = worlds(), []
        for start in (5, 0):
            environment = await ours.open({"from": start})
            seen.append(await environment.act(None))
            seen.append(await environment.act({"name": "CLICK", "element": "4"}))
            await environment.close()
        await ours.close()
        assert seen[0].blobs == {"screenshot": b"picture"}
        return [Seen.from_plain(one.content) for one in seen]

    found = asyncio.run(play())
    assert [one.title for one in found] == ["5", "6", "0", "1"]
    assert len({one.goal for one in found}) == 1


def test_whoever_finds_no_worker_free_waits() -> None:
    async def play() -> None:
        ours = worlds()
        first = await ours.open({"from": 0})
        await first.act(None)
        second = asyncio.create_task(ours.open({"from": 3}))
        await asyncio.sleep(0)
        assert not second.done()
        await first.close()
        await first.close()
        assert (await (await second).act(None)).content["title"] == "3"
        await ours.close()

    asyncio.run(play())


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("HANG", "timeout", "no step within 0.5 s"),
        ("RAISE", "connection", "the environment failed: ValueError: broken\ufffd[2J"),
        ("DIE", "connection", "the environment ended: killed by signal 9"),
    ],
)
def test_a_failed_worker_is_replaced(name: str, kind: str, words: str) -> None:
    async def play() -> None:
        ours = worlds(limits=TimeLimits(step_s=0.5))
        environment = await ours.open({"from": 1})
        await environment.act(None)
        (before,) = ours.pids
        with pytest.raises(Fault) as failed:
            await environment.act({"name": name})
        assert failed.value.kind == kind
        assert str(failed.value).startswith(words) and "\n" not in str(failed.value)
        await environment.close()
        again = await ours.open({"from": 8})
        assert (await again.act(None)).content["title"] == "8"
        assert before not in ours.pids
        await ours.close()

    asyncio.run(play())


def test_an_episode_has_a_limit_of_its_own() -> None:
    async def play() -> None:
        ours = worlds(limits=TimeLimits(step_s=60, episode_s=0.5))
        environment = await ours.open({"from": 1})
        await environment.act(None)
        with pytest.raises(Fault, match=r"within 0\.[0-9]+ s"):
            await environment.act({"name": "HANG"})
        await ours.close()

    asyncio.run(play())


def test_an_act_that_is_cancelled_leaves_no_worker_in_the_middle_of_it() -> None:
    async def play() -> None:
        ours = worlds()
        environment = await ours.open({"from": 1})
        await environment.act(None)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await environment.act({"name": "HANG"})
        await environment.close()
        again = await ours.open({"from": 2})
        assert (await again.act(None)).content["title"] == "2"
        await ours.close()

    asyncio.run(play())


def test_what_the_user_has_to_mend_ends_everything() -> None:
    async def play() -> None:
        ours = worlds(wrong="there is no browser")
        environment = await ours.open({"from": 1})
        with pytest.raises(Fatal, match=r"^there is no browser$"):
            await environment.act(None)
        await ours.close()

    asyncio.run(play())


def test_closing_ends_a_worker_that_hangs() -> None:
    async def play() -> None:
        ours = worlds()
        environment = await ours.open({"from": 1})
        await environment.act(None)
        hanging = asyncio.create_task(environment.act({"name": "HANG"}))
        await asyncio.sleep(0.2)
        await ours.close()
        with pytest.raises(Fault):
            await hanging
        assert ours.pids == ()

    asyncio.run(play())
