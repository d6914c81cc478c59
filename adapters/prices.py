"""Prices of calls in US dollars: the sheet of the `genai-prices` package, or the user's file.

A file, TOML or JSON, names models (as asked for, or in full as `openai:gpt-5.4`) with dollars per
million tokens, and wins over the package:

    ["openai:gpt-5.4"]
    input = 2.5
    cached = 1.25
    output = 10.0

`cached` and `cache_write` default to `input`. `released = "2025-08"`, with prices or alone, says
when a model came out. A provider's tiers (`Tier`) have separate prices in the package; the rates
of a file apply to every tier.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from adapters.contract import Fatal, ModelInfo
from adapters.conversation import Tier, Usage
from adapters.input_files import file_text

_CONTEXTS: Mapping[str, Mapping[str, str]] = {
    "flex": {"service_tier": "flex"},
    "priority": {"service_tier": "priority"},
    "batch": {"processing": "batch"},
}
"""The package's names for the tiers with other than standard prices."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Return the dollars per million tokens."""

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None

    def cost(self, usage: Usage) -> float:
        """Return the dollars for a call."""
        plain = max(0, usage.input - usage.cached - usage.cache_write)
        cached = self.input if self.cached is None else self.cached
        written = self.input if self.cache_write is None else self.cache_write
        return (
            plain * self.input
            + usage.cached * cached
            + usage.cache_write * written
            + usage.output * self.output
        ) / 1e6


@dataclass(frozen=True, slots=True)
class PriceSheet:
    """Prices of models: those in `overrides`, else those of the package.

    `released` has dates of release as the file gives them.
    """

    overrides: Mapping[str, Rates] = field(default_factory=dict)
    released: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> PriceSheet:
        """Return the sheet in a file. Raises `Fatal` if the file is not valid TOML or JSON."""
        try:
            text = file_text(path)
            plain = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        except OSError as error:
            raise Fatal(f"price file {path}: {error.strerror or error}") from error
        except ValueError as error:
            raise Fatal(f"price file {path} is neither TOML nor JSON: {error}") from error
        if not isinstance(plain, dict):
            raise Fatal(f"price file {path}: expected models with their prices")
        released = {
            name: _date(name, rates.pop(_RELEASED), path)
            for name, rates in plain.items()
            if isinstance(rates, dict) and _RELEASED in rates
        }
        priced = {name: rates for name, rates in plain.items() if rates or name not in released}
        return cls({name: _rates(name, rates, path) for name, rates in priced.items()}, released)

    def released_on(self, info: ModelInfo) -> str:
        """Return when a model came out, as the file says; "" if it does not."""
        return self.released.get(info.name) or self.released.get(info.model) or ""

    def has_price(self, info: ModelInfo, tiers: Sequence[Tier] = ()) -> bool:
        """Return whether calls of this model have a known price on each of these tiers (free
        counts as known)."""
        usage = Usage(input=1000, output=1)
        return all(self.price_of(info, usage, tier=tier) is not None for tier in tiers or ("",))

    def can_limit(self, info: ModelInfo, tiers: Sequence[Tier] = ()) -> bool:
        """Return whether the price of this model's calls is known for sure on each of these tiers,
        as a cost limit needs it."""
        is_assumed = info.assumed_free and self._own_rates(info) is None
        return self.has_price(info, tiers) and not is_assumed

    def price_of(
        self,
        info: ModelInfo,
        usage: Usage,
        when: datetime | None = None,
        *,
        tier: Tier | Literal[""] = "",
    ) -> float | None:
        """Return the dollars for a call made at `when` (None: now); 0.0 if not billed, None if
        unknown.

        A tier whose price is not listed (`lists`) is priced as the standard one, but for priority,
        which is dearer: unknown.
        """
        rates = self._own_rates(info)
        if rates is not None:
            return rates.cost(usage)
        if not info.billed:
            return 0.0
        if tier == "priority" and not self.lists(info, tier, when):
            return None
        return _listed(info, usage, when, tier)

    def lists(self, info: ModelInfo, tier: Tier, when: datetime | None = None) -> bool:
        """Return whether the price of a tier is known; free calls are free on each."""
        known = self._own_rates(info) is None and info.billed and tier in _CONTEXTS
        return not known or _CONTEXTS[tier] in _variants(info, when)

    def sells(self, info: ModelInfo, tier: Tier) -> bool | None:
        """Return whether the provider sells a tier for this model; None if only it can say.

        It does not where the package lists others of the same kind.
        """
        listed = _variants(info)
        if tier not in _CONTEXTS or _CONTEXTS[tier] in listed:
            return True if listed else None
        kind = _CONTEXTS[tier].keys()
        return False if any(variant.keys() == kind for variant in listed) else None

    def upper_bound(
        self, info: ModelInfo, input: int, output: int, *, tiers: Sequence[Tier] = ()
    ) -> float | None:
        """Return the dollars that a call with so many tokens costs at most (None: not known), on
        the dearest of these tiers.

        The most expensive case is that the whole prompt is written to the provider's cache.
        """
        each = [
            self.price_of(info, Usage(input=input, cache_write=written, output=output), tier=tier)
            for written in (0, input)
            for tier in tiers or ("",)
        ]
        return max((price for price in each if price is not None), default=None)

    def _own_rates(self, info: ModelInfo) -> Rates | None:
        return self.overrides.get(info.name) or self.overrides.get(info.model)


