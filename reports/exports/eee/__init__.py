"""Every Eval Ever: JSON of evaluation results in one schema for all evaluators.

Per run `data/BENCHMARK/DEVELOPER/MODEL/UUID.json`, the place in the datastore, with all measures
and their intervals; with `--with-steps` a line per unit beside it. Schema 0.3.0, as the package
every-eval-ever has it; tests validate against that.
"""

from __future__ import annotations

import hashlib
import re
import shlex
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

import click

from harness.tables import clean
from reports.exports import ExportError, file_name, option
from reports.exports.facts import benchmark_of, model_of

if TYPE_CHECKING:
    from harness.runs import Run
    from reports.exports import Folder

RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")
DEPLOYMENTS = ("self_deployed", "externally_managed", "unknown")
AVAILABILITIES = ("open_weights", "closed_weights", "unknown")
_IN_ORGANISATION = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class EeeExport:
    """Every Eval Ever's JSON."""

    organisation: str = option("", "Organisation that carried out the evaluation.", metavar="NAME")
    relationship: str | None = option(
        None,
        "Relationship of that organisation to the model's developer.",
        type=click.Choice(RELATIONSHIPS),
    )
    developer: str = option(
        "",
        "Who has made the model, as the datastore has it (openai, Qwen).  [default: the first part "
        "of a model's id on the hub]",
        metavar="NAME",
    )
    deployment: str = option(
        "unknown",
        "Operator of the model: you, or a provider.  [default: unknown]",
        type=click.Choice(DEPLOYMENTS),
    )
    availability: str = option(
        "unknown",
        "Availability of the weights.  [default: unknown]",
        type=click.Choice(AVAILABILITIES),
    )
    retrieved: str = option(
        "",
        "When the record is made, in ISO 8601.  [default: when the run was last started, so that "
        "the same run gives the same file]",
        metavar="TIME",
    )
    with_steps: bool = option(
        False,
        "Write a line per step as well, with the messages: texts of test data, which may have to "
        "stay out of the public datastore.",
    )

    def write(self, runs: Mapping[str, Run], folder: Folder) -> Iterable[str]:
        """Write a file per run, and one of its steps."""
        from reports.exports.eee.aggregate import Source, aggregate, dumped
        from reports.exports.eee.samples import write_samples
        from reports.load import guarding_notes

        self._check(runs.values())
        notes = []
        for run in runs.values():
            model_id = self.model_id(run)
            source = Source(
                model_id=model_id,
                organisation=clean(self.organisation),
                relationship=str(self.relationship),
                deployment=self.deployment,
                availability=self.availability,
                retrieved=self.retrieved,
            )
            developer, _, model = model_id.partition("/")
            identity = benchmark_of(run), developer, model.replace("/", "_")
            place = ("data", *map(file_name, identity))
            name = str(uuid_of(run))
            path = folder.path(*place, f"{name}.json")
            record = aggregate(run, source)
            if self.with_steps:
                steps = folder.path(*place, f"{name}_samples.jsonl")
                rows, checksum = write_samples(run, record, steps)
                record["detailed_evaluation_results"] = {
                    "format": "jsonl",
                    "file_path": "/".join((*place, steps.name)),
                    "hash_algorithm": "sha256",
                    "checksum": checksum,
                    "total_rows": rows,
                }
                if note := guarding_notes([run.path]):
                    notes.append(f"{steps.name}: {note}")
            path.write_text(dumped(record), encoding="utf-8")
        notes.append(
            f"check them with: cd {shlex.quote(str(folder.out))} && every_eval_ever validate FILES"
        )
        return notes

    def model_id(self, run: Run) -> str:
        """Return the model as `developer/name`; `/name` where the developer is not known."""
        known = str(run.manifest.model.get("model") or model_of(run))
        if PurePath(known).is_absolute() or known.startswith((".", "~")):
            known = PurePath(known).name
        developer, _, name = ("", "", known)
        if _IN_ORGANISATION.fullmatch(known):
            developer, _, name = known.partition("/")
        return f"{clean(self.developer or developer)}/{clean(name)}"

    def _check(self, runs: Iterable[Run]) -> None:
        """Raise `ExportError` that names all options that are missing."""
        missing = []
        if not self.organisation.strip():
            missing.append("--organisation NAME (who has carried out the evaluation)")
        if not self.relationship:
            missing.append(f"--relationship {'|'.join(RELATIONSHIPS)} (to the model's developer)")
        for name, value, known in (
            ("relationship", self.relationship or RELATIONSHIPS[0], RELATIONSHIPS),
            ("deployment", self.deployment, DEPLOYMENTS),
            ("availability", self.availability, AVAILABILITIES),
        ):
            if value not in known:
                raise ExportError(f"--{name} is one of {', '.join(known)}, not {clean(value)}")
        unknown = [one for one in map(self.model_id, runs) if one.startswith("/")]
        if unknown:
            made = ", ".join(dict.fromkeys(one[1:] for one in unknown))
            missing.append(f"--developer NAME (who has made {made})")
        if missing:
            raise ExportError(f"--to eee needs {'; '.join(missing)}")
        if "/" in self.developer:
            raise ExportError("--developer is the part of a model's id before the /")


def uuid_of(run: Run) -> uuid.UUID:
    """Return the same id for the same run, in the only version that the schema takes."""
    import msgspec

    manifest = run.manifest
    known = manifest.name, manifest.created, manifest.prompts, manifest.config, manifest.model
    digest = hashlib.sha256(msgspec.json.encode(known, order="deterministic")).digest()
    return uuid.UUID(bytes=digest[:16], version=4)
