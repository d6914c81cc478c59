"""Sampling: a reply depends on its seed, step, repeat, place and sample, and on nothing else."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

import torch

from adapters.contract import Generation, Request
from adapters.conversation import Conversation
from adapters.local.contract import Loaded
from adapters.local.generate import Draw, Generator, picture_ids
from tests.local.examples import ids_of, talks

HOT = Generation(max_tokens=6, temperature=0.9, top_p=0.95, seed=3)


def call(step: str, generation: Generation, repeat: int = 0, sample: int = 0) -> Request:
    asked = Conversation(())
    return Request(asked, generation, step, "round-1", repeat=repeat, sample=sample)


def drawn(works: list[Request], logits: list[float]) -> list[int]:
    """The first token of each reply, when every row has these logits."""
    scores = torch.tensor([logits] * len(works))
    ids = torch.zeros((len(works), 1), dtype=torch.long)
    return [int(t) for t in Draw(works, 1, "cpu")(ids, scores).argmax(-1)]


def test_a_reply_does_not_depend_on_its_batch(load: Callable[[str], Loaded]) -> None:
    loaded = load("qwen2.5-vl")
    model = loaded.model
    works = [talk.work(model, generation=HOT) for talk in talks(model, 7)]
    generator = Generator(loaded)
    together = ids_of(generator.run(works))
    assert together == [ids_of(generator.run([work]))[0] for work in works]
    backwards = ids_of(generator.run(works[::-1]))
    assert together == backwards[::-1]
    assert together != ids_of(
        generator.run([t.work(model, generation=Generation(max_tokens=6)) for t in talks(model, 7)])
    )


def test_another_seed_step_repeat_or_sample_draws_anew() -> None:
    flat = [0.0] * 1000
    base = call("a", HOT)
    others = [
        call("b", HOT),
        call("a", HOT, repeat=1),
        call("a", HOT, sample=1),
        call("a", Generation(max_tokens=6, temperature=0.9, seed=4)),
    ]
    tokens = drawn([base, *others], flat)
    assert len(set(tokens)) == 5
    assert drawn([base], flat) == tokens[:1]


def test_greedy_rows_are_left_alone() -> None:
    logits = [0.0, 1.0, 2.0, 1.9]
    rows = [call(str(n), Generation(temperature=t)) for n, t in enumerate((None, 0.0, None))]
    assert drawn([*rows, call("x", HOT)], logits)[:3] == [2, 2, 2]


def test_tokens_come_as_often_as_the_temperature_and_the_share_say() -> None:
    """Shares 0.5, 0.3, 0.15, 0.05: at a share of 0.9 the last is never drawn."""
    shares = [0.5, 0.3, 0.15, 0.05]
    rows = [call(str(n), Generation(temperature=1.0, top_p=0.9)) for n in range(4000)]
    tokens = drawn(rows, [float(torch.tensor(share).log()) for share in shares])
    counts = [tokens.count(token) / 4000 for token in range(4)]
    for count, share in zip(counts, [0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0.0], strict=True):
        assert abs(count - share) < 0.025
    # Half the temperature squares the odds.
    rows = [call(str(n), Generation(temperature=0.5)) for n in range(4000)]
    tokens = drawn(rows, [float(torch.tensor(share).log()) for share in shares])
    squared = [share**2 / sum(s**2 for s in shares) for share in shares]
    for token, share in enumerate(squared):
        assert abs(tokens.count(token) / 4000 - share) < 0.025


def test_a_share_of_almost_nothing_is_greedy() -> None:
    rows = [call(str(n), Generation(temperature=5.0, top_p=1e-6)) for n in range(200)]
    assert set(drawn(rows, [0.0, 0.1, 0.2, 0.05])) == {2}


@pytest.mark.parametrize(("token", "left_out"), [(2, [2]), (4, []), (-1, [])])
def test_picture_ids_are_left_out_where_they_can_be_written(
    token: int, left_out: list[int]
) -> None:
    config = SimpleNamespace(image_token_id=token, text_config=SimpleNamespace(vocab_size=4))
    assert picture_ids(config) == left_out
