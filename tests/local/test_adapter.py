"""The adapter over one worker or several: conversations in, replies out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

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
from adapters.local.worker import ThreadWorker
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
    def make(workers: int = 1, loaded: Loaded | None = None, **settings: object) -> LocalAdapter:
        model = loaded or load("qwen3-vl")
        keeping = {k: settings.pop(k) for k in ("rows", "kv_reuse") if k in settings}
        made = [ThreadWorker(model, **{"rows": 8, **keeping}) for _ in range(workers)]  # type: ignore[arg-type]
        info = AdapterInfo("hf:tiny", "tiny", "local", context_tokens=model.context_tokens)
        return LocalAdapter(info, model.family, made, **settings)  # type: ignore[arg-type]

    return make


def request(number: int, generation: Generation = SHORT, words: int = 1) -> Request:
    picture = Picture(f"{number:x}", "plain", 64 + 32 * (number % 3), 96)
    asked = user(picture, " ".join(["book a flight"] * words), f" number {number}")
    return Request(Conversation((asked,)), generation, f"s{number}", "round-1", continues=True)


def next_round(asked: Request, reply: Reply) -> Request:
    conversation = asked.conversation.then(reply, user("which of these? A. B. C."))
    return replace(asked, conversation=conversation, place="round-2", continues=False)


def replies(results: Sequence[Reply | Fault]) -> list[Reply]:
    assert all(isinstance(result, Reply) for result in results), results
    return [result for result in results if isinstance(result, Reply)]


async def two_rounds(adapter: LocalAdapter, count: int = 6) -> tuple[list[Reply], list[Reply]]:
    """Both rounds of some steps, in two batches at a time; the adapter is closed."""
    pictures = Pictures()
    asked = [request(number) for number in range(count)]
    try:
        halves = await asyncio.gather(
            adapter.ask_many(asked[: count // 2], pictures),
            adapter.ask_many(asked[count // 2 :], pictures),
        )
        first = replies([result for half in halves for result in half])
        again = [next_round(*pair) for pair in zip(asked, first, strict=True)]
        second = replies(await adapter.ask_many(again, pictures))
        for one in asked:
            await adapter.release(one.unit_id)
    finally:
        await adapter.close()
    return first, second


def test_two_rounds_are_the_same_with_one_worker_two_and_without_reuse(adapter: Adapters) -> None:
    settings: Sequence[dict[str, object]] = ({}, {"workers": 2}, {"kv_reuse": False}, {"rows": 1})
    outcomes = []
    for chosen in settings:
        made = adapter(**chosen)
        outcomes.append(asyncio.run(two_rounds(made)))
        stats = made.stats()
        assert stats.rows == 12
        assert stats.reused == (0 if chosen.get("kv_reuse") is False else 6)
        assert stats.prompt_tokens + stats.cached_tokens == sum(
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
        assert one.usage.cached == 0
        # The second prompt begins with the first one and the reply as it was generated.
        begun = one.token_ids[0] + one.token_ids[1]
        assert two.token_ids[0][: len(begun)] == begun
        assert two.usage.cached == len(begun) - 1


def test_what_is_prepared_is_not_prepared_again(adapter: Adapters) -> None:
    async def go() -> None:
        made, pictures = adapter(), Pictures()
        asked = request(1)
        lengths = await asyncio.gather(*(made.prepare(asked, pictures) for _ in range(3)))
        assert len(set(lengths)) == 1
        reply = await made.ask(asked, pictures)
        assert reply.usage is not None
        assert reply.usage.input == lengths[0]
        assert pictures.fetched == 1
        await made.close()

    asyncio.run(go())


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
        found = [await made.prepare(one, Pictures()) for one in asked]
        await made.close()
        return found

    found = asyncio.run(lengths())
    assert len({length - tokens for length, tokens in zip(found, expected, strict=True)}) == 1
    assert family == "llava" or len(set(found)) == len(sizes)


def test_pixels_over_the_limit_wait_unmade(adapter: Adapters) -> None:
    async def go() -> None:
        made, pictures = adapter(prepared_bytes=200_000), Pictures()
        asked = [request(number) for number in range(6)]
        for one in asked:
            await made.prepare(one, pictures)
            assert made._prepared.nbytes <= 200_000
        assert made._prepared.nbytes > 0
        lengths = [await made.prepare(one, pictures) for one in asked]
        assert pictures.fetched == 6
        answered = replies(await made.ask_many(asked, pictures))
        assert [reply.usage.input for reply in answered if reply.usage] == lengths
        assert 6 < pictures.fetched < 12
        assert made._prepared.nbytes <= 200_000
        for one in asked:
            await made.release(one.unit_id)
        assert made._prepared.nbytes == 0
        await made.close()

    asyncio.run(go())


def test_a_prompt_over_the_context_is_no_call(adapter: Adapters, load: Load) -> None:
    """And one that leaves room for three tokens gets three."""

    async def go() -> None:
        loaded = load("qwen3-vl")
        length = await (probe := adapter()).prepare(request(0), Pictures())
        await probe.close()
        made = adapter(loaded=replace(loaded, context_tokens=length + 3))
        short, long = replies(await made.ask_many([request(0), request(1, words=20)], Pictures()))
        assert short.token_ids is not None
        assert (len(short.token_ids[1]), short.finish) == (3, Finish.LENGTH)
        assert (long.text, long.finish) == ("", Finish.TOO_LONG)
        assert made.stats().rows == 1
        await made.close()

    asyncio.run(go())


def test_sampling_is_told_with_its_seed_and_repeats_itself(adapter: Adapters) -> None:
    async def go() -> None:
        made, pictures = adapter(), Pictures()
        hot = Generation(max_tokens=5, temperature=1.0, top_p=0.9, seed=7)
        one = await made.ask(request(0, hot), pictures)
        batch = replies(await made.ask_many([request(n, hot) for n in (2, 0, 1)], pictures))
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


def test_dialogues_stay_with_the_worker_that_keeps_them(adapter: Adapters) -> None:
    async def go() -> None:
        made, pictures = adapter(workers=2), Pictures()
        asked = [request(number) for number in range(4)]
        for one in asked:
            # Else the first half may be answered before the second is prepared.
            await made.prepare(one, pictures)
        halves = await asyncio.gather(
            made.ask_many(asked[:2], pictures), made.ask_many(asked[2:], pictures)
        )
        assert [worker.stats().rows for worker in made._workers] == [2, 2]
        first = replies([result for half in halves for result in half])
        again = [next_round(*pair) for pair in zip(asked, first, strict=True)]
        mixed = [again[3], again[0], again[2], again[1]]
        second = replies(await made.ask_many(mixed, pictures))
        assert all(reply.usage and reply.usage.cached for reply in second)
        await made.close()

    asyncio.run(go())


def test_a_model_that_fails_or_is_closed_ends_the_run(adapter: Adapters, load: Load) -> None:
    async def go() -> None:
        made, pictures = adapter(loaded=stopping_at(load("qwen3-vl"))), Pictures()
        slow = request(0, Generation(max_tokens=4000))
        under_way = asyncio.create_task(made.ask(slow, pictures))
        while not sum(made._load):
            await asyncio.sleep(0.01)
        await made.close()  # without waiting for all 4,000 tokens
        with pytest.raises(Fatal, match="was stopped"):
            await under_way
        with pytest.raises(Fatal, match="closed"):
            await made.ask(request(1), pictures)

    asyncio.run(go())


def test_the_engine_is_told_what_fits(adapter: Adapters) -> None:
    made = adapter(workers=2, rows=3)
    assert (made.rules.size, made.rules.at_once) == (3, 4)
    assert made.info.open_dialogues is not None
    assert made.info.open_dialogues >= 6
    asyncio.run(made.close())
