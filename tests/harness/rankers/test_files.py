from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.candidates import page_of
from harness.errors import DataError
from harness.rankers import RankedStep, RankTable, check_covered, open_ranks, write_ranks
from tests.harness.rankers.steps import step

IDS = ["b0", "b1", "b2", "b3"]


def order(path: Path) -> list[str]:
    row = step(buttons=4, positive="b2")
    return list(open_ranks(str(path)).of(row, page_of(row)))[:4]


def written(path: Path, text: object) -> Path:
    path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return path


RANKS = {"b0": 3, "b1": 0, "b2": 1, "b3": 2}
SCORES = {"b0": -4.5, "b1": 9, "b2": 0.25, "b3": 1e-3}


@pytest.mark.parametrize(
    "shape",
    [
        {"ranks": {"t_u": RANKS}},
        {"scores": {"t_u": SCORES}},
        {"scores": {"t_u": {"b0": 1}}, "ranks": {"t_u": RANKS}},
        {"sample_id": "t_u", "ranks": RANKS, "scores": {"b0": 1}},
        {"sample_id": "t_u", "scores": SCORES, "ranks": None, "note": "x"},
    ],
)
def test_json_in_every_shape_gives_the_order(tmp_path: Path, shape: dict[str, object]) -> None:
    assert order(written(tmp_path / "r.json", shape)) == ["b1", "b2", "b3", "b0"]


def test_candidates_without_a_number_come_last_and_others_are_left_out(tmp_path: Path) -> None:
    path = written(tmp_path / "r.json", {"ranks": {"t_u": {"b3": 1, "b2": 7, "gone": 0}}})
    assert order(path) == ["b3", "b2", "b0", "b1"]


def test_equal_scores_go_by_the_page_and_not_by_the_answer(tmp_path: Path) -> None:
    path = written(tmp_path / "r.json", {"scores": {"t_u": dict.fromkeys(IDS, 1.0)}})
    assert order(path) == IDS


def test_missing_steps_are_listed(tmp_path: Path) -> None:
    ranks = open_ranks(str(written(tmp_path / "r.json", {"ranks": {"t_u": RANKS}})))
    assert ranks.missing(["a", "t_u", "b"]) == ["a", "b"]
    with pytest.raises(DataError, match=r"r\.json has no ranks for 2 of 3 selected steps: a, b"):
        check_covered(ranks, ["a", "t_u", "b"])
    row = step(action_uid="v")
    with pytest.raises(DataError, match=r"r\.json has no ranks for step t_v"):
        ranks.of(row, page_of(row))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "not JSON of scores"),
        ('{"scores": {"t_u": ' + "[" * 100_000 + "]" * 100_000 + "}}", "recursion"),
        ('{"x": ' + "[" * 100_000 + "]" * 100_000 + "}", "recursion"),
        ("{", "not JSON of scores"),
        ("[1]", "not JSON of scores"),
        ('{"a": 1}', "neither 'ranks' nor 'scores'"),
        ('{"ranks": 3}', "not JSON of scores"),
        ('{"ranks": {"t_u": {"b0": "first"}}}', "step t_u: .*float"),
        ('{"ranks": {"t_u": {"x": 1}}}', "none of the .* candidates is in it"),
    ],
)
def test_other_files_are_refused_with_one_line(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint) as raised:
        order(written(tmp_path / "r.json", text))
    assert "\n" not in str(raised.value)


def test_a_pickle_is_never_read_in_a_run(tmp_path: Path) -> None:
    for name, content in (("scores.pkl", b"x"), ("scores.bin", b"\x80\x04."), ("s.json", b"\x80")):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(DataError, match="vlm-eval rankers convert"):
            open_ranks(str(path))


def test_parquet_of_something_else_is_refused(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": [1]}), tmp_path / "x.parquet")
    with pytest.raises(DataError, match="no columns 'step_id', 'ids'"):
        open_ranks(str(tmp_path / "x.parquet"))


@given(
    st.lists(
        st.tuples(
            st.permutations(IDS), st.none() | st.just([0, 2, 3, 9]), st.none() | st.just([3.5] * 4)
        ),
        max_size=9,
    ),
    st.sampled_from([1, 30]),
)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    stored: list[tuple[list[str], list[int] | None, list[float] | None]],
    times: int,
) -> None:
    path = tmp_path_factory.getbasetemp() / "ranks.parquet"
    # More steps than a row group holds.
    entries = [RankedStep(f"s{n}", *one) for n, one in enumerate(stored * times)]
    assert write_ranks(path, {"ranker": "x"}, entries, overwrite=True) == len(entries)
    read = RankTable(path)
    assert read.name == "x" and not read.missing([entry.step_id for entry in entries])
    for entry in reversed(entries):
        assert read.entry(entry.step_id) == entry
        values = read.values(entry.step_id)
        assert values is not None and sorted(values, key=values.__getitem__) == list(entry.ids)


def test_a_step_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    write_ranks(path, {}, [RankedStep("s", ["a"]), RankedStep("s", ["a"])])
    with pytest.raises(DataError, match="has step s twice"):
        RankTable(path)


def test_the_digest_is_that_of_the_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import hashlib

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = written(tmp_path / "r.json", {"ranks": {"t_u": RANKS}})
    assert open_ranks(str(path)).digest == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_file_says_who_made_its_ranks(tmp_path: Path) -> None:
    write_ranks(tmp_path / "r.parquet", {"ranker": "lexical"}, [RankedStep("s", ["a"])])
    for name, content, expected in (
        ("a.json", {"ranks": {"t_u": RANKS}}, "a"),
        ("b.json", {"ranker": "mind2web", "ranks": {"t_u": RANKS}}, "mind2web"),
        ("r.parquet", None, "lexical"),
    ):
        path = tmp_path / name if content is None else written(tmp_path / name, content)
        assert open_ranks(str(path)).name == expected
