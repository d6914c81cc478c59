"""A line is written only if it can be read back, and read only if it is what was written."""

from __future__ import annotations

import asyncio
import json
import math
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.conversation import Reply, Usage
from harness.commands.merge import merge_shards as merge
from harness.runs import CallRecord, RunDirectory, RunError, StepUnit, open_run
from harness.runs.files import Line, decode, encode, sealed
from harness.runs.records import line_decoder
from tests.harness.runs.examples import SETUP, call, step, write

WHERE = Path("calls.jsonl")
CALL, STEP = sealed(call("a")), sealed(step("a"))


def read(data: bytes, kind: type[Any]) -> Any:
    return decode(line_decoder(kind), Line(1, 0, data), WHERE)


def lines_without_checksum(path: Path) -> None:
    """Take the checksums out of a run, as a program that rewrites lines does."""
    run = open_run(path)
    (path / "calls.jsonl").write_bytes(b"".join(encode(one) for one in run.calls()))
    (path / "steps.jsonl").write_bytes(b"".join(encode(one) for one in run.records()))


@pytest.mark.parametrize(("line", "kind"), [(CALL, CallRecord), (STEP, StepUnit)])
@given(data=st.data())
def test_a_changed_byte_is_found_or_changes_nothing(
    line: bytes, kind: type[CallRecord] | type[StepUnit], data: st.DataObject
) -> None:
    position = data.draw(st.integers(0, len(line) - 2))
    changed = bytearray(line)
    changed[position] ^= data.draw(st.integers(1, 255))
    try:
        found = read(bytes(changed), kind)
    except RunError as error:
        assert str(error).startswith("calls.jsonl line 1 cannot be read: ")
    else:
        assert found == read(line, kind)


@given(data=st.data())
def test_a_lost_or_doubled_block_is_found(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(CALL) - 30))
    end = data.draw(st.integers(start + 1, len(CALL) - 26))
    for changed in (CALL[:start] + CALL[end:], CALL[:end] + CALL[start:end] + CALL[end:]):
        with pytest.raises(RunError, match="line 1 cannot be read"):
            read(changed, CallRecord)


def test_a_line_that_was_edited_and_written_anew_is_found() -> None:
    edited = json.loads(CALL)
    edited["reply"]["text"] = "ELEMENT: B"
    for text in (json.dumps(edited), json.dumps(edited, separators=(",", ":"), sort_keys=True)):
        with pytest.raises(RunError, match="written anew"):
            read(text.encode() + b"\n", CallRecord)
    with pytest.raises(RunError, match="differs from its checksum"):
        read(json.dumps(edited, separators=(",", ":")).encode() + b"\n", CallRecord)


def test_a_line_of_an_earlier_version_may_hold_the_word() -> None:
    reply = Reply("checksum", native={"checksum": 1})
    old = encode(replace(call("a"), reply=reply))
    assert read(old, CallRecord).reply == reply


def test_a_run_of_an_earlier_version_goes_on_and_is_merged(tmp_path: Path) -> None:
    one = write(tmp_path / "1", [call("a"), call("b")], [step("a")])
    lines_without_checksum(one)
    assert b"checksum" not in (one / "calls.jsonl").read_bytes()
    write(one, [call("c")], [step("c")])
    assert b"checksum" in (one / "calls.jsonl").read_bytes()
    two = write(tmp_path / "2", [call("d")], [step("d")])
    merge([one, two], tmp_path / "all")
    merged = open_run(tmp_path / "all")
    assert [record.unit_id for record in merged.records()] == ["a", "c", "d"]
    assert [one.unit_id for one in merged.calls()] == ["a", "b", "c", "d"]
    with RunDirectory.start(one, SETUP) as run:
        assert run.settled == {("a", 0), ("c", 0)}


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([2**63, 2**64, -(2**63) - 1, 10**30, 10**400]),
    st.floats(),
    st.sampled_from([math.nan, math.inf, -math.inf]),
    st.text(st.characters(exclude_categories=()), max_size=5),
    st.binary(max_size=3),
    st.dictionaries(st.one_of(st.text(max_size=2), st.integers()), st.floats(), max_size=2),
    st.lists(st.one_of(st.none(), st.floats(), st.text(max_size=2)), max_size=2),
    st.tuples(st.integers()),
    st.just(object()),
)


def odd(record: Any, data: st.DataObject) -> Any:
    """The record with odd values in some of its fields."""
    for one in fields(record):
        if data.draw(st.booleans()):
            record = replace(record, **{one.name: data.draw(ODD)})
    return record


@given(data=st.data())
def test_what_is_written_is_read_back_and_all_else_is_refused(data: st.DataObject) -> None:
    reply = odd(replace(call("a").reply, usage=odd(Usage(), data)), data)
    record = replace(odd(call("a"), data), reply=reply)
    try:
        line = sealed(record)
    except RunError as error:
        assert "is not written, since it could not be read back" in str(error)
        return
    found = read(line, CallRecord)
    assert sealed(found) == line
    for one in fields(Reply):
        mine, theirs = getattr(reply, one.name), getattr(found.reply, one.name)
        assert mine == theirs or one.name in ("native", "sent", "token_ids")


@pytest.mark.parametrize("value", [math.nan, [math.inf], {"a": [math.nan]}, "\ud800", object()])
def test_values_that_json_does_not_have_are_refused_wherever_they_are(value: object) -> None:
    with pytest.raises(RunError, match="could not be read back"):
        sealed(replace(call("a"), reply=Reply("text", native=value)))


def test_a_refused_line_leaves_the_run_as_it_was(tmp_path: Path) -> None:
    wrong: Any = 5

    async def record(run: RunDirectory) -> None:
        await run.record_call(call("a"))
        with pytest.raises(RunError, match=r"call 'b/0/round-1' is not written"):
            await run.record_call(replace(call("b"), reply=Reply("text", model=wrong)))
        with pytest.raises(RunError, match=r"step 'b' is not written"):
            run.append_step(step("b", prompt_tokens=math.nan))
        await run.record_call(call("c"))

    with RunDirectory.start(tmp_path / "r", SETUP) as run:
        asyncio.run(record(run))
    found = open_run(tmp_path / "r")
    assert [one.unit_id for one in found.calls()] == ["a", "c"]
    assert found.manifest.answered_by == ("model-1",)
