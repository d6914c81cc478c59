"""The options of a benchmark (`--benchmark-option KEY=VALUE`): fields of a dataclass.

@dataclass(frozen=True, kw_only=True)
class IconOptions(Options):
    size: Literal["small", "large"] = setting("small", "Size of the icons.", group="Data")

class Icons(Benchmark):
    Options = IconOptions
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from harness.errors import DataError, UserError
from harness.options import short_form


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options that a benchmark has unless it declares its own."""

    image_policy: str | None = short_form("image_policy")

    @property
    def recorded(self) -> dict[str, Any]:
        """Those that a run has on record, as JSON values, without those left open."""
        from harness.settings import declared_by

        named = {n: getattr(self, n) for n, one in declared_by(type(self)).items() if one.identity}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in named.items()
            if value is not None
        }

    @property
    def scoring(self) -> dict[str, Any]:
        """Those that say how units are scored."""
        from harness.settings import declared_by

        known = declared_by(type(self)).items()
        return {name: getattr(self, name) for name, one in known if one.group == "Scoring"}


Chosen = TypeVar("Chosen", bound=Options)


def with_values(options: Chosen, given: Iterable[tuple[str, Any]], benchmark: str) -> Chosen:
    """Return options with values that are given, as text or as values.

    Raises `UserError` for an unknown one, `DataError` for a value of another type.
    """
    from harness.settings import SETTINGS, declared_by, written

    known, read = declared_by(type(options)), dict[str, Any]()
    for name, value in given:
        option = written(name, "benchmark")
        short = not option.endswith(f" {name}")
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"vlm-eval benchmarks {benchmark} lists those it has"
            if name in SETTINGS:
                hint = f"give {written(name)}"
            elif near:
                hint = f"did you mean '{near[0]}'?"
            message = f"{option}: {benchmark} has no such option; {hint}"
            if short:
                message = f"{option} has no effect on {benchmark}; leave it out"
            raise UserError(message)
        try:
            read[name] = known[name].read(value)
        except ValueError as error:
            raise DataError(f"{option}{' ' if short else '='}{value}: {error}") from error
    return replace(options, **read) if read else options


def refuse_given(given: Collection[str], names: Iterable[str], why: str) -> None:
    """Raise `UserError` for an option of these that the user gave, with the reason."""
    from harness.settings import written

    for name in names:
        if name in given:
            message = f"{written(name, 'benchmark')} has no effect {why}"
            raise UserError(message)
