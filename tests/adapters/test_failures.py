"""What goes wrong, driven through the providers' own SDKs against a server on this machine."""

from __future__ import annotations

import asyncio
import logging
import re
import traceback
from typing import Any

import pytest

from adapters import Fatal, Fault, Finish, Reply, Request, make
from adapters.contract import Generation
from adapters.faults import cleaner
from tests.adapters.support import (
    KEY,
    MODELS,
    PROVIDERS,
    WIRES,
    Pictures,
    adapter_for,
    ask,
    request,
)
from tests.servers import (
    Answer,
    Provider,
    WireServer,
    drop,
    error,
    google_quota,
    html,
    refusing,
    stall,
    truncated,
)

every_provider = pytest.mark.parametrize("provider", PROVIDERS)
every_wire = pytest.mark.parametrize("provider", WIRES)


def fault(provider: Provider, answer: Answer, **options: Any) -> Fault:
    with WireServer(answer) as server:
        with pytest.raises(Fault) as caught:
            ask(adapter_for(provider, server, **options))
        assert server.count == 1, "the SDK tried again by itself"
    return caught.value


def fatal(provider: Provider, answer: Answer, *requests: Request) -> str:
    with WireServer(answer) as server:
        with pytest.raises(Fatal) as caught:
            ask(adapter_for(provider, server), *requests)
        assert server.count == 1
    assert "\n" not in str(caught.value)
    return str(caught.value)


def refusal(provider: Provider, answer: Answer) -> str:
    with WireServer(answer) as server:
        [reply] = ask(adapter_for(provider, server))
    assert (reply.text, reply.finish) == ("", Finish.PROVIDER_REFUSED)
    return reply.refusal


@every_wire
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (error(429, "slow down"), "rate_limit"),
        (error(500, "oops"), "server"),
        (error(502, "oops"), "server"),
        (error(503, "overloaded"), "server"),
        (error(529, "overloaded"), "server"),
        (error(504, "late"), "timeout"),
        (error(408, "late"), "timeout"),
        (drop(), "connection"),
        (html(), "malformed"),
        (truncated(), "malformed"),
        (Answer(raw=b"[]"), "malformed"),
        (Answer(raw=b"{}"), "malformed"),
        (Answer(raw=b'{"error": {"message": "inside 200", "code": 502}}'), "server"),
        (Answer(raw=b'{"error": {"message": "inside 200", "code": "429"}}'), "rate_limit"),
        (Answer(raw=b'{"error": {"message": "a", "type": "rate_limit_error"}}'), "rate_limit"),
        (Answer(raw=b'{"type": "error", "error": {"type": "overloaded_error"}}'), "server"),
        (Answer(raw=b'{"object": "error", "message": "late", "code": 504}'), "timeout"),
        (Answer(raw=b'{"error": "upstream is gone"}'), "server"),
        (Answer(raw=b'[{"error": {"code": 503, "message": "busy"}}]'), "server"),
        (Answer(raw=b'{"code": 429, "msg": "too many requests"}'), "rate_limit"),
        (Answer(raw=b'{"code": "rate_limit_exceeded", "message": "wait"}'), "rate_limit"),
    ],
)
def test_what_may_pass_is_a_fault_and_is_tried_once(
    provider: Provider, answer: Answer, kind: str
) -> None:
    assert fault(provider, answer).kind == kind


@every_wire
def test_a_stall_is_a_timeout(provider: Provider) -> None:
    assert fault(provider, stall(4.0), timeout_s=1.5).kind == "timeout"


@every_wire
def test_nobody_listening_is_a_connection_fault(provider: Provider) -> None:
    with WireServer() as server:
        adapter = adapter_for(provider, server)
    with pytest.raises(Fault) as caught:
        ask(adapter)
    assert caught.value.kind == "connection"


