"""VisualWebBench (Liu et al. 2024): seven tasks on the screenshots of 139 sites.

The prompts are this project's; boxes and letters are drawn on the published pictures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from adapters.conversation import Conversation, Reply, illustrated
from harness.benchmarks.contract import SplitSize
from harness.benchmarks.folders import Folder
from harness.benchmarks.question.benchmark import PLACE, QuestionProtocol
from harness.benchmarks.question.sets import PublishedQuestion, QuestionSet, texts
from harness.dialogue import Ask, Dialogue
from harness.errors import DataError
from harness.protocols.contract import limit_of
from harness.views import QuestionView
from parsers.declaration import Declaration, Group, Level, Measure
from parsers.question import KIND, LETTERS, SPACE, Asked, QuestionDetail, Right, text_of
from parsers.question.webbench import (
    CAPTION,
    CHOICES,
    ELEMENT_OCR,
    LEAD,
    OFFERED,
    TASKS,
    VARIANTS,
    WEBQA,
    Frames,
    Reader,
    framed,
    read,
    score,
)
from parsers.records import Prediction, Scores

_MEANS = {
    CAPTION: "descriptions of pages",
    WEBQA: "answers about pages",
    "heading_ocr": "headings",
    ELEMENT_OCR: "texts in a box",
    "element_ground": "elements of a description",
    "action_prediction": "pages that follow a click",
    "action_ground": "elements to click",
}
DECLARED = Declaration(
    measures=(
        Measure(
            "score",
            "Score",
            "mean over the seven tasks: ROUGE of texts, right letters of choices",
            main=True,
            averages=("cells", "micro"),
            cells=("task",),
        ),
        *(
            Measure(
                f"score.{name}",
                meaning=f"the same by {name}",
                averages=("cells", "micro"),
                cells=("task",),
            )
            for name in VARIANTS
        ),
        *(Measure(task, task, _MEANS[task], averages=("micro",)) for task in TASKS),
        Measure(
            "as_executed",
            meaning="score without the questions that the published code leaves out",
            averages=("micro",),
        ),
    ),
    levels=(Level("website", "site", "sites", shared=True, extent="sites of the same kind"),),
    groups=(Group("split", "the split"), Group("task", "what is asked")),
    kind=KIND,
    actions=SPACE,
)
_BOX = " The red box has the corners {box}, as shares of the picture."
_LETTER = "\n\nAnswer with one capital letter and nothing else."
_WORDS = {
    CAPTION: "This is a screenshot of a web page. Write its description for search engines.\n\n"
    'Answer with the tag <meta name="description" content="..."> and nothing else.',
    WEBQA: "{question}\n\nAnswer in as few words as possible and add nothing else.",
    "heading_ocr": "This is a screenshot of a web page. Which text is its heading?\n\n"
    "Answer with that text and nothing else.",
    ELEMENT_OCR: "This is a screenshot of a web page with a red box.{box} Read the text in the "
    f"box.\n\nAnswer in this form and add nothing else:\n{LEAD} ...",
    "element_ground": "Elements of this web page are marked with letters. Which one is described "
    "by this text? {question}" + _LETTER,
    "action_prediction": "This is a screenshot of a web page with a red box.{box} Which of these "
    "describes the page that follows a click on the element in the box?\n{options}" + _LETTER,
    "action_ground": "Elements of this web page are marked with letters. Which one has to be "
    "clicked for this task? {question}" + _LETTER,
}


def worded(asked: Asked, *, options: str = "lettered", box: str = "both") -> str:
    """Return the prompt of a question."""
    listed = repr(list(asked.options))
    if options == "lettered":
        pairs = zip(LETTERS, asked.options, strict=False)
        listed = "\n".join(f"{letter}. {option}" for letter, option in pairs)
    told = _BOX.replace("{box}", asked.box) if asked.box and box == "both" else ""
    parts = {"{question}": asked.question, "{options}": listed, "{box}": told}
    text = _WORDS[asked.task]
    name = next((one for one in ("{question}", "{options}") if one in text), "")
    if not name:
        return text.replace("{box}", told)
    before, _, after = text.partition(name)  # Texts that are filled in may have braces.
    return before.replace("{box}", told) + parts[name] + after


@dataclass(frozen=True)
class WebBench(QuestionProtocol):
    """A question of VisualWebBench in one call."""

    options: Literal["lettered", "listed"] = "lettered"
    """Pages to choose from: with letters, or as a list without, as published."""
    reader: Reader = "strict"
    """Reader of letters: as of other questions, or by the published code."""
    frames: Frames = "known"
    """Demanded words around an answer: removed exactly, as published adapters do, or left."""
    box: Literal["both", "drawn"] = "both"
    """True if the text has the numbers of the box that is drawn."""

    name = "visualwebbench"
    paper = "Liu et al. 2024, in other words"

    def dialogue(self, view: QuestionView) -> Dialogue:
        """Ask, and read the answer by the task."""
        asked = view.content
        prompt = worded(asked, options=self.options, box=self.box) if asked.task else asked.prompt
        message = illustrated(view.pictures, prompt, order=self.order)
        limit = limit_of(self.max_tokens, 0)
        reply = yield Ask(Conversation((message,)), PLACE, max_tokens=limit)
        assert isinstance(reply, Reply)
        finish = reply.finish.value
        return read(reply.text, asked, reader=self.reader, frames=self.frames, finish=finish)

    def write(self, view: QuestionView, said: Prediction) -> Mapping[str, str]:
        """Return the reply with an answer, in the frame of its task."""
        text = text_of(said)
        asked = view.content
        return {PLACE: "" if text is None else framed(text, asked.task, self.frames)}


@dataclass(frozen=True)
class VisualWebBench(QuestionSet):
    """1,536 questions of seven tasks."""

    name: str = "visualwebbench"
    sizes: tuple[SplitSize, ...] = (SplitSize("test", None, sum(TASKS.values())),)
    declared: Declaration = DECLARED
    repo: str = "visualwebbench/VisualWebBench"
    revision: str | None = "9dace8acebf210929bd47256d7ded44439377946"
    files: tuple[str, ...] = ("*.parquet",)
    cell_labels: tuple[str, ...] = ("task",)
    cells: Mapping[str, Mapping[tuple[str, ...], int]] = field(
        default_factory=lambda: {"test": {(task,): count for task, count in TASKS.items()}}
    )

    protocol = "visualwebbench"

    def rows(self, folder: Folder, split: str) -> Iterator[PublishedQuestion]:
        needed = ("id", "task_type", "website", "answer")
        more = ("question", "bbox", "options", "elem_desc", "instruction")
        what = f"the tables of {self.name}"
        for where, record in self.tables(folder, "**/*.parquet", what, needed, more):
            yield _row(where, record)

    def score(self, prediction: Prediction, detail: QuestionDetail) -> Scores:
        """Return the score of every variant, and that of the question's task."""
        found = score(prediction, detail.asked, detail.gold)
        usual = found[f"score.{VARIANTS[0]}"]
        tasks = dict.fromkeys(TASKS, None) | {detail.asked.task: usual}
        return {"score": usual, **found, **tasks}


