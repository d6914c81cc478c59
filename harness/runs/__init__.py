"""Runs on disk.

`RunDirectory.start` opens a run for writing, `open_run` for reading.
A line is a record of `harness.runs.records`. A run directory holds

    manifest.json   what was run, with what, and each time it was started
    calls.jsonl     a line per finished call
    steps.jsonl     a line per row of the selection; of several lines of a step the last one holds
    summary.json    written when the run is finished
    blobs/          large things that lines refer to by digest
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.errors import DataGone, RunError
    from harness.runs.directory import SUMMARY, RunDirectory, manifest_before
    from harness.runs.files import BLOBS, STEPS, Blobs, digest_of
    from harness.runs.manifest import Manifest, Setup
    from harness.runs.on_record import StepKey, read_settled, reused_replies, together
    from harness.runs.records import ActRecord, CallRecord, EmbedRecord, MessageRecord, Spent, Unit
    from harness.runs.run import Run, StepData, open_run
    from harness.runs.steps import StepUnit

__all__ = [
    "BLOBS",
    "STEPS",
    "SUMMARY",
    "ActRecord",
    "Blobs",
    "CallRecord",
    "DataGone",
    "EmbedRecord",
    "Manifest",
    "MessageRecord",
    "Run",
    "RunDirectory",
    "RunError",
    "Setup",
    "Spent",
    "StepData",
    "StepKey",
    "StepUnit",
    "Unit",
    "digest_of",
    "manifest_before",
    "open_run",
    "read_settled",
    "reused_replies",
    "together",
]

# Imported on first use: who needs one record of a run does not load all that writes runs.
_NAMES = {
    "harness.errors": "DataGone RunError",
    "harness.runs.directory": "SUMMARY RunDirectory manifest_before",
    "harness.runs.files": "BLOBS STEPS Blobs digest_of",
    "harness.runs.manifest": "Manifest Setup",
    "harness.runs.on_record": "StepKey read_settled reused_replies together",
    "harness.runs.records": "ActRecord CallRecord EmbedRecord MessageRecord Spent Unit",
    "harness.runs.run": "Run StepData open_run",
    "harness.runs.steps": "StepUnit",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'harness.runs' has no attribute '{name}'")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value
