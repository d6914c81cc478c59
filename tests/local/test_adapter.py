"""The adapter: conversations in, replies out."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

from PIL import Image

from adapters.contract import (
    AdapterInfo,
    EncodedPicture,
    Fatal,
    Fault,
    Generation,
    PixelPicture,
    Request,
)
from adapters.conversation import Conversation, Finish, Picture, Reply, user
from adapters.local.adapter import LocalAdapter
from adapters.local.contract import Loaded
from tests.local.conftest import Load
from tests.local.examples import stopping_at

Adapters = Callable[..., LocalAdapter]
SHORT = Generation(max_tokens=5)


class Pictures:
    """Plain pictures of the size that is asked for; counts how often."""

    def __init__(self) -> None:
        self.fetched = 0

    async def encoded(self, picture: Picture) -> EncodedPicture:
        raise AssertionError("a local model takes pixels")

    async def pixels(self, picture: Picture) -> PixelPicture:
        self.fetched += 1
        shade = int(picture.digest, 16) % 256
        image = Image.linear_gradient("L").resize((picture.width, picture.height))
        image = Image.merge(
            "RGB", (image, image.rotate(180), image.point(lambda v: (v + shade) % 256))
        )
        return PixelPicture(image.tobytes(), picture.width, picture.height)


@pytest.fixture
def adapter(load: Load) -> Adapters:
    def make(loaded: Loaded | None = None, rows: int = 8) -> LocalAdapter:
        model = loaded or load("qwen3-vl")
        info = AdapterInfo("hf:tiny", "tiny", "local", context_tokens=model.context_tokens)
        return LocalAdapter(info, model, rows)

    return make


async def answered(adapter: Any, requests: Sequence[Request]) -> list[Reply | Fault]:
    """The results of one batch."""
    pictures = Pictures()
    return list(await adapter.answer([await adapter.prepare(r, pictures) for r in requests]))


def request(number: int, generation: Generation = SHORT, words: int = 1) -> Request:
    picture = Picture(f"{number:x}", "plain", 64 + 32 * (number % 3), 96)
    asked = user(picture, " ".join(["book a flight"] * words), f" number {number}")
    return Request(Conversation((asked,)), generation, f"s{number}", "round-1")


def next_round(asked: Request, reply: Reply) -> Request:
    conversation = asked.conversation.then(reply, user("which of these? A. B. C."))
    return replace(asked, conversation=conversation, place="round-2")


def replies(results: Sequence[Reply | Fault]) -> list[Reply]:
    assert all(isinstance(result, Reply) for result in results), results
    return [result for result in results if isinstance(result, Reply)]


async def two_rounds(adapter: LocalAdapter, count: int = 6) -> tuple[list[Reply], list[Reply]]:
    """Both rounds of some steps, asked at the same time; the adapter is closed."""
    pictures = Pictures()
    asked = [request(number) for number in range(count)]
    try:
        first = await asyncio.gather(*(adapter.ask(one, pictures) for one in asked))
        again = [next_round(*pair) for pair in zip(asked, first, strict=True)]
        second = await asyncio.gather(*(adapter.ask(one, pictures) for one in again))
    finally:
        await adapter.close()
    return first, second


def test_two_rounds_are_the_same_in_batches_of_any_size(adapter: Adapters) -> None:
    outcomes = []
    for rows in (8, 4, 1):
        made = adapter(rows=rows)
        outcomes.append(asyncio.run(two_rounds(made)))
        counts = made.measured()["counts"]
        assert isinstance(counts, dict)
        assert (counts["rows"], counts["batches"]) == (12, {8: 2, 4: 4, 1: 12}[rows])
        assert counts["prompt_tokens"] == sum(
            reply.usage.input for part in outcomes[-1] for reply in part if reply.usage
        )
    texts = [[[r.token_ids for r in part] for part in outcome] for outcome in outcomes]
    assert all(other == texts[0] for other in texts[1:])


def test_a_reply_tells_its_ids_its_tokens_and_how_it_was_made(adapter: Adapters) -> None:
    made = adapter()
    first, second = asyncio.run(two_rounds(made, 2))
    for one, two in zip(first, second, strict=True):
        assert one.token_ids is not None
        assert two.token_ids is not None
        assert one.native == {"ids": list(one.token_ids[1]), "text": one.text}
        assert one.finish is Finish.LENGTH
        assert one.sent == {"do_sample": False, "max_new_tokens": 5}
        assert one.usage is not None
        assert two.usage is not None
        assert (one.usage.input, one.usage.output) == (len(one.token_ids[0]), 5)
        # The second prompt begins with the first one and the reply as it was generated.
        begun = one.token_ids[0] + one.token_ids[1]
        assert two.token_ids[0][: len(begun)] == begun
        assert two.usage.input == len(two.token_ids[0])


@pytest.mark.parametrize("family", ["qwen2.5-vl", "llava"])
def test_the_length_by_which_batches_are_formed_counts_the_pictures(
    adapter: Adapters, load: Load, family: str
) -> None:
    loaded = load(family)
    sizes = [(112, 112), (224, 112), (448, 224)]
    rule = loaded.family.image_rule
    assert rule is not None
    expected = [rule.tokens(*rule.fit(*size)) or 0 for size in sizes]

    async def lengths() -> list[int]:
        made = adapter(loaded=loaded)
        asked = [
            Request(Conversation((user(Picture("1", "p", *size), "where?"),)), SHORT, "s", str(n))
            for n, size in enumerate(rule.fit(*size) for size in sizes)
        ]
        found = [(await made.prepare(one, Pictures())).length for one in asked]
        await made.close()
        return found

    found = asyncio.run(lengths())
    assert len({length - tokens for length, tokens in zip(found, expected, strict=True)}) == 1
    assert family == "llava" or len(set(found)) == len(sizes)


def test_a_prompt_over_the_context_is_no_call(adapter: Adapters, load: Load) -> None:
    """And one that leaves room for three tokens gets three."""

    async def go() -> None:
        loaded = load("qwen3-vl")
        length = (await (probe := adapter()).prepare(request(0), Pictures())).length
        await probe.close()
        made = adapter(loaded=replace(loaded, context_tokens=length + 3))
        short, long = replies(await answered(made, [request(0), request(1, words=20)]))
        assert short.token_ids is not None
        assert (len(short.token_ids[1]), short.finish) == (3, Finish.LENGTH)
        assert (long.text, long.finish) == ("", Finish.TOO_LONG)
        await made.close()

    asyncio.run(go())


def test_sampling_is_told_with_its_seed_and_repeats_itself(adapter: Adapters) -> None:
    async def go() -> None:
        made, pictures = adapter(), Pictures()
        hot = Generation(max_tokens=5, temperature=1.0, top_p=0.9, seed=7)
        one = await made.ask(request(0, hot), pictures)
        batch = replies(await answered(made, [request(n, hot) for n in (2, 0, 1)]))
        assert batch[1].token_ids == one.token_ids
        assert one.sent == {
            "do_sample": True,
            "max_new_tokens": 5,
            "temperature": 1.0,
            "top_p": 0.9,
            "seed": 7,
        }
        other = await made.ask(replace(request(0, hot), repeat=1), pictures)
        assert other.token_ids != one.token_ids
        await made.close()

    asyncio.run(go())


def test_a_model_that_fails_or_is_closed_ends_the_run(adapter: Adapters, load: Load) -> None:
    async def go() -> None:
        loaded, begun = stopping_at(load("qwen3-vl")), threading.Event()
        made, pictures = adapter(loaded), Pictures()
        hook = loaded.model.register_forward_pre_hook(lambda module, args: begun.set())
        slow = request(0, Generation(max_tokens=4000))
        under_way = asyncio.create_task(made.ask(slow, pictures))
        assert await asyncio.to_thread(begun.wait, 60)
        hook.remove()
        await made.close()  # without waiting for all 4,000 tokens
        with pytest.raises(Fatal, match="was closed"):
            await under_way
        with pytest.raises(Fatal, match="was closed"):
            await made.ask(request(1), pictures)

    asyncio.run(go())


def test_the_engine_is_told_what_fits(adapter: Adapters) -> None:
    made = adapter(rows=3)
    assert (made.rows, made.info.concurrency) == (3, 6)
    asyncio.run(made.close())
