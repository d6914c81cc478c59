"""`vllm:` over a stand-in of the engine: what it is sent, and what becomes of its answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from adapters.contract import Fatal, Fault, Generation, Request
from adapters.conversation import Conversation, Finish, Picture, Reply, user
from adapters.local.families import HuggingFaceFamily
from adapters.vllm.adapter import VllmAdapter
from tests.local.conftest import Checkpoint, Load
from tests.local.engine.conftest import FAMILY, Log
from tests.local.test_adapter import SHORT, Pictures, next_round

Engine = Callable[..., VllmAdapter]
LONG = Generation(max_tokens=100)


def run(adapter: VllmAdapter, asking: Coroutine[Any, Any, Any]) -> Any:
    async def closing() -> Any:
        try:
            return await asking
        finally:
            await adapter.close()

    return asyncio.run(closing())


def request(number: int, generation: Generation = SHORT, words: int = 1, side: int = 28) -> Request:
    """A first round about a picture whose sides are multiples of `side`."""
    picture = Picture(f"{number:x}", "plain", (2 + number % 3) * side, 4 * side)
    asked = user(picture, "book a flight" * words, f" number {number}")
    return Request(Conversation((asked,)), generation, f"s{number}", "round-1")


def saying(text: str) -> Request:
    return replace(request(0), conversation=Conversation((user(text),)))


def encoded(family: HuggingFaceFamily, asked: Request) -> list[int]:
    """The prompt as a model of ours is given it, with the processor's ids for its pictures."""
    from PIL import Image

    images = [Image.new("RGB", (p.width, p.height)) for p in asked.conversation.pictures]
    ids: list[int] = family.encode(asked.conversation, images).ids.tolist()
    return ids


def test_the_second_round_sends_the_ids_of_the_first_and_reads_them_from_the_prefix_cache(
    engine: Engine, load: Load, log: Log
) -> None:
    adapter = engine()
    asked = [request(number, LONG, words=30) for number in range(3)]

    async def both() -> list[tuple[Request, Reply]]:
        pictures = Pictures()
        first = await asyncio.gather(*(adapter.ask(one, pictures) for one in asked))
        again = [next_round(*pair) for pair in zip(asked, first, strict=True)]
        second = await asyncio.gather(*(adapter.ask(one, pictures) for one in again))
        return list(zip([*asked, *again], [*first, *second], strict=True))

    rounds = run(adapter, both())
    family = load(FAMILY).family
    assert isinstance(family, HuggingFaceFamily)
    marks = family.config.image_token_id
    sent = {tuple(ids): uuids for ids, uuids in zip(log("ids"), log("uuids"), strict=True)}
    assert len(sent) == 6
    for one, reply in rounds:
        assert reply.token_ids is not None and reply.usage is not None
        ids, generated = reply.token_ids
        (picture,) = one.conversation.pictures
        assert sent[ids] == [f"{picture.digest} {picture.recipe}"]
        # One mark for a picture, and the length that our own models read.
        assert ids.count(marks) == 1
        assert reply.native["ids"] == list(generated)
        assert reply.usage.input == len(encoded(family, one))
        assert reply.text.startswith("ELEMENT: A") and reply.finish is Finish.STOP
        assert reply.native["text"] == reply.text
    for (_, first), (_, second) in zip(rounds[:3], rounds[3:], strict=True):
        begun = first.token_ids[0] + first.token_ids[1]
        assert second.token_ids[0][: len(begun)] == begun
        known = first.usage.input + first.usage.output - 1
        assert first.usage.cached == 0
        assert second.usage.cached == known // 128 * 128 > 0
    counts = adapter.measured()["counts"]
    assert isinstance(counts, dict) and counts["replies"] == 6
    assert counts["cached_tokens"] == sum(second.usage.cached for _, second in rounds[3:])
    assert log("shutdown") == [True]


@pytest.mark.parametrize("family", ["smolvlm", "gemma3", "llava-next", "internvl"])
def test_the_growth_of_a_prompt_by_a_picture_is_that_of_other_processors_too(
    load: Load, family: str
) -> None:
    known = load(family).family
    assert isinstance(known, HuggingFaceFamily)
    for number in range(3):
        asked = request(number)
        (picture,) = asked.conversation.pictures
        collapsed = known.collapsed(asked.conversation)
        grown = len(collapsed) + known.growth(picture.width, picture.height)
        assert grown == len(encoded(known, asked))


