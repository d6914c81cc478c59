"""Sessions whose calls are handed over to a caller and answered later."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol, cast

from adapters.contract import PictureSource
from adapters.registry import UnknownName
from harness.engine import Caller, Engine
from harness.errors import UserError
from harness.runs import RunDirectory
from harness.runs.callers import CALLERS, callers_at

if TYPE_CHECKING:
    from harness.planning.plan import Plan
    from harness.session.session import Session


class Passes(Protocol):
    """Passes over the units of a run: each takes replies that came, and hands calls over."""

    @property
    def caller(self) -> Caller:
        """What the engine hands calls over to."""
        ...

    async def run(self, engine: Engine, session: Session) -> None:
        """Make passes as long as something comes of them.

        Raises as `Engine.run`, and `Stopped` where nothing more can be handed over.
        """
        ...

    @property
    def waiting(self) -> str:
        """What the run waits for, for the user; "" if for nothing."""
        ...


def open_passes(
    plan: Plan,
    directory: RunDirectory,
    pictures: PictureSource,
    ready: Callable[[], Awaitable[None]],
    say: Callable[[str], None],
) -> Passes | None:
    """The passes of a run whose tier has a caller, or that has calls handed over to one.

    Args:
        plan: the run.
        directory: its folder.
        pictures: the pictures of its calls.
        ready: called once before the first call is handed over.
        say: prints a line for the user.

    Returns None for other runs. Raises `UserError`, `Fatal`, `RunError`.
    """
    begun = callers_at(directory.path)
    for name in CALLERS.names():
        if name in plan.settings.tier or name in begun:
            try:
                caller = CALLERS.make(name)
            except UnknownName as error:
                raise UserError(str(error)) from error
            passes = cast("Passes | None", caller.open(plan, directory, pictures, ready, say))
            if passes is not None:
                return passes
    return None
