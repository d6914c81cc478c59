"""ScreenQA-Short and -Complex (Hsiao et al. 2022; Baechler et al. 2024): questions about screens
of phones, which may have no answer.

Version 1.2 (July 2024) is a JSON file beside Rico's pictures; the copy on the hub is of April 2024.
They are two splits, so that a run says which it is of, and runs on both share no question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.files import DataFile
from harness.benchmarks.folders import Cell, Folder, decoded
from harness.errors import DataError
from harness.kinds.question.schema import DECLINE, OPEN, Template
from harness.kinds.question.sets import PublishedQuestions, Row, table_rows, texts
from harness.kinds.question.websrc import MEASURES
from parsers.declaration import Declaration, Group, Level
from parsers.question import KIND, SPACE, Asked, QuestionDetail, Right, text_of
from parsers.question.metrics import f1_sets, screenqa, websrc_plain
from parsers.records import Prediction, Scores

NO_ANSWER = "<no answer>"
HUB = "test-2024-04"
"""The test split as it was before version 1.2."""
DECLARED = Declaration(
    measures=MEASURES,
    levels=(Level("screen", extent="screens of the same kind"),),
    groups=(Group("split", "the split", whole="screen"),),
    kind=KIND,
    actions=SPACE,
)
WORDS = Template(OPEN.replace("{decline}", DECLINE))


class Stored(msgspec.Struct, frozen=True):
    """A row of the JSON files."""

    image_id: int
    question: str
    ground_truth: list[str]


@dataclass(frozen=True)
class ScreenQA(PublishedQuestions):
    """Questions with several right answers; the marker says that the screen has none.

    json: the files of version 1.2, by split.
    """

    name: str = "screenqa-short"
    splits: tuple[str, ...] = (HUB, "test", "validation")
    default_splits: tuple[str, ...] = (HUB,)
    sizes: tuple[SplitSize, ...] = (
        SplitSize(HUB, None, 8_427),
        SplitSize("test", 3_489, 8_419),
        SplitSize("validation", None, 8_614),
    )
    declared: Declaration = DECLARED
    repo: str = "rootsautomation/RICO-ScreenQA-Short"
    hub_splits: tuple[str, ...] = (HUB,)
    files: tuple[str, ...] = ("*test*.parquet",)
    folders: tuple[str, ...] = ("images", "combined", "")
    json: Mapping[str, str] = field(
        default_factory=lambda: {"test": "test.json", "validation": "validation.json"}
    )

    def rows(self, folder: Folder, split: str, files: list[DataFile]) -> Iterator[Row]:
        found = folder.root / self.json.get(split, "-")
        if found.is_file():
            size = found.stat().st_size
            files.append(DataFile(found, None, self.json[split], size))
            for number, row in enumerate(decoded(found, list[Stored])):
                where = f"{found.name}, row {number + 1}"
                yield _row(
                    where, f"{split}_{number}", row.question, row.ground_truth, str(row.image_id),
                    f"{row.image_id}.jpg",
                )  # fmt: skip
            return
        if split not in self.hub_splits:
            raise DataError(f"{folder.root} has no {self.json[split]}, the questions of {split}")
        number = 0
        for file in folder.files("**/*test*.parquet", f"the questions of {split}"):
            files.append(file)
            needed = ("screen_id", "question", "ground_truth")
            for where, cell, one in table_rows(file, needed, (), self.name):
                answers = texts(one["ground_truth"], where, "ground_truth")
                screen = str(one["screen_id"])
                yield _row(where, f"{split}_{number}", one["question"], answers, screen, cell)
                number += 1

    def score(self, prediction: Prediction, detail: QuestionDetail, settings: Any) -> Scores:
        """Return both measures of the official code, and F1 over sets."""
        said, right = text_of(prediction), detail.gold
        if said is None:
            return {"f1": 0.0, "exact": 0.0, "f1-sets": 0.0}
        golds = (*right.answers, *((NO_ANSWER,) if right.unanswerable else ()))
        exact, f1 = screenqa(golds, said, NO_ANSWER)
        return {"f1": f1, "exact": exact, "f1-sets": max(f1_sets(one, said) for one in golds)}


def _row(
    where: str, id: str, question: object, golds: Sequence[str], screen: str, picture: str | Cell
) -> Row:
    if not isinstance(question, str) or not question.strip():
        raise DataError(f"{where}: no question")
    if not golds:
        raise DataError(f"{where}: no right answer")
    values = {"hint": "", "question": question, "no_answer": NO_ANSWER}
    asked = Asked(prompt=WORDS.fill(values), question=question, no_answer=NO_ANSWER)
    # Those without words, which official F1 never finds, come last: the oracle gives the first.
    answers = tuple(
        sorted((one for one in golds if one != NO_ANSWER), key=lambda one: not websrc_plain(one))
    )
    gold = Right(answers=answers, unanswerable=len(answers) < len(golds), no_answer=NO_ANSWER)
    return Row(where, id, asked, gold, picture, {"screen": screen})


SHORT = ScreenQA()
COMPLEX = ScreenQA(
    name="screenqa-complex",
    splits=("test",),
    default_splits=("test",),
    sizes=(SplitSize("test", None, 11_781),),
    repo="rootsautomation/RICO-ScreenQA-Complex",
    hub_splits=("test",),
    json={"test": "data.json"},
)
