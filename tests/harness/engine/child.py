"""The process that is killed: two-round dialogues against a chat server, into a run directory.

python child.py RUN URL STEPS CONCURRENCY
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from adapters.contract import AdapterInfo, Fault, PictureSource, Request
from adapters.conversation import Conversation, Reply, Usage, system, user
from harness.dialogue import Ask, Dialogue
from harness.engine import Engine, Job, Lane, Outcome
from harness.pictures import PictureStore
from harness.runs import RunDirectory, Setup, StepUnit
from parsers.mind2web import MIND2WEB
from parsers.records import Gold, Prediction, Status

# Behind what is installed, which is what is tested.
sys.path.append(str(Path(__file__).resolve().parents[3]))

from tests.units import step_of, step_scores


async def complete(url: str, messages: Sequence[dict[str, str]]) -> dict[str, Any]:
    """The completion that the server gives."""
    address = urlsplit(url)
    body = json.dumps({"messages": messages}).encode()
    head = (
        f"POST {address.path}/chat/completions HTTP/1.1\r\nhost: {address.hostname}\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    try:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(head.encode() + body)
        answer = await reader.read()
        writer.close()
    except OSError as error:
        raise Fault("connection", str(error)) from error
    completion: dict[str, Any] = json.loads(answer.partition(b"\r\n\r\n")[2])
    return completion


class Chat:
    """As little of a chat client as will do."""

    def __init__(self, url: str, concurrency: int) -> None:
        self._url = url
        self._info = AdapterInfo("chat", "counted", "chat", endpoint=None, concurrency=concurrency)

    @property
    def info(self) -> AdapterInfo:
        return self._info

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        messages = [{"role": m.role, "content": m.text} for m in request.conversation.messages]
        data = await complete(self._url, messages)
        text = data["choices"][0]["message"]["content"]
        usage = Usage(input=data["usage"]["prompt_tokens"])
        return Reply(text, model=data["model"], usage=usage, request_id=data["id"], latency_s=0.03)

    def notices(self) -> list[str]:
        return []

    async def close(self) -> None:
        return None


def two_rounds(number: int) -> Callable[[], Dialogue]:
    def dialogue() -> Dialogue:
        conversation = Conversation((system("You operate websites."), user(f"Step {number}?")))
        reply = yield Ask(conversation, "round-1", continues=True)
        assert isinstance(reply, Reply)
        reply = yield Ask(conversation.then(reply, user("Which one?")), "round-2")
        assert isinstance(reply, Reply)
        return Prediction.of(Status.ANSWERED, letter=reply.text[9])

    return dialogue


def step_record(outcome: Outcome) -> StepUnit:
    """A line with what the outcome says; the rest stands for the rest."""
    right = bool(outcome.prediction and outcome.prediction.letter == "A")
    return step_of(
        unit_id=outcome.unit_id,
        repeat=outcome.repeat,
        task_id=f"t{int(outcome.unit_id[1:]) // 5}",
        action_uid=outcome.unit_id,
        index=int(outcome.unit_id[1:]) % 5,
        total_steps=5,
        benchmark="test",
        split="test",
        website="w",
        domain="d",
        subdomain="s",
        task="Do it.",
        history=(),
        invalid=None,
        asked=True,
        settled=outcome.settled,
        error=outcome.error,
        source="here",
        html_digest="",
        screenshot_digest=None,
        page_size=None,
        pictures=(),
        positives=1,
        negatives=3,
        gold=Gold("CLICK", "", ("1",), (None,), "1"),
        choices=(),
        none_letter=None,
        same_text=0,
        related=0,
        short=False,
        prompt_tokens=None,
        calls=outcome.calls,
        prediction=outcome.prediction,
        scores=step_scores(right, {"mind2web": float(right)}, right, right),
        usage=outcome.usage,
        cost=outcome.cost,
    )


async def drive(run: RunDirectory, url: str, steps: int, concurrency: int) -> None:
    engine = Engine(Lane(Chat(url, concurrency)), PictureStore(), run)
    jobs = (
        Job(f"s{n}", two_rounds(n), recorded=run.recorded.get((f"s{n}", 0), {}))
        for n in range(steps)
        if (f"s{n}", 0) not in run.settled
    )
    await engine.run(jobs, lambda outcome: run.append_step(step_record(outcome)))


def main(path: str, url: str, steps: str, concurrency: str) -> None:
    with RunDirectory.start(
        Path(path), Setup(declaration=MIND2WEB, config={"steps": int(steps)})
    ) as run:
        asyncio.run(drive(run, url, int(steps), int(concurrency)))
        run.finish({"steps": int(steps)}, complete=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
