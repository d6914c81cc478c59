"""A snapshot is run as the data itself: the same requests, byte for byte."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.harness.commands.tool import (
    DEV,
    ONE_TASK,
    TEXT_ONLY,
    Called,
    at,
    benchmark_options,
    call,
    replying,
    steps,
    summary,
)
from tests.numbers import counts, row
from tests.servers import WireServer

CARD = {
    *("task_id", "split", "step", "task_description", "prompt_0", "prompt_1", "raw_html"),
    *("cleaned_html", "candidates", "target_elements", "target_op", "target_op_value"),
    *("website", "domain", "subdomain", "is_valid"),
}


def bodies(server: WireServer) -> list[str]:
    """All requests, as they were sent, in an order of their own."""
    return sorted(json.dumps(ask.body, sort_keys=True) for ask in server.asks)


def on_snapshot(server: WireServer, *more: str) -> Called:
    line = at(server, "-b", "snapshot", "--data", "snap.parquet", "--no-cache", "--out", "b")
    return call(*line, *more)


@pytest.mark.parametrize(
    "settings",
    [
        (),
        ("--protocol-option", "none=first", "--seed", "7", "-k", "5", "--history", "1"),
        ("--image-policy", "tiles"),
        ("--image-policy", "full:pixels=200000", "--protocol-option", "form=bnid"),
        ("--image-policy", "none", *benchmark_options("lost_rows=yes", "positives=original")),
    ],
    ids=["defaults", "choices", "tiles", "small", "text"],
)
def test_a_snapshot_sends_the_same_bytes_as_the_data_itself(settings: tuple[str, ...]) -> None:
    with WireServer(replying()) as direct:
        assert call(*at(direct, *ONE_TASK, "--no-cache", "--out", "a"), *settings).code == 0
    made = call("data", "snapshot", *ONE_TASK, *settings, "--out", "snap.parquet")
    assert made.code == 0
    with WireServer(replying()) as stored:
        assert on_snapshot(stored).code == 0
    assert direct.count == 14
    assert bodies(stored) == bodies(direct)
    for key in ("element", "success", "operation_f1"):
        assert row(summary("a"), key) == row(summary("b"), key)
    scored = [[(s["step_id"], s["prediction"]["element"]) for s in steps(run)] for run in "ab"]
    assert sorted(scored[0]) == sorted(scored[1])


def test_conversations_have_no_place_in_a_snapshot(place: Path) -> None:
    refused = call("data", "snapshot", "-b", "mt-sample", "--limit", "1", "--out", "snap.parquet")
    assert refused.code == 2
    assert refused.complaint.endswith("a snapshot stores tasks, and mt-sample has conversations")
    assert not (place / "snap.parquet").exists()


def test_what_a_snapshot_fixes_is_refused_as_an_option() -> None:
    call("data", "snapshot", *ONE_TASK, *TEXT_ONLY, "--out", "snap.parquet")
    for option in (
        ("--seed", "3"),
        ("--distractors", "3"),
        ("--protocol-option", "none=first"),
        ("--image-policy", "tiles"),
        ("--image-policy", "full:pixels=100"),
        ("--protocol-option", "prompts=x.toml"),
        ("--history", "2"),
        ("--protocol-option", "form=bnid"),
        ("--benchmark-option", "order=1"),
    ):
        with WireServer() as server:
            refused = on_snapshot(server, *option)
            assert (refused.code, server.count) == (2, 0)
            assert f"{option[0]} " in refused.complaint
            assert "has no effect on snapshot" in refused.complaint


def test_a_snapshot_has_the_card_s_columns_and_its_prompts() -> None:
    assert call("data", "snapshot", *ONE_TASK, *TEXT_ONLY, "--out", "snap.parquet").code == 0
    table = pq.read_table("snap.parquet")
    assert set(table.column_names) >= CARD
    row = table.to_pylist()[0]
    assert [message["role"] for message in row["prompt_0"]] == ["system", "user"]
    assert row["task_description"] in str(row["prompt_0"])
    assert row["target_op"] in ("CLICK", "TYPE", "SELECT")
    assert len(row["candidates"]) == 21


def test_invalid_rows_stay_invalid_in_a_snapshot() -> None:
    line = (
        "data",
        "snapshot",
        *DEV,
        "--image-policy",
        "none",
        "--out",
        "snap.parquet",
    )
    assert call(*line).code == 0
    assert (
        call("--model", "oracle", "-b", "snapshot", "--data", "snap.parquet", "-o", "b").code == 0
    )
    assert call("--model", "oracle", *DEV, *TEXT_ONLY, "--out", "a").code == 0
    direct, stored = (counts(summary(run)) for run in "ab")
    assert stored == direct
    assert stored["n_invalid"] > 0


def test_the_datasets_library_loads_a_snapshot(place: Path) -> None:
    import datasets

    assert call("data", "snapshot", *ONE_TASK, "--out", "snap.parquet").code == 0
    loaded = datasets.load_dataset(
        "parquet", data_files=str(place / "snap.parquet"), cache_dir=str(place / "loaded")
    )
    rows = loaded["train"]
    assert len(rows) == 7
    assert set(rows.column_names) >= CARD
    assert rows[0]["task_description"]


def test_a_run_on_a_snapshot_knows_how_the_snapshot_was_made(place: Path) -> None:
    shipped = files("harness").joinpath("prompts/seeact.toml").read_text("utf-8")
    (place / "own.toml").write_text(
        shipped.replace("You operate a website", "You are at a website")
    )
    form = ("--protocol-option", "form=bnid")
    own = ("--protocol-option", "prompts=own.toml", *form)
    asked = ("--image-policy", "viewport", "--history", "2", *own)
    settings = (*ONE_TASK, *asked, *benchmark_options("order=1"))
    assert call("--model", "oracle", *settings, "--out", "a").code == 0
    assert call("data", "snapshot", *settings, "--out", "s.parquet").code == 0
    called = call("--model", "oracle", "-b", "snapshot", "--data", "s.parquet", "--out", "b")
    assert called.code == 0
    direct, stored = (json.loads(Path(run, "manifest.json").read_text()) for run in "ab")
    # The texts are part of the stored questions, whatever file they came from.
    assert direct["config"]["protocol_option"].pop("prompts") == "own.toml"
    for name in ("benchmark_option", "protocol_option", "seed"):
        assert stored["config"][name] == direct["config"][name]
    assert (stored["pictures"], stored["prompts"]) == (direct["pictures"], direct["prompts"])
