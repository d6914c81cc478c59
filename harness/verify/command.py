"""`vlm-eval verify`: is this deployment sane for pictures?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.commands.options import SettingsCommand, read_options, setting_options
from harness.errors import UserError, suggestion
from harness.printing import say

_SETTINGS = (
    *("base_url", "adapter_option", "max_tokens", "temperature", "protocol_option"),
    *("concurrency", "max_cost", "prices"),
    *("benchmark", "benchmark_option", "data", "split"),
)
_AMONG = (
    *("top_p", "model_seed", "effort", "thinking_budget"),
    *("timeout_s", "attempts", "patience_s"),
)
"""Settings among the options of the model."""
_FEW = {"attempts": 3, "patience_s": 60.0}
"""Retries unless others are given: a person waits for the answer."""


def _names(context: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    from harness.verify.checks import rows

    known = rows(quick=False)
    names = tuple(name.strip() for name in (value or "").split(",") if name.strip())
    for name in names:
        if name not in known:
            raise click.BadParameter(f"'{name}' is no check: {suggestion(name, known)}")
    return names


@click.command(cls=SettingsCommand, takes=_AMONG)
@click.argument("model")
@setting_options(_SETTINGS)
@click.option("--quick", is_flag=True, help="Make 21 calls instead of 38.")
@click.option("--only", callback=_names, metavar="CHECK,...", help="Carry out these checks.")
@click.option("--skip", callback=_names, metavar="CHECK,...", help="Leave these checks out.")
@click.option("--strict", is_flag=True, help="Exit with 4 for a suspicion, too.")
@click.option("--all", "every", is_flag=True, help="List every check.")
@click.option("--json", "as_json", is_flag=True, help="Print the record as JSON.")
@click.option(
    "--checkpoint",
    metavar="FOLDER",
    help="Checkpoint whose chat template the served one is compared with (extra local).",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Write the record to this file.",
    metavar="FILE",
)
def verify(
    model: str,
    quick: bool,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    strict: bool,
    every: bool,
    as_json: bool,
    checkpoint: str | None,
    output: Path | None,
    **_: Any,
) -> int:
    """Ask a deployment some forty cheap questions: does it see pictures as a run would assume?

    \b
      vlm-eval verify Qwen/Qwen2.5-VL-7B-Instruct --base-url http://localhost:8000/v1
      vlm-eval verify gpt-5.6-sol --quick --max-cost 0.20
      vlm-eval verify hf:FOLDER --benchmark screenspot-pro --data FOLDER

    Exit codes: 0 nothing is broken, 1 not carried out to the end, 2 bad input, 4 broken, 130
    interrupted.
    """
    import asyncio

    from harness.planning.data import open_data
    from harness.planning.model import open_model
    from harness.planning.spending import check_priced
    from harness.policies import is_policy
    from harness.verify.calls import SHORT
    from harness.verify.checks import rows
    from harness.verify.declared import tokens_by_template
    from harness.verify.effect import effect_of, targets_of
    from harness.verify.facts import facts_of
    from harness.verify.probing import Verification
    from harness.verify.record import record_of, write, written
    from harness.verify.report import lines
    from harness.verify.words import overall

    settings = read_options(model=model)
    if is_policy(model):
        raise UserError(f"'{model}' is a baseline, and no deployment: name a model")
    wants = tuple(name for name in only or rows(quick) if name not in skip)
    if not wants:
        raise UserError("no check is left: name others with --only, or leave out --skip")
    targets = None
    if "benchmark" in settings.given:
        targets = targets_of(settings.benchmark, open_data(settings).part)
    template = tokens_by_template(checkpoint, SHORT) if checkpoint else None
    loaded = open_model(settings).loaded()
    if not loaded.info.runs_here:
        few = {name: value for name, value in _FEW.items() if name not in settings.given}
        settings = read_options(model=model, **few)
    if settings.max_cost is not None:
        check_priced(loaded)
    done = Verification.of(settings, loaded, wants, quick=quick, template=template)

    async def whole() -> dict[str, Any]:
        server = await facts_of(loaded.adapter)
        await done.ask(lambda line: say(line, err=True))
        return server

    server, declared = asyncio.run(whole()), done.probe.declared
    checks = done.judge.checks()
    verdict, code = overall(checks, strict=strict)
    effect = effect_of(settings.benchmark, targets, declared, checks) if targets else None
    record = record_of(done, checks, verdict, server, effect)
    path = write(record, output)
    if as_json:
        say(written(record), nl=False)
    else:
        for line in lines(checks, declared, record, every=every):
            say(line)
        say(f"record: {path}")
    return 130 if done.interrupted else 1 if done.failed else code
