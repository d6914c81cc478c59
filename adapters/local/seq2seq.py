"""Encoder-decoder models in text only, such as the Flan-T5 models that MindAct fine-tuned.

A conversation becomes one input: its texts in order, each cut to `piece_tokens` tokens by itself,
and the end token. Those models were trained that way (page and question are two pieces of at most
512 tokens each), so a long page is cut at its end and the question never is. With `end_tokens` of
`pieces`, an end token also follows each text that says so (`END_TOKEN`).
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adapters.contract import (
    AdapterInfo,
    Fatal,
    Fault,
    Generation,
    PictureSource,
    Request,
    unless_sampled,
)
from adapters.conversation import END_TOKEN, Conversation, Finish, Reply, Text, Usage, user
from adapters.local.batching import BatchAdapter, BatchRules
from adapters.local.checkpoint import Checkpoint
from adapters.local.contract import Work
from adapters.local.options import full_precision, line, model_failed
from adapters.local.tensors import check_report

if TYPE_CHECKING:
    import torch

    from adapters.local.self_test import Exchange

_DTYPES = ("auto", "float32", "bfloat16", "float16")


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of an adapter; `device` and `dtype` are torch's names."""

    name: str
    checkpoint: Checkpoint
    device: str
    dtype: str
    batch_size: int
    piece_tokens: int
    end_tokens: str = "last"


