"""Tasks of BrowserGym as a benchmark: `browsergym:webarena.*`, or any other pattern of names.

`browsergym:openended` plays tasks of the user's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

import click
import msgspec

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.dataset import Items
from harness.benchmarks.episode.benchmark import EpisodeBenchmark
from harness.benchmarks.episode.browsergym.program import (
    CORE,
    Gym,
    installed,
    options_of,
    python_at,
)
from harness.benchmarks.episode.browsergym.suites import SUITES, Suite
from harness.benchmarks.episode.miniwob.benchmark import episode_of
from harness.benchmarks.episode.options import ForeignOptions
from harness.benchmarks.episode.task import EpisodeDetail, EpisodeTask
from harness.benchmarks.folders import decoded_text
from harness.data_files import check_splits
from harness.errors import DataError, UserError, suggestion
from harness.live.pool import TimeLimits
from harness.page import Attributes
from harness.printing import say
from harness.runs.records import Unit
from parsers.records import Prediction, Scores

NAME = "browsergym"


@dataclass(frozen=True)
class BrowserGym(EpisodeBenchmark):
    """Some tasks of a suite.

    suite: the suite.
    pattern: of the names of tasks, without the suite.
    """

    suite: Suite = SUITES["miniwob"]
    pattern: str = "*"
    guarded = False
    note = ""

    Options = ForeignOptions

    @property
    def world(self) -> Gym:
        return Gym(python_at(self.options.env_python), self.suite.viewport)

    @property
    def limits(self) -> TimeLimits:
        return self.suite.limits

    @property
    def viewport(self) -> tuple[int, int]:
        return self.suite.viewport

    @property
    def attributes(self) -> Attributes:
        return self.suite.attributes

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> Items:
        """Open the tasks that the program has installed, or those of a file of the user's."""
        check_splits(splits, self.splits, self.name)
        if data is not None and not self.suite.own_tasks:
            raise UserError(f"{self.name} has its tasks from BrowserGym: leave out --data")
        own = self.suite.own_tasks and _own_tasks(data, self.name)
        tasks, versions = installed(python_at(self.options.env_python), self.suite.name)
        if own:
            steps = self.suite.steps
            units = [self._unit(task, 0, steps, "test", asked=asked) for task, asked in own.items()]
        else:
            matching = [task for task in tasks if fnmatchcase(task, self.pattern)]
            if not matching:
                hint = suggestion(self.pattern, tasks)
                raise DataError(f"{self.suite.title} has no task '{self.pattern}'; {hint}")
            units = list(self._units(matching, splits or self.default_splits))
        return Items.of(
            units,
            origin={"origin": "local", "packages": versions},
            remarks=[f"{name} {version or '(unknown)'}" for name, version in versions.items()],
        )

    def opening(self) -> Mapping[str, Any]:
        return options_of(self.suite)

    def score(self, prediction: Prediction, detail: Any) -> Scores:
        """The measures are those of the suite."""
        scorers = self.suite.scoring.scorers.items()
        return {name: scorer(prediction, detail) for name, scorer in scorers}

    def _units(self, tasks: Sequence[str], splits: Sequence[str]) -> Iterator[Unit[Any]]:
        for task in tasks:
            split = self.suite.split_of(task)
            if split is None or split not in splits:
                continue
            steps, episodes = self.suite.lasts(task)
            for number in range(episodes):
                yield self._unit(task, number, steps, split)

    def _unit(self, task: str, number: int, steps: int, split: str, **more: Any) -> Unit[Any]:
        drawn = episode_of(self.seed, f"{self.suite.name}.{task}", number)
        begins = {"task": task, "seed": int(drawn["seed"], 16) % 2**31, **more}
        return self.unit(
            f"{task}-{number}" if self.suite.episodes > 1 else task,
            EpisodeDetail(EpisodeTask(begins, steps), {"task": task}),
            split,
            parents={"task": task},
        )


def browsergym(tasks: str = "") -> BrowserGym:
    """The benchmark of the tasks that match a pattern, such as `webarena.*` or `miniwob.click-*`.

    Raises `DataError` unless it begins with the name of a suite.
    """
    name, _, pattern = tasks.partition(".")
    suite = SUITES.get(name)
    if suite is None or suite.own_tasks == bool(pattern):
        known = ", ".join(
            f"{NAME}:{one}{'' if it.own_tasks else '.*'}" for one, it in SUITES.items()
        )
        raise DataError(f"'{NAME}:{tasks}' names no tasks of a suite: write {known}, or a part")
    splits = suite.splits or ("test",)
    whole = suite.whole if pattern == "*" and suite.whole else {}
    return BrowserGym(
        name=f"{NAME}:{tasks}",
        splits=splits,
        default_splits=splits[:1],
        sizes=tuple(SplitSize(split, *sizes) for split, sizes in whole.items()),
        declared=suite.declared,
        suite=suite,
        pattern=pattern,
    )


class _Own(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of a file of tasks."""

    goal: str
    start_url: Annotated[str, msgspec.Meta(pattern=r"^(https?|file)://\S+$")]
    id: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9._-]{1,100}$")] = ""


def _own_tasks(data: Path | None, name: str) -> dict[str, dict[str, str]]:
    """Read goals and addresses, by the ids of tasks. Raises `DataError`."""
    form = '{"goal": "...", "start_url": "https://..."}'
    if data is None:
        raise DataError(f"{name} needs tasks of yours, a line each: --data FILE with {form}")
    tasks: dict[str, dict[str, str]] = {}
    for number, own in decoded_text(data, _Own, f"; write {form}"):
        task = own.id or str(number)
        if task in tasks:
            raise DataError(f"{data}, line {number}: a second task with the id '{task}'")
        tasks[task] = {"goal": own.goal, "start_url": own.start_url}
    if not tasks:
        raise DataError(f"{data} has no tasks; write a line each: {form}")
    return tasks


NEWEST = "3.12"
"""The newest Python that BrowserGym's Playwright 1.44 can be installed under."""


@click.command()
@click.argument("suite", metavar="browsergym|SUITE")
def check(suite: str) -> int:
    """Print the commands that make an environment for a suite of BrowserGym.

    \b
    vlm-eval environments check webarena

    `browsergym` represents its MiniWoB++, which needs nothing else. Nothing is installed. What an
    environment lacks is named by the first run in it.
    """
    known = {"browsergym": SUITES["miniwob"], **SUITES}
    if suite not in known:
        raise UserError(f"'{suite}' is no suite of BrowserGym; {suggestion(suite, known)}")
    for line in _installing(known[suite]):
        say(line)
    return 0


def _installing(suite: Suite) -> Iterator[str]:
    """Write the commands that make an environment."""
    place, versions = "~/browsergym", dict.fromkeys((suite.python, NEWEST))
    yield f"# {suite.title}; Python {' to '.join(versions)}"
    yield f"python{NEWEST} -m venv {place}"
    packages = " ".join(one for one in suite.packages or CORE[:1] if not one.startswith("lib"))
    yield f"{place}/bin/pip install {packages} playwright==1.44.0"
    for name in suite.data:
        yield f"{place}/bin/python -m nltk.downloader {name}"
    yield "apt install chromium"
    if suite.sites:
        yield f"export {' '.join(f'{name}=http://...' for name in suite.sites)}"
    for name, why in (suite.variables or {}).items():
        yield f"export {name}=...    # {why}"
    own = f"browsergym:{suite.name} --data tasks.jsonl"
    tasks = own if suite.own_tasks else f"'browsergym:{suite.name}.*'"
    yield f"vlm-eval run -b {tasks} --benchmark-option env_python={place} -m gpt-5.4"
