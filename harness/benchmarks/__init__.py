"""Benchmarks: recorded steps, read lazily and in file order, and units of other kinds.

    dataset = open_steps("multimodal-mind2web", splits=["test_task"], data=Path("shards"))
    some = dataset.select(Filters({"website": ("united",)}, limit=10))
    for row in some.rows(): ...       # one row group open at a time

`BENCHMARKS` is the registry of benchmarks (entry-point group `vlm_eval.benchmarks`). Errors in data
raise a `DataError` with a one-line message.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adapters.registry import Registry, UnknownName
from harness.benchmarks.contract import Benchmark, Dataset, Filters, SplitSize
from harness.benchmarks.index import StoredStep
from harness.benchmarks.items import Items
from harness.benchmarks.recorded import StepBenchmark, StepDataset, recorded_steps
from harness.errors import DataError
from harness.settings import Settings
from harness.tables import TEST_DATA_NOTE
from parsers.actions import ActionSpace

if TYPE_CHECKING:
    from harness.benchmarks.steps import SimpleBenchmark
    from harness.runs import DataGone, StepData

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "Dataset",
    "Filters",
    "Items",
    "SimpleBenchmark",
    "SplitSize",
    "StepBenchmark",
    "StepDataset",
    "StoredStep",
    "actions_of",
    "benchmark",
    "benchmark_of",
    "declared",
    "holding",
    "note_of",
    "open_benchmark",
    "open_steps",
    "recorded_steps",
    "step_benchmark",
    "step_data",
]


def __getattr__(name: str) -> object:
    # Imported on first use: listing benchmarks does not need the code that reads pages.
    if name == "SimpleBenchmark":
        from harness.benchmarks.steps import SimpleBenchmark

        return SimpleBenchmark
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


BENCHMARKS: Registry[Benchmark] = Registry("benchmark", "vlm_eval.benchmarks", has=("open",))
BENCHMARKS.add(
    "multimodal-mind2web",
    "harness.benchmarks.mind2web:BENCHMARK",
    "Multimodal-Mind2Web (Zheng et al. 2024): 1,013 test tasks on 127 sites, with screenshots",
)
BENCHMARKS.add(
    "mind2web",
    "harness.benchmarks.mind2web_json:BENCHMARK",
    "Mind2Web as first published (Deng et al. 2023): 1,341 test tasks, text only",
)
BENCHMARKS.add(
    "mt-mind2web",
    "harness.kinds.conversation.mt_mind2web:BENCHMARK",
    "MT-Mind2Web (Deng et al. 2024): 120 conversations of 625 turns in the test splits",
)
BENCHMARKS.add(
    "mm-mind2web-tilde",
    "harness.benchmarks.snapshots:BENCHMARK",
    "rabbit's snapshot of the test splits with 20 distractors, prompts and choices as stored",
)
BENCHMARKS.add(
    "snapshot",
    "harness.benchmarks.snapshots:SNAPSHOT",
    "a snapshot written by `vlm-eval snapshot`, given with --data",
)
BENCHMARKS.add(
    "sample",
    "harness.benchmarks.sample:BENCHMARK",
    "a few tasks on made-up sites, shipped with the package, to try things out",
)
BENCHMARKS.add(
    "mt-sample",
    "harness.kinds.conversation.mt_mind2web:SAMPLE",
    "conversations on the sample's sites, shipped with the package, to try things out",
)
BENCHMARKS.add(
    "autowebbench",
    "harness.kinds.prompt.autowebbench:BENCHMARK",
    "AutoWebBench (Lai et al. 2024): 1,451 finished prompts in English and Chinese, text only",
)
BENCHMARKS.add(
    "miniwob",
    "harness.kinds.episode.miniwob.benchmark:BENCHMARK",
    "MiniWoB++ (Liu et al. 2018): 56 small web pages, or 74 more, played live in Chromium",
)
BENCHMARKS.add(
    "browsergym",
    "harness.kinds.episode.browsergym.benchmark:browsergym",
    "tasks of BrowserGym, such as browsergym:webarena.*, live (vlm-eval check browsergym)",
)
BENCHMARKS.add(
    "steps",
    "harness.benchmarks.steps:SimpleBenchmark",
    "your own recorded steps, files or on the hub, given with --data (docs/own-data.md)",
)
_GROUNDING = "harness.kinds.grounding"
BENCHMARKS.add(
    "screenspot",
    f"{_GROUNDING}.screenspot:SCREENSPOT",
    "ScreenSpot (Cheng et al. 2024): 1,272 places on phones, desktops and web pages",
)
BENCHMARKS.add(
    "screenspot-v2",
    f"{_GROUNDING}.screenspot:V2",
    "ScreenSpot-v2 (Wu et al. 2024): the same pictures, instructions and boxes corrected",
)
BENCHMARKS.add(
    "screenspot-pro",
    f"{_GROUNDING}.screenspot:PRO",
    "ScreenSpot-Pro (Li et al. 2025): 1,581 places in professional software, large pictures",
)
BENCHMARKS.add(
    "webclick",
    f"{_GROUNDING}.systems:WEBCLICK",
    "WebClick (H Company 2025): 1,639 places on web pages",
)
BENCHMARKS.add(
    "osworld-g",
    f"{_GROUNDING}.desktops:OSWORLD_G",
    "OSWorld-G (Xie et al. 2025): 564 places on a Linux desktop, some of them absent",
)
BENCHMARKS.add(
    "mmbench-gui-l2",
    f"{_GROUNDING}.systems:MMBENCH_GUI",
    "MMBench-GUI L2 (Wang et al. 2025): 3,594 places on six systems",
)
BENCHMARKS.add(
    "ui-vision",
    f"{_GROUNDING}.desktops:UI_VISION",
    "UI-Vision (Nayak et al. 2025): 5,479 places in desktop applications",
)
BENCHMARKS.add(
    "showdown-clicks",
    f"{_GROUNDING}.desktops:SHOWDOWN",
    "Showdown-clicks (General Agents 2025): 557 clicks on a Mac",
)
BENCHMARKS.add(
    "venusbench-gd",
    f"{_GROUNDING}.systems:VENUSBENCH_GD",
    "VenusBench-GD (2025): 6,166 places on screens of 97 applications, in two languages",
)
BENCHMARKS.add(
    "grounding-items",
    f"{_GROUNDING}.own:GroundingItems",
    "your own grounding items, given with --data (docs/grounding-data.md)",
)
BENCHMARKS.add(
    "sample-grounding",
    f"{_GROUNDING}.sample:BENCHMARK",
    "places on pages of the sample, shipped with the package, to try things out",
)
BENCHMARKS.add(
    "androidcontrol",
    "harness.kinds.screen.androidcontrol:BENCHMARK",
    "AndroidControl (Li et al. 2024): 8,444 recorded steps on phones, judged by seven rules",
)
BENCHMARKS.add(
    "gui-odyssey",
    "harness.kinds.screen.odyssey:BENCHMARK",
    "GUI-Odyssey (Lu et al. 2024): tasks across apps on six devices, four splits",
)
BENCHMARKS.add(
    "aitw",
    "harness.kinds.screen.aitw:BENCHMARK",
    "Android in the Wild (Rawles et al. 2023), the test steps of SeeClick",
)
BENCHMARKS.add(
    "aitz",
    "harness.kinds.screen.aitz:BENCHMARK",
    "Android in the Zoo (Zhang et al. 2024): 4,724 steps on phones",
)
BENCHMARKS.add(
    "androidcontrol-curated",
    "harness.kinds.screen.curated:BENCHMARK",
    "AndroidControl-Curated (2025): 7,708 steps with points or boxes, in five files",
)
BENCHMARKS.add(
    "guiact-web",
    "harness.kinds.screen.guiact:BENCHMARK",
    "GUIAct (Chen et al. 2024): 1,500 steps on web pages, several actions each",
)
BENCHMARKS.add(
    "omniact",
    "harness.kinds.screen.omniact:BENCHMARK",
    "OmniACT (Kapoor et al. 2024): scripts for tasks on screens of computers",
)
BENCHMARKS.add(
    "screen-steps",
    "harness.kinds.screen.own:OwnSteps",
    "your own recorded steps on screens, given with --data (docs/screen-data.md)",
)
BENCHMARKS.add(
    "visualwebbench",
    "harness.kinds.question.visualwebbench:BENCHMARK",
    "VisualWebBench (Liu et al. 2024): 1,536 questions of seven tasks on pages",
)
BENCHMARKS.add(
    "websrc",
    "harness.kinds.question.websrc:BENCHMARK",
    "WebSRC (Chen et al. 2021), pictures only: 52,826 questions on ten sites",
)
BENCHMARKS.add(
    "screenqa-short",
    "harness.kinds.question.screenqa:SHORT",
    "ScreenQA-Short (Hsiao et al. 2022): 8,419 questions on screens of phones",
)
BENCHMARKS.add(
    "screenqa-complex",
    "harness.kinds.question.screenqa:COMPLEX",
    "ScreenQA-Complex (Baechler et al. 2024): 11,781 questions that need counting",
)
BENCHMARKS.add(
    "sample-questions",
    "harness.kinds.question.sample:BENCHMARK",
    "questions about pages of the sample, shipped with the package, to try things out",
)
BENCHMARKS.add(
    "question-items",
    "harness.kinds.question.own:QuestionItems",
    "your own questions about pictures, given with --data (docs/questions.md)",
)
BENCHMARKS.add(
    "sample-screens",
    "harness.kinds.screen.own:SAMPLE",
    "made-up tasks on a phone, shipped with the package, to try things out",
)


BENCHMARKS.add(
    "judgment",
    "harness.judging.benchmark:judgment",
    "a finished run, judged by another model: judgment:METHOD:RUN (docs/judging.md)",
)


def benchmark(name: str) -> Benchmark:
    """Return the benchmark of that name, which may carry an argument (`browsergym:webarena.*`).

    Raises `DataError` if there is none.
    """
    try:
        known, argument = BENCHMARKS.split(name)
        return BENCHMARKS.make(known, argument or None)
    except UnknownName as error:
        raise DataError(str(error)) from error


def benchmark_of(settings: Settings) -> Benchmark:
    """Return the benchmark of a run with its options. Raises `DataError`."""
    return benchmark(settings.benchmark).with_options(settings.benchmark_options)


def holding(data: Path) -> list[Benchmark]:
    """List the benchmarks whose files a folder has, by its name or content."""
    found = (declared(name) for name in BENCHMARKS.names())
    return [one for one in found if one is not None and one.holds(data)]


def declared(name: str) -> Benchmark | None:
    """Return a benchmark by name; None if its package is missing."""
    try:
        return benchmark(name)
    except DataError:
        return None


def note_of(name: str) -> str:
    """Return the note on test data for texts and results of a benchmark."""
    return str(getattr(declared(name), "note", TEST_DATA_NOTE))


def actions_of(name: str) -> ActionSpace | None:
    """Return the action space of a benchmark; None if undeclared, or if its package is missing."""
    found = declared(name)
    return found.declared.actions if found else None


def open_benchmark(
    source: str | Benchmark, *, splits: Sequence[str] | None = None, data: Path | None = None
) -> Dataset[Any]:
    """Open a benchmark, by its name or as it is for a run (`of_run`); see `Benchmark.open`."""
    found = benchmark(source) if isinstance(source, str) else source
    opened = found.open(splits=splits, data=data)
    return replace(opened, declared=opened.declared or found.declared)


def step_benchmark(name: str) -> StepBenchmark:
    """Return the benchmark of recorded steps of that name. Raises `DataError` if there is none."""
    found = benchmark(name)
    if not isinstance(found, StepBenchmark):
        raise DataError(f"this is for recorded steps, and {name} is of kind '{found.kind}'")
    return found


def open_steps(
    name: str, *, splits: Sequence[str] | None = None, data: Path | None = None
) -> StepDataset:
    """Open a benchmark of recorded steps by name. Raises `DataError`."""
    return step_benchmark(name).open(splits=splits, data=data)


def step_data(
    dataset: Mapping[str, Any], step_ids: Collection[str]
) -> Iterator[tuple[str, StepData | DataGone]]:
    """Page and encoded screenshot of steps, from the data that a manifest's `dataset` names.

    In the order of the data, which reads each row group once; then the steps that it no longer
    has. The caller compares digests. Raises `DataGone` if the data is no longer available.
    """
    # Imported here to read runs without benchmarks, and benchmarks without runs.
    from harness.runs import DataGone, StepData

    data, splits = _same_data(dataset), dataset.get("splits_asked")
    given = sorted(dataset.get("options", {}).items())
    options = tuple((name, tuple(v) if isinstance(v, list) else v) for name, v in given)
    left = dict.fromkeys(step_ids)
    try:
        opened = _opened(str(dataset.get("benchmark")), data, tuple(splits or ()), options)
        if isinstance(opened, Items):
            yield from _pictures_of(opened, left)
            return
        gone = {entry.unit_id for entry in opened.entries if entry.unit_id not in left}
        for entry, row in opened.without(gone).decoded():
            del left[entry.unit_id]
            if isinstance(row, DataError):
                yield entry.unit_id, DataGone(str(row))
            else:
                yield entry.unit_id, StepData(row.detail.html, row.detail.screenshot)
    except DataError as error:
        raise DataGone(str(error)) from error
    for step_id in left:
        yield step_id, DataGone(f"the data no longer has step {step_id}")


def _same_data(dataset: Mapping[str, Any]) -> str | None:
    """Return where the data of a run is; of a data set on the hub the same commit."""
    from harness.benchmarks.hub_stream import hub_data

    data, revision = dataset.get("data"), dataset.get("revision")
    source = hub_data(data)
    return str(source._replace(revision=revision)) if source and revision else data


def _pictures_of(
    items: Items, wanted: Mapping[str, Any]
) -> Iterator[tuple[str, StepData | DataGone]]:
    """Yield the first picture of finished units, which have no page."""
    from harness.pictures import PictureError
    from harness.runs import DataGone, StepData

    units = {entry.unit_id: entry for entry in items.entries}
    for unit_id in wanted:
        try:
            shown = items.pictures(units[unit_id])
            yield unit_id, StepData("", next(iter(shown), None))
        except KeyError:
            yield unit_id, DataGone(f"the data no longer has {unit_id}")
        except (DataError, PictureError) as error:
            yield unit_id, DataGone(str(error))


@lru_cache(maxsize=2)
def _opened(
    name: str, data: str | None, splits: tuple[str, ...], options: tuple[tuple[str, Any], ...]
) -> StepDataset | Items:
    source = benchmark(name).with_options(options)
    opened = open_benchmark(source, splits=splits or None, data=Path(data) if data else None)
    if not isinstance(opened, StepDataset | Items):
        raise DataError(f"{name} holds no pictures that could be looked up")
    return opened
