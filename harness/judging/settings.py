"""Settings of judging."""

from __future__ import annotations

from dataclasses import dataclass

from adapters.options import LeafSettings, session_setting


@dataclass(frozen=True, kw_only=True)
class JudgingSettings(LeafSettings):
    """The judges of a run."""

    judge: tuple[str, ...] = session_setting(
        (),
        "Model that judges each finished unit, by the benchmark's method or another one; the "
        "judgement is a run in RUN/judgments/. May be repeated.",
        metavar="[METHOD=]MODEL",
    )
