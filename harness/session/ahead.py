"""Questions before they are needed, prepared in a thread."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor

from harness.kinds.contract import Question

AHEAD = 8
"""Questions prepared ahead of need: enough to hide one slow page."""


async def ahead(questions: Iterator[Question]) -> AsyncGenerator[Question, None]:
    """Yield questions in order, a few of them prepared ahead of need.

    Raises `UserError` when the turn of a unit comes that cannot be asked about.
    """
    loop = asyncio.get_running_loop()
    thread = ThreadPoolExecutor(1, "questions")
    waiting: deque[asyncio.Future[Question | None]] = deque()
    try:
        for _ in range(AHEAD):
            waiting.append(loop.run_in_executor(thread, next, questions, None))
        while (question := await waiting.popleft()) is not None:
            waiting.append(loop.run_in_executor(thread, next, questions, None))
            yield question
    finally:
        for future in waiting:
            future.cancel()
        thread.shutdown(wait=True, cancel_futures=True)
