"""The provider's tier that calls are served on (`--tier`): who sells it, what it costs, how long it
is waited for.

A tier changes no reply. It is part of neither a run's identity nor the key of the reply cache, and
a run may go on with another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from adapters import AdapterInfo, Reply, Request
from adapters.conversation import Tier, Usage
from adapters.prices import PriceSheet
from adapters.registry import UnknownName
from harness.engine import RetryPolicy
from harness.errors import UserError
from harness.runs.callers import CALLERS
from harness.settings import Settings

FLEX_TIMEOUT_S = 900.0
"""Seconds that a reply may take on flex; the providers advise to allow as much."""
FLEX_ATTEMPTS, FLEX_PATIENCE_S = 40, 3600.0


def with_time(settings: Settings) -> Settings:
    """The settings with the time limit of calls that the tier needs, unless one was given."""
    if "flex" not in settings.tier or "timeout_s" in settings.given:
        return settings
    return replace(settings, timeout_s=FLEX_TIMEOUT_S)


def retries(settings: Settings, usual: RetryPolicy) -> RetryPolicy:
    """Return the retry policy: the default, a longer one on flex, or the given one."""
    attempts, patience_s = usual.attempts, usual.patience_s
    if "flex" in settings.tier:
        attempts, patience_s = FLEX_ATTEMPTS, FLEX_PATIENCE_S
    return replace(
        usual,
        attempts=settings.attempts or attempts,
        patience_s=patience_s if settings.patience_s is None else settings.patience_s,
    )


def check_tiers(tiers: Sequence[Tier], info: AdapterInfo, sheet: PriceSheet) -> None:
    """Raise `UserError` for tiers that make no sense together, or that the model is not sold on."""
    if not tiers:
        return
    given = f"--tier {','.join(tiers)}"
    for tier in tiers:
        if len(tiers) > 1 and tier not in at_once(tiers):
            raise UserError(f"{given}: {tier} cannot be combined with other tiers")
    if len(set(tiers)) < len(tiers) or len(tiers) > 2 or (len(tiers) == 2 and tiers[0] != "flex"):
        raise UserError(
            f"{given}: one tier, or flex and the one to fall back to when it has no capacity "
            "(flex,default or flex,priority)"
        )
    extra = info.settings.get("extra_body")
    if isinstance(extra, Mapping) and "service_tier" in extra:
        raise UserError(
            f"{given}: extra_body names a service_tier, too; leave it out of --adapter-option"
        )
    for tier in tiers:
        if tier not in info.tiers:
            known = ", ".join(info.tiers)
            raise UserError(
                f"--tier {tier}: {info.name} is not served on it"
                + (
                    f" (its tiers are {known})"
                    if known
                    else ", nor on any other tier; leave it out"
                )
            )
        if sheet.sells(info, tier) is False:
            sold = ", ".join(one for one in info.tiers if sheet.sells(info, one))
            raise UserError(f"--tier {tier}: {info.name} is not sold on it (but on {sold})")


def caller_named(name: str) -> Any:
    """Return the caller of a tier. Raises `UserError` if its leaf is not installed."""
    try:
        return CALLERS.make(name)
    except UnknownName as error:
        raise UserError(str(error)) from error


def at_once(tiers: Sequence[Tier]) -> tuple[Tier, ...]:
    """Return the tiers that single calls are sent on: those without a caller."""
    return tuple(tier for tier in tiers if tier not in CALLERS.names())


class Tariff:
    """Prices of a model's calls on the tiers that serve them.

    wished: the tiers that the user named; none leaves them to the provider.
    """

    def __init__(self, sheet: PriceSheet, info: AdapterInfo, wished: tuple[Tier, ...]) -> None:
        self._sheet = sheet
        self._info = info
        # Requests in batches carry their tier (`Request.tier`); other calls have the usual one.
        self._wished = at_once(wished)
        self._bounds: list[Tier] = list(self._wished)
        self._known: set[str] = set(wished) or {""}
        self._notices: list[str] = []

    def cost_of(self, reply: Reply) -> float | None:
        """Dollars for a reply with a usage; None if unknown."""
        return self._sheet.price_of(self._info, reply.usage or Usage(), tier=reply.tier)

    def upper(self, request: Request, input: int) -> float:
        """Dollars that a call with so many tokens costs at most: on the tier that it names, else on
        those wished, and on those that have served."""
        tiers = [request.tier] if request.tier else self._bounds
        output = request.generation.max_tokens
        return self._sheet.upper_bound(self._info, input, output, tiers=tiers) or 0.0

    def notices(self) -> list[str]:
        """Return notices about the replies so far; each is returned once."""
        notices, self._notices = self._notices, []
        return notices

    def served(self, reply: Reply) -> None:
        """Note which tier a reply came from, for bounds and notices."""
        served = reply.tier
        if served in self._known:
            return
        self._known.add(served)
        name, wished = self._info.name, " or ".join(self._wished)
        if served:
            self._bounds.append(served)
            line = unlisted(self._sheet, self._info, served)
            self._notices += [line] if line else []
        if wished and served:
            self._notices.append(f"{name}: replies came from the tier {served}, not {wished}")
        elif wished:
            self._bounds.append("default")
            counted = "; the standard price is counted" if self._info.billed else ""
            self._notices.append(f"{name} does not say which tier serves its replies{counted}")


def unlisted(sheet: PriceSheet, info: AdapterInfo, tier: Tier) -> str | None:
    """A line for the user on a tier whose price is not listed; None for one whose price is."""
    if not sheet.has_price(info) or sheet.lists(info, tier):
        return None
    if tier == "priority":
        return f"{info.name}: no price is listed for priority, which is dearer than usual: unknown"
    return (
        f"{info.name}: no price is listed for {tier}; the standard one is counted, an upper bound"
    )


def tier_lines(settings: Settings, info: AdapterInfo, sheet: PriceSheet) -> list[str]:
    """The tier of a run for the user, and what is not known of its price."""
    if not settings.tier:
        return []
    lines = [f"{'tier:':<9} {', then '.join(settings.tier)}"]
    for tier in settings.tier:
        if line := unlisted(sheet, info, tier):
            lines.append(f"{'':<9} {line}")
        # Every model is served as usual, and calls that cost nothing are answered by the user.
        is_sure = tier == "default" or (tier not in at_once([tier]) and not info.billed)
        if not is_sure and sheet.sells(info, tier) is None:
            lines.append(f"{'':<9} whether {info.name} is served on {tier}, its provider will say")
    return lines
