"""Our protocols as tasks of Inspect AI.

    inspect eval harness/mm_mind2web --model openai/gpt-5.4 -T protocol=seeact-two-rounds

Arguments are the settings of `vlm-eval run`, except those with an option of inspect. A sample is a
unit, an epoch a repeat; the solver runs the protocol's dialogue with a `generate()` for each call,
and the metrics are a run's, with its intervals. inspect finds this module through its entry point
in an installed package (docs/inspect.md).
"""

from __future__ import annotations

from typing import Any

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError

from harness.bridge.solving import bridged


@task
def mm_mind2web(**settings: Any) -> Task:
    """Multimodal-Mind2Web: the next action on recorded web pages."""
    if "benchmark" in settings:
        raise PrerequisiteError("-T benchmark: give it to the task harness/benchmark")
    return bridged({"benchmark": "multimodal-mind2web", **settings})


@task
def benchmark(**settings: Any) -> Task:
    """Any benchmark of recorded units: `-T benchmark=NAME`, as `vlm-eval benchmarks` lists them."""
    return bridged(settings)
