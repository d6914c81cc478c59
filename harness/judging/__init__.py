"""Judging finished units: other models are asked about what an agent did, after it has ended.

A judgement is a separate run, whose units are trajectories, in `RUN/judgments/NAME/`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from adapters.options import LeafSettings, session_setting

if TYPE_CHECKING:
    from harness.judging.protocol import JudgingProtocol, judged, seen
    from harness.judging.trajectory import Moment, Trajectory, TrajectoryView

__all__ = ["JudgingProtocol", "Moment", "Trajectory", "TrajectoryView", "judged", "seen"]


def __getattr__(name: str) -> object:
    # Imported on first use: the settings of this package are read at every start.
    if name in __all__:
        place = "trajectory" if name in ("Moment", "Trajectory", "TrajectoryView") else "protocol"
        return getattr(import_module(f"harness.judging.{place}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@dataclass(frozen=True, kw_only=True)
class JudgingSettings(LeafSettings):
    """The judges of a run."""

    judge: tuple[str, ...] = session_setting(
        (),
        "Model that judges each finished unit, by the benchmark's method or another one; the "
        "judgement is a run in RUN/judgments/. May be repeated; METHOD.base_url=URL and the like "
        "are settings of that judge alone.",
        metavar="[METHOD=]MODEL",
    )
