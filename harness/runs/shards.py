"""Merging the shards of a run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import NamedTuple

import msgspec

from harness.errors import RunDiffers, RunError
from harness.runs.batches import waiting_at
from harness.runs.directory import RunDirectory
from harness.runs.files import CALLS, STEPS, Blobs, decode, read_lines, read_records
from harness.runs.lines import line_decoder
from harness.runs.manifest import (
    Manifest,
    Redone,
    Setup,
    check_reading,
    difference,
    identity,
    read_manifest,
)
from harness.runs.on_record import Head, StepKey
from harness.runs.records import CallRecord, Unit

SHARD = "shard"
"""The key of the configuration that may differ between the runs of a merge."""


class _Claim(NamedTuple):
    """The state of a step in a run: True if settled, and a digest of outcome and replies."""

    run: Path
    settled: bool
    content: str


def merge(runs: Sequence[Path], into: Path) -> None:
    """Write the lines of several runs of one configuration into a new run.

    A step that is settled in several of them must have come out the same, reply by reply; of a
    settled and an unsettled one the settled one is taken, with its calls. Raises `RunDiffers` for
    runs of different setups, `RunError` for no runs, contradicting ones, one that waits for batches
    of its provider, or an `into` that exists.
    """
    if not runs:
        raise RunError("there is nothing to merge")
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise RunError(f"{into} exists already")
    for run in runs:
        if waiting := waiting_at(run):
            raise RunError(
                f"{run} waits for {waiting} of its provider: start it again until it is complete, "
                f"or end them with {waiting.command} --cancel"
            )
    manifests = [read_manifest(run) for run in runs]
    setup = _without_shard(manifests[0])
    for run, manifest in zip(runs, manifests, strict=True):
        check_reading(run, manifest)
        lines = difference(identity(setup), identity(_without_shard(manifest)))
        if lines:
            raise RunDiffers(run, lines)
    chosen: dict[StepKey, _Claim] = {}
    for run in runs:
        for key, claim in _claims(run).items():
            other = chosen.get(key)
            if other and other.settled and claim.settled and other.content != claim.content:
                raise RunError(f"step {key[0]} came out differently in {other.run} and {run}")
            if other is None or (claim.settled and not other.settled):
                chosen[key] = claim
    merged = {"merged": [str(run) for run in runs]}
    with RunDirectory.start(into, setup, merged) as directory:
        # No line exists yet: none of this is in the lines.
        directory.note_spent(sum(manifest.unrecorded for manifest in manifests))
        directory.note_redone(reduce(_joined, (manifest.redone for manifest in manifests)))
        for run in runs:
            Blobs(run).copy(directory.blobs)
            directory.copy_lines(
                _chosen_lines(run, CALLS, chosen), _chosen_lines(run, STEPS, chosen)
            )
        for manifest in manifests:
            for role, known in manifest.answerers.items():
                for facts in known:
                    directory.note_answerer(role, facts, again=False)


def _joined(one: Redone | None, other: Redone | None) -> Redone | None:
    return other if one is None else one.joined(other)


def _claims(run: Path) -> dict[StepKey, _Claim]:
    replies: dict[StepKey, dict[str, str]] = {}
    for call in read_records(run / CALLS, CallRecord):
        digest = _digest([call.conversation, call.reply.text, call.reply.finish])
        replies.setdefault(call.key, {})[call.name] = digest
    claims = {key: _Claim(run, False, "") for key in replies}
    for unit in read_records(run / STEPS, Unit):
        answers = sorted(replies.get(unit.key, {}).items())
        content = _digest([unit.prediction, unit.scores, unit.detail, answers])
        claims[unit.key] = _Claim(run, unit.settled, content)
    return claims


def _chosen_lines(run: Path, file: str, chosen: dict[StepKey, _Claim]) -> Iterator[bytes]:
    decoder = line_decoder(Head)
    for line in read_lines(run / file):
        if chosen[decode(decoder, line, run / file).key].run == run:
            yield line.data


def _digest(value: object) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()


def _without_shard(manifest: Manifest) -> Setup:
    config = {name: value for name, value in manifest.config.items() if name != SHARD}
    return replace(manifest, config=config)
