"""The cost of a model's calls: its prices, its tokens, and the provider's tier that serves them.

A tier changes no reply. It is part of neither a run's identity nor the key of the reply cache, and
a run may go on with another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from adapters import AdapterInfo, Conversation, ModelInfo, Reply, Request, Text
from adapters.conversation import ProviderTool, Tier, Usage, canonical_json
from adapters.prices import PriceSheet
from harness.errors import UserError
from parsers import count_tokens

UPPER_TEXT = 1.25
"""Upper bound for the tokens of a text, as a multiple of the adapter's estimate."""
TURN_TOKENS = 8
"""Generous upper bound for the tokens that a message adds to those of its parts."""
DEAREST_PICTURE = 40_000
"""Tokens assumed for a picture if the model's rule is unknown (gpt-4o-mini takes 36,835)."""


def may_spend(sheet: PriceSheet, info: ModelInfo) -> bool:
    """Return whether calls of a model may cost money."""
    return info.billed or sheet.upper_bound(info, 1000, 1000) not in (0.0, None)


def tokens_of(conversation: Conversation, info: AdapterInfo, *, upper: bool = False) -> int:
    """Estimated prompt tokens: texts by cl100k and the adapter's factor, pictures by its rule."""
    total = 0.0
    factor = info.text_factor * (UPPER_TEXT if upper else 1.0)
    for tool in conversation.tools:
        if isinstance(tool, ProviderTool):
            total += tool.tokens or 0
            continue
        told = canonical_json([tool.name, tool.description, tool.parameters])
        total += factor * text_tokens(told, info.text_tokens)
    for message in conversation.messages:
        total += TURN_TOKENS if upper else TURN_TOKENS / 2
        for part in message.shown:
            if isinstance(part, Text):
                total += factor * text_tokens(part.text, info.text_tokens)
            else:
                known = info.image_rule.tokens(part.width, part.height) if info.image_rule else None
                total += known if known is not None else (DEAREST_PICTURE if upper else 0)
    return round(total)


@lru_cache(maxsize=512)
def text_tokens(text: str, counter: Callable[[str], int] | None) -> int:
    """Tokens of a text; a round's text comes back with the next round, hence the memory."""
    return counter(text) if counter else count_tokens(text)


def check_tier(tier: Tier, info: AdapterInfo, sheet: PriceSheet) -> None:
    """Raise `UserError` for a tier that the model is not sold on."""
    extra = info.settings.get("extra_body")
    if isinstance(extra, Mapping) and "service_tier" in extra:
        raise UserError(
            f"--tier {tier}: extra_body names a service_tier, too; leave it out of --adapter-option"
        )
    if tier not in info.tiers:
        known = ", ".join(info.tiers)
        other = f" (its tiers are {known})" if known else ", nor on any other tier; leave it out"
        raise UserError(f"--tier {tier}: {info.name} is not served on it{other}")
    if sheet.sells(info, tier) is False:
        sold = ", ".join(one for one in info.tiers if sheet.sells(info, one))
        raise UserError(f"--tier {tier}: {info.name} is not sold on it (but on {sold})")


class Tariff:
    """Prices of a model's calls on the tiers that serve them.

    wished: the tier that the user named; None leaves it to the provider.
    """

    def __init__(self, sheet: PriceSheet, info: AdapterInfo, wished: Tier | None) -> None:
        self._sheet = sheet
        self._info = info
        # Requests in batches carry their tier (`Request.tier`); other calls have the usual one.
        self._wished = None if wished == "batch" else wished
        self._bounds: list[Tier] = [self._wished] if self._wished else []
        self._known: set[str] = {wished or ""}
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
        name, wished = self._info.name, self._wished
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


def tier_lines(tier: Tier, info: AdapterInfo, sheet: PriceSheet) -> Iterator[str]:
    """Say on which tier a run is served, and what is not known of its price."""
    yield f"{'tier:':<9} {tier}"
    if line := unlisted(sheet, info, tier):
        yield f"{'':<9} {line}"
    # Every model is served as usual, and calls that cost nothing are answered by the user.
    is_sure = tier == "default" or (tier == "batch" and not info.billed)
    if not is_sure and sheet.sells(info, tier) is None:
        yield f"{'':<9} whether {info.name} is served on {tier}, its provider will say"
