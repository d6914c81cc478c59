"""Models that vLLM runs, as an adapter: conversations to token ids, and ids to replies.

Prompts go to the engine as ids that the project's own families write, with a picture as the one
mark that the chat template has for it, which the engine expands. Earlier replies are put in by the
ids that were generated: a second round finds the first in the engine's prefix cache.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

from adapters.contract import (
    Adapter,
    AdapterInfo,
    Fatal,
    Fault,
    Generation,
    PictureSource,
    Request,
    UnloadedModel,
)
from adapters.conversation import Finish, Picture, Reply, Usage
from adapters.local import loading
from adapters.local.checkpoint import check_files, fetch_weights, locate
from adapters.local.contract import Notices, ignored
from adapters.local.factory import Factory, announced, check_installed, local_options
from adapters.local.families import HuggingFaceFamily
from adapters.local.options import devices_of
from adapters.local.processors import check_torchvision
from adapters.local.sampling import picture_ids, samples, seed_of
from adapters.local.unloaded import declared
from adapters.options import SWITCHES, Count
from adapters.processes import Child
from adapters.registry import install
from adapters.vllm.exchange import EngineCall, EnginePicture, EngineReady, EngineReply, Exchange

PATIENCE_S = 10.0
"""Seconds that the engine may take to end by itself; what then is left is killed."""

FORBIDDEN = -1e4
"""Added to the logit of a token that must not be written."""


class VllmAdapter:
    """One engine, which batches continuously whatever is asked at the same time."""

    def __init__(
        self,
        info: AdapterInfo,
        family: HuggingFaceFamily,
        arguments: Mapping[str, object],
        environment: Mapping[str, str],
    ) -> None:
        """Start the engine and wait until it has loaded its model. Raises `Fatal`.

        Args:
            info: the declaration made before loading.
            family: writes prompts and reads replies.
            arguments: those of vLLM's `AsyncEngineArgs`.
            environment: variables to set in the engine's processes.
        """
        self._family = family
        self._notices = Notices()
        self.counts: Counter[str] = Counter()
        # As with our own models: a reply ends where the checkpoint says, and names no picture.
        self._limits = {
            "stop_token_ids": list(family.stop_ids),
            "logit_bias": dict.fromkeys(picture_ids(family.config), FORBIDDEN),
        }
        child = Child("adapters.vllm.serving:serve", environment={**_VARIABLES, **environment})
        # The engine's own processes are in the child's group and are killed with it: by the child
        # when this process is gone, and by this process when the child is.
        self._engine = Exchange(child)
        ready = self._engine.ask(arguments, " while the model was being loaded")
        try:
            self._ready: EngineReady = ready.result()
        except BaseException:
            self._engine.close()
            raise
        self._info = replace(info, context_tokens=self._ready.context_tokens)

    @property
    def info(self) -> AdapterInfo:
        return self._info

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        """Ask once. Raises `Fault` or `Fatal`."""
        self._notices.say(*ignored(self._info.name, request.generation))
        shown = request.conversation.pictures
        ids, length = await asyncio.to_thread(self._prompt, request)
        context = self._info.context_tokens
        room = request.generation.max_tokens if context is None else context - length
        if room < 1:
            return Reply("", Finish.TOO_LONG, Usage(), self._info.model)
        generation = request.generation
        sent = _sampling(request, min(room, generation.max_tokens))
        pixels = await asyncio.gather(*(pictures.pixels(picture) for picture in shown))
        images = tuple(EnginePicture(_uuid(p), made) for p, made in zip(shown, pixels, strict=True))
        sampling = {**sent, **self._limits}
        future = self._engine.ask(EngineCall(ids, images, sampling), "; replies so far are kept")
        result: EngineReply | Fault = await asyncio.wrap_future(future)
        if isinstance(result, Fault):
            raise result
        if result.finish is Finish.TOO_LONG:
            return Reply("", Finish.TOO_LONG, Usage(), self._info.model)
        if result.prompt != length:
            raise Fatal(
                f"{self._info.name}: vLLM made {result.prompt:,} tokens of a prompt that has "
                f"{length:,} by the checkpoint's processor, so it prepares pictures in another "
                "way; let a server run it (vllm serve, --model openai:NAME --base-url URL)"
            )
        return self._reply(ids, result, sent)

    def measured(self) -> Mapping[str, object]:
        """Return facts about the engine, and its counts of tokens."""
        return {**self._ready.facts, "counts": dict(self.counts)}

    def notices(self) -> list[str]:
        return self._notices.take() + self._engine.notices()

    async def close(self) -> None:
        """Cancel all calls and free the device."""
        await asyncio.to_thread(self._engine.close, PATIENCE_S)

    def _prompt(self, request: Request) -> tuple[tuple[int, ...], int]:
        """Return the ids to send, and how many they are once the pictures are in. Raises
        `Fatal`."""
        conversation = request.conversation
        ids = tuple(self._family.collapsed(conversation))
        grown = sum(self._family.growth(p.width, p.height) for p in conversation.pictures)
        return ids, len(ids) + grown

    def _reply(
        self, ids: tuple[int, ...], result: EngineReply, sent: Mapping[str, object]
    ) -> Reply:
        text = self._family.decode(result.ids)
        usage = Usage(input=result.prompt, cached=result.cached, output=len(result.ids))
        self.counts.update(
            replies=1,
            prompt_tokens=usage.input - usage.cached,
            cached_tokens=usage.cached,
            generated_tokens=usage.output,
        )
        return Reply(
            text=text,
            finish=result.finish,
            usage=usage,
            model=self._info.model,
            latency_s=result.seconds,
            native={"ids": list(result.ids), "text": text},
            sent=sent,
            token_ids=(ids, result.ids),
        )


_VARIABLES = {
    # A forked engine would inherit the pipes that show this process the child's end.
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
}


def _uuid(picture: Picture) -> str:
    """Return the key of a picture in the engine's caches: its source and its preparation."""
    return f"{picture.digest} {picture.recipe}"


