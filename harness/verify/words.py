"""The words of a check, and what it found."""

from __future__ import annotations

from collections.abc import Sequence
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


QUICK = (
    *("copy", "template", "picture seen", "sizes", "bytes", "picture cache", "usage", "thinking"),
    *("corners", "ladder", "points", "repeats"),
)
FULL = (
    *("copy", "template", "system text", "max_tokens", "long reply", "context", "thinking"),
    *("picture seen", "sizes", "refused sizes", "bytes", "picture cache", "usage", "corners"),
    *("ladder", "coverage", "order", "history", "with system text", "points", "repeats"),
)
ANSWERS = frozenset({"ladder", "coverage", "order", "history", "with system text", "points"})
"""Checks of answers about pictures: not judged where no codes are read."""
ASIDE = frozenset({"usage", "refused sizes"})
"""Checks that no run depends on: shown as facts."""
PROVEN: tuple[str, ...] = ()
"""Known-good deployments on which `points` and `ladder` were run, with revision and date."""
CAPPED = frozenset({"points", "ladder"})


@dataclass(frozen=True, slots=True)
class Check:
    """What a check found. `rule` is the word of its rule, `verdict` the one that counts."""

    name: str
    rule: Verdict
    detail: Any = ""
    calls: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        capped = self.name in CAPPED and self.rule == BROKEN and len(PROVEN) < 3
        return SUSPICIOUS if capped else self.rule


def overall(checks: Sequence[Check], *, strict: bool) -> tuple[Verdict, int]:
    """Return the verdict of a deployment and the exit code."""
    words = {check.name: check.verdict for check in checks if check.name not in ASIDE}
    if BROKEN in words.values():
        return BROKEN, 4
    if SUSPICIOUS in words.values():
        return SUSPICIOUS, 4 if strict else 0
    needed = [words.get(name, CANNOT_TELL) for name in ("picture seen", "sizes", "points")]
    return (CANNOT_TELL if set(needed) == {CANNOT_TELL} else OK), 0