def test_replies_are_greedy_unless_told_and_drawn_by_unit_and_repeat(
    engine: Engine, log: Log
) -> None:
    adapter = engine()
    warm = replace(request(1), generation=Generation(max_tokens=90, temperature=0.7, seed=3))

    async def ask() -> list[Reply]:
        asked = (request(1, LONG), warm, warm, replace(warm, repeat=1))
        return [await adapter.ask(one, Pictures()) for one in asked]

    plain, one, same, other = run(adapter, ask())
    assert plain.sent == {"temperature": 0.0, "max_tokens": 100}
    sampling = log("sampling")
    assert (sampling[0]["temperature"], sampling[0]["seed"]) == (0.0, None)
    assert not sampling[0]["detokenize"]
    assert one.sent["temperature"] == 0.7 and one.sent["top_p"] == 1.0
    assert sampling[1]["seed"] == one.sent["seed"] != other.sent["seed"]
    assert one.text == same.text != other.text


def test_a_reply_is_cut_at_its_limit_and_at_the_end_of_the_context(
    engine: Engine, log: Log
) -> None:
    adapter = engine(max_model_len=700)
    assert adapter.info.context_tokens == 700

    async def ask() -> list[Reply]:
        short = await adapter.ask(request(0), Pictures())
        length = short.usage.input if short.usage else 0
        near = saying("a" * (700 - 50 - length))
        held = await adapter.ask(replace(near, generation=LONG), Pictures())
        return [
            short,
            held,
            await adapter.ask(saying("b" * 800), Pictures()),
            await adapter.ask(saying("[long]"), Pictures()),
        ]

    short, held, own, theirs = run(adapter, ask())
    assert (short.finish, len(short.native["ids"])) == (Finish.LENGTH, 5)
    assert held.sent["max_tokens"] == min(100, 700 - held.usage.input)
    assert own.finish is theirs.finish is Finish.TOO_LONG
    assert own.text == theirs.text == ""
    # What is known to be too long is not sent.
    assert len(log("ids")) == 3


@pytest.mark.parametrize(
    ("word", "kind", "message"),
    [
        ("[error]", Fault, "vLLM failed: ValueError: a kernel failed"),
        ("[aborted]", Fault, "vLLM failed: the reply ended with 'abort'"),
        ("[dead]", Fatal, "vLLM ended: EngineCore encountered an issue."),
        ("[refused]", Fatal, "vLLM refuses the prompt: At most 1 image"),
        ("[miscounted]", Fatal, "tokens of a prompt that has .* let a server run it"),
    ],
)
def test_the_engines_errors_are_faults_or_end_the_run(
    engine: Engine, word: str, kind: type[Exception], message: str
) -> None:
    adapter = engine()
    with pytest.raises(kind, match=message) as caught:
        run(adapter, adapter.ask(saying(word), Pictures()))
    assert "\n" not in str(caught.value)


def test_what_is_cancelled_is_aborted_in_the_engine_and_holds_up_nobody(
    engine: Engine, log: Log
) -> None:
    adapter = engine()

    async def ask() -> Reply:
        waiting = asyncio.ensure_future(adapter.ask(saying("[wait]"), Pictures()))
        while not log("ids"):
            await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        while not log("aborted"):
            await asyncio.sleep(0.01)
        return await adapter.ask(saying("go on"), Pictures())

    assert run(adapter, ask()).text == "ELEME"
    assert log("aborted") == log("id")[:1]


def test_a_checkpoint_is_declared_as_its_own_family_is_but_for_batches(
    engine: Engine, checkpoint: Checkpoint
) -> None:
    from adapters import describe

    info = describe(f"vllm:{checkpoint(FAMILY)}", max_num_seqs=24).info
    ours = describe(f"hf:{checkpoint(FAMILY)}").info
    for name in ("model", "provider", "revision", "coordinates", "thinking", "context_tokens"):
        assert getattr(info, name) == getattr(ours, name)
    assert info.image_rule is not None and ours.image_rule is not None
    assert info.image_rule.fit(1280, 2000) == ours.image_rule.fit(1280, 2000)
    assert info.concurrency == 48
    assert info.settings["engine"] == "vllm"
    assert "attention" not in info.settings
