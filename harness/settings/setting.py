"""The record of a setting of a run, or of an option of a benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from adapters.options import alternatives, bare, choices, is_list, read

Group = Literal["Model", "Data", "Question", "Scoring", "Running"]
"""The subject of a setting, and its heading in `vlm-eval run --help-all`."""
GROUPS: tuple[Group, ...] = ("Model", "Data", "Question", "Scoring", "Running")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting of a run, or an option of a benchmark.

    Attributes:
        name: its name in Python, in files and on record.
        type: the type annotation of its values, with constraints.
        default: its value unless given.
        help: one or two sentences for `--help`.
        group: what it is about, and its heading in the help.
        short: its short option ("-k"), "" without one.
        metavar: the word for the value in the help, "" for the usual word of its type.
        parse: turns the text of a command line into a value, if the type is not enough.
        identity: whether a run with another value is another run. If not, it may change on resume
            and is not on record.
        of: whose it is: "" the run's; "adapter": handed over with the adapter's options;
            "benchmark", "protocol": a short form of an option of that; "adapter_option",
            "benchmark_option": written among these, though the run reads it.
        only: whom it is for, and refused for others: "model" (not a policy), "hosted" (a model
            behind an address).
    """

    name: str
    type: Any
    default: Any
    help: str
    group: Group
    short: str = ""
    metavar: str = ""
    parse: Callable[[str], Any] | None = None
    identity: bool = True
    of: Literal["", "adapter", "benchmark", "protocol", "adapter_option", "benchmark_option"] = ""
    only: Literal["", "model", "hosted"] = ""

    def read(self, value: object) -> Any:
        """Return the value in the setting's own type. Raises ValueError naming what was
        expected."""
        if isinstance(value, Mapping) and self.holds_pairs:
            value = tuple(sorted(value.items()))
        if self.parse is not None:
            if self.repeatable:
                items = value if isinstance(value, (list, tuple)) else (value,)
                value = [self.parse(item) if isinstance(item, str) else item for item in items]
            elif isinstance(value, str):
                value = self.parse(value)
        return read(self.type, value)

    @property
    def key(self) -> str:
        """Its name in a file (with dashes there) and in Python: without the unit (`timeout_s`)."""
        return self.name.removesuffix("_s")

    @property
    def among(self) -> str:
        """The setting among whose pairs it is written, "" if it is an option of its own."""
        return self.of if self.of.endswith("_option") else ""

    @property
    def option(self) -> str:
        """The long option of the command line ("--max-cost")."""
        return f"--{self.key.replace('_', '-')}"

    def written(self, value: object = None) -> str:
        """Return it as on a command line, with a value if one is given.

        A switch without a value is written as it is turned from its default: `--no-cache`.
        """
        if self.among:
            pair = self.key if value is None else f"{self.key}={value}"
            return f"--{self.among.replace('_', '-')} {pair}"
        option = self.option
        if self.is_switch and self.default is True:
            option = option.replace("--", "--no-", 1)
        return option if value is None else f"{option} {value}"

    @property
    def holds_pairs(self) -> bool:
        """Return True if its values are keys with values."""
        inner = get_args(alternatives(self.type)[0]) if is_list(self.type) else ()
        return bool(inner) and get_origin(inner[0]) is tuple

    @property
    def choices(self) -> tuple[str, ...]:
        """The values it may take, () where they are not listed."""
        return choices(self.type)

    @property
    def is_switch(self) -> bool:
        return bare(self.type) is bool or self.type == (bool | None)

    @property
    def one_text(self) -> bool:
        """Return True if a list is written as one value ("800,300"), as its `metavar` shows."""
        return is_list(self.type) and "," in self.metavar

    @property
    def repeatable(self) -> bool:
        """Return True if its option may be given several times."""
        return is_list(self.type) and not self.one_text


def declared_by(owner: type) -> Mapping[str, Setting]:
    """Return what a dataclass declares by `setting`, by name, in order."""
    return _declared_by(owner)


@cache
def _declared_by(owner: Any) -> Mapping[str, Setting]:
    types = get_type_hints(owner, include_extras=True)
    return {
        one.name: Setting(
            name=one.name, type=types[one.name], default=one.default, **dict(one.metadata)
        )
        for one in fields(owner)
        if one.metadata
    }
