"""The other side, `worker.py`, under the Python that BrowserGym is installed in."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from adapters.processes import Child, ChildEnded, Command
from harness.benchmarks.browsergym import answers
from harness.benchmarks.browsergym.acting import calls_of
from harness.benchmarks.browsergym.suites import Suite
from harness.errors import UserError
from harness.live.acting import NotDone
from harness.live.chromium import chromium, launching
from harness.live.snapshot import LIMITS

CORE = ("browsergym-core", "playwright")
WORKER = Path(__file__).with_name("worker.py")
LIMIT_S = 300.0
"""Limit for a question outside of an episode, in seconds: some suites take long to import."""


@dataclass(frozen=True, slots=True)
class Gym:
    """BrowserGym as a world (`harness.live.pool.Foreign`).

    python: path of its Python.
    size: width and height of screenshots.
    """

    python: str
    size: tuple[int, int]

    @property
    def program(self) -> Command:
        # -I: neither our packages nor our variables for Python are meant for it.
        return Command((self.python, "-I", str(WORKER)))

    def told(self, action: Mapping[str, Any]) -> tuple[str, Any]:
        """See `Foreign.told`."""
        try:
            return "act", calls_of(action, self.size)
        except NotDone as reason:
            return "refuse", str(reason)

    def read(self, line: bytes) -> tuple[str, Any]:
        """See `Foreign.read`."""
        return answers.read(line)


def python_at(path: str | None) -> str:
    """The Python of an environment, or of a folder that is one. Raises `UserError`."""
    if path is None:
        raise UserError(
            "BrowserGym has an environment of its own: name its Python with --env-python PATH "
            "(vlm-eval check browsergym says how to make one)"
        )
    given = Path(path).expanduser()
    found = given / "bin" / "python" if given.is_dir() else given
    if not found.is_file():
        raise UserError(f"--env-python {path}: there is no Python")
    # Not resolved: an environment is known by the link that lies in it.
    return str(found.absolute())


def stand_in() -> Path | None:
    """The system's Chromium where it can stand in for Playwright's own browsers."""
    return chromium() if sys.platform.startswith("linux") else None


def options_of(suite: Suite) -> dict[str, Any]:
    """What the other side is told first."""
    path = stand_in()
    return {
        "suite": suite.name,
        "packages": [*CORE, *suite.packages],
        "needed": [*suite.sites, *suite.needed],
        "limits": dict(LIMITS),
        "launcher": None if path is None else launching(path),
    }


def ask(
    python: str, suite: Suite, verb: str, given: object = None, *, limit_s: float = LIMIT_S
) -> bytes:
    """Ask something outside of an episode, and return the answer as JSON. Raises `UserError`."""
    with TemporaryDirectory(prefix="vlm-eval-browsergym-") as folder:
        try:
            child = Child(Gym(python, (0, 0)).program, environment={"TMPDIR": folder})
        except OSError as error:
            raise UserError(f"--env-python {python}: {error.strerror or error}") from None
        timer = threading.Timer(limit_s, child.end)
        timer.start()
        try:
            child.send(options_of(suite))
            child.send((verb, given))
            kind, told = answers.outcome(child.receive())
        except ChildEnded as error:
            late = "" if timer.is_alive() else f"nothing within {limit_s:g} s; "
            raise UserError(f"--env-python {python}: {late}{error}") from None
        except ValueError as error:
            raise UserError(f"--env-python {python}: what it answers is {error}") from None
        finally:
            timer.cancel()
            child.close()
    if kind != "done":
        raise UserError(str(told))
    answer: bytes = told
    return answer
