"""Our tasks as a user of inspect meets them: arguments, epochs, limits, failures, scoring again."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra [inspect]")

from inspect_ai import score
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.log import EvalLog
from inspect_ai.model import GenerateConfig, ModelOutput, StopDetails
from inspect_ai.scorer import SampleScore, Score

from adapters.inspect import Known
from harness.benchmarks.ready import Ready
from harness.benchmarks.step.questions import Preparer
from harness.bridge.scoring import macro, scores, whole
from harness.bridge.solving import INSPECT, Arguments, bridged
from harness.bridge.tasks import mm_mind2web
from harness.records import Row
from harness.settings import SETTINGS
from harness.views import StepView
from tests.harness.bridge.mock import (
    evaluated,
    in_order,
    key_of,
    model,
    our_run,
    output,
    replies_of,
    watched,
)
from tests.numbers import number

DEV: dict[str, Any] = {
    "benchmark": "sample",
    "split": "dev",
    "protocol": "autowebglm",
    "ranker": "lexical",
    "limit_tasks": 1,
}
"""A task of text only, one call a step."""


def metric_of(log: EvalLog, measure: str, group: str, name: str = "value") -> float:
    assert log.status == "success" and log.results is not None, log.error
    (result,) = (one for one in log.results.scores if one.name == measure)
    (found,) = (m.value for m in result.metrics.values() if (m.group, m.name) == (group, name))
    return float(found)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"limit": 3}, "give -T limit_tasks=N"),
        ({"limit_tasks": 0}, "-T limit_tasks: expected a whole number of at least 1"),
        ({"temperature": 0.5}, "give --temperature instead"),
        ({"effort": "low"}, "give --reasoning-effort instead"),
        ({"role": "rationale=gpt-4o"}, "--model-role"),
        ({"dtype": "float16"}, "-M dtype=VALUE"),
        ({"preflight": False}, "-T preflight has no effect in inspect"),
        ({"distractors": "many"}, "-T distractors: expected a whole number of at least 0"),
        ({"distracters": 3}, "did you mean 'distractors'?"),
        ({"benchmark": "miniwob"}, "live pages, which only vlm-eval run does"),
        ({"benchmark": "sample", "split": "nope"}, "sample has no split 'nope'"),
        ({"benchmark": "sample", "described_as": "nope:x"}, "nope"),
    ],
)
def test_what_is_wrong_with_an_argument_is_one_line_before_anything_is_asked(
    given: dict[str, Any], says: str
) -> None:
    with pytest.raises(PrerequisiteError) as refused:
        bridged(given)
    told = str(refused.value.message)
    assert says in told and "\n" not in told


def test_the_task_of_a_benchmark_takes_no_other() -> None:
    with pytest.raises(PrerequisiteError, match="harness/benchmark"):
        mm_mind2web(benchmark="sample")


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ({"step_rule": "no"}, "-S step_rule: expected one of"),
        ({"steprule": "exact"}, "did you mean 'step_rule'?"),
        ({"limit": 2}, "-S limit: not a setting of scoring"),
    ],
)
def test_what_is_wrong_with_a_rule_of_scoring_is_one_line(rules: dict[str, Any], says: str) -> None:
    with pytest.raises(PrerequisiteError) as refused:
        scores(**rules)
    assert says in str(refused.value.message)
    scores(exclude_status="refusal")


def test_every_setting_is_taken_or_refused_and_none_is_unknown() -> None:
    assert set(INSPECT) <= set(SETTINGS)
    for name in SETTINGS:
        try:
            read = Arguments.read({name: "x"})
        except Exception as refused:
            assert name in str(refused)
        else:
            assert name in {**read.settings, **read.options}


def test_parameters_given_to_inspect_are_those_of_the_run() -> None:
    config = GenerateConfig(
        temperature=0.3, max_tokens=77, seed=5, reasoning_effort="low", reasoning_tokens=9
    )
    settings = Arguments.read(DEV).resolved("some/model", config)
    assert (settings.temperature, settings.max_tokens, settings.model_seed) == (0.3, (77,), 5)
    assert (settings.effort, settings.thinking_budget) == ("low", 9)


def test_a_model_is_described_as_our_adapter_of_it_does() -> None:
    from adapters import describe

    size = (3000, 2000)
    for name, described_as, ours in (
        ("openai/gpt-4o", None, "openai:gpt-4o"),
        ("anthropic/claude-sonnet-5-5", None, "anthropic:claude-sonnet-5-5"),
        ("mockllm/model", "openai:gpt-4o", "openai:gpt-4o"),
        ("vllm/Qwen/Qwen3-VL-8B-Instruct", None, "openai:Qwen/Qwen3-VL-8B-Instruct"),
    ):
        options = {"base_url": "http://localhost/v1"} if name.startswith("vllm") else {}
        theirs, own = (
            Known(name, described_as=described_as).info,
            describe(ours, loads=False, **options).info,
        )
        assert theirs.image_rule and own.image_rule
        assert theirs.image_rule.fit(*size) == own.image_rule.fit(*size)
        assert (theirs.name, theirs.thinking) == (name, own.thinking)
        assert theirs.coordinates == own.coordinates


def test_temperature_is_sent_where_our_adapter_would() -> None:
    sent: list[float | None] = []

    def answer(messages: list[Any], config: GenerateConfig) -> ModelOutput:
        sent.append(config.temperature)
        return output("do(action='Click', element='1')")

    evaluated({**DEV, "described_as": "openai:gpt-4o"}, answer, limit=1)
    evaluated({**DEV, "described_as": "openai:gpt-5.4"}, answer, limit=1)
    evaluated(DEV, answer, limit=1, temperature=0.7)
    assert sent == [0.0, None, 0.7]


def test_epochs_are_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    limited = {**{k: v for k, v in DEV.items() if k != "limit_tasks"}, "limit": 2}
    run = our_run("random", {**limited, "repeats": 2})
    asked, turns = watched(monkeypatch), dict[Any, int]()
    # The two repeats of a unit ask the same, and are answered differently.
    answers: dict[Any, list[str]] = {}
    for call in run.calls():
        (key,) = (k for k in replies_of_one(call))
        answers.setdefault(key, []).append(call.reply.text)

    def answer(messages: list[Any], config: GenerateConfig) -> ModelOutput:
        key = key_of(messages)
        turns[key] = turns.get(key, 0) + 1
        return output(answers[key][turns[key] - 1])

    log = evaluated({**DEV, "limit_tasks": 2}, answer, epochs=2)
    assert {repeat for _, repeat, _ in asked.digests} == {0, 1}
    for measure in ("element", "success"):
        for group in ("macro", "micro"):
            ours = number(run.summary, measure, group)
            assert metric_of(log, measure, group) == pytest.approx(ours)
    tasks = number(run.summary, "task_success", "parents")
    assert metric_of(log, "success", "whole") == pytest.approx(tasks)


def replies_of_one(call: Any) -> Any:
    from adapters.inspect import chat_messages

    yield key_of(chat_messages(call.messages))


def test_a_row_is_prepared_once_for_all_epochs_and_no_other_row_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prepared: Counter[str] = Counter()
    prepare = Preparer.prepare

    def counting(self: Preparer, row: Row) -> Ready[StepView]:
        prepared[row.unit_id] += 1
        return prepare(self, row)

    monkeypatch.setattr(Preparer, "prepare", counting)
    log = evaluated(DEV, epochs=2, max_samples=4)
    assert log.samples and prepared == {str(sample.id): 1 for sample in log.samples}
    prepared.clear()
    last = str(in_order(log)[-1].id)
    evaluated(DEV, sample_id=last)
    assert prepared == {last: 1}


def test_a_limit_of_samples_withholds_task_success() -> None:
    log = evaluated(DEV, limit=2)
    assert log.samples is not None and len(log.samples) == 2
    assert metric_of(log, "element", "macro") == 0
    assert math.isnan(metric_of(log, "success", "whole"))


def test_refusals_and_cut_replies_are_scored_and_named() -> None:
    ends: list[dict[str, Any]] = [
        {"stop_reason": "content_filter", "stop_details": StopDetails(type="refusal")},
        {"stop_reason": "max_tokens"},
        {"stop_reason": "stop"},
    ]
    waiting = iter(ends)
    log = evaluated(
        DEV, lambda messages, config: output("Well", **next(waiting)), limit=3, max_samples=1
    )
    told = [next(iter((one.scores or {}).values())) for one in in_order(log)]
    assert [one.metadata["status"] for one in told if one.metadata] == [
        "refusal",
        "truncated",
        "parse_error",
    ]
    assert told[0].reason == "refusal" and told[2].reason == "invalid_response_format"
    assert all(one.value["success"] == 0 for one in told if isinstance(one.value, dict))


def test_what_failed_is_asked_again_and_nothing_else() -> None:
    calls: list[int] = []

    def answer(messages: list[Any], config: GenerateConfig) -> ModelOutput:
        calls.append(1)
        if len(calls) == 2:
            raise RuntimeError("the model is gone")
        return output("do(action='Click', element='1')")

    failed = evaluated(DEV, answer, limit=4, max_samples=1, fail_on_error=False)
    samples = in_order(failed)
    assert [bool(sample.error) for sample in samples] == [False, True, False, False]
    before = len(calls)
    errors = [sample.error.message for sample in samples if sample.error]
    assert before == 4 and "the model is gone" in errors[0]


def test_predictions_are_scored_again_by_other_rules() -> None:
    limited = {**{k: v for k, v in DEV.items() if k != "limit_tasks"}, "limit": 1}
    run = our_run("lexical", limited)
    replies = replies_of(run)
    log = evaluated(DEV, lambda messages, config: output(replies[key_of(messages)]))
    again = score(
        log,
        scores(step_rule="exact"),
        model=model(lambda messages, config: output("")),
        display="none",
        action="overwrite",
    )
    exact = {}
    for one in again.samples or []:
        (scored,) = (one.scores or {}).values()
        assert isinstance(scored.value, dict)
        exact[one.id] = scored.value["success"]
    right = {r.unit_id: r.scores for r in run.records() if r.scores}
    for unit_id, of_run in right.items():
        both = of_run["element"] == 1.0 and of_run["operation_exact"] == 1.0
        assert exact[unit_id] == float(both)


def test_metrics_never_raise_and_say_nan_where_there_is_no_value() -> None:
    one = SampleScore(score=Score(value=1.0, metadata={"status": "answered"}), sample_id="a")
    for scored in ([], [one], [one, one]):
        for metric in (macro(measure="success"), whole(measure="task_success"), macro()):
            told = metric(scored)  # type: ignore[arg-type]
            assert isinstance(told, dict) and math.isnan(float(told["low"] or 0.0))


def test_a_role_is_a_model_role_of_inspect() -> None:
    arguments = {
        "benchmark": "mt-sample",
        "split": "dev",
        "protocol": "mt-mindact-car",
        "ranker": "lexical",
        "top_k": 5,
        "limit_tasks": 1,
    }
    rewritten: list[str] = []

    def rewrite(messages: list[Any], config: GenerateConfig) -> ModelOutput:
        rewritten.append(messages[-1].text)
        return output("the whole instruction")

    log = evaluated(arguments, limit=12, model_roles={"rewrite": model(rewrite)})
    assert log.status == "success" and rewritten
    asked = {event.role for sample in log.samples or [] for event in sample.events
             if event.event == "model"}  # fmt: skip
    assert asked == {None, "rewrite"}
