"""`vlm-eval environments check`: what an environment with BrowserGym needs, and what it lacks."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click

from harness.benchmarks.episode.browsergym.benchmark import installed
from harness.benchmarks.episode.browsergym.program import CORE, python_at
from harness.benchmarks.episode.browsergym.suites import SUITES, Suite
from harness.errors import UserError, suggestion
from harness.printing import printable, say

NEWEST = (3, 12)
"""The newest Python that BrowserGym's Playwright 1.44 can be installed under."""
PLAYWRIGHT = (1, 44)
OLDEST = (0, 14)
"""The oldest BrowserGym that was read."""


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


def findings(suite: Suite, python: str) -> Iterator[tuple[str, bool | None, str]]:
    """List what is needed, whether it is there (None if it can be done without), and in words."""
    try:
        tasks, versions = installed(python, suite.name)
    except UserError as error:
        yield "tasks", False, str(error)
    else:
        for package, version in versions.items():
            wanted = _unfit(package, version)
            yield package, bool(version) and not wanted, f"{version}{wanted}" or "not installed"
        yield "tasks", True, f"{len(tasks)} in {suite.module}"
    variables = dict.fromkeys(suite.sites, "a site") | dict(suite.variables or {})
    for name, why in variables.items():
        there = bool(os.environ.get(name))
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
