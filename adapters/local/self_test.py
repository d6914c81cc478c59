"""Compares what a loaded model replies, in a batch and with a cache, with what it computes without.

Transformers may hand a cache over under a name that a model ignores, a model may count positions
over the rows of a batch: replies are then wrong, and no error is raised. So every model that writes
replies first answers two short conversations of unequal length, as its adapter will have it answer.
The scores of each reply's tokens are compared with those of one full pass over the row alone.
Scores are compared, not tokens: two tokens may be equally likely, and rounding then decides.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
import transformers
from PIL import Image

from adapters.contract import Fatal, Fault, Generation, Request
from adapters.conversation import Conversation, Picture, user
from adapters.local.contract import Encoded, Generated, Loaded, Work
from adapters.local.generate import Generator, alike, followed, pad
from adapters.local.loading import ELSEWHERE

TOKENS = 3
TESTED = "5.23.0"
"""The version of transformers in constraints.txt."""
EXACT, ROUGH = 5e-4, 0.5
"""Largest difference of two scores that is rounding, in standard deviations of a token's scores: in
float32, and in 16 bits or fewer. Seen in 37 tiny families: 6e-6, and 2e-2."""
TEXTS = ("What can be done on this page, and what of it should be done first?", "What is this?")
SIZES = ((84, 140), (112, 84))
"""Width and height in pixels of each text's picture."""


@dataclass(frozen=True, slots=True, eq=False)
class _Exchange:
    """A prompt, the ids of its reply, and their scores as the adapter runs the model, [tokens,
    vocabulary]."""

    prompt: Encoded
    ids: tuple[int, ...]
    scores: torch.Tensor


class SelfTest:
    """Two conversations with a loaded model."""

    def __init__(self, loaded: Loaded) -> None:
        model = loaded.model
        self._loaded = replace(loaded, family=_Endless(loaded.family))
        self._rows = _rows(loaded)
        exact = model.dtype == torch.float32 and not getattr(model, "is_quantized", False)
        self._tolerance = EXACT if exact else ROUGH

    def rows_may_share(self, *, together: bool) -> bool:
        """Return whether rows of a batch are answered as they are alone.

        `together` says whether the adapter would use batches of several rows. Raises `Fatal` if a
        row alone is not answered from its cache as it is without.
        """
        batched = self._ask(range(len(TEXTS))) if together else None
        if batched is not None and all(map(self._exact, batched)):
            return True
        alone = [one for row in range(len(TEXTS)) for one in self._ask([row]) or ()]
        ids = [token for one in alone for token in one.ids]
        if not all(self._exact(one) or self._begins(one, ids) for one in alone):
            raise Fatal(_refusal(self._loaded.model))
        return batched is not None and all(
            self._exact(one) or (self._begins(other, ids) and self._same(one, other))
            for one, other in zip(batched, alone, strict=True)
        )

    def _ask(self, rows: Sequence[int]) -> list[_Exchange] | None:
        """Answer rows in one batch; None if memory does not suffice for one. Raises `Fatal`."""
        request = Request(Conversation(()), Generation(max_tokens=TOKENS), "self-test", "round-1")
        works = [Work(request, self._rows[row]) for row in rows]
        with recorded(self._loaded.model) as scores:
            results = Generator(self._loaded, len(rows)).run(works)
        written: list[Generated] = []
        for result in results:
            if isinstance(result, Fault):
                raise Fatal(str(result))
            written.append(result)
        steps = scores[-TOKENS:]
        if len(steps) < TOKENS:
            kind = type(self._loaded.model).__name__
            raise Fatal(f"the replies of {kind} cannot be checked: {ELSEWHERE}")
        if any(len(step) != len(rows) for step in steps):
            return None
        return [
            _Exchange(work.encoded, result.ids, torch.stack([step[n] for step in steps]))
            for n, (work, result) in enumerate(zip(works, written, strict=True))
        ]

    def _in_full(self, prompt: Encoded, ids: Sequence[int]) -> torch.Tensor:
        """Return the scores of a reply's ids, [ids, vocabulary], by one pass over prompt and reply
        without a cache."""
        model, family = self._loaded.model, self._loaded.family
        decoded: dict[str, Any] = {}
        if model.config.is_encoder_decoder:
            start = model.config.decoder_start_token_id
            decoded["decoder_input_ids"] = torch.tensor([[start, *ids[:-1]]])
        else:
            prompt = followed(prompt, ids[:-1])
        if "logits_to_keep" in inspect.signature(model.forward).parameters:
            decoded["logits_to_keep"] = len(ids)
        padded = pad([prompt], family.pad_id)
        inputs = {"input_ids": padded.ids, "attention_mask": padded.mask, **decoded}
        moved = {
            name: value.to(self._loaded.device) if isinstance(value, torch.Tensor) else value
            for name, value in {**inputs, **family.inputs(model, padded)}.items()
        }
        with torch.inference_mode():
            scores: torch.Tensor = model(**moved, use_cache=False).logits[0]
        return scores[-len(ids) :].float().cpu()

    def _exact(self, one: _Exchange) -> bool:
        """Return whether a reply's scores are those of the pass in full."""
        return self._close(one.scores, self._in_full(one.prompt, one.ids))

    def _begins(self, one: _Exchange, others: Sequence[int]) -> bool:
        """Return whether the model looks ahead, and the first token's scores are right.

        A pass over prompt and reply cannot be the reference then. PaliGemma sees all of it from
        each of its tokens, which a pass over some of `others` in place of the reply shows. Dynamic
        rotary scaling (Qwen-VL) changes with the length, which a pass over the prompt shows.
        """
        other = next((token for token in others if token != one.ids[0]), one.ids[0])
        first = self._in_full(one.prompt, one.ids)[:1]
        changed = self._in_full(one.prompt, [other] * len(one.ids))[:1]
        start = self._in_full(one.prompt, one.ids[:1])
        # Passes of one shape differ by next to nothing, whatever the dtype.
        if self._close(changed, first, 1 / 5) and self._close(start, first):
            return False
        return self._close(one.scores[:1], start)

    def _same(self, one: _Exchange, other: _Exchange) -> bool:
        """Return whether two replies have the same scores up to the first id that differs."""
        pairs = zip(one.ids, other.ids, strict=False)
        equal = next((n for n, (a, b) in enumerate(pairs) if a != b), len(one.ids))
        return self._close(one.scores[: equal + 1], other.scores[: equal + 1])

    def _close(self, found: torch.Tensor, wanted: torch.Tensor, share: float = 1.0) -> bool:
        """Return whether scores are equal up to a share of the tolerance."""
        if found.shape != wanted.shape:
            return False
        # Scores of minus infinity forbid a token, and are equal if both are.
        off = torch.where(found == wanted, 0.0, found - wanted).abs().amax(-1)
        spread = torch.where(wanted.isfinite(), wanted, 0.0).std(-1)
        return bool((off <= share * self._tolerance * spread).all())


