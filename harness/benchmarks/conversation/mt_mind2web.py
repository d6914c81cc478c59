"""MT-Mind2Web (Deng et al. 2024, "On the Multi-turn Instruction Following for Conversational Web
Agents"): conversations whose turns are tasks of Mind2Web, or parts of them.

Each shard is a JSON list of conversations. It holds no screenshots; where parquet files of
Multimodal-Mind2Web lie next to the shards, those of the same actions are joined, from any split
they are in, because the splits were drawn anew.

The paper averages "per task, then over tasks"; its code groups steps in two ways. Both are declared
for all four measures. In tables, element accuracy and operation F1 are averaged by turn (the mean
in a turn, then over turns), step and turn success by conversation, which is our reading of which
number is which column. The other grouping is named `..._by_conversation` or `..._by_turn`.
"""

from __future__ import annotations

import hashlib
import lzma
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from adapters.digests import cache_folder, write_cached
from harness.benchmarks.contract import SplitSize
from harness.benchmarks.index import StoredStep
from harness.benchmarks.mind2web import TEST_SPLITS as MULTIMODAL
from harness.benchmarks.mind2web import Screenshots
from harness.benchmarks.mind2web_json import OriginalLayout, TaskSpan, indexed, task_spans, turns_of
from harness.benchmarks.published import files_of
from harness.benchmarks.recorded import StepDataset
from harness.benchmarks.sample import shipped
from harness.benchmarks.step.benchmark import StepBenchmark
from harness.data_files import DataFile, local_files, split_of
from harness.errors import DataError
from harness.runs import StepUnit
from harness.runs.steps import turn_of
from harness.tables import counted
from parsers import Counts
from parsers.declaration import Declaration, Group, Level, Measure
from parsers.mind2web import MIND2WEB, operation_f1_variants
from parsers.records import ELEMENT_ONLY, F1_VARIANTS, SPLIT, F1Variant, Gold, Prediction, Scores
from parsers.scoring import DEFAULT_RULES, ScoringRules, score

VARIANTS: tuple[F1Variant, ...] = (*F1_VARIANTS, "mind2web-np")
"""Those of Mind2Web, and its own one without punctuation marks."""

OTHER_GROUPINGS = {
    "element": "element_by_conversation",
    "operation_f1": "operation_f1_by_conversation",
    "success": "success_by_turn",
}
"""Scores, and the names under which the same number is averaged by the other grouping."""

MT_MIND2WEB = replace(
    MIND2WEB,
    measures=(
        Measure("element", "Ele. Acc", "element accuracy by turn"),
        Measure("operation_f1", "Op. F1", "operation F1 by turn", unmeasured=ELEMENT_ONLY),
        *operation_f1_variants(VARIANTS),
        MIND2WEB["operation_exact"],
        replace(
            MIND2WEB["success"],
            head="SSR",
            main=False,
            meaning="step success by conversation",
            over="conversation",
        ),
        MIND2WEB["element_in_box"],
        MIND2WEB["element_under"],
        Measure(
            "element_by_conversation",
            meaning="element accuracy by conversation",
            over="conversation",
            averages=("macro",),
        ),
        Measure(
            "operation_f1_by_conversation",
            meaning="operation F1 by conversation",
            unmeasured=ELEMENT_ONLY,
            over="conversation",
            averages=("macro",),
        ),
        Measure(
            "success_by_turn",
            meaning="step success by turn",
            unmeasured=ELEMENT_ONLY,
            averages=("macro",),
        ),
        Measure(
            "turn_success",
            "TSR",
            "turn success by conversation",
            main=True,
            all_of="success",
            cells=("conversation",),
            unmeasured=ELEMENT_ONLY,
        ),
        Measure(
            "turn_success_by_turn",
            "TSR by turn",
            "turn success by turn",
            all_of="success",
            unmeasured=ELEMENT_ONLY,
        ),
    ),
    levels=(
        Level("task", one="turn", many="turns"),
        Level("conversation", extent="conversations on these websites"),
        Level("website", shared=True),
    ),
    groups=(
        Group(SPLIT, "the split", whole="conversation"),
        Group("website", "the website", whole="website"),
        Group("domain", "its domain", whole="website"),
        Group("subdomain", "its subdomain", whole="website"),
        Group("turn", "the number of its turn in the conversation", whole="task"),
        Group("operation", "the recorded operation"),
    ),
    clusters=("conversation", "website"),
)


