"""The header of an inspect_ai log: settings, results, tokens of a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalMetric,
    EvalPlan,
    EvalPlanStep,
    EvalResults,
    EvalRevision,
    EvalSample,
    EvalScore,
    EvalSpec,
    EvalStats,
    HeadlineMetric,
)
from inspect_ai.model import GenerateConfig, ModelConfig, ModelUsage

from harness.runs import Manifest, Run, Unit
from harness.tables import clean
from parsers import Measure
from reports.exports.facts import benchmark_of, created, public_command, public_text, repository_of
from reports.exports.inspect.pictures import id_of
from reports.exports.results import Result
from reports.load import notes_of, unfinished_lines
from reports.settings import heading, settings_of

PRIVATE = ("base_url", "data", "endpoint")
"""Ends of keys whose values are paths or addresses."""
SHOWN = ("model", "benchmark", "protocol")
"""Settings with another place in a log."""
RATE = "rate"
"""The metric of measures of parents, such as task success, which have no averages."""
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""The words that inspect_ai has for the effort of a model."""


def run_id(manifest: Manifest) -> str:
    """Return an id of a run, the same whenever and wherever it is exported."""
    settings = sorted(settings_of(manifest).items())
    return id_of(manifest.name, manifest.created, manifest.prompts, settings)


def model_name(manifest: Manifest) -> str:
    """Return the model under test as inspect_ai names models: `openai/gpt-5.4`."""
    model = manifest.model
    provider, name = model.get("provider"), model.get("model")
    if provider and name:
        return f"{provider}/{public_text('model', name)}"
    return public_text("model", manifest.model_name)


def role_models(manifest: Manifest) -> dict[str, str]:
    """Return the models of other roles by role, likewise, as far as the user chose them."""
    roles = public(_mapping(manifest.config, "roles"))
    return {k: str(name).replace(":", "/", 1) for k, name in roles.items() if "." not in k}


def public(values: Any, name: str = "") -> Any:
    """Settings on record without empty ones, and without what is private: where things lie."""
    if isinstance(values, Mapping):
        read = {k: public(one, k) for k, one in values.items() if not k.endswith(PRIVATE)}
        return {k: one for k, one in read.items() if one not in (None, "", [], {})}
    if isinstance(values, list | tuple):
        return [public(one, name) for one in values]
    return public_text(name, values) if isinstance(values, str) else values


def spec(run: Run, records: Sequence[Unit[Any]]) -> EvalSpec:
    """Return the benchmark, the model and the settings of the run."""
    manifest, id = run.manifest, run_id(run.manifest)
    arguments = public(manifest.config)
    shown = heading(arguments).keys() - {*SHOWN}
    options, git = _mapping(arguments, "protocol_options"), _mapping(manifest.environment, "git")
    units = list(dict.fromkeys(one.unit_id for one in records))
    epochs = 1 + max((one.repeat for one in records), default=0)
    benchmark, repository = benchmark_of(run), repository_of(run)
    return EvalSpec(
        eval_id=id_of("log", id),
        run_id=id_of("run", id),
        task_id=id_of("task", id),
        created=created(run).isoformat(),
        task=benchmark,
        task_args=arguments,
        task_args_passed={k: v for k, v in arguments.items() if k in shown},
        solver=str(arguments.get("protocol") or "unknown"),
        solver_args=options,
        dataset=EvalDataset(
            name=benchmark,
            location=f"hf://datasets/{repository[0]}" if repository else None,
            samples=len(units),
            sample_ids=units,
            shuffled=False,
        ),
        model=model_name(manifest),
        model_generate_config=_generation(arguments),
        model_args=_mapping(arguments, "adapter_options"),
        model_roles={k: ModelConfig(model=v) for k, v in role_models(manifest).items()} or None,
        config=EvalConfig(epochs=epochs, fail_on_error=False),
        revision=EvalRevision(
            type="git", origin="", commit=str(git["commit"]), dirty=bool(git.get("dirty"))
        )
        if git.get("commit")
        else None,
        packages=_mapping(manifest.environment, "packages"),
        metadata=_metadata(run),
        headline_metric=_headline(manifest.declaration.main),
    )


def plan(spec: EvalSpec) -> EvalPlan:
    """Return the protocol, as the one solver."""
    step = EvalPlanStep(solver=str(spec.solver), params=spec.solver_args or {})
    return EvalPlan(name=step.solver, steps=[step], config=spec.model_generate_config)


