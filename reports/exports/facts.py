"""Facts about a run and its units for export formats, without control characters."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from harness.runs import Run
from harness.runs.places import without_places
from harness.tables import clean
from harness.tables.results import mean_text, parents_text
from reports.exports import ExportError
from reports.settings import heading, settings_of

if TYPE_CHECKING:
    from reports.exports.results import MeasureResult


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


def share(run: Run, result: MeasureResult) -> float | None:
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


def average_text(run: Run, result: MeasureResult) -> str:
    """Name the number and unit of a result's mean."""
    declared: Any = run.manifest.declaration
    if not result.average:
        return parents_text(result.measure, declared)
    average: Any = result.average
    return mean_text(average, result.measure, declared)


def public_text(name: str, value: Any) -> str:
    """Return the value of a setting as others may read it, without private addresses and folders.

    >>> public_text("ranker", "/home/me/ranks.parquet"), public_text("model", "hf:/models/mine")
    ('ranks.parquet', 'hf:mine')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return "URL" if name == "base_url" else without_places(str(value))
