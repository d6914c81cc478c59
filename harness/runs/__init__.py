"""Runs on disk.

`RunDirectory.start` gives the side that writes, `open_run` the side that reads; `merge` puts shards
together. The lines are the records of `harness.runs.records`. A folder holds

    manifest.json   what was run, with what, and each time it was started
    calls.jsonl     a line per finished call
    steps.jsonl     a line per row of the selection; of several lines of a step the last one holds
    summary.json    written when the run is finished, with
    steps.parquet   the steps as a table
"""

from harness.runs._convert import as_reply, message_record, picture_record, reply_record
from harness.runs._directory import RunDirectory, StepKey, settled_before
from harness.runs._errors import DataGone, DiskFull, RunDiffers, RunError, RunInUse
from harness.runs._manifest import LATER, Manifest, Session, Setup, difference
from harness.runs._merge import merge
from harness.runs._run import Resolver, Run, StepData, open_run
from harness.runs.records import (
    SCHEMA,
    CallRecord,
    ChoiceRecord,
    DescriptionRecord,
    GoldRecord,
    MessageRecord,
    PictureRecord,
    ReplyRecord,
    StepRecord,
)

__all__ = [
    "LATER",
    "SCHEMA",
    "CallRecord",
    "ChoiceRecord",
    "DataGone",
    "DescriptionRecord",
    "DiskFull",
    "GoldRecord",
    "Manifest",
    "MessageRecord",
    "PictureRecord",
    "ReplyRecord",
    "Resolver",
    "Run",
    "RunDiffers",
    "RunDirectory",
    "RunError",
    "RunInUse",
    "Session",
    "Setup",
    "StepData",
    "StepKey",
    "StepRecord",
    "as_reply",
    "difference",
    "merge",
    "message_record",
    "open_run",
    "picture_record",
    "reply_record",
    "settled_before",
]
