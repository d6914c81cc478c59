"""Models that `vllm serve` runs, asked by the chat protocol: `vllm:HUB_ID` or `vllm:FOLDER`.

The server is started from the folder of a checkpoint, so identity, family and picture limits are
those of a local model, and a prompt can be measured before it is sent. A chat endpoint tokenizes
text together with the template's control tokens: whatever a page or a reply holds that would become
one is broken up by a blank. Only the program `vllm` has to be there, in any environment.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

from adapters.api_client import Json
from adapters.chat_completions import ChatAdapter, ServedModel
from adapters.contract import (
    Adapter,
    AdapterInfo,
    Fatal,
    PictureSource,
    Request,
    UnloadedModel,
)
from adapters.conversation import Conversation, Finish, Message, Reply, Usage
from adapters.endpoints import Endpoint
from adapters.local import loading
from adapters.local.checkpoint import check_files, fetch_weights, locate
from adapters.local.contract import ignored
from adapters.local.factory import Factory, check_installed, local_options
from adapters.local.families import HuggingFaceFamily
from adapters.local.options import Dtype
from adapters.local.processors import check_torchvision
from adapters.local.prompts import around_thoughts
from adapters.options import SWITCHES, Count
from adapters.registry import install
from adapters.served import ModelServer, ServedAdapter

_log = logging.getLogger(__name__)
EXAMPLE = "vllm:Qwen/Qwen2.5-VL-7B-Instruct"
INVARIANT = "VLLM_BATCH_INVARIANT"
"""vLLM's variable for kernels whose sums do not depend on what else is in the batch."""
FORBIDDEN = -100
"""Added to the logit of a token that must not be written."""
CONCURRENCY = 128
TIMEOUT_S = 3600.0
"""Seconds for a call, which may wait for all others."""
SLACK = 16
"""Tokens that vLLM may count more or fewer than we do, for white space in a template."""


@dataclass(frozen=True, slots=True)
class VllmOptions:
    """Options for serving a model."""

    _: KW_ONLY
    model_path: str | None = None
    """A folder to load in place of the model's id."""
    revision: str | None = None
    """Commit, branch or tag on the hub."""
    dtype: Dtype = "auto"
    """The type of the weights: a name of torch's, or `auto` (as published)."""
    tensor_parallel: Count = 1
    """The GPUs that one copy of the model is spread over."""
    data_parallel: Count = 1
    """Copies of the model, each with its own GPUs."""
    max_pixels: Count | None = None
    """The most pixels of a picture."""
    max_model_len: Count | None = None
    """Context length in tokens. None: the model's own, which must fit the memory."""
    serve_args: str | None = None
    """Further arguments of `vllm serve`, as one would type them."""


class VllmModel(ServedModel):
    """One model, whose tokenizer and processor are known here."""

    def __init__(self, info: AdapterInfo, endpoint: Endpoint, family: HuggingFaceFamily) -> None:
        from adapters.local.generate import picture_ids

        super().__init__(info, endpoint, timeout_s=TIMEOUT_S)
        self._family = family
        # As with our own models: a reply ends where the checkpoint says, and names no picture.
        self._limits = {
            "stop_token_ids": list(family.stop_ids),
            "logit_bias": dict.fromkeys(map(str, picture_ids(family.config)), FORBIDDEN),
        }

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        """Ask once. Raises `Fault` or `Fatal`."""
        generation = request.generation
        for line in ignored(self._info.name, generation):
            self._notify(line)
        shown, length = await asyncio.to_thread(self._prepared, request.conversation)
        room = (self._info.context_tokens or math.inf) - length
        if room < 1:
            return Reply("", Finish.TOO_LONG, Usage(), self._info.model)
        limit = int(min(room, generation.max_tokens))
        generation = replace(generation, max_tokens=limit, effort=None, thinking_budget=None)
        reply = await super().ask(
            replace(request, conversation=shown, generation=generation), pictures
        )
        counted = reply.usage.input if reply.usage else length
        if counted and abs(counted - length) > SLACK:
            raise Fatal(
                f"{self._info.name}: vLLM made {counted:,} tokens of a prompt that has {length:,} "
                "by the checkpoint's template and processor, so it writes prompts or prepares "
                "pictures in another way: compare the versions of vLLM and transformers"
            )
        return reply

    async def _wanted(self, request: Request, pictures: PictureSource) -> tuple[Json, Json]:
        # `ask` has broken up what the tokenizer would read as a control token.
        return await ChatAdapter._wanted(self, request, pictures)

    def measured(self) -> Mapping[str, object]:
        return {"control_tokens_broken_up": self._broken_up}

    def _additions(self, request: Request) -> dict[str, Any]:
        return {**super()._additions(request), **self._limits}

    def _done(self, request: Request, reply: Reply) -> None:
        """Leave out the comparison by published rules: `ask` has the processor's own count."""

    def _prepared(self, conversation: Conversation) -> tuple[Conversation, int]:
        """Return the conversation to send, without control tokens, and its length in tokens."""
        messages = tuple(
            Message(message.role, message.shown)
            for message in self._family.without_system(conversation.messages)
        )
        shown = self._guarded(Conversation(messages))
        grown = sum(self._family.growth(p.width, p.height) for p in shown.pictures)
        return shown, len(self._family.collapsed(shown)) + grown

    def _broken(self, text: str, replied: bool) -> tuple[str, int]:
        found = 0

        def safe(piece: str) -> str:
            nonlocal found
            piece, count = self._family.broken_up(piece)
            found += count
            return piece

        return around_thoughts(text, safe) if replied else safe(text), found


