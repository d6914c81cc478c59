"""A run as an inspect_ai log: its settings, results and tokens, and a sample per unit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from inspect_ai import log as il
from inspect_ai.log import EvalError, EvalSample
from inspect_ai.model import GenerateConfig, ModelConfig, ModelOutput, ModelUsage
from inspect_ai.scorer import Score

from adapters.conversation import placeholder
from harness.runs import CallRecord, Run, Spent, Unit
from harness.runs.live_steps import Sight
from harness.runs.places import public, without_places
from harness.tables import clean
from parsers import Declaration, Measure
from parsers.records import Scores
from reports.errors import SUCCESS, UnitError, classify_run
from reports.exports import results
from reports.exports.inspect.talk import Show, ShownPictures, Talk, model_usage
from reports.exports.results import MeasureResult, counted, results_of
from reports.frames.rows import run_rows
from reports.frames.runs import facts as counts_of
from reports.load import notes_of, unfinished_lines
from reports.settings import by_own_names, settings_of
from reports.view.parts import UnitPage, UnitPart, part_of
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
    benchmark, repository = results.benchmark_of(run), results.repository_of(run)
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
        created=results.created(run).isoformat(),
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
        model=named + results.public_text("model", model if named else manifest.model_name),
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


Calls = Sequence[CallRecord]

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""The viewer shows choices under these, in their order."""
UNREAD = ("parse_error", "no_element", "ambiguous", "out_of_range")
REASONS = {
    "answered": None,
    "empty": "no_response",
    **dict.fromkeys(UNREAD, "invalid_response_format"),
}
"""inspect_ai's words for how an answer ended, where it has one."""
NOTHING = "–"
"""Texts of empty lines of the page."""