class Seq2SeqAdapter(BatchAdapter):
    """An adapter over one model on one device. Calls share nothing, rounds included."""

    def __init__(self, settings: Settings, tokenizer: Any, info: AdapterInfo) -> None:
        """Load the model. Raises `Fatal`."""
        import torch

        from adapters.local.self_test import alone_notice, rows_may_share

        self._torch = torch
        self._device = settings.device
        self._piece_tokens = settings.piece_tokens
        self._marked = settings.end_tokens == "pieces"
        self._tokenizer = tokenizer
        self._model, notices = _loaded(settings)
        special = set(self._tokenizer.all_special_ids) - {self._tokenizer.unk_token_id}
        # Page text must not become an end token; `unk` marks unknown characters.
        self._special = frozenset(special)
        self._end: int = self._model.config.eos_token_id
        # Not in the self-test: a short reply would not try the cache.
        self._ends_at: int | None = None
        self._stopped = threading.Event()
        self._cut = 0
        self._notices: list[str] = []
        self._info = info
        together = settings.batch_size > 1
        try:
            share = rows_may_share(self._tried, self._in_full, self._model, together=together)
        except Fatal:
            raise
        except Exception as error:
            # The first call of a model that may be untested here.
            raise Fatal(model_failed(self._device, error)) from error
        self._ends_at, self._cut = self._end, 0
        self._notices = notices + ([alone_notice(info.name)] if together and not share else [])
        super().__init__(info, BatchRules(settings.batch_size if share else 1))
        self._thread = ThreadPoolExecutor(1, "seq2seq")

    async def ask_many(
        self, requests: Sequence[Request], pictures: PictureSource
    ) -> list[Reply | Fault]:
        """Return one result per request, in order. Raises `Fatal`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._run, list(requests))

    async def prepare(self, request: Request, pictures: PictureSource) -> int:
        """Tokenize a request's input."""
        return len(await asyncio.to_thread(self._encode, request.conversation))

    def notices(self) -> list[str]:
        notices, self._notices = self._notices, []
        return notices

    async def close(self) -> None:
        """Cancel the current batch."""
        self._stopped.set()
        await asyncio.to_thread(self._thread.shutdown, cancel_futures=True)

    def _encode(self, conversation: Conversation) -> list[int]:
        """Encode the input.

        Raises `Fatal` for a conversation with a picture, and for one without end tokens where each
        piece should have one.
        """
        if conversation.pictures:
            raise Fatal(f"{self._info.name} takes no pictures")
        parts = [p.text for m in conversation.messages for p in m.parts if isinstance(p, Text)]
        ends = [self._marked and text.endswith(END_TOKEN) for text in parts]
        if self._marked and len(parts) > 1 and not any(ends):
            raise Fatal("end_tokens=pieces: the protocol does not mark where they go; leave it out")
        ends[-1] = True
        pieces = [
            [i for i in ids if i not in self._special]
            for ids in self._tokenizer(parts, add_special_tokens=False)["input_ids"]
        ]
        # A piece shares its room with its end token.
        rooms = [self._piece_tokens - end for end in ends]
        cut = any(len(ids) > room for ids, room in zip(pieces, rooms, strict=True))
        if cut and not self._cut:
            self._notices.append(
                f"{self._info.name}: texts longer than {self._piece_tokens} tokens are cut, as in "
                "training (option piece_tokens)"
            )
        self._cut += cut
        return [
            one
            for ids, room, end in zip(pieces, rooms, ends, strict=True)
            for one in (*ids[:room], *([self._end] if end else []))
        ]

    def _run(self, requests: list[Request]) -> list[Reply | Fault]:
        from adapters.local.memory import give_back, is_out_of_memory

        try:
            return list(self._generate(requests))
        except Exception as error:
            if isinstance(error, Fatal) or not is_out_of_memory(error):
                raise
            reason = line(error)
        give_back(self._device)
        if len(requests) == 1:
            return [Fault("server", f"one input does not fit into memory: {reason}")]
        self._notices.append(f"{len(requests)} inputs do not fit into memory: trying in halves")
        half = len(requests) // 2
        return self._run(requests[:half]) + self._run(requests[half:])

    def _generate(self, requests: Sequence[Request]) -> list[Reply]:
        from transformers import GenerationConfig

        from adapters.local.contract import Encoded
        from adapters.local.sampling import Draw, FiniteScores, RowLimits, samples

        torch = self._torch
        started = time.monotonic()
        inputs = [self._encode(request.conversation) for request in requests]
        works = [
            Work(
                r.unit_id,
                r.repeat,
                r.place,
                Encoded(torch.tensor(ids), None),
                r.generation,
                sample=r.sample,
            )
            for r, ids in zip(requests, inputs, strict=True)
        ]
        ids, mask = self._padded(inputs)
        finite = FiniteScores(works, self._device)
        limits = RowLimits(works, 1, self._device, self._stopped, finite)
        choosing: list[Any] = [finite]
        if any(samples(work.generation) for work in works):
            choosing.append(Draw(works, 1, self._device))
        most = max(work.generation.max_tokens for work in works)
        with torch.inference_mode():
            written = self._model.generate(
                input_ids=ids,
                attention_mask=mask,
                generation_config=GenerationConfig(
                    max_new_tokens=most,
                    do_sample=False,
                    num_beams=1,
                    eos_token_id=self._ends_at,
                    pad_token_id=self._model.config.pad_token_id,
                    decoder_start_token_id=self._model.config.decoder_start_token_id,
                ),
                logits_processor=choosing,
                stopping_criteria=[limits],
            )
        if self._stopped.is_set():
            raise Fatal("the model was closed during a call")
        finite.check(self._model.dtype, self._device)
        seconds = time.monotonic() - started
        # The first column is the decoder's start token.
        rows = written[:, 1:].tolist()
        return [
            self._reply(request, prompt, row, seconds)
            for request, prompt, row in zip(requests, inputs, rows, strict=True)
        ]

    def _tried(self, rows: Sequence[int]) -> list[Exchange]:
        """Answer rows of the self-test in one batch."""
        from adapters.local.self_test import TEXTS, TOKENS, Exchange, recorded

        generation = Generation(max_tokens=TOKENS)
        requests = [
            Request(Conversation((user(TEXTS[row]),)), generation, f"self-test-{row}", "round-1")
            for row in rows
        ]
        with recorded(self._model) as steps:
            replies = self._generate(requests)
        exchanges = []
        for row, reply in enumerate(replies):
            prompt, ids = reply.token_ids or ((), ())
            scores = self._torch.stack([step[row] for step in steps[: len(ids)]])
            exchanges.append(Exchange(prompt, ids, scores))
        return exchanges

    def _in_full(self, prompt: Sequence[int], ids: Sequence[int]) -> torch.Tensor:
        from adapters.local.self_test import called

        inputs, mask = self._padded([list(prompt)])
        start = self._model.config.decoder_start_token_id
        decoded = self._torch.tensor([[start, *ids[:-1]]])
        given = {"input_ids": inputs, "attention_mask": mask, "decoder_input_ids": decoded}
        return called(self._model, self._device, given)

    def _padded(self, inputs: Sequence[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        torch = self._torch
        width = max(len(ids) for ids in inputs)
        pad = self._model.config.pad_token_id
        ids = torch.tensor([row + [pad] * (width - len(row)) for row in inputs])
        mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in inputs])
        return ids.to(self._device), mask.to(self._device)

    def _reply(self, request: Request, prompt: list[int], row: list[int], seconds: float) -> Reply:
        ids = row[: request.generation.max_tokens]
        ended = self._ends_at in ids
        if ended:
            ids = ids[: ids.index(self._end) + 1]
        generation = request.generation
        sent: dict[str, object] = {"max_new_tokens": generation.max_tokens, "do_sample": False}
        if generation.temperature:
            sent |= {"do_sample": True, "temperature": generation.temperature}
            sent |= {"top_p": generation.top_p, "seed": generation.seed}
        return Reply(
            text=self._tokenizer.decode(ids, skip_special_tokens=True),
            finish=Finish.STOP if ended else Finish.LENGTH,
            usage=Usage(input=len(prompt), output=len(ids)),
            model=self._info.model,
            latency_s=seconds,
            sent=sent,
            token_ids=(tuple(prompt), tuple(ids)),
        )


