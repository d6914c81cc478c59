"""Runs that begin anew with other settings, as the first ones gave no answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness.runs.batches import has_batches
from harness.runs.files import (
    CALLS,
    SET_ASIDE,
    STEPS,
    append_lines,
    cut_torn,
    read_lines,
    replace_file,
)
from harness.runs.manifest import Manifest, Setup, is_same, write_manifest
from harness.runs.on_record import is_any_answered, read_cost


def begins_anew(path: Path, manifest: Manifest, setup: Setup) -> bool:
    """Return whether a run takes other settings, as it stopped before any unit had an answer."""
    if not manifest.stopped_without_answers or is_same(manifest, setup):
        return False
    return not has_batches(path) and not is_any_answered(path)


def set_lines_aside(path: Path, manifest: Manifest) -> Manifest:
    """Keep the lines of a run apart and return its manifest, which has their cost."""
    manifest = replace(manifest, unrecorded=manifest.unrecorded + read_cost(path))
    # Before the lines go: if the process ends in between, the cost is counted twice, not never.
    write_manifest(path, manifest)
    for name in (CALLS, STEPS):
        cut_torn(path / name)
        append_lines(path / SET_ASIDE, (line.data for line in read_lines(path / name)))
        replace_file(path / name, [])
    return manifest
