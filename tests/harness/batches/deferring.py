"""A model whose provider is played here: it takes batches, and answers them when it is told to."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import harness
from adapters import AdapterInfo, PictureSource, Reply, Request
from adapters.batches.contract import (
    Gone,
    Outcome,
    PackLimits,
    QueueFull,
    RemoteBatch,
    RequestLine,
)
from adapters.contract import Fatal, Fault
from adapters.conversation import Conversation, Finish, Usage
from harness.runs import Run
from tests.harness.commands.tool import steps

SELECTION: dict[str, Any] = {
    "benchmark": "sample",
    "split": "dev",
    "limit": 2,
    "image_policy": "none",
    "progress": "off",
    "cache": False,
    "yes": True,
}

ANSWERS = (
    "ELEMENT: A\nACTION: CLICK\nVALUE: None",
    "ELEMENT: B\nACTION: TYPE\nVALUE: shoes",
    "ELEMENT: C\nACTION: CLICK\nVALUE: None",
)


def answer_to(text: str) -> str:
    """What the model says to a conversation: the same to the same, and different things else."""
    return ANSWERS[int(hashlib.sha256(text.encode()).hexdigest(), 16) % len(ANSWERS)]


def spelled(conversation: Conversation) -> str:
    return "\n".join(f"{m.role}: {m.text}" for m in conversation.messages)


class Provider:
    """What the provider has: batches by id. It outlives sessions.

    result: how a result becomes a line; may change, drop or repeat it.
    refuses_temperature: whether the model takes no temperature, which an adapter learns when it
        asks at once.
    """

    refuses_temperature: bool | None = None

    def __init__(self) -> None:
        self.batches: dict[str, dict[str, Any]] = {}
        self.uploads: dict[str, tuple[str, bytes]] = {}
        self.creates = 0
        self.asked = 0
        self.limits = PackLimits(requests=1000, bytes=10_000_000, open=20)
        self.result: Callable[[dict[str, Any]], list[dict[str, Any]]] = lambda one: [one]
        self.on_create: Callable[[str], None] = lambda token: None
        self.after_create: Callable[[str], None] = lambda token: None
        self.status = "completed"
        self.listed = True
        self.polls = self.answers_at = 0

    def answer(self, *ids: str) -> None:
        """End batches, all that are open unless some are named."""
        for id in ids or tuple(self.batches):
            batch = self.batches[id]
            if batch["ended"]:
                continue
            results = [r for line in batch["lines"] for r in self.result(_result(line))]
            random.Random(id).shuffle(results)
            batch |= {"ended": True, "results": results, "status": self.status}

    @property
    def open(self) -> list[str]:
        return [id for id, batch in self.batches.items() if not batch["ended"]]

    @property
    def requests(self) -> list[dict[str, Any]]:
        return [line for batch in self.batches.values() for line in batch["lines"]]


def _result(line: dict[str, Any]) -> dict[str, Any]:
    return {"id": line["id"], "text": answer_to(line["body"]), "tokens": len(line["body"]) // 4}


class Nightly:
    """The adapter; it can be asked at once, too."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self.info = AdapterInfo(
            name="nightly",
            model="nightly-1",
            provider="mine",
            billed=True,
            tiers=("default", "batch"),
        )
        self.knows_temperature = False
        if provider.refuses_temperature is not None:
            self.info = replace(self.info, greedy=lambda _: not self.knows_temperature)

    @property
    def limits(self) -> PackLimits:
        return self.provider.limits

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        self.provider.asked += 1
        self.knows_temperature = bool(self.provider.refuses_temperature)
        text = spelled(request.conversation)
        return _reply(answer_to(text), len(text) // 4)

    def notices(self) -> list[str]:
        return []

    async def close(self) -> None:
        return None

    def deferring(self) -> Nightly:
        return self

    async def line(self, id: str, request: Request, pictures: PictureSource) -> RequestLine:
        body = {"id": id, "body": spelled(request.conversation), "place": request.place}
        return RequestLine(json.dumps(body).encode(), {"temperature": 0.0})

    def id_of(self, line: bytes) -> str:
        return str(json.loads(line)["id"])

    def read(self, line: bytes, request: Request, sent: Mapping[str, object]) -> Outcome:
        plain = json.loads(line)
        outcome: Reply | Fault | Fatal
        if "fault" in plain:
            outcome = Fault("server", plain["fault"])
        elif "fatal" in plain:
            outcome = Fatal(plain["fatal"])
        else:
            finish = Finish(plain.get("finish", "stop"))
            outcome = replace(_reply(plain["text"], plain["tokens"], finish), tier="batch")
        return outcome

    async def upload(self, token: str, path: Path) -> str:
        for name, (known, _) in self.provider.uploads.items():
            if known == token:
                return name
        name = f"file-{len(self.provider.uploads)}"
        self.provider.uploads[name] = token, path.read_bytes()
        return name

    async def create(self, token: str, path: Path, uploaded: str, total: int) -> RemoteBatch:
        self.provider.on_create(token)
        self.provider.creates += 1
        data = self.provider.uploads[uploaded][1]
        id = f"batch-{len(self.provider.batches)}"
        lines = [json.loads(line) for line in data.splitlines()]
        assert len(lines) == total
        self.provider.batches[id] = {
            "token": token,
            "lines": lines,
            "ended": False,
            "status": "in_progress",
            "results": [],
        }
        self.provider.after_create(token)
        return RemoteBatch(id, "validating", total=total, expires_at=4e9)

    async def find(
        self, token: str, since: float, total: int, known: Collection[str]
    ) -> RemoteBatch | None:
        for id, batch in self.provider.batches.items():
            if batch["token"] == token and self.provider.listed:
                return RemoteBatch(id, batch["status"], total=total)
        return None

    async def poll(self, id: str) -> RemoteBatch:
        if id not in self.provider.batches:
            raise Gone("server", "the batch is not known any more")
        self.provider.polls += 1
        if self.provider.polls == self.provider.answers_at:
            self.provider.answers_at += 3
            self.provider.answer()
        batch = self.provider.batches[id]
        error = batch.get("error", "")
        total, answered = len(batch["lines"]), len(batch["results"])
        full = batch.get("full", False)
        return RemoteBatch(
            id, batch["status"], batch["ended"], total, answered, error=error, full=full
        )

    async def fetch(self, batch: RemoteBatch) -> AsyncIterator[bytes]:
        for result in self.provider.batches[batch.id]["results"]:
            yield json.dumps(result).encode()

    async def cancel(self, id: str) -> None:
        self.provider.batches[id] |= {"ended": True, "status": "cancelled"}

    async def clean(self, batch: RemoteBatch, uploaded: str) -> None:
        self.provider.uploads.pop(uploaded, None)


def _reply(text: str, tokens: int, finish: Finish = Finish.STOP) -> Reply:
    usage = Usage(input=tokens, output=10)
    return Reply(text, finish, usage, model="nightly-1", sent={"temperature": 0.0})


def refuses(times: int, kind: str = "full") -> Callable[[str], None]:
    """Let creation fail so often."""
    left = [times]

    def on_create(token: str) -> None:
        if left[0]:
            left[0] -= 1
            raise QueueFull("rate_limit", "the queue is full")

    return on_create


def told(run: Path) -> list[dict[str, Any]]:
    """The lines of steps without what batches may change: costs and tiers."""
    kept = []
    for line in steps(run):
        kept.append({k: v for k, v in line.items() if k not in ("cost", "tiers", "checksum")})
    return sorted(kept, key=lambda line: (line["unit_id"], line["repeat"]))


def session(provider: Provider, out: str = "run", **more: Any) -> Run:
    """One session of a run in batches, in a folder of its own."""
    Path("prices.toml").write_text("[nightly]\ninput = 1.0\noutput = 1.0\n")
    settings = {**SELECTION, "prices": "prices.toml", "tier": "batch", "out": out, **more}
    return harness.evaluate(Nightly(provider), **settings)


def to_the_end(provider: Provider, out: str = "run", most: int = 20, **more: Any) -> Run:
    """Sessions until the run is complete; in between, the provider answers what it has."""
    for _ in range(most):
        run = session(provider, out, **more)
        if run.complete:
            return run
        provider.answer()
    raise AssertionError(f"not complete after {most} sessions")
