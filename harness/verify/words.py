"""The words of a check, and what it found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Verdict = Literal["ok", "suspicious", "broken", "cannot tell"]
OK: Verdict = "ok"
SUSPICIOUS: Verdict = "suspicious"
BROKEN: Verdict = "broken"
CANNOT_TELL: Verdict = "cannot tell"


@dataclass(frozen=True, slots=True)
class Found:
    """What the rule of a check says. `detail` is a text or JSON, with the numbers behind it."""

    verdict: Verdict
    detail: Any = ""
