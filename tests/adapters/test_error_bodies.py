"""What servers say about failures, in the words and forms that they have."""

from __future__ import annotations

import json
import time
from email.utils import formatdate
from typing import Any

import pytest

from adapters import Fault, Finish
from adapters.error_bodies import LONGEST_WAIT_S, failure_of
from tests.adapters.support import adapter_for, ask
from tests.adapters.test_failures import every_provider, fault, refusal
from tests.servers import Answer, Provider, WireServer, error

TOO_LONG = [
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "inputs tokens + max_new_tokens must be <= 4096",
    "`inputs` must have less than 4096 tokens. Given: 5000",
    "Range of input length should be [1, 30720]",
    "Input length 5000 exceeds the limit",
    "Please reduce the length of the messages or completion.",
    "Your input exceeds the context window of this model.",
    "Requested tokens (40000) exceed context window of 32768",
    "Too many tokens: 5000 > 4096",
    "Token limit exceeded: 40000/32768",
    "total message token length exceed model limit",
    "'max_tokens' is too large: 1024. This model's maximum context length is 4096 tokens.",
]
NOT_TOO_LONG = [
    "At most 1 image(s) may be provided in one prompt.",
    "image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes",
    "The input image dimensions exceed the maximum length of 8000 pixels",
    "Could not process image",
    "Rate limit: at most 1000 tokens per minute",
    "the picture has more than 100 invalid tokens",
]
FILTERED = [
    "The response was filtered due to the prompt triggering the content management policy",
    "Input data may contain inappropriate content.",
    "Output data may contain inappropriate content. (DataInspectionFailed)",
    "The content contains sensitive information",
    "Your request was flagged by our moderation",
    "This request violates our usage policy",
    "blocked by the safety filters",
    "Content Exists Risk: harmful content",
]


def finish_of(provider: Provider, answer: Answer) -> Finish:
    with WireServer(answer) as server:
        return ask(adapter_for(provider, server))[0].finish


@every_provider
def test_tokens_together_with_a_limit_mean_that_a_prompt_is_too_long(provider: Provider) -> None:
    found = {words: finish_of(provider, error(400, words)) for words in TOO_LONG}
    assert found == dict.fromkeys(TOO_LONG, Finish.TOO_LONG)


def test_other_limits_do_not() -> None:
    found = {words: finish_of("openai", error(400, words)) for words in NOT_TOO_LONG}
    assert found == dict.fromkeys(NOT_TOO_LONG, Finish.PROVIDER_REFUSED)


@pytest.mark.parametrize("status", [400, 403, 422])
def test_a_filter_is_known_by_its_words(status: int) -> None:
    found = {words: finish_of("openai", error(status, words)) for words in FILTERED}
    assert found == dict.fromkeys(FILTERED, Finish.CONTENT_FILTER)
    code = error(status, "no", "data_inspection_failed")
    assert finish_of("openai", code) is Finish.CONTENT_FILTER


def wrapped(words: str, how: str) -> Any:
    inner = {"error": {"message": words, "code": "inner_code"}}
    raw: Any = {"text": words, "json": json.dumps(inner), "object": inner}[how]
    metadata = {"raw": raw, "provider_name": "X"}
    return {"error": {"message": "Provider returned error", "code": 400, "metadata": metadata}}


@every_provider
@pytest.mark.parametrize("how", ["text", "json", "object"])
def test_the_provider_s_words_behind_a_gateway_are_shown_and_judged(
    provider: Provider, how: str
) -> None:
    told = json.dumps(wrapped("the picture is broken", how)).encode()
    line = refusal(provider, Answer(status=400, raw=told))
    assert "Provider returned error: the picture is broken" in line
    for words, finish in ((TOO_LONG[0], Finish.TOO_LONG), (FILTERED[0], Finish.CONTENT_FILTER)):
        told = json.dumps(wrapped(words, how)).encode()
        assert finish_of(provider, Answer(status=400, raw=told)) is finish
        # The same with status 200, judged as if the code were the status.
        assert finish_of(provider, Answer(raw=told)) is finish


