"""What a protocol is told of the finished turns of a conversation, and what stays on record."""

from __future__ import annotations

import json
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from harness.benchmarks import StepDataset, open_steps
from harness.benchmarks.shows import Shows
from harness.benchmarks.step.history import FinishedTurns
from harness.benchmarks.step.listing import list_steps, offered
from harness.benchmarks.step.options import StepOptions
from harness.candidates import page_of
from harness.pictures import PicturePolicy
from harness.protocols.contract import Needs
from harness.protocols.seeact import TwoRounds
from harness.rankers import open_ranks
from harness.records import Step
from harness.settings import Settings
from tests.harness.benchmarks._conversations import conversations, written
from tests.harness.commands.tool import call, calls, last_lines, summary
from tests.numbers import counts, number

ONE = ("--benchmark", "mt-mind2web", "--data", "data", "--limit", "1", "--ranker", "lexical")
Released = list[dict[str, Any]]


@pytest.fixture(scope="module")
def listed() -> Released:
    return conversations(3)[:3]


def steps_of(dataset: StepDataset, whole: StepDataset | None = None, top_k: int = 5) -> list[Step]:
    protocol: TwoRounds = type("Remembering", (TwoRounds,), {"needs": Needs(turns=True)})()
    options = StepOptions(candidates="ranker", ranker="lexical", top_k=top_k, missed="ask")
    ranks = open_ranks("lexical")
    shows = Shows(Settings(), options, protocol, PicturePolicy("none"), ranks=ranks)
    turns = FinishedTurns(whole or dataset, partial(offered, shows=shows))
    return [listed.view.step for listed in list_steps(dataset, shows, None, turns)]


def by_turn(released: Released) -> dict[tuple[str, int], dict[str, Any]]:
    return {
        (one["task_id"], place): turn for one in released for place, turn in enumerate(one["turns"])
    }


def test_a_step_has_the_turns_before_its_own_and_no_others(
    tmp_path: Path, listed: Released
) -> None:
    turns = by_turn(listed)
    for step in steps_of(open_steps("mt-mind2web", data=written(tmp_path, listed))):
        assert step.info.turn is not None
        before = [turns[step.info.conversation, n] for n in range(step.info.turn)]
        assert [turn.turn_id for turn in step.turns] == [one["annotation_id"] for one in before]
        assert [turn.task for turn in step.turns] == [one["confirmed_task"] for one in before]
        for turn, one in zip(step.turns, before, strict=True):
            assert [action.told for action in turn.actions] == one["action_reprs"]
            assert [(action.operation, action.value) for action in turn.actions] == [
                (action["operation"]["op"], action["operation"]["value"])
                for action in one["actions"]
            ]
            for action, stored in zip(turn.actions, one["actions"], strict=True):
                right = {c["backend_node_id"] for c in stored["pos_candidates"]}
                assert set(action.positives) == right
                assert action.action_uid == stored["action_uid"]


def test_the_candidates_of_an_earlier_action_are_the_first_of_the_ranker(
    tmp_path: Path, listed: Released
) -> None:
    dataset = open_steps("mt-mind2web", data=written(tmp_path, listed))
    (past,) = {
        action.action_uid: action
        for step in steps_of(dataset)[:20]
        for turn in step.turns[:1]
        for action in turn.actions[:1]
    }.values()
    row = dataset.row(dataset.entries[0].unit_id)
    best = open_ranks("lexical").of(row, page_of(row))[:5]
    assert past.candidates == tuple((node_id, place) for place, node_id in enumerate(best))
    page = page_of(row)
    assert past.scene.listing(best).snippet == page.snippet(best).text
    assert past.scene.crop(best) == ()


def test_an_action_without_an_acceptable_element_is_remembered_without_one(
    tmp_path: Path, listed: Released
) -> None:
    steps = steps_of(open_steps("mt-mind2web", data=written(tmp_path, listed)))
    bare = [a for step in steps for turn in step.turns for a in turn.actions if not a.positives]
    assert bare and all(action.told and action.candidates for action in bare)


