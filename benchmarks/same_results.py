"""Check that two revisions give the same results: every run, table and interrupted run of theirs.

    python -m benchmarks.same_results v0.1.0               # against this working tree
    python -m benchmarks.same_results BASE HEAD --only 'openai-*' '*-families' --keep FOLDER
    python -m benchmarks.same_results BASE --results-only  # settings and files may differ
    python -m benchmarks.same_results BASE --list          # the names of all cases

Both are driven through their command lines only, against servers on this machine that answer the
same to the same request. BASE and HEAD are revisions of git or folders; HEAD is this working tree
unless given, copied as it is when the comparison begins. This interpreter runs both, unless one
declares other packages: it gets an environment of its own. Compared are

- what both wrote: runs (calls and steps by id, manifest, summary, parquet), their default names,
  and what report, compare, errors, analyse, score, list and recall print as JSON, prose aside, and
  the numbers in what show and dry runs print;
- what HEAD makes of BASE's files: complete runs started again, runs that were killed or cut off
  and are taken up, shards merged, runs scored and reported, replies from the cache.

The numbers of a summary are compared as rows, by what each is of (`revisions/rows.py`), in
whichever form either revision writes them.

With `--results-only` settings and layouts may differ between the two. Then BASE and HEAD are
compared in predictions, scores, contents of requests, replies and printed numbers, and HEAD takes
over its own files instead of BASE's, where everything is compared.

Times and the server's request ids do not count. benchmarks/same_results.toml lists options and
commands that BASE spells differently, and intended differences: each by its exact key, with its
issue. Exit status 1 for any other, or when a command fails. It takes about five minutes on two
quiet cores; with `--only` a part of that, and the runs that a case reads are made, too.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from benchmarks.revisions.cases import AGAIN, CACHED, CUT, KILLED, READS, RUNS, family_of
from benchmarks.revisions.comparison import PATIENCE_S, Comparison
from benchmarks.revisions.environments import ROOT, discard, prepared
from benchmarks.revisions.equality import CUT_TOO, FROM_CACHE, KILLED_TOO, RESUMED, Intended
from benchmarks.revisions.fake_models import FakeModels
from benchmarks.revisions.material import (
    copied,
    right_answers,
    shorten,
    write_files,
    write_predictions,
)

TABLES = Path(__file__).with_suffix(".toml")
CHECKPOINT = Path(__file__).parent / "revisions" / "tiny_checkpoint.py"


def both(comparison: Comparison, names: Iterable[str], cases: dict[str, tuple[str, ...]]) -> None:
    """The same cases by both revisions, compared."""

    def act(name: str) -> None:
        for revision in (comparison.base, comparison.head):
            if (revision.side, name) not in comparison.done:
                comparison.perform(revision, revision.side, name, cases[name])
        comparison.compare("head", name, "base = head:")

    comparison.each(names, act)


def take_over(comparison: Comparison, runs: Iterable[str], reads: Iterable[str]) -> None:
    """HEAD in a copy of the first side's folders: complete runs started again, then read."""
    runs, first = list(runs), comparison.first.side
    for name in runs:
        copied(comparison.work / first / name, comparison.work / "taken" / name)

    def again(name: str) -> None:
        comparison.perform(comparison.head, "taken", name, RUNS[name])
        comparison.compare("taken", name, f"head starts {first}'s complete run:", RESUMED)
        if calls := comparison.models.calls[f"taken:{name}"]:
            comparison.fail(f"taken {name}", f"{calls} calls for a complete run")

    def read(name: str) -> None:
        comparison.perform(comparison.head, "taken", name, READS[name])
        comparison.compare("taken", name, f"head reads {first}'s runs:", RESUMED)

    comparison.each((name for name in runs if name in AGAIN), again)
    comparison.each(reads, read)


