"""Published rows: figures copied by hand, the checks of the file, and what compares with what."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.protocols import open_protocol
from harness.runs import open_run
from reports.published import (
    Keys,
    Published,
    PublishedError,
    keys_of,
    published_beside,
    published_rows,
    published_table,
    read_rows,
    what_differs,
)
from reports.published import beside as module
from reports.published.source import PATH
from tests.reports.runs import setup, worked, write

TASK, SITE, DOMAIN = "test_task", "test_website", "test_domain"
COPIED = [
    ("seeact-2", "FLAN-T5-XL (tuned)", TASK, "step_success", 0.535),
    ("seeact-2", "FLAN-T5-XL (tuned)", DOMAIN, "element", 0.414),
    ("seeact-2", "BLIP-2-T5-XL (tuned)", SITE, "operation_f1", 0.693),
    ("seeact-2", "GPT-3.5", DOMAIN, "step_success", 0.241),
    ("seeact-2", "GPT-4", TASK, "element", 0.408),
    ("seeact-2", "CogAgent", SITE, "step_success", 0.134),
    ("seeact-2", "SeeAct, LLaVA-1.5", DOMAIN, "operation_f1", 0.639),
    ("seeact-2", "SeeAct, Gemini Pro Vision", TASK, "step_success", 0.196),
    ("seeact-2", "SeeAct, GPT-4V, choices", TASK, "element", 0.464),
    ("seeact-2", "SeeAct, GPT-4V, choices", SITE, "step_success", 0.324),
    ("seeact-2", "SeeAct, GPT-4V, choices", DOMAIN, "step_success", 0.368),
    ("seeact-2", "SeeAct, GPT-4V, oracle grounding", SITE, "element", 0.695),
    ("seeact-2", "SeeAct, GPT-4V, oracle grounding", DOMAIN, "operation_f1", 0.736),
    ("seeact-grounding", "SeeAct, GPT-4V, attributes", TASK, "step_success", 0.161),
    ("seeact-grounding", "SeeAct, GPT-4V, annotation", SITE, "step_success", 0.139),
    ("seeact-grounding", "SeeAct, GPT-4V, choices", DOMAIN, "step_success", 0.42),
    ("seeact-grounding", "SeeAct, GPT-4V, oracle grounding", SITE, "step_success", 0.65),
    ("mind2web-2", "Classification, DeBERTa-B", SITE, "element", 0.216),
    ("mind2web-2", "Generation, Flan-T5-B", DOMAIN, "task_success", 0.004),
    ("mind2web-2", "MindAct, Flan-T5-B", TASK, "operation_f1", 0.768),
    ("mind2web-2", "MindAct, Flan-T5-L", TASK, "task_success", 0.071),
    ("mind2web-2", "MindAct, Flan-T5-L", SITE, "element", 0.392),
    ("mind2web-2", "MindAct, Flan-T5-XL", SITE, "task_success", 0.051),
    ("mind2web-2", "MindAct, Flan-T5-XL", DOMAIN, "step_success", 0.396),
    ("mind2web-2", "GPT-3.5, three examples", DOMAIN, "element", 0.216),
    ("mind2web-2", "GPT-4, three examples", SITE, "operation_f1", 0.511),
    ("mind2web-2", "GPT-4, three examples", DOMAIN, "task_success", 0.02),
    ("mind2web-recall", "DeBERTa-B ranker, recall at 50", SITE, "recall", 0.853),
    ("mind2web-5", "MindAct, Flan-T5-B", DOMAIN, "step_success", 0.313),
    ("mind2web-5", "MindAct, Flan-T5-L", SITE, "step_success", 0.357),
    ("mind2web-5", "MindAct, Flan-T5-XL", TASK, "step_success", 0.519),
    ("mind2web-7", "MindAct, Flan-T5-B", SITE, "step_success", 0.253),
    ("mind2web-7", "MindAct, Flan-T5-L", DOMAIN, "step_success", 0.276),
    ("mind2web-7", "MindAct, Flan-T5-XL", TASK, "step_success", 0.479),
    ("mind2web-7", "GPT-3.5", DOMAIN, "step_success", 0.167),
    ("mind2web-7", "GPT-4", SITE, "step_success", 0.301),
    ("rabbit", "claude-3-5-sonnet-20240620", "unstated", "element", 0.5005),
    ("rabbit", "gemini-1.5-flash-001", "unstated", "task_success", 0.03),
    ("rabbit", "claude-3-opus", "unstated", "operation_f1", 0.8048),
    ("rabbit", "claude-3-sonnet", "unstated", "step_success", 0.277),
    ("rabbit", "gpt-4o", "unstated", "operation_f1", 0.6239),
    ("rabbit", "gemini-1.5-pro-001", "unstated", "task_success", 0.0),
    ("rabbit", "claude-3-haiku", "unstated", "step_success", 0.2068),
    ("autowebglm", "GPT-3.5", TASK, "step_success", 0.174),
    ("autowebglm", "HTML-T5-XL", DOMAIN, "step_success", 0.671),
    ("autowebglm", "LLaMA2-7B", SITE, "step_success", 0.471),
    ("autowebglm", "LLaMA2-70B", TASK, "step_success", 0.558),
    ("autowebglm", "Qwen-VL", DOMAIN, "step_success", 0.08),
    ("autowebglm", "SeeClick", SITE, "step_success", 0.188),
    ("autowebglm", "AutoWebGLM", TASK, "step_success", 0.664),
]


@pytest.mark.parametrize(("source", "model", "split", "measure", "value"), COPIED)
def test_figures_are_those_printed(
    source: str, model: str, split: str, measure: str, value: float
) -> None:
    rows = [r for r in published_rows() if (r.source, r.model, r.split) == (source, model, split)]
    assert [row.values[measure] for row in rows] == [value]


def test_every_source_has_all_its_rows() -> None:
    counts: dict[str, int] = {}
    for row in published_rows():
        counts[row.source] = counts.get(row.source, 0) + len(row.values)
    assert counts == {
        "seeact-2": 9 * 9,
        "seeact-grounding": 4 * 3,
        "mind2web-2": 6 * 12 + 3,
        "mind2web-recall": 3,
        "mind2web-5": 9,
        "mind2web-7": 15,
        "rabbit": 7 * 4,
        "autowebglm": 9 * 3,
    }


def test_figures_that_two_tables_share_agree() -> None:
    found = {
        (r.source, r.model, r.split): r.values["step_success"]
        for r in published_rows()
        if "step_success" in r.values
    }
    for split in (TASK, SITE, DOMAIN):
        oracle = "SeeAct, GPT-4V, oracle grounding"
        assert found["seeact-2", oracle, split] == found["seeact-grounding", oracle, split]
        xl = found["mind2web-2", "MindAct, Flan-T5-XL", split]
        assert xl == found["autowebglm", "Flan-T5-XL", split]
        gpt = found["mind2web-2", "GPT-4, three examples", split]
        assert gpt == found["mind2web-7", "GPT-4", split] == found["autowebglm", "GPT-4", split]


def test_spreads_and_inferred_keys_are_kept() -> None:
    rows = {(r.source, r.model, r.split): r for r in published_rows()}
    assert rows["mind2web-5", "MindAct, Flan-T5-B", SITE].spread == 0.008
    assert rows["seeact-2", "GPT-4", TASK].inferred == ("invalid", "average")
    assert rows["rabbit", "gpt-4o", "unstated"].keys.f1 == "cl100k-lc"


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('measures = ["element", "operation_f1", "step_success"]', 'measures = ["luck"]', "luck"),
        ("[[57.1, 75.7, 53.5],", "[", "cells"),
        ("57.1", "571.0", "outside"),
        ('f1 = "mind2web"', 'f1 = "bleu"', "bleu"),
        ('table = "Table 2"', 'tabel = "Table 2"', "tabel"),
        ("spreads = [0.7, 0.8, 0.5]", "spreads = [0.7]", "spreads"),
        ('model = "Qwen-VL"', 'model = "SeeClick"', "twice"),
        ("[[source]]", "[[source", "cannot be read"),
        ("[57.1, 75.7, 53.5]", "[]", "numbers"),
    ],
)
def test_the_file_is_checked(tmp_path: Path, old: str, new: str, named: str) -> None:
    path = tmp_path / "rows.toml"
    path.write_text(PATH.read_text("utf-8").replace(old, new), "utf-8")
    with pytest.raises(PublishedError, match=named):
        read_rows(path)


def test_what_is_unstated_equals_nothing() -> None:
    keys = Keys("p", "c", "unstated", "macro", "mind2web")
    assert what_differs(keys, keys) == ("invalid",)


def test_keys_of_a_run(tmp_path: Path) -> None:
    made = setup(benchmark="multimodal-mind2web", invalid="fail")
    run = open_run(write(tmp_path / "run", worked(), made))
    expected = Keys("multimodal-mind2web", "snapshot 1+20, seed 1", "fail", "macro", "mind2web")
    assert keys_of(run, "macro") == expected
    assert keys_of(run, "micro", "exclude", "cl100k-lc")[2:] == ("exclude", "micro", "cl100k-lc")
    part = write(tmp_path / "part", worked(), setup(benchmark="b", limit=3))
    assert keys_of(open_run(part), "macro").population == "a part of b"
    open_one = write(tmp_path / "open", worked()[:3], setup(benchmark="b"), complete=False)
    assert keys_of(open_run(open_one), "macro").population == "the finished part of b"
    tilde = write(tmp_path / "tilde", worked(), setup(benchmark="mm-mind2web-tilde"))
    assert keys_of(open_run(tilde), "macro").candidates == "snapshot 1+20, as stored"


def _like(split: str, **keys: str) -> Published:
    own = Keys("b", "snapshot 1+20, seed 1", "exclude", "macro", "mind2web")._replace(**keys)
    return Published("s", "Paper", "T", "m", split, {"element": 0.5}, None, own, (), "")


def test_rows_stand_beside_a_run_only_where_all_keys_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = setup(benchmark="b", dataset={"splits": ["test_website"]})
    run = write(tmp_path / "run", worked(), made)
    rows = (_like(SITE), _like(TASK), _like(SITE, average="micro", f1="cl100k-lc"))
    monkeypatch.setattr(module, "published_rows", lambda: rows)
    alike, apart = published_beside(run)
    assert alike["alike"].tolist() == ["run"]
    assert apart["differs"].tolist() == ["split", "average, f1"]
    alike, apart = published_beside(run, average="micro", f1="cl100k-lc")
    assert alike["average"].tolist() == ["micro"]
    assert apart["differs"].tolist() == ["average, f1", "average, f1, split"]


ALIKE = [
    ("mindact-choice", 50, "mind2web", "mind2web-2", "MindAct, Flan-T5-XL"),
    ("seq2seq", 50, "mind2web", "mind2web-5", "MindAct, Flan-T5-B"),
    ("mindact-generate", 50, "mind2web", "mind2web-2", "Generation, Flan-T5-B"),
    ("classify", 50, "mind2web", "mind2web-2", "Classification, DeBERTa-B"),
    ("seeact-choice", 50, "multimodal-mind2web", "seeact-2", "SeeAct, GPT-4V, choices"),
]


@pytest.mark.parametrize(("protocol", "top_k", "benchmark", "source", "model"), ALIKE)
def test_runs_of_a_published_protocol_stand_beside_its_rows(
    tmp_path: Path, protocol: str, top_k: int, benchmark: str, source: str, model: str
) -> None:
    told = open_protocol(protocol).candidate_description("ranker", top_k)

    def beside(name: str, **changes: object) -> list[tuple[str, str, str]]:
        asked = {"candidates": "ranker", "top_k": top_k, "candidates_told": told}
        made = setup(
            **{"benchmark": benchmark, "invalid": "fail", **asked, **changes},
            dataset={"splits": [TASK]},
        )
        rows, _ = published_beside(write(tmp_path / name, worked(), made))
        return list(zip(rows["source"], rows["model"], rows["split"], strict=True))

    found = beside("run")
    assert (source, model, TASK) in found
    assert {split for _, _, split in found} == {TASK}
    assert beside("excluding", invalid="exclude") == []
    assert beside("lexical", candidates_told=f"{told}, by lexical") == []
    assert beside("part", limit=50) == []


@pytest.mark.parametrize(
    ("protocol", "options"),
    [
        ("seeact-annotation", {}),
        ("seeact-attributes", {}),
        ("coordinates", {}),
        ("seeact-choice", {"cut": "fixed"}),
        ("seeact-choice", {"final": "true"}),
        ("seeact-choice", {"batch_size": "10"}),
    ],
)
def test_another_grounding_or_cut_is_not_beside_the_textual_choices(
    tmp_path: Path, protocol: str, options: dict[str, object]
) -> None:
    told = open_protocol(protocol, {}, options).candidate_description("ranker", 50)
    asked = {"candidates": "ranker", "top_k": 50, "candidates_told": told, "invalid": "fail"}
    made = setup(benchmark="multimodal-mind2web", dataset={"splits": [TASK]}, **asked)
    alike, _ = published_beside(write(tmp_path / "run", worked(), made))
    assert alike.empty


def test_protocols_on_a_snapshot_are_told_apart(tmp_path: Path) -> None:
    words = {}
    for told in (None, "snapshot, one list", "snapshot, tournament of five"):
        made = setup(benchmark="b", candidates="snapshot", candidates_told=told)
        run = open_run(write(tmp_path / str(told), worked(), made))
        words[told] = keys_of(run, "macro").candidates
    assert words[None] == words["snapshot, one list"] == "snapshot 1+20, seed 1"
    assert words["snapshot, tournament of five"] == "snapshot 1+20, seed 1, tournament of five"


def test_runs_that_differ_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = {"splits": [SITE]}
    a = write(tmp_path / "a", worked(), setup(benchmark="b", dataset=data))
    b = write(tmp_path / "b", worked(), setup(benchmark="b", invalid="fail", dataset=data))
    monkeypatch.setattr(module, "published_rows", lambda: (_like(SITE, f1="cl100k-lc"),))
    table = published_table([a, b])
    assert table["differs"].tolist() == ["f1 (a); invalid, f1 (b)"]
    assert table["alike"].tolist() == [""]


def test_no_published_row_compares_with_a_snapshot_of_our_own(tmp_path: Path) -> None:
    made = setup(benchmark="multimodal-mind2web", invalid="fail", dataset={"splits": [TASK]})
    alike, apart = published_beside(write(tmp_path / "run", worked(), made))
    assert alike.empty
    assert len(apart) == len(published_rows())
    assert apart["differs"].str.contains("candidates").all()


def test_the_order_is_that_of_the_sources() -> None:
    table = published_table()
    assert table["model"].tolist() == [row.model for row in published_rows()]
    assert "differs" not in table