def results(
    found: Sequence[Result], samples: Sequence[EvalSample], counts: Mapping[str, Any]
) -> EvalResults:
    """Return the measures as reports have them, under the run's own rules.

    found: all measures of the run, split by split.
    counts: of its rows, by name (`reports.frames.runs.facts`).
    """
    by_measure: dict[str, list[Result]] = {}
    for one in found:
        if one.headline and one.value is not None:
            by_measure.setdefault(one.measure.name, []).append(one)
    main = next((one.measure for one in found if one.measure.main), None)
    return EvalResults(
        total_samples=len(samples) + int(counts.get("unreached") or 0),
        completed_samples=sum(sample.error is None for sample in samples),
        scores=[_score(name, of, samples) for name, of in by_measure.items()],
        headline=_headline(main) if main and main.name in by_measure else None,
        metadata=public(counts),
    )


def stats(run: Run, samples: Iterable[EvalSample]) -> EvalStats:
    """Return the starts of its first and last session, and the tokens of all samples.

    When a run ended is not on record, and the viewer makes no sense of a log that has no end.
    """
    by_model: dict[str, ModelUsage] = {}
    by_role: dict[str, ModelUsage] = {}
    for sample in samples:
        for total, part in ((by_model, sample.model_usage), (by_role, sample.role_usage)):
            for name, used in part.items():
                total[name] = total[name] + used if name in total else used
    starts = [one.started for one in run.manifest.sessions] or [run.manifest.created]
    return EvalStats(
        started_at=starts[0], completed_at=starts[-1], model_usage=by_model, role_usage=by_role
    )


def _score(name: str, found: Sequence[Result], samples: Sequence[EvalSample]) -> EvalScore:
    """Return a measure: its metrics over all splits first, those of single splits in groups."""
    measure, several = found[0].measure, len({one.split for one in found}) > 1
    metrics: dict[str, EvalMetric] = {}
    for one in sorted(found, key=lambda one: not one.pooled):
        metrics |= _metrics(one, one.split if several and not one.pooled else None)
    of_samples = (sample.scores.get(name) for sample in samples if sample.scores)
    scored = sum(score is not None and not math.isnan(score.as_float()) for score in of_samples)
    return EvalScore(
        name=name,
        scorer=name,
        scored_samples=None if measure.all_of else scored,
        unscored_samples=None if measure.all_of else len(samples) - scored,
        metrics=metrics,
        metadata={"head": measure.head, "meaning": measure.meaning},
    )


def _metrics(one: Result, group: str | None) -> dict[str, EvalMetric]:
    """Return a mean and the ends of its interval, each as a metric."""
    name, interval = one.average or RATE, one.interval
    values = {name: one.value}
    details: dict[str, Any] = {"n": one.n, "over": one.over}
    if interval is not None:
        values |= {f"{name}_low": interval.low, f"{name}_high": interval.high}
        details |= {"level": interval.level, "method": interval.method}
        details |= {"clusters": interval.clusters, "few": interval.few}
    return {
        f"{group}_{key}" if group else key: EvalMetric(
            name=key, group=group, value=value, metadata=details
        )
        for key, value in values.items()
        if value is not None
    }


def _headline(main: Measure) -> HeadlineMetric:
    metric = RATE if main.all_of else main.averages[0]
    return HeadlineMetric(scorer=main.name, score=main.name, metric=metric)


def _mapping(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return one of some values; runs of other packages may have anything."""
    found = values.get(name)
    return dict(found) if isinstance(found, Mapping) else {}


def _generation(arguments: Mapping[str, Any]) -> GenerateConfig:
    """Return the settings of generation that all rounds share."""
    limits, effort = arguments.get("max_tokens"), arguments.get("effort")
    return GenerateConfig(
        max_tokens=limits[0] if isinstance(limits, list) and len(limits) == 1 else None,
        temperature=arguments.get("temperature"),
        top_p=arguments.get("top_p"),
        seed=arguments.get("model_seed"),
        reasoning_effort=effort if effort in EFFORTS else None,
        reasoning_tokens=arguments.get("thinking_budget"),
    )


def _metadata(run: Run) -> dict[str, Any]:
    """Return the facts about a run without another place in a log."""
    manifest = run.manifest
    known: dict[str, Any] = {
        "note": notes_of([run]),
        "unfinished": " ".join(map(clean, unfinished_lines({run.name: run}))),
        "run": manifest.name,
        "command": public_command(run),
        "model": public(manifest.model),
        "answered_by": public(manifest.model_name, "model"),
        "dataset": public(manifest.dataset),
        "prompts_sha256": manifest.prompts,
        "pictures": manifest.pictures,
        "reading": manifest.reading,
        "redone": str(manifest.redone or ""),
        "sessions": len(manifest.sessions),
        "python": manifest.environment.get("python"),
    }
    return {name: value for name, value in known.items() if value not in (None, "", [], {})}
