"""Every protocol and every family of benchmarks once, from the command line to the score."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.protocols.registry import _BUILT_IN
from tests.harness.benchmarks import _autowebbench
from tests.harness.commands.tool import call, isolate

RANKED = ("-b", "sample", "--ranker", "lexical", "--benchmark-option", "top_k=200")
TURNS = ("-b", "mt-sample", "--ranker", "lexical", "--benchmark-option", "top_k=200")
WITH = {
    "seeact-two-rounds": ("-b", "sample"),
    "seeact-choice": RANKED,
    "seeact-annotation": RANKED,
    "seeact-attributes": ("-b", "sample"),
    "coordinates": ("-b", "sample"),
    "grounding": ("-b", "sample-grounding"),
    "question": ("-b", "sample-questions"),
    "visualwebbench": ("-b", "sample-questions"),
    "screen-agent": ("-b", "sample-screens"),
    "mindact-choice": RANKED,
    "mindact-generate": RANKED,
    "classify": ("-b", "sample", "--ranker", "lexical"),
    "seq2seq": RANKED,
    "mt-mindact": TURNS,
    "mt-mindact-car": TURNS,
    "mt-mindact-fixed": TURNS,
    "mt-synapse": TURNS,
    "self-map": TURNS,
    "autowebglm": RANKED,
    "action-strings": ("-b", "sample"),
    "verbatim": ("-b", "autowebbench", "--data", "prompts"),
}
"""A benchmark, and what it takes for the protocol to show every right answer."""
BOUNDED = {"classify": "the ranker's first candidate, whatever is right"}
FAMILIES = {
    "recorded steps": ("-b", "sample"),
    "conversations": ("-b", "mt-sample"),
    "finished prompts": ("-b", "autowebbench", "--data", "prompts"),
    "grounding": ("-b", "sample-grounding"),
    "questions": ("-b", "sample-questions"),
    "screens": ("-b", "sample-screens"),
}


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate(monkeypatch, tmp_path)


def main_score(*words: str) -> float | None:
    """Run one task of a benchmark, and return its main measure."""
    if "prompts" in words:
        _autowebbench.write(Path("prompts"))
    called = call("run", *words, "--limit", "1", "--out", "r", "--json")
    assert called.code == 0, called.err
    found = json.loads(called.out)
    assert found["complete"]
    value = next(iter(found["scores"].values()))["value"]
    assert value is None or isinstance(value, float)
    return value


def test_every_protocol_has_its_line() -> None:
    assert _BUILT_IN.keys() == WITH.keys()


@pytest.mark.parametrize("protocol", WITH)
def test_the_oracle_is_right_through_every_protocol(protocol: str) -> None:
    value = main_score("-m", "oracle", "--protocol", protocol, *WITH[protocol])
    assert value == 1.0 or protocol in BOUNDED


@pytest.mark.parametrize("policy", ["random", "lexical", "oracle"])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_run_and_scored(family: str, policy: str) -> None:
    words = FAMILIES[family]
    if policy == "lexical" and family in ("grounding", "questions", "screens"):
        called = call("run", "-m", policy, *words, "--limit", "1", "--out", "r")
        assert (called.code, len(called.err.splitlines())) == (2, 1)
        return
    value = main_score("-m", policy, *words)
    assert value is not None and (value == 1.0 if policy == "oracle" else 0 <= value <= 1)
