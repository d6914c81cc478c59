from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from vllm import AsyncEngineArgs, SamplingParams
from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import RequestOutputKind
from vllm.v1.engine.exceptions import EngineDeadError, EngineGenerateError

BLOCK = 128
"""Tokens of a block of the prefix cache, as on a CPU."""
LASTING = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


@dataclass
class CompletionOutput:
    token_ids: list[int]
    finish_reason: str | None
    text: str = ""


@dataclass
class RequestOutput:
    prompt_token_ids: list[int]
    outputs: list[CompletionOutput]
    num_cached_tokens: int
    finished: bool = True


class AsyncLLM:
    def __init__(self, args: AsyncEngineArgs) -> None:
        from tokenizers import Tokenizer

        variables = {k: v for k, v in os.environ.items() if k.startswith(("VLLM_", "CUDA_V"))}
        _log({"args": asdict(args), "environment": variables})
        if args.load_format == "broken":
            cause = "ValueError: No available memory for the cache blocks. Use a larger device."
            print(f"(EngineCore pid=1) ERROR 11-22 [core.py:1] {cause}", file=sys.stderr)
            print("RuntimeError: Engine core initialization failed.", file=sys.stderr, flush=True)
            raise RuntimeError("Engine core initialization failed. See root cause above.")
        # Its processes, which nothing ends but whoever knows of them.
        self._cores = [subprocess.Popen([sys.executable, "-c", LASTING]) for _ in range(2)]
        _log({"processes": [core.pid for core in self._cores]})
        self._args = args
        self._config = json.loads((Path(args.model) / "config.json").read_text())
        self._tokenizer = Tokenizer.from_file(str(Path(args.model) / "tokenizer.json"))
        text = self._config["text_config"]
        length = args.max_model_len or text["max_position_embeddings"]
        self.model_config = SimpleNamespace(max_model_len=length, dtype=f"torch.{args.dtype}")
        self._blocks: set[str] = set()

    @classmethod
    def from_engine_args(cls, args: AsyncEngineArgs) -> AsyncLLM:
        return cls(args)

    def shutdown(self) -> None:
        for core in self._cores:
            core.kill()
        _log({"shutdown": True})

    async def generate(
        self, prompt: dict[str, Any], params: SamplingParams, request_id: str
    ) -> AsyncIterator[RequestOutput]:
        assert params.output_kind is RequestOutputKind.FINAL_ONLY
        ids = prompt["prompt_token_ids"]
        images = prompt.get("multi_modal_data", {}).get("image", [])
        uuids = prompt.get("multi_modal_uuids", {}).get("image", [None] * len(images))
        _log({"id": request_id, "ids": ids, "uuids": uuids, "sampling": _plain(params)})
        said = self._tokenizer.decode(ids, skip_special_tokens=False)
        if "[refused]" in said:
            raise VLLMValidationError("At most 1 image(s) may be provided in one prompt.")
        if "[dead]" in said:
            raise EngineDeadError
        if "[error]" in said:
            raise EngineGenerateError from ValueError("a kernel failed")
        if "[wait]" in said:
            try:
                await asyncio.Event().wait()
            finally:
                _log({"aborted": request_id})
        expanded, named = self._expanded(ids, images, uuids)
        if "[miscounted]" in said:
            expanded, named = [*expanded, 0], [*named, 0]
        limit = self.model_config.max_model_len
        if len(expanded) > limit or "[long]" in said:
            raise VLLMValidationError(f"This model's maximum context length is {limit} tokens.")
        reply, finish = self._reply(expanded, params)
        if "[aborted]" in said:
            finish = "abort"
        cached = self._cached(named) if self._args.enable_prefix_caching else 0
        self._remember([*named, *reply[:-1]])
        await asyncio.sleep(0)
        yield RequestOutput(expanded, [CompletionOutput(reply, finish)], cached)

    def _expanded(
        self, ids: list[int], images: list[Any], uuids: list[Any]
    ) -> tuple[list[int], list[Any]]:
        """Every picture's first mark as many ids as it has patches; further marks stay."""
        mark, vision = self._config["image_token_id"], self._config["vision_config"]
        side = vision["patch_size"] * vision["spatial_merge_size"]
        size = (self._args.mm_processor_kwargs or {}).get("size", {})
        pictures = list(zip(images, uuids, strict=True))
        expanded: list[int] = []
        named: list[Any] = []
        for token in ids:
            if token == mark and pictures:
                image, uuid = pictures.pop(0)
                width, height = image.size
                assert width % side == height % side == 0, "it would be resized"
                assert size["shortest_edge"] <= width * height <= size["longest_edge"]
                count = (width // side) * (height // side)
                expanded += [mark] * count
                named += [[uuid, number] for number in range(count)]
            else:
                expanded.append(token)
                named.append(token)
        if pictures:
            raise VLLMValidationError("Failed to apply prompt replacement for mm_items['image'].")
        return expanded, named

    def _reply(self, ids: list[int], params: SamplingParams) -> tuple[list[int], str]:
        drawn = params.seed if params.temperature else None
        value = hashlib.sha256(json.dumps([ids, drawn]).encode()).hexdigest()[:4]
        text = f"ELEMENT: A\nACTION: TYPE\nVALUE: {value}"
        reply = [*self._tokenizer.encode(text, add_special_tokens=False).ids]
        reply.append((params.stop_token_ids or [0])[0])
        most = params.max_tokens or len(reply)
        return (reply, "stop") if len(reply) <= most else (reply[:most], "length")

    def _cached(self, named: list[Any]) -> int:
        """Ids in the blocks that are known, at least one id is left to compute."""
        known = 0
        while known + BLOCK < len(named) and _digest(named[: known + BLOCK]) in self._blocks:
            known += BLOCK
        return known

    def _remember(self, named: list[Any]) -> None:
        for end in range(BLOCK, len(named) + 1, BLOCK):
            self._blocks.add(_digest(named[:end]))


def _digest(named: list[Any]) -> str:
    return hashlib.sha256(json.dumps(named).encode()).hexdigest()


def _plain(params: SamplingParams) -> dict[str, Any]:
    return {**asdict(params), "output_kind": params.output_kind.name}


def _log(event: dict[str, Any]) -> None:
    if path := os.environ.get("STANDIN_LOG"):
        with Path(path).open("a") as file:
            file.write(json.dumps(event) + "\n")
