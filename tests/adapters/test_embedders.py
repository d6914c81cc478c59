"""Embedders: through OpenAI's SDK against a server on this machine, and by the letters of words."""

from __future__ import annotations

import asyncio
import json
import math
import os
import subprocess
import sys
from array import array
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters import EMBEDDING_MODELS, Embedded, Embedder, EmbedderInfo, Fatal, Fault, Usage
from adapters.checks import checked_vectors
from adapters.embedding import batches, from_bytes, single_precision, to_bytes
from adapters.prices import PriceSheet, Rates
from tests.adapters.support import KEY
from tests.servers import Answer, WireServer, drop, error, html, refusing, stall, truncated
from tests.servers.wire import vector_of

TEXTS = ("find a flight", "", "book a table")
INFO = EmbedderInfo("m", "m", "p")


def embedder(server: WireServer, model: str = "openai:some-model", **options: Any) -> Embedder:
    options = {"timeout_s": 5.0, "api_key": KEY} | options
    return EMBEDDING_MODELS.make(model, base_url=server.base_url("openai"), **options)


def embed(made: Embedder, texts: Sequence[str] = TEXTS) -> Embedded:
    async def run() -> Embedded:
        try:
            return await made.embed(texts)
        finally:
            await made.close()

    return asyncio.run(run())


def test_texts_become_vectors_in_their_order_and_an_empty_one_is_sent_as_a_blank() -> None:
    with WireServer() as server:
        embedded = embed(embedder(server))
    assert embedded.vectors == tuple(tuple(vector_of(t)) for t in (TEXTS[0], " ", TEXTS[2]))
    assert (embedded.usage, embedded.model) == (Usage(input=6), "some-model")
    [ask] = server.asks
    assert ask.path == "/v1/embeddings"
    assert ask.headers["authorization"] == f"Bearer {KEY}"
    assert ask.body == {
        "model": "some-model",
        "input": ["find a flight", " ", "book a table"],
        "encoding_format": "base64",
    }


def test_a_server_that_knows_decimal_numbers_only_is_understood() -> None:
    with WireServer(refusing("encoding_format")) as server:
        made = embedder(server)
        embedded = embed(made)
    assert embedded.vectors[0] == tuple(vector_of(TEXTS[0]))
    assert ["encoding_format" in ask.body for ask in server.asks] == [True, False]
    assert len(made.notices()) == 1


def test_shorter_vectors_are_asked_for_and_are_another_model_on_record() -> None:
    with WireServer() as server:
        made = embedder(server, dimensions="3")
        embedded = embed(made)
        assert made.info.settings != embedder(server).info.settings
    assert server.asks[0].body["dimensions"] == 3
    assert embedded.vectors[0] == tuple(vector_of(TEXTS[0]))[:3]


def test_no_key_is_needed_to_say_what_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    info = EMBEDDING_MODELS.keyless("text-embedding-3-small").info
    assert (info.name, info.provider, info.billed) == (
        "openai:text-embedding-3-small",
        "openai",
        True,
    )
    assert PriceSheet().price_of(info, Usage(input=1_000_000)) == pytest.approx(0.02)
    assert PriceSheet({"text-embedding-3-small": Rates(0.5, 0)}).upper_bound(info, 1000, 0) == 5e-4
    with pytest.raises(Fatal, match="OPENAI_API_KEY"):
        EMBEDDING_MODELS.make("text-embedding-3-small")


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (error(429, "slow down"), "rate_limit"),
        (error(500, "oops"), "server"),
        (error(408, "late"), "timeout"),
        (error(400, "This model's maximum context length is 8192 tokens"), "server"),
        (drop(), "connection"),
        (html(), "malformed"),
        (truncated(), "malformed"),
        (stall(3.0), "timeout"),
    ],
)
def test_what_may_pass_is_a_fault(answer: Answer, kind: str) -> None:
    with WireServer(answer) as server, pytest.raises(Fault) as caught:
        embed(embedder(server, timeout_s=0.5 if kind == "timeout" else 60.0))
    assert caught.value.kind == kind
    assert server.count == 1, "the SDK tried again by itself"


@pytest.mark.parametrize(
    "answer",
    [
        error(401, f"Incorrect API key provided: {KEY}", "invalid_api_key"),
        error(404, "no such model"),
    ],
)
def test_what_will_not_pass_is_one_line_without_the_key(answer: Answer) -> None:
    with WireServer(answer) as server, pytest.raises(Fatal) as caught:
        embed(embedder(server))
    assert answer.message[:12] in str(caught.value)
    assert KEY not in str(caught.value) and "\n" not in str(caught.value)


def encoded(*numbers: float) -> str:
    return b64encode(array("f", numbers).tobytes()).decode()


NAN, HUGE = float("nan"), 10**400
GOOD = [0.5, -0.25, 1.0, 0.0]


