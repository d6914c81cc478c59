"""A look at what other runs have kept, before anything is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterable, Iterable
from typing import TYPE_CHECKING

from adapters.contract import Generation
from harness.dialogue import Act, Replies, Result
from harness.engine.dialogues import Job, KeptReply, OpenDialogue
from parsers.records import Prediction

if TYPE_CHECKING:
    from harness.engine.cache import ReplyCache
    from harness.engine.calls import Calls
    from harness.engine.lanes import AnyLane


async def left_aside(
    jobs: AsyncIterable[Job],
    calls: Calls,
    lanes: Iterable[AnyLane],
    cache: ReplyCache | None,
    generation: Generation,
) -> Counter[str]:
    """Count the calls whose replies other runs have kept and this one may not reuse, by run.

    A dialogue is held with kept replies as far as there are any. Nothing is sent or recorded, and
    nothing is acted in. No dialogue is held if nothing is kept of the models of these `lanes`.
    """
    found: dict[str, str] = {}
    marks = [lane.answerer.mark for lane in lanes if not lane.answerer.reuses]
    if cache is None or not any([mark and await cache.has(mark) for mark in marks]):
        return Counter()
    async for job in jobs:
        dialogue = OpenDialogue(job, -1, job.generation or generation)
        replies: Replies | None = None
        try:
            while not isinstance(turn := dialogue.advance(replies), Prediction):
                results: list[Result] = []
                for call in turn if isinstance(turn, tuple) else (turn,):
                    pending = calls.pending(dialogue, call)
                    kept = None if isinstance(call, Act) else await calls.kept(pending)
                    if kept is None or isinstance(call, Act):
                        continue
                    if isinstance(kept, KeptReply) and not calls.reuses(call):
                        found[pending.id] = kept.run
                    results.append(kept.reply if isinstance(kept, KeptReply) else kept)
                if not isinstance(turn, tuple) and results:
                    replies = results[0]
                elif isinstance(turn, tuple) and len(results) == len(turn):
                    replies = tuple(results)
                else:
                    break
        finally:
            dialogue.close()
    return Counter(found.values())