def mt_score(prediction: Prediction, gold: Gold, rules: ScoringRules = DEFAULT_RULES) -> Scores:
    """Return the scores of a step that `MT_MIND2WEB` declares.

    Element, operation F1 and success are Mind2Web's (`parsers.scoring.score`): the chosen node is
    any acceptable one; F1 of the sets of unchanged words; both right.
    """
    scores = score(prediction, gold, replace(rules, variants=VARIANTS))
    return {**scores, **{other: scores[name] for name, other in OTHER_GROUPINGS.items()}}


REPO = "magicgh/MT-Mind2Web"
SPLITS = ("test_task", "test_website", "test_subdomain", "train")
TEST_SPLITS = SPLITS[:3]


@dataclass(frozen=True)
class Conversations(StepBenchmark):
    """Recorded steps in turns of conversations, with the measures of MT-Mind2Web."""

    f1_of_written: F1Variant | None = "mind2web-np"
    declared: Declaration = field(default=MT_MIND2WEB, kw_only=True)

    explained: ClassVar = {
        name: StepBenchmark.explained[name] for name in ("element", "operation_f1")
    }

    def score(self, prediction: Prediction, detail: Any) -> Scores:
        return mt_score(prediction, detail.gold, self.rules)

    def counts(self, units: Sequence[StepUnit]) -> dict[str, int]:
        wrong = {f"conversations_with_{n}_wrong": one for n, one in wrong_steps(units).items()}
        return {**super().counts(units), **wrong}

    def notes(self, units: Sequence[StepUnit], counts: Counts) -> Iterator[str]:
        yield from super().notes(units, counts)
        if wrong := wrong_steps(units):
            yield from _wrong_steps(wrong, counts.n_parents)


@dataclass(frozen=True)
class MTMind2Web(Conversations):
    """The benchmark: from the hub, or from a folder with the shards of any of its splits."""

    name: str = "mt-mind2web"
    splits: tuple[str, ...] = SPLITS
    default_splits: tuple[str, ...] = TEST_SPLITS
    sizes: tuple[SplitSize, ...] = (
        SplitSize("test_task", 191),
        SplitSize("test_website", 218),
        SplitSize("test_subdomain", 216),
        SplitSize("train", 2896),
    )
    screenshots: bool | None = None

    protocol = "self-map"

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> StepDataset:
        """`local` is the split of files whose names contain none."""
        files, notices, origin = files_of(self, splits, data, repo=REPO, suffix=".json")
        pictures = [] if data is None else parquet_files(data)
        opened = open_conversations(self.name, files, pictures, origin, notices)
        return replace(opened, notices=(*opened.notices, *_missing(opened, self.sizes)))


def open_conversations(
    benchmark: str,
    shards: Sequence[DataFile],
    pictures: Sequence[DataFile] = (),
    origin: Mapping[str, object] | None = None,
    notices: Sequence[str] = (),
) -> StepDataset:
    """Open shards whose splits are known, with the screenshots of parquet files in the columns of
    Multimodal-Mind2Web, if there are any.

    Raises `DataError`, also without steps.
    """
    spans = {shard.path: task_spans(shard, turns_of) for shard in shards}
    notes = list(notices)
    entries = indexed(benchmark, shards, spans, notes)
    _check_ids(entries, spans)
    of = Counter(
        turn
        for turn, _, _ in {(e.parents["task"], e.split, e.parents["conversation"]) for e in entries}
    )
    if several := sum(number > 1 for number in of.values()):
        notes.append(
            f"{counted(several, 'turn id')} in several conversations: steps of one id and split "
            "count as one turn"
        )
    empty = sum(not span.action_uids for found in spans.values() for span in found)
    if empty:
        notes.append(f"{counted(empty, 'turn')} without actions left out, in memories as well")
    screenshots = Screenshots(tuple(pictures)) if pictures else None
    if screenshots is not None:
        lacking = sum(entry.detail.action_uid not in screenshots for entry in entries)
        if lacking == len(entries):
            screenshots = None
        if lacking:
            notes.append(
                f"{counted(lacking, 'step')} of {len(entries)} have no screenshot in the files "
                "next to the shards, and are asked about without one"
            )
    texts = OriginalLayout(spans, counts=True)
    return StepDataset(
        benchmark=benchmark,
        layout=replace(texts, screenshots=screenshots),
        texts=texts,
        files=(*shards, *pictures),
        entries=entries,
        origin=origin or {},
        notices=tuple(notes),
        screenshots=screenshots is not None,
        whole="conversation",
    )


