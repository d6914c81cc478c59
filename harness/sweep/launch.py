"""`vlm-eval launch`: a script that runs the shards of a run on many machines, and merges them.

It relies on a run directory being its own checkpoint: whatever ends a shard, the same line goes on
with it. Every word in it is quoted; nothing is submitted here.
"""

from __future__ import annotations

import contextlib
import math
import shlex
from collections.abc import Sequence

import click
from click.core import ParameterSource

from adapters import resolve
from adapters.registry import UnknownName
from adapters.secrets import masked
from harness import __version__
from harness.commands.options import is_given, read_options, require
from harness.commands.run import describes_several, run
from harness.errors import UserError
from harness.planning.model import at_own_server, open_model
from harness.planning.spending import is_agreed
from harness.policies import is_policy
from harness.printing import say
from harness.settings import FIELDS, Settings, written


@click.command()
@click.argument("options", nargs=-1, metavar="-- RUN OPTIONS")
@click.option("--shards", type=click.IntRange(1), required=True, help="Shards.", metavar="N")
@click.option(
    "--gpus",
    type=click.IntRange(0),
    metavar="N",
    help="GPUs of each shard.  [default: 1 for a model on this machine or --with-server, else 0]",
)
def launch(options: tuple[str, ...], shards: int, gpus: int | None) -> None:
    """Print a script that runs the shards of a run on many machines, and merges them.

    Nothing is submitted. Options after -- are those of `vlm-eval run`; --out names the folder of
    all shards, on a file system that all machines share.

    \b
    Example, for Slurm (elsewhere: `bash job 1`, `bash job 2`, ..., and `bash job merge`):
      vlm-eval launch --shards 8 -- --model gpt-5.4 --max-cost 400 --out runs/gpt-5.4 > job
      bash job
    """
    settings = _read(list(options))
    runs_here = _runs_here(settings)
    if gpus is None:
        gpus = int(runs_here or settings.with_server is not None)
    say(_script(options, settings, shards, gpus), nl=False)


def _read(options: list[str]) -> Settings:
    """Read the settings of the run. Raises `UserError` and click's errors."""
    with run.make_context("run", options) as context:
        if describes_several(context):
            raise UserError("launch is for one run: name one model and benchmark, without lists")
        require("model", unless="redo_from")
        if context.params["dry_run"] or context.params["status"]:
            raise UserError("launch is for runs: leave out --dry-run and --status")
        if is_given(context, "shard"):
            raise UserError("launch gives every task its shard: leave out --shard")
        settings = at_own_server(read_options())
        for name in FIELDS:
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                _refuse_secrets(name, getattr(settings, name))
    if settings.out is None:
        raise UserError("launch needs --out DIR, on a file system that all machines share")
    return settings


def _refuse_secrets(name: str, value: object) -> None:
    pairs = value if isinstance(value, tuple) else ()
    plain: dict[str, str] = dict(pair for pair in pairs if isinstance(pair, tuple))
    if masked(plain) != plain:
        raise UserError(
            f"{written(name)} holds a key, which a script would give away: put it into a --config "
            "file that only you can read"
        )


def _runs_here(settings: Settings) -> bool:
    """Return whether a shard loads its model itself. Raises `UserError` and `Fatal` for one that
    cannot be opened, and for one that costs money without a limit."""
    if not settings.model or is_policy(settings.model):
        return False
    with contextlib.suppress(UnknownName):  # `open_model` says more about it.
        if resolve(settings.model, base_url=settings.base_url).runs_here:
            return True
    model = open_model(settings, asks=False)
    if model.spends and not is_agreed(settings):
        raise UserError(
            f"calls to {model.info.name} may cost money, and no task can ask about it: say "
            "--max-cost DOLLARS, for all shards together, or --yes"
        )
    return False


def _script(options: Sequence[str], settings: Settings, shards: int, gpus: int) -> str:
    words = list(options)
    if settings.max_cost is not None:
        # Rounded down: all shards together never cost more. Of two, the last one counts.
        words += ["--max-cost", f"{math.floor(settings.max_cost / shards * 1e4) / 1e4:.4f}"]
    each = {"cpus-per-task": 4, "mem": "16G"}
    if gpus:
        each = {"gpus": gpus, "cpus-per-task": 8 * gpus, "mem": f"{64 * gpus}G"}
    needs = [f"#SBATCH --{key}={value}" for key, value in each.items()]
    head = _HEAD.format(version=__version__, shards=shards, needs="\n".join(needs))
    given = (
        f"shards={shards}\nout={shlex.quote(str(settings.out))}\noptions=({shlex.join(words)})\n"
    )
    return head + given + _BODY


_HEAD = """#!/bin/bash
# {shards} shards of a run, written by vlm-eval {version}.
#
#     bash FILE          submits an array job to Slurm, and a job after it that merges the shards
#     bash FILE 3        runs the third shard, on any machine
#     bash FILE merge    merges them
#
# The same line goes on after a failure. The folder of --out has to be on a file system that all
# machines share. Keys are not in here: they come from the environment (OPENAI_API_KEY, HF_TOKEN).
# Change the lines below: partition, account, time. The limit of time ends no shard: it gets a
# signal two minutes before, and is queued again.
#SBATCH --job-name=vlm-eval
#SBATCH --array=1-{shards}
#SBATCH --time=24:00:00
{needs}
#SBATCH --requeue
#SBATCH --signal=B:INT@120
#SBATCH --open-mode=append

"""

_BODY = r"""
# Runs shard $1. Leaves its exit code in $code, and what ended it early in $stopped.
shard() {
    stopped=
    # TERM ends a run as Ctrl-C does, to which shells make programs in the background deaf: calls
    # under way are finished.
    trap 'stopped=INT; kill -TERM "$run" 2>/dev/null' INT
    trap 'stopped=TERM; kill -TERM "$run" 2>/dev/null' TERM
    while :; do
        vlm-eval run "${options[@]}" --shard "$1/$shards" --out "$out/shard-$1" &
        run=$!
        await
        # 3: a provider has batches of it. Look again in ten minutes.
        if [ "$code" != 3 ] || [ -n "$stopped" ]; then break; fi
        sleep 600 &
        run=$!
        await
        if [ -n "$stopped" ]; then break; fi
    done
}

# Waits for $run, however many signals come meanwhile.
await() {
    wait "$run"; code=$?
    while kill -0 "$run" 2>/dev/null; do wait "$run"; code=$?; done
}

# Merges the shards; one that was merged before is moved aside.
merge() {
    if [ -e "$out/merged" ]; then mv "$out/merged" "$out/merged.$(date +%s)"; fi
    runs=()
    for ((number = 1; number <= shards; number++)); do runs+=("$out/shard-$number"); done
    vlm-eval merge "${runs[@]}" --out "$out/merged"
}

task=${1:-${SLURM_ARRAY_TASK_ID:-${JOB_COMPLETION_INDEX:+$((JOB_COMPLETION_INDEX + 1))}}}
if [ "$task" = merge ]; then
    merge
elif [ -z "$task" ]; then
    job=$(sbatch --parsable "$0") || exit
    again="bash $(printf %q "$(realpath "$0")") merge"
    sbatch --dependency="afterany:${job%%;*}" --job-name=vlm-eval-merge --wrap="$again"
else
    shard "$task"
    # Out of time, not out of work. Twenty times at most, should it never get anywhere.
    if [ -n "${SLURM_ARRAY_JOB_ID:-}" ] && [ "$stopped" = INT ] && [ "$code" != 0 ] &&
        [ "${SLURM_RESTART_COUNT:-0}" -lt 20 ]; then
        scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
    fi
    exit "$code"
fi
"""
