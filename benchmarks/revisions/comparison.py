"""The two revisions side by side: carries out cases, keeps what they left, compares it."""

from __future__ import annotations

import json
import re
import shlex
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from glob import glob
from pathlib import Path
from typing import Any

from benchmarks.revisions.environments import Revision
from benchmarks.revisions.equality import Intended, Outcome, compared, left_by, results_of
from benchmarks.revisions.fake_models import FakeModels

PATIENCE_S = 600.0
ENDS = (0, 1, 3)
"""Exit codes of cases: 1 where units are left without an outcome, 3 where a batch is waited for."""


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
    different: list[str] = field(default_factory=list)
    """Every key that differs and is not meant to."""
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
        codes: list[int] = []
        printed: dict[str, Any] = {}
        for number, line in enumerate(commands, 1):
            out, err = (self.work / f"{place}-{name}-{number}.{what}" for what in ("out", "err"))
            job = {
                "arguments": self.words(folder, revision.spelled(line)),
                "folder": str(folder),
                "environment": revision.environment(f"{place}:{name}", folder),
                "out": str(out),
                "err": str(err),
            }
            with revision.forks() as carry_out:
                codes.append(carry_out(job, PATIENCE_S))
            if (document := printed_by(line, out.read_text("utf-8"))) is not None:
                printed[f"printed {number}"] = document
            if codes[-1] not in ENDS:
                said = err.read_text("utf-8").strip()[-600:]
                self.fail(f"{place} {name}", f"{' '.join(job['arguments'])}: {codes[-1]} {said}")
        received = self.models.contents[f"{place}:{name}"]
        sent = {digest: sorted(map(list, of)) for digest, of in received.items()}
        self.done[place, name] = Outcome(folder, tuple(codes), printed, sent)

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
            finished=work / "finished-prompts",
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
            say = partial(print, flush=True)
            if left := compared(f"{title} {name}", base, head, self.intended, say):
                self.unlike.append(f"{title} {name}")
                self.different += [difference.where for difference in left]
            else:
                self.equal += 1

    def fail(self, name: str, why: str) -> None:
        with self.lock:
            print(f"FAILED   {name}: {why}", flush=True)
            self.unlike.append(name)

    def each(self, names: Iterable[str], act: Callable[[str], None]) -> None:
        """Do something with each case; one that cannot be read is a failure of that case."""

        def attempt(name: str) -> None:
            try:
                act(name)
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                self.fail(name, f"{type(error).__name__}: {error}")

        for _ in self.pool.map(attempt, list(names)):
            pass


def printed_by(line: str, output: str) -> Any:
    """Extract the part of a command's output that is not wording: JSON, else numbers, or None."""
    if output.lstrip().startswith("{"):
        return json.loads(output)
    if line.startswith("show") or "--dry-run" in line:
        return {"numbers": re.findall(r"\d[\d.,]*", output)}
    return None
