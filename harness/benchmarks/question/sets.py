"""Published sets of questions: what their rows become; WebSRC and ScreenQA.

WebSRC (Chen et al. 2021), with pictures only, asks about the pages of ten sites. ScreenQA-Short and
-Complex (Hsiao et al. 2022; Baechler et al. 2024) ask about screens of phones, and may have no
answer. Both are scored by their official code, and over sets of words and marks as lmms-eval does.

Version 1.2 of ScreenQA (July 2024) is a JSON file next to Rico's pictures; the copy on the hub is
of April 2024. They are two splits, so a run says which it is of, and runs on both share no
question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.folders import Folder, RowAddress
from harness.benchmarks.picture_sets import PictureBenchmark
from harness.benchmarks.question.benchmark import QuestionBenchmark
from harness.benchmarks.question.folder import DECLINE, OPEN, Template
from harness.errors import DataError
from harness.parquet import column_names, opened, require, small_columns
from harness.runs.records import Unit
from parsers.declaration import Declaration, Group, Level, Measure
from parsers.question import KIND, SPACE, Asked, QuestionDetail, Right, text_of
from parsers.question.metrics import f1_sets, screenqa, websrc_exact, websrc_f1, websrc_plain
from parsers.records import Prediction, Scores


class PublishedQuestion(NamedTuple):
    """A question of a published file.

    where: file and place, for messages.
    picture: its name in the folder.
    """

    where: str
    id: str
    asked: Asked
    gold: Right
    picture: str
    parents: Mapping[str, str]
    labels: Mapping[str, str] = {}


@dataclass(frozen=True)
class QuestionSet(PictureBenchmark, QuestionBenchmark):
    """Questions about one picture each."""

    files: tuple[str, ...] = ("*{split}*.parquet",)
    folders: tuple[str, ...] = ("images", "")
    protocol = "question"

    @property
    def whole(self) -> str:
        return self.declared.innermost.name

    def units(
        self, read: Mapping[str, Sequence[PublishedQuestion]], folder: Folder
    ) -> Iterator[tuple[Unit[Any], str]]:
        """Yield the questions."""
        for split, rows in read.items():
            for row in rows:
                unit = self.unit(
                    row.id,
                    QuestionDetail(asked=row.asked, gold=row.gold),
                    split,
                    parents=row.parents,
                    labels=row.labels,
                    goal=row.asked.question,
                    source=row.where,
                )
                yield unit, row.picture

    def tables(
        self,
        folder: Folder,
        pattern: str,
        what: str,
        needed: Sequence[str],
        more: Sequence[str] = (),
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the place of each row of some tables, which is its picture's name, and its columns.

        Raises `DataError`.
        """
        for file in folder.files(pattern, what):
            with opened(file.path) as table:
                present = column_names(table)
                require(file.path, present, needed, self.name)
                columns = [*needed, *(one for one in more if one in present)]
                for number, row in enumerate(small_columns(table, columns), 1):
                    group, offset, record = row
                    where = f"{file.name}, row {number}"
                    folder.stored[where] = RowAddress(file.path, group, offset)
                    yield where, record


def texts(value: object, where: str, what: str) -> tuple[str, ...]:
    """Return a text or a list of texts as texts. Raises `DataError` for anything else."""
    listed = list(value) if isinstance(value, (list, tuple)) else [value]
    found = tuple(one for one in listed if isinstance(one, str))
    if not listed or len(found) < len(listed):
        raise DataError(f"{where}: {what} is neither a text nor a list of texts")
    return found


def _asked(question: object, where: str, words: Template, no_answer: str = "") -> Asked:
    """Return a question in the words of its set. Raises `DataError` for none."""
    if not isinstance(question, str) or not question.strip():
        raise DataError(f"{where}: no question")
    values = {"hint": "", "question": question, "no_answer": no_answer}
    return Asked(prompt=words.fill(values), question=question, no_answer=no_answer)


MEASURES = (
    Measure(
        "f1", "F1", "overlap of words (SQuAD), official", main=True, averages=("micro", "macro")
    ),
    Measure("exact", "exact", "the same words (SQuAD), official", averages=("micro",)),
    Measure(
        "f1-sets",
        "f1-sets",
        "overlap of words and marks as sets (lmms-eval, MultiUI)",
        averages=("micro",),
    ),
)
_OF_PAGES = Declaration(
    measures=MEASURES,
    levels=(
        Level("page", extent="pages of these sites"),
        Level("website", "site", "sites", extent="sites of the same kind"),
    ),
    groups=(Group("split", "the split", whole="website"), Group("domain", "what sites are about")),
    clusters=("website", "page"),
    kind=KIND,
    actions=SPACE,
)
_WORDS = Template(OPEN.replace("{decline}", ""))


