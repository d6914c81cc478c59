"""Pictures are prepared once for all rounds of a dialogue, and the prompts are the same."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

import torch
from PIL import Image

from adapters.contract import Request
from adapters.conversation import Picture, Reply, user
from adapters.local.contract import Encoded, Family
from adapters.local.prepared import Prepared
from tests.local.conftest import Load
from tests.local.test_adapter import Pictures, next_round, request
from tests.local.tiny import FAMILIES

REPLY = Reply("click", native={"ids": [40, 41], "text": "click"})


async def in_full(family: Family, asked: Request) -> Encoded:
    shown = [await Pictures().pixels(picture) for picture in asked.conversation.pictures]
    images = [Image.frombytes("RGB", (one.width, one.height), one.data) for one in shown]
    return family.encode(asked.conversation, images)


def same(one: Encoded, other: Encoded) -> bool:
    assert one.pictures.keys() == other.pictures.keys()
    assert one.token_types is not None and other.token_types is not None
    return (
        torch.equal(one.ids, other.ids)
        and torch.equal(one.token_types, other.token_types)
        and one.built_on == other.built_on
        and all(torch.equal(one.pictures[name], other.pictures[name]) for name in one.pictures)
    )


@pytest.mark.parametrize("name", FAMILIES)
def test_a_second_round_takes_the_pictures_of_the_first(load: Load, name: str) -> None:
    family, pictures = load(name).family, Pictures()

    async def rounds() -> None:
        prepared = Prepared(family, 1, 2**28)
        first = request(1)
        assert same(await prepared.take(first, pictures), await in_full(family, first))
        second = replace(next_round(first, REPLY), continues=True)
        assert same(await prepared.take(second, pictures), await in_full(family, second))
        assert pictures.fetched == 1
        more = user(Picture("77", "plain", 96, 64), "and this?")
        third = replace(second, conversation=second.conversation.then(REPLY, more), place="3")
        assert same(await prepared.take(third, pictures), await in_full(family, third))
        assert pictures.fetched == 3
        await asyncio.sleep(0)
        prepared.release(first.unit_id)
        assert prepared.nbytes == 0
        prepared.close()

    asyncio.run(rounds())


def test_pictures_of_the_first_round_make_room_for_those_of_others(load: Load) -> None:
    family, pictures = load(FAMILIES[0]).family, Pictures()

    async def many() -> None:
        prepared = Prepared(family, 1, 200_000)
        for number in range(8):
            await prepared.take(request(number), pictures)
            await prepared.length(request(number + 100), pictures)
            assert prepared.nbytes <= 200_000
        for number in range(8):
            second = next_round(request(number), REPLY)
            assert same(await prepared.take(second, pictures), await in_full(family, second))
        prepared.close()
        assert prepared.nbytes == 0

    asyncio.run(many())
