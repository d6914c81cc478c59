"""AutoWebBench (Lai et al. 2024): finished prompts in English and Chinese, answered with a call.

A row is a prompt and the call that was recorded. Rows of one trace are adjacent and in order, but
some of a trace are absent, and nothing says where one ends. A task is a run of rows that name the
same task: 300 in all, which intervals take as clusters. A segment ends where the history starts
anew, too: 416 in all.

Every share that the baselines reach is a share that no understanding is needed for. `evade` shows
what a score is worth that leaves out rows: it gives the right click, and elsewhere an answer of
which a scorer may make nothing.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from adapters.conversation import Conversation, Reply, user
from harness.benchmarks.contract import Benchmark, SplitSize
from harness.benchmarks.dataset import Items
from harness.benchmarks.folders import decoded
from harness.benchmarks.published import fetch_released
from harness.data_files import DataFile, check_splits, fingerprint
from harness.dialogue import Ask, Dialogue
from harness.errors import DataError, UserError
from harness.policies import ItemPolicy, Secret
from harness.policies.lexical import STOP
from harness.printing import test_data_note
from harness.protocols.contract import AskingProtocol, Needs
from harness.runs.records import Unit
from harness.views import PromptView
from parsers.actions import Action
from parsers.autowebbench import WordsError, check_installed, gold_action, reference, scores
from parsers.autowebglm import FUNCTIONS, Order, read, spell
from parsers.declaration import SPLIT, Declaration, Group, Level, Measure
from parsers.records import Prediction, Scores, Status

PLACE = "answer"
CHATGLM = "Q: {}\n\nA: "
"""How ChatGLM's own code wraps a question."""


@dataclass(frozen=True)
class Verbatim(AskingProtocol):
    """One user message that is the prompt; text only."""

    wrapping: Literal["plain", "chatglm"] = "plain"
    """`chatglm` writes the prompt between `Q: ` and `A: `, as AutoWebGLM was trained with it."""
    order: Order = "position"
    """Choice among several calls: the first (`position`), or the one whose function the released
    runner looks for first (`reference`)."""

    name = "verbatim"
    View = PromptView
    paper = "Lai et al. 2024 (AutoWebGLM), AutoWebBench"
    places = (PLACE,)
    needs = Needs(pictures="none", picture_policy="none")
    actions = FUNCTIONS

    def dialogue(self, view: PromptView) -> Dialogue:
        """Send the prompt and read the call."""
        text = view.content if self.wrapping == "plain" else CHATGLM.format(view.content)
        reply = yield Ask(Conversation((user(text),)), PLACE)
        assert isinstance(reply, Reply)
        said = read(reply.text, finish=reply.finish.value, order=self.order)
        return replace(said, parsed=reference(reply.text))

    def write(self, view: PromptView, said: Prediction) -> Mapping[str, str]:
        """Spell the reply with the call; no text without an action."""
        return {PLACE: spell(said.action) if said.action else ""}


ELEMENT = re.compile(r"<\w*\[([A-Z]{1,4})\]\|([^<>]*)")
"""An element of a page that can be acted upon, with its own text."""
TASK = "\n#Task: "
WORD = re.compile(r"[a-z0-9]+|[\u3400-\u9fff]")
"""A word in small letters, or a Chinese character."""
DOWN = Action("scroll_page", arguments={"direction": "down"})


def elements(prompt: str) -> list[tuple[str, str]]:
    """The elements that the page of a prompt gives ids: id and text, in document order.

    >>> elements("< <a[AB]| Help> <p| none> <button[C]| <i| Go> > >\\n\\n#Task: x")
    [('AB', ' Help'), ('C', ' ')]
    """
    page = prompt.partition("\n\n")[0]
    return ELEMENT.findall(page)


def _answer(action: Action) -> Prediction:
    return Prediction(Status.ANSWERED, action)


def random_element(view: PromptView, chance: random.Random, secret: Secret | None) -> Prediction:
    """Click a uniformly random element; finish where the page has none."""
    found = elements(view.content)
    return _answer(Action("click", chance.choice(found)[0]) if found else Action("finish"))


