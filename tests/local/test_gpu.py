"""The same on a GPU: rounds and batches, in float32 and in bfloat16."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

import torch

from adapters.contract import Generation, Request
from adapters.conversation import Conversation, Reply, user
from adapters.local.contract import Encoded, Loaded, Work
from adapters.local.generate import Generator, pad, picture_ids
from adapters.local.options import LocalOptions
from tests.local.conftest import Checkpoint
from tests.local.examples import go_on, ids_of, load_now, talks
from tests.local.test_families import noise, shown
from tests.local.tiny import FAMILIES

IMAGES = (noise(150, 90), noise(60, 210, 1), noise(150, 90, 2))
LENGTH = Generation(max_tokens=12)

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU here"),
]


@pytest.mark.parametrize("family", FAMILIES)
def test_two_rounds_are_those_of_single_rows(checkpoint: Checkpoint, family: str) -> None:
    options = LocalOptions("hf", model_path=str(checkpoint(family)), dtype="float32")
    loaded = load_now(options, "cuda:0")
    together, alone = Generator(loaded), Generator(loaded, rows=1)
    for seed in range(2):
        open_talks = talks(loaded.model, 6, seed)
        for _ in range(2):
            works = [talk.work(loaded.model) for talk in open_talks]
            replies = ids_of(together.run(works))
            assert replies == ids_of(alone.run(works))
            go_on(open_talks, replies)
    assert (together.counts["batches"], alone.counts["batches"]) == (4, 24)


def test_float32_is_not_rounded_on_the_way(checkpoint: Checkpoint) -> None:
    """A product of cuDNN or cuBLAS in TF32 would be off by 1e-3."""
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    options = LocalOptions("hf", model_path=str(checkpoint("qwen2-vl")), dtype="float32")
    loaded = load_now(options, "cuda:0")
    source = torch.Generator().manual_seed(0)
    pixels = torch.randn(64, 3, 2, 14, 14, generator=source)
    kernels = torch.randn(1280, 3, 2, 14, 14, generator=source) / 34
    made = torch.nn.functional.conv3d(pixels.cuda(), kernels.cuda()).cpu().double()
    exact = torch.nn.functional.conv3d(pixels.double(), kernels.double())
    assert (made - exact).abs().max() < 1e-4
    left, right = (torch.randn(512, 512, generator=source) for _ in range(2))
    product = (left.cuda() @ right.cuda()).cpu().double()
    assert (product - left.double() @ right.double()).abs().max() < 1e-3
    assert loaded.model.dtype == torch.float32


@pytest.mark.parametrize("family", (*FAMILIES, "llava", "gemma3", "idefics3"))
def test_sixteen_bits_are_the_default_and_follow_float32(
    checkpoint: Checkpoint, family: str
) -> None:
    """In bfloat16, as models are run: each next token is, in float32, one of the best."""
    folder = str(checkpoint(family))
    exact = load_now(LocalOptions("hf", model_path=folder, dtype="float32"), "cuda:0")
    loaded = load_now(LocalOptions("hf", model_path=folder, dtype="bfloat16"), "cuda:0")
    assert loaded.model.dtype == torch.bfloat16
    generator = Generator(loaded)
    asked = [
        Conversation((user(shown(image), "what now? " * n),)) for n, image in enumerate(IMAGES)
    ]
    for place in ("round-1", "round-2"):
        works = [
            Work(
                Request(talk, LENGTH, f"s{n}", place),
                loaded.family.encode(talk, [IMAGES[n]]).lean(torch.bfloat16),
            )
            for n, talk in enumerate(asked)
        ]
        replies = ids_of(generator.run(works))
        for n, ids in enumerate(replies):
            row = exact.family.encode(asked[n], [IMAGES[n]])
            assert behind_the_best(exact, row, ids) < 0.05
            reply = Reply(text := loaded.family.decode(ids), native={"ids": ids, "text": text})
            asked[n] = asked[n].then(reply, user("and then?"))


def behind_the_best(loaded: Loaded, row: Encoded, ids: list[int]) -> float:
    """How far, at most, the scores of a reply's tokens are behind the best, as a share of the
    range of scores."""
    added = torch.tensor(ids)
    types = row.token_types
    if types is not None:
        types = torch.cat([types, types.new_zeros(len(ids))])
    whole = replace(row, ids=torch.cat([row.ids, added]), token_types=types)
    padded = pad([whole], loaded.family.pad_id)
    inputs = loaded.family.inputs(loaded.model, padded)
    placed = {name: value.to(loaded.device) for name, value in inputs.items() if value is not None}
    with torch.no_grad():
        scores = (
            loaded.model(
                input_ids=padded.ids.to(loaded.device),
                attention_mask=padded.mask.to(loaded.device),
                **placed,
            )
            .logits[0, row.length - 1 : -1]
            .float()
        )
    # Tokens of pictures are never written.
    scores[:, picture_ids(loaded.model.config)] = scores.min()
    chosen = scores.gather(1, added.to(loaded.device)[:, None])[:, 0]
    best, least = scores.amax(-1), scores.amin(-1)
    return float(((best - chosen) / (best - least)).max())
