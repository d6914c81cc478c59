"""Share of time that a GPU spent computing: the union of its kernels' intervals, of all streams."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class KernelTime:
    """Seconds watched, and their share with at least one kernel running."""

    seconds: float
    share: float


def union(intervals: Iterable[Interval]) -> int:
    """The length that intervals cover together.

    >>> union([(0, 5), (3, 8), (10, 11), (4, 6)])
    9
    """
    covered, end = 0, None
    for start, stop in sorted(intervals):
        begin = start if end is None else max(start, end)
        covered += max(0, stop - begin)
        end = stop if end is None else max(end, stop)
    return covered


def kernels(profile: Any) -> list[Interval]:
    """Begin and end in nanoseconds of everything that ran on a GPU in a finished profile."""
    return [
        (event.start_ns(), event.start_ns() + event.duration_ns())
        for event in profile.profiler.kineto_results.events()
        if event.device_type().name == "CUDA"
    ]


async def watched(
    work: Awaitable[Any], steady: Callable[[], bool], seconds: float, what: str = "CUDA"
) -> KernelTime | None:
    """Carry out `work`, watching the GPU for `seconds` from when it is `steady`.

    `what` is torch's name of the activity that is recorded.
    None when the work was over before: what was seen then says nothing.
    """
    from torch.profiler import ProfilerActivity, profile

    task = asyncio.ensure_future(work)
    while not steady() and not task.done():
        await asyncio.sleep(0.05)
    loop = asyncio.get_running_loop()
    watching = profile(activities=[getattr(ProfilerActivity, what)])
    watching.start()
    begun = loop.time()
    await asyncio.wait([task], timeout=seconds)
    past = loop.time() - begun
    watching.stop()
    early = task.done()
    await task
    if early or not past:
        return None
    return KernelTime(past, union(kernels(watching)) / 1e9 / past)