def evade(view: PromptView, chance: random.Random, secret: Secret | None) -> Prediction:
    """Answer with the right click, or `finish()` where the right action is not a click."""
    gold = secret.gold if secret else None
    right = isinstance(gold, Action) and gold.name == "click"
    return _answer(gold if isinstance(gold, Action) and right else Action("finish"))


def overlapping(view: PromptView, chance: random.Random, secret: Secret | None) -> Prediction:
    """Click the element whose own text shares most words with the task, rare ones counting more
    and long texts less; of equals the first. Scroll down where none shares any."""
    found = [(one, WORD.findall(text.lower())) for one, text in elements(view.content)]
    seen = Counter(word for _, words in found for word in set(words))
    task = view.content.rpartition(TASK)[2].partition("\n\n")[0].lower()
    weights = {
        word: math.log((len(found) + 1) / seen[word])
        for word in WORD.findall(task)
        if seen[word] and word not in STOP
    }

    def points(words: list[str]) -> float:
        return sum(weights.get(word, 0.0) for word in set(words)) / math.sqrt(1 + len(words))

    best = max(found, key=lambda one: points(one[1]), default=("", []))
    return _answer(Action("click", best[0]) if points(best[1]) > 0 else DOWN)


RANDOM = ItemPolicy("random", PromptView, random_element)
LEXICAL = ItemPolicy("lexical", PromptView, overlapping)
EVADE = ItemPolicy("evade", PromptView, evade, needs_gold=True)
ALWAYS_SCROLL = ItemPolicy("always-scroll", PromptView, lambda *_: _answer(DOWN))
ALWAYS_FINISH = ItemPolicy("always-finish", PromptView, lambda *_: _answer(Action("finish")))


@dataclass(frozen=True, slots=True)
class PromptDetail:
    """The detail of a unit that is a finished prompt, answered with an action.

    asked: the prompt, in full.
    gold: the right action.
    target: the right answer as the data has it, for scorers that read it in their own way.
    """

    asked: str
    gold: Action
    target: str


PromptRecord = Unit[PromptDetail]


@dataclass(frozen=True)
class PromptBenchmark(Benchmark):
    """Finished prompts; the floor is a click on a random element."""

    View = PromptView
    Detail = PromptDetail
    protocol = "verbatim"

    def chance(self, units: Sequence[PromptRecord]) -> Iterator[Scores]:
        def scored(record: PromptRecord, action: Action) -> Scores:
            said = Prediction(Status.ANSWERED, action, parsed=reference(spell(action)))
            return self.score(said, record.detail)

        return (expected(unit, scored) for unit in units)

    def footnotes(self, *, known: bool) -> Iterator[str]:
        yield "chance: a click on a random element, expected; ceiling: the right answers."


def expected(record: PromptRecord, scored: Callable[[PromptRecord, Action], Scores]) -> Scores:
    """The scores of a click on an element of the page drawn at random, in expectation.

    All wrong clicks are assumed to score the same. Without any element, those of `finish()`.
    """
    ids = [one for one, _ in elements(record.detail.asked)]
    if not ids:
        return scored(record, Action("finish"))
    right = record.detail.gold.element
    wrong = next((one for one in ids if one != right), "")
    share = (right in ids) / len(ids)
    hit, miss = (scored(record, Action("click", one)) for one in (right or wrong, wrong or right))
    return {name: _between(share, hit[name], miss[name]) for name in hit}


def _between(share: float, hit: float | None, miss: float | None) -> float | None:
    return None if hit is None or miss is None else share * hit + (1 - share) * miss


