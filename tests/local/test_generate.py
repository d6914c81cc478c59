"""Batches never change a reply."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

import torch

from adapters.contract import Fatal, Generation
from adapters.conversation import Finish
from adapters.local.contract import Generated, Loaded
from adapters.local.generate import Generator
from tests.local.conftest import Load
from tests.local.examples import (
    Talk,
    go_on,
    ids_of,
    reference,
    stopping_at,
    talks,
)
from tests.local.tiny import FAMILIES

LENGTH = Generation(max_tokens=6)


def with_stops(loaded: Loaded, open_talks: Sequence[Talk]) -> Loaded:
    """The model with stop ids that end some of the replies early."""
    replies = [reference(loaded, talk.work(loaded.model)) for talk in open_talks]
    return stopping_at(loaded, replies[2][2], replies[4][1], replies[5][3])


@pytest.fixture(params=FAMILIES)
def loaded(request: pytest.FixtureRequest, load: Load) -> Loaded:
    return load(request.param)


@pytest.fixture
def one(load: Load) -> Loaded:
    return load("qwen2.5-vl")


def test_every_round_of_every_row_is_what_the_model_says_alone(loaded: Loaded) -> None:
    """Three rounds, 0 to 2 pictures, rows that stop early or drop out, other batches between."""
    model = loaded.model
    open_talks = talks(model, 7)
    loaded = with_stops(loaded, open_talks)
    generator = Generator(loaded, rows=8)
    lengths = set()
    for turn in range(3):
        if turn == 2:
            open_talks = open_talks[1:6]
        works = [talk.work(model) for talk in open_talks]
        replies = ids_of(generator.run(works))
        # Another batch leaves its own state in the model, which must not be looked at.
        without = [talk for talk in talks(model, 6, seed=9 + turn) if not talk.grids]
        generator.run([talk.work(model) for talk in without])
        assert replies == [reference(loaded, work) for work in works]
        lengths |= {len(reply) for reply in replies}
        go_on(open_talks, replies)
    assert len(lengths) > 2


@pytest.mark.parametrize("pictures", [True, False])
def test_a_batch_does_not_depend_on_the_batch_before_it(loaded: Loaded, pictures: bool) -> None:
    """Models keep an offset of positions between calls, which is wrong for another batch."""
    model = loaded.model
    before = [talk for talk in talks(model, 6, seed=3) if bool(talk.grids) is not pictures]
    now = [talk for talk in talks(model, 6, seed=4) if bool(talk.grids) is pictures]
    works = [talk.work(model) for talk in now]
    generator = Generator(loaded)
    generator.run([talk.work(model) for talk in before])
    assert ids_of(generator.run(works)) == [reference(loaded, work) for work in works]


def test_a_finish_reason_and_a_limit_belong_to_a_row(one: Loaded) -> None:
    model = one.model
    open_talks = talks(model, 6)
    loaded = with_stops(one, open_talks)
    limits = [1, 9, 4, 2, 6, 7]
    works = [
        talk.work(model, generation=Generation(max_tokens=limit))
        for talk, limit in zip(open_talks, limits, strict=True)
    ]
    results = Generator(loaded).run(works)
    assert ids_of(results) == [reference(loaded, work) for work in works]
    for result, limit in zip(results, limits, strict=True):
        assert isinstance(result, Generated)
        stopped = result.ids[-1] in loaded.family.stop_ids
        assert result.finish is (Finish.STOP if stopped else Finish.LENGTH)
        assert stopped or len(result.ids) == limit
    assert {r.finish for r in results if isinstance(r, Generated)} == {Finish.STOP, Finish.LENGTH}


@pytest.mark.parametrize(
    ("dtype", "broken", "advice"),
    [
        (
            torch.float16,
            float("nan"),
            "numbers may be too large for float16: try --adapter-option dtype=float32",
        ),
        (torch.float32, float("inf"), "its weights may be damaged"),
    ],
)
def test_scores_that_are_not_numbers_end_the_batch_with_one_line(
    one: Loaded, dtype: torch.dtype, broken: float, advice: str
) -> None:
    """`argmax` would take NaN for the best token, and go on to the limit."""
    model = copy.deepcopy(one.model).to(dtype)
    calls = []

    def overflow(module: Any, args: Any, logits: torch.Tensor) -> torch.Tensor:
        calls.append(logits)
        logits[1, -1, 7] = broken if len(calls) > 2 else 0.0
        return logits

    model.lm_head.register_forward_hook(overflow)
    works = [talk.work(model, generation=Generation(max_tokens=50)) for talk in talks(model, 3)]
    with pytest.raises(Fatal) as told:
        Generator(replace(stopping_at(one), model=model)).run(works)
    assert str(told.value) == (
        "the model on cpu computes scores that are not finite numbers (NaN) for step "
        f"step-0-1: {advice}"
    )
    assert len(calls) == 3


def test_a_picture_token_is_never_written(one: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    """However likely the model finds it: it would stand for a picture that is not there."""
    model = one.model
    works = [talk.work(model) for talk in talks(model, 3)]
    replies = ids_of(Generator(one).run(works))
    # Whatever the model likes to write is the picture token now.
    monkeypatch.setattr(model.config, "image_token_id", replies[0][0])
    monkeypatch.setattr(one.family, "inputs", lambda model, padded: {})
    assert all(replies[0][0] not in reply for reply in ids_of(Generator(one).run(works[:1])))
