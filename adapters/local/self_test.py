"""Compares what a loaded model replies, in batches and with caches, with what it computes without.

Transformers may hand a cache over under a name that a model ignores, a model may count positions
over the rows of a batch: replies are then wrong, and no error is raised. So every model that writes
replies first answers two short conversations of unequal length, as its adapter will have it answer.
The scores of each reply's tokens are held against those of one pass over the row alone and in full.
Scores are compared, not tokens: two tokens may be equally likely, and rounding then decides.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
import transformers
from PIL import Image

from adapters.contract import Fatal, Fault, Generation
from adapters.conversation import Conversation, Picture, Reply, user
from adapters.local.contract import Encoded, Generated, Loaded, Work
from adapters.local.generate import Generator
from adapters.local.loading import ELSEWHERE
from adapters.local.padding import alike, followed, pad
from adapters.local.prepared import lean

TOKENS = 3
TESTED = "5.23.0"
"""The version of transformers in constraints.txt."""
EXACT, ROUGH = 5e-4, 0.5
"""Largest difference of two scores that is rounding, in standard deviations of a token's scores: in
float32, and in 16 bits or fewer. Seen in 37 tiny families: 6e-6, and 2e-2."""
TEXTS = ("What can be done on this page, and what of it should be done first?", "What is this?")
SIZES = ((84, 140), (112, 84))
"""Width and height in pixels of each text's picture."""
MORE = "And then?"


@dataclass(frozen=True, slots=True, eq=False)
class Exchange:
    """A prompt in a model's own form, the ids of its reply, and their scores as the adapter runs
    the model, [tokens, vocabulary]. `continued`: the prompt went on from a kept cache."""

    prompt: Any
    ids: tuple[int, ...]
    scores: torch.Tensor
    continued: bool = False


Ask = Callable[[Sequence[int]], "list[Exchange] | None"]
"""Answers rows, by their numbers, in one batch: the exchanges of each row in turn. None if memory
does not suffice for a batch."""
InFull = Callable[[Any, Sequence[int]], torch.Tensor]
"""Scores of a reply's ids, [ids, vocabulary], by one pass over prompt and reply without a cache."""


def rows_may_share(ask: Ask, in_full: InFull, model: Any, *, together: bool) -> bool:
    """Return whether rows of a batch are answered as they are alone.

    Args:
        ask: answers rows as the adapter does.
        in_full: the reference.
        model: the model, for its type and the dtype of its numbers.
        together: whether the adapter would use batches of several rows.

    Raises `Fatal` if a row alone is not answered from its cache as it is without.
    """
    exact = model.dtype == torch.float32 and not getattr(model, "is_quantized", False)
    close = _Closeness(in_full, EXACT if exact else ROUGH)
    batched = ask(range(len(TEXTS))) if together else None
    if batched is not None and all(map(close.exact, batched)):
        return True
    alone = [exchange for row in range(len(TEXTS)) for exchange in ask([row]) or ()]
    ids = [token for one in alone for token in one.ids]
    wrong = [one for one in alone if not (close.exact(one) or close.begins(one, ids))]
    if wrong:
        raise Fatal(_refusal(model, all(one.continued for one in wrong)))
    if batched is None or len(batched) != len(alone):
        return False
    return all(
        close.exact(one) or (close.begins(other, ids) and close.same(one, other))
        for one, other in zip(batched, alone, strict=True)
    )


@dataclass(frozen=True)
class _Closeness:
    in_full: InFull
    tolerance: float

    def exact(self, one: Exchange) -> bool:
        """Return whether a reply's scores are those of the pass in full."""
        return self._close(one.scores, self.in_full(one.prompt, one.ids), self.tolerance)

    def begins(self, one: Exchange, others: Sequence[int]) -> bool:
        """Return whether the model looks ahead, and the first token's scores are right.

        A pass over prompt and reply is no reference then. PaliGemma sees all that it is given from
        each of its tokens, which a pass over some of `others` in place of the reply shows. Dynamic
        rotary scaling (Qwen-VL) changes with the length, which a pass over the prompt shows.
        """
        other = next((token for token in others if token != one.ids[0]), one.ids[0])
        first = self.in_full(one.prompt, one.ids)[:1]
        changed = self.in_full(one.prompt, [other] * len(one.ids))[:1]
        start = self.in_full(one.prompt, one.ids[:1])
        # Passes of one shape differ by next to nothing, whatever the dtype.
        if self._close(changed, first, self.tolerance / 5) and self._close(
            start, first, self.tolerance
        ):
            return False
        return self._close(one.scores[:1], start, self.tolerance)

    def same(self, one: Exchange, other: Exchange) -> bool:
        """Return whether two replies have the same scores up to the first id that differs."""
        pairs = zip(one.ids, other.ids, strict=False)
        equal = next((n for n, (a, b) in enumerate(pairs) if a != b), len(one.ids))
        return self._close(one.scores[: equal + 1], other.scores[: equal + 1], self.tolerance)

    @staticmethod
    def _close(found: torch.Tensor, wanted: torch.Tensor, tolerance: float) -> bool:
        if found.shape != wanted.shape:
            return False
        # Scores of minus infinity forbid a token, and are equal if both are.
        off = torch.where(found == wanted, 0.0, found - wanted).abs().amax(-1)
        spread = torch.where(wanted.isfinite(), wanted, 0.0).std(-1)
        return bool((off <= tolerance * spread).all())


