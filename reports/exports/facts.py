"""Facts about a run and its units for export formats, without control characters."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from harness.runs import Run
from harness.runs.places import without_places
from harness.settings import FIELDS, OF_MODEL, SETTINGS, Setting, written
from harness.tables import clean
from harness.tables.results import mean_text, parents_text
from reports.comparability import row_of
from reports.exports import ExportError
from reports.settings import heading, settings_of

if TYPE_CHECKING:
    from reports.exports.results import Result


LIBRARY = "vlm-eval"


def version_of(run: Run) -> str:
    """Return the version of this package that began the run; "unknown" if it is not on record."""
    packages = run.manifest.environment.get("packages")
    version = packages.get("vlm-web-eval") if isinstance(packages, dict) else None
    return clean(version or "unknown")


def benchmark_of(run: Run) -> str:
    """Return the name of the run's benchmark."""
    return clean(run.manifest.config.get("benchmark") or "unknown")


def model_of(run: Run) -> str:
    """Return the name of the run's model, without the folder of one that lies in a folder."""
    return clean(public_text("model", run.manifest.model_name))


def repository_of(run: Run) -> tuple[str, str] | None:
    """Return the dataset repository on the hub that the data came from, and its commit; None for
    data from elsewhere."""
    origin = run.manifest.dataset
    repo, revision = origin.get("repo"), origin.get("revision")
    return (clean(repo), clean(revision or "")) if isinstance(repo, str) and repo else None


def public_command(run: Run) -> str:
    """Return the command that carries out such a run, in one line."""
    manifest = run.manifest
    return clean(command_of(manifest.config, data=manifest.dataset.get("data")))


def public_settings(run: Run) -> dict[str, str]:
    """Return the settings that reports print above a table, without addresses and folders."""
    settings = heading(settings_of(run.manifest))
    return {clean(name): clean(public_text(name, value)) for name, value in settings.items()}


def time_of(text: str, what: str) -> datetime:
    """Return a time on record, in UTC. Raises `ExportError` for a text that is none."""
    try:
        time = datetime.fromisoformat(text)
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise ExportError(f"{what} is not a time in ISO 8601: {clean(text)[:40]}") from error


def created(run: Run) -> datetime:
    """When the run was begun, in UTC."""
    return time_of(run.manifest.created, f"the time in the manifest of {run.path}")


def share(run: Run, result: Result) -> float | None:
    """Return the value of a result, None where it is not measured.

    Raises `ExportError` for one that is not between 0 and 1.
    """
    numbers = [result.value, *((i.low, i.high) if (i := result.interval) else ())]
    for number in numbers:
        if number is not None and not 0 <= number <= 1:
            raise ExportError(
                f"{run.path}: {clean(result.measure.name)} is {number}, not between 0 and 1"
            )
    return result.value


def average_text(run: Run, result: Result) -> str:
    """Name the number and unit of a result's mean."""
    declared: Any = run.manifest.declaration
    if not result.average:
        return parents_text(result.measure, declared)
    average: Any = result.average
    return mean_text(average, result.measure, declared)


ALWAYS = ("model", "benchmark")
"""Settings that a command always shows."""


def command_of(config: Mapping[str, Any], *, data: object = None) -> str:
    """Return the command that carries out a run with these settings on record, for others to read.

    Settings with their default are left out. Addresses and folders are private: `URL`, `FOLDER` and
    the mere names of files replace them (`harness.runs.places`), and `[masked]` for secrets.

    Args:
        config: the configuration on record (`Manifest.config`).
        data: where the data lay, if not at its usual place.
    """
    words = ["vlm-eval", "run"]
    for name, setting in SETTINGS.items():
        if name not in FIELDS:
            continue
        value: Any = config.get(name)
        chosen = name in ALWAYS or not _is_default(setting, value)
        if not chosen or name in config.get(OF_MODEL, ()):
            continue
        if setting.is_switch:
            words.append(setting.option if value else setting.option.replace("--", "--no-", 1))
            continue
        if name in ("benchmark_option", "protocol_option") and isinstance(value, Mapping):
            words += _of_owner(name.removesuffix("_option"), value, config.get(OF_MODEL, ()))
            continue
        for text in _texts(setting, value):
            words += setting.written(text).split(" ", 1)
    return shlex.join([*words, "--data", "FOLDER"] if data else words)


def _of_owner(owner: str, options: Mapping[str, Any], usual: Collection[str]) -> list[str]:
    """Return the options of a benchmark or protocol as words, those of their defaults left out."""
    words = list[str]()
    for key, value in options.items():
        row = row_of(key)
        # What a protocol usually takes is not known here.
        default = SETTINGS[key].default if key in SETTINGS else None if row.key else row.usual
        if value is None or key in usual or (owner == "benchmark" and value == default):
            continue
        listed = value if isinstance(value, list) else [value]
        text = ",".join(public_text(key, one) for one in listed)
        option = written(key, owner)
        words += option.split() if " " in option else [option]
        words[-1:] = [f"{words[-1]}={text}"] if " " in option else [option, text]
    return words


def _is_default(setting: Setting, value: Any) -> bool:
    if value is None or value in ([], {}, "") or (value is False and setting.default is None):
        return True
    return bool((tuple(value) if isinstance(value, list) else value) == setting.default)


def _texts(setting: Setting, value: Any) -> list[str]:
    """Return the values of an option, one for each time that it is given."""
    if setting.is_switch:
        return ["yes" if value else "no"]
    if isinstance(value, Mapping):
        known = {key: one for key, one in value.items() if one is not None}
        return [f"{key}={public_text(key.rpartition('.')[2], one)}" for key, one in known.items()]
    if isinstance(value, (list, tuple)):
        listed = [public_text(setting.name, one) for one in value]
        joint = "/" if setting.name == "shard" else ","
        return listed if setting.repeatable else [joint.join(listed)]
    return [public_text(setting.name, value)]


def public_text(name: str, value: Any) -> str:
    """Return the value of a setting as others may read it, without private addresses and folders.

    >>> public_text("ranker", "/home/me/ranks.parquet"), public_text("model", "hf:/models/mine")
    ('ranks.parquet', 'hf:mine')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return "URL" if name == "base_url" else without_places(str(value))
