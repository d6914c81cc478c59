"""Local models as an adapter: conversations to batches, batches to ids, ids to replies."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import torch
from PIL import Image

from adapters.contract import AdapterInfo, Fatal, Fault, PictureSource, PixelPicture, Request
from adapters.conversation import Finish, Reply, Usage
from adapters.local.batching import BatchAdapter
from adapters.local.contract import Encoded, Generated, Loaded, Notices, Work, ignored
from adapters.local.generate import DEFAULT_SEED, Generator, samples
from adapters.local.options import model_failed
from adapters.local.self_test import SelfTest, alone_notice

ROWS, CPU_ROWS = 64, 4
"""Rows of a batch on a GPU and on a CPU, which has no memory error to be halved after."""


class LocalAdapter(BatchAdapter[Work]):
    """One model on one device, used by one thread; other threads encode the next calls."""

    def __init__(self, info: AdapterInfo, loaded: Loaded, rows: int) -> None:
        """`info` is the declaration made before loading, `rows` the batch size."""
        super().__init__(info, rows)
        self._family = loaded.family
        self._dtype = loaded.model.dtype
        self._facts = dict(loaded.facts)
        self._generator = Generator(loaded, rows)
        self._encoders = ThreadPoolExecutor(max(1, min(8, (os.cpu_count() or 2) - 1)), "encode")
        self._device = ThreadPoolExecutor(1, f"model-{loaded.device}")
        self._notices = Notices(*loaded.notices)
        if not self._family.together:
            self._notices.say(
                f"{info.name}: one step at a time, since its processor prepares the pictures of a "
                "batch otherwise than those of one step"
            )
        self._closed = False

    async def prepare(self, request: Request, pictures: PictureSource) -> Work:
        """Encode a request. Raises `Fatal` and whatever `pictures` raises."""
        self._check_open()
        conversation = request.conversation
        pixels = await asyncio.gather(*(pictures.pixels(p) for p in conversation.pictures))

        def encode() -> Encoded:
            images = [_image(picture) for picture in pixels]
            return self._family.encode(conversation, images).lean(self._dtype)

        encoded = await asyncio.get_running_loop().run_in_executor(self._encoders, encode)
        generation = request.generation
        self._notices.say(*ignored(self._info.name, generation), *encoded.notices)
        context = self._info.context_tokens
        if context is not None:
            most = min(generation.max_tokens, context - encoded.length)
            request = replace(request, generation=replace(generation, max_tokens=most))
        return Work(request, encoded)

    async def answer(self, batch: Sequence[Work]) -> list[Reply | Fault]:
        """Return one result per call, in order. Raises `Fatal`."""
        self._check_open()
        fitting = [work for work in batch if work.max_tokens > 0]
        loop = asyncio.get_running_loop()
        try:
            made = await loop.run_in_executor(self._device, self._generator.run, fitting)
        except asyncio.CancelledError:
            self._check_open()
            raise
        results = iter(made)
        return [
            self._reply(work, next(results))
            if work.max_tokens > 0
            else Reply("", Finish.TOO_LONG, Usage(), self._info.model)
            for work in batch
        ]

    def measured(self) -> Mapping[str, object]:
        """Return facts about what runs, and its counts."""
        counts = {**self._generator.counts, "peak_bytes": torch.cuda.max_memory_allocated()}
        return {**self._facts, "batch_size": self._generator.rows, "counts": counts}

    def notices(self) -> list[str]:
        return self._notices.take() + self._generator.notices.take()

    async def close(self) -> None:
        """Cancel all calls and free the device."""
        self._closed = True
        self._generator.interrupt()
        for threads in (self._encoders, self._device):
            await asyncio.to_thread(threads.shutdown, cancel_futures=True)
        self._generator.close()

    def _check_open(self) -> None:
        if self._closed:
            raise Fatal(f"{self._info.name} was closed")

    def _reply(self, work: Work, result: Generated | Fault) -> Reply | Fault:
        if isinstance(result, Fault):
            return result
        text = self._family.decode(result.ids)
        return Reply(
            text=text,
            finish=result.finish,
            usage=Usage(input=work.length, output=len(result.ids)),
            model=self._info.model,
            latency_s=result.seconds,
            native={"ids": list(result.ids), "text": text},
            sent=_sent(work),
            token_ids=(tuple(work.encoded.ids.tolist()), result.ids),
        )


def opened(info: AdapterInfo, loaded: Loaded, rows: int | None) -> LocalAdapter:
    """Return the adapter of a loaded model, with batches of one row for a model whose rows change
    each other's replies.

    `info` is the declaration made before loading, `rows` the batch size if the user set it: else
    `ROWS`, which is halved for as long as batches do not fit into memory. Raises `Fatal` for a
    model that cannot be called or replies wrongly.
    """
    notices = list(loaded.notices)
    try:
        usual = CPU_ROWS if loaded.device == "cpu" else ROWS
        size = (rows or usual) if loaded.family.together else 1
        if not SelfTest(loaded).rows_may_share(together=size > 1):
            notices += [alone_notice(info.name)] if size > 1 else []
            size = 1
    except Fatal:
        raise
    except Exception as error:
        # The first call of a model that may be untested here.
        raise Fatal(model_failed(loaded.device, error)) from error
    info = replace(
        info, context_tokens=loaded.context_tokens, text_tokens=loaded.family.text_tokens
    )
    return LocalAdapter(info, replace(loaded, notices=notices), size)


def _image(picture: PixelPicture) -> Image.Image:
    return Image.frombytes("RGB", (picture.width, picture.height), picture.data)


def _sent(work: Work) -> dict[str, object]:
    """Return the parameters that a reply was generated with."""
    generation = work.request.generation
    if not samples(generation):
        return {"do_sample": False, "max_new_tokens": generation.max_tokens}
    return {
        "do_sample": True,
        "max_new_tokens": generation.max_tokens,
        "temperature": generation.temperature,
        "top_p": 1.0 if generation.top_p is None else generation.top_p,
        "seed": DEFAULT_SEED if generation.seed is None else generation.seed,
    }
