"""Batches, rounds and what is kept between them never change a reply."""

from __future__ import annotations

import copy
import random
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
    GRIDS,
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


def test_every_round_of_every_row_is_what_the_model_says_alone_and_in_full(loaded: Loaded) -> None:
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
        expected = [reference(loaded, work) for work in works]
        results = generator.run(works)
        replies = ids_of(results)
        assert replies == expected
        lengths |= {len(reply) for reply in replies}
        if turn:
            assert all(isinstance(r, Generated) and r.cached for r in results)
        go_on(open_talks, replies)
        # Another batch leaves its own state in the model, which must not be looked at.
        generator.run([talk.work(model) for talk in talks(model, 3, seed=9 + turn)])
    assert len(lengths) > 2
    assert generator.stats.recomputed == 0


def test_one_by_one_is_the_same_as_eight_at_a_time(loaded: Loaded) -> None:
    model = loaded.model
    together, alone = talks(model, 8), talks(model, 8)
    loaded = with_stops(loaded, together)
    eight, single = Generator(loaded, rows=8), Generator(loaded, rows=1)
    for _ in range(2):
        at_once = ids_of(eight.run([talk.work(model) for talk in together]))
        in_turn = [ids_of(single.run([talk.work(model)]))[0] for talk in alone]
        assert at_once == in_turn
        go_on(together, at_once)
        go_on(alone, in_turn)
    assert eight.stats.reused == single.stats.reused == 8


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


@pytest.mark.parametrize("how", ["no reuse", "no memory", "another process"])
def test_what_is_not_kept_is_computed_again_with_the_same_replies(one: Loaded, how: str) -> None:
    model = one.model
    open_talks = talks(model, 5)
    kept = Generator(one)
    other = Generator(one, kv_reuse=how != "no reuse")
    if how == "no memory":
        other._room.budget = 0
    first = [talk.work(model) for talk in open_talks]
    replies = ids_of(kept.run(first))
    if how != "another process":
        assert ids_of(other.run(first)) == replies
    go_on(open_talks, replies)
    second = [talk.work(model) for talk in open_talks]
    assert ids_of(other.run(second)) == ids_of(kept.run(second))
    assert (kept.stats.reused, kept.stats.recomputed) == (5, 0)
    assert (other.stats.reused, other.stats.recomputed) == (0, 5)
    assert len(other.cohorts) == (0 if how != "another process" else 1)


def test_a_row_that_diverged_is_computed_in_full_and_the_others_go_on(one: Loaded) -> None:
    model = one.model
    open_talks = talks(model, 4)
    generator = Generator(one)
    go_on(open_talks, ids_of(generator.run([talk.work(model) for talk in open_talks])))
    open_talks[1].ids[3] = (open_talks[1].ids[3] + 1) % 200 + 20
    works = [talk.work(model) for talk in open_talks]
    results = generator.run(works)
    assert ids_of(results) == [reference(one, work) for work in works]
    assert [bool(r.cached) for r in results if isinstance(r, Generated)] == [
        True,
        False,
        True,
        True,
    ]


def test_a_reply_that_the_conversation_ends_otherwise_is_reused_as_far_as_it_goes(
    one: Loaded,
) -> None:
    """A template may write another end than the model did, or a protocol cut a reply short."""
    model = one.model
    open_talks = talks(model, 4)
    generator = Generator(one)
    replies = ids_of(generator.run([talk.work(model) for talk in open_talks]))
    go_on(open_talks, [reply[: len(reply) - number] for number, reply in enumerate(replies)])
    works = [talk.work(model) for talk in open_talks]
    results = generator.run(works)
    assert ids_of(results) == [reference(one, work) for work in works]
    assert generator.stats.reused == 4


def test_a_picture_in_a_later_round_is_looked_at(one: Loaded) -> None:
    model = one.model
    open_talks = talks(model, 3)
    generator = Generator(one)
    go_on(open_talks, ids_of(generator.run([talk.work(model) for talk in open_talks])))
    for talk in open_talks[:2]:
        talk.show(model, GRIDS[0]).say(3, random.Random(5))
    works = [talk.work(model) for talk in open_talks]
    assert ids_of(generator.run(works)) == [reference(one, work) for work in works]
    assert generator.stats.reused == 1


def test_repeats_and_branches_of_a_step_never_share_a_row(one: Loaded) -> None:
    """Two repeats with the same first round, and two calls side by side after one of them."""
    model = one.model
    generator = Generator(one)
    (talk,) = talks(model, 1)
    repeats = [replace(talk, ids=list(talk.ids), types=list(talk.types), repeat=r) for r in (0, 1)]
    go_on(repeats, ids_of(generator.run([t.work(model) for t in repeats])))
    branch = replace(repeats[0], ids=[*repeats[0].ids, 33], types=[*repeats[0].types, 0])
    works = [repeats[0].work(model), branch.work(model), repeats[1].work(model)]
    results = generator.run(works)
    assert ids_of(results) == [reference(one, work) for work in works]
    assert sorted(bool(r.cached) for r in results if isinstance(r, Generated)) == [
        False,
        True,
        True,
    ]


def test_keys_that_hold_for_short_prompts_only_are_not_used_in_a_long_one(one: Loaded) -> None:
    model = one.model
    open_talks = talks(model, 3)
    border = sorted(len(talk.ids) for talk in open_talks)[1] + 8
    family = stopping_at(one, *one.family.stop_ids).family
    family.reusable = lambda before, now: (before < border) == (now < border)  # type: ignore[method-assign]
    generator = Generator(replace(one, family=family))
    go_on(open_talks, ids_of(generator.run([talk.work(model) for talk in open_talks])))
    works = [talk.work(model) for talk in open_talks]
    crossed = [not family.reusable(w.encoded.built_on - 6, w.encoded.length) for w in works]
    results = generator.run(works)
    assert ids_of(results) == [reference(one, work) for work in works]
    assert [r.cached == 0 for r in results if isinstance(r, Generated)] == crossed
    assert set(crossed) == {True, False}


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
