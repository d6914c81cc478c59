"""Check that two revisions give the same results: every run, table and interrupted run of theirs.

    python benchmarks/same_results.py v0.1.0                   # against this working tree
    python benchmarks/same_results.py BASE HEAD --only 'openai-*' --keep FOLDER
    python benchmarks/same_results.py ../base --base-python ../base/.venv/bin/python \\
        --head-python .venv/bin/python                         # no environments to be made
    python benchmarks/same_results.py BASE --results-only      # settings and files may differ

Both are driven through their command lines only, in separate environments, against servers on
this machine that answer the same to the same request. BASE and HEAD are revisions of git or
folders; HEAD is this working tree unless given. Compared are

- what both wrote: runs (calls and steps by id, manifest, summary, parquet), their default names,
  and what report, compare, errors, analyse, score and recall print as JSON, prose aside, and the
  numbers in what show and dry runs print;
- what HEAD makes of BASE's files: complete runs started again, runs that were killed or cut off
  and are taken up, shards merged, runs scored and reported, replies from the cache.

With `--results-only` settings and layouts may differ between the two. Then BASE and HEAD are
compared in predictions, scores, contents of requests, replies and printed numbers, and HEAD takes
over its own files instead of BASE's, where everything is compared.

Times and the server's request ids do not count. benchmarks/same_results.toml lists options and
commands that BASE spells differently, and intended differences with their reasons. Exit status 1
for any other, or when a command fails. It takes about five minutes on two cores, a part of that
with `--only`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from glob import glob
from pathlib import Path
from typing import Any

from benchmarks.revisions.cases import CACHED, CUT, KILLED, READS, RUNS
from benchmarks.revisions.environments import ROOT, Revision, discard, prepared
from benchmarks.revisions.equality import (
    CUT_TOO,
    FROM_CACHE,
    KILLED_TOO,
    RESUMED,
    Intended,
    Outcome,
    compared,
    left_by,
    results_of,
)
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
PATIENCE_S = 300.0


@dataclass(slots=True)
class Comparison:
    """The two revisions, the server, and the working folder."""

    base: Revision
    head: Revision
    models: FakeModels
    work: Path
    pool: ThreadPoolExecutor
    intended: Intended
    results_only: bool = False
    done: dict[tuple[str, str], Outcome] = field(default_factory=dict)
    """By the place (a folder of `work`) and the name of the case."""
    unlike: list[str] = field(default_factory=list)
    equal: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def first(self) -> Revision:
        """The side whose files HEAD takes over."""
        return self.head if self.results_only else self.base

    def perform(self, revision: Revision, place: str, name: str, commands: Sequence[str]) -> None:
        """Carry out a case in `<work>/<place>/<name>`."""
        folder = self.work / place / name
        folder.mkdir(parents=True, exist_ok=True)
        calls = [
            subprocess.run(
                revision.command(self.words(folder, revision.spelled(line))),
                cwd=folder,
                env=revision.environment(f"{place}:{name}", folder),
                capture_output=True,
                text=True,
            )
            for line in commands
        ]
        printed = {
            f"printed {number}": document
            for number, (line, call) in enumerate(zip(commands, calls, strict=True), 1)
            if (document := printed_by(line, call.stdout)) is not None
        }
        codes = tuple(call.returncode for call in calls)
        sent = self.models.contents[f"{place}:{name}"]
        self.done[place, name] = Outcome(folder, codes, printed, sent)
        for call in calls:
            if call.returncode not in (0, 1):
                words = " ".join(call.args[3:])
                self.fail(f"{place} {name}", f"{words}: {call.stderr.strip()[-600:]}")

    def words(self, folder: Path, line: str) -> list[str]:
        """A command line's words, with addresses and patterns of paths filled in."""
        url, work = self.models.url, self.work
        filled = line.format(
            openai=f"{url}/v1",
            anthropic=url,
            google=url,
            tiny=work / "tiny",
            predictions=work / "predictions.jsonl",
            script=work / "script.jsonl",
            **{name: work / f"{name}.toml" for name in ("config", "prices", "prompts")},
        )
        words: list[str] = []
        for word in shlex.split(filled):
            # Path.glob does not walk through "..".
            found = sorted(glob(word, root_dir=folder)) if "*" in word else [word]  # noqa: PTH207
            words.extend(found)
        return words

    def compare(
        self, place: str, name: str, title: str, ignored: frozenset[str] = frozenset(), of: str = ""
    ) -> None:
        """Compare what a case, or the case `of`, left at first with what is in `place`."""
        if self.results_only and place == "head":
            base, head = (results_of(self.done[side, name]) for side in ("base", "head"))
        else:
            base = left_by(self.done[self.first.side, of or name], ignored)
            head = left_by(self.done[place, name], ignored)
        with self.lock:
            if compared(f"{title} {name}", base, head, self.intended, partial(print, flush=True)):
                self.equal += 1
            else:
                self.unlike.append(f"{title} {name}")

    def fail(self, name: str, why: str) -> None:
        with self.lock:
            print(f"FAILED   {name}: {why}", flush=True)
            self.unlike.append(name)

    def each(self, names: Iterable[str], act: Callable[[str], None]) -> None:
        for _ in self.pool.map(act, list(names)):
            pass


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

    def again(name: str) -> None:
        copied(comparison.work / first / name, comparison.work / "taken" / name)
        comparison.perform(comparison.head, "taken", name, RUNS[name])
        comparison.compare("taken", name, f"head starts {first}'s complete run:", RESUMED)
        if calls := comparison.models.calls[f"taken:{name}"]:
            comparison.fail(f"taken {name}", f"{calls} calls for a complete run")

    def read(name: str) -> None:
        comparison.perform(comparison.head, "taken", name, READS[name])
        comparison.compare("taken", name, f"head reads {first}'s runs:", RESUMED)

    comparison.each((name for name in runs if name != "snapshot"), again)
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
        if not reached.wait(PATIENCE_S):
            comparison.fail(case, f"{first.side} did not make its call {calls + 1}")
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
    comparison.perform(comparison.head, "cached", name, [f"{RUNS[name][0]} --cache --preflight"])
    comparison.compare("cached", name, f"head with {first}'s cache:", FROM_CACHE)
    if (calls := comparison.models.calls[f"cached:{name}"]) != 1:
        comparison.fail(
            f"cached {name}", f"{calls} calls, not one, although all replies were in the cache"
        )


