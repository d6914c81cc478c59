"""The user's own questions, and the sample's.

`questions.toml`, a file of questions and pictures are in a folder:

    vlm-eval --benchmark question-items --data my-questions --model oracle

The files are documented in docs/questions.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.dataset import Items
from harness.benchmarks.picture_sets import reading
from harness.benchmarks.question.benchmark import QuestionBenchmark
from harness.benchmarks.question.folder import SCHEMA, Pictures, QuestionsFile, read_schema
from harness.benchmarks.question.items import Item, grouped, items_of
from harness.benchmarks.question.rows import FILES, Read, question_file, rows_of, usual_rows
from harness.benchmarks.sample import refuse_data
from harness.benchmarks.sample_windows import SampleWindows, Window
from harness.data_files import DataFile, check_splits, fingerprint
from harness.errors import DataError
from harness.runs import Unit
from parsers.declaration import Declaration, Group, Level, Measure
from parsers.question import KIND, SPACE, QuestionDetail
from parsers.question.metrics import METRICS, score
from parsers.records import Prediction, Scores

DIALOGUE = "dialogue"
SHORT = 16
"""Digits of a picture's digest that name it."""


def measure_of(metric: str) -> str:
    """Return the name of the measure of a metric, which has small letters."""
    return metric.lower()


def declaration(
    metrics: Sequence[str],
    *,
    average: str = "micro",
    cells: Sequence[str] = (),
    groups: Sequence[str] = (),
    cluster: str = "picture",
    turns: bool = False,
) -> Declaration:
    """Return the declaration of questions that are scored by these metrics.

    `score` is the headline; each metric is a measure of the questions that it scores. With `turns`,
    the level of dialogues lies below that of clusters.
    """
    binary = all(METRICS[name].binary for name in metrics)
    averages: Any = tuple(dict.fromkeys((average, "micro")))
    measures = [
        Measure(
            "score",
            "Score",
            "score of the answers, each by its metric",
            main=True,
            averages=averages,
            cells=tuple(cells),
        )
    ]
    for name in metrics if len(metrics) > 1 else ():
        metric = METRICS[name]
        measures.append(Measure(measure_of(name), name, metric.meaning, averages=("micro",)))
    if turns and binary:
        right = "share of dialogues of which every turn is right"
        measures.append(
            Measure("all_right", "All right", right, all_of="score", averages=("micro",))
        )
    labels = [name for name in dict.fromkeys((*cells, *groups)) if name != cluster]
    within = DIALOGUE if turns else ""
    return Declaration(
        measures=tuple(measures),
        levels=(
            *([Level(DIALOGUE)] if turns else []),
            Level(cluster, extent=f"{cluster}s of the same kind"),
        ),
        clusters=(cluster, *([DIALOGUE] if turns else [])),
        groups=(
            Group("split", "the split", whole=cluster),
            *(Group(one, whole=within) for one in labels),
        ),
        kind=KIND,
        actions=SPACE,
    )


class Questions(NamedTuple):
    """Questions as read.

    assumed: what was assumed of a file without settings, in a line.
    """

    schema: QuestionsFile
    items: list[Item]
    pictures: Pictures
    files: list[DataFile]
    assumed: str