@every_wire
def test_a_server_of_this_machine_is_not_asked_through_a_proxy(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with WireServer() as server:
        [reply] = ask(adapter_for(provider, server))
    assert reply.text == "fine"


def test_null_choices_are_malformed() -> None:
    assert fault("openai", Answer(raw=b'{"id": "x", "choices": null}')).kind == "malformed"


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_the_wait_that_a_server_asks_for_is_handed_on(provider: Provider) -> None:
    assert fault(provider, error(429, retry_after="9")).retry_after_s == 9.0
    assert fault(provider, error(429)).retry_after_s is None


def test_milliseconds_and_dates_are_waits_too() -> None:
    assert fault("openai", error(429, retry_after_ms="250")).retry_after_s == 0.25
    date = error(429, retry_after="Wed, 21 Oct 2015 07:28:00 GMT")
    assert fault("openai", date).retry_after_s == 0.0
    assert fault("openai", error(429, retry_after="soon")).retry_after_s is None


def test_googles_wait_is_in_the_body_and_a_days_quota_is_final() -> None:
    wait = fault("google", google_quota("GenerateRequestsPerMinutePerProjectPerModel", "31s"))
    assert (wait.kind, wait.retry_after_s) == ("rate_limit", 31.0)
    line = fatal("google", google_quota("GenerateRequestsPerDayPerProjectPerModel", "31s"))
    assert " answered 429 " in line


@pytest.mark.parametrize(
    ("provider", "code"),
    [
        ("openai", "insufficient_quota"),
        ("openai", "billing_hard_limit_reached"),
        ("anthropic", "enforced_spend_limit_reached"),
        ("anthropic", "contract_spend_limit_reached"),
    ],
)
def test_a_429_about_money_is_final(provider: Provider, code: str) -> None:
    assert code in fatal(provider, error(429, "no money", code))


def test_a_ramp_limit_is_worth_waiting_for() -> None:
    assert fault("anthropic", error(429, "ramp", "ramp_limit_exceeded")).kind == "rate_limit"


@every_wire
@pytest.mark.parametrize(
    "answer",
    [
        error(400, "Your credit balance is too low to access the API"),
        error(400, "API key not valid. Please pass a valid API key."),
        error(400, "The model `m` does not exist"),
        error(401, "wrong key"),
        error(402, "no money"),
        error(403, "not for you"),
        error(404, "no such model"),
        error(501, "not built"),
    ],
)
def test_what_will_not_pass_ends_the_run_in_one_line(provider: Provider, answer: Answer) -> None:
    assert re.match(rf"http://127\S+ answered {answer.status}\b", fatal(provider, answer))


@pytest.mark.parametrize(
    ("provider", "answer"),
    [
        ("openai", error(400, "too much", "context_length_exceeded")),
        ("openai", error(400, "This model's maximum context length is 4096 tokens. However...")),
        ("openai", error(400, "the request exceeds the available context size")),
        ("openai", error(400, "The decoder prompt is longer than the maximum model length")),
        ("openai", error(400, "The input has 5000 tokens; the context window is 4096 tokens.")),
        ("anthropic", error(400, "prompt is too long: 210000 tokens > 200000 maximum")),
        ("google", error(400, "The input token count (2) exceeds the maximum number of tokens")),
        ("openai", error(413, "large")),
        ("anthropic", error(413, "large")),
        ("google", error(413, "large")),
    ],
)
def test_a_prompt_that_is_too_long_is_a_reply(provider: Provider, answer: Answer) -> None:
    with WireServer(answer) as server:
        [reply] = ask(adapter_for(provider, server))
    assert (reply.text, reply.finish) == ("", Finish.TOO_LONG)


@pytest.mark.parametrize(
    ("provider", "answer"),
    [
        ("openai", error(400, "filtered", "content_filter")),
        ("openai", error(403, "misaligned", "misalignment_policy_violation")),
        ("openai", Answer(finish="content_filter")),
        ("google", Answer(blocked=True)),
        ("google", Answer(text="", finish="content_filter")),
        ("google", Answer(text="", finish="refusal")),
    ],
)
def test_a_filter_is_a_reply(provider: Provider, answer: Answer) -> None:
    with WireServer(answer) as server:
        [reply] = ask(adapter_for(provider, server))
    assert reply.finish is Finish.CONTENT_FILTER


@every_wire
@pytest.mark.parametrize(
    "answer",
    [
        error(400, "Could not process image", "invalid_image"),
        error(400, "messages.1.content.0.image: the model could not decode it"),
        error(422, "one of the pictures is not valid"),
    ],
)
def test_an_error_about_one_prompt_is_a_reply_with_the_provider_s_words(
    provider: Provider, answer: Answer
) -> None:
    assert re.match(rf"http://127\S+ answered {answer.status}\b", refusal(provider, answer))


@every_wire
@pytest.mark.parametrize("status", [400, 422])
def test_a_refused_parameter_is_left_out_from_then_on_and_reported_once(
    provider: Provider, status: int
) -> None:
    names = ("topP", "top_p"), ("temperature", "temperature")
    with WireServer(refusing(*(n for pair in names for n in pair), status=status)) as server:
        adapter = adapter_for(provider, server)
        own = request(temperature=0.5, top_p=0.9, by_protocol=["temperature", "top_p"])
        replies = ask(adapter, own, own)
    # Google's wire names are its own; three requests to learn, one more for the second call.
    assert server.count == 4
    assert [dict(reply.sent).keys() & {"temperature", "top_p"} for reply in replies] == [set()] * 2
    notices = adapter.notices()
    assert len(notices) == 2
    assert "refused temperature=0.5: no longer sent" in " ".join(notices)
    assert not adapter.info.greedy(Generation(temperature=0.0))
    assert adapter.notices() == []


def test_a_server_that_forbids_unknown_fields_gets_none() -> None:
    with WireServer(refusing("repetition_penalty", status=422)) as server:
        adapter = adapter_for("openai", server)
        [reply] = ask(adapter)
    assert reply.sent == {"max_tokens": 1024, "temperature": 0.0, "frequency_penalty": 0.0}
    assert [body.get("repetition_penalty") for body in (a.body for a in server.asks)] == [1.0, None]
    assert adapter.notices() == ["openai:some-model refused repetition_penalty=1.0: no longer sent"]


def test_calls_in_flight_learn_of_a_refusal_together() -> None:
    async def run() -> list[Reply]:
        try:
            return await asyncio.gather(*(adapter.ask(request(), Pictures()) for _ in range(8)))
        finally:
            await adapter.close()

    with WireServer(refusing("repetition_penalty", "max_tokens")) as server:
        adapter = adapter_for("openai", server)
        replies = asyncio.run(run())
    assert {tuple(sorted(reply.sent)) for reply in replies} == {
        ("frequency_penalty", "max_completion_tokens", "temperature")
    }
    assert len(adapter.notices()) == 2


def test_an_unknown_name_for_the_output_limit_is_exchanged() -> None:
    with WireServer(refusing("max_tokens")) as server:
        [reply] = ask(adapter_for("openai", server))
    assert reply.sent["max_completion_tokens"] == 1024


@every_wire
def test_a_parameter_out_of_range_is_the_users_mistake(provider: Provider) -> None:
    answer = error(400, "temperature: must be at most 2", "decimal_above_max_value", "temperature")
    if provider not in {"openai", "responses"}:
        answer = error(400, "temperature: must be at most 2")
    assert "must be at most 2" in fatal(provider, answer, request(temperature=3.0))


ECHOES = [
    error(400, f"bad request with {KEY}"),
    error(401, f"Incorrect API key provided: {KEY}"),
    error(403, f"{KEY[:20]} may not"),
    error(429, f"{KEY} is too fast"),
    error(500, f"crashed on {KEY}"),
    Answer(status=500, raw=f"<html>{KEY}</html>".encode(), content_type="text/html"),
    Answer(status=422, raw=f'{{"detail": "{KEY}"}}'.encode()),
    Answer(raw=f"<html>{KEY}</html>".encode(), content_type="text/html"),
    Answer(raw=f"<p>{'x' * 65}{KEY}</p>".encode(), content_type="text/html"),
    Answer(raw=f'{{"a": "{KEY}'.encode()),
    drop(),
    stall(3.0),
    Answer(message="temperature is not supported with " + KEY, status=400),
    Answer(),
]


@every_wire
@pytest.mark.parametrize("answer", ECHOES, ids=range(len(ECHOES)))
def test_the_key_is_in_nothing_that_comes_out(
    provider: Provider,
    answer: Answer,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    said: list[str] = []
    with WireServer(answer) as server:
        adapter = adapter_for(provider, server, timeout_s=1.5 if answer.delay_s else 60.0)
        try:
            said.append(repr(ask(adapter, request(temperature=1.0))))
        except (Fault, Fatal) as failure:
            said += [str(failure), repr(failure), *traceback.format_exception(failure)]
            assert failure.__context__ is None
    said += [repr(adapter), str(adapter), repr(adapter.info), *adapter.notices(), caplog.text]
    said += capfd.readouterr()
    assert "RECOGNISABLE" not in "".join(said)
    sent = server.asks[0].headers
    assert KEY in " ".join(sent.values())


@every_provider
def test_a_missing_key_is_told_before_any_call(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI", "ANTHROPIC", "GOOGLE", "GEMINI"):
        monkeypatch.delenv(f"{name}_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    with pytest.raises(Fatal, match=f"set the environment variable {provider.upper()}_API_KEY"):
        make(MODELS[provider])
    with WireServer() as server:
        adapter = make(MODELS[provider], base_url=server.base_url(provider))
        assert ask(adapter)[0].text == "fine"


@every_provider
def test_a_key_that_is_none_is_not_printed(provider: Provider) -> None:
    with pytest.raises(Fatal) as caught:
        make(MODELS[provider], api_key="sk-RECOGNISABLE\nx")
    assert "RECOGNISABLE" not in str(caught.value)


def test_a_placeholder_for_a_key_spoils_no_message() -> None:
    with WireServer(error(404, "no such index")) as server:
        adapter = adapter_for("openai", server, api_key="x")
        with pytest.raises(Fatal, match="no such index"):
            ask(adapter)


def test_a_key_that_another_one_begins_with_leaves_no_rest_of_it() -> None:
    clean = cleaner("correct-horse", "correct-horse,battery-staple")
    assert clean("wrong key: correct-horse,battery-staple") == "wrong key: [key]"
    assert clean("wrong key: correct-horse") == "wrong key: [key]"


@every_provider
def test_the_secrets_of_an_address_are_not_recorded(provider: Provider) -> None:
    adapter = make(MODELS[provider], base_url="http://me:RECOGNISABLE@host/v1")
    assert adapter.info.endpoint == "http://host/v1"
    assert "RECOGNISABLE" not in repr(adapter.info)
    for rest in ("?k=RECOGNISABLE", "#RECOGNISABLE"):
        with pytest.raises(Fatal, match="must end with its path: http://host/v1, without") as no:
            make(MODELS[provider], base_url="http://me:RECOGNISABLE@host/v1" + rest)
        assert "RECOGNISABLE" not in str(no.value)
    for url in ("localhost:8000", "http://", "http://[", "http://host:port/v1"):
        with pytest.raises(Fatal, match=r"the base URL (must begin with http|is not a valid URL)"):
            make(MODELS[provider], base_url=url)


def test_cancelling_a_call_is_no_fault() -> None:
    async def run() -> None:
        task = asyncio.ensure_future(adapter.ask(request(), Pictures()))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await adapter.close()

    with WireServer(stall(1.0)) as server:
        adapter = adapter_for("openai", server)
        asyncio.run(run())
