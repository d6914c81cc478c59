from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.benchmarks import open_steps
from harness.candidates import page_of
from harness.errors import DataError
from harness.ranker_models.seeact_queries import import_queries
from harness.rankers import open_ranks
from harness.rankers.files import RankTable
from harness.records import Row
from tests.harness.benchmarks._files import candidate, page, shared_data
from tests.units import changed

STEP = "725d96cd-9283-4ec7-b902-d003503f2d6b_c69cbea4-7231-42f7-b5fc-e0fac8f781e9"


def only_row(path: Path) -> Row:
    (row,) = open_steps("multimodal-mind2web", data=path).rows()
    return row


def test_the_recorded_queries_are_the_step_of_the_data_set(tmp_path: Path) -> None:
    folder = shared_data("seeact-example/textual_choice")
    done = import_queries([folder], tmp_path / "s.parquet", tmp_path / "r.parquet")
    assert done == (3, 1, 1)
    ours = only_row(tmp_path / "s.parquet")
    theirs = only_row(shared_data("seeact-example/multimodal_mind2web_row.parquet"))
    # What the queries do not hold: the picture, where the site belongs, and the later history,
    # of which this action is the first part.
    same = changed(
        theirs,
        screenshot=None,
        domain="",
        subdomain="",
        total_steps=3,
        source=ours.source,
        told="",
        invalid="no_screenshot",
        problems=("no_screenshot",),
    )
    assert ours == same
    told = json.loads(shared_data("seeact-example/candidate_scores.json").read_text())
    entry = RankTable(tmp_path / "r.parquet").entry(STEP)
    assert entry.ranks is not None and entry.scores is not None
    assert dict(zip(entry.ids, entry.ranks, strict=True)) == told["ranks"]
    assert dict(zip(entry.ids, entry.scores, strict=True)) == pytest.approx(told["scores"])


def test_the_ranks_order_the_candidates_of_the_data_set(tmp_path: Path) -> None:
    folder = shared_data("seeact-example/textual_choice")
    import_queries([folder], tmp_path / "s.parquet", tmp_path / "r.parquet")
    row = only_row(shared_data("seeact-example/multimodal_mind2web_row.parquet"))
    expected = json.loads(shared_data("seeact-example/expected.json").read_text())
    order = open_ranks(str(tmp_path / "r.parquet")).of(row, page_of(row))
    asked = {node_id for batch in expected["batches"] for node_id in batch["choice_ids"]}
    assert set(order[:50]) == asked and order[2] == "8635" and len(order) == 468
    stored = str(shared_data("seeact-example/candidate_scores.json"))
    assert open_ranks(stored).of(row, page_of(row)) == order


def query(**changes: Any) -> dict[str, Any]:
    def stored(node_id: str, rank: int | None, positive: bool) -> dict[str, Any]:
        return {**json.loads(candidate(node_id, positive=positive)), "rank": rank, "score": 0.5}

    return {
        "annotation_id": "t",
        "action_uid": "u",
        "website": "w",
        "confirmed_task": "Press it",
        "previous_actions": ["[a]  b -> CLICK"],
        "operation": {"op": "CLICK", "original_op": "CLICK", "value": ""},
        "pos_candidates": [stored("b1", 1, True)],
        "neg_candidates": [stored("b0", 0, False), stored("b2", 2, False)],
        "cleaned_html": page(3),
        **changes,
    }


def written(path: Path, *queries: dict[str, Any]) -> Path:
    path.write_text("\n".join(json.dumps(one) for one in queries), encoding="utf-8")
    return path


def test_the_lines_of_a_step_are_joined(tmp_path: Path) -> None:
    other = query(action_uid="v", previous_actions=[])
    source = written(tmp_path / "queries.jsonl", query(choices=[1]), query(choices=[2]), other)
    done = import_queries([source], tmp_path / "s.parquet", tmp_path / "r.parquet")
    assert done == (3, 2, 2)
    rows = list(open_steps("multimodal-mind2web", data=tmp_path / "s.parquet").rows())
    assert [(row.detail.action_uid, row.position, row.detail.history) for row in rows] == [
        ("u", 1, ("[a]  b -> CLICK",)),
        ("v", 0, ()),
    ]


@pytest.mark.parametrize(
    ("queries", "complaint"),
    [
        ([query(), query(confirmed_task="Else")], "line 2: step t_u differs"),
        ([{"annotation_id": "t"}], "line 1 is not a SeeAct query"),
        ([query(operation={"op": "DANCE"})], "line 1: .*DANCE"),
        ([], "no queries in"),
    ],
)
def test_other_lines_are_refused(
    tmp_path: Path, queries: list[dict[str, Any]], complaint: str
) -> None:
    source = written(tmp_path / "queries.jsonl", *queries)
    with pytest.raises(DataError, match=complaint):
        import_queries([source], tmp_path / "s.parquet")
    assert not (tmp_path / "s.parquet").exists()


def test_a_line_that_is_nested_without_end_is_refused(tmp_path: Path) -> None:
    line = json.dumps(query())[:-1] + ', "more": ' + "[" * 100_000 + "]" * 100_000 + "}"
    (tmp_path / "queries.jsonl").write_text(line, encoding="utf-8")
    with pytest.raises(DataError, match=r"line 1 is not a SeeAct query: .*recursion"):
        import_queries([tmp_path / "queries.jsonl"], tmp_path / "s.parquet")


def test_queries_without_ranks_give_steps_but_no_ranks(tmp_path: Path) -> None:
    plain = query()
    for name in ("pos_candidates", "neg_candidates"):
        for one in plain[name]:
            del one["rank"]
    source = written(tmp_path / "queries.jsonl", plain)
    assert import_queries([source], tmp_path / "s.parquet")[2] == 0
    with pytest.raises(DataError, match="no ranks"):
        import_queries([source], tmp_path / "t.parquet", tmp_path / "r.parquet")
    assert not (tmp_path / "r.parquet").exists()
