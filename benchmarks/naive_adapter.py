"""Two rounds as a script would ask them: prepare, `generate`, decode, one call after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import torch

from adapters import AdapterInfo
from adapters.contract import Fault, PictureSource, Request
from adapters.conversation import Reply
from adapters.local.batching import BatchAdapter, BatchRules
from adapters.local.contract import Encoded, Loaded
from adapters.local.padding import pad
from adapters.local.prepared import Prepared


class Naive(BatchAdapter):
    """transformers' own `generate` with its own cache, which ends with the call. `tokens` counts
    what was generated."""

    def __init__(self, info: AdapterInfo, loaded: Loaded) -> None:
        super().__init__(info, BatchRules(1, kept=1))
        self._loaded = loaded
        self._prepared = Prepared(loaded.family, 1, 2**30)
        self.tokens = 0

    async def _one(self, request: Request, pictures: PictureSource) -> Reply:
        encoded = await self._prepared.take(request, pictures)
        ids = await asyncio.to_thread(self._generated, encoded, request.generation.max_tokens)
        self.tokens += len(ids)
        text = self._loaded.family.decode(ids)
        return Reply(text, native={"ids": ids, "text": text})

    async def ask_many(
        self, requests: Sequence[Request], pictures: PictureSource
    ) -> list[Reply | Fault]:
        return [await self._one(request, pictures) for request in requests]

    async def prepare(self, request: Request, pictures: PictureSource) -> int:
        return 1

    async def release(self, unit_id: str) -> None:
        self._prepared.release(unit_id)

    def notices(self) -> list[str]:
        return []

    async def close(self) -> None:
        self._prepared.close()

    def _generated(self, encoded: Encoded, limit: int) -> list[int]:
        from transformers import GenerationConfig

        family, model = self._loaded.family, self._loaded.model
        padded = pad([encoded], family.pad_id, self._loaded.device)
        inputs = {
            "input_ids": padded.ids,
            "attention_mask": padded.mask,
            **family.inputs(model, padded),
        }
        settings = GenerationConfig(
            max_new_tokens=limit, do_sample=False, pad_token_id=family.pad_id
        )
        model.generation_config = GenerationConfig()
        with torch.inference_mode():
            written = model.generate(
                **{name: self._placed(value) for name, value in inputs.items()},
                generation_config=settings,
            )
        ids: list[int] = written[0, padded.ids.shape[1] :].tolist()
        return ids

    def _placed(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        own = self._loaded.model.dtype if value.is_floating_point() else value.dtype
        return value.to(self._loaded.device, own)
