from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from harness.errors import DiskFull, OtherFormat, RunDiffers, RunInUse
from harness.runs import RunDirectory, RunError, Setup, journal, open_run
from harness.runs.directory import settled_before
from parsers.mind2web import MIND2WEB
from tests.harness.runs.examples import SETUP, call, step, write


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    calls, steps = [call("a"), call("a", "round-2")], [step("a")]
    run = open_run(write(tmp_path / "r", calls, steps))
    assert list(run.calls()) == calls
    assert run.records() == steps


def test_a_run_goes_on_with_the_steps_that_are_not_settled(tmp_path: Path) -> None:
    calls = [call("a", cost=0.5), call("b", cost=0.25), call("c", cost=0.25)]
    path = write(tmp_path / "r", calls, [step("a"), step("b", settled=False)])
    with RunDirectory.start(path, SETUP) as run:
        assert run.settled == {("a", 0)}
        assert set(run.recorded) == {("b", 0), ("c", 0)}
        assert run.recorded["b", 0] == {calls[1].id: calls[1]}
        assert run.spent == 1.0


def test_money_without_a_call_on_record_counts_for_the_next_session(tmp_path: Path) -> None:
    async def session(run: RunDirectory) -> None:
        for one in (call("a", cost=0.25), call("b", cost=0.0), call("c", cost=None)):
            await run.record_call(one)
        run.note_spent(0.75)  # a call of at most half a dollar was broken off

    with RunDirectory.start(tmp_path / "r", SETUP) as run:
        asyncio.run(session(run))
    with RunDirectory.start(tmp_path / "r", SETUP) as run:
        assert run.spent == 0.75


def test_a_step_that_was_settled_later_counts_as_settled(tmp_path: Path) -> None:
    path = write(tmp_path / "r", (), [step("a", settled=False)])
    write(path, (), [step("a")])
    with RunDirectory.start(path, SETUP) as run:
        assert run.settled == {("a", 0)}
    assert [record.settled for record in open_run(path).records()] == [True]


def test_another_setup_is_refused_with_the_difference(tmp_path: Path) -> None:
    path = write(tmp_path / "r", [call("a")])
    other = replace(SETUP, config={"candidates": {"count": 30}, "protocol": "seeact"}, seed=2)
    with pytest.raises(RunDiffers) as caught:
        RunDirectory.start(path, other)
    assert caught.value.lines == (
        # What follows from the settings is not listed beside them.
        "candidates.count: 17 on record, 30 now",
    )


def test_a_run_in_which_nothing_happened_yet_may_be_started_with_other_settings(
    tmp_path: Path,
) -> None:
    RunDirectory.start(
        tmp_path / "r", Setup(declaration=MIND2WEB, config={"model": "mistyped"})
    ).close()
    RunDirectory.start(
        tmp_path / "r", Setup(declaration=MIND2WEB, config={"model": "meant"})
    ).close()
    assert open_run(tmp_path / "r").manifest.config == {"model": "meant"}


def test_a_run_goes_on_after_its_data_was_moved(tmp_path: Path) -> None:
    before, after = (
        Setup(declaration=MIND2WEB, config={}, dataset={"files": "abc", "data": p})
        for p in ("x", "y")
    )
    path = write(tmp_path / "r", [call("a")], setup=before)
    RunDirectory.start(path, after).close()
    assert open_run(path).manifest.dataset["data"] == "y"


def test_a_setting_that_was_added_or_dropped_is_a_difference(tmp_path: Path) -> None:
    path = write(
        tmp_path / "r", [call("a")], setup=Setup(declaration=MIND2WEB, config={"old": None})
    )
    with pytest.raises(RunDiffers) as caught:
        RunDirectory.start(path, Setup(declaration=MIND2WEB, config={"new": [1]}))
    assert caught.value.lines == (
        "new: (not set) on record, [1] now",
        "old: null on record, (not set) now",
    )


def test_settings_of_a_session_may_differ_and_are_kept(tmp_path: Path) -> None:
    for concurrency in (4, 8):
        with RunDirectory.start(tmp_path / "r", SETUP, {"concurrency": concurrency}):
            pass
    sessions = open_run(tmp_path / "r").manifest.sessions
    assert [session.settings for session in sessions] == [{"concurrency": 4}, {"concurrency": 8}]


