"""The settings that a run was started with."""

from __future__ import annotations

from harness.errors import RunError
from harness.runs.run import Run
from harness.settings import Settings, from_record


def settings_of(run: Run) -> Settings:
    """Return the settings that a run was started with. Raises `RunError` if they cannot be read."""
    try:
        return from_record(run.manifest.config)
    except ValueError as error:
        raise RunError(f"the settings of {run.path} cannot be read: {error}") from error
