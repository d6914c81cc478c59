"""The same prompts, scores and metrics in inspect as in a run of ours, by form of dialogue."""

from __future__ import annotations

import math
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra [inspect]")

from inspect_ai.log import EvalLog
from inspect_ai.model import GenerateConfig, ModelOutput

from harness.runs import Run
from tests.harness.bridge.mock import evaluated, key_of, our_run, output, replies_of, watched
from tests.numbers import row

RANKED = {"ranker": "lexical", "top_k": 12}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "seeact-two-rounds": ("lexical", {"benchmark": "sample", "split": "dev", "distractors": 7}),
    "seeact-choice": ("lexical", {"benchmark": "sample", "split": "dev", **RANKED}),
    "self-map": ("lexical", {"benchmark": "mt-sample", "split": "dev", **RANKED}),
    "grounding": (
        "centre",
        {"benchmark": "sample-grounding", "protocol_options": ["coordinates=unit"]},
    ),
}


@pytest.mark.parametrize("protocol", CASES)
def test_prompts_and_scores_are_those_of_a_run(
    protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, settings = CASES[protocol]
    settings = {**settings, "protocol": protocol}
    if settings["benchmark"] != "sample-grounding":
        settings["limit"] = 1
    run = our_run(policy, settings)
    replies, asked = replies_of(run), watched(monkeypatch)

    def answer(messages: list[Any], config: GenerateConfig) -> ModelOutput:
        return output(replies[key_of(messages)])

    limit = {"limit_tasks": settings.pop("limit")} if "limit" in settings else {}
    log = evaluated({**settings, **limit}, answer)

    assert log.status == "success", log.error
    digests = {
        (call.unit_id, call.repeat, call.place): call.conversation
        for call in run.calls()
        if call.is_ask
    }
    # What units share is on record under their parent.
    shared = {key for key in digests if key[0].startswith("shared/")}
    assert {k: v for k, v in asked.digests.items() if (k[0], k[1], k[2]) in digests} == {
        k: v for k, v in digests.items() if k not in shared
    }
    assert sorted(asked.digests.values()) == sorted(digests.values())
    assert_same_results(run, log)


def assert_same_results(run: Run, log: EvalLog) -> None:
    """The scores of every unit, and every mean with its interval, agree."""
    samples = {sample.id: sample for sample in log.samples or []}
    averaged = [
        one.name for one in run.manifest.declaration.of_units if one.averages and one.in_tables
    ]
    for record in run.records():
        (score,) = (samples[record.unit_id].scores or {}).values()
        facts = score.metadata or {}
        assert facts["invalid"] == record.invalid
        assert facts["all"] == (record.scores or {})
        assert isinstance(score.value, dict) and list(score.value) == averaged
    for result in log.results.scores if log.results else ():
        declared = run.manifest.declaration[result.name]
        for group in declared.averages:
            ours = row(run.summary, declared.name, group)
            theirs = {
                name.rpartition("_")[2]: one.value
                for name, one in result.metrics.items()
                if name.rpartition("_")[0].endswith(group)
            }
            ends = {
                name: math.nan if ours[name] is None else ours[name] for name in ("low", "high")
            }
            expected = {"value": ours["number"], **ends}
            assert theirs == pytest.approx(expected, nan_ok=True, abs=1e-12)