def test_the_oracle_reaches_everything_that_has_an_acceptable_element(listed: Released) -> None:
    """Steps without one count, and fail: their turn does, too."""
    whole: Released = json.loads(json.dumps(listed[:2]))
    for one in whole:
        for turn in one["turns"]:
            kept = [place for place, a in enumerate(turn["actions"]) if a["pos_candidates"]]
            turn["actions"] = [turn["actions"][place] for place in kept]
            turn["action_reprs"] = [turn["action_reprs"][place] for place in kept]
    for name, data in (("whole", whole), ("lacking", listed[:2])):
        written(Path(name), data)
        run = call(
            *("--benchmark", "mt-mind2web", "--data", name, "--benchmark-option", "candidates=all"),
            *("--protocol", "mindact-choice", "--model", "oracle", "-o", f"{name}-run"),
        )
        assert run.code == 0, run.err
    measures = ("element", "operation_f1", "success", "element_by_conversation", "success_by_turn")
    best = summary("whole-run")
    assert all(number(best, name) == 1.0 for name in measures)
    assert number(best, "turn_success", "parents") == 1.0
    lacking = summary("lacking-run")
    bare = sum(
        not a["pos_candidates"] for o in listed[:2] for t in o["turns"] for a in t["actions"]
    )
    assert bare and lacking["rows"]["not_offered"] == bare
    assert counts(lacking)["n_invalid"] == 0
    assert number(lacking, "turn_success", "parents") < 1.0


def test_ranks_that_miss_an_action_are_named_in_one_line(listed: Released) -> None:
    written(Path("data"), listed)
    first, second = (
        f"{turn['annotation_id']}_{turn['actions'][0]['action_uid']}"
        for turn in listed[0]["turns"][:2]
    )
    ranks = {
        f"{turn['annotation_id']}_{action['action_uid']}": {
            c["backend_node_id"]: place
            for place, c in enumerate((*action["pos_candidates"], *action["neg_candidates"]))
        }
        for turn in listed[0]["turns"]
        for action in turn["actions"]
    }
    del ranks[first]
    Path("scores.pkl").write_bytes(pickle.dumps({"ranks": ranks}))
    assert call("rankers", "convert", "scores.pkl", "-o", "ranks.parquet").code == 0
    few = (*ONE[:-1], "ranks.parquet", "--protocol", "mt-mindact", "--model", "oracle", "-o", "a")
    refused = call(*few)
    assert (refused.code, first in refused.complaint) == (2, True)
    assert "no ranks for 1 of" in refused.complaint
    # A later turn alone, whose memory needs them.
    later = call(*few, "--only", f"step_id={second}", "--progress", "off")
    assert later.code == 2 and first in later.err.splitlines()[-1]
    assert "no ranks for 1 of" in later.err and "earlier steps" in later.err
    assert not Path("a", "calls.jsonl").exists() or not Path("a", "calls.jsonl").read_bytes()
    ranked = call(*ONE[:-1], "lexical", "--protocol", "mt-mindact", "--model", "oracle", "-o", "b")
    assert ranked.code == 0


def test_plain_protocols_see_nothing_of_earlier_turns(listed: Released) -> None:
    """The condition without history: the actions of the same turn, and no others."""
    written(Path("data"), listed)
    told = call(
        *ONE[:-2],
        "--protocol",
        "seeact-two-rounds",
        "--image-policy",
        "none",
        "--model",
        "oracle",
        "-o",
        "a",
    )
    assert told.code == 0
    first, second = listed[0]["turns"][:2]
    of_second = [line["calls"] for line in last_lines("a") if line["labels"]["turn"] == "2"]
    own = {name for names in of_second for name in names}
    asked = "\n".join(
        part for c in calls("a") if c["id"] in own for m in c["messages"] for part in m["parts"]
    )
    assert second["confirmed_task"] in asked and first["confirmed_task"] not in asked
    assert second["action_reprs"][0] in asked
