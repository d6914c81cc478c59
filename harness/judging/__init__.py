"""Judging finished runs: other models are asked about what an agent did.

A judgement is a separate run, whose units are trajectories, in `RUN/judgments/NAME/`.
"""

from harness.judging.trajectory import (
    JudgingProtocol,
    Moment,
    Trajectory,
    TrajectoryView,
    judged,
    seen,
)

__all__ = ["JudgingProtocol", "Moment", "Trajectory", "TrajectoryView", "judged", "seen"]
