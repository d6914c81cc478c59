"""`vlm-eval list`: the runs below some folders, a line each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reports.output import emit, format_options

if TYPE_CHECKING:
    import pandas as pd

    from harness.runs import Run
    from reports.grid import Style

FOLDERS = ("runs", "sweeps")
"""Where runs are looked for unless a folder is named."""
SORTED_BY = ("path", "model", "benchmark", "protocol", "state", "score", "spent", "created")


@click.command("list")
@click.argument("folders", metavar="[FOLDER]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--where",
    metavar="SETTING=VALUE",
    multiple=True,
    help="Only runs with this value of a setting (model=gpt-5.4) or of a column (state=complete); "
    "may be repeated: values of one setting add up, settings restrict each other.",
)
@click.option(
    "--sort",
    type=click.Choice(SORTED_BY),
    default="path",
    show_default=True,
    help="Order of the runs; the best, dearest and newest come first.",
)
@format_options
def list_command(
    folders: tuple[Path, ...], where: tuple[str, ...], sort: str, form: str, out: Path | None
) -> int:
    """List the runs below every FOLDER: what was run, how far it is, its main score and its cost.

    Without a FOLDER these are runs/ and sweeps/. Shards of a run are listed, too.
    """
    table = list_runs(folders or FOLDERS, where=where, sort=sort)
    emit(table, form, out, note=str(table.attrs["note"]))
    return 0


def list_runs(
    folders: Path | str | Iterable[Path | str] = "runs",
    *,
    where: Sequence[str] = (),
    sort: str = "path",
) -> pd.DataFrame:
    """Return a pandas frame with a row per run below some folders, as `vlm-eval list` prints it.

    Columns: `path`, `model`, `benchmark`, `split`, `protocol`, `state` (complete, running, waiting
    for a provider, incomplete, not started), `settled` of `units`, the main `measure` with its
    `score` (a share) and its interval, `spent` (US dollars), `created`, and `setting.NAME` for
    every setting. Raises `RunError` for folders that do not exist, and for a setting in `where`
    that no run has.
    """
    from reports.grid import Field, described, interval

    folders = [folders] if isinstance(folders, (Path, str)) else folders
    records, notes, note = _runs_below([Path(path) for path in folders])
    records = _sorted([one for one in records if _has(one, where)], sort)
    if not records:
        notes = ["no run" + (f" with {' '.join(where)}" if where else ""), *notes]
    measures = {one["measure"] for one in records}
    one_measure = measures.pop() if len(measures) == 1 else ""
    shown = {
        "split": len({one["split"] for one in records}) > 1,
        "units": any(one["state"] != "complete" for one in records),
        "spent": any(one["spent"] for one in records),
    }
    names = dict.fromkeys(name for one in records for name in one["settings"])
    count: Style = "count" if shown["units"] else "hidden"
    fields = (
        Field("path", "text", "run"),
        Field("model", "text", "model"),
        Field("benchmark", "text", "benchmark"),
        Field("split", "text" if shown["split"] else "hidden", "split", kind="str"),
        Field("protocol", "text", "protocol"),
        Field("state", "text", "state"),
        Field("settled", count, "answered", kind="Int64"),
        Field("units", count, "of", kind="Int64"),
        Field("measure", "hidden" if one_measure else "text", "measure", kind="str"),
        Field("score", "percent", one_measure or "score"),
        *interval("score"),
        Field("spent", "dollars" if shown["spent"] else "hidden", "spent", kind="float64"),
        Field("created", "text", "started"),
        *(Field(f"setting.{name}", kind="str") for name in names),
    )
    flat = [
        {
            **one,
            "created": one["created"][:16].replace("T", " "),
            **{
                f"setting.{name}": None if value is None else _text(value)
                for name, value in one["settings"].items()
            },
        }
        for one in records
    ]
    return described(flat, fields, title="", notes=notes, note=note)


def _runs_below(folders: Sequence[Path]) -> tuple[list[dict[str, Any]], list[str], str]:
    """Return a record per run, what was passed over, and the note on their data."""
    from harness.runs import RunError
    from harness.runs.run import find_runs
    from reports.load import guarding_notes

    there = [folder for folder in folders if folder.is_dir()]
    if not there:
        names = " or ".join(str(folder) for folder in folders)
        raise RunError(f"there is no folder {names}: name the folder that has the runs")
    records: dict[Path, dict[str, Any]] = {}
    notes: list[str] = []
    for folder in there:
        found = find_runs(folder)
        for path, run in found.runs.items():
            try:
                records[path] = _record(path, run)
            except RunError as error:
                found.passed_over[path] = str(error)
        if found.passed_over:
            notes.append(found.note)
    return list(records.values()), notes, guarding_notes(records)


def _record(path: Path, run: Run) -> dict[str, Any]:
    from harness.runs import read_settled
    from harness.runs.run import spent_by, state_of
    from reports.settings import by_own_names

    manifest, config = run.manifest, run.manifest.config
    state = state_of(run)
    return {
        "path": path.as_posix(),
        "model": manifest.model_name,
        "benchmark": str(config.get("benchmark")),
        "split": ", ".join(map(str, manifest.dataset.get("splits") or ())),
        "protocol": str(config.get("protocol")),
        "state": state,
        "settled": len(read_settled(path)),
        "units": manifest.planned,
        **_score(run, state),
        "spent": spent_by(run),
        "created": manifest.created,
        "settings": by_own_names(config),
    }


def _score(run: Run, state: str) -> dict[str, Any]:
    """Return the main measure of a run over what is settled so far, as its summary has it."""
    measure = run.manifest.declaration.main
    empty = {"measure": measure.head, "score": None}
    if state == "not started":
        return empty
    from harness.runs.scores import headline_of

    row = headline_of(run.summary, measure)
    if row is None:
        return empty
    of_interval = {f"score_{name}": row[name] for name in ("low", "high", "method", "few")}
    return {"measure": measure.head, "score": row["number"], **of_interval}


def _has(record: Mapping[str, Any], where: Sequence[str]) -> bool:
    from harness.runs import RunError

    wanted: dict[str, list[str]] = {}
    for pair in where:
        name, sign, value = pair.partition("=")
        if not sign:
            raise RunError(f"--where {pair!r}: write SETTING=VALUE")
        wanted.setdefault(name.replace("-", "_"), []).append(value)
    known = {**record["settings"], **record}
    for name in wanted:
        if name not in known:
            raise RunError(
                f"--where {name}: {record['path']} has no setting {name!r} (`vlm-eval run --help` "
                "lists them)"
            )
    return all(
        any(value in _texts(known[name]) for value in values) for name, values in wanted.items()
    )


def _texts(value: Any) -> list[str]:
    """Return what a user may write for a value: a list has each of its members."""
    if isinstance(value, (list, tuple)):
        return [_text(one) for one in value] or ["none"]
    if isinstance(value, Mapping):
        return [f"{name}={_text(one)}" for name, one in value.items()] or ["none"]
    return [_text(value)]


def _text(value: Any) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value)


def _sorted(records: list[dict[str, Any]], by: str) -> list[dict[str, Any]]:
    if by in ("score", "spent", "created"):
        known = [one for one in records if one[by] is not None]
        rest = [one for one in records if one[by] is None]
        return sorted(known, key=lambda one: one[by], reverse=True) + rest
    return sorted(records, key=lambda one: (one[by], one["path"]))
