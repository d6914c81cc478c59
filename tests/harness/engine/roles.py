"""An embedder, an environment, and a dialogue that asks two roles, embeds and acts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from adapters.contract import Generation
from adapters.conversation import Reply, Usage, user
from adapters.embedding import Embedded, EmbedderInfo, Vector
from harness.dialogue import Act, Ask, Dialogue, Embed, Observation
from harness.engine import Environment, Lane, Pricing
from parsers.records import Prediction, Status
from tests.harness.engine.support import Model, say


def vector_of(text: str) -> Vector:
    """Two numbers that single precision holds exactly."""
    return float(len(text)), 0.5


class Texts:
    """An embedder that bills a token per text."""

    def __init__(self, **info: Any) -> None:
        values = {"name": "texts", "model": "t", "provider": "test", "concurrency": 4}
        self.info = EmbedderInfo(**{**values, **info})
        self.asked: list[tuple[str, ...]] = []
        self.wait: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(0)

    async def embed(self, texts: Sequence[str]) -> Embedded:
        self.asked.append(tuple(texts))
        await self.wait()
        return Embedded(tuple(map(vector_of, texts)), Usage(len(texts)), "t-1", 0.25)

    def notices(self) -> list[str]:
        return []

    async def close(self) -> None:
        return None


class Room:
    """An environment that counts what was done in it."""

    def __init__(self, done: list[str], seconds: float = 0.0) -> None:
        self._done = done
        self._seconds = seconds
        self.closed = False

    async def act(self, action: Any) -> Observation:
        self._done.append(action["name"])
        await asyncio.sleep(self._seconds)
        return Observation({"seen": (action["name"], len(self._done))}, {"shot": b"\x89PNG"})

    async def close(self) -> None:
        self.closed = True


def opens(room: Environment | Callable[[], Environment]) -> Callable[[], Awaitable[Environment]]:
    """What opens an environment, given itself or made anew each time."""

    async def opened() -> Environment:
        return room() if callable(room) else room

    return opened


def priced(dollars: float) -> Pricing:
    """So much per call of a `Model`, or per text."""

    def cost_of(reply: Reply | Embedded) -> float:
        usage = reply.usage or Usage()
        return dollars * (usage.input if usage.input < 10 else 1)

    return Pricing(cost_of, upper_cost=lambda request: dollars * 4)


def lanes(planner: Model, texts: Texts) -> dict[str, Lane]:
    return {
        "planner": Lane(planner, Generation(), priced(0.25)),
        "embedding": Lane(texts, pricing=priced(0.001)),
    }


def every_kind(step_id: str = "a") -> Callable[[], Dialogue]:
    """A plan by one model, a round by the other, texts, an action, and a last round."""

    def dialogue() -> Dialogue:
        plan = yield Ask(say(f"Plan {step_id}"), "plan", role="planner")
        assert isinstance(plan, Reply)
        conversation = say(f"Step {step_id}: {plan.text}")
        first = yield Ask(conversation, "round-1", continues=True)
        assert isinstance(first, Reply)
        embedded = yield Embed((first.text, "another"), "texts")
        assert isinstance(embedded, Embedded)
        seen = yield Act({"name": f"click {embedded.vectors[1]}"}, "act-1")
        assert isinstance(seen, Observation)
        last = yield Ask(conversation.then(first, user(str(seen.content))), "round-2")
        assert isinstance(last, Reply)
        return Prediction.of(Status.ANSWERED, value=last.text)

    return dialogue


PLACES = ("plan", "round-1", "texts", "act-1", "round-2")
