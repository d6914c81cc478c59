"""Beyond the training length: every row turns by its own length, whatever else is in the batch."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from transformers import DynamicCache

from adapters.local.contract import Encoded, Loaded
from adapters.local.generate import pad
from adapters.local.qwen_vl.prompt import pixel_values
from adapters.local.qwen_vl.vision import ntk_alpha, positions

# Prompt lengths around the training length of 128 and its doublings: alpha 1, 1, 3, 3, 7.
LENGTHS = (30, 128, 129, 200, 300)


@given(st.integers(1, 40_000), st.integers(16, 4096))
def test_alpha_is_that_of_the_original_formula(length: int, trained: int) -> None:
    steps = math.log2(length / trained)
    nearest = round(steps)
    # The logarithm of a power of two may come out a hair above it.
    exact = nearest if nearest >= 0 and length == trained * 2**nearest else steps
    assert ntk_alpha(length, trained) == max(2 ** math.ceil(exact + 1) - 1, 1)


@pytest.mark.parametrize(
    ("length", "alpha"), [(1, 1), (2048, 1), (2049, 3), (4096, 3), (4097, 7), (8192, 7)]
)
def test_alpha_at_the_published_length(length: int, alpha: int) -> None:
    assert ntk_alpha(length, 2048) == alpha


def test_positions_count_what_the_mask_lets_through() -> None:
    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 0, 1, 1]])
    assert positions(mask).tolist() == [[0, 0, 0, 1, 2], [0, 1, 0, 2, 3]]


def row(loaded: Loaded, length: int, pictures: int = 0, seed: int = 0) -> Encoded:
    """Random text of `length` ids, with pictures in it."""
    source = torch.Generator().manual_seed(seed + length)
    ids = torch.randint(0, 250, (length,), generator=source)
    vision = loaded.model.config.vision
    span = torch.tensor([vision.image_start, *[vision.image_start + 2] * 16, vision.image_end])
    images = []
    for number in range(pictures):
        start = 2 + 20 * number
        ids[start : start + 18] = span
        images.append(Image.effect_noise((60 + 9 * number, 90), 60 + seed).convert("RGB"))
    held = {"pixel_values": pixel_values(images, vision.image_size)} if images else {}
    return Encoded(ids, None, held)


def continued(loaded: Loaded, rows: list[Encoded], new: int = 8) -> list[list[int]]:
    padded = pad(rows, loaded.family.pad_id)
    given = loaded.family.inputs(loaded.model, padded)
    out = loaded.model.generate(
        input_ids=padded.ids.to(loaded.device),
        attention_mask=padded.mask.to(loaded.device),
        max_new_tokens=new,
        do_sample=False,
        **{name: tensor.to(loaded.device) for name, tensor in given.items()},
    )
    return [list(line) for line in out[:, padded.ids.shape[1] :].tolist()]


def test_a_left_padded_batch_says_what_its_rows_say_alone(loaded: Loaded) -> None:
    rows = [row(loaded, length, pictures=number % 3) for number, length in enumerate(LENGTHS)]
    alone = [continued(loaded, [one])[0] for one in rows]
    assert continued(loaded, rows) == alone
    assert len({tuple(line) for line in alone}) == len(alone)


def test_generate_finds_alpha_and_positions_by_itself(loaded: Loaded) -> None:
    rows = [row(loaded, length) for length in LENGTHS]
    padded = pad(rows, loaded.family.pad_id)
    out = loaded.model.generate(
        padded.ids, attention_mask=padded.mask, max_new_tokens=8, do_sample=False
    )
    assert out[:, padded.ids.shape[1] :].tolist() == continued(loaded, rows)


@pytest.mark.parametrize("length", [100, 300])
def test_a_prompt_read_in_pieces_gives_the_same_logits(loaded: Loaded, length: int) -> None:
    rows = [row(loaded, length, pictures=1), row(loaded, length - 37)]
    padded = pad(rows, loaded.family.pad_id)
    model, given = loaded.model, loaded.family.inputs(loaded.model, padded)
    places, alpha = given["position_ids"], given["ntk_alpha"]
    with torch.inference_mode():
        whole = model(padded.ids, padded.mask, **given).logits
        cache, pieces = DynamicCache(config=model.config), []
        for start, end in ((0, 60), (60, 61), (61, 90), (90, length)):
            piece = model(
                padded.ids[:, start:end],
                padded.mask[:, :end],
                places[:, start:end],
                cache,
                pixel_values=padded.pictures["pixel_values"] if start == 0 else None,
                ntk_alpha=alpha,
            )
            pieces.append(piece.logits)
    counted = padded.mask.bool()
    difference = torch.cat(pieces, 1)[counted] - whole[counted]
    assert difference.abs().max() < 2e-4


def test_a_cache_beyond_the_training_length_is_not_continued_on_a_guess(loaded: Loaded) -> None:
    cache = DynamicCache(config=loaded.model.config)
    ids = torch.arange(140)[None]
    with torch.inference_mode():
        loaded.model(ids[:, :100], past_key_values=cache)
        with pytest.raises(ValueError, match="ntk_alpha"):
            loaded.model(ids[:, 100:], past_key_values=cache)


def test_pictures_and_their_places_must_be_as_many(loaded: Loaded) -> None:
    one = row(loaded, 60, pictures=1)
    with pytest.raises(ValueError, match="2 pictures for 1 places"):
        loaded.model(one.ids[None], pixel_values=one.pictures["pixel_values"].repeat(2, 1, 1, 1))


def test_a_start_mark_without_its_end_is_no_picture(loaded: Loaded) -> None:
    one = row(loaded, 80, pictures=1)
    marked = one.ids.clone()
    marked[60] = loaded.model.config.vision.image_start
    assert loaded.model(marked[None], **one.pictures).logits.isfinite().all()
