"""What calls cost in US dollars: the price sheet of the `genai-prices` package, or one's own file.

A file, TOML or JSON, names models (as asked for, or in full as `openai:gpt-4o`) with dollars per
million tokens, and wins over the package:

    ["openai:gpt-4o"]
    input = 2.5
    cached = 1.25
    output = 10.0

`cached` and `cache_write` default to `input`.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any

from adapters.contract import Fatal, ModelInfo
from adapters.conversation import Usage


@dataclass(frozen=True, slots=True)
class Rates:
    """Dollars per million tokens."""

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None

    def cost(self, usage: Usage) -> float:
        """Dollars for a call."""
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
    """Prices of models: those in `overrides`, else those of the package."""

    overrides: Mapping[str, Rates] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> PriceSheet:
        """The sheet in a file. Raises `Fatal` if the file is not valid TOML or JSON."""
        try:
            text = path.read_text(encoding="utf-8")
            plain = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        except OSError as error:
            raise Fatal(f"price file {path}: {error.strerror or error}") from error
        except ValueError as error:
            raise Fatal(f"price file {path} is neither TOML nor JSON: {error}") from error
        if not isinstance(plain, dict):
            raise Fatal(f"price file {path}: expected models with their prices")
        return cls({name: _rates(name, rates, path) for name, rates in plain.items()})

    def has_price(self, info: ModelInfo) -> bool:
        """Whether calls of this model have a known price (free counts as known)."""
        return self.price_of(info, Usage(input=1000, output=1)) is not None

    def price_of(self, info: ModelInfo, usage: Usage, when: datetime | None = None) -> float | None:
        """Dollars for a call made at `when` (None: now); 0.0 if not billed, None if unknown."""
        rates = self.overrides.get(info.name) or self.overrides.get(info.model)
        if rates is not None:
            return rates.cost(usage)
        if not info.billed:
            return 0.0
        return _listed(info, usage, when)

    def upper_bound(self, info: ModelInfo, input: int, output: int) -> float | None:
        """Dollars that a call with so many tokens costs at most (None: not known).

        The most expensive case is that the whole prompt is written to the provider's cache.
        """
        both = [
            self.price_of(info, Usage(input=input, cache_write=written, output=output))
            for written in (0, input)
        ]
        return max((price for price in both if price is not None), default=None)


def _rates(name: str, rates: Any, path: Path) -> Rates:
    """A model's entry. Raises `Fatal` naming it if it is malformed."""
    known = [f.name for f in fields(Rates)]
    if not isinstance(rates, dict) or not set(rates) <= set(known):
        raise Fatal(f"price file {path}: '{name}' must be a table of {', '.join(known)}")
    for key in ("input", "output"):
        if key not in rates:
            raise Fatal(f"price file {path}: '{name}' has no {key} price")
    for key, value in rates.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
            raise Fatal(f"price file {path}: '{name}': {key} must be dollars per million tokens")
    return Rates(**rates)


def price_of(info: ModelInfo, usage: Usage, when: datetime | None = None) -> float | None:
    """Dollars for a call by the package's prices; see `PriceSheet.price_of`."""
    return PriceSheet().price_of(info, usage, when)


def has_price(info: ModelInfo) -> bool:
    """Whether the cost of calls is known from the package, or they are free."""
    return PriceSheet().has_price(info)


def source() -> str:
    """The package and version that prices come from, for a run's record."""
    from importlib.metadata import version

    return f"genai-prices {version('genai-prices')}"


def context_tokens(provider: str, model: str) -> int | None:
    """The model's context in tokens as the package lists it, None when it does not."""
    listed = _find(provider, model)
    return None if listed is None else listed.context_window


def _listed(info: ModelInfo, usage: Usage, when: datetime | None) -> float | None:
    if info.price_ref is None:
        # Billed by somebody whose prices nobody here knows.
        return None
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    try:
        price = calc_price(
            Tokens(
                input_tokens=max(usage.input, usage.cached + usage.cache_write),
                cache_read_tokens=usage.cached,
                cache_write_tokens=usage.cache_write,
                output_tokens=usage.output,
            ),
            model_ref=info.price_ref,
            provider_id=info.provider,
            genai_request_timestamp=when,
        )
    except (LookupError, ValueError):
        return None
    return float(price.total_price)


def _find(provider: str, model: str) -> Any:
    from genai_prices import data_snapshot

    try:
        return data_snapshot.get_snapshot().find_provider_model(model, None, provider, None)[1]
    except LookupError:
        return None
