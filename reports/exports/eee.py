"""Every Eval Ever: JSON of evaluation results in one schema for all evaluators.

Per run `data/BENCHMARK/DEVELOPER/MODEL/UUID.json`, the place in the datastore, with all measures
and their intervals, in schema 0.3.0. Details are texts, and so are times, in seconds since 1970.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import shlex
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click
import msgspec

from harness.tables import clean
from reports.comparability import row_of
from reports.exports import ExportError, file_name, option, results
from reports.exports.results import LIBRARY, MeasureResult, benchmark_of, parts_of, results_of
from reports.names import name_of

if TYPE_CHECKING:
    from harness.runs import Run
    from reports.exports import ExportFolder

WORDS = {
    "relationship": ("first_party", "third_party", "collaborative", "other"),
    "deployment": ("self_deployed", "externally_managed", "unknown"),
    "availability": ("open_weights", "closed_weights", "unknown"),
}
"""The schema's words for each option that takes one of several."""
_IN_ORGANISATION = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


def _word(name: str, help: str, default: str | None = None) -> Any:
    """Return an option that takes one of the schema's words."""
    usual = f"  [default: {default}]" if default else ""
    return option(default, help + usual, type=click.Choice(WORDS[name]))


@dataclass(frozen=True, slots=True)
class EeeExport:
    """Every Eval Ever's JSON."""

    organisation: str = option("", "Organisation that carried out the evaluation.", metavar="NAME")
    relationship: str | None = _word("relationship", "Its relation to the model's developer.")
    developer: str = option(
        "", "Maker of the model (openai, Qwen).  [default: as in its id on the hub]", metavar="NAME"
    )
    deployment: str = _word("deployment", "Operator of the model.", "unknown")
    availability: str = _word("availability", "Availability of its weights.", "unknown")

    def write(self, runs: Mapping[str, Run], folder: ExportFolder) -> Iterable[str]:
        """Write a file per run."""
        self._check(runs.values())
        for run in runs.values():
            developer, _, model = self.model_id(run).partition("/")
            place = benchmark_of(run), developer, model.replace("/", "_")
            path = folder.path("data", *map(file_name, place), f"{uuid_of(run)}.json")
            record = json.dumps(self.record(run), indent=2, allow_nan=False)
            path.write_text(record + "\n", encoding="utf-8")
        out = shlex.quote(str(folder.out))
        yield f"check them with: cd {out} && every_eval_ever validate FILES"

    def model_id(self, run: Run) -> str:
        """Return the model as `developer/name`; `/name` where the developer is not known."""
        name, developer = str(run.manifest.model.get("model") or results.model_of(run)), ""
        if PurePath(name).is_absolute() or name.startswith((".", "~")):
            name = PurePath(name).name
        if _IN_ORGANISATION.fullmatch(name):
            developer, _, name = name.partition("/")
        return f"{clean(self.developer or developer)}/{clean(name)}"

    def _check(self, runs: Iterable[Run]) -> None:
        missing = []
        if not self.organisation.strip():
            missing.append("--organisation NAME (who has carried out the evaluation)")
        if not self.relationship:
            listed = "|".join(WORDS["relationship"])
            missing.append(f"--relationship {listed} (to the model's developer)")
        for name, words in WORDS.items():
            if (value := getattr(self, name)) and value not in words:
                raise ExportError(f"--{name} is one of {', '.join(words)}, not {clean(value)}")
        unknown = [one[1:] for one in map(self.model_id, runs) if one.startswith("/")]
        if unknown:
            missing.append(f"--developer NAME (who has made {', '.join(dict.fromkeys(unknown))})")
        if missing:
            raise ExportError(f"--to eee needs {'; '.join(missing)}")
        if "/" in self.developer:
            raise ExportError("--developer is the part of a model's id before the /")

    def record(self, run: Run) -> dict[str, Any]:
        """Return the record of a run. Raises `RunError`, and `ExportError` if nothing is measured,
        a value is not a share, or the time is not one."""
        from reports.load import guarding_notes

        manifest, model, parts = run.manifest, self.model_id(run), parts_of(run)
        begun = f"{results.created(run).timestamp():.0f}"
        measured = [one for one in results_of(run) if results.share(run, one) is not None]
        if not measured:
            raise ExportError(f"{run.path} has nothing measured yet")
        last = manifest.sessions[-1].started if manifest.sessions else manifest.created
        retrieved = results.time_of(last, f"a time in the manifest of {run.path}")
        of_run = {"note": guarding_notes([run.path]), "run": run.name}
        of_run |= {} if run.complete else {"finished": "false"}
        of_library = {"run_schema": manifest.schema, "reading_rules": manifest.reading}
        answered_by = (results.public_text("model", one) for one in manifest.answered_by)
        of_model = {name: manifest.model.get(name) for name in ("provider", "revision")}
        of_model |= {"answered_by": ", ".join(answered_by)}
        of_model |= {"deployment_type": self.deployment, "model_availability": self.availability}
        return {
            "schema_version": "0.3.0",
            "evaluation_id": f"{LIBRARY}/{model}/{clean(run.name)}/{begun}",
            "evaluation_timestamp": begun,
            "retrieved_timestamp": f"{retrieved.timestamp():.0f}",
            "source_metadata": {
                "source_name": LIBRARY,
                "source_type": "evaluation_run",
                "source_organization_name": clean(self.organisation),
                "evaluator_relationship": str(self.relationship),
                "additional_details": _texts(of_run),
            },
            "eval_library": {
                "name": LIBRARY,
                "version": results.version_of(run),
                "additional_details": _texts(of_library),
            },
            "model_info": {
                "name": results.model_of(run),
                "id": model,
                "additional_details": _texts(of_model),
            },
            "evaluation_results": [_result(run, one, parts.get(one.split)) for one in measured],
        }


