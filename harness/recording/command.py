"""`vlm-eval data record`: record a task while a person performs it in a browser."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from urllib.parse import urlsplit

import click

from harness.errors import UserError
from harness.printing import say
from harness.tables import counted


@click.command(short_help="Record a task on your own site.")
@click.argument("url")
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path), help="Folder.")
@click.option("--task", default="", help="The task in one sentence. Default: asks at the end.")
@click.option("--script", metavar="FILE", help="Perform the actions of a file, without a window.")
@click.option("--website", default="", help="Name of the site. Default: its host.")
@click.option("--browser", type=click.Path(path_type=Path), help="Chromium. Default: the system's.")
def record(
    url: str,
    out: Path,
    task: str,
    script: str | None,
    website: str,
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
    from harness.recording.draft import Draft
    from harness.recording.script import read_script
    from harness.recording.session import check_display, record_task

    plan = read_script(script) if script else None
    if plan is None:
        check_display()
    first = _address(url)
    draft = Draft(out, website or (urlsplit(first).hostname or "").removeprefix("www."))
    written = record_task(draft, first, plan, task, browser)
    if written is None:
        say("nothing was recorded")
        return 0
    say(f"{written}: {counted(len(draft.steps), 'step')}; in words: {written.stem}.txt")
    say(f"check it: vlm-eval data check {shlex.quote(str(out))}")
    return 0


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
    if "@" in parts.netloc:
        raise UserError(
            "the address has a user or a password, which the recording would hold: leave them out, "
            "and sign in on the page"
        )
    return url
