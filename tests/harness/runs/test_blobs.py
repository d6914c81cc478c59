"""Large things by digest, and the lines of calls that refer to them."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.conversation import Reply, Usage
from adapters.embedding import Embedded, Vector, to_bytes
from harness.commands.merge import merge_shards as merge
from harness.dialogue import Observation
from harness.runs import (
    ActRecord,
    Blobs,
    CallRecord,
    EmbedRecord,
    RunDirectory,
    RunError,
    digest_of,
    open_run,
)
from tests.harness.runs.examples import SETUP, call, step

VECTORS: tuple[Vector, ...] = ((0.5, -2.0), (0.25, 2.0**-20))
DATA = b"".join(map(to_bytes, VECTORS))
BEFORE_ROLES = {
    "id", "unit_id", "repeat", "place", "request", "conversation", "messages", "reply", "attempts",
    "from_cache", "cost", "earlier", "checksum",
}  # fmt: skip


def embedding(step_id: str = "a", **more: Any) -> CallRecord:
    embed = EmbedRecord(2, 2, digest_of(DATA), ("one", "two"))
    reply = Reply("", usage=Usage(2), model="t-1", latency_s=0.5)
    return replace(
        call(step_id, "texts"), messages=(), reply=reply, role="embedding", embed=embed, **more
    )


def acting(step_id: str = "a", **more: Any) -> CallRecord:
    act = ActRecord({"name": "click"}, {"url": "http://shop/"}, {"shot": digest_of(b"png")})
    return replace(call(step_id, "act"), messages=(), reply=Reply(""), act=act, **more)


def write(path: Path, *calls: tuple[CallRecord, tuple[bytes, ...]], units: Any = ()) -> Path:
    with RunDirectory.start(path, SETUP) as run:
        for record, blobs in calls:
            asyncio.run(run.record_call(record, blobs))
        for unit in units:
            run.append_step(unit)
    return path


def test_bytes_come_back_and_the_same_ones_are_kept_once(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    assert blobs.put(b"png") == blobs.put(b"png") == digest_of(b"png")
    assert blobs.get(digest_of(b"png")) == b"png"
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


def test_bytes_that_are_lost_damaged_or_elsewhere_are_one_clear_error(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    digest = blobs.put(b"png")
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    file.write_bytes(b"gnp")
    with pytest.raises(RunError, match=f"{digest} is damaged"):
        blobs.get(digest)
    file.unlink()
    with pytest.raises(RunError, match=f"{digest} is missing, which the run refers to"):
        blobs.get(digest)
    with pytest.raises(RunError, match="is not the digest of a blob"):
        blobs.get("../../../etc/passwd")


def test_what_was_cut_off_while_it_was_written_is_written_again(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    digest = blobs.put(b"png")
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    file.write_bytes(b"p")
    blobs.put(b"png")
    assert blobs.get(digest) == b"png"


def test_an_ordinary_call_has_the_keys_that_it_always_had(tmp_path: Path) -> None:
    path = write(tmp_path / "r", (call("a"), ()))
    assert json.loads((path / "calls.jsonl").read_text()).keys() == BEFORE_ROLES
    assert not (path / "blobs").exists()


def test_calls_of_every_kind_come_back_with_what_they_answered(tmp_path: Path) -> None:
    planned = replace(call("a", "plan"), role="planner", trial=1)
    shared = replace(call("shared/c1", "why"), asked_by="a")
    path = write(
        tmp_path / "r",
        (planned, ()), (embedding(), (DATA,)), (acting(), (b"png",)), (shared, ()),
    )  # fmt: skip
    run = open_run(path)
    assert list(run.calls()) == [planned, embedding(), acting(), shared]
    assert [record.is_ask for record in run.calls()] == [True, False, False, True]
    assert run.result_of(embedding()) == Embedded(VECTORS, Usage(2), "t-1", 0.5)
    seen = run.result_of(acting())
    assert isinstance(seen, Observation)
    assert (seen.content, dict(seen.blobs)) == ({"url": "http://shop/"}, {"shot": b"png"})


def test_an_action_is_shown_without_its_blobs_and_vectors_are_missed(tmp_path: Path) -> None:
    path = write(tmp_path / "r", (embedding(), (DATA,)), (acting(), (b"png",)))
    for file in [file for file in (path / "blobs").rglob("*") if file.is_file()]:
        file.unlink()
    run = open_run(path)
    seen = run.result_of(acting())
    assert isinstance(seen, Observation) and seen.content == {"url": "http://shop/"}
    with pytest.raises(RunError, match="is missing"):
        seen.blobs["shot"]
    with pytest.raises(RunError, match="is missing"):
        run.result_of(embedding())


@pytest.mark.parametrize(
    "content",
    [object(), float("nan"), "\ud800", {"a": object()}],
    ids=["object", "nan", "surrogate", "inner"],
)
def test_what_could_not_be_read_back_is_not_written(tmp_path: Path, content: Any) -> None:
    record = replace(acting(), act=ActRecord({"name": "click"}, {"seen": content}))
    with RunDirectory.start(tmp_path / "r", SETUP) as run:
        with pytest.raises(RunError, match="call 'a/0/act' is not written"):
            asyncio.run(run.record_call(record))
        asyncio.run(run.record_call(call("b")))
    assert [one.unit_id for one in open_run(tmp_path / "r").calls()] == ["b"]


def test_a_unit_has_the_calls_of_its_last_trial_and_those_it_shares(tmp_path: Path) -> None:
    first, second = call("a", text="first"), replace(call("a", text="second"), id="x", trial=1)
    shared = replace(call("shared/c1", "why"), asked_by="b")
    other = replace(call("shared/c2", "why"), asked_by="b")
    path = write(
        tmp_path / "r",
        *((record, ()) for record in (first, shared, other, second)),
        units=[step("a", calls=(shared.id, "x")), step("b", calls=(other.id,))],
    )
    run = open_run(path)
    assert run.calls_of("a") == [shared, second]
    assert run.calls_of("b") == [other]


def test_merged_shards_keep_their_blobs(tmp_path: Path) -> None:
    one = write(tmp_path / "1", (embedding("a"), (DATA,)), units=[step("a")])
    two = write(tmp_path / "2", (acting("b"), (b"png",)), units=[step("b")])
    merge([one, two], tmp_path / "whole")
    run = open_run(tmp_path / "whole")
    assert [run.result_of(record) for record in run.calls()]
    assert run.blobs.get(digest_of(b"png")) == b"png"


def test_shared_calls_are_found_again(tmp_path: Path) -> None:
    one = replace(call("shared/c1", "why"), asked_by="a")
    two = replace(call("shared/c1", "who"), asked_by="a")
    path = write(
        tmp_path / "r",
        *((record, ()) for record in (one, two, call("a"), call("b"), call("c"))),
        units=[
            step("a", calls=(one.id, call("a").id)),
            step("b", calls=(two.id, call("b").id)),
            step("c", calls=(call("c").id,)),
        ],
    )
    with RunDirectory.start(path, SETUP) as run:
        assert (dict(run.shared), dict(run.recorded)) == ({one.id: one, two.id: two}, {})