def _sampling(request: Request, max_tokens: int) -> dict[str, object]:
    """Return parameters of a reply by vLLM's names; its defaults are neutral, but for the
    temperature."""
    generation: Generation = request.generation
    if not samples(generation):
        return {"temperature": 0.0, "max_tokens": max_tokens}
    return {
        "temperature": generation.temperature,
        "top_p": 1.0 if generation.top_p is None else generation.top_p,
        "max_tokens": max_tokens,
        "seed": seed_of(request),
    }


INSTALL = install("vllm")
EXAMPLE = "vllm:Qwen/Qwen2.5-VL-7B-Instruct"
SPREAD = "spread it over several GPUs with --adapter-option devices=cuda:0,cuda:1"
PREFIXES = {"enable_prefix_caching": True}
"""A second round reads the first from the cache, unless `engine_args` say otherwise."""
INVARIANT = "VLLM_BATCH_INVARIANT"
"""vLLM's variable for kernels whose sums do not depend on what else is in the batch."""


@dataclass(frozen=True, slots=True)
class VllmOptions:
    """Options for loading a model."""

    _: KW_ONLY
    model_path: str | None = None
    """A folder to load in place of the model's id."""
    revision: str | None = None
    """Commit, branch or tag on the hub."""
    dtype: str = "auto"
    """The type of the weights: a name of torch's, or `auto` (as published)."""
    devices: tuple[str, ...] | None = None
    """The GPUs that one copy of the model is spread over (tensor parallel). None: the first."""
    max_pixels: Count | None = None
    """The most pixels of a picture."""
    trust_remote_code: bool = False
    """Run Python code that the checkpoint brings along."""
    max_num_seqs: Count = 128
    """The most sequences in a batch."""
    max_model_len: Count | None = None
    """Context length in tokens. None: the model's own, which must fit the memory."""
    batch_invariant: bool | None = None
    """True if replies must not depend on batches. None: as `VLLM_BATCH_INVARIANT` is set."""
    engine_args: Mapping[str, object] | None = None
    """Further arguments of vLLM's `AsyncEngineArgs`."""


