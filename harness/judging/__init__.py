"""Judging finished runs: other models are asked about what an agent did.

A judgement is a separate run, whose units are trajectories, in `RUN/judgments/NAME/`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.judging.trajectory import (
        JudgingProtocol,
        Moment,
        Trajectory,
        TrajectoryView,
        judged,
        seen,
    )

__all__ = ["JudgingProtocol", "Moment", "Trajectory", "TrajectoryView", "judged", "seen"]


def __getattr__(name: str) -> object:
    if name in __all__:
        place = "trajectory" if name in ("Moment", "Trajectory", "TrajectoryView") else "protocol"
        return getattr(import_module(f"harness.judging.{place}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
