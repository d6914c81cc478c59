"""WebSRC (Chen et al. 2021) with pictures only: questions about the pages of ten sites.

Answers are scored by the official code, and over sets of words and marks as lmms-eval does.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.files import DataFile
from harness.benchmarks.folders import Cell, Folder
from harness.errors import DataError
from harness.kinds.question.schema import OPEN, Template
from harness.kinds.question.sets import PublishedQuestions, Row, table_rows, texts
from parsers.declaration import Declaration, Group, Level, Measure
from parsers.question import KIND, SPACE, Asked, QuestionDetail, Right, text_of
from parsers.question.metrics import f1_sets, websrc_exact, websrc_f1
from parsers.records import Prediction, Scores

MEASURES = (
    Measure(
        "f1",
        "F1",
        "overlap of words (SQuAD), official",
        main=True,
        binary=False,
        averages=("micro", "macro"),
        result="answer_f1",  # a setting is named f1
    ),
    Measure("exact", "exact", "the same words (SQuAD), official", averages=("micro",)),
    Measure(
        "f1-sets",
        "f1-sets",
        "overlap of words and marks as sets (lmms-eval, MultiUI)",
        binary=False,
        averages=("micro",),
    ),
)
DECLARED = Declaration(
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
WORDS = Template(OPEN.replace("{decline}", ""))


@dataclass(frozen=True)
class WebSRC(PublishedQuestions):
    """Questions about pages; a site is two letters of its domain and two digits of its pages."""

    name: str = "websrc"
    splits: tuple[str, ...] = ("dev", "train")
    default_splits: tuple[str, ...] = ("dev",)
    sizes: tuple[SplitSize, ...] = (
        SplitSize("dev", None, 52_826),
        SplitSize("train", None, 307_315),
    )
    declared: Declaration = DECLARED
    repo: str = "rootsautomation/websrc"
    hub_splits: tuple[str, ...] = ("dev", "train")

    def rows(self, folder: Folder, split: str, files: list[DataFile]) -> Iterator[Row]:
        number = 0
        for file in folder.files(f"**/*{split}*.parquet", f"the questions of {split}"):
            files.append(file)
            needed = ("domain", "page_id", "question", "answer")
            for where, cell, record in table_rows(file, needed, (), self.name):
                yield _row(where, cell, record, f"{split}_{number}")
                number += 1

    def read(self, folder: Folder, place: Cell) -> bytes:
        """Return a picture, which the table has as base64."""
        try:
            return base64.b64decode(folder.parquet(place), validate=True)
        except (ValueError, binascii.Error):
            raise DataError(f"{place.path}: a picture is no base64") from None

    def score(self, prediction: Prediction, detail: QuestionDetail, settings: Any) -> Scores:
        """Return both measures of the official code, and F1 over sets."""
        said = text_of(prediction)
        golds = detail.gold.answers if said is not None else ()
        return {
            "f1": max((websrc_f1(one, said or "") for one in golds), default=0.0),
            "exact": max((websrc_exact(one, said or "") for one in golds), default=0.0),
            "f1-sets": max((f1_sets(one, said or "") for one in golds), default=0.0),
        }


def _row(where: str, cell: Cell, record: dict[str, Any], id: str) -> Row:
    question, answers = record["question"], texts(record["answer"], where, "answer")
    if not isinstance(question, str) or not question.strip():
        raise DataError(f"{where}: no question")
    domain, page = str(record["domain"]), str(record["page_id"]).zfill(7)
    site = f"{domain[:2]}{page[:2]}"
    asked = Asked(prompt=WORDS.fill({"hint": "", "question": question}), question=question)
    parents = {"page": f"{site}-{page}", "website": site}
    return Row(where, id, asked, Right(answers=answers), cell, parents, {"domain": domain})


BENCHMARK = WebSRC()
