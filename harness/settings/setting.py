"""The record of a setting, filled in at its declaration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta

from adapters.options import EPISODES as EPISODES
from adapters.options import OWN_PYTHON as OWN_PYTHON
from adapters.options import RULES as RULES
from harness.settings import values

Group = Literal["Model", "Data", "Question", "Scoring", "Running", "Models on this machine"]
"""The headings of `vlm-eval run --help-all`."""

About = Literal["model", "data", "question", "scoring", "session"]
"""The subject of a difference in a setting."""

AtLeastOne = Annotated[int, Meta(ge=1)]
AtLeastZero = Annotated[int, Meta(ge=0)]

STEPS, ELEMENTS, PICTURES = "recorded steps", "elements of pages", "pictures"
"""Features that some kinds of units lack; their runs do not record such settings."""
EARLIER = "recorded steps before a step"
"""A feature that other kinds of units lack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting of a run.

    Attributes:
        name: Its name in Python and in `manifest.json`.
        type: The type annotation of its values, with constraints.
        default: Its value unless given.
        help: One or two sentences for `--help`.
        group: Its heading in the help.
        about: The subject of a difference; `session` settings change no result, may change on
            resume and do not identify a run.
        option: The long option of the command line ("--max-cost"); of a setting under another
            option, its key with dashes.
        under: The option that takes it as `KEY=VALUE` on the command line ("--scoring-option"), ""
            where it has its own. Files and Python name it like any other.
        short: Its short option ("-k"), "" without one.
        metavar: The word for the value in the help, "" for the usual word of its type.
        parse: Turns the text of a command line into a value, if the type is not enough.
        common: True for the few that `--help` lists; `--help-all` lists the others, too.
        recorded: A run's configuration has it `always`, only `when set`, or `never`.
        fixed_as: The class of settings under which a benchmark may fix it ("choices"), or "".
        selects: The level or label of units whose values it lists ("website"), or "".
        needs: Features, or other settings, without which it has no effect (see
            `harness.planning.resolve`).
        fills: The part whose parameter of that name it fills, "" for none; None leaves that open.
    """

    name: str
    type: Any
    default: Any
    help: str
    group: Group
    about: About
    option: str
    under: str = ""
    short: str = ""
    metavar: str = ""
    parse: Callable[[str], Any] | None = None
    common: bool = False
    recorded: Literal["always", "when set", "never"] = "always"
    fixed_as: str = ""
    selects: str = ""
    needs: tuple[str, ...] = ()
    fills: Literal["", "adapter", "protocol"] = ""

    def read(self, value: object) -> Any:
        """Return the value in the setting's own type. Raises ValueError naming what was
        expected."""
        if isinstance(value, Mapping):
            value = tuple(sorted(value.items()))
        if self.parse is not None:
            if self.repeatable:
                items = value if isinstance(value, (list, tuple)) else (value,)
                value = [self.parse(item) if isinstance(item, str) else item for item in items]
            elif isinstance(value, str):
                value = self.parse(value)
        return values.read(self.type, value)

    @property
    def key(self) -> str:
        """Its name in a file (with dashes there) and in Python: `exclude_status`."""
        return self.option.strip("-").replace("-", "_")

    def written(self, value: object = None) -> str:
        """Return it as on a command line, with a value if one is given.

        A switch without a value is written as it is turned from its default: `--no-cache`.
        """
        given = "" if value is None else str(value)
        if self.under:
            if self.is_switch and not given:
                given = "no" if self.default is True else "yes"
            return f"{self.under} {self.key}" + (f"={given}" if given else "")
        option = self.option
        if self.is_switch and self.default is True:
            option = option.replace("--", "--no-", 1)
        return f"{option} {given}" if given else option

    @property
    def holds_pairs(self) -> bool:
        """Return True if its values are keys with values."""
        return values.is_pairs(self.type)

    @property
    def members_only(self) -> bool:
        """True for an option of pairs whose only keys are the settings under it."""
        return self.holds_pairs and self.recorded == "never"

    @property
    def choices(self) -> tuple[str, ...]:
        """The values it may take, () where they are not listed."""
        return values.choices(self.type)

    @property
    def is_switch(self) -> bool:
        return values.bare(self.type) is bool or self.type == (bool | None)

    @property
    def one_text(self) -> bool:
        """Return True if a list is written as one value ("800,300"), as its `metavar` shows."""
        return values.is_list(self.type) and "," in self.metavar

    @property
    def repeatable(self) -> bool:
        """Return True if its option may be given several times."""
        return values.is_list(self.type) and not self.one_text