REPO = "THUDM/AutoWebGLM"
COMMIT = "eb8524e55cc3fac44625496e895e4044cea81fba"
ADDRESS = f"https://raw.githubusercontent.com/{REPO}/{COMMIT}/autowebbench"
"""The data is released in the repository of the paper, and on no hub."""
OTHERWISE = (
    f"download the folder autowebbench of https://github.com/{REPO} where there is a network, and "
    "give it with --data"
)
DIGESTS = {
    "en-ind": "10fe4c28374cb21e44dd976a71049921b474bd8ad834b284a0a8d8ee76cc248c",
    "en-ood": "011c6342beebb22d450faa67a3d79fb4e17c5b733a549dc2a72d0c630ff17e06",
    "zh-ind": "d0e1693642aa5d06b6773a889f4bf4c56e39b624f807395b8eb41195b6f5504e",
    "zh-ood": "3c95df1a4ea2157dd190545c0c27d2525e62e374ac8b02fc9a0a8b56049a3f5a",
}
"""The SHA-256 of the file of each split."""

DECLARED = Declaration(
    measures=(
        Measure("awb.step_success", "Step SR", "step success", main=True, averages=("micro",)),
        Measure(
            "awb.element_step",
            "Ele. step",
            "function and element right, whatever the argument",
            averages=("micro",),
        ),
        Measure(
            "awb.text_overlap", "Text F1", "words of an answer to the user", averages=("micro",)
        ),
        *(
            Measure(
                f"awb_ref.{name}",
                f"Ref. {name}",
                f"`{name}` of the released script",
                averages=("micro",),
            )
            for name in ("all", "type", "label", "param")
        ),
        Measure(
            "awb_ref.raises",
            "Ref. raises",
            "rows left out by an exception of the script",
            averages=(),
        ),
        Measure(
            "awb_ref.aborts", "Ref. aborts", "rows at which the script would abort", averages=()
        ),
    ),
    levels=(Level("task", extent="tasks on these sites"),),
    groups=(
        Group(SPLIT, "the split", whole="task"),
        Group("language", "the language of the page and the task", whole="task"),
        Group("domain", "ind: sites as in training; ood: sites of other domains", whole="task"),
        Group("function", "the function of the right call"),
        Group("history", "whether the prompt shows previous commands"),
    ),
    kind="prompt",
    unit="row",
    units="rows",
    actions=FUNCTIONS,
)


@dataclass(frozen=True)
class AutoWebBench(PromptBenchmark):
    """The four released files, from the repository of the paper or from a folder."""

    name: str = "autowebbench"
    splits: tuple[str, ...] = tuple(DIGESTS)
    default_splits: tuple[str, ...] = tuple(DIGESTS)
    sizes: tuple[SplitSize, ...] = (
        SplitSize("en-ind", 78, 349),
        SplitSize("en-ood", 73, 338),
        SplitSize("zh-ind", 70, 392),
        SplitSize("zh-ood", 79, 372),
    )
    note = test_data_note("AutoWebBench is released for research purposes only")
    declared: Declaration = DECLARED

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> Items:
        """`data` is the folder that holds `en/ind/test.json` and the others.

        Files may be missing only where `splits` names those that are there.
        """
        check_splits(splits, self.splits, self.name)
        wanted = [split for split in self.splits if split in (splits or self.default_splits)]
        names = {split: _name(split) for split in wanted}
        if data is None:
            digests = {name: DIGESTS[split] for split, name in names.items()}
            folder = fetch_released(ADDRESS, digests, OTHERWISE)
            origin: dict[str, Any] = {"origin": "github", "repo": REPO, "revision": COMMIT}
        else:
            folder, origin = _folder(data, names), {"origin": "local"}
        rows = [unit for split in wanted for unit in self._units(split, folder / names[split])]
        files = [
            DataFile(path, split, name, path.stat().st_size)
            for split, name in names.items()
            for path in [folder / name]
        ]
        segments = len({row.labels["segment"] for row in rows})
        return Items.of(
            rows,
            splits=wanted,
            whole="task",
            origin={**origin, "files": fingerprint(files)},
            remarks=(f"{segments} segments, which end where the history starts anew, too",),
        )

    def holds(self, data: Path) -> bool:
        return any((data / _name(split)).is_file() for split in self.splits)

    def _units(self, split: str, path: Path) -> Iterator[Unit[Any]]:
        language, domain = split.split("-")
        labels = {"language": language, "domain": domain}
        rows = [
            self.unit(
                f"{split}-{number:04}",
                PromptDetail(row["source"], row["gold"], row["target"]),
                split,
                goal=row["task"],
                labels={**labels, "function": row["gold"].name, "history": row["history"]},
                source=f"{path.name} of {split}, row {number + 1}",
            )
            for number, row in enumerate(_rows(path))
        ]
        tasks = _runs(rows, lambda before, row: before.goal != row.goal)
        segments = _runs(
            rows, lambda before, row: before.goal != row.goal or row.labels["history"] == "none"
        )
        totals, places = Counter(tasks), Counter[int]()
        for row, task, segment in zip(rows, tasks, segments, strict=True):
            yield replace(
                row,
                parents={"task": f"{split}-task-{task:02}"},
                labels={**row.labels, "segment": f"{split}-segment-{segment:03}"},
                position=places[task],
                total=totals[task],
            )
            places[task] += 1

    def check_installed(self) -> None:
        """Raise `UserError` without jieba, which cuts texts into words."""
        try:
            check_installed()
        except WordsError as error:
            raise UserError(f"{self.name}: {error}") from error

    def score(self, prediction: Prediction, detail: PromptDetail) -> Scores:
        """`parsers.autowebbench` says what each score means."""
        return scores(prediction, detail.target)


