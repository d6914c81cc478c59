"""A run as an inspect_ai log: its settings, results and tokens, and a sample per unit."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from inspect_ai import log as il
from inspect_ai.model import GenerateConfig, ModelConfig

from adapters.conversation import placeholder
from harness.runs import Run, Unit
from harness.runs.places import public
from harness.tables import clean
from parsers import Measure
from reports.errors import classify_run
from reports.exports import facts
from reports.exports.inspect.samples import Sampler, totals
from reports.exports.inspect.talk import ShownPictures
from reports.exports.results import MeasureResult, counted, results_of
from reports.frames.rows import run_rows
from reports.frames.runs import facts as counts_of
from reports.load import notes_of, unfinished_lines
from reports.settings import by_own_names, settings_of
from reports.view.points import page_of

RATE = "rate"
"""The metric of measures of parents, such as task success, which have no averages."""
GENERATION = {
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "model_seed",
    "reasoning_tokens": "thinking_budget",
}
"""The settings of a run by inspect_ai's names of parameters of generation."""


def log_of(run: Run, *, with_pictures: bool) -> tuple[il.EvalLog, str]:
    """Return the log of a run, and a line about pictures that are missing.

    Raises:
        ExportError: its pictures are too large.
        RunError: the run cannot be read.
    """
    records, manifest = run.records(), run.manifest
    pictures = ShownPictures(run, records) if with_pictures else None
    # The same whenever and wherever the run is exported.
    settings = sorted(settings_of(manifest).items())
    id = id_of(manifest.name, manifest.created, manifest.prompts, settings)
    spec = _spec(run, records, id)
    (rows,) = run_rows(run)
    sampler = Sampler(
        new_id=lambda *parts: id_of("run", id, *parts),
        model=spec.model,
        declared=manifest.declaration,
        counted=counted(rows),
        page=page_of(run),
        show=pictures.show if pictures else placeholder,
    )
    samples = [
        sampler.sample(record, run.calls_of(record.unit_id, record.repeat), error)
        for record, error in zip(records, classify_run(run, pages=False), strict=True)
    ]
    starts = [one.started for one in manifest.sessions] or [manifest.created]
    log = il.EvalLog(
        status="success" if run.complete else "cancelled",
        eval=spec,
        results=_results(list(results_of(run)), samples, counts_of(rows)),
        # When a run ended is not on record, and the viewer needs an end.
        stats=il.EvalStats(
            started_at=starts[0],
            completed_at=starts[-1],
            model_usage=totals(sample.model_usage for sample in samples),
            role_usage=totals(sample.role_usage for sample in samples),
        ),
        samples=samples,
    )
    return log, pictures.missing if pictures else ""


def id_of(*parts: object) -> str:
    """Return an id from anything whose text is always the same."""
    content = "\0".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(content).hexdigest()[:22]


def _known(values: Any) -> dict[str, Any]:
    """Return public settings on record without empty ones."""
    return {k: one for k, one in public(values).items() if one not in (None, "", [], {})}


def _spec(run: Run, records: Sequence[Unit[Any]], id: str) -> il.EvalSpec:
    manifest, arguments = run.manifest, _known(by_own_names(run.manifest.config))
    git = _mapping(manifest.environment, "git")
    units = list(dict.fromkeys(one.unit_id for one in records))
    benchmark, repository = facts.benchmark_of(run), facts.repository_of(run)
    provider, model = manifest.model.get("provider"), manifest.model.get("model")
    named = f"{provider}/" if provider and model else ""
    commit, dirty = str(git.get("commit") or ""), bool(git.get("dirty"))
    revision = il.EvalRevision(type="git", origin="", commit=commit, dirty=dirty)
    parameters = {name: arguments.get(setting) for name, setting in GENERATION.items()}
    repeats = 1 + max((one.repeat for one in records), default=0)
    chosen = _known(_mapping(manifest.config, "role")).items()
    roles = {k: str(name).replace(":", "/", 1) for k, name in chosen if "." not in k}
    return il.EvalSpec(
        eval_id=id_of("log", id),
        run_id=id_of("run", id),
        task_id=id_of("task", id),
        created=facts.created(run).isoformat(),
        task=benchmark,
        task_args=arguments,
        solver=str(arguments.get("protocol") or "unknown"),
        solver_args=_known(manifest.options_of("protocol")),
        dataset=il.EvalDataset(
            name=benchmark,
            location=f"hf://datasets/{repository[0]}" if repository else None,
            samples=len(units),
            sample_ids=units,
        ),
        model=named + facts.public_text("model", model if named else manifest.model_name),
        model_generate_config=GenerateConfig(**parameters),
        model_args=_known(manifest.options_of("adapter")),
        model_roles={k: ModelConfig(model=v) for k, v in roles.items()} or None,
        config=il.EvalConfig(epochs=repeats, fail_on_error=False),
        revision=revision if commit else None,
        packages=_mapping(manifest.environment, "packages"),
        metadata=_metadata(run),
        headline_metric=_headline(manifest.declaration.main),
    )


def _metadata(run: Run) -> dict[str, Any]:
    manifest = run.manifest
    known = {
        "note": notes_of([run]),
        "unfinished": " ".join(map(clean, unfinished_lines({run.name: run}))),
        "run": manifest.name,
        "model": _known(manifest.model),
        "dataset": _known(manifest.dataset),
        "prompts_sha256": manifest.prompts,
        "reading": manifest.reading,
    }
    return {name: value for name, value in known.items() if value not in (None, "", {})}


def _results(
    found: Sequence[MeasureResult], samples: Sequence[il.EvalSample], counts: Mapping[str, Any]
) -> il.EvalResults:
    """Return the measures as reports have them, under the run's own rules."""
    by_measure: dict[Measure, list[MeasureResult]] = {}
    for one in found:
        if one.headline and one.value is not None:
            by_measure.setdefault(one.measure, []).append(one)
    main = next((measure for measure in by_measure if measure.main), None)
    return il.EvalResults(
        total_samples=len(samples) + int(counts.get("unreached") or 0),
        completed_samples=sum(sample.error is None for sample in samples),
        scores=[_score(measure, of) for measure, of in by_measure.items()],
        headline=_headline(main) if main else None,
        metadata=_known(counts),
    )


def _score(measure: Measure, found: Sequence[MeasureResult]) -> il.EvalScore:
    """Return a measure: its means over all splits first, those of single splits in groups, each
    with the ends of its interval as further metrics."""
    several, metrics = len({one.split for one in found}) > 1, {}
    for one in sorted(found, key=lambda one: not one.pooled):
        group = one.split if several and not one.pooled else None
        name, interval = one.average or RATE, one.interval
        values, details = {name: one.value or 0.0}, {"n": one.n, "over": one.over}
        if interval is not None:
            values |= {f"{name}_low": interval.low, f"{name}_high": interval.high}
            details |= {"level": interval.level, "method": interval.method}
            details |= {"clusters": interval.clusters, "few": interval.few}
        for key, value in values.items():
            metric = il.EvalMetric(name=key, group=group, value=value, metadata=details)
            metrics[f"{group}_{key}" if group else key] = metric
    about = {"head": measure.title, "meaning": measure.meaning}
    return il.EvalScore(name=measure.name, scorer=measure.name, metrics=metrics, metadata=about)


def _headline(main: Measure) -> il.HeadlineMetric:
    metric = RATE if main.all_of else main.averages[0]
    return il.HeadlineMetric(scorer=main.name, score=main.name, metric=metric)


def _mapping(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return one of some values; runs of other packages may have anything."""
    found = values.get(name)
    return dict(found) if isinstance(found, Mapping) else {}