_RELEASED = "released"


def _date(name: str, value: object, path: Path) -> str:
    """Return a date of release. Raises `Fatal` for what is none."""
    if not re.fullmatch(r"\d{4}(-\d{2}){0,2}", str(value)):
        raise Fatal(f"price file {path}: '{name}': {_RELEASED} must be a date such as 2025-08")
    return str(value)


def _rates(name: str, rates: Any, path: Path) -> Rates:
    """Return a model's entry. Raises `Fatal` naming it if it is malformed."""
    known = [f.name for f in fields(Rates)]
    if not isinstance(rates, dict) or not set(rates) <= set(known):
        raise Fatal(f"price file {path}: '{name}' must be a table of {', '.join(known)}")
    for key in ("input", "output"):
        if key not in rates:
            raise Fatal(f"price file {path}: '{name}' has no {key} price")
    for key, value in rates.items():
        if type(value) not in (int, float) or not 0 <= value < math.inf:
            raise Fatal(f"price file {path}: '{name}': {key} must be dollars per million tokens")
    return Rates(**rates)


def source() -> str:
    """Return the package and version that prices come from, for a run's record."""
    from importlib.metadata import version

    return f"genai-prices {version('genai-prices')}"


def context_tokens(provider: str, model: str) -> int | None:
    """Return the model's context in tokens as the package lists it, None when it does not."""
    listed = _find(provider, model)
    return None if listed is None else listed.context_window


def _variants(info: ModelInfo, when: datetime | None = None) -> list[Mapping[str, str]]:
    """Return the contexts with other than standard prices for a model at this time."""
    listed = _find(info.provider, info.price_ref) if info.price_ref else None
    when = when or datetime.now(UTC)
    return [
        variant.when
        for variant in (listed.price_variants if listed else None) or ()
        if variant.constraint is None or variant.constraint.active(when)
    ]


def _listed(
    info: ModelInfo, usage: Usage, when: datetime | None, tier: Tier | Literal[""]
) -> float | None:
    listed = _find(info.provider, info.price_ref) if info.price_ref else None
    if listed is None:
        # The biller's prices are unknown.
        return None
    from genai_prices import Usage as Tokens

    when, context = when or datetime.now(UTC), dict(_CONTEXTS.get(tier, {}))
    standard, prices = (listed.get_prices(when, given) for given in (None, context))
    share, cached = info.cached_shares.get(tier or "default"), standard.cache_read_mtok
    # The sheet falls back to the standard price, also where the provider halves it.
    if share is not None and isinstance(cached, Decimal) and prices.cache_read_mtok == cached:
        prices = copy(prices)
        prices.cache_read_mtok = cached * Decimal(str(share))
    try:
        price = prices.calc_price(
            Tokens(
                input_tokens=max(usage.input, usage.cached + usage.cache_write),
                cache_read_tokens=usage.cached,
                cache_write_tokens=usage.cache_write,
                output_tokens=usage.output,
            )
        )
    except (LookupError, ValueError):
        return None
    return float(price["total_price"])


def _find(provider: str, model: str) -> Any:
    from genai_prices import data_snapshot

    try:
        return data_snapshot.get_snapshot().find_provider_model(model, None, provider, None)[1]
    except LookupError:
        return None
