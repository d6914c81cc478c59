"""Rows for generation, built by hand, and what the library itself says about them."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from adapters.contract import Generation, Request
from adapters.conversation import Conversation
from adapters.local.contract import Encoded, Generated, Loaded, Work
from adapters.local.options import LocalOptions

if TYPE_CHECKING:
    import torch

TEXT_IDS = range(20, 250)
GRIDS = ((1, 4, 4), (1, 2, 6), (1, 4, 8))


@dataclass
class Talk:
    """A dialogue as ids: turns of text, and pictures (grids) in the first of them."""

    step_id: str
    ids: list[int] = field(default_factory=list)
    types: list[int] = field(default_factory=list)
    grids: list[tuple[int, int, int]] = field(default_factory=list)
    repeat: int = 0
    round: int = 0

    def say(self, count: int, rng: random.Random) -> Talk:
        self.ids += [rng.choice(TEXT_IDS) for _ in range(count)]
        self.types += [0] * count
        return self

    def show(self, model: Any, grid: tuple[int, int, int]) -> Talk:
        config = model.config
        tokens = grid[0] * grid[1] * grid[2] // 4
        self.ids += [
            config.vision_start_token_id,
            *[config.image_token_id] * tokens,
            config.vision_end_token_id,
        ]
        self.types += [0, *[1] * tokens, 0]
        self.grids.append(grid)
        return self

    def answer(self, reply: Sequence[int]) -> Talk:
        self.ids += reply
        self.types += [0] * len(reply)
        self.round += 1
        return self

    def encoded(self, model: Any) -> Encoded:
        import torch

        pictures: dict[str, torch.Tensor] = {}
        if self.grids:
            source = torch.Generator().manual_seed(len(self.grids) + self.grids[0][1])
            vision = model.config.vision_config
            width = 3 * vision.temporal_patch_size * vision.patch_size**2
            patches = sum(t * h * w for t, h, w in self.grids)
            pictures = {
                "pixel_values": torch.randn(patches, width, generator=source),
                "image_grid_thw": torch.tensor(self.grids),
            }
        return Encoded(
            torch.tensor(self.ids),
            torch.tensor(self.types, dtype=torch.int32),
            pictures,
        )

    def work(self, model: Any, generation: Generation | None = None) -> Work:
        generation = generation or Generation(max_tokens=6)
        place = f"round-{self.round + 1}"
        request = Request(Conversation(()), generation, self.step_id, place, repeat=self.repeat)
        return Work(request, self.encoded(model))


def talks(model: Any, count: int, seed: int = 0) -> list[Talk]:
    """Dialogues with 0, 1 or 2 pictures and texts of different lengths."""
    rng = random.Random(seed)
    made = []
    for number in range(count):
        talk = Talk(f"step-{seed}-{number}").say(rng.randint(1, 25), rng)
        for _ in range(number % 3):
            talk.show(model, rng.choice(GRIDS)).say(rng.randint(1, 9), rng)
        made.append(talk)
    return made


def reference(loaded: Loaded, work: Work) -> list[int]:
    """The row alone, in full, through the library with its own positions and nothing kept."""
    import torch

    model, encoded = loaded.model, work.encoded
    model.model.rope_deltas = None
    with torch.inference_mode():
        out = model.generate(
            input_ids=encoded.ids[None],
            attention_mask=torch.ones_like(encoded.ids[None]),
            mm_token_type_ids=None if encoded.token_types is None else encoded.token_types[None],
            do_sample=False,
            repetition_penalty=1.0,
            max_new_tokens=work.max_tokens,
            eos_token_id=list(loaded.family.stop_ids),
            pad_token_id=loaded.family.pad_id,
            suppress_tokens=[model.config.image_token_id, model.config.video_token_id],
            **encoded.pictures,
        )
    model.model.rope_deltas = None
    return [int(token) for token in out[0, encoded.length :]]


def load_now(options: LocalOptions, device: str = "cpu") -> Loaded:
    """Load the model that the options name, ready on its device."""
    from adapters.local.loading import read

    return read(options, device).load()


def ids_of(results: Sequence[object]) -> list[list[int]]:
    found = []
    for result in results:
        assert isinstance(result, Generated), result
        found.append(list(result.ids))
    return found


def stopping_at(loaded: Loaded, *stop_ids: int) -> Loaded:
    """The same model and rules with other stop ids."""
    family: Any = copy.copy(loaded.family)
    family.__class__ = type("Stopping", (type(family),), {"stop_ids": stop_ids})
    return replace(loaded, family=family)


def go_on(open_talks: Sequence[Talk], replies: Sequence[Sequence[int]], seed: int = 1) -> None:
    rng = random.Random(seed)
    for talk, reply in zip(open_talks, replies, strict=True):
        talk.answer(reply).say(rng.randint(1, 9), rng)