def _described(model: str, read: Mapping[str, Any], loads: bool) -> UnloadedModel:
    options = VllmOptions(**read)
    if not model and options.model_path is None:
        raise Fatal(f"which model? name it like {EXAMPLE} or vllm:FOLDER")
    check_installed(("torch", "transformers", *(["vllm"] if loads else [])), INSTALL)
    check_torchvision()
    named = replace(local_options("vllm", model, read), name="hf")
    devices = devices_of(named)
    checkpoint = locate(named)
    if checkpoint.is_original_qwen_vl:
        raise Fatal(
            f"{checkpoint.folder} is a checkpoint of the original Qwen-VL, which vLLM no longer "
            "runs: name it with --model qwen-vl, or seeclick"
        )
    family = loading.family(named, checkpoint)
    found = loading.TransformersModel(named, devices[0], checkpoint, family)
    if loads and len(devices) == 1:
        found.check(SPREAD)
    elif loads and checkpoint.commit is None:
        check_files(checkpoint)
    invariant = _invariant(options)
    info = _info(declared(replace(named, name="vllm"), found), options, invariant)
    arguments = {
        "model": str(checkpoint.folder),
        "dtype": info.settings["dtype"],
        "trust_remote_code": options.trust_remote_code,
        "tensor_parallel_size": len(devices),
        "max_num_seqs": options.max_num_seqs,
        # A checkpoint's own generation_config samples and punishes repetition.
        "generation_config": "vllm",
        "seed": 0,
        "limit_mm_per_prompt": {"video": 0},
        "disable_log_stats": True,
    }
    if options.max_model_len is not None:
        arguments["max_model_len"] = options.max_model_len
    if family.pixel_limits is not None:
        # The limits of our own resizing: the engine resizes nothing again.
        size = dict(zip(("shortest_edge", "longest_edge"), family.pixel_limits, strict=True))
        arguments["mm_processor_kwargs"] = {"size": size}
    own = sorted({*arguments, "max_model_len", "revision"} & set(options.engine_args or {}))
    if own:
        raise Fatal(f"engine_args: '{own[0]}' has its own option; leave it out")
    environment = {INVARIANT: str(int(invariant)), **_visible(options.devices or ())}

    def load() -> Adapter:
        if checkpoint.commit is not None:
            fetch_weights(named, checkpoint)
        with announced(info.name, ", ".join(devices)):
            return VllmAdapter(
                info, family, {**PREFIXES, **arguments, **(options.engine_args or {})}, environment
            )

    return UnloadedModel(info, load)


def _info(info: AdapterInfo, options: VllmOptions, invariant: bool) -> AdapterInfo:
    """Return the declaration of a model that vLLM runs."""
    settings = {name: value for name, value in info.settings.items() if name != "attention"}
    settings |= {"engine": "vllm", "batch_invariant": invariant}
    if options.engine_args:
        settings["engine_args"] = dict(options.engine_args)
    lengths = [n for n in (info.context_tokens, options.max_model_len) if n is not None]
    return replace(
        info,
        # As many as are in a batch, and as many that wait for their turn.
        concurrency=2 * options.max_num_seqs,
        context_tokens=min(lengths, default=None),
        settings=settings,
    )


def _visible(devices: Sequence[str]) -> dict[str, str]:
    """Return variables that show a child these GPUs only; none for other devices."""
    numbers = [int(name.partition(":")[2] or 0) for name in devices if name.startswith("cuda")]
    seen = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = [name.strip() for name in seen.split(",")] if seen else None
    chosen = ",".join(names[number] if names else str(number) for number in numbers)
    return {"CUDA_VISIBLE_DEVICES": chosen} if numbers else {}


def _invariant(options: VllmOptions) -> bool:
    if options.batch_invariant is not None:
        return options.batch_invariant
    return SWITCHES.get(os.environ.get(INVARIANT, "0").lower(), False)


vllm = Factory(VllmOptions, _described)
