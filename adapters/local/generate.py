"""Replies for batches of conversations, with one model on one device.

A batch is padded on the left and handed to transformers' `generate`, which keeps a cache for that
call only: every round of a dialogue reads its conversation in full.
"""

from __future__ import annotations

import gc
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from transformers import GenerationConfig

from adapters.contract import Fatal, Fault
from adapters.conversation import Finish
from adapters.local.checkpoint import UNKNOWN_RAM, free_ram
from adapters.local.contract import Encoded, Generated, Loaded, Notices, Padded, Work
from adapters.local.options import model_failed
from adapters.local.sampling import Draw, FiniteScores, RowLimits, picture_ids, samples


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
