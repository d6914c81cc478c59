"""Estimated time of a run over all valid steps of Multimodal-Mind2Web, by model and tier.

    python benchmarks/tiers.py [MODEL ...]

Nothing is asked. The sample is rehearsed as `--dry-run` does it, and its tokens, bytes and dollars
are multiplied by 6,060 over its own number of valid steps: pictures and texts are taken to be as
large as those of the sample. Wall time assumes a number of seconds per call and calls at a time.
Prints a Markdown table.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from adapters.conversation import Tier
from harness.batches.leaf import WAVE_HOURS, planned
from harness.planning.estimate import estimate
from harness.planning.plan import Plan, plan_run
from harness.planning.tier_table import Wave, reads_cache
from harness.settings import read_settings

STEPS = 6060
MODELS = ("gpt-5.4", "gpt-5.4-mini", "claude-sonnet-5-5", "gemini-3.8-flash")
AT_ONCE = 8
SECONDS: dict[Tier, float] = {"default": 10, "flex": 60, "priority": 5}
"""Assumed for a call; no provider publishes them, and those of flex vary with the hour."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=MODELS)
    print("| model | tier | calls | GB sent | M tokens in, cached, out | dollars | wall time |")
    print("|---|---|---|---|---|---|---|")
    for model in parser.parse_args().models:
        for row in rows(model):
            print(f"| {' | '.join(row)} |")


def rows(model: str) -> Iterator[tuple[str, ...]]:
    """A row for each tier that the model is sold on at a listed price."""
    plan = plan_run(read_settings({"model": model, "benchmark": "sample"}), asks=False)
    told = estimate(plan)
    times = STEPS / told.steps
    waves = told.traffic.waves
    ratio = told.traffic.bytes_per_pixel(None)
    sizes = [times * (wave.text_bytes + ratio * wave.pixels) for wave in waves]
    calls = times * sum(wave.calls for wave in waves)
    for tier in plan.model.info.tiers:
        sheet, info = plan.model.sheet, plan.model.info
        if sheet.sells(info, tier) is False or not sheet.lists(info, tier):
            continue
        cache = reads_cache(tier)
        dollars = sum(
            (sheet.price_of(info, wave.usage(cache=cache), tier=tier) or 0.0) * wave.calls
            for wave in waves
        )
        tokens = (
            sum(wave.prompt for wave in waves),
            sum(wave.cached for wave in waves) if cache else 0.0,
            sum(wave.reply for wave in waves),
        )
        yield (
            model,
            tier,
            f"{calls:,.0f}",
            f"{sum(sizes) / 1e9:.1f}",
            ", ".join(f"{times * number / 1e6:.1f}" for number in tokens),
            f"{times * dollars:,.0f}",
            batches(plan, waves, sizes, times)
            if tier == "batch"
            else f"{calls * SECONDS[tier] / AT_ONCE / 3600:,.0f} h",
        )


def batches(plan: Plan, waves: Sequence[Wave], sizes: Sequence[float], times: float) -> str:
    """Describe the longest time of batches, and their number."""
    limits = planned(plan).limits
    hours, number = 0, 0
    for wave, size in zip(waves, sizes, strict=True):
        tokens = times * wave.prompt
        queued = limits.queued_tokens or tokens
        parts = max(
            size / limits.bytes, times * wave.calls / limits.requests, tokens / (queued / 2)
        )
        number += -int(-parts // 1)
        hours += WAVE_HOURS * max(1, -int(-tokens // queued))
    return f"{len(waves)} waves, {number} batches, at most {hours:,} h"


if __name__ == "__main__":
    main()
