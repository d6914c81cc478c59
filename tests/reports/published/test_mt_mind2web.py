"""Published rows on MT-Mind2Web beside runs of the protocols that they are about."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.conversation.mt_mind2web import MT_MIND2WEB, MTMind2Web, mt_score
from harness.protocols import open_protocol
from harness.runs import Run
from parsers.records import Gold, Prediction, Status
from reports.published.beside import published_beside
from reports.published.source import published_rows
from tests.reports.runs import setup, step, write

TASK, SITE, SUBDOMAIN = "test_task", "test_website", "test_subdomain"
ADA, GPT = "embedding openai:text-embedding-ada-002", "rationale openai:gpt-3.5-turbo-1106"


@pytest.mark.parametrize(
    ("source", "model", "split", "values"),
    [
        ("mt-mind2web-2", "DeBERTa", SITE, (0.317,)),
        ("mt-mind2web-2", "MindAct, GPT-3.5", SUBDOMAIN, (0.04, 0.229, 0.015, 0.011)),
        ("mt-mind2web-2", "Self-MAP, Flan-T5-B", TASK, (0.562, 0.825, 0.471, 0.247)),
        (
            "mt-mind2web-3",
            "Self-MAP, Flan-T5-B, without rationales",
            SITE,
            (0.489, 0.708, 0.391, 0.181),
        ),
    ],
)
def test_rows_are_as_printed(
    source: str, model: str, split: str, values: tuple[float, ...]
) -> None:
    (row,) = (
        one
        for one in published_rows()
        if (one.source, one.model, one.split) == (source, model, split)
    )
    names = ("element", "operation_f1", "step_success", "turn_success")
    assert [row.values[name] for name in names[: len(values)]] == pytest.approx(values)


def test_every_row_of_both_tables_is_there() -> None:
    found = [row for row in published_rows() if row.source.startswith("mt-mind2web")]
    assert len(found) == 3 * (12 + 4)
    assert all(row.scope.benchmark == "mt-mind2web" for row in found)


WHOLE = MTMind2Web(sizes=(SplitSize(TASK, 2),))
"""One that is as small as the runs of this test."""
CHOICE, WRITTEN = (
    {"f1": "mind2web", "none_rule": "first"},
    {"f1": "mind2web-np", "none_rule": "in words"},
)
LEFT_OUT = "Self-MAP, Flan-T5-B, "
RELEASED = {"remembered": "released"}


@pytest.mark.parametrize(
    ("protocol", "options", "roles", "asked", "model"),
    [
        ("mt-mindact", RELEASED, (), CHOICE, "MindAct, Flan-T5-B"),
        (
            "mt-mindact-car",
            {},
            ("rewrite openai:gpt-3.5-turbo-1106",),
            CHOICE,
            "MindAct + CAR, Flan-T5-L",
        ),
        ("self-map", {}, (ADA, GPT), WRITTEN, "Self-MAP, Flan-T5-L"),
        (
            "self-map",
            {"memory_simplification": "false", **RELEASED},
            (ADA, GPT),
            WRITTEN,
            f"{LEFT_OUT}pages not simplified",
        ),
        (
            "self-map",
            {"memory_refinement": "false"},
            (ADA,),
            WRITTEN,
            f"{LEFT_OUT}without rationales",
        ),
    ],
)
def test_runs_stand_beside_the_rows_of_their_protocol(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    protocol: str,
    options: dict[str, Any],
    roles: tuple[str, ...],
    asked: dict[str, Any],
    model: str,
) -> None:
    monkeypatch.setattr(Run, "benchmark", WHOLE)
    opened = open_protocol(protocol, options=options)
    told = ", ".join((opened.candidate_description("ranker", 50), *roles))
    config = {"candidates": "ranker", "top_k": 50, "candidates_told": told, "history": 5, **asked}
    gold = Gold("CLICK", "", ("7",))
    scores = mt_score(Prediction.of(Status.ANSWERED, "B", "7", operation="CLICK"), gold)
    facts = {"benchmark": "mt-mind2web", "split": TASK, "gold": gold, "scores": scores}
    steps = [step(turn, 0, True, total_steps=1, **facts) for turn in ("a", "b")]
    steps = [
        replace(
            one,
            parents={"task": one.parents["task"], "conversation": "c", "website": "w"},
            labels={**one.labels, "turn": "1"},
        )
        for one in steps
    ]

    def beside(name: str, **changes: Any) -> list[str]:
        made = setup(benchmark="mt-mind2web", none=None, **{**config, **changes})
        rows, _ = published_beside(
            write(tmp_path / name, steps, replace(made, declaration=MT_MIND2WEB))
        )
        return [m for m, split in zip(rows["model"], rows["split"], strict=True) if split == TASK]

    assert model in beside("run")
    assert beside("other ranks", candidates_told=f"{told}, by lexical") == []
    ours = told.replace(", all elements listed", "")
    assert (beside("ours", candidates_told=ours) == []) == ("remembered" in options)
    assert beside("longer", history=10) == []
    assert beside("another f1", f1="cl100k-lc") == []
