"""`vlm-eval environments check`: what an environment with BrowserGym needs, and what it lacks."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from adapters.decoding import decode_json
from harness.benchmarks.episode.browsergym.program import CORE, ask, stand_in
from harness.benchmarks.episode.browsergym.suites import Suite
from harness.errors import UserError, suggestion
from harness.printing import printable, say

NEWEST = (3, 12)
"""The newest Python that BrowserGym's Playwright 1.44 can be installed under."""
PLAYWRIGHT = (1, 44)
OLDEST = (0, 14)
"""The oldest BrowserGym that was read."""

Finding = tuple[str, bool | None, str]
"""What is needed, whether it is there (None if it can be done without), and in words."""


class _Facts(msgspec.Struct):
    python: tuple[int, int, int]
    versions: dict[str, str]
    variables: dict[str, bool]
    fails: str


def how_to(suite: Suite, python: str | None = None) -> Iterator[str]:
    """The commands that make an environment, in the folder of a Python if one is given."""
    place = "~/browsergym" if python is None else _folder(Path(python))
    versions = " to ".join(map(_dotted, dict.fromkeys((suite.python, NEWEST))))
    yield f"# {suite.title}; Python {versions}"
    yield f"python{_dotted(NEWEST)} -m venv {place}"
    packages = " ".join(one for one in suite.packages or CORE[:1] if not one.startswith("lib"))
    yield f"{place}/bin/pip install {packages} playwright==1.44.0"
    for name in suite.data:
        yield f"{place}/bin/python -m nltk.downloader {name}"
    yield "apt install chromium"
    if suite.sites:
        yield f"export {' '.join(f'{name}=http://...' for name in suite.sites)}"
    own = f"browsergym:{suite.name} --data tasks.jsonl"
    tasks = own if suite.own_tasks else f"'browsergym:{suite.name}.*'"
    yield f"vlm-eval run -b {tasks} --benchmark-option env_python={place} -m gpt-5.4"


def _folder(python: Path) -> str:
    if python.parent.name == "bin":
        return shlex.quote(str(python.parent.parent))
    return "~/browsergym" if python.is_file() else shlex.quote(str(python))


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def findings(suite: Suite, python: str) -> Iterator[Finding]:
    """List what is there and what is missing. Raises `UserError` if the Python does not start."""
    variables = dict.fromkeys(suite.sites, "a site") | dict(suite.variables or {})
    told = ask(python, suite, "check", list(variables))
    try:
        facts = decode_json(told, _Facts)
    except msgspec.MsgspecError as error:
        raise UserError(f"env_python={python}: it answers otherwise: {error}") from None
    fits = suite.python <= facts.python[:2] <= NEWEST
    limits = f", and needs {_dotted(suite.python)} to {_dotted(NEWEST)}"
    yield "Python", fits, _dotted(facts.python) + ("" if fits else limits)
    for package in (*CORE, *suite.packages):
        version = facts.versions.get(package, "")
        wanted = _unfit(package, version)
        yield package, bool(version) and not wanted, f"{version}{wanted}" or "not installed"
    # BrowserGym starts two browsers, and takes no path for the second.
    path = stand_in()
    browser = f"{path} stands in for Playwright's" if path else "playwright install chromium there"
    yield "browser", True if path else None, browser
    yield "tasks", not facts.fails, facts.fails or f"{suite.module} lists them"
    for name, why in variables.items():
        there = facts.variables.get(name, False)
        absent = False if name in (*suite.sites, *suite.needed) else None
        yield name, there or absent, "set" if there else f"not set ({why})"


def _unfit(package: str, version: str) -> str:
    """Describe a wrong version: pip prefers an old BrowserGym to failing."""
    numbers = tuple(int(one) for one in re.findall(r"\d+", version)[:2])
    if package == "browsergym-core" and numbers and numbers < OLDEST:
        return f", and needs {_dotted(OLDEST)} or newer"
    if package == "playwright" and numbers and numbers != PLAYWRIGHT:
        return f", and needs {_dotted(PLAYWRIGHT)}"
    return ""


@click.command()
@click.argument("suite", metavar="browsergym|SUITE")
@click.option(
    "--env-python", metavar="PATH", help="Python of the environment; it is looked into if given."
)
def check(suite: str, env_python: str | None) -> int:
    """Say how to make an environment for a suite of BrowserGym, and what is missing in one.

    \b
    vlm-eval environments check webarena --env-python ~/browsergym

    `browsergym` represents its MiniWoB++, which needs nothing else. Nothing is installed, and no
    values of variables are printed. The exit status is 1 if something is missing.
    """
    from harness.benchmarks.episode.browsergym.program import python_at
    from harness.benchmarks.episode.browsergym.suites import SUITES

    known = {"browsergym": SUITES["miniwob"], **SUITES}
    if suite not in known:
        raise UserError(f"'{suite}' is no suite of BrowserGym; {suggestion(suite, known)}")
    for line in how_to(known[suite], env_python):
        say(line)
    if env_python is None:
        return 0
    found = list(findings(known[suite], python_at(env_python)))
    width = max(len(what) for what, _, _ in found)
    say()
    for what, there, told in found:
        state = {True: "ok", False: "missing", None: "-"}[there]
        say(f"{state:<8} {what:<{width}}  {printable(told)[:300]}")
    return int(any(there is False for _, there, _ in found))
