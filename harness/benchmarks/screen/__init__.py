"""Recorded steps on screens."""

from __future__ import annotations

from dataclasses import dataclass

from adapters.options import RULES, LeafSettings, setting


@dataclass(frozen=True, kw_only=True)
class ScreenSettings(LeafSettings):
    """The rule of the headline."""

    rule: str | None = setting(
        None,
        "Published rule of the headline (docs/screen-steps.md). Default: that of the set.",
        group="Data",
        about="scoring",
        metavar="NAME",
        recorded="when set",
        needs=(RULES,),
    )