@dataclass(frozen=True)
class QuestionItems(QuestionBenchmark):
    """The user's own questions."""

    name: str = "question-items"
    declared: Declaration = field(default_factory=lambda: declaration(list(METRICS)))
    origin = "local"
    guarded = False

    def holds(self, data: Path) -> bool:
        return (data / SCHEMA).exists() or any((data / name).is_file() for name in FILES)

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> Items:
        """Open a folder of questions, or a file alone. Raises `DataError` for the first problem."""
        schema, items, pictures, files, assumed = self._read(data, splits)
        problem = next((item.problem for item in items if item.problem), None)
        if problem is not None:
            raise DataError(problem[1], grouped(items))
        metrics = [name for name in METRICS if any(item.asked.metric == name for item in items)]
        with reading(SCHEMA):
            declared = declaration(
                metrics,
                average=schema.average or ("cells" if schema.cells else "micro"),
                cells=schema.cells,
                groups=schema.labels_of([item.labels for item in items]),
                cluster=schema.cluster or "picture",
                turns=any(item.dialogue for item in items),
            )
        named = {item.id: item.pictures for item in items}
        opened = Items.of(
            self._units(items, schema),
            splits=splits,
            whole=schema.cluster or "picture",
            origin={"origin": self.origin, "set": schema.name, "files": fingerprint(files)},
            pictures=lambda unit: [pictures.read(name) for name in named[unit.unit_id]],
            notices=[assumed] if assumed else (),
            remarks=list(_remarks(items)),
        )
        return replace(opened, declared=declared)

    def score(self, prediction: Prediction, detail: QuestionDetail) -> Scores:
        """Return the score, also as that of the question's metric; None where no answer is
        known."""
        known = detail.gold.answers or detail.gold.unanswerable
        found = score(prediction, detail.asked, detail.gold) if known else None
        own = ("score", measure_of(detail.asked.metric))
        return {name: found if name in own else None for name in self.declared.scores}

    def _read(self, data: Path | None, splits: Sequence[str] | None) -> Questions:
        """Read the questions of these splits at least, in a folder or a file alone."""
        if data is None:
            raise DataError(f"{self.name} are read from a folder of yours: give it with --data")
        alone, assumed = question_file(data), ""
        if alone is not None:
            schema, rows, assumed = usual_rows(alone)
            root, path, sources = alone.parent, alone, [alone]
        else:
            root = data.parent if data.is_file() else data
            schema = read_schema(root)
            path = root / schema.questions
            rows, sources = list(rows_of(path, schema)), [root / SCHEMA, path]
        pictures = Pictures(root)
        items = list(items_of(rows, schema, pictures, schema.questions))
        if not items:
            raise DataError(f"{path} holds no questions")
        repeated = [
            name for name, count in Counter(item.id for item in items).items() if count > 1 and name
        ]
        if repeated:
            raise DataError(f"two items have the id {repeated[0]}")
        files = [
            DataFile(one, None, one.relative_to(root).as_posix(), one.stat().st_size)
            for one in sources
        ]
        return Questions(schema, items, pictures, files, assumed)

    def _units(
        self, items: Sequence[Item], schema: QuestionsFile
    ) -> Iterator[Unit[QuestionDetail]]:
        shown: dict[str, dict[str, None]] = {}
        for item in items:
            shown.setdefault(item.dialogue or item.id, {}).update(dict.fromkeys(item.digests))
        turns = any(item.dialogue for item in items)
        for item in items:
            dialogue = item.dialogue or item.id
            cluster = item.labels.get(schema.cluster, "") if schema.cluster else ""
            parent = cluster or "+".join(one[:SHORT] for one in shown[dialogue]) or dialogue
            yield self.unit(
                item.id,
                QuestionDetail(asked=item.asked, gold=item.gold),
                item.split,
                parents={
                    **({DIALOGUE: dialogue} if turns else {}),
                    schema.cluster or "picture": parent,
                },
                position=max(item.turn - 1, 0),
                total=(item.turns or 1) if turns else 0,
                labels=item.labels,
                digests={f"picture-{n}": one for n, one in enumerate(item.digests)},
                goal=item.asked.question,
                source=item.where,
            )


def _remarks(items: Sequence[Item]) -> Iterator[str]:
    unseen = sum(bool(item.asked.options) and not item.shows_options for item in items)
    if unseen:
        yield f"{unseen} items have options that their prompt does not show"
    numbers = sum(item.only_numbers and item.asked.metric in ("exact", "f1") for item in items)
    if numbers * 2 > len(items):
        yield "most answers are numbers: metric number compares their values"
    if all(not item.gold.answers and not item.gold.unanswerable for item in items):
        yield "no item has an answer: replies are kept, and nothing is scored"


_SAMPLE = QuestionsFile(
    name="sample-questions",
    metric="f1",
    metric_of={"task": {"next-page": "choice", "which-box": "choice"}},
    cells=["task"],
    cluster="page",
    no_answer="<no answer>",
    box="xyxy-unit",
)


class Posed(Window, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of the sample: a row of questions about the window."""

    item: dict[str, Any]


@dataclass(frozen=True)
class QuestionSample(QuestionItems):
    """Questions about pages of made-up sites; scores do not measure a model's ability."""

    name: str = "sample-questions"
    splits: tuple[str, ...] = ("dev", "test")
    default_splits: tuple[str, ...] = ("test",)
    sizes: tuple[SplitSize, ...] = (SplitSize("dev", 22, 104), SplitSize("test", 38, 227))
    origin = "package"

    def holds(self, data: Path) -> bool:
        return False

    def _read(self, data: Path | None, splits: Sequence[str] | None) -> Questions:
        """Refuse `data`."""
        refuse_data(self.name, data)
        check_splits(splits, self.splits, self.name)
        rows, read = list[Read](), list[DataFile]()
        for split in splits or self.default_splits:
            screenshots = SampleWindows(split)
            read.append(screenshots.file)
            for where, line in screenshots.lines("questions", Posed):
                image = screenshots.cut(line)
                rows.append((f", {where}", {**line.item, "image": image, "split": split}))
        pictures = Pictures(Path())
        items = list(items_of(rows, _SAMPLE, pictures, self.name))
        return Questions(_SAMPLE, items, pictures, read, "")


SAMPLE = QuestionSample()
