"""Which parameters are known to decode greedily, by each adapter's own declaration."""

from __future__ import annotations

import pytest

from adapters.catalog import MODELS
from adapters.contract import AdapterInfo, Generation
from adapters.scripted import scripted

SERVER = "http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    ("name", "options", "usual"),
    [
        ("openai:gpt-4o", {}, True),
        ("openai:gpt-5.4", {}, False),
        ("openai:qwen2.5-vl-7b", {"base_url": SERVER}, True),
        ("openai:m", {"base_url": SERVER, "extra_body": {"temperature": 0.9}}, False),
        ("anthropic:claude-sonnet-5-5", {}, False),
        ("google:gemini-2.5-pro", {}, True),
        ("google:gemini-3.1-pro", {}, False),
    ],
)
def test_decoding_is_greedy_where_temperature_0_is_sent(
    name: str, options: dict[str, object], usual: bool
) -> None:
    info = MODELS.keyless(name, **options).info
    assert info.greedy(Generation()) == usual
    assert not info.greedy(Generation(temperature=0.9))
    assert info.greedy(Generation(temperature=0.0)) == ("extra_body" not in options)


def test_an_effort_of_none_makes_openai_s_models_greedy() -> None:
    assert MODELS.keyless("openai:gpt-5.4").info.greedy(Generation(effort="none"))


def test_a_script_never_is_and_a_model_that_says_nothing_only_at_temperature_0() -> None:
    # It may answer equal requests of two steps differently.
    assert not scripted(lines=[]).info.greedy(Generation(temperature=0.0))
    unknown = AdapterInfo("m", "m", "mine")
    assert [unknown.greedy(Generation(temperature=t)) for t in (None, 0.0, 0.5)] == [
        False,
        True,
        False,
    ]
