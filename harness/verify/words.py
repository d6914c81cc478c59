"""The words of a check, what its rule found, and the verdict of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from adapters.picture_tokens import Rule

Verdict = Literal["ok", "suspicious", "broken", "cannot tell"]
OK: Verdict = "ok"
SUSPICIOUS: Verdict = "suspicious"
BROKEN: Verdict = "broken"
CANNOT_TELL: Verdict = "cannot tell"


@dataclass(frozen=True, slots=True)
class Found:
    """The finding of a check's rule.

    detail: a text, or JSON with the numbers behind it.
    measured: what the record keeps of it.
    seen: the rule that pictures follow, where their tokens tell it.
    """

    verdict: Verdict
    detail: Any = ""
    measured: Mapping[str, Any] = field(default_factory=dict)
    seen: Rule | None = None


PROVEN: tuple[str, ...] = ()
"""Known-good deployments on which `points` and `ladder` were run, with revision and date."""
CAPPED = frozenset({"points", "ladder"})
ASIDE = frozenset({"usage", "refused sizes"})
"""Checks that no run depends on: shown as facts."""


@dataclass(frozen=True, slots=True)
class Check:
    """The finding of a check. `rule` is the word of its rule, `verdict` the one that counts."""

    name: str
    found: Found
    calls: tuple[str, ...] = ()

    @property
    def rule(self) -> Verdict:
        return self.found.verdict

    @property
    def detail(self) -> Any:
        return self.found.detail

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
    needed = {words.get(name, CANNOT_TELL) for name in ("picture seen", "sizes", "points")}
    return (CANNOT_TELL if needed == {CANNOT_TELL} else OK), 0
