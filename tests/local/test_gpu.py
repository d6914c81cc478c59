"""The same on a GPU: rounds and batches."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

import torch

from adapters.local import unloaded
from adapters.local.generate import Generator
from adapters.local.options import LocalOptions
from tests.local.conftest import Checkpoint
from tests.local.examples import go_on, ids_of, talks
from tests.local.tiny import FAMILIES

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU here"),
]


@pytest.mark.parametrize("family", FAMILIES)
def test_two_rounds_are_those_of_single_rows_in_full(checkpoint: Checkpoint, family: str) -> None:
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    options = LocalOptions("hf", model_path=str(checkpoint(family)), dtype="float32")
    loaded = unloaded.load(options, "cuda:0")
    together = Generator(loaded)
    alone = Generator(loaded, rows=1, kv_reuse=False)
    for seed in range(2):
        open_talks = talks(loaded.model, 6, seed)
        for _ in range(2):
            works = [talk.work(loaded.model) for talk in open_talks]
            replies = ids_of(together.run(works))
            assert replies == ids_of(alone.run(works))
            go_on(open_talks, replies)
    assert together.stats.reused == 12
    assert together.stats.peak_bytes > 0
