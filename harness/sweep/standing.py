"""Reads the progress of a sweep's runs from their directories alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.runs import manifest_before, open_run, read_settled
from harness.runs.finding import State, spent_by, state_of
from harness.runs.lock import is_in_use
from harness.session.run import STOPPED


@dataclass(frozen=True)
class Standing:
    """How far a run is.

    settled: dialogues with a final outcome.
    spent: US dollars, with what may have been spent on calls that are not on record.
    reserved: what its batches at a provider may still cost, in US dollars.
    why: why it stopped, or what it waits for; "" where there is nothing to say.
    """

    state: State
    settled: int = 0
    spent: float = 0.0
    reserved: float = 0.0
    why: str = ""


def standing_of(path: Path) -> Standing:
    """Return the progress of the run in a directory. Raises `RunError`."""
    if manifest_before(path) is None:
        return Standing("running" if is_in_use(path) else "not started")
    run = open_run(path)
    state, waiting, sessions = state_of(run), run.waiting, run.manifest.sessions
    why = str(sessions[-1].measured.get(STOPPED, "")) if sessions else ""
    if state == "waiting" and waiting:
        why = f"{waiting} at the provider ({waiting.command})"
    settled, reserved = len(read_settled(path)), waiting.cost if waiting else 0.0
    return Standing(state, settled, spent_by(run), reserved, why)


def exit_code(standings: Sequence[Standing]) -> int:
    """0 where all runs are complete, 3 where some wait for a provider, else 1."""
    states = {standing.state for standing in standings}
    if states <= {"complete"}:
        return 0
    return 3 if "waiting" in states else 1