def _row(where: str, record: Mapping[str, Any]) -> PublishedQuestion:
    """Return a row. Raises `DataError`."""
    task, answer = str(record["task_type"]), record["answer"]
    if task not in TASKS:
        raise DataError(f"{where}: '{task}' is no task of VisualWebBench")
    column = {WEBQA: "question", "element_ground": "elem_desc", "action_ground": "instruction"}
    question = record.get(column[task]) if task in column else ""
    if not isinstance(question, str) or (task in column and not question.strip()):
        raise DataError(f"{where}: a question of {task} without {column[task]}")
    options: tuple[str, ...] = ()
    if task in CHOICES:
        # On pictures of elements the letters are drawn, and no texts are offered.
        options = tuple(OFFERED)
        if task == "action_prediction":
            options = texts(record.get("options"), where, "options")
        if not isinstance(answer, int) or not 0 <= answer < min(len(options), len(LETTERS)):
            raise DataError(f"{where}: the answer {answer!r} is beyond {len(options)} options")
        golds: tuple[str, ...] = (LETTERS[answer],)
    else:
        golds = texts(answer, where, "answer")
    asked = Asked(
        prompt="",
        question=question or task.replace("_", " "),
        options=options,
        metric="choice" if task in CHOICES else "exact",
        task=task,
        box=_box(record.get("bbox"), where) if "{box}" in _WORDS[task] else "",
    )
    return PublishedQuestion(
        where,
        f"{task}_{record['id']}",
        replace(asked, prompt=worded(asked)),
        Right(answers=golds),
        where,
        {"website": str(record["website"])},
        {"task": task},
    )


def _box(box: object, where: str) -> str:
    numbers = list(box) if isinstance(box, (list, tuple)) else []
    if len(numbers) != 4 or not all(isinstance(one, (int, float)) for one in numbers):
        raise DataError(f"{where}: bbox is not four numbers")
    return "[" + ", ".join(f"{one:.2f}" for one in numbers) + "]"


BENCHMARK = VisualWebBench()
