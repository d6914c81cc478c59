"""Runs on conversations against each other, with differences computed by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

from harness.benchmarks.conversation.mt_mind2web import MT_MIND2WEB, mt_score
from harness.runs import StepUnit
from harness.tables.results import parent_cells
from parsers.records import Gold, Prediction, Status
from reports.comparison.compare import compare_runs
from reports.tables import main_table
from tests.reports.runs import setup, step, write

Outcomes = dict[str, list[str]]
GOLD = Gold("CLICK", "", ("7",))


def steps(outcomes: Outcomes) -> list[StepUnit]:
    """Steps of conversations, as turns of 1 (right) and 0 (wrong)."""
    found = []
    for conversation, turns in outcomes.items():
        for number, turn in enumerate(turns, start=1):
            for place, won in enumerate(turn):
                said = Prediction.of(
                    Status.ANSWERED, "B", "8" if won == "0" else "7", operation="CLICK"
                )
                scores = mt_score(said, GOLD)
                made = step(
                    f"{conversation}{number}", place, won == "1", scores=scores, prediction=said
                )
                parents = {
                    "task": made.parents["task"],
                    "conversation": conversation,
                    "website": "w",
                }
                labels = {**made.labels, "turn": str(number)}
                found.append(replace(made, parents=parents, labels=labels, total=len(turn)))
    return found


def run(folder: Path, name: str, outcomes: Outcomes) -> Path:
    made = replace(setup(model={"name": name}), declaration=MT_MIND2WEB)
    return write(folder / name, steps(outcomes), made)


FIRST = {"a": ["11", "10", "1"], "b": ["0"], "c": ["01", "11"]}
SECOND = {"a": ["11", "11", "0"], "b": ["1"], "c": ["01", "11"]}


def by_conversation(outcomes: Outcomes) -> float:
    return fmean(fmean("0" not in turn for turn in turns) for turns in outcomes.values())


def test_turn_success_differs_by_the_mean_over_conversations(tmp_path: Path) -> None:
    paths = [run(tmp_path, "first", FIRST), run(tmp_path, "second", SECOND)]
    (found,) = compare_runs(paths).others
    (tsr,) = (one for one in found.contrasts if one.metric == "turn_success")
    assert tsr.difference.first == pytest.approx(by_conversation(FIRST))
    assert tsr.difference.difference == pytest.approx(
        by_conversation(SECOND) - by_conversation(FIRST)
    )
    assert tsr.difference.clusters == 3
    (by_turn,) = (one for one in found.contrasts if one.metric == "turn_success_by_turn")
    assert by_turn.difference.difference == pytest.approx(4 / 6 - 3 / 6)


def test_tables_have_the_measures_of_every_turn_and_of_all(tmp_path: Path) -> None:
    path = run(tmp_path, "first", FIRST)
    whole = main_table(path).iloc[0]
    assert whole["turn_success"] == pytest.approx(by_conversation(FIRST))
    assert whole["turn_success_by_turn"] == pytest.approx(3 / 6)
    found = main_table(path, "turn")
    told = found[found["headline"].astype(bool)].set_index("turn")["turn_success"].to_dict()
    assert told == pytest.approx({"1": 1 / 3, "2": 1 / 2, "3": 1.0})


def test_counts_stand_beside_shares_of_all_turns_only(tmp_path: Path) -> None:
    (found,) = main_table(run(tmp_path, "first", FIRST)).attrs["results"]["first"].values()
    by_conversations, by_turns = (
        str(cell).partition(" [")[0] for cell in parent_cells(found, "valid")
    )
    assert by_conversations == f"{100 * by_conversation(FIRST):.1f}"
    assert by_turns == "50.0 (3/6)"