def _missing(opened: StepDataset, sizes: Sequence[SplitSize]) -> Iterator[str]:
    """Return the name of a missing shard, as far as the other names show it."""
    turns = Counter(split for split, _ in {(e.split, e.parents["task"]) for e in opened.entries})
    for size in sizes:
        if 0 < turns[size.split] < (size.tasks or 0):
            found = f"{turns[size.split]} of {size.tasks} turns"
            yield f"{size.split} has {found} here: some shards may be missing"


def parquet_files(data: Path) -> list[DataFile]:
    """The files of Multimodal-Mind2Web in a folder of shards, whatever their splits."""
    if not data.is_dir() or not any(data.rglob("*.parquet")):
        return []
    return [file for file in local_files(data) if split_of(file.name, (*MULTIMODAL, "train"))]


def _check_ids(entries: Sequence[StoredStep], spans: Mapping[Path, Sequence[TaskSpan]]) -> None:
    """Raise `DataError` where ids do not tell the turns of a conversation apart."""
    known: dict[tuple[str, str, str | int | None], StoredStep] = {}
    for entry in entries:
        ids = turn_of(entry), entry.parents["task"]
        for name in ids:
            other = known.setdefault((entry.split, entry.parents["conversation"], name), entry)
            if (turn_of(other), other.parents["task"]) != ids:
                place, rival = (
                    spans[one.detail.file][one.detail.row_group].where for one in (entry, other)
                )
                raise DataError(
                    f"{entry.detail.file}, {place}: not told from {rival} by its ids; every "
                    "conversation needs a 'task_id' of its own, and every turn of it an "
                    "'annotation_id'"
                )


BENCHMARK = MTMind2Web(published="2024")


@dataclass(frozen=True)
class ConversationSample(Conversations):
    """Conversations on the same sites; scores do not measure a model's ability either."""

    name: str = "mt-sample"
    splits: tuple[str, ...] = ("dev", "test")
    default_splits: tuple[str, ...] = ("test",)
    guarded = False

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> StepDataset:
        """Refuse `data`."""
        from harness.sample import conversation_files, screenshot_files

        packed = shipped(self, splits, data, conversation_files(), "mt-mind2web")
        pictures = shipped(self, splits, data, screenshot_files(), "mt-mind2web")
        shards = [_unpacked(file) for file in packed]
        return open_conversations(self.name, shards, pictures, {"origin": "package"})


def _unpacked(file: DataFile) -> DataFile:
    """The file without its compression, in the user's cache folder: turns are looked up in it."""
    content = lzma.decompress(file.path.read_bytes())
    name = file.name.removesuffix(".xz")
    try:
        path = cache_folder() / "samples" / f"{hashlib.sha256(content).hexdigest()}-{name}"
        if not path.exists() or path.read_bytes() != content:
            write_cached(path, content)
        return DataFile(path, file.split, name, path.stat().st_size)
    except (OSError, RuntimeError) as error:
        raise DataError(
            f"{file.path.name} of the sample cannot be unpacked into the cache folder: {error}; "
            "set XDG_CACHE_HOME to a folder that can be written"
        ) from error


SAMPLE = ConversationSample()


MORE = "more"
"""Means more than three wrong steps."""


def wrong_steps(records: Iterable[StepUnit]) -> dict[str, int]:
    """The number of conversations with 0, 1, 2, 3 and more wrong steps; {} without conversations.

    Conversations with a valid step that has no result yet are left out.
    """
    conversations: dict[tuple[str, str, int], list[bool | None]] = {}
    for record in records:
        if record.invalid is None and (name := record.parents.get("conversation")):
            won = record.scores["success"] == 1 if record.settled and record.scores else None
            conversations.setdefault((record.split, name, record.repeat), []).append(won)
    if not conversations:
        return {}
    numbers = [won.count(False) for won in conversations.values() if None not in won]
    shown = {str(n): numbers.count(n) for n in range(4)}
    return {**shown, MORE: sum(n > 3 for n in numbers)}


def _wrong_steps(found: Mapping[str, int], turns: int) -> Iterator[str]:
    """The shares, and those that MT-Mind2Web's code prints: it divides by the number of turns."""

    def shares(of: int) -> str:
        return ", ".join(
            f"{'more than 3' if n == MORE else n}: {100 * number / of:.1f} %"
            for n, number in found.items()
        )

    whole = sum(found.values())
    if whole:
        yield f"wrong steps in {counted(whole, 'conversation')}: {shares(whole)}"
        over = counted(turns, "turn")
        yield f"the same as the released code has it, over {over}: {shares(turns)}"
