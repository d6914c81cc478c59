"""`vlm-eval check`: what an environment with BrowserGym needs, and what it lacks."""

from __future__ import annotations

import click

from harness.errors import UserError, suggestion
from harness.printing import say


@click.command()
@click.argument("suite", metavar="browsergym|SUITE")
@click.option(
    "--env-python", metavar="PATH", help="Python of the environment; it is looked into if given."
)
def check(suite: str, env_python: str | None) -> int:
    """Say how to make an environment for a suite of BrowserGym, and what is missing in one.

    \b
    vlm-eval check webarena --env-python ~/browsergym

    `browsergym` stands for its MiniWoB++, which needs nothing else. Nothing is installed, and no
    values of variables are printed. The exit status is 1 if something is missing.
    """
    from harness.kinds.episode.browsergym.check import findings, how_to, lines
    from harness.kinds.episode.browsergym.program import python_at
    from harness.kinds.episode.browsergym.suites import SUITES

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