def uuid_of(run: Run) -> uuid.UUID:
    """Return the same id for the same run, in the only version that the schema takes."""
    manifest = run.manifest
    about = manifest.name, manifest.created, manifest.prompts, manifest.config, manifest.model
    digest = hashlib.sha256(msgspec.json.encode(about, order="deterministic")).digest()
    return uuid.UUID(bytes=digest[:16], version=4)


def _result(run: Run, result: MeasureResult, part: str | None) -> dict[str, Any]:
    """Return the record of a measure on a split; `part` is what the run has of the split."""
    config, measure, average = run.manifest.chosen, result.measure, result.average
    name = name_of(measure, run.manifest.declaration)
    meaning = f"{measure.meaning or measure.head}, {results.average_text(run, result)}"
    named = run.name, result.split, name, average or "parents", result.line
    kind = "pass_rate" if measure.all_of else measure.name if result.graded else "accuracy"
    rules = {one: value for one, value in config.items() if row_of(one).about == "scoring"}
    return {
        "evaluation_result_id": clean(":".join(named)),
        "evaluation_name": f"{benchmark_of(run)}/{clean(result.split)}",
        "source_data": _data(run, result),
        "metric_config": {
            "evaluation_description": clean(meaning),
            "metric_id": ".".join(filter(None, ("vlm_eval", name, average))),
            "metric_name": clean(f"{measure.head} {average}".rstrip()),
            "metric_kind": kind,
            "metric_unit": "proportion",
            "metric_parameters": {
                "average": average or "share of parents",
                "over": result.over,
                "rows_without_answer": "zero" if result.line == "strict" else "excluded",
                "headline": result.headline,
                **_texts(rules),
            },
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": 1.0,
        },
        "score_details": _score(run, result, part),
        "generation_config": _generation(run),
    }


def _score(run: Run, result: MeasureResult, part: str | None) -> dict[str, Any]:
    interval, declared = result.interval, run.manifest.declaration
    cluster = clean(declared.level(declared.clusters[0]).one)
    details = {
        "n": result.n,
        "over": result.over,
        declared.units: result.units,
        declared.innermost.many: result.parents,
        "part": part,
        "pooled": "true: the splits are counted above already" if result.pooled else "",
        "finished": "" if run.complete else "false",
    }
    if interval is None:
        return {"score": result.value, "details": _texts(details)}
    details |= {"clusters": interval.clusters, "few_clusters": interval.few}
    level, method = interval.level, f"{interval.method}, clustered by {cluster}"
    ends = {"lower": interval.low, "upper": interval.high, "confidence_level": level}
    known = {"confidence_interval": {**ends, "method": method}, "num_samples": result.n}
    return {"score": result.value, "details": _texts(details), "uncertainty": known}


def _data(run: Run, result: MeasureResult) -> dict[str, Any]:
    origin, repository = run.manifest.dataset, results.repository_of(run)
    details: dict[str, Any] = {"split": result.split, "origin": origin.get("origin")}
    shared: dict[str, Any] = {"dataset_name": benchmark_of(run)}
    if repository is not None:
        shared |= {"source_type": "hf_dataset", "hf_repo": repository[0]}
        shared |= {} if result.pooled else {"hf_split": clean(result.split)}
        return {**shared, "additional_details": _texts({**details, "revision": repository[1]})}
    details["files"] = json.dumps(origin.get("files", []))
    return {**shared, "source_type": "other", "additional_details": _texts(details)}


def _generation(run: Run) -> dict[str, Any]:
    config, manifest = run.manifest.config, run.manifest
    limits, known = config.get("max_tokens"), {n: config.get(n) for n in ("temperature", "top_p")}
    if isinstance(limits, list):
        known["max_tokens"] = max([one for one in limits if _is_number(one)], default=None)
    arguments = {name: one for name, one in known.items() if _is_number(one)}
    files = {"prompts_sha256": manifest.prompts, "pictures": manifest.pictures}
    return {
        "generation_args": arguments,
        "additional_details": _texts({**results.public_settings(run), **files}),
    }


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Return values as texts, without those that are not known."""
    return {
        clean(name): clean(str(value).lower() if isinstance(value, bool) else value)
        for name, value in values.items()
        if value not in (None, "")
    }


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)
