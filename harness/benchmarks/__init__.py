"""Benchmarks: recorded steps, read lazily and in file order, and units of other kinds.

    dataset = open_steps("multimodal-mind2web", splits=["test_task"], data=Path("shards"))
    some = dataset.select(Filters({"website": ("united",)}, limit=10))
    for row in some.rows(): ...       # one row group open at a time

`BENCHMARKS` is the registry of benchmarks (entry-point group `vlm_eval.benchmarks`). Errors in data
raise a `DataError` with a one-line message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adapters.registry import Registry, UnknownName, allow
from harness.benchmarks.contract import Benchmark, SplitSize
from harness.benchmarks.dataset import Dataset, Filters
from harness.benchmarks.index import StoredStep
from harness.benchmarks.recorded import StepDataset, recorded_steps
from harness.errors import DataError
from parsers.actions import ActionSpace

if TYPE_CHECKING:
    from harness.benchmarks.dataset import Items
    from harness.benchmarks.step.benchmark import StepBenchmark
    from harness.benchmarks.steps import SimpleBenchmark
    from harness.settings import Settings

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
    "open_benchmark",
    "open_steps",
    "recorded_steps",
    "step_benchmark",
]


_LATER = {
    "Items": "harness.benchmarks.dataset",
    "SimpleBenchmark": "harness.benchmarks.steps",
    "StepBenchmark": "harness.benchmarks.step.benchmark",
}


def __getattr__(name: str) -> object:
    # Imported on first use: most runs need one of these.
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


BENCHMARKS: Registry[Benchmark] = Registry(
    "benchmark", "vlm_eval.benchmarks", has=("open", "ready", "score", "words")
)
BUILT_IN = {
    "multimodal-mind2web": (
        "harness.benchmarks.mind2web:BENCHMARK",
        "Multimodal-Mind2Web (Zheng et al. 2024): 1,013 test tasks on 127 sites, with screenshots",
    ),
    "mind2web": (
        "harness.benchmarks.mind2web_json:BENCHMARK",
        "Mind2Web as first published (Deng et al. 2023): 1,341 test tasks, text only",
    ),
    "mt-mind2web": (
        "harness.benchmarks.conversation.mt_mind2web:BENCHMARK",
        "MT-Mind2Web (Deng et al. 2024): 120 conversations of 625 turns in the test splits",
    ),
    "mm-mind2web-tilde": (
        "harness.benchmarks.snapshots:BENCHMARK",
        "rabbit's snapshot of the test splits with 20 distractors, prompts and choices as stored",
    ),
    "sample": (
        "harness.benchmarks.sample:BENCHMARK",
        "a few tasks on made-up sites, shipped with the package, to try things out",
    ),
    "mt-sample": (
        "harness.benchmarks.conversation.mt_mind2web:SAMPLE",
        "conversations on the sample's sites, shipped with the package, to try things out",
    ),
    "autowebbench": (
        "harness.benchmarks.prompt.autowebbench:BENCHMARK",
        "AutoWebBench (Lai et al. 2024): 1,451 finished prompts, text only (extra zh for Chinese)",
    ),
    "miniwob": (
        "harness.benchmarks.episode.miniwob.benchmark:BENCHMARK",
        "MiniWoB++ (Liu et al. 2018): 56 small pages, or 74 more, in Chromium (extra miniwob)",
    ),
    "browsergym": (
        "harness.benchmarks.episode.browsergym.benchmark:browsergym",
        "tasks of BrowserGym, such as browsergym:webarena.*, live (vlm-eval environments check "
        "browsergym)",
    ),
    "steps": (
        "harness.benchmarks.steps:SimpleBenchmark",
        "your own recorded steps, in files, given with --data (docs/own-data.md)",
    ),
    "screenspot": (
        "harness.benchmarks.grounding.screenspot:SCREENSPOT",
        "ScreenSpot (Cheng et al. 2024): 1,272 places on phones, desktops and web pages",
    ),
    "screenspot-v2": (
        "harness.benchmarks.grounding.screenspot:V2",
        "ScreenSpot-v2 (Wu et al. 2024): the same pictures, instructions and boxes corrected",
    ),
    "screenspot-pro": (
        "harness.benchmarks.grounding.screenspot:PRO",
        "ScreenSpot-Pro (Li et al. 2025): 1,581 places in professional software, large pictures",
    ),
    "webclick": (
        "harness.benchmarks.grounding.screenspot:WEBCLICK",
        "WebClick (H Company 2025): 1,639 places on web pages",
    ),
    "osworld-g": (
        "harness.benchmarks.grounding.systems:OSWORLD_G",
        "OSWorld-G (Xie et al. 2025): 564 places on a Linux desktop, some of them absent",
    ),
    "mmbench-gui-l2": (
        "harness.benchmarks.grounding.systems:MMBENCH_GUI",
        "MMBench-GUI L2 (Wang et al. 2025): 3,594 places on six systems",
    ),
    "ui-vision": (
        "harness.benchmarks.grounding.systems:UI_VISION",
        "UI-Vision (Nayak et al. 2025): 5,479 places in desktop applications",
    ),
    "showdown-clicks": (
        "harness.benchmarks.grounding.screenspot:SHOWDOWN",
        "Showdown-clicks (General Agents 2025): 557 clicks on a Mac",
    ),
    "venusbench-gd": (
        "harness.benchmarks.grounding.systems:VENUSBENCH_GD",
        "VenusBench-GD (2025): 6,166 places on screens of 97 applications, in two languages",
    ),
    "grounding-items": (
        "harness.benchmarks.grounding.own:GroundingItems",
        "your own grounding items, given with --data (docs/grounding.md)",
    ),
    "sample-grounding": (
        "harness.benchmarks.grounding.own:SAMPLE",
        "places on pages of the sample, shipped with the package, to try things out",
    ),
    "androidcontrol": (
        "harness.benchmarks.screen.androidcontrol:BENCHMARK",
        "AndroidControl (Li et al. 2024): 8,444 recorded steps on phones, judged by seven rules",
    ),
    "gui-odyssey": (
        "harness.benchmarks.screen.odyssey:BENCHMARK",
        "GUI-Odyssey (Lu et al. 2024): tasks across apps on six devices, four splits",
    ),
    "aitw": (
        "harness.benchmarks.screen.aitw:WILD",
        "Android in the Wild (Rawles et al. 2023), the test steps of SeeClick",
    ),
    "aitz": (
        "harness.benchmarks.screen.aitw:ZOO",
        "Android in the Zoo (Zhang et al. 2024): 4,724 steps on phones",
    ),
    "androidcontrol-curated": (
        "harness.benchmarks.screen.androidcontrol:CURATED",
        "AndroidControl-Curated (2025): 7,708 steps with points or boxes, in five files",
    ),
    "guiact-web": (
        "harness.benchmarks.screen.guiact:BENCHMARK",
        "GUIAct (Chen et al. 2024): 1,500 steps on web pages, several actions each",
    ),
    "omniact": (
        "harness.benchmarks.screen.omniact:BENCHMARK",
        "OmniACT (Kapoor et al. 2024): scripts for tasks on screens of computers",
    ),
    "screen-steps": (
        "harness.benchmarks.screen.own:OwnSteps",
        "your own recorded steps on screens, given with --data (docs/screen-steps.md)",
    ),
    "visualwebbench": (
        "harness.benchmarks.question.visualwebbench:BENCHMARK",
        "VisualWebBench (Liu et al. 2024): 1,536 questions of seven tasks on pages",
    ),
    "websrc": (
        "harness.benchmarks.question.sets:WEBSRC",
        "WebSRC (Chen et al. 2021), pictures only: 52,826 questions on ten sites",
    ),
    "screenqa-short": (
        "harness.benchmarks.question.sets:SHORT",
        "ScreenQA-Short (Hsiao et al. 2022): 8,419 questions on screens of phones",
    ),
    "screenqa-complex": (
        "harness.benchmarks.question.sets:COMPLEX",
        "ScreenQA-Complex (Baechler et al. 2024): 11,781 questions that need counting",
    ),
    "sample-questions": (
        "harness.benchmarks.question.own:SAMPLE",
        "questions about pages of the sample, shipped with the package, to try things out",
    ),
    "question-items": (
        "harness.benchmarks.question.own:QuestionItems",
        "your own questions about pictures, given with --data (docs/questions.md)",
    ),
    "sample-screens": (
        "harness.benchmarks.screen.own:SAMPLE",
        "made-up tasks on a phone, shipped with the package, to try things out",
    ),
    "judgment": (
        "harness.judging.benchmark:judgment",
        "a finished run, judged by another model: judgment:METHOD:RUN (docs/judging.md)",
    ),
}
"""Where each benchmark is, and a line about it."""
for _name, (_target, _summary) in BUILT_IN.items():
    BENCHMARKS.add(_name, _target, _summary)


def benchmark(name: str) -> Benchmark:
    """Return the benchmark of that name, which may carry an argument (`browsergym:webarena.*`).

    Code that the user names (`module:Class`) is known by this name. The default protocol of its
    class may be code as well. Raises `DataError` if there is none.
    """
    try:
        known, argument = BENCHMARKS.split(name)
        found = BENCHMARKS.make(known, argument or None)
    except UnknownName as error:
        raise DataError(str(error)) from error
    if isinstance(preset := getattr(type(found), "protocol", None), str):
        allow(preset)
    return replace(found, name=name) if ":" in known else found


def benchmark_of(settings: Settings) -> Benchmark:
    """Return the benchmark with the options and settings of a run. Raises `DataError`."""
    found = benchmark(settings.benchmark).with_options(
        settings.benchmark_option, is_given="benchmark_option" in settings.given
    )
    return found.of_run(settings)


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


def actions_of(name: str) -> ActionSpace | None:
    """Return the action space of a benchmark; None if undeclared, or if its package is missing."""
    found = declared(name)
    return found.declared.actions if found else None


def open_benchmark(
    source: str | Benchmark, *, splits: Sequence[str] | None = None, data: Path | None = None
) -> Dataset[Any]:
    """Open a benchmark, by its name or as it is for a run; see `Benchmark.open`."""
    found = benchmark(source) if isinstance(source, str) else source
    opened = found.open(splits=splits, data=data)
    return replace(opened, declared=opened.declared or found.declared)


def step_benchmark(name: str) -> StepBenchmark:
    """Return the benchmark of recorded steps of that name. Raises `DataError` if there is none."""
    from harness.benchmarks.step.benchmark import StepBenchmark

    found = benchmark(name)
    if not isinstance(found, StepBenchmark):
        raise DataError(f"{name} has no recorded steps; choose a benchmark that has")
    return found


def open_steps(
    name: str, *, splits: Sequence[str] | None = None, data: Path | None = None
) -> StepDataset:
    """Open a benchmark of recorded steps by name. Raises `DataError`."""
    return step_benchmark(name).open(splits=splits, data=data)
