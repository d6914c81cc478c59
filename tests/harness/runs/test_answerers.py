"""Who answered a run, as far as servers say so."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.conversation import Finish
from harness.runs import RunDirectory, open_run
from harness.runs.manifest import Facts, changes
from tests.harness.runs.examples import SETUP, call

FACTS = {"id": "m", "root": "/w/1", "created": "17", "quantization": "fp8", "reply": "w-1"}


def noted(path: Path, *said: Facts, role: str = "") -> list[str]:
    """Note what a server says in a session of a run; what that warns of."""
    warned: list[str] = []
    with RunDirectory.start(path, SETUP) as run:
        run.warn = warned.append
        asyncio.run(run.record_call(replace(call(path.name + str(len(said))), role="x")))
        for facts in said:
            run.note_answerer(role, facts)
    return warned


def told(path: Path) -> list[str]:
    return changes(open_run(path).manifest.answerers)


@pytest.mark.parametrize("name", FACTS)
def test_each_fact_that_differs_at_a_later_start_is_one_warning(tmp_path: Path, name: str) -> None:
    assert noted(tmp_path / "r", FACTS) == []
    assert noted(tmp_path / "r", FACTS) == []
    (line,) = noted(tmp_path / "r", {**FACTS, name: "other"})
    assert "another model answers than before: " in line
    assert f"is other, and was {FACTS[name]}" in line
    assert told(tmp_path / "r") == [line.removeprefix("warning: ")]
    # It is the one that later starts are compared with.
    assert noted(tmp_path / "r", {**FACTS, name: "other"}) == []
    assert len(noted(tmp_path / "r", FACTS)) == 1
    assert len(told(tmp_path / "r")) == 2


def test_a_fact_that_a_list_lacks_now_is_a_difference_and_what_is_unknown_is_none(
    tmp_path: Path,
) -> None:
    def without(*names: str) -> Facts:
        return {name: value for name, value in FACTS.items() if name not in names}

    assert (
        noted(tmp_path / "r", FACTS, without("reply"), without("created"), {"reply": "w-1"}) == []
    )
    (line,) = noted(tmp_path / "r", without("quantization"))
    assert "quantization is not given, and was fp8" in line
    assert noted(tmp_path / "s", {"reply": "w-1"}, FACTS, {}) == []


def test_within_a_run_the_first_name_heard_is_what_later_ones_are_compared_with(
    tmp_path: Path,
) -> None:
    warned: list[str] = []
    names = ["", "gpt-5.4-2026-03-05", "gpt-5.4-2026-03-05", "", "gpt-5.4-2026-09-01"]

    async def ask(run: RunDirectory, role: str) -> None:
        for number, name in enumerate([*names, names[1], names[-1]]):
            made = call(f"{role}{number}")
            await run.record_call(replace(made, role=role, reply=replace(made.reply, model=name)))

    with RunDirectory.start(tmp_path / "r", SETUP) as run:
        run.warn = warned.append
        asyncio.run(ask(run, ""))
        asyncio.run(ask(run, "planner"))
    assert warned == [f"warning: {line}" for line in told(tmp_path / "r")]
    assert ["for the role planner" in line for line in warned] == [False, True]
    assert all("is gpt-5.4-2026-09-01, and was gpt-5.4-2026-03-05" in line for line in warned)
    assert open_run(tmp_path / "r").manifest.answered_by == (names[1], names[-1])


def test_a_server_s_words_are_printed_harmlessly(tmp_path: Path) -> None:
    (line,) = noted(tmp_path / "r", {"reply": "a"}, {"reply": "\x1b[2J\nb"})
    assert "\x1b" not in line and "\n" not in line


def test_an_equal_call_is_found_on_record_if_its_reply_ended_normally(tmp_path: Path) -> None:
    cut = call("cut")
    cut = replace(cut, request="cut", reply=replace(cut.reply, finish=Finish.LENGTH))
    calls = [cut, *(replace(call(name), request=f"r-{name}") for name in "abc")]

    async def found(run: RunDirectory, *requests: str) -> list[str]:
        equal = [await run.equal(request) for request in requests]
        return [one.unit_id if one else "" for one in equal]

    async def ask(run: RunDirectory) -> None:
        assert await found(run, "r-a") == [""]
        for one in calls[:3]:
            await run.record_call(one)
        assert await found(run, "r-a", "r-b", "r-c", "cut") == ["a", "b", "", ""]
        await run.record_call(replace(call("again"), request="r-a"))
        await run.record_call(calls[3])
        assert await found(run, "r-a", "r-c") == ["a", "c"]

    with RunDirectory.start(tmp_path / "r", SETUP) as run:
        asyncio.run(ask(run))
    with RunDirectory.start(tmp_path / "r", SETUP) as run:
        assert asyncio.run(found(run, "r-a", "r-b", "r-c", "cut")) == ["a", "b", "c", ""]
