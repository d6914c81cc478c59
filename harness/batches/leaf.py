"""Batches as the rest of the harness knows them: one object, reached by name (`CALLERS`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.contract import PictureSource
from harness.batches.log import BatchLog
from harness.errors import UserError
from harness.runs import RunDirectory
from harness.runs.callers import Waiting
from harness.settings import EPISODES, Settings

if TYPE_CHECKING:
    from harness.batches.passes import BatchPasses
    from harness.planning.estimated_calls import EstimatedCall
    from harness.planning.plan import Plan
    from harness.planning.tier_table import Traffic, Wave


class Batches:
    """The caller that hands calls over to a provider's batches."""

    def check(self, settings: Settings, lacks: Container[str]) -> None:
        """Raise `UserError` for live pages, and for a run without its first call."""
        if EPISODES not in lacks:
            raise UserError(
                "--tier batch: a live page does not wait a day for an answer; leave it out"
            )
        if not settings.preflight:
            raise UserError(
                "--no-preflight: without the first call, a mistake comes back after a day on every "
                "request of a batch; leave it out"
            )

    def waiting_at(self, path: Path) -> Waiting | None:
        """Count what a provider has of the run at `path`. Raises `RunError`."""
        return BatchLog.read(path).waiting

    def unrecorded_at(self, path: Path) -> float:
        """Return what requests that came to nothing cost, in US dollars. Raises `RunError`."""
        return BatchLog.read(path).unrecorded

    def open(
        self,
        plan: Plan,
        directory: RunDirectory,
        pictures: PictureSource,
        ready: Callable[[], Awaitable[None]],
        say: Callable[[str], None],
    ) -> BatchPasses | None:
        """Open the batches of a run. See `harness.session.run.Passes`."""
        from harness.batches.passes import BatchPasses

        return BatchPasses.open(plan, directory, pictures, ready, say)

    def heading(self, plan: Plan, calls: Sequence[EstimatedCall]) -> str:
        """Say how long batches take, by the calls of a dialogue."""
        from harness.batches.estimate import waves_line

        return waves_line(plan, calls)

    def estimate(self, plan: Plan, waves: Sequence[Wave], traffic: Traffic) -> list[str]:
        """Describe the batches of a run. Raises `Fatal`."""
        from harness.batches.estimate import batch_lines

        return list(batch_lines(plan, waves, traffic))


BATCHES = Batches()
