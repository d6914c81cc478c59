"""A run as an aggregate record of Every Eval Ever: `eval.schema.json`.

All values in `additional_details` and `details` are texts, and so are times, in seconds since 1970.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.runs import Run
from harness.tables import clean
from harness.tables.results import heads
from reports.exports import ExportError
from reports.exports.facts import (
    LIBRARY,
    average_text,
    benchmark_of,
    created,
    model_of,
    public_command,
    public_settings,
    public_text,
    repository_of,
    share,
    time_of,
    version_of,
)
from reports.exports.results import Result, parts_of, results_of
from reports.load import guarding_notes

SCHEMA = "0.3.0"


@dataclass(frozen=True, slots=True)
class Source:
    """Facts for the record that no run has.

    model_id: `developer/name`.
    retrieved: when the record is made, in ISO 8601; "" for when the run was last started.
    """

    model_id: str
    organisation: str
    relationship: str
    deployment: str
    availability: str
    retrieved: str


def dumped(record: Mapping[str, Any]) -> str:
    """Return a record as indented JSON, in ASCII: texts of models may hold what ends a line."""
    return json.dumps(record, indent=2, allow_nan=False) + "\n"


def aggregate(run: Run, source: Source) -> dict[str, Any]:
    """Return the record of a run.

    Raises:
        ExportError: nothing is measured, a value is not a share, or the time is not one.
        RunError: the run cannot be read.
    """
    manifest = run.manifest
    parts = parts_of(run)
    results = [
        _result(run, one, parts.get(one.split, ""))
        for one in results_of(run)
        if share(run, one) is not None
    ]
    if not results:
        raise ExportError(f"{run.path} has nothing measured yet")
    begun = f"{created(run).timestamp():.0f}"
    last = manifest.sessions[-1].started if manifest.sessions else manifest.created
    retrieved = time_of(source.retrieved or last, "--retrieved" if source.retrieved else "a time")
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"{LIBRARY}/{source.model_id}/{clean(manifest.name)}/{begun}",
        "evaluation_timestamp": begun,
        "retrieved_timestamp": f"{retrieved.timestamp():.0f}",
        "source_metadata": {
            "source_name": LIBRARY,
            "source_type": "evaluation_run",
            "source_organization_name": source.organisation,
            "evaluator_relationship": source.relationship,
            "additional_details": _texts(
                {"note": guarding_notes([run.path]), "run": manifest.name, **_state(run)}
            ),
        },
        "eval_library": {
            "name": LIBRARY,
            "version": version_of(run),
            "additional_details": _texts(
                {"run_schema": manifest.schema, "reading_rules": manifest.reading}
            ),
        },
        "model_info": {
            "name": model_of(run),
            "id": source.model_id,
            "developer": source.model_id.partition("/")[0],
            "additional_details": {
                "deployment_type": source.deployment,
                "model_availability": source.availability,
                **_texts(
                    {
                        "provider": manifest.model.get("provider"),
                        "revision": manifest.model.get("revision"),
                        "answered_by": ", ".join(
                            public_text("model", one) for one in manifest.answered_by
                        ),
                    }
                ),
            },
        },
        "evaluation_results": results,
    }


def result_id(run: Run, result: Result) -> str:
    """Return the id of a result in its record and on its lines."""
    average = result.average or "parents"
    named = (run.manifest.name, result.split, result.measure.result, average, result.line)
    return clean(":".join(named))


def evaluation_name(run: Run, result: Result) -> str:
    """Return the benchmark and the split."""
    return f"{benchmark_of(run)}/{clean(result.split)}"


def _state(run: Run) -> dict[str, Any]:
    """Return `finished: false` for an unfinished run."""
    return {} if run.complete else {"finished": "false"}


def _result(run: Run, result: Result, part: str) -> dict[str, Any]:
    manifest, measure = run.manifest, result.measure
    average = result.average
    parameters = {
        "average": average or "share of parents",
        "over": result.over,
        "rows_without_answer": "zero" if result.line == "strict" else "excluded",
        "headline": result.headline,
        **{
            name: _scalar(manifest.config.get(name))
            for name in (measure.setting, measure.rule)
            if name
        },
    }
    kind = measure.name
    if measure.all_of:
        kind = "pass_rate"
    elif measure.binary:
        kind = "accuracy"
    return {
        "evaluation_result_id": result_id(run, result),
        "evaluation_name": evaluation_name(run, result),
        "source_data": _data(run, result),
        "evaluation_timestamp": f"{created(run).timestamp():.0f}",
        "metric_config": {
            "evaluation_description": clean(
                f"{measure.meaning or measure.head}, {average_text(run, result)}"
            ),
            "metric_id": ".".join(filter(None, ("vlm_eval", measure.result, average))),
            "metric_name": clean(f"{measure.head} {average}".rstrip()),
            "metric_kind": kind,
            "metric_unit": "proportion",
            "metric_parameters": parameters,
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": 1.0,
        },
        "score_details": _score(run, result, part),
        "generation_config": _generation(run),
    }


def _score(run: Run, result: Result, part: str) -> dict[str, Any]:
    interval, declared = result.interval, run.manifest.declaration
    details = {
        "n": result.n,
        "over": result.over,
        declared.units: result.units,
        declared.innermost.many: result.parents,
        "part": part,
        "pooled": "true: the splits are counted above already" if result.pooled else "",
        **_state(run),
    }
    score: dict[str, Any] = {"score": result.value, "details": _texts(details)}
    if interval is not None:
        cluster = declared.level(declared.clusters[0]).one
        clusters = {"clusters": interval.clusters, "cluster_unit": cluster}
        score["details"] |= _texts({**clusters, "few_clusters": interval.few})
        score["uncertainty"] = {
            "confidence_interval": {
                "lower": interval.low,
                "upper": interval.high,
                "confidence_level": interval.level,
                "method": f"{interval.method}, clustered by {clean(cluster)}",
            },
            "num_samples": result.n,
        }
    return score


def _data(run: Run, result: Result) -> dict[str, Any]:
    origin, known = run.manifest.dataset, repository_of(run)
    split = clean(result.split)
    shared: dict[str, Any] = {"dataset_name": benchmark_of(run)}
    if known is not None:
        return {
            **shared,
            "source_type": "hf_dataset",
            "hf_repo": known[0],
            **({} if result.pooled else {"hf_split": split}),
            "additional_details": _texts({"revision": known[1], "split": split}),
        }
    files = [one for one in _list(origin.get("files")) if isinstance(one, Mapping)]
    digests = {str(one.get("name")): str(one.get("sha256") or one.get("digest")) for one in files}
    details = {"split": split, "origin": origin.get("origin"), "sha256": json.dumps(digests)}
    return {**shared, "source_type": "other", "additional_details": _texts(details)}


def _generation(run: Run) -> dict[str, Any]:
    config, manifest = run.manifest.config, run.manifest
    limits = [one for one in _list(config.get("max_tokens")) if _is_number(one) and one >= 1]
    numbers = {name: config.get(name) for name in ("temperature", "top_p")}
    arguments = {name: one for name, one in numbers.items() if _is_number(one)}
    more = {
        **public_settings(run),
        "prompts_sha256": manifest.prompts,
        "pictures": manifest.pictures,
        "measures": ", ".join(heads(manifest.declaration)),
    }
    return {
        "generation_args": {
            **arguments,
            **({"max_tokens": int(max(limits))} if limits else {}),
            "execution_command": public_command(run),
        },
        "additional_details": _texts(more),
    }


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Values as texts, without those that are not known."""
    return {
        clean(name): clean(str(value).lower() if isinstance(value, bool) else value)
        for name, value in values.items()
        if value not in (None, "")
    }


def _scalar(value: Any) -> str | float | bool | None:
    return value if isinstance(value, (str, bool)) or _is_number(value) else None


def _is_number(value: Any) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and math.isfinite(value)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