def printed_by(line: str, output: str) -> Any:
    """Extract the part of a command's output that is not wording: JSON, else numbers, or None."""
    if output.lstrip().startswith("{"):
        return json.loads(output)
    if line.startswith("show") or "--dry-run" in line:
        return {"numbers": re.findall(r"\d[\d.,]*", output)}
    return None


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
    if runs - {name for name in runs if name.startswith(("oracle", "random", "lexical"))}:
        oracles = [name for name in RUNS if name.startswith("oracle-")]
        comparison.each(
            oracles, lambda name: comparison.perform(comparison.base, "base", name, RUNS[name])
        )
        comparison.models.book.update(right_answers(comparison.work / "base"))
    if "tiny" in runs:
        build = [str(comparison.base.python), str(CHECKPOINT), str(comparison.work / "tiny")]
        subprocess.run(build, check=True, capture_output=True)
    write_files(comparison.work)
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
    parser.add_argument("--base-python", type=Path, help="instead of an environment made for it")
    parser.add_argument("--head-python", type=Path)
    parser.add_argument("--results-only", action="store_true", help="not settings and layouts")
    parser.add_argument("--only", nargs="+", default=["*"], help="names or patterns of cases")
    parser.add_argument("--list", action="store_true", help="print the names of all cases")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once")
    parser.add_argument("--keep", type=Path, help="work in this empty folder and keep it")
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
    intended = Intended.of(tables.get("intended", ()))
    spellings = {table["head"]: table["base"] for table in tables.get("spelled", ())}
    with working_folder(options.keep) as work:
        try:
            base = prepared("base", options.base, options.base_python, work, spellings)
            head = prepared("head", options.head, options.head_python, work)
            with FakeModels() as models, ThreadPoolExecutor(options.jobs) as pool:
                comparison = Comparison(
                    base, head, models, work, pool, intended, options.results_only
                )
                compare_all(comparison, options.only)
        finally:
            discard(work)
    for pattern in sorted(set(intended.reasons) - intended.met if options.only == ["*"] else ()):
        print(f"not met: {pattern}")
    print(f"{comparison.equal} comparisons equal, {len(comparison.unlike)} not")
    return 1 if comparison.unlike else 0


if __name__ == "__main__":
    sys.exit(main())
