"""Questions prepared in the workers are those prepared in this process, in the same order."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
from collections.abc import Callable, Iterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.errors import DataError, UserError
from harness.evaluation import ahead as module
from harness.evaluation.ahead import ahead
from harness.evaluation.plan import Plan, plan_run
from harness.evaluation.units import Apart, Question
from harness.settings import Settings
from harness.workers import Job, Workers
from tests.harness.benchmarks._conversations import conversations
from tests.harness.benchmarks._conversations import written as written_conversations
from tests.harness.benchmarks._files import task, write


@pytest.fixture
def worth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WORTH", 0)


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    made = Workers(2)
    yield made
    made.close()


def planned(**settings: Any) -> Plan:
    settings = {"model": "random", "benchmark": "sample", "splits": ("dev",)} | settings
    return plan_run(Settings(preflight=False, cache=False, **settings), asks=False)


def prepared(plan: Plan, workers: Workers) -> list[Question]:
    async def all_of_them() -> list[Question]:
        async with aclosing(ahead(plan, plan.dataset, workers)) as questions:
            return [question async for question in questions]

    return asyncio.run(all_of_them())


def plain(question: Question) -> Any:
    """Everything in a question that says something."""
    return question.record, question.asked, question.secret, question.sources, question.outcome


CASES: dict[str, dict[str, Any]] = {
    "two rounds": {},
    "with pictures": {"model": "oracle", "image_policy": "full"},
    "whole elements": {"form": "bnid"},
    "everything": {"protocol": "coordinates", "candidates": "all"},
    "earlier actions": {"protocol": "coordinates", "protocol_options": (("form", "seeclick"),)},
    "the lexical ranker": {"candidates": "ranker", "ranker": "lexical", "top_k": 9},
}


@pytest.mark.usefixtures("worth")
@pytest.mark.parametrize("settings", CASES.values(), ids=CASES)
def test_the_workers_prepare_what_this_process_does(
    settings: dict[str, Any], workers: Workers
) -> None:
    plan = planned(**settings)
    assert plan.apart(plan.dataset) is not None
    expected = [plain(question) for question in plan.questions_of(plan.dataset)]
    assert len(expected) > 8
    assert [plain(question) for question in prepared(plan, workers)] == expected
    assert workers.pids


@pytest.mark.usefixtures("worth")
def test_other_editions_and_own_steps_are_prepared_alike(tmp_path: Path, workers: Workers) -> None:
    own = tmp_path / "steps.jsonl"
    own.write_text(
        '{"task": "Buy", "html": "<p id=\'1\'><a id=\'2\'>Buy</a><a id=\'3\'>No</a></p>", '
        '"operation": "click", "positives": ["2"]}\n'
    )
    schema = tmp_path / "schema.toml"
    schema.write_text('data = "steps.jsonl"\nid_attribute = "id"\n')
    told = written_conversations(tmp_path / "told", conversations(2))
    for settings in (
        {"benchmark": "steps", "data": str(schema), "splits": ()},
        {
            "benchmark": "mt-mind2web",
            "data": str(told),
            "splits": (),
            "protocol": "classify",
            "candidates": "ranker",
            "ranker": "lexical",
            "top_k": 3,
        },
    ):
        plan = planned(**settings)
        assert plan.apart(plan.dataset) is not None
        expected = [plain(question) for question in plan.questions_of(plan.dataset)]
        assert [plain(question) for question in prepared(plan, workers)] == expected


@pytest.mark.usefixtures("worth")
def test_a_page_that_a_dialogue_looks_at_stays_in_this_process(workers: Workers) -> None:
    plan = planned(protocol="mindact-choice", candidates="ranker", ranker="lexical")
    assert plan.apart(plan.dataset) is None
    assert len(prepared(plan, workers)) == len(plan.dataset)


@pytest.mark.usefixtures("worth")
def test_rows_before_a_broken_one_are_asked_about_first(tmp_path: Path, workers: Workers) -> None:
    rows = task("a", 12)
    rows[6]["cleaned_html"] = "<p>" * 5_000
    data = write(tmp_path / "test_task.parquet", rows)
    plan = planned(benchmark="multimodal-mind2web", splits=(), data=str(data), distractors=5)
    seen: list[str] = []

    async def until_it_breaks() -> None:
        async with aclosing(ahead(plan, plan.dataset, workers)) as questions:
            async for question in questions:
                seen.append(question.unit_id)

    with pytest.raises(DataError, match=r"row 7: .*; --skip-bad-rows counts"):
        asyncio.run(until_it_breaks())
    assert seen == [entry.unit_id for entry in plan.dataset.entries[:6]]


class Lethal:
    """Prepares pages, one of which kills whoever reads it."""

    def __init__(self, prepare: Callable[[Any], list[Any]], doomed: str) -> None:
        self._prepare, self._doomed = prepare, doomed

    def __call__(self, units: list[Any]) -> list[Any]:
        if any(entry.unit_id == self._doomed for entry, _ in units):
            os.kill(os.getpid(), signal.SIGKILL)
        return self._prepare(units)


@pytest.mark.usefixtures("worth")
@pytest.mark.parametrize("skip", [False, True])
def test_a_row_over_which_workers_die_is_told_and_no_other(
    skip: bool, tmp_path: Path, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = write(tmp_path / "test_task.parquet", task("a", 9))
    settings = {"benchmark": "multimodal-mind2web", "splits": (), "data": str(data)}
    plan = planned(**settings, distractors=5, skip_bad_rows=skip)
    doomed = plan.dataset.entries[2].unit_id
    usual = plan.apart(plan.dataset)
    assert usual is not None and usual.job.code is not None
    job = Job.of(Lethal(pickle.loads(usual.job.code), doomed))  # noqa: S301
    assert job is not None

    def apart(self: Plan, dataset: Any) -> Apart:
        made = self.kind.apart(dataset, self.selected.tasks, self.model.info, is_policy=True)
        assert made is not None
        return replace(made, job=job)

    monkeypatch.setattr(Plan, "apart", apart)
    if not skip:
        with pytest.raises(UserError, match=r"row 3: preparing it ended two worker processes"):
            prepared(plan, workers)
        return
    questions = prepared(plan, workers)
    assert [q.unit_id for q in questions] == [e.unit_id for e in plan.dataset.entries]
    assert [q.record.invalid for q in questions].count("unreadable_row") == 1
    assert questions[2].record.error is not None
    assert "row 3: preparing it ended two worker processes" in questions[2].record.error


def test_no_process_is_started_for_a_few_units() -> None:
    workers = Workers(2)
    try:
        plan = planned()
        assert len(prepared(plan, workers)) == len(plan.dataset)
        assert workers.pids == ()
    finally:
        workers.close()