def test_azure_s_inner_error_is_read() -> None:
    inner = {"code": "ResponsibleAIPolicyViolation"}
    told = {"error": {"message": "no", "code": "content_filter", "innererror": inner}}
    answer = Answer(status=400, raw=json.dumps(told).encode())
    assert finish_of("openai", answer) is Finish.CONTENT_FILTER


NO_WAIT = ["inf", "-inf", "nan", "-1", "soon", "", "1e999", "0x10"]


@pytest.mark.parametrize("name", ["retry_after", "retry_after_ms"])
@pytest.mark.parametrize("value", NO_WAIT)
def test_a_wait_without_end_is_none(name: str, value: str) -> None:
    assert fault("openai", error(429, "slow", **{name: value})).retry_after_s is None


def test_waits_are_bounded_and_moments_are_waits() -> None:
    def wait(value: str, name: str = "retry-after") -> float | None:
        return failure_of(429, {}, {name: value}).retry_after_s

    now = time.time()
    assert wait("3600") == 3600.0
    assert wait(str(10**8)) == LONGEST_WAIT_S
    for moment in (f"{now + 60:.0f}", f"{1000 * (now + 60):.0f}", formatdate(now + 60)):
        assert wait(moment) == pytest.approx(60, abs=3)
    assert wait(formatdate(now + 10**9)) == LONGEST_WAIT_S
    assert wait(f"{now - 60:.0f}") == 0.0
    assert wait("1500", "retry-after-ms") == 1.5
    # What cannot be read does not hide the other.
    both = {"retry-after-ms": "nan", "retry-after": "7"}
    assert failure_of(429, {}, both).retry_after_s == 7.0


def test_a_fault_of_any_adapter_has_a_finite_wait() -> None:
    waits = (float("inf"), float("nan"), -1.0)
    assert [Fault("rate_limit", "", wait).retry_after_s for wait in waits] == [None] * 3
    assert Fault("rate_limit", "", 0.5).retry_after_s == 0.5


@pytest.mark.parametrize(
    ("body", "wait"),
    [
        ("Retry-After: 20", 20.0),
        ({"error": {"message": "slow", "retry_after": 20}}, 20.0),
        ({"error": {"message": "slow", "retry_after": "20"}, "x": 1}, 20.0),
        ({"retry_after_ms": 1500, "error": "slow"}, 1.5),
        ({"error": {"message": "slow", "metadata": {"headers": {"Retry-After": "20"}}}}, 20.0),
        ({"error": {"message": "Please try again in 350ms."}}, 0.35),
        ({"error": {"message": "Please try again in 6m0s."}}, 360.0),
        ({"error": {"message": "Retry in 2 minutes"}}, 120.0),
        ({"error": {"details": [{"retryDelay": "31.5s"}]}}, 31.5),
        ({"error": {"details": [{"retryDelay": "999999999999999s"}]}}, LONGEST_WAIT_S),
        ({"error": {"message": "retry after inf"}}, None),
        ({"error": {"message": "retry later, 20 times"}}, None),
        ({"retry_after": -5}, None),
        ("", None),
    ],
)
def test_a_wait_in_the_body_counts(body: object, wait: float | None) -> None:
    got = failure_of(429, body).retry_after_s
    assert got == (None if wait is None else pytest.approx(wait))
    # A header comes first.
    assert failure_of(429, body, {"retry-after": "3"}).retry_after_s == 3.0


@pytest.mark.parametrize("size", [10**6, 8 * 10**6])
def test_long_errors_are_read_in_no_time(size: int) -> None:
    for piece in ("prompt tokens ", "try again in 1 1 1 ", '{"a": ', "blocked by "):
        text = piece * (size // len(piece))
        started = time.perf_counter()
        failure = failure_of(400, text.encode())
        assert len(failure.message) < 50_000
        assert time.perf_counter() - started < 2