def test_a_run_that_somebody_writes_to_is_refused(tmp_path: Path) -> None:
    with RunDirectory.start(tmp_path / "r", SETUP):
        with pytest.raises(RunInUse, match=str(os.getpid())):
            RunDirectory.start(tmp_path / "r", SETUP)
        code = (
            "import pathlib, sys\n"
            "from harness.errors import RunInUse\n"
            "from harness.runs import RunDirectory, Setup\n"
            "from parsers import MIND2WEB\n"
            "setup = Setup(config={}, declaration=MIND2WEB)\n"
            "try: RunDirectory.start(pathlib.Path(sys.argv[1]), setup)\n"
            "except RunInUse: print('refused')"
        )
        command = [sys.executable, "-c", code, str(tmp_path / "r")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout == "refused\n"
    RunDirectory.start(tmp_path / "r", SETUP).close()


def test_a_folder_with_other_things_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("important")
    with pytest.raises(RunError, match=r"thesis\.tex"):
        RunDirectory.start(tmp_path, SETUP)


def test_a_start_that_was_killed_before_the_manifest_is_started_over(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    (tmp_path / "manifest.json.new").write_text('{"schema"')
    write(tmp_path, [call("a")])
    assert len(list(open_run(tmp_path).calls())) == 1


@pytest.mark.parametrize("name", ["calls.jsonl", "steps.jsonl"])
def test_lines_without_a_manifest_are_not_taken_over(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "r", [call("a")], [step("a")])
    for file in {"manifest.json", "calls.jsonl", "steps.jsonl"} - {name}:
        (path / file).unlink()
    before = (path / name).read_bytes()
    for use in (RunDirectory.start, settled_before):
        with pytest.raises(RunError, match=r"holds the lines of a run but no manifest\.json"):
            use(path, SETUP)
    assert (path / name).read_bytes() == before
    assert not (path / "manifest.json").exists()


@pytest.mark.parametrize("schema", [4, 99])
def test_runs_of_another_format_are_refused_with_the_reason(tmp_path: Path, schema: int) -> None:
    path = write(tmp_path / "r")
    manifest = msgspec.json.decode((path / "manifest.json").read_bytes())
    (path / "manifest.json").write_bytes(msgspec.json.encode({**manifest, "schema": schema}))
    for use in (lambda: open_run(path), lambda: RunDirectory.start(path, SETUP)):
        said = f"written by another version of vlm-eval .format {schema}; this one reads format 10"
        with pytest.raises(OtherFormat, match=said):
            use()


def test_a_summary_does_not_outlive_the_lines_it_was_made_from(tmp_path: Path) -> None:
    path = write(tmp_path / "r", (), [step("a")])
    with RunDirectory.start(path, SETUP) as run:
        run.finish({"success": 1.0}, complete=True)
    assert open_run(path).complete
    with RunDirectory.start(path, SETUP) as run:
        assert open_run(path).complete
        run.append_step(step("b"))
    assert not open_run(path).complete


def fill(path: Path, room: int) -> int:
    """Record calls until files have `room` bytes; return how many are on record."""
    import resource

    async def record(run: RunDirectory) -> int:
        for number in range(1000):
            try:
                await run.record_call(call(f"s{number}"))
            except DiskFull as error:
                with pytest.raises(DiskFull):
                    run.append_step(step("a"))
                assert "make room" in str(error)
                return number
        return -1

    run = RunDirectory.start(path, SETUP)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    synced = asyncio.run(record(run))
    with pytest.raises(DiskFull):
        run.close()
    return synced


@pytest.mark.skipif(os.name == "nt", reason="needs a limit on file sizes")
def test_a_full_disk_ends_the_run_and_keeps_every_line_that_was_synced(tmp_path: Path) -> None:
    # The limit holds for a whole process. The tests come behind what is installed.
    code = (
        "import sys; from pathlib import Path; sys.path.append(sys.argv[2]); "
        f"from {__name__} import fill; print(fill(Path(sys.argv[1]), 20_000))"
    )
    here = str(Path(__file__).parents[3])
    program = [sys.executable, "-P", "-c", code, str(tmp_path / "r"), here]
    synced = int(subprocess.run(program, capture_output=True, text=True, check=True).stdout)
    assert synced > 3
    assert len(list(open_run(tmp_path / "r").calls())) == synced
    write(tmp_path / "r", [call("after")])
    assert len(list(open_run(tmp_path / "r").calls())) == synced + 1


def test_an_error_under_way_is_not_hidden_by_one_of_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(handle: int, data: bytes) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(journal, "write_all", refuse)
    with pytest.raises(KeyError), RunDirectory.start(tmp_path / "r", SETUP) as run:
        run.append_step(step("a"))
        raise KeyError
    with (
        pytest.raises(RunError, match=r"steps\.jsonl: Input/output error"),
        RunDirectory.start(tmp_path / "r", SETUP) as run,
    ):
        run.append_step(step("a"))


def test_a_step_is_never_written_before_its_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[bytes] = []
    monkeypatch.setattr(journal, "write_all", lambda handle, data: written.append(data))

    async def record(run: RunDirectory) -> None:
        waiting = asyncio.ensure_future(run.record_call(call("a")))
        await asyncio.sleep(0)
        run.append_step(step("a"))
        await waiting

    with RunDirectory.start(tmp_path / "r", SETUP) as run:
        asyncio.run(record(run))
    assert [b'"place"' in data for data in written] == [True, False]


def test_a_cancelled_caller_leaves_its_line_behind(tmp_path: Path) -> None:
    async def record(run: RunDirectory) -> None:
        waiting = asyncio.ensure_future(run.record_call(call("a")))
        await asyncio.sleep(0)
        waiting.cancel()

    with RunDirectory.start(tmp_path / "r", SETUP) as run:
        asyncio.run(record(run))
    assert len(list(open_run(tmp_path / "r").calls())) == 1


def test_what_a_session_measured_is_kept_with_it_and_no_part_of_what_the_run_is(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "r", [call("a")], [step("a")])
    with RunDirectory.start(path, SETUP) as run:
        run.note_measured({"starvation": {"starved_share": 0.01}})
        run.note_measured({"device": "cpu"})
    with RunDirectory.start(path, SETUP):
        pass
    measured = [session.measured for session in open_run(path).manifest.sessions]
    assert measured == [{}, {"starvation": {"starved_share": 0.01}, "device": "cpu"}, {}]