@dataclass(frozen=True)
class WebSRC(QuestionSet):
    """Questions about pages; a site is two letters of its domain and two digits of its pages."""

    name: str = "websrc"
    splits: tuple[str, ...] = ("dev", "train")
    default_splits: tuple[str, ...] = ("dev",)
    sizes: tuple[SplitSize, ...] = (
        SplitSize("dev", None, 52_826),
        SplitSize("train", None, 307_315),
    )
    declared: Declaration = _OF_PAGES
    repo: str = "rootsautomation/websrc"

    def rows(self, folder: Folder, split: str) -> Iterator[PublishedQuestion]:
        needed = ("domain", "page_id", "question", "answer")
        found = self.tables(folder, f"**/*{split}*.parquet", f"the questions of {split}", needed)
        for number, (where, record) in enumerate(found):
            domain, page = str(record["domain"]), str(record["page_id"]).zfill(7)
            site = f"{domain[:2]}{page[:2]}"
            yield PublishedQuestion(
                where,
                f"{split}_{number}",
                _asked(record["question"], where, _WORDS),
                Right(answers=texts(record["answer"], where, "answer")),
                where,
                {"page": f"{site}-{page}", "website": site},
                {"domain": domain},
            )

    def score(self, prediction: Prediction, detail: QuestionDetail) -> Scores:
        """Return both measures of the official code, and F1 over sets."""
        said = text_of(prediction)
        golds = detail.gold.answers if said is not None else ()
        return {
            "f1": max((websrc_f1(one, said or "") for one in golds), default=0.0),
            "exact": max((websrc_exact(one, said or "") for one in golds), default=0.0),
            "f1-sets": max((f1_sets(one, said or "") for one in golds), default=0.0),
        }


WEBSRC = WebSRC()
NO_ANSWER = "<no answer>"
HUB = "test-2024-04"
"""The test split before version 1.2."""
_OF_SCREENS = Declaration(
    measures=MEASURES,
    levels=(Level("screen", extent="screens of the same kind"),),
    groups=(Group("split", "the split", whole="screen"),),
    kind=KIND,
    actions=SPACE,
)
_DECLINING = Template(OPEN.replace("{decline}", DECLINE))


class _Stored(msgspec.Struct, frozen=True):
    """A row of the JSON files."""

    image_id: int
    question: str
    ground_truth: list[str]


@dataclass(frozen=True)
class ScreenQA(QuestionSet):
    """Questions with several right answers; the marker says that the screen has none.

    json: the files of version 1.2, by split; the other splits are tables on the hub.
    """

    name: str = "screenqa-short"
    splits: tuple[str, ...] = (HUB, "test", "validation")
    default_splits: tuple[str, ...] = (HUB,)
    sizes: tuple[SplitSize, ...] = (
        SplitSize(HUB, None, 8_427),
        SplitSize("test", 3_489, 8_419),
        SplitSize("validation", None, 8_614),
    )
    declared: Declaration = _OF_SCREENS
    repo: str = "rootsautomation/RICO-ScreenQA-Short"
    files: tuple[str, ...] = ("*test*.parquet",)
    folders: tuple[str, ...] = ("images", "combined", "")
    json: Mapping[str, str] = field(
        default_factory=lambda: {"test": "test.json", "validation": "validation.json"}
    )

    def folder(self, data: Path | None, splits: Sequence[str] = ()) -> Folder:
        lacking = [one for one in splits if one in self.json]
        if data is None and lacking:
            raise DataError(
                f"{self.name}, {lacking[0]} is on no hub: give a folder with its files with --data "
                "(docs/questions.md)"
            )
        return super().folder(data, splits)

    def rows(self, folder: Folder, split: str) -> Iterator[PublishedQuestion]:
        what = f"the questions of {split}"
        if split in self.json:
            for file, number, stored in folder.json(self.json[split], what, _Stored):
                where, screen = f"{file.name}, row {number + 1}", str(stored.image_id)
                id, picture, golds = f"{split}_{number}", f"{screen}.jpg", stored.ground_truth
                yield _row(where, id, stored.question, golds, screen, picture)
            return
        needed = ("screen_id", "question", "ground_truth")
        found = self.tables(folder, "**/*test*.parquet", what, needed)
        for number, (where, one) in enumerate(found):
            right, screen = texts(one["ground_truth"], where, "ground_truth"), str(one["screen_id"])
            yield _row(where, f"{split}_{number}", one["question"], right, screen, where)

    def score(self, prediction: Prediction, detail: QuestionDetail) -> Scores:
        """Return both measures of the official code, and F1 over sets."""
        said, right = text_of(prediction), detail.gold
        if said is None:
            return {"f1": 0.0, "exact": 0.0, "f1-sets": 0.0}
        golds = (*right.answers, *((NO_ANSWER,) if right.unanswerable else ()))
        exact, f1 = screenqa(golds, said, NO_ANSWER)
        return {"f1": f1, "exact": exact, "f1-sets": max(f1_sets(one, said) for one in golds)}


def _row(
    where: str, id: str, question: object, golds: Sequence[str], screen: str, picture: str
) -> PublishedQuestion:
    asked = _asked(question, where, _DECLINING, NO_ANSWER)
    if not golds:
        raise DataError(f"{where}: no right answer")
    # Those without words, which official F1 never finds, come last: the oracle gives the first.
    answers = tuple(
        sorted((one for one in golds if one != NO_ANSWER), key=lambda one: not websrc_plain(one))
    )
    gold = Right(answers=answers, unanswerable=len(answers) < len(golds), no_answer=NO_ANSWER)
    return PublishedQuestion(where, id, asked, gold, picture, {"screen": screen})


SHORT = ScreenQA()
COMPLEX = ScreenQA(
    name="screenqa-complex",
    splits=("test",),
    default_splits=("test",),
    sizes=(SplitSize("test", None, 11_781),),
    repo="rootsautomation/RICO-ScreenQA-Complex",
    json={},
)