def kill(comparison: Comparison, name: str) -> None:
    """The first side is killed after some calls of the server, HEAD goes on."""
    first = comparison.first
    for calls in KILLED[name]:
        case = f"{name}-after-{calls}-calls"
        folder = comparison.work / "killed" / case
        folder.mkdir(parents=True)
        client = f"killed:{case}"
        reached = comparison.models.hold(client, calls)
        process = subprocess.Popen(
            first.command(comparison.words(folder, first.spelled(RUNS[name][0]))),
            cwd=folder,
            env=first.environment(client, folder),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        until = time.monotonic() + PATIENCE_S
        while not reached.wait(1.0) and process.poll() is None and time.monotonic() < until:
            pass
        if not reached.is_set():
            comparison.fail(case, f"{first.side} did not make its call {calls + 1}")
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        shutil.rmtree(folder / "cache", ignore_errors=True)
        comparison.perform(comparison.head, "resumed", case, ())
        shutil.rmtree(comparison.work / "resumed" / case)
        folder.rename(comparison.work / "resumed" / case)
        comparison.perform(comparison.head, "resumed", case, RUNS[name])
        title = f"head resumes {first.side}'s killed run:"
        comparison.compare("resumed", case, title, KILLED_TOO, of=name)


def cut(comparison: Comparison, name: str) -> None:
    """The journals of a run of the first side end too early, within a line; HEAD goes on."""
    first = comparison.first.side
    for kept in (0.0, 0.5, 1.0):
        case = f"{name}-cut-at-{kept:.0%}"
        folder = comparison.work / "resumed" / case
        copied(comparison.work / first / name, folder)
        (run,) = (folder / "runs").iterdir()
        shorten(run, kept)
        comparison.perform(comparison.head, "resumed", case, RUNS[name])
        comparison.compare("resumed", case, f"head resumes {first}'s cut run:", CUT_TOO, of=name)


def use_cache(comparison: Comparison, name: str) -> None:
    """HEAD makes a run anew with the first side's replies in the cache: only the call is left that
    says who answers."""
    first = comparison.first.side
    folder = comparison.work / "cached" / name
    folder.mkdir(parents=True)
    shutil.copytree(comparison.work / first / name / "cache", folder / "cache")
    comparison.perform(comparison.head, "cached", name, [f"{RUNS[name][0]} --cache"])
    comparison.compare("cached", name, f"head with {first}'s cache:", FROM_CACHE)
    if (calls := comparison.models.calls[f"cached:{name}"]) != 1:
        comparison.fail(
            f"cached {name}", f"{calls} calls, not one, although all replies were in the cache"
        )


def needed_by(read: str) -> set[str]:
    """The runs that a case reads."""
    patterns = re.findall(r"\.\./([^/ ]+)/runs", " ".join(READS[read]))
    return {run for run in RUNS for pattern in patterns if fnmatchcase(run, pattern)}


def compare_all(comparison: Comparison, only: list[str]) -> None:
    """All parts, or those whose names match one of the patterns."""

    def chosen(names: Iterable[str]) -> list[str]:
        return [name for name in names if any(fnmatchcase(name, pattern) for pattern in only)]

    reads = chosen(READS)
    runs = set(chosen(RUNS)).union(*map(needed_by, reads))
    if "score-predictions" in reads:
        runs.add("lexical")
    write_files(comparison.work)
    asked = {name for name in runs if not name.startswith(("oracle", "random", "lexical"))}
    families = set(map(family_of, asked))
    oracles = [name for name in RUNS if name in {f"oracle-{family}" for family in families}]
    comparison.each(
        oracles, lambda name: comparison.perform(comparison.base, "base", name, RUNS[name])
    )
    comparison.models.book, comparison.models.spoken = right_answers(comparison.work / "base")
    if "tiny" in runs:
        build = [str(comparison.base.python), "-P", str(CHECKPOINT), str(comparison.work / "tiny")]
        subprocess.run(build, check=True, capture_output=True)
    ordered = [name for name in RUNS if name in runs]
    both(comparison, ordered, dict(RUNS))
    if "score-predictions" in reads:
        (run,) = comparison.work.glob("base/lexical/runs/*")
        write_predictions(run, comparison.work / "predictions.jsonl")
    both(comparison, reads, dict(READS))
    take_over(comparison, ordered, reads)
    comparison.each(chosen(KILLED), partial(kill, comparison))
    comparison.each(chosen(CUT), partial(cut, comparison))
    comparison.each(chosen(CACHED), partial(use_cache, comparison))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("base", help="revision of git, or a folder with a source tree")
    parser.add_argument("head", nargs="?", default=str(ROOT), help="default: this working tree")
    parser.add_argument("--base-python", type=Path, help="the interpreter that runs BASE")
    parser.add_argument("--head-python", type=Path)
    parser.add_argument("--results-only", action="store_true", help="not settings and layouts")
    parser.add_argument("--only", nargs="+", default=["*"], help="names or patterns of cases")
    parser.add_argument("--list", action="store_true", help="print the names of all cases")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once")
    parser.add_argument("--keep", type=Path, help="work in this empty folder and keep it")
    parser.add_argument("--differences", type=Path, help="write the keys that differ to this file")
    return parser.parse_args()


@contextlib.contextmanager
def working_folder(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="same-results-") as name:
            yield Path(name)
        return
    keep.mkdir(parents=True, exist_ok=True)
    if any(keep.iterdir()):
        sys.exit(f"{keep} is not empty")
    yield keep.resolve()


def main() -> int:
    options = arguments()
    if options.list:
        print("\n".join([*RUNS, *READS]))
        return 0
    tables = tomllib.loads(TABLES.read_text("utf-8"))
    try:
        intended = Intended.of(tables.get("intended", ()))
    except ValueError as error:
        sys.exit(f"{TABLES.name}: {error}")
    spelled = tables.get("spelled", ())
    with working_folder(options.keep) as work:
        try:
            base = prepared("base", options.base, options.base_python, work, spelled)
            head = prepared("head", options.head, options.head_python, work)
            with FakeModels() as models, ThreadPoolExecutor(options.jobs) as pool:
                comparison = Comparison(
                    base, head, models, work, pool, intended, options.results_only
                )
                compare_all(comparison, options.only)
                base.close()
                head.close()
        finally:
            discard(work)
    for key in sorted(set(intended.reasons) - intended.met if options.only == ["*"] else ()):
        print(f"not met: {key}")
    if options.differences:
        options.differences.write_text("".join(f"{key}\n" for key in comparison.different))
    print(f"{comparison.equal} comparisons equal, {len(comparison.unlike)} not")
    return 1 if comparison.unlike else 0


if __name__ == "__main__":
    sys.exit(main())
