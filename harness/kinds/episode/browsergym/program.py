"""The other side, `gym_worker`, under the Python that BrowserGym is installed in."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.processes import ChildEnded, Command, Pool
from harness.errors import UserError
from harness.kinds.episode.browsergym import answers
from harness.kinds.episode.browsergym.acting import calls_of
from harness.kinds.episode.browsergym.suites import Suite
from harness.live.acting import NotDone
from harness.live.chromium import chromium, launching, scratch
from harness.live.snapshot import LIMITS, finding

CORE = ("browsergym-core", "playwright")
# At the end of the path: nothing of BrowserGym's environment is to be replaced.
START = "import sys; sys.path.append(sys.argv[1]); from gym_worker.main import main; main()"
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
        return Command((self.python, "-I", "-c", START, str(Path(__file__).parent)))

    def message(self, action: Mapping[str, Any]) -> tuple[str, Any]:
        try:
            calls = calls_of(action, self.size)
        except NotDone as reason:
            return "refuse", str(reason)
        if action.get("name") == "TYPE" and action.get("element") is None:
            return "type", (action["point"], calls)
        return "act", calls

    def read(self, line: bytes) -> tuple[str, Any]:
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
    """Return the system's Chromium where it can replace Playwright's own browsers."""
    return chromium() if sys.platform.startswith("linux") else None


def options_of(suite: Suite) -> dict[str, Any]:
    """Return the first message to the other side."""
    path = stand_in()
    return {
        "suite": suite.name,
        "module": suite.module,
        "packages": [*CORE, *suite.packages],
        "needed": [*suite.sites, *suite.needed],
        "limits": dict(LIMITS),
        "fields": finding(),
        "launcher": None if path is None else launching(path),
    }


def ask(
    python: str, suite: Suite, verb: str, given: object = None, *, limit_s: float = LIMIT_S
) -> bytes:
    """Ask something outside of an episode, and return the answer as JSON. Raises `UserError`."""
    with (
        scratch() as folder,
        Pool(
            Gym(python, (0, 0)).program,
            1,
            name="browsergym",
            first=options_of(suite),
            environment={"TMPDIR": str(folder)},
        ) as pool,
    ):
        asked = pool.threads.submit(pool.ask, (verb, given))
        try:
            kind, told = answers.outcome(asked.result(limit_s))
        except TimeoutError:
            raise UserError(f"--env-python {python}: nothing within {limit_s:g} s") from None
        except ChildEnded as error:
            raise UserError(f"--env-python {python}: {error}") from None
        except OSError as error:
            raise UserError(f"--env-python {python}: {error.strerror or error}") from None
        except ValueError as error:
            raise UserError(f"--env-python {python}: what it answers is {error}") from None
    if kind != "done":
        raise UserError(str(told))
    answer: bytes = told
    return answer
