"""What is known of a setting: one record, filled in where the setting is declared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from harness.settings import values

Group = Literal["Model", "Data", "Question", "Scoring", "Running", "Models on this machine"]
"""The headings of `vlm-eval run --help`."""

About = Literal["model", "data", "question", "scoring", "session"]
"""What a difference in a setting is a difference of."""

UNKNOWN: Any = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting of a run.

    Attributes:
        name: Its name in Python and in `manifest.json`.
        type: The type annotation of its values, with constraints.
        default: Its value where nothing is given.
        help: One or two sentences for `--help`.
        group: The heading it stands under.
        about: What a difference is a difference of; `session` settings change no result, may
            change on resume and are no part of a run's identity.
        option: The long option of the command line ("--max-cost").
        short: Its short option ("-k"), "" without one.
        metavar: What stands for the value in the help, "" for the usual word of its type.
        parse: Turns the text of a command line into a value, where the type alone does not say how.
        common: Whether it is among the few that the help lists first.
        since: The schema number of run directories that first had it.
        absent: Its value in runs that do not have it on record.
        usual: The value that a report's heading need not mention, if it is not the default.
        one_text: Whether a list is written as one value ("800,300") instead of several options.
        recorded: Whether a run's configuration holds it `always`, only `when set`, or `never`.
        forbids_ranking: Whether runs that differ in it must not be ranked.
        told_by: The key of published results that tells it ("population", "candidates"); one that
            forbids ranking and has none is a key by its own name.
        heading: Whether a report's heading tells it `always`, where it is `unusual`, or `never`.
        follows: Settings that it changes with, and beside which a difference is not counted.
        fixed_as: The class of settings under which a benchmark may fix it ("choices"), or "".
        selects: The level or label of units whose values it lists ("website"), or "".
        needs: Features without which it has no effect (see `harness.evaluation.plan`).
        to_adapter: Whether it is an option of the model's adapter.
        to_protocol: Whether it fills a parameter of the protocol.
        fills_option: Whether it is a short way to give the protocol's own option of that name.
        names_role: The role whose model it names, "" without one; it is read as one of the `roles`,
            and has no value of its own.
        left_open: Whether None leaves it to the protocol.
    """

    name: str
    type: Any
    default: Any
    help: str
    group: Group
    about: About
    option: str
    short: str = ""
    metavar: str = ""
    parse: Callable[[str], Any] | None = None
    common: bool = False
    since: int = 1
    absent: Any = UNKNOWN
    usual: Any = UNKNOWN
    one_text: bool = False
    recorded: Literal["always", "when set", "never"] = "always"
    forbids_ranking: bool = False
    told_by: str = ""
    heading: Literal["always", "unusual", "never"] = "unusual"
    follows: tuple[str, ...] = ()
    fixed_as: str = ""
    selects: str = ""
    needs: tuple[str, ...] = ()
    to_adapter: bool = False
    to_protocol: bool = False
    fills_option: bool = False
    names_role: str = ""
    left_open: bool = False

    def read(self, value: object) -> Any:
        """The value in the setting's own type. Raises ValueError naming what was expected."""
        if self.parse is not None:
            if self.repeatable:
                items = value if isinstance(value, (list, tuple)) else (value,)
                value = [self.parse(item) if isinstance(item, str) else item for item in items]
            elif isinstance(value, str):
                value = self.parse(value)
        return values.read(self.type, value)

    @property
    def usual_value(self) -> Any:
        """The value that a report's heading need not mention."""
        return self.default if self.usual is UNKNOWN else self.usual

    @property
    def choices(self) -> tuple[str, ...]:
        """The values it may take, () where they are not listed."""
        return values.choices(self.type)

    @property
    def is_switch(self) -> bool:
        return values.bare(self.type) is bool or self.type == (bool | None)

    @property
    def repeatable(self) -> bool:
        """Whether its option may be given several times."""
        return values.is_list(self.type) and not self.one_text


def setting(default: Any, help: str, **facts: Any) -> Any:
    """A field of `Settings`; `facts` are attributes of `Setting`."""
    return field(default=default, metadata={"help": help, **facts})
