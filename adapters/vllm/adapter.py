"""Models that vLLM runs, as an adapter: conversations to token ids, and ids to replies.

Prompts go to the engine as ids that the project's own families write, with a picture as the one
mark that the chat template has for it, which the engine expands. Earlier replies are put in by the
ids that were generated: a second round finds the first in the engine's prefix cache.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from adapters.contract import AdapterInfo, Fatal, Fault, Generation, PictureSource, Request
from adapters.conversation import Finish, Picture, Reply, Usage
from adapters.local.families import HuggingFaceFamily
from adapters.local.sampling import picture_ids, samples, seed_of
from adapters.local.work import Generated, Ignored
from adapters.processes import Child
from adapters.processes.exchange import Exchange
from adapters.vllm.serving import Abort, Call, Job, Ready, Shown, Stop

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
        self._notices: list[str] = []
        self._ignored = Ignored(info.name)
        self.counts: Counter[str] = Counter()
        # As with our own models: a reply ends where the checkpoint says, and names no picture.
        self._limits = {
            "stop_token_ids": list(family.stop_ids),
            "logit_bias": dict.fromkeys(picture_ids(family.config), FORBIDDEN),
        }
        child = Child("adapters.vllm.serving:serve", environment={**_VARIABLES, **environment})
        # The engine's own processes are in the child's group and are killed with it: by the child
        # when this process is gone, and by this process when the child is.
        self._engine = Exchange(child, Job(arguments), who="vLLM")
        try:
            self._ready: Ready = self._engine.ready.result()
        except BaseException:
            self._engine.close()
            raise
        self._info = replace(info, context_tokens=self._ready.context_tokens)

    @property
    def info(self) -> AdapterInfo:
        return self._info

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        """Ask once. Raises `Fault` or `Fatal`."""
        self._notices += self._ignored.of(request.generation)
        shown = request.conversation.pictures
        ids, length = await asyncio.to_thread(self._prompt, request)
        context = self._info.context_tokens
        room = request.generation.max_tokens if context is None else context - length
        if room < 1:
            return Reply("", Finish.TOO_LONG, Usage(), self._info.model)
        generation = request.generation
        sent = _sampling(request, min(room, generation.max_tokens))
        pixels = await asyncio.gather(*(pictures.pixels(picture) for picture in shown))
        images = tuple(Shown(_uuid(p), made) for p, made in zip(shown, pixels, strict=True))
        sampling = {**sent, **self._limits}
        result = await self._generated(Call(ids, images, sampling))
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
        notices, self._notices = self._notices, []
        return notices + self._engine.notices()

    async def close(self) -> None:
        """Cancel all calls and free the device."""
        await asyncio.to_thread(self._engine.close, Stop(), PATIENCE_S)

    def _prompt(self, request: Request) -> tuple[tuple[int, ...], int]:
        """Return the ids to send, and how many they are once the pictures are in. Raises
        `Fatal`."""
        conversation = request.conversation
        ids = tuple(self._family.collapsed(conversation))
        grown = sum(self._family.growth(p.width, p.height) for p in conversation.pictures)
        return ids, len(ids) + grown

    async def _generated(self, call: Call) -> Generated | Fault:
        future = self._engine.ask(
            call,
            lost=lambda reason: Fatal(f"{reason}; replies so far are kept"),
            unwanted=Abort,
        )
        result: Generated | Fault = await asyncio.wrap_future(future)
        return result

    def _reply(self, ids: tuple[int, ...], result: Generated, sent: Mapping[str, object]) -> Reply:
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
