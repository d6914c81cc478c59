"""Encodes conversations to ids and pixels on CPU threads, ahead of their batches."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PIL import Image

from adapters.contract import Dialogue, PictureSource, PixelPicture, Request
from adapters.conversation import Picture
from adapters.local.contract import Encoded, Family, Recalling

if TYPE_CHECKING:
    import torch

Key = tuple[str, int, str, int]
"""Step, repeat and place: names a call."""


@dataclass(slots=True, eq=False)
class _Entry:
    """A call, the task that encodes it (None: dropped), and what is known of the result."""

    request: Request
    task: asyncio.Task[Encoded] | None
    length: int | None = None
    nbytes: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class _Shown:
    """The prepared pictures of a dialogue's last round."""

    pictures: tuple[Picture, ...]
    tensors: Mapping[str, torch.Tensor]
    nbytes: int


class Prepared:
    """Encodes each request once, each picture once for all rounds of a dialogue, and holds at most
    `limit` bytes of pixels.

    A request that exceeds the limit when it is encoded is dropped, except for its length, and
    encoded again when its batch comes. To be used from one event loop.
    """

    def __init__(
        self, family: Family, threads: int, limit: int, dtype: torch.dtype | None = None
    ) -> None:
        """`dtype` is the type that pixels are converted to, the model's own."""
        self._family = family
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="encode")
        self._limit = limit
        self._dtype = dtype
        self._entries: dict[Key, _Entry] = {}
        self._shown: dict[Dialogue, _Shown] = {}
        self.nbytes = 0
        self.encoded = 0

    async def length(self, request: Request, pictures: PictureSource) -> int:
        """Tokens of a request's prompt. Raises `Fatal` and whatever `pictures` raises."""
        entry = self._entry(request)
        if entry.length is not None:
            return entry.length
        return (await self._made(entry, pictures)).length

    async def take(self, request: Request, pictures: PictureSource) -> Encoded:
        """Return a request's ids and pixels and forget them here. Raises as `length`."""
        encoded = await self._made(self._entry(request), pictures)
        self._drop(_key(request))
        self._remember(request, encoded)
        return encoded

    def release(self, unit_id: str) -> None:
        """Drop the prepared values of a finished step."""
        for key in [key for key in self._entries if key[0] == unit_id]:
            self._drop(key)
        for dialogue in [dialogue for dialogue in self._shown if dialogue[0] == unit_id]:
            self._forget(dialogue)

    def close(self) -> None:
        for key, entry in list(self._entries.items()):
            if entry.task is not None:
                entry.task.cancel()
            self._drop(key)
        for dialogue in list(self._shown):
            self._forget(dialogue)
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _entry(self, request: Request) -> _Entry:
        key = _key(request)
        entry = self._entries.get(key)
        if entry is None or entry.request.conversation != request.conversation:
            self._drop(key)
            entry = self._entries[key] = _Entry(request, None)
        return entry

    async def _made(self, entry: _Entry, pictures: PictureSource) -> Encoded:
        if entry.task is None or entry.task.cancelled():
            task = asyncio.get_running_loop().create_task(self._encode(entry.request, pictures))
            task.add_done_callback(lambda done: self._weigh(entry, done))
            entry.task = task
        # Shielded: a caller that is cancelled must not cancel the encoding for another.
        return await asyncio.shield(entry.task)

    async def _encode(self, request: Request, pictures: PictureSource) -> Encoded:
        conversation = request.conversation
        shown = self._shown.get((request.unit_id, request.repeat))
        family = self._family
        if shown and shown.pictures == conversation.pictures and isinstance(family, Recalling):
            return await asyncio.get_running_loop().run_in_executor(
                self._threads, family.encode_again, conversation, shown.tensors
            )
        pixels = await asyncio.gather(*(pictures.pixels(p) for p in conversation.pictures))

        def work() -> Encoded:
            encoded = self._family.encode(conversation, [_image(picture) for picture in pixels])
            return lean(encoded, self._dtype)

        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def _weigh(self, entry: _Entry, done: asyncio.Task[Encoded]) -> None:
        if done.cancelled() or done.exception() is not None:
            return
        self.encoded += 1
        encoded = done.result()
        entry.length = encoded.length
        if self._entries.get(_key(entry.request)) is not entry:
            return
        nbytes = encoded.picture_bytes
        while self.nbytes + nbytes > self._limit and self._shown:
            # A request waiting for its first batch is worth more than pictures of a later round.
            self._forget(next(iter(self._shown)))
        if self.nbytes + nbytes > self._limit:
            entry.task = None
        else:
            entry.nbytes = nbytes
            self.nbytes += nbytes

    def _remember(self, request: Request, encoded: Encoded) -> None:
        """Keep a round's pictures for the next, if one follows and there is room."""
        dialogue = request.unit_id, request.repeat
        self._forget(dialogue)
        nbytes = encoded.picture_bytes
        if request.continues and nbytes and self.nbytes + nbytes <= self._limit:
            self._shown[dialogue] = _Shown(request.conversation.pictures, encoded.pictures, nbytes)
            self.nbytes += nbytes

    def _forget(self, dialogue: Dialogue) -> None:
        shown = self._shown.pop(dialogue, None)
        if shown is not None:
            self.nbytes -= shown.nbytes

    def _drop(self, key: Key) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.nbytes -= entry.nbytes
            entry.nbytes = 0


def lean(encoded: Encoded, dtype: torch.dtype | None) -> Encoded:
    """Return it with pixels in the model's own type: half the memory and half the way to the
    device."""
    if dtype is None:
        return encoded
    pictures = {
        name: tensor.to(dtype) if tensor.is_floating_point() else tensor
        for name, tensor in encoded.pictures.items()
    }
    return replace(encoded, pictures=pictures)


def _key(request: Request) -> Key:
    return request.unit_id, request.repeat, request.place, request.sample


def _image(picture: PixelPicture) -> Image.Image:
    return Image.frombytes("RGB", (picture.width, picture.height), picture.data)
