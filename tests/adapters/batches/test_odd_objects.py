"""Batches whose fields are of another type than documented: what can be read is read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from adapters import Fault
from adapters.batches.contract import Fields, Torn
from tests.adapters.batches.support import TOKEN, deferring, id_of, use, write
from tests.adapters.support import PROVIDERS, adapter_for, request
from tests.servers import Provider, Switches, WireServer

every = pytest.mark.parametrize("provider", PROVIDERS)
ODD: tuple[Any, ...] = (7, "not one", [[]], {"a": [1]}, 1e400, "\udc80")


def places(plain: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values in JSON."""
    inner = plain.items() if isinstance(plain, dict) else ()
    for name, value in inner:
        yield (*path, name)
        yield from places(value, (*path, name))


def spoilt(plain: Any, path: tuple[Any, ...], value: Any) -> Any:
    copy = deepcopy(plain)
    *before, last = path
    part = copy
    for name in before:
        part = part[name]
    part[last] = value
    return copy


@every
def test_one_field_of_another_type_hides_no_batch(provider: Provider, tmp_path: Path) -> None:
    shown: list[Any] = []

    def show(one: Any) -> Any:
        shown.append(one)
        return one

    switches = Switches(polls=1, object=show)
    with WireServer(switches=switches) as server:

        async def looked_at(one: Any) -> None:
            path = tmp_path / "lines"
            await write(one, path, [request()])
            begun = await one.create(TOKEN, path, await one.upload(TOKEN, path), 1)
            fine = await one.poll(begun.id)
            for place in places(shown[-1]):
                for odd in ODD:
                    switches.object = lambda it, place=place, odd=odd: spoilt(it, place, odd)
                    looked = await one.poll(begun.id)
                    assert looked.id == begun.id
                    assert looked.unread or looked.where == fine.where, (place, odd)
                await one.find(TOKEN, 0.0, 1, [])

        use(adapter_for(provider, server), looked_at)


@every
@pytest.mark.parametrize("line", ["torn", "zeros", "long"])
def test_whole_lines_of_damaged_results_come_before_the_error(
    provider: Provider, line: str, tmp_path: Path
) -> None:
    def spoil(data: bytes) -> bytes:
        if line == "zeros":
            return data.rstrip(b"\n") + bytes(9)
        first, rest = data.split(b"\n", 1)
        return data[:-20] if line == "torn" else b"x" * (17 << 20) + first + b"\n" + rest

    async def results(one: Any) -> tuple[list[str], bool]:
        path = tmp_path / "lines"
        await write(one, path, [request(step=str(n)) for n in range(3)])
        begun = await one.create(TOKEN, path, await one.upload(TOKEN, path), 3)
        ids = []
        try:
            async for data in one.fetch(await one.poll(begun.id)):
                ids.append(one.id_of(data))
        except Torn as torn:
            assert torn.kind == "malformed"
            return ids, True
        return ids, False

    with WireServer(switches=Switches(spoil=spoil)) as server:
        ids, damaged = use(adapter_for(provider, server), results)
    whole = [id_of(n) for n in range(3)]
    left = {"torn": whole[:2], "zeros": whole, "long": whole[1:]}[line]
    assert (ids, damaged) == (left, line != "zeros")


@every
def test_a_line_is_known_by_its_id_whatever_else_is_in_it(provider: Provider) -> None:
    with WireServer() as server:
        one = deferring(adapter_for(provider, server))
        field = "key" if provider == "google" else "custom_id"
        rests: list[Any] = [7, None, {}, {"status_code": "200"}, {"status_code": 99}, {"type": 7}]
        for rest in rests:
            plain = {field: "v1", "response": rest, "result": rest, "error": None}
            line = json.dumps(plain).encode()
            assert one.id_of(line) == "v1"
            assert one.id_of(line[:-1] + b',"x":"\xff"}') == "v1"
            try:
                outcome = one.read(line, request(), {})
            except ValueError:
                continue
            assert isinstance(outcome, Fault) and outcome.kind == "malformed", rest


@pytest.mark.parametrize("count", [10**30, "9" * 5000, "²", "-3", -3, True, 2.5, None, [], "many"])
def test_a_count_that_no_batch_has_is_none(count: Any) -> None:
    assert Fields({"total": count}).count("total") == 0


def test_a_field_of_another_type_is_named_wherever_it_is() -> None:
    fields = Fields.of(b'{"id": 7, "inner": {"state": [1]}, "list": [1, {"a": "b"}], "n": 1e999}')
    assert (fields.text("id"), fields.inner("inner").text("state")) == ("", "")
    assert [one.text("a") for one in fields.each("list")] == ["b"]
    assert fields.number("n") is None and fields.inner("missing").text("x") == ""
    assert fields.odd == {"id", "state"}
    with pytest.raises(ValueError, match="a list instead of an object"):
        Fields.of(b"[]")