def declared(settings: Settings, tokenizer: Any) -> AdapterInfo:
    """Return the adapter's declaration."""
    import torch
    import transformers

    checkpoint = settings.checkpoint
    return AdapterInfo(
        name=settings.name,
        model=settings.name.partition(":")[2],
        provider="local",
        revision=checkpoint.identity,
        weights_known=True,
        takes_pictures=False,
        greedy=unless_sampled,
        text_tokens=lambda text: len(tokenizer(text, add_special_tokens=False)["input_ids"]),
        settings={
            "architecture": checkpoint.architecture,
            "dtype": settings.dtype,
            "device": torch.device(settings.device).type,
            "piece_tokens": settings.piece_tokens,
            **({"end_tokens": "pieces"} if settings.end_tokens == "pieces" else {}),
            "torch": str(torch.__version__),
            "transformers": transformers.__version__,
        },
    )


def dtype_of(wanted: str, device: str) -> str:
    """Return the name of a dtype: on a GPU bfloat16, which T5 needs (float16 overflows), else
    float32."""
    if wanted not in _DTYPES:
        raise Fatal(f"dtype '{wanted}': expected {', '.join(_DTYPES)}")
    if wanted == "auto":
        return "bfloat16" if device.startswith("cuda") else "float32"
    return wanted


def tokenizer_of(checkpoint: Checkpoint) -> Any:
    """Return the tokenizer of a checkpoint. Raises `Fatal`, also for a model of another kind."""
    from transformers import AutoTokenizer

    from adapters.local.loading import quiet

    quiet()
    if not checkpoint.config.get("is_encoder_decoder"):
        raise Fatal(
            f"{checkpoint.folder} is not an encoder-decoder model ({checkpoint.architecture}): "
            "name it with hf:..."
        )
    try:
        return AutoTokenizer.from_pretrained(checkpoint.folder, local_files_only=True)
    except Exception as error:
        raise Fatal(f"the tokenizer of {_failed(checkpoint, error)}") from error


def _loaded(settings: Settings) -> tuple[Any, list[str]]:
    """Load the model on its device. Raises `Fatal` for weights that are missing or damaged."""
    import torch
    from transformers import AutoModelForSeq2SeqLM

    checkpoint = settings.checkpoint
    missing = [path for path in checkpoint.weights if not path.is_file()]
    if missing:
        raise Fatal(f"missing weights: {missing[0]}")
    dtype = getattr(torch, settings.dtype)
    full_precision(dtype)
    try:
        model, report = AutoModelForSeq2SeqLM.from_pretrained(
            checkpoint.folder, dtype=dtype, local_files_only=True, output_loading_info=True
        )
    except Exception as error:
        raise Fatal(_failed(checkpoint, error)) from error
    notices = check_report(checkpoint.folder, checkpoint.architecture, report)
    return model.to(settings.device).eval(), notices


def _failed(checkpoint: Checkpoint, error: Exception) -> str:
    return f"{checkpoint.folder} cannot be loaded: {type(error).__name__}: {line(error)}"
