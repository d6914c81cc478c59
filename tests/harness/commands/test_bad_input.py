"""Bad input: one line that says what is wrong, exit code 2, and nothing is written."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.benchmarks import sample
from tests.harness.commands.tool import DEV, ONE_TASK, at, call
from tests.servers import WireServer

SAMPLE = ("--benchmark", "sample")
ORACLE = ("--model", "oracle", *ONE_TASK)

RANKED = (*ORACLE, "--benchmark-option", "candidates=ranker")
LEXICAL = (*RANKED, "--ranker", "lexical")
CASES: dict[str, tuple[tuple[str, ...], str]] = {
    "unknown model": (("--model", "orcale", *SAMPLE), "did you mean 'oracle'?"),
    "unknown provider": (("--model", "opnai:gpt-4o", *SAMPLE), "did you mean 'openai'?"),
    "missing key": (("--model", "gpt-4o", *SAMPLE), "OPENAI_API_KEY"),
    "missing key of Anthropic": (("--model", "claude-sonnet-5-5", *SAMPLE), "ANTHROPIC_API_KEY"),
    "local model without a name": (("--model", "hf", *SAMPLE), "name it like hf:"),
    "local option": (
        ("--model", "gpt-4o", *SAMPLE, "--adapter-option", "dtype=float32"),
        "'openai' takes no option 'dtype'",
    ),
    "unknown option": (("--modle", "oracle"), "--model"),
    "unknown command": (("scroe", "run"), "did you mean 'score'?"),
    "no model": (SAMPLE, "name a model with --model"),
    "option before a command": (("--model", "oracle", "score", "x"), "unexpected extra arguments"),
    "unknown benchmark": (("--model", "oracle", "-b", "sampel"), "did you mean 'sample'?"),
    "unknown protocol": ((*ORACLE, "--protocol", "seeact-two-round"), "seeact-two-rounds"),
    "ranker without a name": (
        (*ORACLE, "--benchmark-option", "candidates=ranker"),
        "'seeact-two-rounds' asks about the first 50 candidates of a ranker: name one",
    ),
    "lost rows where none can be": (
        (
            *ORACLE[:2],
            "-b",
            "mind2web",
            "--image-policy",
            "none",
            "--benchmark-option",
            "lost_rows=yes",
        ),
        "--benchmark-option lost_rows has no effect on mind2web",
    ),
    "ranker of a draw": (
        (*ORACLE, "--ranker", "lexical"),
        "add --benchmark-option candidates=ranker",
    ),
    "top k of a draw": (
        (*ORACLE, "--benchmark-option", "top_k=5"),
        "--benchmark-option top_k has no effect unless the first candidates of",
    ),
    "distractors of a ranker": ((*LEXICAL, "-k", "5"), "--distractors has no effect where the"),
    "seed of a ranker": (
        ("--model", "gpt-4o", *LEXICAL[2:], "--seed", "1"),
        "--seed has no effect where the first of a ranker is offered",
    ),
    "more of a ranker than letters": (
        (*LEXICAL, "--benchmark-option", "top_k=999"),
        "--benchmark-option top_k=999 are too many: no option letter",
    ),
    "none of a protocol without": (
        (*ORACLE, "--protocol", "mindact-choice", "--protocol-option", "none=last"),
        "--protocol-option: unknown key 'none' ('mindact-choice' has",
    ),
    "marks outside of the picture": (
        (*LEXICAL, "--protocol", "seeact-annotation", "--image-policy", "viewport"),
        "marks candidates all down the page",
    ),
    "point rule of choices": (
        (*ORACLE, "--benchmark-option", "point_rule=smallest"),
        "asks for no points",
    ),
    "pictures of a text protocol": (
        (*LEXICAL, "--protocol", "mindact-choice", "--image-policy", "full"),
        "--image-policy: 'mindact-choice' shows no pictures; leave it out",
    ),
    "protocol option": (
        (*ORACLE, "--protocol-option", "eager=true"),
        "--protocol-option: unknown key 'eager' ('seeact-two-rounds' has prompts, none, history",
    ),
    "short form of a protocol's option and the option": (
        (*ORACLE, "--history", "3", "--protocol-option", "history=4"),
        "protocol_option: history is given twice",
    ),
    "option of another benchmark": (
        ("--model", "oracle", "-b", "sample-grounding", "--benchmark-option", "candidates=all"),
        "--benchmark-option candidates: sample-grounding has no such option",
    ),
    "shuffles of a draw": ((*ORACLE, "--protocol-option", "shuffles=3"), "use --repeats"),
    "shuffles and repeats": (
        (
            *LEXICAL,
            "--protocol",
            "mindact-choice",
            "--protocol-option",
            "shuffles=3",
            "--repeats",
            "2",
        ),
        "give --repeats or --protocol-option shuffles",
    ),
    "stored questions in another way": (
        ("--model", "oracle", "-b", "mm-mind2web-tilde", "--data", "x", "--protocol", "classify"),
        "mm-mind2web-tilde stores its questions, in two rounds: 'classify' asks in another way",
    ),
    "pictures of a benchmark without": (
        ("--model", "oracle", "-b", "mind2web", "--data", "nope"),
        "mind2web has no screenshots, and 'seeact-two-rounds' would show them",
    ),
    "unknown split": (("--model", "oracle", *SAMPLE, "--split", "tset"), "did you mean 'test'?"),
    "unknown website": ((*ORACLE, "--only", "website=coperquince"), "did you mean 'copperquince'?"),
    "unknown domain": ((*ORACLE, "--only", "domain=Shoping"), "did you mean 'Shopping'?"),
    "unknown task": ((*ORACLE, "--only", "task_id=nope"), "no task 'nope'"),
    "unknown step": ((*ORACLE, "--only", "step_id=nope"), "no step 'nope'"),
    "seed of a wrong type": ((*ORACLE, "--seed", "many"), "expected a whole number, not 'many'"),
    "k that no row can fill": ((*ORACLE, "-k", "99999"), "no row has 99999 negative candidates"),
    "negative k": ((*ORACLE, "-k", "-1"), "expected a whole number of at least 0, not '-1'"),
    "limit of none": ((*ORACLE, "--limit", "0"), "'--limit'"),
    "shard beyond the last": ((*ORACLE, "--shard", "5/4"), "write 1/4 to 4/4"),
    "shard 0": ((*ORACLE, "--shard", "0/4"), "write 1/4 to 4/4"),
    "no shard": ((*ORACLE, "--shard", "a"), "'a' is not a shard"),
    "history": ((*ORACLE, "--history", "some"), "'some' is none of all, none, K"),
    "tokens per round": ((*ORACLE, "--max-tokens", "5,x"), "'5,x' is not a number of tokens"),
    "adapter option": ((*ORACLE, "--adapter-option", "x"), "expected key=value, not 'x'"),
    "picture policy": ((*ORACLE, "--image-policy", "fulll"), "unknown picture policy 'fulll'"),
    "pixels": (
        (*ORACLE, "--image-policy", "full:pixels=0"),
        "picture policy: pixels must be at least 1",
    ),
    "lost rows": ((*ORACLE, "--benchmark-option", "lost_rows=yes"), "add --image-policy none"),
    "missing prompts": (
        (*ORACLE, "--protocol-option", "prompts=nope.toml"),
        "nope.toml: No such file",
    ),
    "missing config": (("--config", "nope.toml"), "nope.toml: No such file"),
    "missing script": (("--model", "scripted:nope.jsonl", *SAMPLE), "no such file: nope.jsonl"),
    "missing prices": ((*ORACLE, "--prices", "nope.toml"), "nope.toml"),
    "missing data": (("--model", "oracle", "--data", "nope.parquet"), "nope.parquet"),
    "limit for a policy": ((*ORACLE, "--max-cost", "1"), "no effect on a policy"),
    "address for a policy": ((*ORACLE, "--base-url", "http://x/v1"), "--base-url"),
    "score nothing": (("score",), "give one of them"),
    "score no run": (("score", "nope"), "nope is not a run directory"),
    "score a selection of a run": (("score", "nope", "--split", "dev"), "selects rows"),
    "score both": (("score", "run", "--predictions", "file"), "give one of them"),
    "predictions missing": (
        ("score", "--predictions", "nope", *DEV),
        "nope cannot be read: No such file",
    ),
    "merge no run": (("merge", "nope", "--out", "merged"), "nope is not a run directory"),
    "merge nothing": (("merge", "--out", "merged"), "RUNS"),
    "show nothing": (("show", *DEV), "STEP"),
    "show no step": (("show", "nope", *DEV), "no step 'nope'"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_is_told_in_one_line_and_nothing_is_written(case: str, place: Path) -> None:
    args, told = CASES[case]
    called = call(*args)
    assert called.code == 2
    assert told in called.complaint
    assert called.complaint.startswith("vlm-eval: ")
    assert called.out == ""
    assert list(place.iterdir()) == []


def test_data_that_is_no_parquet_file_is_refused(place: Path) -> None:
    (place / "text.parquet").write_text("not a table")
    called = call("--model", "oracle", "--data", "text.parquet")
    assert (called.code, "text.parquet is not a parquet file" in called.complaint) == (2, True)


def test_data_without_a_needed_column_is_refused_by_the_column(place: Path) -> None:
    whole = pq.read_table(Path(sample.__file__).parents[1] / "sample" / "data" / "dev.parquet")
    pq.write_table(whole.drop_columns(["cleaned_html"]).slice(0, 2), place / "less.parquet")
    called = call("--model", "oracle", "--data", "less.parquet")
    assert (called.code, "cleaned_html" in called.complaint) == (2, True)


def test_an_empty_file_is_refused(place: Path) -> None:
    whole = pq.read_table(Path(sample.__file__).parents[1] / "sample" / "data" / "dev.parquet")
    pq.write_table(whole.slice(0, 0), place / "empty.parquet")
    called = call("--model", "oracle", "--data", "empty.parquet")
    assert called.code == 2
    assert "empty.parquet" in called.complaint or "no rows" in called.complaint


def test_a_file_of_other_columns_is_no_snapshot(place: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), place / "other.parquet")
    called = call("--model", "oracle", "-b", "mm-mind2web-tilde", "--data", "other.parquet")
    assert (called.code, "other.parquet" in called.complaint) == (2, True)


def test_an_unreachable_hub_is_explained_with_what_to_do(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    called = call("--model", "oracle")
    assert called.code == 2
    assert "--data PATH" in called.complaint
    assert "--benchmark sample" in called.complaint
    assert "refused" in called.complaint, "somebody else than the closed port was asked"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ({"step": 3}, "Expected `str`"),
        ({"step": "a", "elemnt": "1"}, "elemnt"),
        ({"step": "a", "element": "1", "point": [1, 2]}, "element or point"),
        ({"step": "a", "element": "1", "value": 1.5}, "value"),
    ],
)
def test_a_wrong_line_of_predictions_is_named(
    place: Path, line: dict[str, object], told: str
) -> None:
    good = {"step": "b", "element": "1", "operation": "CLICK"}
    (place / "p.jsonl").write_text(f"{json.dumps(good)}\n\n{json.dumps(line)}\n")
    called = call("score", "--predictions", "p.jsonl", *DEV)
    assert called.code == 2
    assert "p.jsonl, line 3: " in called.complaint
    assert told in called.complaint


def test_predictions_for_other_steps_and_none_at_all_are_refused(place: Path) -> None:
    (place / "p.jsonl").write_text('{"step": "a", "element": "1"}\n')
    assert "no step a among" in call("score", "--predictions", "p.jsonl", *DEV).complaint
    (place / "p.jsonl").write_text("\n")
    assert "holds no predictions" in call("score", "--predictions", "p.jsonl", *DEV).complaint


def test_prompts_that_are_none_are_refused(place: Path) -> None:
    (place / "prompts.toml").write_text('system = "only this"\n')
    called = call(*ORACLE, "--protocol-option", "prompts=prompts.toml")
    assert (called.code, "prompts.toml" in called.complaint) == (2, True)


def test_an_unknown_setting_of_an_adapter_is_refused_before_anything_is_asked() -> None:
    with WireServer() as server:
        called = call(*at(server, *ONE_TASK), "--adapter-option", "nonsense=1")
        assert (called.code, "'nonsense'" in called.complaint) == (2, True)
        assert server.count == 0


def test_a_limit_of_dollars_needs_a_price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-no-such-key")
    called = call("--model", "openai:of-unknown-price", *ONE_TASK, "--max-cost", "5")
    assert (called.code, "--prices FILE" in called.complaint) == (2, True)


def test_keys_are_not_taken_from_options_since_a_run_writes_those_down(place: Path) -> None:
    with WireServer() as server:
        called = call(*at(server, *ONE_TASK), "--adapter-option", "api_key=sk-secret-0123456789")
        assert called.code == 2
        assert "environment" in called.complaint
        assert "sk-secret" not in called.err
    called = call("--model", "openai:m", "--base-url", "http://me:hidden-word@localhost/v1", *DEV)
    assert called.code == 2
    assert "hidden-word" not in called.err
    assert list(place.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_told_without_a_traceback(place: Path) -> None:
    (place / "file").write_text("")
    for out in ("file", "file/run"):
        called = call(*ORACLE, "--out", out)
        assert called.code == 2
        assert called.err.splitlines()[-1].startswith(f"vlm-eval: cannot create {out}: ")


def test_more_choices_than_there_are_letters_are_refused(place: Path) -> None:
    whole = pq.read_table(Path(sample.__file__).parents[1] / "sample" / "data" / "dev.parquet")
    row = whole.slice(0, 1).to_pylist()[0]
    row["neg_candidates"] = row["neg_candidates"][:1] * 702
    pq.write_table(pa.Table.from_pylist([row], schema=whole.schema), place / "many.parquet")
    line = ("--model", "oracle", "--data", "many.parquet", "--distractors")
    called = call(*line, "701")
    assert (called.code, "letters run from 0 (A) to 701 (ZZ)" in called.complaint) == (2, True)
    assert call(*line, "700", "--out", "a").code == 0
