"""Options that can have no effect are refused, not ignored."""

from __future__ import annotations

import click

from harness.benchmarks import benchmark
from harness.commands.given import GIVEN
from harness.errors import UserError

BY_SETTING: dict[str, tuple[str, ...]] = {
    "distractors": ("distractors",),
    "seed": ("seed",),
    "choices": (
        "positives",
        "shown",
        "exclude_related",
        "exclude_same_text",
        "order",
        "form",
        "choice_tokens",
        "none",
    ),
    "prompts": ("prompts", "history"),
    "images": ("image_policy", "pixels", "lost_rows"),
}


def refuse_idle(ctx: click.Context, name: str) -> None:
    """Raise `UserError` for a given option that the benchmark's data or another option idles."""
    fixes = benchmark(name).fixes
    for setting, options in BY_SETTING.items():
        for option in options if setting in fixes else ():
            if ctx.get_parameter_source(option) in GIVEN:
                written = option.replace("_", "-")
                raise UserError(
                    f"--{written} has no effect on {name}, whose data fixes it; leave it out"
                )
    if ctx.get_parameter_source("choice_tokens") in GIVEN and ctx.params["form"] != "bnid":
        raise UserError("--choice-tokens is the cap of --form bnid; leave it out")
    if ctx.params.get("cache_dir") and not ctx.params["cache"]:
        raise UserError("--cache-dir has no effect with --no-cache; leave one out")
