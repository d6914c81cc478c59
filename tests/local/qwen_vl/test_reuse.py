"""Two rounds from kept keys and values say what two full rounds say, and only where they hold."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

import torch
from PIL import Image
from transformers import DynamicCache

from adapters.contract import Generation
from adapters.conversation import Conversation, Picture, Reply, user
from adapters.local.contract import Encoded, Generated, Loaded, Work
from adapters.local.generate import Generator
from adapters.local.padding import pad, pad_after
from adapters.local.qwen_vl.model import QwenVL
from adapters.local.qwen_vl.vision import plain_attention
from adapters.local.writer import CACHE, pieces

TRAINED = 128
PICTURE = Picture("0" * 64, "recipe", 70, 90)
SHOTS = [Image.effect_noise((70, 90), 40 + 20 * n).convert("RGB") for n in range(4)]


def talk(words: int, picture: bool = True) -> Conversation:
    parts = (PICTURE, "x" * words) if picture else ("y" * words,)
    return Conversation((user(*parts),))


def encoded(loaded: Loaded, conversation: Conversation, shot: int) -> Encoded:
    return loaded.family.encode(conversation, SHOTS[shot : shot + len(conversation.pictures)])


def gone_on(loaded: Loaded, first: Conversation, ids: list[int], more: int) -> Conversation:
    text = loaded.family.decode(ids)
    return first.then(Reply(text, native={"ids": ids, "text": text}), user("z" * more))


def generate(loaded: Loaded, ids: torch.Tensor, mask: torch.Tensor, **given: object) -> list[int]:
    out = loaded.model.generate(
        input_ids=ids,
        attention_mask=mask,
        max_new_tokens=8,
        do_sample=False,
        pad_token_id=loaded.family.pad_id,
        **given,
    )
    return [int(number) for number in out[0, ids.shape[1] :]]


@pytest.mark.parametrize(("words", "more"), [(20, 10), (100, 30)])
def test_a_second_round_from_a_dynamic_cache_equals_the_full_one(
    loaded: Loaded, words: int, more: int
) -> None:
    """20: below the training length. 100: 170 to 230 tokens, all within the same step of 256."""
    family, model = loaded.family, loaded.model
    first = encoded(loaded, talk(words), 0)
    cache = DynamicCache(config=model.config)
    padded = pad([first], family.pad_id, "cpu")
    reply = generate(
        loaded, padded.ids, padded.mask, **{CACHE: cache}, **family.inputs(model, padded)
    )
    second = encoded(loaded, gone_on(loaded, talk(words), reply, more), 0)
    assert family.reusable(first.length, second.length)
    assert second.ids[: first.length].equal(first.ids)
    kept = pad([Encoded(second.ids[: cache.get_seq_length()], None)], family.pad_id, "cpu")
    padded = pad_after(kept, [second], [cache.get_seq_length()], family.pad_id)
    continued = generate(
        loaded,
        padded.ids,
        padded.mask,
        **{CACHE: cache},
        **family.continued_inputs(model, padded, cache.get_seq_length()),
    )
    padded = pad([second], family.pad_id, "cpu")
    assert continued == generate(loaded, padded.ids, padded.mask, **family.inputs(model, padded))


@pytest.mark.parametrize(
    ("before", "now", "holds"),
    [(50, 128, True), (128, 129, False), (129, 256, True), (250, 257, False), (600, 900, True)],
)
def test_keys_hold_only_within_one_step_of_the_rotary_base(
    loaded: Loaded, before: int, now: int, holds: bool
) -> None:
    assert loaded.family.reusable(before, now) is holds


@pytest.mark.parametrize("name", ["cache", "past_key_values"])
def test_a_cache_is_read_under_either_name_that_transformers_has_for_it(
    loaded: Loaded, name: str
) -> None:
    ids = torch.arange(30)[None]
    given = {name: DynamicCache(config=loaded.model.config)}
    with torch.inference_mode():
        whole = loaded.model(ids).logits
        first = loaded.model(ids[:, :20], **given).logits
        second = loaded.model(ids[:, 20:], **given).logits
    torch.testing.assert_close(torch.cat([first, second], 1), whole, rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", ["token_type_ids", "cache_params", "encoder_states"])
def test_an_input_that_the_model_does_not_know_is_refused(loaded: Loaded, name: str) -> None:
    ids = torch.arange(5)[None]
    with pytest.raises(TypeError, match=name):
        loaded.model(ids, **{name: ids})


@pytest.mark.parametrize("called", [QwenVL.forward, plain_attention, pieces])
def test_what_transformers_calls_takes_nothing_that_it_would_ignore(
    called: Callable[..., object],
) -> None:
    kinds = {one.kind for one in signature(called).parameters.values()}
    assert kinds == {Parameter.POSITIONAL_OR_KEYWORD}


def rounds(
    loaded: Loaded, talks: list[tuple[Conversation, int]], *, reuse: bool
) -> tuple[list[list[int]], list[int]]:
    """The ids of both rounds of each dialogue in batches, and how many each second round reused."""
    generator = Generator(loaded, kv_reuse=reuse)
    generation = Generation(max_tokens=10)

    def asked(conversations: list[Conversation], place: str, goes_on: bool) -> list[Generated]:
        works = [
            Work(f"s{n}", 0, place, encoded(loaded, conversation, n), generation, goes_on)
            for n, conversation in enumerate(conversations)
        ]
        results = generator.run(works)
        assert all(isinstance(result, Generated) for result in results), results
        return [result for result in results if isinstance(result, Generated)]

    first = asked([conversation for conversation, _ in talks], "round-1", True)
    second = asked(
        [
            gone_on(loaded, conversation, list(reply.ids), more)
            for (conversation, more), reply in zip(talks, first, strict=True)
        ],
        "round-2",
        False,
    )
    return [list(r.ids) for r in (*first, *second)], [reply.cached for reply in second]


def test_a_batch_goes_on_from_its_cache_where_it_holds_and_reads_again_where_not(
    loaded: Loaded,
) -> None:
    talks = [
        (talk(10, picture=False), 5),  # stays below the training length
        (talk(20), 60),  # crosses it in round 2
        (talk(80), 20),  # beyond it in both
        (talk(150), 100),  # crosses the next doubling
    ]
    with_reuse, cached = rounds(loaded, talks, reuse=True)
    without, none = rounds(loaded, talks, reuse=False)
    assert with_reuse == without
    assert [bool(count) for count in cached] == [True, False, True, False]
    assert none == [0, 0, 0, 0]
    alone = [rounds(loaded, [one], reuse=False)[0] for one in talks[:1]]
    assert [without[0], without[4]] == alone[0]
