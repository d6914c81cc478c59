"""Counts of tokens: billed as their total says, finite, and never more than they can be."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters import Usage
from adapters.checks import MAX_TOKENS, counted, usage_of
from adapters.prices import Rates
from tests.adapters.support import adapter_for, ask
from tests.adapters.test_malformed_replies import body
from tests.servers import Answer, Provider, WireServer


def usage(provider: Provider, counts: Mapping[str, Any]) -> tuple[Usage | None, list[str]]:
    """What a call has used by a server's counts, and the notices about it."""
    name = "usageMetadata" if provider == "google" else "usage"
    plain = body(provider) | {name: counts}
    with WireServer(Answer(raw=json.dumps(plain).encode())) as server:
        adapter = adapter_for(provider, server)
        [reply] = ask(adapter)
    assert reply.text == "click"
    return reply.usage, adapter.notices()


def chat(prompt: object, completion: object, total: object = None, **more: object) -> Any:
    details = {"cached_tokens": more.get("cached"), "cache_write_tokens": more.get("written")}
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": total,
        "prompt_tokens_details": details,
        "completion_tokens_details": {"reasoning_tokens": more.get("reasoning")},
    }


def in_words_of(provider: Provider, counts: Any) -> Any:
    """Counts of the chat protocol in the words of another wire."""
    if provider == "responses":
        counts = json.dumps(counts).replace("prompt_tok", "input_tok")
        return json.loads(counts.replace("completion_tok", "output_tok"))
    return counts


both_wires = pytest.mark.parametrize("provider", ["openai", "responses"])


@both_wires
@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        # Thoughts outside of the completion (xAI), by the total or for want of another reading.
        (chat(1000, 20, 6020, reasoning=5000), Usage(1000, output=5020, reasoning=5000)),
        (chat(1000, 20, reasoning=5000), Usage(1000, output=5020, reasoning=5000)),
        # Thoughts outside that nobody counts apart (Gemini behind the chat protocol).
        (chat(1000, 20, 6020), Usage(1000, output=5020)),
        # Thoughts within, as OpenAI counts them.
        (chat(1000, 5020, 6020, reasoning=5000), Usage(1000, output=5020, reasoning=5000)),
        (chat(1000, 5020, reasoning=5000), Usage(1000, output=5020, reasoning=5000)),
        # More thoughts than output, by another tokenizer: the total has the last word.
        (chat(1000, 100, 1100, reasoning=120), Usage(1000, output=100, reasoning=100)),
        # Cached tokens outside of the prompt, or more than can be.
        (chat(100, 20, 1020, cached=900), Usage(1000, 900, output=20)),
        (chat(100, 20, cached=900), Usage(1000, 900, output=20)),
        (chat(1000, 20, 1020, cached=2000), Usage(1000, 1000, output=20)),
        (chat(1000, 20, 1020, cached=600, written=400), Usage(1000, 600, 400, 20)),
        # A completion that is missing follows from the total; a total below its parts says nothing.
        (chat(1000, None, 1020), Usage(1000, output=20)),
        (chat(1000, 20, 7), Usage(1000, output=20)),
        # Numbers in other forms.
        (chat(10.0, 3.0, 13.0), Usage(10, output=3)),
        (chat("10", "3", "13"), Usage(10, output=3)),
        (chat(10, 3, 10**9), Usage(10, output=3)),
        (chat(10, 3, math.nan, cached=-5, reasoning=math.inf), Usage(10, output=3)),
    ],
)
def test_counts_are_billed_as_their_total_says(
    provider: Provider, counts: Mapping[str, object], expected: Usage
) -> None:
    assert usage(provider, in_words_of(provider, counts)) == (expected, [])


@both_wires
@pytest.mark.parametrize(
    "counts",
    [
        chat(-1, 3),
        chat(10, -3),
        chat(math.nan, 3),
        chat(10, math.inf),
        chat(10, "many"),
        chat(10, 0.5),
        chat(10, True),
        chat(10**12, 3),
        chat(0, 0, 0),
        chat(10, 0, 10),
        chat(10, None),
        chat(None, 3),
        [1, 2],
        "none",
    ],
)
def test_impossible_counts_are_told_and_count_as_none(provider: Provider, counts: Any) -> None:
    got, [notice] = usage(provider, in_words_of(provider, counts))
    assert got is None
    assert "impossible numbers of tokens" in notice


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"candidatesTokenCount": 20, "thoughtsTokenCount": 5000}, (5020, 5000)),
        (
            {"candidatesTokenCount": 20, "thoughtsTokenCount": 5000, "totalTokenCount": 6020},
            (5020, 5000),
        ),
        # Within, as the total says.
        (
            {"candidatesTokenCount": 5020, "thoughtsTokenCount": 5000, "totalTokenCount": 6020},
            (5020, 5000),
        ),
        ({"totalTokenCount": 6020, "candidatesTokenCount": "20"}, (5020, 0)),
        ({"candidatesTokenCount": 20, "thoughtsTokenCount": -5}, (20, 0)),
    ],
)
def test_google_counts_thoughts_apart(counts: Any, expected: tuple[int, int]) -> None:
    got, _ = usage("google", {"promptTokenCount": 1000, **counts})
    assert got is not None
    assert (got.input, got.output, got.reasoning) == (1000, *expected)


def test_anthropic_counts_cached_tokens_apart() -> None:
    counts = {
        "input_tokens": 10.0,
        "cache_read_input_tokens": 900,
        "cache_creation_input_tokens": 90,
        "output_tokens": 20,
        "output_tokens_details": {"thinking_tokens": 50},
    }
    assert usage("anthropic", counts) == (Usage(1000, 900, 90, 70, 50), [])
    assert usage("anthropic", counts | {"cache_read_input_tokens": -1})[0] is None


numbers = st.none() | st.integers(-5, 2 * MAX_TOKENS) | st.floats() | st.text(max_size=3)


@given(numbers, numbers, numbers, numbers, numbers, numbers, st.booleans())
def test_no_counts_make_an_impossible_usage_or_a_cheaper_one(
    prompt: Any, reply: Any, total: Any, cached: Any, written: Any, thoughts: Any, apart: bool
) -> None:
    got = usage_of(
        input=prompt,
        output=reply,
        total=total,
        cached=cached,
        cache_write=written,
        reasoning=thoughts,
        thoughts_apart=apart,
    )
    if got is None:
        return
    assert 0 < got.input <= MAX_TOKENS and 0 <= got.output <= MAX_TOKENS
    assert 0 <= got.cached + got.cache_write <= got.input
    assert 0 <= got.reasoning <= got.output
    assert got.input >= (counted(prompt) or 0) and got.output >= (counted(reply) or 0)
    assert 0 <= Rates(1.0, 10.0).cost(got) < math.inf
