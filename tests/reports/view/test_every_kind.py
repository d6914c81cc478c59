"""The page of every kind of unit, in Chromium: each view, each way to sort, and no error."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import harness
from harness.benchmarks import BENCHMARKS, BUILT_IN, declared
from harness.protocols import PROTOCOLS
from harness.runs import open_run
from tests.extensions import test_judge as judging
from tests.extensions.made_up import known
from tests.harness.benchmarks import _autowebbench as prompts
from tests.harness.benchmarks.question.test_own import png
from tests.harness.benchmarks.question.test_turns import TALK
from tests.harness.commands.tool import call, isolate
from tests.reports.kinds.episode.worlds import forms
from tests.reports.view.conftest import Watched
from tests.reports.view.pages import page
from tests.test_made_up_kind import ReadTheSign

QUESTIONS: list[dict[str, Any]] = [
    {"id": "a", "image": "till.png", "question": "Who?", "answers": ["Ann"], "metric": "anls"},
    {"id": "b", "image": "till.png", "question": "Which?", "options": ["x", "y"], "answer": 1},
    {"id": "c", "question": "How many?", "answers": [3], "metric": "number"},
    {"id": "d", "question": "Where?", "answers": ["in Ulm"], "metric": "f1"},
]
UNITS = 4
"""Units on each page."""
Runs = Mapping[str, Callable[[Path], Path]]


def evaluated(model: str, benchmark: str, **settings: Any) -> Callable[[Path], Path]:
    def run(out: Path) -> Path:
        harness.evaluate(model, benchmark=benchmark, out=str(out), progress="off", **settings)
        return out

    return run


def asked(*rows: Mapping[str, Any]) -> Callable[[Path], Path]:
    """A run over questions of one's own, whose answers are right, wrong or unreadable."""

    def run(out: Path) -> Path:
        data = out.with_name(f"{out.name}-data")
        data.mkdir()
        (data / "till.png").write_bytes(png())
        (data / "questions.toml").write_text('name = "till"\nmetric = "contains"\n')
        (data / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
        return evaluated(
            "scripted:tests.reports.view.test_every_kind:answer",
            "question-items",
            data=str(data),
        )(out)

    return run


def answer(request: Any) -> str:
    """Answer like somebody who knows a part."""
    text = request.conversation.messages[-1].text
    words = {"Who": "An", "Which": "B", "many": "3", "Where": "Ulm", "What": "a lamp", "price": ""}
    return next((said for word, said in words.items() if word in text), "ANSWER: A")


def stored(out: Path) -> Path:
    data = str(out.with_name("stored.parquet"))
    assert (
        call("data", "snapshot", "-b", "sample", "--split", "dev", "--limit", "1", "-o", data).code
        == 0
    )
    return evaluated("lexical", "snapshot", data=data)(out)


def prompted(out: Path) -> Path:
    data = prompts.write(out.with_name("prompts"))
    return evaluated("random", "autowebbench", data=str(data))(out)


def judged(out: Path) -> Path:
    evaluated("oracle", "judged-signs", judge=judging.JUDGE)(out)
    (path,) = (out / "judgments").iterdir()
    return path


RUNS: Runs = {
    "step": evaluated("lexical", "sample", limit=1, split="dev"),
    "step without answers": evaluated(
        "scripted:tests.reports.view.test_every_kind:no", "sample", limit=1, split="dev"
    ),
    "snapshot": stored,
    "conversation": evaluated("oracle", "mt-sample", limit=1),
    "prompt": prompted,
    "grounding": evaluated("random", "sample-grounding", limit=1),
    "question": evaluated("random", "sample-questions", limit=1),
    "question of one's own": asked(*QUESTIONS),
    "question in turns": asked(TALK, *QUESTIONS),
    "screen-step": evaluated("random", "sample-screens", limit=1),
    "episode": forms,
    "trajectory": judged,
    "sign": evaluated("oracle", "judged-signs"),
}


def no(request: Any) -> str:
    return "I cannot say."


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page for each of the runs."""
    root = tmp_path_factory.mktemp("every-kind")
    with pytest.MonkeyPatch.context() as patch:
        isolate(patch, root)
        for registry, name, thing in (
            (BENCHMARKS, "judged-signs", judging.JudgedSigns),
            (PROTOCOLS, "read-the-sign", ReadTheSign),
            (PROTOCOLS, "three-stages", judging.ThreeStages),
        ):
            known(patch, registry, name, thing)
        runs = [run(root / str(number)) for number, run in enumerate(RUNS.values())]
        kinds = {open_run(run).manifest.declaration.kind for run in runs}
        ours = {one.declared.kind for name in BUILT_IN if (one := declared(name)) is not None}
        assert kinds == {*ours, "sign"}, "each kind of unit has a run here"
        for number, run in enumerate(runs):
            page([run], root / f"page-{number}", count=UNITS)
    return root


@pytest.mark.browser
@pytest.mark.parametrize("number", range(len(RUNS)), ids=RUNS)
def test_every_view_of_every_kind_opens_without_an_error(
    pages: Path, browser: Any, number: int
) -> None:
    folder = pages / f"page-{number}"
    watched = Watched(browser.new_page(), (folder.as_uri(),))
    tab = watched.tab
    tab.goto(f"{folder.as_uri()}/index.html")

    def go(route: str, shown: str) -> None:
        tab.evaluate("route => { location.hash = route }", route)
        tab.locator(shown).first.wait_for()

    go("#/", "#view-summary")
    go("#/compare", "#view-compare")
    go("#/steps", "#grid-space a.row")
    # Each way to sort and each filter, both of which read what every unit has.
    offered = "all => all.filter(one => one.options.length > 1).map(one => [one.id, one.value])"
    for field, value in tab.locator("#view-steps select").evaluate_all(offered):
        one = tab.locator(f"[id='{field}']")
        for option in one.locator("option").evaluate_all("all => all.map(one => one.value)"):
            one.select_option(value=option, force=True)
        one.select_option(value=value, force=True)
    tab.locator("[role=columnheader] button").last.click()
    assert tab.locator("#grid-space a.row").count() > 0
    for unit in tab.evaluate("VLM.steps.map(step => step.id)"):
        go(f"#/step/{quote(unit, safe='')}", "#view-step .stephead")
    task = tab.evaluate("VLM.list.tasks[0][0]")
    go(f"#/task/{quote(task, safe='')}", "#view-task h1")
    tab.close()
    assert watched.wrong == []
