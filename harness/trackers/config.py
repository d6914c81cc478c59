"""Trackers by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from adapters.entry_points import UnknownName, absent, load_named, named_code, nearest
from harness.errors import UserError
from harness.trackers.contract import Tracker

TRACKERS = {"wandb": "harness.trackers.wandb:WandbTracker"}
"""Those of this package; others are named as `module:Class`."""
METHODS = ("start", "log", "finish")


def open_trackers(names: Iterable[str], given: Mapping[str, object]) -> dict[str, Tracker]:
    """Open trackers by name or as `module:Class`, each perhaps with `:PROJECT`; nothing is sent
    yet. `given` has trackers of the caller by name.

    Raises `UserError` for an unknown name, a repeated one, and a tracker that cannot be made: its
    package or its key is missing.
    """
    opened: dict[str, Tracker] = {}
    for written in names:
        if written in opened:
            raise UserError(f"--track {written} is given twice")
        try:
            made = given[written] if written in given else _made(written)
        except (UnknownName, UserError) as error:
            raise UserError(f"--track {written}: {error}") from error
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            raise UserError(f"--track {written}: it cannot be opened ({why})") from error
        if missing := [one for one in METHODS if not hasattr(made, one)]:
            raise UserError(f"--track {written}: that is no tracker: it has no '{missing[0]}'")
        opened[written] = cast(Tracker, made)
    return opened


def _made(written: str) -> object:
    """Make the tracker of a name. Raises `UnknownName`, and what its class raises."""
    name, _, project = written.partition(":")
    target = TRACKERS.get(name)
    if target is None:
        if why := absent(written):
            near = nearest(name, TRACKERS, ())
            known = why if ":" in written else f"known: {', '.join(TRACKERS)}, module:Class"
            hint = f"did you mean {near}?" if near else known
            raise UnknownName(f"unknown tracker '{written}'; {hint}")
        name = target = named_code("tracker", written)
        project = written[len(name) + 1 :]
    make: Any = load_named("tracker", name, target)
    return make(project) if project else make()
