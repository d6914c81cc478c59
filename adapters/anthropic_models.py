"""What is known of each Claude model: its picture rule, prompt cache and thinking; and how the
API counts its tokens."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from math import ceil
from typing import Any

from adapters.checks import counted, usage_of
from adapters.contract import ImageRule
from adapters.conversation import Usage
from adapters.thinking import Thinking, thinking_of


@dataclass(frozen=True, slots=True)
class ClaudeFacts:
    """`cache_minimum`: a shorter prefix is silently not cached."""

    rule: ImageRule
    cache_minimum: int
    thinking: Thinking


_CACHE_MINIMUM = {(3, 5): 2048, (4, 7): 2048, (4, 8): 1024, (5, 0): 512, (5, 1): 512, (5, 5): 512}


def facts_of(model: str) -> ClaudeFacts:
    """Return the facts of a Claude model by the version in its name (the newest without one)."""
    match = re.match(r"claude-(?:[a-z]+-)?(\d+)(?:-(\d{1,2}))?(?!\d)", model)
    version = (int(match[1]), int(match[2] or 0)) if match else (9, 0)
    minimum = _CACHE_MINIMUM.get(version, 1024 if version < (5, 0) else 512)
    if version in {(4, 5), (4, 6)} and "sonnet" not in model:
        minimum = 4096
    if model.startswith("claude-sonnet-5") and version == (5, 0):
        minimum = 1024
    rule = image_rule(2576, 4784) if version >= (4, 7) else image_rule(1568, 1568)
    return ClaudeFacts(rule, minimum, thinking_of(model))


def usage(told: dict[str, Any]) -> Usage | None:
    """Return the tokens of a call, as billed; None if they are not counted."""
    read = told.get("cache_read_input_tokens") or 0
    written = told.get("cache_creation_input_tokens") or 0
    plain, details = told.get("input_tokens"), told.get("output_tokens_details")
    parts = [counted(one) for one in (plain, read, written)]
    return usage_of(
        # The API counts tokens of the prompt cache apart.
        input=None if None in parts else sum(one or 0 for one in parts),
        output=told.get("output_tokens"),
        cached=read,
        cache_write=written,
        reasoning=details.get("thinking_tokens") if isinstance(details, dict) else None,
    )


def image_rule(edge: int, limit: int) -> ImageRule:
    """Claude: patches of 28 px; the largest size whose padded sides and patches are allowed."""

    def patches(width: int, height: int) -> int:
        return ceil(width / 28) * ceil(height / 28)

    def fit(width: int, height: int) -> tuple[int, int]:
        longest, shortest = max(width, height), min(width, height)

        def at(long: int) -> tuple[int, int]:
            return long, max(1, round(shortest * long / longest))

        def too_large(long: int) -> bool:
            return ceil(long / 28) * 28 > edge or patches(*at(long)) > limit

        size = at(1 + bisect_left(range(2, longest + 1), True, key=too_large))
        return size if width >= height else size[::-1]

    return ImageRule(
        fit,
        lambda w, h: patches(*fit(w, h)),
        max_side=edge,
        # The API takes 10 MB in base64; a quarter of that is the encoding.
        max_bytes=7_500_000,
        many=(20, 2000),
        source="Anthropic, vision guide, 2026-11",
    )
