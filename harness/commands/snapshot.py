"""`vlm-eval snapshot`: write the seeded questions to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.commands.options import (
    MESSAGES,
    SettingsCommand,
    config_option,
    read_options,
    setting_options,
)
from harness.errors import UserError
from harness.printing import say


@click.command(cls=SettingsCommand)
@config_option()
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path), help="Parquet file.")
@click.option("--overwrite", is_flag=True, help="Replace the file if it exists.")
@setting_options(
    ["model", *MESSAGES, "workers"],
    model={"help": "Size pictures for this model. Default: by the image policy alone."},
)
def snapshot(out: Path, overwrite: bool, model: str, **_: Any) -> int:
    """Write the prompts, pictures and choices of a run to a file that others can run.

    The file has the columns of rabbit's snapshot of Multimodal-Mind2Web. Run it with
    `vlm-eval --benchmark snapshot --data FILE`.
    """
    from harness.planning.plan import plan_run
    from harness.session.snapshot import write

    if out.exists() and not overwrite:
        raise UserError(f"{out} exists; name another file, or pass --overwrite")
    plan = plan_run(read_options(model=model or "oracle"), asks=False)
    for notice in plan.dataset.notices:
        say(notice, err=True)
    count = write(plan, out, overwrite=overwrite)
    size = out.stat().st_size / 1e6
    say(f"{out}: {count} steps, {size:,.1f} MB. It contains test data of a benchmark;")
    say("keep it out of places where crawlers collect text.")
    return 0
