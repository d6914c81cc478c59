"""Declares settings of a run, and options of a benchmark, as fields of a dataclass; what options
say of candidates, "none of these" and earlier steps.

`harness.settings` makes options of the command line, keys of files and refusals of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from msgspec import Meta

AtLeastZero = Annotated[int, Meta(ge=0)]


def setting(default: Any, help: str, **facts: Any) -> Any:
    """Declare a setting as a field; `facts` are attributes of `harness.settings.Setting`."""
    return field(default=default, metadata={"help": help, **facts})


SHORT: Mapping[str, Mapping[str, Any]] = {
    "distractors": {
        "default": 20,
        "help": "Negative candidates listed with the positive.",
        "group": "Question",
        "short": "-k",
    },
    "ranker": {
        "default": None,
        "help": "Ranker of the candidates: lexical, another registered one, or a file of ranks.",
        "group": "Question",
    },
    "image_policy": {
        "default": None,
        "help": "Part of the screenshot to show. One of full, viewport, tiles, candidates, none, "
        "oracle-target. Default: the protocol's.",
        "group": "Question",
    },
    "f1": {
        "default": "mind2web",
        "help": "Variant of operation F1 in the headline; all are stored.",
        "group": "Scoring",
    },
    "rule": {
        "default": None,
        "help": "Published rule of the headline (docs/screen-steps.md). Default: that of the set.",
        "group": "Scoring",
        "metavar": "NAME",
    },
}
"""Options of benchmarks that the command line has by themselves, too."""


def short_form(name: str, of: str = "") -> Any:
    """Declare such an option: of a benchmark, or as a short form `of` that."""
    return setting(**SHORT[name], of=of)


Source = Literal["snapshot", "ranker", "all"]
"""Where the candidates of a step come from."""
NoneRule = Literal["last", "first", "absent"]
"""Where a list of choices offers "none of these"."""

_PICTURES = re.compile(r"(pictures|turns):([1-9][0-9]?)(?:-([1-9][0-9]?))?")


@dataclass(frozen=True, slots=True)
class History:
    """The earlier steps that a model is shown.

    Attributes:
        actions: number of the last steps that are shown; None shows all.
        thoughts: whether with what the model thought.
        turns: whether they are turns of the conversation, instead of lines of the question.
        pictures: least and largest number of screenshots, the present one among them. Where the
            numbers differ, old screenshots are left out several at a time, so the beginning
            of a conversation often stays as it was and providers need not read it again.
    """

    actions: int | None = None
    thoughts: bool = False
    turns: bool = False
    pictures: tuple[int, int] = (1, 1)

    @classmethod
    def parse(cls, value: int | str | None) -> History:
        """Read `all`, `none` or a number, `thoughts`, `pictures:K` and `turns:K`, joined by `+`.

        `K-L` in place of K allows K to L screenshots. Raises ValueError.

        >>> str(History.parse("3+thoughts+turns:5")), History.parse("pictures:2-4").pictures
        ('3+thoughts+turns:5', (2, 4))
        """
        if not isinstance(value, str):
            return cls(value)
        found: dict[str, Any] = {}
        for part in value.split("+"):
            read = _history_part(part)
            if read is None:
                raise ValueError(
                    f"'{value}' is none of all, none, K, with +thoughts, +pictures:K or +turns:K"
                )
            if read.keys() & found:
                raise ValueError(f"'{value}' says twice what to show of earlier steps")
            found |= read
        return cls(**found)

    def __str__(self) -> str:
        least, most = self.pictures
        count = f"{least}" if least == most else f"{least}-{most}"
        shown = "turns" if self.turns else "pictures" if most > 1 else ""
        parts = ["all" if self.actions is None else str(self.actions)]
        parts += ["thoughts"] if self.thoughts else []
        return "+".join([*parts, f"{shown}:{count}"] if shown else parts)

    @property
    def plain(self) -> bool:
        """Return True if earlier steps are shown as lines about actions and nothing else."""
        return not self.thoughts and not self.turns and self.pictures == (1, 1)

    def of(self, count: int) -> tuple[int, int]:
        """Return how many of `count` earlier steps are shown, and how many with screenshots.

        >>> [History.parse("turns:2-4").of(count)[1] for count in range(8)]
        [0, 1, 2, 3, 1, 2, 3, 1]
        """
        least, most = self.pictures
        shown = count if self.actions is None else min(self.actions, count)
        block = most - least + 1
        dropped = -(-max(0, count + 1 - most) // block) * block
        return shown, min(shown, count - dropped)


def _history_part(part: str) -> dict[str, Any] | None:
    if part in ("all", "none") or (part.isascii() and part.isdigit()):
        return {"actions": None if part == "all" else 0 if part == "none" else int(part)}
    if part == "thoughts":
        return {"thoughts": True}
    match = _PICTURES.fullmatch(part)
    if match is None:
        return None
    least, most = int(match[2]), int(match[3] or match[2])
    return {"turns": match[1] == "turns", "pictures": (least, most)} if least <= most else None