def _refusal(model: Any, only_continued: bool) -> str:
    kind, version = type(model).__name__, transformers.__version__
    if only_continued:
        return (
            f"{kind} with transformers {version} does not go on from the keys and values of an "
            "earlier round as it replies without them: give --adapter-option kv_reuse=no"
        )
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


class Conversations:
    """The test's rows for a model that goes on with conversations (`LocalAdapter`)."""

    def __init__(self, loaded: Loaded, *, kv_reuse: bool) -> None:
        self._loaded = replace(loaded, family=_Endless(loaded.family))
        self._kv_reuse = kv_reuse
        self._rows = _rows(loaded)

    def ask(self, rows: Sequence[int]) -> list[Exchange] | None:
        """Answer rows in one batch, and a second round if its keys are kept. Raises `Fatal`."""
        generator = Generator(self._loaded, rows=len(rows), kv_reuse=self._kv_reuse)
        talks = [self._rows[row] for row in rows]
        first = self._round(generator, rows, [prompt for _, _, prompt in talks], "round-1")
        if first is None or not len(generator.cohorts):
            return first
        prompts = []
        for (asked, images, _), one in zip(talks, first, strict=True):
            text = self._loaded.family.decode(one.ids)
            reply = Reply(text, native={"ids": list(one.ids), "text": text})
            prompts.append(_encoded(self._loaded, asked.then(reply, user(MORE)), images))
        second = self._round(generator, rows, prompts, "round-2")
        if second is None or not all(one.continued for one in second):
            return first
        return [one for pair in zip(first, second, strict=True) for one in pair]

    def in_full(self, prompt: Encoded, ids: Sequence[int]) -> torch.Tensor:
        model, family = self._loaded.model, self._loaded.family
        padded = pad([followed(prompt, ids[:-1])], family.pad_id, self._loaded.device)
        inputs = {
            "input_ids": padded.ids,
            "attention_mask": padded.mask,
            **family.inputs(model, padded),
        }
        if "logits_to_keep" in inspect.signature(model.forward).parameters:
            inputs["logits_to_keep"] = len(ids)
        scores = called(model, self._loaded.device, inputs)
        return scores[-len(ids) :]

    def _round(
        self, generator: Generator, rows: Sequence[int], prompts: Sequence[Encoded], place: str
    ) -> list[Exchange] | None:
        works = [
            Work(f"self-test-{row}", 0, place, prompt, Generation(max_tokens=TOKENS), True)
            for row, prompt in zip(rows, prompts, strict=True)
        ]
        with recorded(self._loaded.model) as scores:
            results = generator.run(works)
        written: list[Generated] = []
        for result in results:
            if isinstance(result, Fault):
                raise Fatal(str(result))
            written.append(result)
        steps = scores[-TOKENS:]
        if len(steps) < TOKENS:
            kind = type(self._loaded.model).__name__
            raise Fatal(f"the replies of {kind} cannot be checked: {ELSEWHERE}")
        if len(rows) > 1 and any(len(step) != len(rows) for step in steps):
            return None
        return [
            Exchange(
                prompt, result.ids, torch.stack([step[n] for step in steps]), result.cached > 0
            )
            for n, (prompt, result) in enumerate(zip(prompts, written, strict=True))
        ]


def called(model: Any, device: str, inputs: dict[str, Any]) -> torch.Tensor:
    """Return the scores of one row, [columns, vocabulary], by a call without a cache."""
    moved = {
        name: value.to(device) if isinstance(value, torch.Tensor) else value
        for name, value in inputs.items()
    }
    with torch.inference_mode():
        scores: torch.Tensor = model(**moved, use_cache=False).logits[0]
    return scores.float().cpu()


def _rows(loaded: Loaded) -> list[tuple[Conversation, list[Image.Image], Encoded]]:
    """Return conversations with a picture each, the longest first as batches are sorted."""
    gray = Image.linear_gradient("L"), Image.radial_gradient("L")
    # Some models cut pictures of different sizes in ways that no batch can hold.
    for sizes in (SIZES, SIZES[:1] * 2):
        rows = []
        for text, image, size in zip(TEXTS, gray, sizes, strict=True):
            rule = loaded.family.image_rule
            width, height = rule.fit(*size) if rule is not None else size
            shown = Picture(text, "self-test", width, height)
            images = [image.resize((width, height)).convert("RGB")]
            asked = Conversation((user(shown, text),))
            rows.append((asked, images, _encoded(loaded, asked, images)))
        rows.sort(key=lambda row: -row[2].length)
        if len(alike([prompt for _, _, prompt in rows])) == len(rows):
            break
    return rows


def _encoded(loaded: Loaded, asked: Conversation, images: list[Image.Image]) -> Encoded:
    dtype = loaded.model.dtype
    return lean(loaded.family.encode(asked, images), dtype if dtype.is_floating_point else None)
