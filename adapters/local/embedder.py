"""Embeddings by a sentence-transformers checkpoint, on this machine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.contract import Fatal
from adapters.conversation import Usage
from adapters.embedding import Embedded, Embedder, EmbedderInfo, Vector
from adapters.hub import downloaded
from adapters.local.checkpoint import (
    SMALL,
    check_report,
    digest_of,
    folder_of,
    loading_reports,
    refuse_adapters,
)
from adapters.local.options import LocalOptions, device_of, explained, full_precision
from adapters.options import Count
from adapters.registry import install

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

INSTALL = install("embed")
_WEIGHTS = ("*.safetensors", "*.bin")
_OTHERWISE = "download the checkpoint elsewhere, and name its folder as model_path"


def sentence_transformer(
    model: str,
    *,
    model_path: str | None = None,
    revision: str | None = None,
    devices: tuple[str, ...] | None = None,
    batch_size: Count = 32,
) -> Embedder:
    """Load a checkpoint of the hub or a folder, in float32, on one device.

    Unless one is named, that is the first GPU, else the CPU. Code that comes with a checkpoint is
    never run. Raises `Fatal` if the library or the checkpoint is missing.
    """
    if not model and not model_path:
        raise Fatal("which model? name it like hf:sentence-transformers/all-MiniLM-L6-v2")
    for package in ("torch", "sentence_transformers"):
        if find_spec(package) is None:
            raise Fatal(f"the embedder 'hf' needs sentence-transformers: {INSTALL}")
    named = model or str(model_path)
    chosen = device_of(LocalOptions(named, devices=devices))
    folder = folder_of(model, model_path, revision)
    if folder is not None:
        refuse_adapters(folder)
        files = [path for kind in (*SMALL, *_WEIGHTS) for path in folder.rglob(kind)]
        if not files:
            raise Fatal(f"{folder} is not a checkpoint folder")
        return LocalEmbedder(
            named, folder, "sha256:" + digest_of(folder, files), chosen, batch_size
        )
    folder = downloaded(named, revision, SMALL, _OTHERWISE)
    refuse_adapters(folder)
    return LocalEmbedder(named, folder, folder.name, chosen, batch_size, on_hub=True)


class LocalEmbedder:
    """A checkpoint with its revision: the hub's commit or a digest of the files."""

    def __init__(
        self,
        model: str,
        folder: Path,
        revision: str,
        device: str,
        batch_size: int,
        *,
        on_hub: bool = False,
    ) -> None:
        self._folder = folder
        self._device = device
        self._batch_size = batch_size
        self._on_hub = on_hub
        self._thread = ThreadPoolExecutor(1, "embedder")
        self._model: SentenceTransformer | None = None
        self._notices: list[str] = []
        self._info = EmbedderInfo(
            name=f"hf:{model}",
            model=model,
            provider="local",
            revision=revision,
            weights_known=True,
            concurrency=1,
            settings={"library": "sentence-transformers", "dtype": "float32"},
        )

    @property
    def info(self) -> EmbedderInfo:
        return self._info

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed texts; the tokenizer cuts those over the model's length."""
        started = time.monotonic()
        loop = asyncio.get_running_loop()
        vectors, tokens = await loop.run_in_executor(self._thread, self._encode, list(texts))
        seconds = time.monotonic() - started
        return Embedded(vectors, Usage(input=tokens), self._info.model, seconds)

    def notices(self) -> list[str]:
        notices, self._notices = self._notices, []
        return notices

    async def close(self) -> None:
        await asyncio.to_thread(self._thread.shutdown)

    def load(self) -> None:
        """Load the model. Raises `Fatal`."""
        self._thread.submit(self._loaded).result()

    # The methods below run in the embedder's own thread.

    def _loaded(self) -> SentenceTransformer:
        self._model = self._model or self._load()
        return self._model

    def _encode(self, texts: list[str]) -> tuple[tuple[Vector, ...], int]:
        model = self._loaded()
        with explained(f"{self._info.name} cannot embed"):
            ids = model.tokenizer(texts, truncation=True, max_length=model.max_seq_length)
            rows = model.encode(texts, batch_size=self._batch_size, show_progress_bar=False)
        vectors = tuple(tuple(map(float, row)) for row in rows)
        return vectors, sum(map(len, ids["input_ids"]))

    def _load(self) -> SentenceTransformer:
        import torch
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        if self._on_hub:
            at = self._info.model, self._info.revision
            downloaded(*at, _WEIGHTS[:1], _OTHERWISE)
            if not any(self._folder.rglob(_WEIGHTS[0])):
                downloaded(*at, ("*pytorch_model*.bin",), _OTHERWISE)
        logging.disable_progress_bar()
        full_precision("float32")
        with explained(f"{self._info.name} cannot be loaded"), loading_reports() as reports:
            model = SentenceTransformer(
                str(self._folder),
                device=self._device,
                trust_remote_code=False,
                local_files_only=True,
                model_kwargs={"dtype": torch.float32},
            )
        for architecture, report in reports:
            # Encoders are often published without the pooler, which other poolings do not use.
            self._notices += check_report(self._info.name, architecture, report, "pooler.")
        return model