@dataclass(frozen=True, slots=True)
class Sampler:
    """Makes samples of the units of one run.

    new_id: returns the id of a thing of the run, by what names it.
    model: the model under test, as inspect_ai names models.
    counted: the scores that count, by unit and repeat (`reports.exports.results.counted`).
    """

    new_id: Callable[..., str]
    model: str
    declared: Declaration
    counted: Mapping[tuple[str, int], Scores]
    page: UnitPage
    show: Show

    def sample(self, record: Unit[Any], calls: Calls, error: UnitError) -> EvalSample:
        """Return the sample of a unit, from the calls of its last trial and its error class."""
        if record.error is not None:
            record = replace(record, error=without_places(record.error))
            error = replace(error, detail=without_places(error.detail))
        part = part_of(self.page, record, calls)
        talk = Talk.of(record, calls, self.show, self.model)
        for place, message in enumerate(talk.messages):
            message.id = self.new_id(record.unit_id, record.repeat, place)
        seconds = sum(call.reply.latency_s for call in calls if not call.from_cache) or None
        usage = self._usage(record, calls)
        goals = (Sight.of(call.act.observation, {}).goal for call in calls if call.act)
        unfinished = record.error or "no outcome on record"
        failed = record.error is not None or not (record.settled or record.invalid is not None)
        return EvalSample(
            id=record.unit_id,
            epoch=record.repeat + 1,
            input=record.goal or next(filter(None, goals), record.unit_id),
            choices=_choices(part),
            target=_answer(part, 0) if len(part.heads) > 1 else "",
            messages=talk.messages,
            output=talk.output or ModelOutput(model=self.model),
            scores=self._scores(record, part, error),
            metadata=self._metadata(record, part, error),
            model_usage=totals({model: used} for _, model, used in usage),
            role_usage={role: used for role, _, used in usage if role},
            total_time=seconds,
            working_time=seconds,
            turn_count=talk.turns,
            uuid=self.new_id(record.unit_id, record.repeat),
            # inspect_ai needs a traceback, and there is none.
            error=EvalError(message=unfinished, traceback=unfinished, traceback_ansi=unfinished)
            if failed
            else None,
        )

    def _scores(
        self, record: Unit[Any], part: UnitPart, error: UnitError
    ) -> dict[str, Score] | None:
        """Return a score for each measure of units, the main one first; None without an outcome.

        Where a unit does not count, or a measure was not measured, the score has no value.
        """
        counted, said = self.counted.get(record.key), record.prediction
        if counted is None and record.invalid is None and record.scores is None:
            return None
        scores, status = counted or {}, str(said.status) if said else ""
        answer = _answer(part, -1) if said else None
        reason = record.invalid or REASONS.get(status, status) or None
        found: dict[str, Score] = {}
        main = self.declared.main_of_units
        for measure in sorted(self.declared.of_units, key=lambda one: one is not main):
            value = scores.get(measure.name)
            if said and measure.unmeasured in said.flags:
                value = None
            found[measure.name] = Score(
                value=float("nan") if value is None else value,
                answer=answer,
                reason=reason,
                explanation=self._explanation(record, error) if measure is main else None,
            )
        return found

    def _explanation(self, record: Unit[Any], error: UnitError) -> str:
        said, found = record.prediction, str(error.error_class)
        counts = record.key in self.counted
        if record.invalid is not None:
            return f"{'counts as a failure' if counts else 'not counted'}: {record.invalid}"
        flags = f"flags: {', '.join(said.flags)}" if said and said.flags else ""
        lines = [str(said.status) if said else "", "" if counts else "not counted", flags]
        if found != SUCCESS:
            lines.append(found if error.detail in ("", *lines) else f"{found}: {error.detail}")
        return "\n".join(filter(None, lines))

    def _usage(self, record: Unit[Any], calls: Calls) -> list[tuple[str, str, ModelUsage]]:
        """Return role, model and usage; of the model under test, the role is ""."""
        answered = ((call.role, call.reply.model) for call in calls if call.reply.model)
        models = {role: results.public_text("model", model) for role, model in answered}
        models[""], used = self.model, []
        own = Spent(len(calls), record.usage, record.cost)
        for role, spent in (record.roles or {"": own}).items():
            if spent.usage is not None:
                tokens = model_usage(spent.usage)
                tokens.total_cost = spent.cost
                used.append((role, models.get(role, role), tokens))
        return used

    def _metadata(self, record: Unit[Any], part: UnitPart, error: UnitError) -> dict[str, Any]:
        said = record.prediction
        declared = {measure.name for measure in self.declared.of_units}
        scores = (record.scores or {}).items()
        facts: dict[str, Any] = {
            listed.title.lower().replace(" ", "_"): [item.text for item in listed.items]
            for listed in part.lists
            if all(item.letter is None for item in listed.items)
        }
        facts |= {
            "split": record.split,
            **record.labels,
            **record.parents,
            "position": record.place,
            "status": str(said.status) if said else None,
            "flags": list(said.flags) if said else None,
            "error_class": str(error.error_class),
            "invalid": record.invalid,
            "cost": record.cost,
            "source": record.source.replace("\\", "/").rsplit("/", 1)[-1],
            "other_scores": {k: v for k, v in scores if k not in declared and v is not None},
            "detail": msgspec.to_builtins(part.raw),
        }
        return {name: one for name, one in facts.items() if one not in (None, "", [], {})}


def totals(used: Iterable[Mapping[str, ModelUsage]]) -> dict[str, ModelUsage]:
    """Return the sums of tokens, by model or role."""
    found: dict[str, ModelUsage] = {}
    for name, one in (item for usage in used for item in usage.items()):
        found[name] = found[name] + one if name in found else one
    return found


def _answer(part: UnitPart, place: int) -> str:
    """Return one side of the lines of the page: `element: B <button>`."""
    cells = ((line.name, line.cells[place]) for line in part.lines if line.cells)
    texts = ((name, f"{cell.text}{cell.code}".strip()) for name, cell in cells)
    return "\n".join(f"{name}: {text}" for name, text in texts if text not in ("", NOTHING))


def _choices(part: UnitPart) -> list[str] | None:
    """Return the choices, if they were listed under the viewer's letters."""
    for listed in part.lists:
        letters = "".join(item.letter or "-" for item in listed.items)
        if letters and LETTERS.startswith(letters):
            return [item.text for item in listed.items]
    return None
