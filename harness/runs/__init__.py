"""Runs on disk.

`RunDirectory.start` opens a run for writing, `open_run` for reading; `harness.runs.shards` merges
shards.
A line is a record of `harness.runs.records`. A run directory holds

    manifest.json   what was run, with what, and each time it was started
    calls.jsonl     a line per finished call
    steps.jsonl     a line per row of the selection; of several lines of a step the last one holds
    summary.json    written when the run is finished, with
    steps.parquet   the steps as a table
    blobs/          large things that lines refer to by digest
    set_aside.jsonl lines that do not count any more (`harness.redo.repair`)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.errors import DataGone, DiskFull, OtherFormat, RunDiffers, RunError, RunInUse
    from harness.runs.directory import (
        SERVER_LOG,
        SUMMARY,
        RunDirectory,
        manifest_before,
        settled_before,
    )
    from harness.runs.files import BLOBS, STEPS, Blobs, digest_of
    from harness.runs.lock import is_in_use
    from harness.runs.manifest import (
        MANIFEST,
        NO_ANSWERS,
        Manifest,
        Redone,
        Setup,
        Start,
        check_same,
        difference,
    )
    from harness.runs.on_record import (
        StepKey,
        by_role,
        by_tier,
        read_cost,
        read_settled,
        reused_replies,
        roles_of,
        spent_on,
        tiers_of,
        together,
    )
    from harness.runs.records import (
        SCHEMA,
        ActRecord,
        CallRecord,
        EmbedRecord,
        MessageRecord,
        Spent,
        Unit,
        call_id,
        result_of,
        shared_unit,
    )
    from harness.runs.run import Resolver, Run, StepData, open_run
    from harness.runs.steps import STEP, StepDetail, StepUnit

__all__ = [
    "BLOBS",
    "MANIFEST",
    "NO_ANSWERS",
    "SCHEMA",
    "SERVER_LOG",
    "STEP",
    "STEPS",
    "SUMMARY",
    "ActRecord",
    "Blobs",
    "CallRecord",
    "DataGone",
    "DiskFull",
    "EmbedRecord",
    "Manifest",
    "MessageRecord",
    "OtherFormat",
    "Redone",
    "Resolver",
    "Run",
    "RunDiffers",
    "RunDirectory",
    "RunError",
    "RunInUse",
    "Setup",
    "Spent",
    "Start",
    "StepData",
    "StepDetail",
    "StepKey",
    "StepUnit",
    "Unit",
    "by_role",
    "by_tier",
    "call_id",
    "check_same",
    "difference",
    "digest_of",
    "is_in_use",
    "manifest_before",
    "open_run",
    "read_cost",
    "read_settled",
    "result_of",
    "reused_replies",
    "roles_of",
    "settled_before",
    "shared_unit",
    "spent_on",
    "tiers_of",
    "together",
]

# Imported on first use: who needs one record of a run does not load all that writes runs.
_NAMES = {
    "harness.errors": "DataGone DiskFull OtherFormat RunDiffers RunError RunInUse",
    "harness.runs.directory": "SERVER_LOG SUMMARY RunDirectory manifest_before settled_before",
    "harness.runs.files": "BLOBS STEPS Blobs digest_of",
    "harness.runs.lock": "is_in_use",
    "harness.runs.manifest": "MANIFEST NO_ANSWERS Manifest Redone Start Setup check_same "
    "difference",
    "harness.runs.on_record": "StepKey by_role by_tier read_cost read_settled reused_replies "
    "roles_of spent_on tiers_of together",
    "harness.runs.records": "SCHEMA ActRecord CallRecord EmbedRecord MessageRecord Spent Unit "
    "call_id result_of shared_unit",
    "harness.runs.run": "Resolver Run StepData open_run",
    "harness.runs.steps": "STEP StepDetail StepUnit",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'harness.runs' has no attribute '{name}'")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value
