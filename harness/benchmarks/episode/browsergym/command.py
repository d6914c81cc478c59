"""`vlm-eval environments check`: what an environment with BrowserGym needs, and what it lacks."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is needed.

    there: whether it is there; None for what can be done without.
    told: how it is, in words.
    """

    what: str
    there: bool | None
    told: str


class _Facts(msgspec.Struct):
    python: tuple[int, int, int]
    versions: dict[str, str]
    browsers: list[str]
    installed: list[str]
    variables: dict[str, bool]
    sites: dict[str, tuple[bool, str]]
    data: dict[str, str]
    pages: str | None
    fails: str


def how_to(suite: Suite, python: str | None = None) -> Iterator[str]:
    """The commands that make an environment, in the folder of a Python if one is given."""
    place = "~/browsergym" if python is None else _folder(Path(python))
    oldest, newest = (".".join(map(str, one)) for one in (suite.python, NEWEST))
    yield f"# {suite.title}; Python {oldest if oldest == newest else f'{oldest} to {newest}'}"
    yield f"python{newest} -m venv {place}"
    packages = " ".join(one for one in suite.packages or CORE[:1] if not one.startswith("lib"))
    yield f"{place}/bin/pip install {packages} playwright==1.44.0"
    for name in suite.data:
        yield f"{place}/bin/python -m nltk.downloader {name.rpartition('/')[2]}"
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


def findings(suite: Suite, python: str) -> Iterator[Finding]:
    """List what is there and what is missing. Raises `UserError` if the Python does not start."""
    variables = suite.variables or {}
    addresses = dict.fromkeys(suite.sites, "") | {one: one for one in (suite.start,) if one}
    wanted = {"variables": list(variables), "sites": addresses, "data": suite.data}
    told = ask(python, suite, "check", wanted)
    try:
        facts = decode_json(told, _Facts)
    except msgspec.MsgspecError as error:
        raise UserError(f"env_python={python}: it answers otherwise: {error}") from None
    yield from _installed(suite, facts)
    if facts.browsers:
        yield _browser(facts)
    if suite.name == "miniwob":
        yield Finding("pages", bool(facts.pages), _told(facts.pages or "pip install miniwob"))
    for name in suite.data:
        hint = f"python -m nltk.downloader {name.rpartition('/')[2]}, or a folder in NLTK_DATA"
        yield Finding(name, bool(facts.data.get(name)), _told(facts.data.get(name) or hint))
    yield Finding("tasks", not facts.fails, _told(facts.fails or f"{suite.module} lists them"))
    for name in addresses:
        there, words = facts.sites.get(name, (False, "not set"))
        yield Finding(name, there, _told(words))
    for name, why in variables.items():
        there = facts.variables.get(name, False)
        absent = False if name in suite.needed else None
        yield Finding(name, there or absent, "set" if there else f"not set ({why})")


def _installed(suite: Suite, facts: _Facts) -> Iterator[Finding]:
    version = ".".join(map(str, facts.python))
    fits = suite.python <= facts.python[:2] <= NEWEST
    limits = " to ".join(".".join(map(str, one)) for one in dict.fromkeys((suite.python, NEWEST)))
    yield Finding("Python", fits, version if fits else f"{version}, and needs {limits}")
    for package in (*CORE, *suite.packages):
        found = _told(facts.versions.get(package, ""))
        wanted = _unfit(package, found)
        yield Finding(package, bool(found) and not wanted, f"{found}{wanted}" or "not installed")


def _unfit(package: str, version: str) -> str:
    """Describe a wrong version: pip prefers an old BrowserGym to failing."""
    numbers = tuple(int(one) for one in re.findall(r"\d+", version)[:2])
    if package == "browsergym-core" and numbers and numbers < OLDEST:
        return f", and needs {'.'.join(map(str, OLDEST))} or newer"
    if package == "playwright" and numbers and numbers != PLAYWRIGHT:
        return f", and needs {'.'.join(map(str, PLAYWRIGHT))}"
    return ""


def _browser(facts: _Facts) -> Finding:
    """BrowserGym starts two browsers, and takes no path for the second."""
    path = stand_in()
    if path is not None:
        return Finding("browser", True, f"{path} stands in for {_told(facts.browsers[0])}")
    if facts.installed:
        return Finding("browser", True, _told(facts.installed[0]))
    return Finding("browser", False, "apt install chromium, or playwright install chromium there")


def _told(text: str) -> str:
    return printable(text)[:300]


def lines(found: Sequence[Finding]) -> Iterator[str]:
    """A line for each."""
    width = max(len(one.what) for one in found)
    words = {True: "ok", False: "missing", None: "-"}
    for one in found:
        yield f"{words[one.there]:<8} {one.what:<{width}}  {one.told}"


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
    say()
    for line in lines(found):
        say(line)
    return int(any(one.there is False for one in found))