def _name(split: str) -> str:
    """The name of a split's file: `en/ind/test.json` for `en-ind`."""
    return f"{split.replace('-', '/')}/test.json"


def _folder(data: Path, names: dict[str, str]) -> Path:
    """The folder with the files of the splits. Raises `DataError` for what is not there."""
    if not data.is_dir():
        what = "is a file" if data.exists() else "does not exist"
        raise DataError(f"{data} {what}; give the folder that holds {', '.join(names.values())}")
    folders = (data, data / "autowebbench")
    folder = max(folders, key=lambda one: sum((one / name).is_file() for name in names.values()))
    missing = [name for name in names.values() if not (folder / name).is_file()]
    there = [split for split, name in names.items() if name not in missing]
    if missing:
        asked = " ".join(f"--split {split}" for split in there)
        otherwise = f"get it, or ask for what is there: {asked}" if there else OTHERWISE
        raise DataError(f"{folder} has no {', '.join(missing)}; {otherwise}")
    return folder


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file, checked. Raises `DataError` naming the first that is not as it should."""
    content = decoded(path, list[Any])
    if not content:
        raise DataError(f"{path} should hold a list of rows")
    for number, row in enumerate(content):
        try:
            yield _row(row)
        except ValueError as error:
            raise DataError(f"{path}, row {number + 1}: {error}") from error


def _row(row: object) -> dict[str, Any]:
    """The texts of a row, its right action and what its prompt says of the task.

    Raises `ValueError` for anything but two texts, of which the first names a task and the second
    is a call.
    """
    if not isinstance(row, dict):
        raise ValueError("it is not an object with 'source' and 'target'")
    for name in ("source", "target"):
        if not isinstance(row.get(name), str) or not row[name].strip():
            raise ValueError(f"'{name}' is {'no text' if name in row else 'missing'}")
    if unknown := sorted(set(row) - {"source", "target"}):
        raise ValueError(f"it has an unknown field {unknown[0]!r}")
    before, named, task = row["source"].rpartition("\n#Task: ")
    if not named:
        raise ValueError("'source' names no task (a line that begins with '#Task: ')")
    commands = before.rpartition("\n#Previous commands:")[2].partition("\n#Window tabs:")[0]
    return {
        **row,
        "gold": gold_action(row["target"]),
        "task": task.partition("\n\n")[0].strip(),
        "history": {"None": "none", "": "empty"}.get(commands.strip(), "shown"),
    }


def _runs(rows: Sequence[Unit[Any]], begins: Callable[[Unit[Any], Unit[Any]], bool]) -> list[int]:
    """The number of the run that each row is in, from 0; `begins` says where one begins."""
    numbers = [0]
    for before, row in pairwise(rows):
        numbers.append(numbers[-1] + begins(before, row))
    return numbers


BENCHMARK = AutoWebBench(published="2024")
