"""The options of a benchmark (`--benchmark-option KEY=VALUE`): fields of a dataclass.

@dataclass(frozen=True, kw_only=True)
class IconOptions(Options):
    size: Literal["small", "large"] = setting("small", "Size of the icons.", group="Data")

class Icons(Benchmark):
    Options = IconOptions
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from harness.errors import DataError, WithoutEffect, suggestion
from harness.settings import declared_by, short_form, written


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options that a benchmark has unless it declares its own."""

    image_policy: str | None = short_form("image_policy")

    @property
    def recorded(self) -> dict[str, Any]:
        """Those that a run has on record, as JSON values, without those left open."""
        named = {n: getattr(self, n) for n, one in declared_by(type(self)).items() if one.identity}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in named.items()
            if value is not None
        }


Chosen = TypeVar("Chosen", bound=Options)


def with_values(options: Chosen, given: Iterable[tuple[str, Any]], benchmark: str) -> Chosen:
    """Return options with values that are given, as text or as values.

    Raises `WithoutEffect` for an unknown one, `DataError` for a value of another type.
    """
    known, read = declared_by(type(options)), dict[str, Any]()
    for name, value in given:
        if name not in known:
            option = written(name, "benchmark")
            if not option.startswith("--benchmark-option"):
                option = f"{option} has no effect on {benchmark}; leave it out"
                raise WithoutEffect("benchmark_option", option, name)
            hint = suggestion(name, known)
            message = f"{option}: {benchmark} has no such option; {hint}"
            raise WithoutEffect("benchmark_option", message, name)
        try:
            read[name] = known[name].read(value)
        except ValueError as error:
            option = written(name, "benchmark")
            sign = "=" if option.startswith("--benchmark-option") else " "
            raise DataError(f"{option}{sign}{value}: {error}") from error
    return replace(options, **read) if read else options
