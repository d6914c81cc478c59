"""What a run takes on each tier that its model is sold on, so that the user can choose.

Tokens are those of the expected case of an estimate. In later rounds the part of a prompt that was
sent before is read from the provider's prompt cache, but not in batches, whose rounds are hours
apart. Roles with models of their own are left out.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from adapters.catalog import MODELS
from adapters.contract import AdapterInfo, EncodedPicture, Fatal
from adapters.conversation import Picture, Tier, Usage
from adapters.deferred.contract import Deferrable, Deferring
from adapters.prices import PriceSheet
from harness.dialogue import Ask
from harness.evaluation.estimated_calls import EXPECTED_REPLY, EstimatedCall
from harness.evaluation.model import options_of
from harness.evaluation.plan import Plan
from harness.pictures import PictureStore
from harness.tables import counted

SAMPLED = 20
"""Pictures that are prepared to know how many bytes a pixel takes."""
FRAME_BYTES = 400
"""Bytes of a request beside its texts and pictures."""
WAVE_HOURS = 24
UNLISTED = "<="
MANY_WAVES = 3
"""More waves than this are worth a warning."""


@dataclass(slots=True)
class Wave:
    """What one turn of all dialogues sends together.

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
    """What is sent to the model under test, and the sources of the first pictures of it."""

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

    def bytes_per_pixel(self, workers: int | None) -> float:
        """Of the first pictures, in base64 as they are sent; 0 where there are none."""
        if not self.pictures:
            return 0.0
        encoded = asyncio.run(_encoded(self.pictures, workers))
        pixels = sum(picture.width * picture.height for picture in encoded)
        return 4 / 3 * sum(len(picture.data) for picture in encoded) / max(1, pixels)


def reads_cache(tier: Tier) -> bool:
    """Whether later rounds find the earlier ones in the prompt cache: not a day later."""
    return tier != "batch"


def _least(info: AdapterInfo) -> float:
    return math.inf if info.cache_minimum is None else info.cache_minimum


async def _encoded(pictures: Mapping[Picture, bytes], workers: int | None) -> list[EncodedPicture]:
    """These pictures as they are sent, without those that cannot be prepared."""
    async with PictureStore(workers) as store:
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
    batched = "batch" in plan.settings.tier
    if not waves or not (batched or (model.spends and len(sold) > 1)):
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
        lines += _batches(plan, waves, traffic)
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


def _batches(plan: Plan, waves: Sequence[Wave], traffic: Traffic) -> Iterator[str]:
    """What the batches of a run are like."""
    deferring = deferring_of(plan)
    limits, days = deferring.limits, _days(deferring)
    ratio = traffic.bytes_per_pixel(plan.settings.workers)
    sizes = [wave.text_bytes + ratio * wave.pixels for wave in waves]
    queued = plan.settings.queue_tokens or limits.queued_tokens
    number = 0
    for wave, size in zip(waves, sizes, strict=True):
        parts = [wave.calls / limits.requests, size / limits.bytes]
        parts += [2 * wave.prompt / queued] if queued else []
        number = max(number, math.ceil(max(parts)))
    most = max(wave.prompt for wave in waves)
    seen, tokens = len(traffic.pictures), "queued tokens" if queued else "tokens"
    by = f" (by the first {counted(seen, 'picture')})" if seen else ""
    yield (
        f"batch:     {counted(len(waves), 'wave')}{days and f', {days} a wave'}; at most "
        f"{max(wave.calls for wave in waves):,.0f} requests, {max(sizes) / 1e6:,.1f} MB{by} and "
        f"{most:,.0f} {tokens} a wave, in {number:,} batch{'' if number == 1 else 'es'}"
    )
    if queued and most > queued:
        yield (
            f"{'':<10} the provider lets {queued:,} tokens wait at a time (--queue-tokens): a wave "
            f"is sent in {math.ceil(most / queued)} parts, one after the other"
        )


def _days(deferring: Deferring) -> str:
    """How long a provider may take for a wave; "" for files that the user has answered."""
    return f"up to {WAVE_HOURS} h" if deferring.preflights else ""


def waves_line(plan: Plan, calls: Sequence[EstimatedCall]) -> str:
    """How long batches take, for the user, by the calls of a dialogue."""
    waves, days = 1 + max((call.turn for call in calls), default=0), _days(deferring_of(plan))
    line = f"{'batches:':<9} {counted(waves, 'wave')}{days and f', {days} each'}"
    line += ", as far as the first step shows"
    if waves > MANY_WAVES:
        line += f"; warning: more than {MANY_WAVES}, each of which waits for the one before"
    return line


def deferring_of(plan: Plan) -> Deferring:
    """How a model is asked in batches. Raises `Fatal` for one that is not."""
    adapter = plan.model.adapter
    if not isinstance(adapter, Deferrable):
        # What stands in for a model that is not loaded declares its facts only.
        adapter = MODELS.keyless(plan.settings.model, **options_of(plan.settings))
    if not isinstance(adapter, Deferrable):
        raise Fatal(f"{plan.model.info.name} has a tier batch, but does not say how it is asked")
    return adapter.deferring(Path())
