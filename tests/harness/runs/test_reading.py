from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.runs import DataGone, RunDirectory, RunError, StepData, open_run
from harness.runs.files import cut_torn, read_lines
from tests.harness.runs.examples import SETUP, call, step, write


def test_a_torn_last_line_is_passed_over_and_then_cut_at_every_offset(tmp_path: Path) -> None:
    path = write(tmp_path / "r", [call("a"), call("b")])
    calls = path / "calls.jsonl"
    whole = calls.read_bytes()
    first = whole.index(b"\n") + 1
    for end in range(len(whole) + 1):
        calls.write_bytes(whole[:end])
        finished = (end >= first) + (end == len(whole))
        assert len(list(open_run(path).calls())) == finished
        if end % 50 == 0 or end in (first - 1, first, first + 1, len(whole) - 1):
            write(path, [call("next")])
            assert len(list(open_run(path).calls())) == finished + 1


@given(st.binary(max_size=300))
def test_cutting_leaves_exactly_the_finished_lines(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("torn") / "lines"
    path.write_bytes(data)
    lines = [line.data for line in read_lines(path)]
    cut = cut_torn(path)
    assert path.read_bytes() == b"".join(lines) == data[: len(data) - cut]


def test_a_torn_tail_longer_than_one_look_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"whole\n" + b"x" * 200_000)
    assert cut_torn(path) == 200_000
    assert path.read_bytes() == b"whole\n"


@pytest.mark.parametrize(
    "rubbish", [b"{}\n", b"\n", b"not json\n", b'"\xff"\n', b"[" * 5000 + b"\n"]
)
def test_a_broken_line_in_the_middle_is_an_error_with_file_and_number(
    tmp_path: Path, rubbish: bytes
) -> None:
    path = write(tmp_path / "r", [call("a"), call("b")], [step("a"), step("b")])
    for name, use in (("calls", lambda r: list(r.calls())), ("steps", lambda r: r.records())):
        file = path / f"{name}.jsonl"
        first, second = file.read_bytes().splitlines(keepends=True)
        file.write_bytes(first + rubbish + second)
        with pytest.raises(RunError, match=rf"{name}\.jsonl line 2"):
            use(open_run(path))
        with pytest.raises(RunError, match=r"jsonl line 2"):
            RunDirectory.start(path, SETUP)


def test_a_tolerant_run_leaves_out_what_cannot_be_read_and_says_so(tmp_path: Path) -> None:
    path = write(tmp_path / "r", [call("a"), call("b")], [step("a"), step("b")])
    for name in ("calls", "steps"):
        file = path / f"{name}.jsonl"
        first, second = file.read_bytes().splitlines(keepends=True)
        file.write_bytes(first + b"{}\n" + second + b'{"torn')
    run = open_run(path, tolerant=True)
    assert not run.unreadable
    assert [record.unit_id for record in run.records()] == ["a", "b"]
    assert [call.unit_id for call in run.calls_of("b")] == ["b"]
    assert len(run.unreadable) == 2
    steps, calls = run.unreadable
    assert steps.startswith("steps.jsonl line 2 cannot be read: ")
    assert calls.startswith("calls.jsonl line 2 cannot be read: ")


def test_a_run_without_manifest_or_with_another_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"no manifest\.json"):
        open_run(tmp_path / "nowhere")
    (tmp_path / "manifest.json").write_text('{"name": "npm package"}')
    with pytest.raises(RunError, match="not the manifest of a run"):
        open_run(tmp_path)


def test_steps_come_in_the_same_order_however_they_were_written(tmp_path: Path) -> None:
    steps = [step(f"s{n}", task_id=f"t{n % 3}", index=n) for n in range(9)]
    one = write(tmp_path / "one", (), steps)
    other = write(tmp_path / "other", (), reversed(steps))
    assert open_run(one).records() == open_run(other).records()


def test_the_calls_of_a_step_are_found(tmp_path: Path) -> None:
    calls = [call("ä", "round-1"), call("b"), call("ä", "round-2"), call("ä", repeat=1)]
    run = open_run(write(tmp_path / "r", calls))
    assert [c.place for c in run.calls_of("ä")] == ["round-1", "round-2"]
    assert run.calls_of("ä", 1) == [calls[3]]
    assert run.calls_of("none") == []


def test_pictures_and_pages_are_checked_against_the_run(tmp_path: Path) -> None:
    data = {"a": StepData("<p>page</p>", b"png"), "b": StepData("<p>new</p>", None)}
    digests: dict[str, Any] = {
        "html_digest": hashlib.sha256(b"<p>page</p>").hexdigest(),
        "screenshot_digest": hashlib.sha256(b"png").hexdigest(),
    }

    def resolve(
        dataset: Mapping[str, Any], step_ids: Collection[str]
    ) -> Iterator[tuple[str, StepData | DataGone]]:
        yield from ((step_id, data[step_id]) for step_id in step_ids)

    steps = [step("a", **digests), step("b", **digests), step("c")]
    run = open_run(write(tmp_path / "r", (), steps), resolve)
    assert run.page("a") == "<p>page</p>"
    assert run.screenshot("a") == b"png"
    for gone in (run.page, run.screenshot):
        with pytest.raises(DataGone, match="not the one of the run"):
            gone("b")
        with pytest.raises(DataGone, match="has no step"):
            gone("unknown")
    with pytest.raises(DataGone, match="without a screenshot"):
        run.screenshot("c")


def test_reading_runs_loads_nothing_heavy() -> None:
    code = (
        "import sys, harness.runs\n"
        "heavy = {'torch', 'datasets', 'pandas', 'pyarrow', 'openai', 'anthropic', 'PIL', 'rich'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
