"""What holds for the batches of every provider, against servers that speak their formats."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from adapters import Adapter, Fatal, Fault, Finish, Generation, Reply, user
from adapters.batches.contract import Gone, QueueFull, Relearned
from adapters.transport import Undelivered, lines_of
from tests.adapters.batches.support import (
    TOKEN,
    Sent,
    batch,
    deferring,
    ended,
    through,
    use,
    write,
)
from tests.adapters.support import (
    KEY,
    PROVIDERS,
    Pictures,
    adapter_for,
    ask,
    bodies,
    first_round,
    request,
)
from tests.servers import Answer, Ask, Provider, Switches, WireServer, drop, error, refusing

every = pytest.mark.parametrize("provider", PROVIDERS)


def texts(sent: Sent) -> list[str]:
    assert all(isinstance(one, Reply) for one in sent.outcomes)
    return [one.text for one in sent.outcomes if isinstance(one, Reply)]


def echo(ask: Ask) -> Answer:
    return Answer(f"you said {ask.text}")


def three(**more: Any) -> list[Any]:
    return [request(first_round(word), step=word, **more) for word in ("one", "two", "three")]


@every
def test_replies_reach_their_own_requests_in_whatever_order_they_come(
    provider: Provider, tmp_path: Path
) -> None:
    switches = Switches(polls=2, shuffle=True, repeat=True)
    with WireServer(echo, switches=switches) as server:
        sent = batch(provider, server, tmp_path, *three())
    assert texts(sent) == ["you said one", "you said two", "you said three"]
    assert server.batches.creates == 1


@every
def test_a_line_holds_the_body_of_the_ordinary_call(provider: Provider, tmp_path: Path) -> None:
    asked = [*three(max_tokens=77, temperature=0.3, effort="low"), request(seed=4)]
    long = request(first_round("x" * 9000), continues=True)
    with WireServer(echo) as server:
        [first] = ask(adapter_for(provider, server), long)
        second = request(first_round("x" * 9000).then(first, user("Answer.")))
        asked += [long, second]
        ordinary = ask(adapter_for(provider, server), *asked)
        server.asks.clear()
        ask(adapter_for(provider, server), *asked)
        at_once = [without_marks(body) for body in bodies(server)]
        server.asks.clear()
        sent = batch(provider, server, tmp_path, *asked)
    in_batch = [dict(body) for body in bodies(server)]
    assert in_batch == at_once
    for deferred, direct in zip(sent.outcomes, ordinary, strict=True):
        assert isinstance(deferred, Reply)
        assert replace(deferred, latency_s=0, request_id="", tier="") == replace(
            direct, latency_s=0, request_id="", tier=""
        )


def without_marks(body: Any) -> Any:
    """A body without the marks by which a prompt cache is written."""
    if isinstance(body, dict):
        marks = {"cache_control", "prompt_cache_breakpoint"}
        return {name: without_marks(one) for name, one in body.items() if name not in marks}
    return [without_marks(one) for one in body] if isinstance(body, list) else body


@pytest.mark.parametrize(
    ("model", "path"),
    [("gemini-4-argon", "models/gemini-4-argon"), ("tunedModels/clicks-1", "tunedModels/clicks-1")],
)
def test_googles_batches_are_asked_for_at_the_path_of_the_model(
    model: str, path: str, tmp_path: Path
) -> None:
    with WireServer(echo) as server:
        adapter = adapter_for("google", server, model=model)
        sent = use(adapter, lambda one: through(one, tmp_path, three()))
        assert f"POST /v1beta/{path}:batchGenerateContent" in server.batches.calls
    assert texts(sent) == ["you said one", "you said two", "you said three"]


@every
@pytest.mark.parametrize(
    ("status", "kind"), [(429, "rate_limit"), (500, "server"), (503, "server"), (504, "timeout")]
)
def test_what_may_pass_is_a_fault_of_that_request_alone(
    provider: Provider, status: int, kind: str, tmp_path: Path
) -> None:
    def react(ask: Ask) -> Answer:
        return error(status, "later") if ask.text == "two" else echo(ask)

    with WireServer(react) as server:
        one, two, three_ = batch(provider, server, tmp_path, *three()).outcomes
    assert isinstance(one, Reply)
    assert isinstance(three_, Reply)
    assert isinstance(two, Fault)
    # Anthropic names a type of error instead of a status.
    assert two.kind == kind or provider == "anthropic"


@every
def test_requests_that_were_not_answered_in_time_are_faults(
    provider: Provider, tmp_path: Path
) -> None:
    with WireServer(echo, switches=Switches(expire_after=1)) as server:
        one, two, three_ = batch(provider, server, tmp_path, *three()).outcomes
    assert isinstance(one, Reply)
    assert {type(two), type(three_)} == {Fault}


@every
def test_a_missing_result_is_no_result(provider: Provider, tmp_path: Path) -> None:
    with WireServer(echo, switches=Switches(drop_every=2)) as server:
        one, two, three_ = batch(provider, server, tmp_path, *three()).outcomes
    assert isinstance(one, Reply)
    assert two is None
    assert isinstance(three_, Reply)


@every
def test_too_long_a_prompt_is_a_reply_and_a_wrong_key_is_fatal(
    provider: Provider, tmp_path: Path
) -> None:
    def react(ask: Ask) -> Answer:
        if ask.text == "one":
            return error(400, "prompt is too long: it exceeds the context length")
        status = 403 if provider == "google" else 401
        return error(status, f"the key {KEY} is wrong") if ask.text == "two" else echo(ask)

    with WireServer(react) as server:
        one, two, _ = batch(provider, server, tmp_path, *three()).outcomes
    assert isinstance(one, Reply)
    assert one.finish is Finish.TOO_LONG
    assert isinstance(two, Fatal)
    assert KEY not in str(two)


@every
def test_a_refused_parameter_is_learned_and_left_out(provider: Provider, tmp_path: Path) -> None:
    asked = three(temperature=0.3, by_protocol=["temperature"])
    with WireServer(refusing("temperature", then=echo)) as server:
        adapter = adapter_for(provider, server)

        async def twice(one: Any) -> tuple[Sent, Sent]:
            return await through(one, tmp_path, asked), await through(one, tmp_path, asked)

        first, second = use(adapter, twice)
    assert {type(one) for one in first.outcomes} == {Relearned}
    assert texts(second) == ["you said one", "you said two", "you said three"]
    assert len(adapter.notices()) == 1
    last = second.outcomes[0]
    assert isinstance(last, Reply)
    assert "temperature" not in last.sent


@every
def test_a_provider_that_only_streams_is_not_asked_again(
    provider: Provider, tmp_path: Path
) -> None:
    with WireServer(error(400, "This model only supports stream=true")) as server:
        outcomes = batch(provider, server, tmp_path, *three()).outcomes
    assert Relearned not in map(type, outcomes)


@every
def test_a_whole_batch_that_failed_ends_with_its_reason(provider: Provider, tmp_path: Path) -> None:
    if provider == "anthropic":
        pytest.skip("its batches do not fail as a whole")
    with WireServer(echo, switches=Switches(fail="the file is broken")) as server:
        sent = batch(provider, server, tmp_path)
    assert sent.batch is not None
    assert "the file is broken" in sent.batch.error
    assert not sent.batch.full
    assert sent.results == []


@every
def test_a_full_queue_is_told_from_an_error(provider: Provider, tmp_path: Path) -> None:
    with WireServer(echo, switches=Switches(full=1)) as server:
        with pytest.raises(QueueFull):
            batch(provider, server, tmp_path)
        assert server.batches.creates == 0
        assert len(texts(batch(provider, server, tmp_path))) == 3
    if provider != "anthropic":
        with WireServer(echo, switches=Switches(fail_full=1)) as server:
            sent = batch(provider, server, tmp_path)
        assert sent.batch is not None
        assert sent.batch.full


@every
@pytest.mark.parametrize("state", ["ARCHIVED", "BATCH_STATE_PARTIALLY_SUCCEEDED", "over"])
def test_a_state_that_nobody_knows_ends_the_wait(
    provider: Provider, state: str, tmp_path: Path
) -> None:
    with WireServer(echo, switches=Switches(state=state)) as server:
        sent = batch(provider, server, tmp_path, *three())
    assert texts(sent) == ["you said one", "you said two", "you said three"]


@every
def test_a_creation_whose_answer_was_lost_is_not_repeated_and_found(
    provider: Provider, tmp_path: Path
) -> None:
    path = tmp_path / "lines"
    with WireServer(echo, switches=Switches(lose_created=1)) as server:

        async def lose(one: Any) -> tuple[Any, Any, Any]:
            since = time.time()
            await write(one, path, three())
            uploaded = await one.upload(TOKEN, path)
            server.batches.switches.hide = 1
            with pytest.raises(Fault) as lost:
                await one.create(TOKEN, path, uploaded, 3)
            assert lost.value.status is None
            hidden = await one.find(TOKEN, since, 3, set())
            found = await one.find(TOKEN, since, 3, set())
            other = await one.find("vlm-eval-other", since, 4, set())
            assert await one.find(TOKEN, since, 3, {found.id}) is None
            return hidden, found, other

        hidden, found, other = use(adapter_for(provider, server), lose)
    assert server.batches.creates == 1
    assert (hidden, other) == (None, None)
    assert found.id == next(iter(server.batches.batches))


@pytest.mark.parametrize("provider", ["openai", "google"])
def test_an_upload_whose_answer_was_lost_is_found_and_not_repeated(
    provider: Provider, tmp_path: Path
) -> None:
    path = tmp_path / "lines"
    with WireServer(echo, switches=Switches(lose_uploads=1)) as server:

        async def lose(one: Any) -> Any:
            await write(one, path, three())
            with pytest.raises(Fault):
                await one.upload(TOKEN, path)
            return await one.upload(TOKEN, path)

        found = use(adapter_for(provider, server), lose)
        assert server.batches.files[found].data == path.read_bytes()


@every
def test_deleted_results_are_gone(provider: Provider, tmp_path: Path) -> None:
    with WireServer(echo, switches=Switches(gone=True)) as server, pytest.raises(Gone):
        batch(provider, server, tmp_path)


@every
def test_a_download_that_is_redirected_elsewhere_takes_no_key_there(
    provider: Provider, tmp_path: Path
) -> None:
    with WireServer() as other, WireServer(echo) as server:
        server.batches.switches.elsewhere = other.base_url(provider) + "/v1/files/x/content"
        with pytest.raises(Fatal, match="redirects to another address"):
            batch(provider, server, tmp_path)
        assert other.asks == []
        assert other.batches.calls == []


def test_lines_of_a_stream_are_of_limited_length_and_whole() -> None:
    async def read(*chunks: bytes) -> list[bytes]:
        async def content() -> AsyncIterator[bytes]:
            for chunk in chunks:
                yield chunk

        return [line async for line in lines_of(httpx2.Response(200, content=content()))]

    assert asyncio.run(read(b'{"a":1}\r\n\n{"b"', b":2}", b'\n{"c":3}')) == [
        *(b'{"a":1}', b'{"b":2}', b'{"c":3}')
    ]
    for torn in (b'{"a":1}\n{"b"', b"[" * 100_000):
        with pytest.raises(Undelivered, match="within a line"):
            asyncio.run(read(torn))
    with pytest.raises(Undelivered, match="larger than 16 MB"):
        asyncio.run(read(*[b"x" * (1 << 20)] * 20))


@every
def test_a_batch_that_the_provider_does_not_know_is_gone(provider: Provider) -> None:
    id = "batches/404" if provider == "google" else "batch_404"
    with WireServer() as server, pytest.raises(Gone):
        use(adapter_for(provider, server), lambda one: one.poll(id))


@every
@pytest.mark.parametrize("id", ["../files/x", "b?x=1", "b c", "b\n", "", "x" * 999])
def test_an_id_that_is_none_reaches_no_address(provider: Provider, id: str) -> None:
    with WireServer() as server, pytest.raises(Fault, match="is not an id"):
        use(adapter_for(provider, server), lambda one: one.poll(id))
    assert server.batches.calls == []


@every
def test_cancelling_keeps_what_was_answered_and_ends(provider: Provider, tmp_path: Path) -> None:
    path = tmp_path / "lines"
    with WireServer(echo, switches=Switches(polls=3)) as server:

        async def cancel(one: Any) -> Any:
            await write(one, path, three())
            begun = await one.create(TOKEN, path, await one.upload(TOKEN, path), 3)
            await one.cancel(begun.id)
            batch = await ended(one, begun.id)
            await one.cancel(begun.id)  # a second time, when it is over
            return batch

        assert use(adapter_for(provider, server), cancel).ended


@every
def test_what_the_provider_keeps_is_deleted(provider: Provider, tmp_path: Path) -> None:
    with WireServer(echo) as server:
        adapter = adapter_for(provider, server)
        use(adapter, lambda one: through(one, tmp_path, three(), clean=True))
        assert server.batches.files == {}
        if provider == "anthropic":
            assert server.batches.batches == {}


@every
@pytest.mark.parametrize("reaction", [drop(), error(503, "down"), Answer(raw=b"<html>sign in")])
def test_trouble_with_the_provider_is_a_fault_with_one_line(
    provider: Provider, reaction: Answer
) -> None:
    server = WireServer(reaction)
    server.batches.switches.down = True

    async def poll() -> None:
        adapter: Adapter = adapter_for(provider, server)
        try:
            await deferring(adapter).poll("batches/1")
        finally:
            await adapter.close()

    with server, pytest.raises(Fault) as raised:
        asyncio.run(poll())
    assert "\n" not in str(raised.value)


@every
def test_lines_that_are_no_results_raise_value_errors(provider: Provider) -> None:
    hostile = [b"", b"null", b"[]", b"{}", b'{"custom_id": 7}', b"\xff", b"[" * 100_000]
    hostile += [json.dumps({"custom_id": "", "key": ""}).encode()]
    with WireServer() as server:
        adapter = adapter_for(provider, server)
        one = deferring(adapter)
        for line in hostile:
            with pytest.raises(ValueError):
                one.id_of(line)
        asyncio.run(adapter.close())


@every
def test_the_source_of_pictures_is_asked_as_by_an_ordinary_call(provider: Provider) -> None:
    with WireServer() as server:
        pictures = Pictures()
        adapter = adapter_for(provider, server)
        line = asyncio.run(deferring(adapter).line("v1", request(), pictures))
        asyncio.run(adapter.close())
    assert pictures.asked == 1
    assert b"/9hwaWN0dXJl" in line.data
    assert Generation().max_tokens in line.sent.values()
