"""`vlm-eval data record`: record a task while a person performs it in a browser."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from harness.errors import UserError
from harness.printing import say
from harness.tables import counted

if TYPE_CHECKING:
    from harness.recording.draft import Draft


@click.command(short_help="Record a task on your own site.")
@click.argument("url", required=False)
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path), help="Folder.")
@click.option("--task", default="", help="The task in one sentence. Default: asks at the end.")
@click.option("--script", metavar="FILE", help="Perform the actions of a file, without a window.")
@click.option("--resume", is_flag=True, help="Continue an interrupted recording.")
@click.option("--discard", is_flag=True, help="Delete an interrupted recording first.")
@click.option("--website", default="", help="Name of the site. Default: its host.")
@click.option("--domain", default="", help="Kind of site, as in Mind2Web.")
@click.option("--subdomain", default="", help="Finer kind of site.")
@click.option("--browser", type=click.Path(path_type=Path), help="Chromium. Default: the system's.")
def record(
    url: str | None,
    out: Path,
    task: str,
    script: str | None,
    resume: bool,
    discard: bool,
    website: str,
    domain: str,
    subdomain: str,
    browser: Path | None,
) -> int:
    """Record a task on your own site, in the format of Multimodal-Mind2Web.

    \b
    vlm-eval data record https://shop.example/ --out recorded
    vlm-eval data check recorded
    vlm-eval --model gpt-5.4 --benchmark multimodal-mind2web --data recorded

    A window of Chromium opens; your actions in it become the steps of a task. The terminal lists
    them, undoes the last one (u), hides a field or text (s), and ends the task (q). Passwords are
    always hidden. Needs Chromium and the extra record.
    """
    from harness.recording.draft import UNFINISHED, Draft
    from harness.recording.script import read_script
    from harness.recording.session import check_display, record_task

    plan = read_script(script) if script else None
    if plan is None:
        check_display()
    if resume == (url is not None):
        raise UserError("give the address of a page, or --resume and no address")
    if resume and discard:
        raise UserError("--resume goes on with what --discard deletes: give one of them")
    if resume:
        draft = Draft.resume(out)
        say(f"going on after {counted(len(draft.steps), 'step')}:")
        for line in draft.lines():
            say(line)
        if draft.begun.secrets:
            say("     (secrets are not stored: mark them again where a page repeats them)")
    first = _address(draft.begun.url if resume else str(url))
    if not resume:
        if discard:
            shutil.rmtree(out / UNFINISHED, ignore_errors=True)
        host = (urlsplit(first).hostname or "").removeprefix("www.")
        draft = Draft.begin(
            out, str(url), website=website or host, domain=domain, subdomain=subdomain
        )
    try:
        written = record_task(draft, first, plan, task, browser)
    except BaseException:
        if draft.steps:
            say(_kept(draft), err=True)
        else:
            draft.discard()
        raise
    if written is not None:
        say(f"{written}: {counted(len(draft.steps), 'step')}; in words: {written.stem}.txt")
        say(f"check it: vlm-eval data check {shlex.quote(str(out))}")
        return 0
    if draft.steps:
        say(_kept(draft), err=True)
        return 1
    return 0


def _kept(draft: Draft) -> str:
    steps = counted(len(draft.steps), "step")
    return f"{steps} in {draft.folder}: go on with --resume, or delete them with --discard"


def _address(url: str) -> str:
    """Return the full address of a page. Raises `UserError`."""
    if "://" not in url:
        url = f"{'http' if re.match(r'(localhost|[0-9.]+)(:|/|$)', url) else 'https'}://{url}"
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https", "file") and parts.port != 0
    except ValueError:
        known = False
    if not known:
        raise UserError(f"{url.rpartition('@')[2]} is not the address of a page")
    if "@" in urlsplit(url).netloc:
        raise UserError(
            "the address has a user or a password, which the recording would hold: leave them out, "
            "and sign in on the page"
        )
    return url
