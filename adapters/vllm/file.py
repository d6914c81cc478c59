"""Any model of a cluster, in files: requests are written in lines, and `vllm run-batch` answers
them.

The model's name says as much as for one behind a server (`adapters.chat_completions`).

The file of lines stays where it was written, the user has it answered into another file in the same
folder, and that one is read once it is whole. Written against vllm 0.33, November 2026.
"""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator, Collection, Mapping
from pathlib import Path

from adapters.api import ApiAdapter, hosted
from adapters.batches.contract import PackLimits, RemoteBatch
from adapters.batches.openai import ChatLines
from adapters.chat_completions import ServedModel, on_record, served
from adapters.contract import Adapter, Fatal, PictureSource, Request
from adapters.conversation import Reply
from adapters.endpoints import Endpoint, need_model
from adapters.options import Count
from adapters.thinking import thinking_of
from adapters.transport import PADDING

LIMITS = PackLimits(requests=100_000, bytes=4_000_000_000, open=1_000)
REQUESTS, ANSWERS = ".requests.jsonl", ".answers.jsonl"


class FileBatches(ChatLines):
    """Lines in files of a folder. A batch is known by its file's name: the folder may move between
    machines."""

    preflights = False
    limits = LIMITS

    def __init__(self, adapter: ApiAdapter, folder: Path) -> None:
        super().__init__(adapter)
        self._folder = folder

    async def create(self, token: str, path: Path, uploaded: str, total: int) -> RemoteBatch:
        return self._state(path.name)

    async def find(
        self, token: str, since: float, total: int, known: Collection[str]
    ) -> RemoteBatch | None:
        return None

    async def poll(self, id: str) -> RemoteBatch:
        return self._state(id)

    async def fetch(self, batch: RemoteBatch) -> AsyncIterator[bytes]:
        path = self._answers(batch.id)
        if path.exists():
            with path.open("rb") as file:
                for line in file:
                    # Torn lines are of a batch that was given up.
                    if line.endswith(b"\n") and (whole := line.strip(PADDING)):
                        yield whole

    async def cancel(self, id: str) -> None:
        """Stop waiting for further answers."""
        self._requests(id).unlink(missing_ok=True)

    async def clean(self, batch: RemoteBatch, uploaded: str) -> None:
        self._requests(batch.id).unlink(missing_ok=True)
        self._answers(batch.id).unlink(missing_ok=True)

    def told(self, path: Path) -> str | None:
        """Return the command that answers a file."""
        model, answers = self._adapter.info.model, self._answers(path.name)
        words = ["vllm", "run-batch", "-i", path, "-o", answers, "--model", model]
        return shlex.join(str(word) for word in words)

    def _state(self, id: str) -> RemoteBatch:
        requests, answers = self._requests(id), self._answers(id)
        done = _lines(answers)
        if not requests.exists():
            return RemoteBatch(id, "given up", True, done, done, where=(answers.name,))
        total = _lines(requests)
        return RemoteBatch(
            id,
            "answered" if done >= total else "waiting for its answers",
            ended=done >= total,
            total=total,
            answered=min(done, total),
            where=(answers.name,),
        )

    def _requests(self, id: str) -> Path:
        if not id.endswith(REQUESTS) or "/" in id or "\\" in id:
            raise Fatal(f"{id[:80]!r} is not a file of requests")
        return self._folder / id

    def _answers(self, id: str) -> Path:
        return self._requests(id).with_name(id.removesuffix(REQUESTS) + ANSWERS)


def _lines(path: Path) -> int:
    """Count the whole lines of a file; a line in progress has no line break yet."""
    try:
        with path.open("rb") as file:
            return sum(line.endswith(b"\n") and bool(line.strip(PADDING)) for line in file)
    except FileNotFoundError:
        return 0


def file(
    model: str,
    *,
    detail: str | None = None,
    family: str | None = None,
    min_pixels: Count | None = None,
    max_pixels: Count | None = None,
    extra_body: Mapping[str, object] | None = None,
    ends: tuple[str, ...] | None = None,
) -> Adapter:
    """Return a model that answers requests in files; `model` is what `vllm run-batch --model` is
    given.

    Args:
        detail: sent with every picture, if given.
        family: the name of the open model that runs under another name.
        min_pixels: the size to which smaller pictures are enlarged, if not as published.
        max_pixels: the size to which larger pictures are reduced, if not as published.
        extra_body: added to each body unchanged; None as a value removes a parameter.
        ends: further words for the usual end of a reply (`finish_reason`).

    Raises `Fatal` as `served`.
    """
    model = need_model(model, "file:Qwen/Qwen3-VL-8B-Instruct")
    known, recorded = served(model, family=family, least=min_pixels, most=max_pixels)
    endpoint = Endpoint("file", "", None, False, "")
    info = hosted(
        endpoint,
        model,
        settings={**on_record(detail, extra_body), **recorded},
        thinking=thinking_of(model, extra_body),
        image_rule=known.image_rule(),
        coordinates=known.coordinates,
        tiers=("batch",),
    )
    return FileAdapter(
        info, endpoint, timeout_s=120.0, detail=detail, extra_body=extra_body, ends=ends
    )


class FileAdapter(ServedModel):
    """A model that is asked in files only."""

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        raise Fatal(f"{self._info.name} is asked in files: add --tier batch")

    def deferring(self, folder: Path) -> FileBatches:
        return FileBatches(self, folder)
