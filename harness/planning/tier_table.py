"""Cost and time of a run on each tier of its model, for the user to choose.

Tokens are those of the expected case of an estimate. In later rounds the part of a prompt that was
sent before is read from the provider's prompt cache, but not in batches, whose rounds are hours
apart. Roles with their own models are left out.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from adapters.contract import AdapterInfo, EncodedPicture
from adapters.conversation import Picture, Tier, Usage
from adapters.prices import PriceSheet
from harness.dialogue import Ask
from harness.errors import UserError, from_leaf
from harness.pictures import PictureStore
from harness.planning.estimated_calls import EXPECTED_REPLY, EstimatedCall
from harness.planning.plan import Plan

SAMPLED = 20
"""Pictures that are prepared to know how many bytes a pixel takes."""
FRAME_BYTES = 400
"""Bytes of a request in addition to its texts and pictures."""
UNLISTED = "<="


@dataclass(slots=True)
class Wave:
    """All requests of one turn of all dialogues.

    calls: number of calls, a fraction where it depends on the replies.
    prompt, cached, written, reply: tokens; those read from and written to a prompt cache are among
        those of the prompt.
    text_bytes, pixels: of the requests.
    """

    calls: float = 0.0
    prompt: float = 0.0
    cached: float = 0.0
    written: float = 0.0
    reply: float = 0.0
    text_bytes: float = 0.0
    pixels: float = 0.0

    def usage(self, *, cache: bool) -> Usage:
        """The mean usage of its calls, with a prompt cache or without."""
        prompt, reply = round(self.prompt / self.calls), round(self.reply / self.calls)
        if not cache:
            return Usage(input=prompt, output=reply)
        read, written = round(self.cached / self.calls), round(self.written / self.calls)
        return Usage(input=prompt, cached=read, cache_write=written, output=reply)


@dataclass(slots=True)
class Traffic:
    """Requests to the model under test, and the sources of their first pictures."""

    waves: list[Wave] = field(default_factory=list)
    pictures: dict[Picture, bytes] = field(default_factory=dict)

    def add(
        self, calls: Sequence[EstimatedCall], wanted: float, sources: Mapping[str, bytes]
    ) -> None:
        """Add the calls of a dialogue, as if there were so many of them."""
        times = wanted / len(calls) if calls else 0.0
        for call in calls:
            if not isinstance(call.call, Ask) or not isinstance(call.info, AdapterInfo):
                continue
            while len(self.waves) <= call.turn:
                self.waves.append(Wave())
            wave, case, least = self.waves[call.turn], call.cases["expected"], _least(call.info)
            cached = call.prefix if call.prefix >= least else 0
            written = case.input - cached if call.call.continues and case.input >= least else 0
            conversation = call.call.conversation
            shown = conversation.pictures
            texts = sum(len(m.text.encode("utf-8", "replace")) for m in conversation.messages)
            wave.calls += times
            wave.prompt += times * case.input
            wave.cached += times * cached
            wave.written += times * written
            wave.reply += times * case.output
            wave.text_bytes += times * (texts + FRAME_BYTES)
            wave.pixels += times * sum(picture.width * picture.height for picture in shown)
            for picture in shown:
                if len(self.pictures) < SAMPLED and picture.digest in sources:
                    self.pictures[picture] = sources[picture.digest]

    def bytes_per_pixel(self) -> float:
        """Size of the first pictures in base64; 0 without any."""
        if not self.pictures:
            return 0.0
        encoded = asyncio.run(_encoded(self.pictures))
        pixels = sum(picture.width * picture.height for picture in encoded)
        return 4 / 3 * sum(len(picture.data) for picture in encoded) / max(1, pixels)


def reads_cache(tier: Tier) -> bool:
    """Return whether later rounds find earlier ones in the prompt cache: not in a later session."""
    return tier != "batch"


def _least(info: AdapterInfo) -> float:
    return math.inf if info.cache_minimum is None else info.cache_minimum


async def _encoded(pictures: Mapping[Picture, bytes]) -> list[EncodedPicture]:
    """Prepare these pictures, without those that cannot be prepared."""
    async with PictureStore() as store:
        for picture, data in pictures.items():
            store.add(picture.digest, data)
        made = await asyncio.gather(
            *(store.encoded(picture) for picture in pictures), return_exceptions=True
        )
    return [one for one in made if isinstance(one, EncodedPicture)]


def table_lines(plan: Plan, traffic: Traffic) -> list[str]:
    """The table of tiers, as lines for the user; none where there is nothing to choose."""
    model, info = plan.model, plan.model.info
    waves = [wave for wave in traffic.waves if wave.calls]
    sold = [tier for tier in info.tiers if model.sheet.sells(info, tier) is not False]
    in_batches = "batch" in plan.settings.tier
    if not waves or not (in_batches or (model.spends and len(sold) > 1)):
        return []
    shown: list[Tier] = sold if model.spends else ["batch"]
    lines = [_row("by tier", "calls", "in", "cached", "out", "$ uncached", "$ cached")]
    lines += [_of_tier(model.sheet, info, tier, waves) for tier in shown]
    notes = [f"replies of {EXPECTED_REPLY} tokens"]
    notes += ["the model under test alone"] if plan.roles else []
    if any(wave.cached for wave in waves) and any(map(reads_cache, shown)):
        notes.append("cached: later rounds read the earlier ones from the provider's prompt cache")
    if any(UNLISTED in line for line in lines):
        notes.append(f"{UNLISTED}: no price is listed, so the standard one")
    lines.append(f"{'':<10} ({'; '.join(notes)})")
    if "batch" in shown:
        # The table is complete without it, unless the user asks for this tier.
        with suppress(*() if in_batches else (UserError,)):
            lines += from_leaf("harness.batches.leaf:estimate")(plan, waves, traffic)
    return lines


def _row(*cells: str) -> str:
    name, calls, *tokens, plain, cached = cells
    return (
        f"{name:<10}{calls:>10}{''.join(f'{cell:>15}' for cell in tokens)}{plain:>13}{cached:>13}"
    )


def _of_tier(sheet: PriceSheet, info: AdapterInfo, tier: Tier, waves: Sequence[Wave]) -> str:
    def dollars(*, cache: bool) -> str:
        costs = [sheet.price_of(info, wave.usage(cache=cache), tier=tier) for wave in waves]
        if any(cost is None for cost in costs):
            return "unknown"
        total = sum((cost or 0.0) * wave.calls for cost, wave in zip(costs, waves, strict=True))
        return f"{'' if sheet.lists(info, tier) else UNLISTED + ' '}{total:,.2f}"

    cached = sum(wave.cached for wave in waves)
    caches = cached > 0 and reads_cache(tier)
    return _row(
        f"  {tier}",
        f"{sum(wave.calls for wave in waves):,.0f}",
        f"{sum(wave.prompt for wave in waves):,.0f}",
        f"{cached:,.0f}" if caches else "-",
        f"{sum(wave.reply for wave in waves):,.0f}",
        dollars(cache=False),
        dollars(cache=True) if caches else "-",
    )
