"""The process that is killed: a dialogue with calls of every kind, each to a server of its own.

python child_roles.py RUN MAIN PLANNER EMBEDDER ENVIRONMENT   where the last four are addresses
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from adapters.conversation import Usage
from adapters.embedding import Embedded
from harness.dialogue import Observation
from harness.engine import Engine, Job, Lane
from harness.pictures import PictureStore
from harness.runs import RunDirectory, Setup
from parsers.mind2web import MIND2WEB

# Behind what is installed, which is what is tested.
sys.path.append(str(Path(__file__).resolve().parents[3]))

from tests.harness.engine.child import Chat, complete, step_record
from tests.harness.engine.roles import Texts, every_kind, opens, priced, vector_of

PRICES = {"": 0.5, "planner": 0.25, "embedding": 0.002}


class ServedTexts(Texts):
    """An embedder whose server does no more than to count."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url

    async def embed(self, texts: Sequence[str]) -> Embedded:
        data = await complete(self._url, [{"role": "text", "content": text} for text in texts])
        usage = Usage(data["usage"]["prompt_tokens"])
        return Embedded(tuple(map(vector_of, texts)), usage, data["model"])


class ServedRoom:
    """An environment whose server does no more than to count."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def act(self, action: Any) -> Observation:
        data = await complete(self._url, [{"role": "action", "content": json.dumps(action)}])
        return Observation({"seen": data["id"]}, {"shot": b"png"})

    async def close(self) -> None:
        return None


async def drive(run: RunDirectory, main: str, planner: str, embedder: str, room: str) -> None:
    roles = {
        "planner": Lane(Chat(planner, 2), pricing=priced(PRICES["planner"])),
        "embedding": Lane(ServedTexts(embedder), pricing=priced(PRICES["embedding"])),
    }
    engine = Engine(
        Lane(Chat(main, 2), pricing=priced(PRICES[""])),
        PictureStore(),
        run,
        roles=roles,
        shared=run.shared,
    )
    job = Job(
        "s0",
        every_kind("s0"),
        recorded=run.recorded.get(("s0", 0), {}),
        environment=opens(ServedRoom(room)),
    )
    await engine.run(
        [] if run.settled else [job],
        lambda outcome: run.append_step(
            replace(step_record(outcome), trial=outcome.trial, roles=outcome.roles)
        ),
    )


def main(path: str, *urls: str) -> None:
    with RunDirectory.start(Path(path), Setup(declaration=MIND2WEB, config={})) as run:
        asyncio.run(drive(run, *urls))


if __name__ == "__main__":
    main(*sys.argv[1:])
