"""Any model of a cluster, in files: requests are written in lines, and `vllm run-batch` answers
them.

The model's name says as much as for one behind a server (`adapters.chat_completions`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adapters.api import hosted
from adapters.catalog import BATCHES
from adapters.chat_completions import ServedModel, on_record, served
from adapters.contract import Adapter, Fatal, PictureSource, Request
from adapters.conversation import Reply
from adapters.endpoints import Endpoint, need_model
from adapters.options import Count
from adapters.thinking import thinking_of


def file(
    model: str,
    *,
    detail: str | None = None,
    family: str | None = None,
    min_pixels: Count | None = None,
    max_pixels: Count | None = None,
    extra_body: Mapping[str, object] | None = None,
) -> Adapter:
    """Return a model that answers requests in files; `model` is what `vllm run-batch --model` is
    given.

    The options are those of your own server (`adapters.openai:openai`). Raises `Fatal` as
    `served`.
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
    return FileAdapter(info, endpoint, timeout_s=120.0, detail=detail, extra_body=extra_body)


class FileAdapter(ServedModel):
    """A model that is asked in files only."""

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        raise Fatal(f"{self._info.name} is asked in files: add --tier batch")

    def deferring(self, folder: Path) -> Any:
        return BATCHES.make("file", adapter=self, folder=folder)