def _refusal(model: Any) -> str:
    kind, version = type(model).__name__, transformers.__version__
    other = f"pip install transformers=={TESTED}, or " if version != TESTED else ""
    return (
        f"{kind} with transformers {version} does not reply from its cache as it does without one, "
        f"so its replies would be wrong: {other}{ELSEWHERE}"
    )


def alone_notice(name: str) -> str:
    """Return the line for a model whose rows may not share a batch."""
    return (
        f"{name}: batches of one row, since with transformers {transformers.__version__} it does "
        "not answer two rows in a batch as it answers each alone"
    )


@contextmanager
def recorded(model: Any) -> Iterator[list[torch.Tensor]]:
    """Yield the scores of the last column, [rows, vocabulary], of every call of a model."""
    scores: list[torch.Tensor] = []

    def note(module: Any, args: Any, output: Any) -> None:
        scores.append(output.logits[:, -1].float().cpu())

    hook = model.register_forward_hook(note)
    try:
        yield scores
    finally:
        hook.remove()


class _Endless:
    """A family whose replies do not end: a short one would not try the cache."""

    stop_ids = ()

    def __init__(self, family: Any) -> None:
        self._family = family

    def __getattr__(self, name: str) -> Any:
        return getattr(self._family, name)


def _rows(loaded: Loaded) -> list[Encoded]:
    """Return prompts with a picture each, the longest first as batches are sorted."""
    gray = Image.linear_gradient("L"), Image.radial_gradient("L")
    dtype = loaded.model.dtype
    # Some models cut pictures of different sizes in ways that no batch can hold.
    for sizes in (SIZES, SIZES[:1] * 2):
        rows = []
        for text, image, size in zip(TEXTS, gray, sizes, strict=True):
            rule = loaded.family.image_rule
            width, height = rule.fit(*size) if rule is not None else size
            asked, images = user(text), []
            if loaded.family.takes_pictures:
                asked = user(Picture(text, "self-test", width, height), text)
                images = [image.resize((width, height)).convert("RGB")]
            rows.append(loaded.family.encode(Conversation((asked,)), images).lean(dtype))
        rows.sort(key=lambda row: -row.length)
        if len(alike(rows)) == len(rows):
            break
    return rows