@pytest.mark.parametrize(
    "data",
    [
        "none",
        [],
        [(0, GOOD), (1, GOOD)],
        [(0, GOOD), (1, GOOD), (2, GOOD), (3, GOOD)],
        [(0, GOOD), (2, GOOD), (1, GOOD)],
        [(0, GOOD), (0, GOOD), (0, GOOD)],
        [(0, GOOD), (1, GOOD), (2, GOOD[:3])],
        [(0, []), (1, []), (2, [])],
        [(0, GOOD), (1, GOOD), (2, [*GOOD[:3], NAN])],
        [(0, GOOD), (1, GOOD), (2, [*GOOD[:3], 1e300])],
        [(0, GOOD), (1, GOOD), (2, [*GOOD[:3], HUGE])],
        [(0, GOOD), (1, GOOD), (2, [*GOOD[:3], "x"])],
        [(0, GOOD), (1, GOOD), (2, [*GOOD[:3], None])],
        [(0, GOOD), (1, GOOD), (2, encoded(*GOOD[:3], math.inf))],
        [(0, GOOD), (1, GOOD), (2, "not base64!")],
        [(0, GOOD), (1, GOOD), (2, "AAA=")],
        [(0, GOOD), (1, GOOD), (2, None)],
        [(0, GOOD), (1, GOOD), (None, GOOD)],
        [(0, [0.0] * 70_000), (1, [0.0] * 70_000), (2, [0.0] * 70_000)],
    ],
)
def test_vectors_that_cannot_be_those_of_the_texts_are_malformed(data: Any) -> None:
    items = data
    if isinstance(data, list):
        items = [{"index": index, "embedding": embedding} for index, embedding in data]
    raw = json.dumps({"data": items, "model": "m"}).encode()
    with WireServer(Answer(raw=raw)) as server, pytest.raises(Fault) as caught:
        embed(embedder(server))
    assert caught.value.kind == "malformed"
    assert len(str(caught.value)) < 600


def test_vectors_of_another_length_than_before_are_malformed() -> None:
    bodies = [json.dumps({"data": [{"index": 0, "embedding": GOOD[:n]}]}).encode() for n in (4, 3)]

    async def twice(made: Embedder) -> None:
        assert len((await made.embed(["a"])).vectors[0]) == 4
        with pytest.raises(Fault, match="3 numbers instead of 4"):
            await made.embed(["b"])
        await made.close()

    with WireServer([Answer(raw=body) for body in bodies]) as server:
        asyncio.run(twice(embedder(server)))


@given(st.lists(st.text(max_size=20), max_size=30), st.integers(1, 4), st.integers(1, 40))
def test_batches_hold_every_text_in_order_within_the_limits(
    texts: list[str], most: int, size: int
) -> None:
    info = replace(INFO, texts_per_call=most, bytes_per_call=size)
    cut = list(batches(texts, info))
    assert [text for batch in cut for text in batch] == texts
    for batch in cut:
        assert 1 <= len(batch) <= most
        assert len(batch) == 1 or sum(len(text.encode()) for text in batch) <= size
    for batch, after in pairwise(cut):
        fits = sum(len(text.encode()) for text in (*batch, after[0])) <= size
        assert len(batch) == most or not fits


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1))
def test_a_vector_is_stored_to_the_last_bit(numbers: list[float]) -> None:
    vector = single_precision(numbers)
    assert list(vector) == numbers
    assert from_bytes(to_bytes(vector)) == vector


@pytest.mark.parametrize("data", [b"", b"abc", b"\0\0\xc0\x7f", b"\0\0\x80\x7f"])
def test_bytes_that_are_no_vector_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"vector"):
        from_bytes(data)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        Embedded(()),
        Embedded(((1.0,), (1.0, 2.0))),
        Embedded(((1.0,), ())),
        Embedded((("x",), ("y",))),  # type: ignore[arg-type]
        Embedded(((1.0,), (2.0,)), Usage(input=-1)),
        Embedded(((1.0,), (2.0,)), model="m" * 2000),
        Embedded(((1.0,), (2.0,)), latency_s=NAN),
    ],
)
def test_the_answer_of_an_embedder_of_another_package_is_checked(answer: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        checked_vectors(answer, 2)


# Words that have letters in common


def product(one: str, other: str) -> float:
    [a, b] = embed(EMBEDDING_MODELS.make("lexical"), [one, other]).vectors
    assert math.fsum(x * x for x in a) == pytest.approx(1, abs=1e-6)
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def test_texts_with_more_words_in_common_are_more_alike() -> None:
    task = "Find the cheapest flight from London to Oslo"
    same = product(task, "find the CHEAPEST flights, from London to Oslo!")
    near = product(task, "Show flights to Oslo")
    far = product(task, "Rent a van in Boston")
    assert same > 0.9 > near > 0.3 > 0.2 > far
    assert product(task, task) == pytest.approx(1, abs=1e-6)
    assert product("", "?!") == pytest.approx(1, abs=1e-6)
    assert abs(product("", task)) < 0.1


@given(st.text(max_size=30))
def test_every_text_has_a_lexical_vector_of_length_one(text: str) -> None:
    assert product(text, text) == pytest.approx(1, abs=1e-5)


def test_lexical_vectors_are_the_same_in_every_process() -> None:
    code = (
        "import hashlib; from adapters.embedding import to_bytes\n"
        "from adapters.embedders import lexical_vector\n"
        "vectors = map(lexical_vector, ['Find a flight', 'Zürich ﬁnden', '', '東京'])\n"
        "print(hashlib.sha256(b''.join(map(to_bytes, vectors))).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("0", "1", "12345")
    }
    assert len(digests) == 1
    # Written down, so that a change of the definition raises its edition.
    assert digests == {"823d5762c0e1cf17b7ef79839a8146aec78a4a5c153bd24dc6a1bfeb5b4616ad"}
