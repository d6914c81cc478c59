"""`--redo truncated`: a new run with the lines of another, whose cut steps are asked again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.harness.commands.tool import (
    DEV,
    TEXT_ONLY,
    Called,
    at,
    call,
    calls,
    replying,
    steps,
    summary,
    whole_text,
)
from tests.servers import Answer, Ask, WireServer

PRICES = '["openai:m"]\ninput = 1000.0\noutput = 2000.0\n'
CUT = Answer(text="Let me think about", finish="length")


def thinker(needs: int) -> Callable[[Ask], Answer]:
    """A server that is cut off in the second rounds of tasks with a voucher, below `needs`."""
    good = replying()

    def react(ask: Ask) -> Answer:
        cut = ask.rounds and "voucher" in whole_text(ask) and ask.body["max_tokens"] < needs
        return CUT if cut else good(ask)

    return react


def manifest(run: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(run) / "manifest.json").read_text())
    return found


def files(run: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(run).iterdir() if path.is_file()}


def statuses(run: str) -> dict[str, str]:
    return {
        line["step_id"]: line["prediction"]["status"] for line in steps(run) if line["prediction"]
    }


def begin(server: WireServer, out: str = "old", *more: str) -> tuple[str, ...]:
    """A run of two tasks, in one of which every step is cut off. Returns its arguments."""
    line = (*at(server, *DEV, "--limit", "2", *TEXT_ONLY, "--no-cache"), *more)
    assert call(*line, "--out", out).code == 0
    return line


def redo(*more: str, out: str = "new") -> Called:
    fixed = (
        "--redo",
        "truncated",
        "--redo-from",
        "old",
        "--out",
        out,
        "--adapter-option=preflight=no",
        "--no-cache",
    )
    return call(*fixed, *more)


def test_only_the_cut_steps_are_asked_again_and_the_other_lines_are_taken_over() -> None:
    with WireServer(thinker(2000)) as server:
        begin(server)
        before = files("old")
        cut = {step for step, status in statuses("old").items() if status == "truncated"}
        assert len(cut) == 5
        asked = server.count
        done = redo("--max-tokens", "4096")
        assert done.code == 0, done.err
        assert server.count == asked + 2 * len(cut)
        assert {ask.body["max_tokens"] for ask in server.asks[asked:]} == {4096}
    assert files("old") == before
    assert set(statuses("new").values()) == {"answered"}
    taken = {line["step_id"]: line for line in steps("old") if line["step_id"] not in cut}
    now = {line["step_id"]: line for line in steps("new")}
    assert {step: now[step] for step in taken} == taken
    kept = [line for line in calls("old") if line["unit_id"] not in cut]
    assert [line for line in calls("new") if line["unit_id"] not in cut] == kept
    redone = manifest("new")["redone"]
    assert redone["statuses"] == ["truncated"]
    assert redone["max_tokens"] == [1024]
    assert redone["steps"] == len(cut)
    assert manifest("new")["config"]["max_tokens"] == [4096]
    assert manifest("old")["redone"] is None
    assert summary("new")["complete"] is True
    assert summary("new")["redone"]["steps"] == len(cut)
    assert f"{len(cut)} truncated of old (limit 1024)" in done.err


REFUSED = (
    (("--max-tokens", "1024"), "--redo needs a higher limit than the 1024 tokens of old"),
    (("--max-tokens", "512"), "--max-tokens 8192"),
    (("--max-tokens", "4096,512"), "--redo needs a higher limit"),
    (("--max-tokens", "4096", "--seed", "3"), "seed: "),
    (("--max-tokens", "4096", "--temperature", "1"), "temperature: "),
    (("--max-tokens", "4096", "--out", "old"), "is the run itself"),
    (("--max-tokens", "4096", "--redo", "empty", "--redo-from", "fine"), "no step of fine is"),
    (("--max-tokens", "4096", "--redo", "answered"), "answered"),
    (("--max-tokens", "4096", "--redo-from", "nowhere"), "nowhere is not a run directory"),
    (("--max-tokens", "4096", "--out", "fine"), "fine is another run"),
    (("--max-tokens", "4096", "--out", "full"), "full exists but is not a run directory"),
    ((), "--redo needs a higher limit than the 1024 tokens of old"),
)


def test_what_is_no_redo_is_refused_in_a_line_and_sends_nothing() -> None:
    with WireServer(thinker(2000)) as server:
        begin(server)
        begin(server, "fine", "--max-tokens", "3000")
        Path("full").mkdir()
        Path("full/notes.txt").write_text("mine")
        before, asked = {run: files(run) for run in ("old", "fine", "full")}, server.count
        for options, complaint in REFUSED:
            refused = redo(*options)
            assert (refused.code, server.count) == (2, asked), options
            assert complaint in refused.err, options
            assert "Traceback" not in refused.err
            assert {run: files(run) for run in before} == before, options
            assert not Path("new").exists()


def test_from_without_redo_and_redo_without_a_folder_are_refused() -> None:
    with WireServer(thinker(2000)) as server:
        line = begin(server)
        alone = call(*line, "--redo-from", "old", "--out", "new")
        assert alone.code == 2
        assert "--redo-from has no effect without --redo;" in alone.complaint
        nowhere = call("--redo", "truncated", "--redo-from", "old", "--max-tokens", "4096")
        assert (nowhere.code, "--out" in nowhere.complaint) == (2, True)
        unnamed = call(*line, "--redo", "truncated", "--max-tokens", "4096", "--out", "new")
        assert (unnamed.code, "--redo-from RUN" in unnamed.err) == (2, True)
    missing = call("--benchmark", "sample")
    assert (missing.code, "--model" in missing.err) == (2, True)


def test_a_rehearsal_counts_only_what_is_asked_again_and_makes_nothing() -> None:
    with WireServer(thinker(2000)) as server:
        begin(server)
        asked = server.count
        rehearsed = redo("--max-tokens", "4096", "--dry-run")
        assert (rehearsed.code, server.count) == (0, asked)
    assert "calls:     10 (counted)" in rehearsed.out
    assert f"{10 * 4096:,} out" in rehearsed.out
    assert not Path("new").exists()


def test_a_redo_that_was_cut_short_goes_on_with_the_same_line_or_without_redo() -> None:
    with WireServer(thinker(2000)) as server:
        line = begin(server)
        assert redo("--max-tokens", "4096").code == 0
        whole = {line["step_id"]: line["prediction"] for line in steps("new")}
        # All that this session has written itself is lost, but for one call.
        kept = len(calls("old")) - 10
        for name, lines in (("calls.jsonl", kept + 1), ("steps.jsonl", len(steps("old")) - 5)):
            path = Path("new") / name
            path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:lines]))
        asked = server.count
        again = redo("--max-tokens", "4096")
        assert (again.code, server.count) == (0, asked + 9)
        assert {line["step_id"]: line["prediction"] for line in steps("new")} == whole
        plain = call(*line, "--out", "new", "--max-tokens", "4096")
        assert (plain.code, server.count) == (0, asked + 9)
    assert manifest("new")["redone"]["steps"] == 5


def test_a_new_run_is_there_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    with WireServer(thinker(2000)) as server:
        begin(server)
        real = Path.replace

        def torn(self: Path, target: str | Path) -> Path:
            if Path(target).name == "new":
                raise OSError(5, "Input/output error")
            return real(self, target)

        with monkeypatch.context() as broken:
            broken.setattr(Path, "replace", torn)
            failed = redo("--max-tokens", "4096")
        assert failed.code == 2
        assert "Input/output error" in failed.err
        assert not Path("new").exists()
        assert not [path for path in Path().iterdir() if "new" in path.name]
        assert redo("--max-tokens", "4096").code == 0


def test_what_was_taken_over_does_not_count_towards_the_cost_limit() -> None:
    Path("prices.toml").write_text(PRICES)
    with WireServer(thinker(2000)) as server:
        begin(server, "old", "--prices", "prices.toml")
        spent = sum(line["cost"] for line in calls("old"))
        assert spent > 1
        done = redo("--max-tokens", "1100", "--prices", "prices.toml", "--max-cost", "0.9")
        assert done.code == 1
        assert "cost limit reached: $0.0000 of $0.9000" in done.err
    assert "was billed in old, whose steps it took over" in done.err
    assert "took steps over from old" in " ".join(
        call("report", "new", "--table", "cost").out.split()
    )
    assert manifest("new")["redone"]["cost"] == pytest.approx(
        sum(line["cost"] for line in calls("new"))
    )


def test_a_redone_run_is_read_scored_and_reported_but_not_ranked_beside_others() -> None:
    with WireServer(thinker(2000)) as server:
        line = begin(server)
        assert redo("--max-tokens", "4096").code == 0
        assert call(*line, "--out", "high", "--max-tokens", "4096").code == 0
    score = call("score", "new")
    assert (score.code, "0 of 12 predictions read differently" in score.out) == (0, True)
    table = call("report", "new", "high")
    assert table.code == 0
    text = " ".join((table.out + table.err).split())
    assert "not ranked" in text
    assert "redone" in text
    assert "truncated at 1024" in text
    alike = call("report", "high", "high")
    assert "redone" not in alike.out
    step = next(iter(statuses("new")))
    assert call("show", step, "--run", "new").code == 0
    assert call("errors", "new").code == 0


def test_repeats_are_asked_again_one_by_one() -> None:
    seen: dict[str, int] = {}
    good = replying()

    def react(ask: Ask) -> Answer:
        """The first time that a step's second round is asked, it is cut off."""
        if not ask.rounds or ask.body["max_tokens"] > 1024:
            return good(ask)
        text = whole_text(ask)
        seen[text] = seen.get(text, 0) + 1
        return CUT if seen[text] == 1 else good(ask)

    with WireServer(react) as server:
        begin(server, "old", "--repeats", "2", "--limit", "1")
        cut = [line for line in steps("old") if line["prediction"]["status"] == "truncated"]
        assert len(cut) == 7
        asked = server.count
        assert redo("--max-tokens", "4096").code == 0
        assert server.count == asked + 14
    assert len(steps("new")) == 14
    assert {line["prediction"]["status"] for line in steps("new")} == {"answered"}
