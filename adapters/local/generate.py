"""Replies for batches of conversations, with one model on one device.

A batch is padded on the left and handed to transformers' `generate`, which keeps a cache for that
call only: every round of a dialogue reads its conversation in full.
"""

from __future__ import annotations

import gc
import hashlib
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from transformers import GenerationConfig

from adapters.contract import Fatal, Fault, Generation, Request, unless_sampled
from adapters.conversation import Finish
from adapters.local.checkpoint import UNKNOWN_RAM, free_ram
from adapters.local.contract import Encoded, Generated, Loaded, Notices, Padded, Work
from adapters.local.options import model_failed


class Generator:
    """Generates replies. One thread uses it; `interrupt` may come from any.

    rows: largest number of rows in a batch; halved whenever a batch does not fit into memory.
    counts: batches, rows, and tokens of prompts and replies so far.
    """

    def __init__(self, loaded: Loaded, rows: int = 64) -> None:
        self._model = loaded.model
        self._family = loaded.family
        self._device = loaded.device
        self._interrupted = threading.Event()
        self.notices = Notices()
        self.rows = rows
        self.counts: Counter[str] = Counter()
        # `generate` takes its defaults from here: a checkpoint must not decide on sampling.
        self._model.generation_config = GenerationConfig()
        self._model.eval()

    def run(self, batch: Sequence[Work]) -> list[Generated | Fault]:
        """Return a result per call, in order.

        A batch that does not fit into memory is tried again in halves; a single call that does not
        fit gives a `Fault`, and the others are answered. Raises `Fatal` for any other error of the
        model.
        """
        results: dict[int, Generated | Fault] = {}
        # The longest first, to find early that a batch does not fit.
        places = sorted(range(len(batch)), key=lambda place: -batch[place].length)
        while places:
            chosen = places[: self.rows]
            chosen = [chosen[index] for index in alike([batch[place].encoded for place in chosen])]
            works = [batch[place] for place in chosen]
            answers: Sequence[Generated | Fault] | None = self._unless_out_of_memory(works)
            if answers is None and len(works) > 1:
                self._halve(works)
                continue
            results |= zip(chosen, answers or [self._no_room(works[0])], strict=True)
            places = [place for place in places if place not in results]
        return [results[place] for place in range(len(batch))]

    def interrupt(self) -> None:
        """Stop the current batch and all later ones, which then raise `Fatal`."""
        self._interrupted.set()

    def close(self) -> None:
        self._model = None
        give_back(self._device)

    def _unless_out_of_memory(self, works: Sequence[Work]) -> list[Generated] | None:
        """Return the replies, or None if memory ran out."""
        try:
            return self._generated(works)
        except Fatal:
            raise
        except Exception as error:
            if not is_out_of_memory(error):
                raise Fatal(model_failed(self._device, error)) from error
        # Only after the except block are the tensors in the error's frames released.
        give_back(self._device)
        return None

    def _generated(self, works: Sequence[Work]) -> list[Generated]:
        started = time.monotonic()
        padded = pad([work.encoded for work in works], self._family.pad_id)
        inputs = {
            "input_ids": padded.ids,
            "attention_mask": padded.mask,
            **self._family.inputs(self._model, padded),
        }
        # An encoder-decoder model writes its start token, and the reply after it.
        start = 1 if self._model.config.is_encoder_decoder else int(padded.ids.shape[1])
        requests = [work.request for work in works]
        finite = FiniteScores(requests, self._device)
        limits = RowLimits(requests, start, self._device, self._interrupted, finite)
        choosing: list[Any] = [finite]
        if any(samples(request.generation) for request in requests):
            choosing.append(Draw(requests, start, self._device))
        with torch.inference_mode():
            written = self._model.generate(
                **{name: self._moved(value) for name, value in inputs.items()},
                generation_config=self._greedy(max(work.max_tokens for work in works)),
                logits_processor=choosing,
                stopping_criteria=[limits],
            )
        if self._interrupted.is_set():
            raise Fatal("the model was closed during a call")
        finite.check(self._model.dtype, self._device)
        rows = written[:, start:].tolist()
        seconds = time.monotonic() - started
        replies = [
            Generated(*self._ended(row[: work.max_tokens]), seconds)
            for work, row in zip(works, rows, strict=True)
        ]
        self.counts.update(
            batches=1,
            rows=len(works),
            prompt_tokens=sum(work.length for work in works),
            generated_tokens=sum(len(reply.ids) for reply in replies),
        )
        return replies

    def _ended(self, ids: Sequence[int]) -> tuple[tuple[int, ...], Finish]:
        """Return the ids up to the first stop id."""
        for count, token in enumerate(ids, 1):
            if token in self._family.stop_ids:
                return tuple(ids[:count]), Finish.STOP
        return tuple(ids), Finish.LENGTH

    def _greedy(self, new: int) -> GenerationConfig:
        """Set every parameter explicitly; no default of a checkpoint or library version applies.
        Rows that sample are left one token to choose from."""
        return GenerationConfig(
            max_new_tokens=new,
            do_sample=False,
            num_beams=1,
            repetition_penalty=1.0,
            use_cache=True,
            # A conversation that continues a reply with one would refer to a missing picture.
            suppress_tokens=picture_ids(self._model.config) or None,
            eos_token_id=list(self._family.stop_ids) or None,
            pad_token_id=self._family.pad_id,
            decoder_start_token_id=getattr(self._model.config, "decoder_start_token_id", None),
            return_dict_in_generate=False,
            disable_compile=True,
        )

    def _moved(self, value: Any) -> Any:
        """Move it to the device; from pinned memory, without waiting."""
        if not isinstance(value, torch.Tensor) or value.device.type != "cpu":
            return value
        if torch.device(self._device).type == "cuda":
            value = value.pin_memory()
        return value.to(self._device, non_blocking=True)

    def _halve(self, works: Sequence[Work]) -> None:
        self.rows = max(1, len(works) // 2)
        widest = max(work.length + work.max_tokens for work in works)
        self.notices.say(
            f"{len(works)} conversations of up to {widest:,} tokens do not fit "
            f"into the memory of {self._device}: continuing with {self.rows} at a time"
        )

    def _no_room(self, work: Work) -> Fault:
        return Fault(
            "server",
            f"step {work.request.unit_id}: {work.length:,} tokens do not fit into the memory of "
            f"{self._device} ({free_bytes(self._device) / 2**30:.1f} GiB are free): lower "
            "--adapter-option max_pixels or --max-tokens, or use a larger device",
        )


OUT_OF_MEMORY = (
    "out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "can't allocate memory",
    "CUDNN_STATUS_ALLOC_FAILED",
)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error means that memory ran out; libraries have their own messages."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(part in str(error) for part in OUT_OF_MEMORY)


def give_back(device: str) -> None:
    """Return unused memory to the device."""
    gc.collect()
    if torch.device(device).type == "cuda":
        torch.cuda.empty_cache()


def free_bytes(device: str) -> int:
    """Return the bytes that can still be allocated: on a GPU by this process, on the CPU by any
    process."""
    if torch.device(device).type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(free + cached)
    free = free_ram()
    return free if free < UNKNOWN_RAM else 4 * 2**30


ALONG_IDS = ("cross_attention_mask", "image_attention_mask", "moe_mm_token_type_ids")
"""Inputs about pictures that have an entry per id of the prompt, [1, length, ...]."""


def pad(rows: Sequence[Encoded], pad_id: int) -> Padded:
    """Pad rows on the left."""
    columns = max(row.length for row in rows)
    ids = torch.full((len(rows), columns), pad_id, dtype=torch.long)
    mask = torch.zeros_like(ids)
    marked = any(row.token_types is not None for row in rows)
    types = torch.zeros_like(ids) if marked else None
    for number, row in enumerate(rows):
        ids[number, -row.length :] = row.ids
        mask[number, -row.length :] = 1
        if types is not None and row.token_types is not None:
            types[number, -row.length :] = row.token_types
    return Padded(ids, mask, types, _pictures([_widened(row, columns) for row in rows]))


def alike(rows: Sequence[Encoded]) -> list[int]:
    """Return the rows with picture tensors like those of the first. Some models cut
    every picture in its own way, and some look up a row's pictures by its number: then rows
    with pictures are separated from rows without any."""
    shapes: dict[str, torch.Size] = {}
    chosen = []
    for number, row in enumerate(rows):
        row_shapes = {
            name: tensor.shape[2 if name in ALONG_IDS else 1 :]
            for name, tensor in row.pictures.items()
        }
        fits = all(shapes.get(name, shape) == shape for name, shape in row_shapes.items())
        if fits and _by_number(row) == _by_number(rows[0]):
            shapes |= row_shapes
            chosen.append(number)
    return chosen


def followed(row: Encoded, ids: Sequence[int]) -> Encoded:
    """Return the row with the first ids of its reply behind the prompt."""
    count = len(ids)
    types = row.token_types
    if types is not None:
        types = torch.cat([types, types.new_zeros(count)])
    long = {
        name: torch.cat([tensor, tensor[:, -1:].expand(-1, count, *tensor.shape[2:])], dim=1)
        for name, tensor in row.pictures.items()
        if name in ALONG_IDS
    }
    reply = torch.tensor(list(ids), dtype=row.ids.dtype)
    return Encoded(torch.cat([row.ids, reply]), types, {**row.pictures, **long})


def _by_number(row: Encoded) -> bool:
    """Return whether a row's pictures are looked up by its number in the batch."""
    return any(name in ALONG_IDS for name in row.pictures)


def _widened(row: Encoded, columns: int) -> Encoded:
    """Return the row with its per-id values padded on the left."""
    missing = columns - row.length
    wide = {
        name: torch.cat([tensor.new_zeros((1, missing, *tensor.shape[2:])), tensor], dim=1)
        for name, tensor in row.pictures.items()
        if name in ALONG_IDS
    }
    return replace(row, pictures={**row.pictures, **wide}) if wide else row


def _pictures(rows: Sequence[Encoded]) -> Mapping[str, torch.Tensor]:
    """Return the rows' picture tensors, concatenated."""
    parts: dict[str, list[torch.Tensor]] = {}
    for row in rows:
        for name, tensor in row.pictures.items():
            parts.setdefault(name, []).append(tensor)
    return {
        name: tensors[0] if len(tensors) == 1 else torch.cat(tensors)
        for name, tensors in parts.items()
    }


DEFAULT_SEED = 0


def samples(generation: Generation) -> bool:
    return not unless_sampled(generation)


def seed_of(call: Request) -> int:
    """Return the seed of one reply's draws."""
    seed = DEFAULT_SEED if call.generation.seed is None else call.generation.seed
    place = f"{call.place}#{call.sample}" if call.sample else call.place
    text = "\x1f".join((str(seed), call.unit_id, str(call.repeat), place))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


class Draw:
    """A logits processor that leaves one token per sampling row. Greedy rows pass untouched.

    A row's draws depend on (seed, step, repeat, place, sample) and nothing else: one number in
    [0, 1) per token, drawn ahead on the CPU, picks the token from the cumulative probabilities. So
    a reply is the same in any batch, and on any device up to rounding.
    """

    def __init__(self, calls: Sequence[Request], start: int, device: str) -> None:
        """`start` is the number of columns of the prompt."""
        most = max(call.generation.max_tokens for call in calls)
        # Apple's GPUs have no float64.
        self._exact = torch.float32 if torch.device(device).type == "mps" else torch.float64
        numbers = torch.zeros((len(calls), most), dtype=torch.float64)
        for row, call in enumerate(calls):
            if samples(call.generation):
                tokens, source = call.generation.max_tokens, torch.Generator()
                source.manual_seed(seed_of(call))
                numbers[row, :tokens] = torch.rand(tokens, generator=source, dtype=torch.float64)
        settings = [call.generation for call in calls]
        greedy = torch.tensor([not samples(g) for g in settings])
        temperature = torch.tensor([g.temperature or 1.0 for g in settings])
        share = torch.tensor([1.0 if g.top_p is None else g.top_p for g in settings])
        self._start = start
        self._numbers = numbers.to(self._exact).to(device)
        self._greedy = greedy.to(device)[:, None]
        self._temperature = temperature.to(device)[:, None]
        self._share = share.to(device)[:, None]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        number = self._numbers[:, input_ids.shape[1] - self._start, None]
        ranked, order = (scores / self._temperature).sort(dim=-1, descending=True, stable=True)
        mass = ranked.softmax(dim=-1).cumsum(dim=-1)
        # The smallest set of tokens that together have the share; the first always belongs to it.
        kept = (mass < self._share).sum(dim=-1, keepdim=True).clamp(max=mass.shape[-1] - 1)
        whole = mass.gather(1, kept).to(self._exact)
        place = (mass.to(self._exact) <= number * whole).sum(dim=-1, keepdim=True)
        token = order.gather(1, torch.minimum(place, kept))
        chosen = torch.full_like(scores, float("-inf")).scatter_(1, token, 0.0)
        return torch.where(self._greedy, scores, chosen)


PICTURE_IDS = ("image_token_id", "image_token_index", "video_token_id", "video_token_index")


def picture_ids(config: Any) -> list[int]:
    """Return the ids of picture marks, as far as the model could write them."""
    text = getattr(config, "text_config", None) or config
    # Some models have picture ids beyond what they can write.
    written = getattr(text, "vocab_size", None) or 0
    token_ids = (getattr(config, name, None) for name in PICTURE_IDS)
    return [token for token in token_ids if isinstance(token, int) and 0 <= token < written]


class FiniteScores:
    """A logits processor that notes the rows whose scores are infinite or not numbers (NaN)."""

    def __init__(self, calls: Sequence[Request], device: str) -> None:
        self._calls = calls
        self.broken = torch.zeros(len(calls), dtype=torch.bool, device=device)

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        # The largest score is NaN where any is.
        self.broken |= ~scores.amax(dim=-1).isfinite()
        return scores

    def check(self, dtype: torch.dtype, device: str) -> None:
        """Raise `Fatal` if there is such a row."""
        rows = self.broken.nonzero().flatten().tolist()
        if rows:
            name = str(dtype).removeprefix("torch.")
            advice = "its weights may be damaged"
            if name != "float32":
                advice = f"numbers may be too large for {name}: try --adapter-option dtype=float32"
            raise Fatal(
                f"the model on {device} computes scores that are not finite numbers (NaN) for step "
                f"{self._calls[rows[0]].unit_id}: {advice}"
            )


class RowLimits:
    """A stopping criterion: each row has its own token limit, and all stop when interrupted, or
    when the scores of one are not finite."""

    def __init__(
        self,
        calls: Sequence[Request],
        start: int,
        device: str,
        interrupted: threading.Event,
        finite: FiniteScores,
    ) -> None:
        limits = torch.tensor([call.generation.max_tokens for call in calls])
        self._ends = (limits + start).to(device)
        self._interrupted = interrupted
        self._finite = finite

    def __call__(
        self, input_ids: torch.Tensor, scores: torch.Tensor | None, **kwargs: object
    ) -> torch.Tensor:
        if self._interrupted.is_set():
            return torch.ones_like(self._ends, dtype=torch.bool)
        return (self._ends <= input_ids.shape[1]) | self._finite.broken.any()
