"""Ways to start a run other than from nothing or from where it stopped, by the setting that asks.

A start is made with the settings as given. It is imported only if its setting is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from adapters.registry import Registry, UnknownName
from harness.errors import UserError
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


STARTS: Registry[Start] = Registry("start", "vlm_eval.starts", has=("takes", "begin"))
"""Starts by the setting that asks for them; `plain` names further settings that do."""
STARTS.add("redo", "harness.redo.redo:Redo", "asks steps of a run again", plain=("redo_from",))
STARTS.add("repair", "harness.redo.repair:Repair", "sets damaged lines of a run aside")


def starts_of(settings: Settings) -> Sequence[Start]:
    """Open the starts that settings ask for. Raises `UserError`, `RunError`."""
    opened = []
    for name in STARTS.names():
        if any(getattr(settings, asking, None) for asking in (name, *STARTS.plain(name))):
            try:
                opened.append(STARTS.make(name, settings=settings))
            except UnknownName as error:
                raise UserError(str(error)) from error
            settings = opened[-1].settings
    return opened
