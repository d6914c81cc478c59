"""Calls `generate`: a padded batch in, token ids out."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from transformers import GenerationConfig

from adapters.contract import Fatal
from adapters.conversation import Finish
from adapters.local.cache import make_room
from adapters.local.contract import Loaded, Padded
from adapters.local.sampling import Draw, FiniteScores, ForbiddenTokens, RowLimits, samples
from adapters.local.vision_windows import attend_in_pieces
from adapters.local.work import Work


class Writer:
    """A model that writes replies. One thread uses it; `interrupt` may come from any."""

    def __init__(self, loaded: Loaded) -> None:
        self._model = loaded.model
        self._family = loaded.family
        self._device = loaded.device
        self._forbidden = ForbiddenTokens(loaded.model.config, loaded.device)
        self._interrupted = threading.Event()
        # `generate` takes its defaults from here: a checkpoint must not decide on sampling.
        self._model.generation_config = GenerationConfig()
        self._model.eval()
        attend_in_pieces(self._model)

    def interrupt(self) -> None:
        """Stop the current batch, which then raises `Fatal`."""
        self._interrupted.set()

    def write(
        self, works: Sequence[Work], padded: Padded, inputs: Mapping[str, Any], cache: Any
    ) -> torch.Tensor:
        """New ids [rows, columns], on the CPU: as many columns as the longest reply has, and after
        the end of a shorter one nothing that counts. The cache then holds all columns but the last.
        """
        start = int(padded.ids.shape[1])
        new = max(work.generation.max_tokens for work in works)
        make_room(cache, new)
        finite = FiniteScores(works, self._device)
        limits = RowLimits(works, start, self._device, self._interrupted, finite)
        choosing: list[Any] = [finite, self._forbidden]
        if any(samples(work.generation) for work in works):
            choosing.append(Draw(works, start, self._device))
        with torch.inference_mode():
            sequences: torch.Tensor = self._model.generate(
                input_ids=self._moved(padded.ids),
                attention_mask=self._moved(padded.mask),
                past_key_values=cache,
                generation_config=self._greedy(new),
                logits_processor=choosing,
                stopping_criteria=[limits],
                **{name: self._moved(value) for name, value in inputs.items()},
            )
        if self._interrupted.is_set():
            raise Fatal("generation was stopped")
        finite.check(self._model.dtype, self._device)
        return sequences[:, start:].cpu()

    def reply(self, work: Work, ids: Sequence[int]) -> tuple[tuple[int, ...], Finish]:
        """Return a row's ids up to its stop id or its own limit."""
        kept = tuple(ids[: work.generation.max_tokens])
        for count, token in enumerate(kept, 1):
            if token in self._family.stop_ids:
                return kept[:count], Finish.STOP
        return kept, Finish.LENGTH

    def _greedy(self, new: int) -> GenerationConfig:
        """Set every parameter explicitly; no default of a checkpoint or library version applies.
        Rows that sample are left one token to choose from."""
        return GenerationConfig(
            max_new_tokens=new,
            do_sample=False,
            num_beams=1,
            repetition_penalty=1.0,
            use_cache=True,
            eos_token_id=list(self._family.stop_ids) or None,
            pad_token_id=self._family.pad_id,
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
