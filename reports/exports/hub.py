"""Evaluation results on the Hugging Face Hub: what model pages and leaderboards of data sets show.

Per run `MODEL/.eval_results/RUN.yaml` for the repository of the model, with an entry per split and
measure (https://huggingface.co/docs/hub/eval-results).

A task id names one number: the headline of a measure on a split, per cent, in the average that the
benchmark declares first. Numbers of a part of a split have other ids.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.tables import bounds, clean
from parsers import Declaration
from reports.exports import ExportError, file_name, option
from reports.exports.results import (
    LIBRARY,
    MeasureResult,
    average_text,
    benchmark_of,
    created,
    model_of,
    parts_of,
    public_settings,
    repository_of,
    results_of,
    share,
    version_of,
)
from reports.names import name_of

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

    from harness.runs import Run
    from reports.exports import ExportFolder

_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
PART = "_part"
"""Ends the task ids of numbers on a part of a split: they are not what the leaderboard lists."""


@dataclass(frozen=True, slots=True)
class HubExport:
    """Evaluation results for model repositories."""

    dataset_id: str = option(
        "",
        "Dataset repository of the benchmark (owner/name).  [default: the one that the data came "
        "from]",
        metavar="ID",
    )
    source_url: str = option(
        "", "Where the run can be looked at, which the model page links to.", metavar="URL"
    )
    source_name: str = option("", "The text of that link.", metavar="TEXT")
    source_user: str = option("", "Whose evaluation it is: a user of the hub.", metavar="NAME")
    source_org: str = option("", "The same for an organisation.", metavar="NAME")

    def write(self, runs: Mapping[str, Run], folder: ExportFolder) -> Iterable[str]:
        """Write a file per run."""
        self._check(runs)
        for label, run in runs.items():
            entries = list(self._entries(run, self._dataset(label, run)))
            if not entries:
                raise ExportError(f"{clean(label)} has nothing measured yet")
            # Not the label: of runs of one name, it is the path.
            model, name = file_name(model_of(run)), f"{file_name(run.name)}.yaml"
            path = folder.path(model, ".eval_results", name)
            path.write_text(_yaml_of(entries), encoding="utf-8")
        models = dict.fromkeys(file_name(model_of(run)) for run in runs.values())
        places = (shlex.quote(str(folder.out / one)) for one in models)
        return [f"hf upload ORG/MODEL {place} . --create-pr" for place in places]

    def _check(self, runs: Mapping[str, Run]) -> None:
        if self.source_url and not re.fullmatch(r"https?://[^\s\"<>]+", self.source_url):
            raise ExportError("--source-url is not an address (https://...)")
        if not self.source_url and (self.source_name or self.source_user or self.source_org):
            raise ExportError("--source-name, --source-user and --source-org need --source-url")
        if self.dataset_id:
            if not _REPOSITORY.fullmatch(self.dataset_id):
                raise ExportError("--dataset-id is not the id of a repository (owner/name)")
            if len(benchmarks := dict.fromkeys(map(benchmark_of, runs.values()))) > 1:
                listed = ", ".join(benchmarks)
                raise ExportError(f"--dataset-id is for runs of one benchmark, not {listed}")

    def _dataset(self, label: str, run: Run) -> tuple[str, str]:
        """Return the repository of the run's data and its commit, "" where that is not known."""
        known = repository_of(run)
        if self.dataset_id and (known is None or known[0] != self.dataset_id):
            return self.dataset_id, ""
        if known is None:
            raise ExportError(
                f"the data of {clean(label)} did not come from the hub: name the repository of "
                f"{benchmark_of(run)} with --dataset-id"
            )
        return known

    def _entries(self, run: Run, dataset: tuple[str, str]) -> Iterator[EvalResultEntry]:
        from huggingface_hub import EvalResultEntry

        parts = parts_of(run)
        seen: dict[str, tuple[str, str]] = {}
        for one in results_of(run):
            value = share(run, one)
            task = task_id(one, run.manifest.declaration)
            if one.pooled or not one.headline or not one.first:
                continue
            named = one.split, name_of(one.measure, run.manifest.declaration)
            if seen.setdefault(task, named) != named:
                raise ExportError(f"two measures of {run.path} have the task id {task}")
            if value is None:
                continue
            part = parts[one.split]
            yield EvalResultEntry(
                dataset_id=dataset[0],
                task_id=f"{task}{PART if part else ''}",
                value=round(100 * value, 2),
                dataset_revision=dataset[1] or None,
                date=f"{created(run):%Y-%m-%dT%H:%M:%SZ}",
                source_url=self.source_url or None,
                source_name=self.source_name or (LIBRARY if self.source_url else None),
                source_user=self.source_user or None,
                source_org=self.source_org or None,
                notes=_notes(run, one, part),
            )


def task_id(result: MeasureResult, declared: Declaration) -> str:
    """Return the id of a split and a measure within a dataset: `test_task_step_success`."""
    text = f"{result.split}_{name_of(result.measure, declared)}".lower()
    return re.sub(r"[^a-z0-9]+", "_", text).strip("_")


def _notes(run: Run, result: MeasureResult, part: str) -> str:
    """Describe the origin of a number in one line."""
    declared = run.manifest.declaration
    interval = result.interval
    ends = bounds(interval.low, interval.high) if interval else ""
    shows_answer = str(run.manifest.chosen.get("image_policy") or "").startswith("oracle-")
    counted = f"{result.units} {declared.units} of {result.parents} {declared.innermost.many}"
    if run.manifest.chosen.get("repeats", 1) != 1:
        counted += ", repeats included"
    parts = [
        f"{LIBRARY} {version_of(run)}",
        f"{result.measure.meaning or result.measure.head}, per cent, {average_text(run, result)}",
        f"{100 * interval.level:g} % CI {ends} ({interval.method})" if interval else "",
        counted,
        f"PART: {part}" if part else "",
        "" if run.complete else "INCOMPLETE",
        "UPPER BOUND: the pictures show where the answer is" if shows_answer else "",
        "rows without a right answer count as 0" if result.line == "strict" else "",
        ", ".join(f"{name}={value}" for name, value in public_settings(run).items()),
    ]
    return "; ".join(clean(one) for one in parts if one)


def _yaml_of(entries: list[EvalResultEntry]) -> str:
    """Return the entries as a file. Raises `ExportError` if the hub's package reads others back."""
    import yaml
    from huggingface_hub import eval_result_entries_to_yaml, parse_eval_result_entries

    text: str = yaml.safe_dump(
        eval_result_entries_to_yaml(entries), sort_keys=False, allow_unicode=True
    )
    if parse_eval_result_entries(yaml.safe_load(text)) != entries:
        raise ExportError("the results cannot be written as YAML that reads back the same")
    return text
