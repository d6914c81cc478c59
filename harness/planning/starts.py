"""Ways to start a run other than from nothing or from where it stopped: `--redo`, `--repair`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from harness.errors import from_leaf
from harness.runs import Setup, StepKey
from harness.settings import Settings


class Start:
    """Base class of starts: leaves settings, plan and directory unchanged.

    settings: the settings as given, or with what this start adds.
    heading: lines for the user before the run, by name.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.heading: dict[str, str] = {}

    def takes(
        self, settings: Settings, setup: Setup, usual: Callable[[], Path]
    ) -> frozenset[StepKey]:
        """Return the dialogues that the run takes over from another.

        `settings` are the completed ones; `usual` finds the directory that the same command would
        use without this start. Raises `UserError` or `RunError`.
        """
        return frozenset()

    def begin(self, directory: Path, setup: Setup) -> None:
        """Prepare the directory of the run, before anything is asked. Raises `RunError`."""


def starts_of(settings: Settings) -> Sequence[Start]:
    """Open the starts that settings ask for. Raises `UserError`, `RunError`."""
    opened = list[Start]()
    if settings.redo or settings.redo_from:
        opened.append(from_leaf("harness.redo.redo:Redo")(settings))
        settings = opened[-1].settings
    if settings.repair:
        opened.append(from_leaf("harness.redo.repair:Repair")(settings))
    return opened