def _described(model: str, read: Mapping[str, Any], loads: bool) -> UnloadedModel:
    options = VllmOptions(**read)
    if not model and options.model_path is None:
        raise Fatal(f"which model? name it like {EXAMPLE} or vllm:FOLDER")
    check_installed()
    if loads and shutil.which("vllm") is None:
        raise Fatal(f"'vllm:' needs the program vllm on the path: {install('vllm')}")
    check_torchvision()
    named = replace(local_options("vllm", model, read), name="hf")
    checkpoint = locate(named)
    if checkpoint.is_original_qwen_vl:
        raise Fatal(
            f"{checkpoint.folder} is a checkpoint of the original Qwen-VL, which vLLM no longer "
            "runs: name it with --model qwen-vl, or seeclick"
        )
    family = loading.family(named, checkpoint)
    if loads and checkpoint.commit is None:
        check_files(checkpoint)
    # The server finds its devices itself; ours may be others.
    found = loading.TransformersModel(replace(named, name="vllm"), "cuda", checkpoint, family)
    info = found.declared()
    settings = {name: value for name, value in info.settings.items() if name != "attention"}
    lengths = [n for n in (info.context_tokens, options.max_model_len) if n is not None]
    info = replace(
        info,
        concurrency=CONCURRENCY,
        wait_s=math.inf,
        context_tokens=min(lengths, default=None),
        settings={
            **settings,
            "engine": "vllm",
            "batch_invariant": SWITCHES.get(os.environ.get(INVARIANT, "0").lower(), False),
            "serve_args": options.serve_args,
        },
    )
    try:
        further = shlex.split(options.serve_args or "")
    except ValueError as error:
        raise Fatal(f"serve_args: {error}") from None
    own = _arguments(info, family, options)
    if given := sorted({word.partition("=")[0] for word in further} & set(own)):
        raise Fatal(f"serve_args: '{given[0]}' is set already; leave it out")

    def load() -> Adapter:
        if checkpoint.commit is not None:
            fetch_weights(named, checkpoint)
        words = ["env", "VLLM_NO_USAGE_STATS=1", "vllm", "serve", str(checkpoint.folder)]
        command = shlex.join([*words, *own, *further]).replace("'{port}'", "{port}")
        server = ModelServer(command, info.model)
        key = os.environ.get("OPENAI_API_KEY", "").strip()
        endpoint = Endpoint(info.provider, server.url, server.url, False, key)
        return ServedAdapter(VllmModel(info, endpoint, family), server)

    return UnloadedModel(info, load)


def _arguments(info: AdapterInfo, family: HuggingFaceFamily, options: VllmOptions) -> list[str]:
    """Return the arguments of `vllm serve` behind the folder."""
    arguments: dict[str, object] = {
        "port": "{port}",
        "served-model-name": info.model,
        "dtype": info.settings["dtype"],
        "tensor-parallel-size": options.tensor_parallel,
        "data-parallel-size": options.data_parallel,
        # A checkpoint's own generation_config samples and punishes repetition.
        "generation-config": "vllm",
        # Texts go through the template one after the other, as they do here.
        "chat-template-content-format": "openai",
        "limit-mm-per-prompt": json.dumps({"video": 0}),
        "seed": 0,
    }
    if options.max_model_len is not None:
        arguments["max-model-len"] = options.max_model_len
    if family.pixel_limits is not None:
        # The limits of our own resizing: the server resizes nothing again.
        size = dict(zip(("shortest_edge", "longest_edge"), family.pixel_limits, strict=True))
        arguments["mm-processor-kwargs"] = json.dumps({"size": size})
    words = [word for name, value in arguments.items() for word in (f"--{name}", str(value))]
    return [*words, "--enable-prompt-tokens-details"]


vllm = Factory(VllmOptions, _described)
