"""Runs that are tracked: what trackers are told, and that nothing else changes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import harness
from adapters.contract import Fatal
from adapters.registry import Entry
from harness.errors import UserError
from harness.trackers.tracking import TRACKERS, open_trackers
from tests import numbers
from tests.harness.batches.deferring import Provider
from tests.harness.batches.deferring import session as batch_session
from tests.harness.commands.tool import (
    CLICK_A,
    DEV,
    TEXT_ONLY,
    call,
    calls,
    last_lines,
    replying,
    summary,
)
from tests.harness.trackers.notes import PATIENCE_S, Known, Notes, Raises
from tests.servers import Answer, Ask, WireServer, error

SAMPLE: dict[str, Any] = {"benchmark": "sample", "progress": "off"}
SPLIT = {**SAMPLE, "split": "dev"}
NOTES = "tests.harness.trackers.notes"
OWN = f"{NOTES}:Known"
KEY = "sk-proj-Recognisable0123456789abcdefghijklmnop"


def tracked(tracker: Any = None, **settings: Any) -> Notes:
    """A tracker that was told of a run of the sample by the lexical baseline."""
    found: Notes = tracker or Notes()
    harness.evaluate("lexical", **{**SAMPLE, "out": "run", "track": found, **settings})
    return found


def asked(server: WireServer, tracker: Notes, **settings: Any) -> None:
    """Track a run of a model behind a server."""
    harness.evaluate(
        "openai:m",
        **{**SPLIT, "image_policy": "none", "preflight": False, "out": "run", **settings},
        base_url=server.base_url("openai"),
        track=tracker,
    )


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def success(lines: list[dict[str, Any]]) -> tuple[float, float]:
    """Step success of lines as they stand in `steps.jsonl`: the mean over tasks, and over steps."""
    tasks: dict[str, list[float]] = {}
    for line in lines:
        if line["scores"] is not None:
            tasks.setdefault(line["parents"]["task"], []).append(line["scores"]["success"])
    return mean([mean(own) for own in tasks.values()]), mean(
        [one for own in tasks.values() for one in own]
    )


def test_points_have_the_measures_of_the_units_settled_so_far() -> None:
    tracker = tracked()
    lines = last_lines("run")
    numbers = [settled for settled, _ in tracker.points]
    assert numbers == [*range(10, len(lines), 10), len(lines)] == sorted(set(numbers))
    for settled, values in tracker.points:
        macro, micro = success(lines[:settled])
        assert values["macro/success"] == pytest.approx(macro)
        assert values["micro/success"] == pytest.approx(micro)
        # Half of a task says nothing of its success.
        assert ("tasks/task_success" in values) is (settled == len(lines))
    assert tracker.name == "run"
    assert len(tracker.threads) == 1 and threading.current_thread().name not in tracker.threads


def test_the_end_is_the_summary() -> None:
    ending = tracked(limit=6).ending
    assert ending is not None and ending.complete
    found = summary("run")
    columns = ("split", "measure", "average", "value", "low", "high", "n")
    assert all(tuple(row) == columns for row in ending.rows)
    values = [tuple(row.values()) for row in ending.rows]
    told = {row[:3]: row[3:] for row in values}
    splits = [one["value"] for one in found["counts"] if one["group"] == "split"]
    assert splits
    for split in splits:
        for measure, name in (("element", "element"), ("success", "success")):
            for average in ("macro", "micro"):
                known = numbers.row(found, name, average, group="split", value=split)
                expected = (known["number"], known["low"], known["high"], known["n"])
                assert told[split, measure, average] == expected
        tasks = numbers.row(found, "task_success", "parents", group="split", value=split)
        assert told[split, "task_success", "tasks"][0] == tasks["number"]
        assert told[split, "task_success", "tasks"][3] == tasks["n"] == 6
    assert ending.values["macro/element"] == told["test", "element", "macro"][0]


def test_neither_texts_nor_pictures_are_sent() -> None:
    sent = tracked(limit=2).everything
    goals = {line["goal"] for line in last_lines("run")}
    replies = {one["reply"]["text"] for one in calls("run")}
    assert goals and replies
    assert not any(json.dumps(text)[1:-1] in sent for text in goals | replies)
    assert "data:image" not in sent and "digest" not in sent


def files(run: str) -> dict[str, Any]:
    """What a run has on disk, without what differs between any two of them: times and names."""
    found: dict[str, Any] = {}
    for path in sorted(Path(run).rglob("*")):
        name = str(path.relative_to(run))
        found[name] = path.read_bytes() if path.is_file() else None
    manifest = json.loads(found["manifest.json"])
    for session in manifest["sessions"]:
        session["started"] = session["pid"] = None
        for setting in ("out", "track"):
            session["settings"].pop(setting)
    found["manifest.json"] = {**manifest, "name": None, "created": None}
    found["summary.json"] = {**json.loads(found["summary.json"]), "run": None}
    # Steps are settled side by side, in any order.
    replies = [{**one, "reply": one["reply"]["text"]} for one in calls(run)]
    found["calls.jsonl"] = sorted(replies, key=lambda one: one["id"])
    found["steps.jsonl"] = sorted(found["steps.jsonl"].splitlines())
    return found


def test_the_files_of_a_run_are_the_same_with_and_without_trackers() -> None:
    harness.evaluate("lexical", **SAMPLE, limit=4, out="a")
    tracked(limit=4, out="b", track=[Notes(), Raises("log", OSError())])
    assert files("a") == files("b")


def test_a_tracker_that_raises_ends_no_run_and_is_told_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    other = Notes()
    tracked(limit=4, track=[Raises("log", RuntimeError("boom")), other])
    assert summary("run")["complete"]
    lines = [line for line in capsys.readouterr().err.splitlines() if "tracker" in line]
    assert lines == ["tracker Raises: RuntimeError: boom; the run goes on without it"]
    assert other.ending is not None and other.ending.complete


def test_a_mistake_before_the_first_reply_starts_no_tracker() -> None:
    tracker = Notes()
    with WireServer(error(401, "no such key")) as server, pytest.raises(Fatal):
        asked(server, tracker, preflight=True)
    assert tracker.name == "" and tracker.ending is None
    assert not Path("run").exists()


def test_a_run_that_fails_on_the_way_is_told_as_far_as_it_came() -> None:
    def react(ask: Ask) -> Answer:
        return replying()(ask) if ask.number <= 25 else error(401, "no such key")

    tracker = Notes()
    with WireServer(react) as server, pytest.raises(Fatal):
        asked(server, tracker, concurrency=1)
    settled = sum(line["settled"] for line in last_lines("run"))
    assert [number for number, _ in tracker.points] == [10, settled]
    assert tracker.ending is not None
    assert (tracker.ending.settled, tracker.ending.rows) == (settled, ())
    assert not tracker.ending.complete


def test_tokens_cost_and_replies_that_cannot_be_used_are_told(place: Path) -> None:
    Path("prices.toml").write_text('["openai:m"]\ninput = 10\noutput = 100\n')

    def react(ask: Ask) -> Answer:
        second = ("hm", CLICK_A, "")[ask.number % 3]
        answer = Answer(second if ask.rounds else "ok", usage={"input": 7, "output": 2})
        return replace(answer, finish="length") if ask.rounds and second == "hm" else answer

    tracker = Notes()
    with WireServer(react) as server:
        asked(server, tracker, prices="prices.toml", cache=False, yes=True)
    told, known = tracker.points[-1][1], summary("run")
    ended, units = numbers.counts(known), known["rows"]["asked"]
    assert told["replies/truncated"] == pytest.approx(ended["statuses"]["truncated"] / units)
    assert told["replies/empty"] == pytest.approx(ended["statuses"]["empty"] / units)
    assert told["replies/unreadable"] == pytest.approx(ended["parse_failures"] / units)
    assert told["tokens/input"] == 14 * units and told["tokens/output"] == 4 * units
    assert told["cost"] == pytest.approx(known["cost"]) == pytest.approx(540e-6 * units)


CHILD = """
import sys
import harness
from pathlib import Path
from tests.harness.trackers.notes import ToFile
harness.evaluate("openai:m", benchmark="sample", split="dev", limit=6, progress="off",
    preflight=False, image_policy="none", concurrency=1, cache=False, base_url=sys.argv[1],
    out="run", track=ToFile(Path("told.jsonl")))
"""


def told(path: str = "told.jsonl") -> list[tuple[str, Any]]:
    return [tuple(json.loads(line)) for line in Path(path).read_text().splitlines()]


@pytest.mark.skipif(os.name == "nt", reason="there is no kill -9")
def test_a_killed_run_goes_on_as_the_same_tracked_run_and_tells_nothing_twice() -> None:
    process: subprocess.Popen[bytes] | None = None

    def react(ask: Ask) -> Answer:
        if ask.number == 60 and process is not None and process.poll() is None:
            # Its tracker is a thread that may lag behind.
            file, end = Path("told.jsonl"), time.monotonic() + PATIENCE_S
            while time.monotonic() < end:
                if file.exists() and file.read_bytes().count(b"\n") > 2:
                    break
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            process.wait(PATIENCE_S)
        return replying()(ask)

    with WireServer(react) as server:
        line = [sys.executable, "-c", CHILD, server.base_url("openai")]
        # The tests lie in the checkout, wherever the package is installed.
        paths = os.pathsep.join([str(Path(__file__).parents[3]), *sys.path])
        place = {**os.environ, "PYTHONPATH": paths}
        process = subprocess.Popen(line, env=place, stderr=subprocess.DEVNULL)
        assert process.wait(PATIENCE_S) == -signal.SIGKILL
        first = told()
        settled = sum(one["settled"] for one in last_lines("run"))
        subprocess.run(line, env=place, check=True, timeout=PATIENCE_S)
    whats = [what for what, _ in first]
    assert whats == ["start", *["log"] * (len(first) - 1)] and len(first) > 2
    second = told()[len(first) :]
    assert (second[0][0], second[-1][0]) == ("start", "finish")
    assert first[0] == second[0] and settled > 0
    numbers = [value[0] for what, value in told() if what == "log"]
    assert numbers == sorted(set(numbers)) and numbers[-1] == len(last_lines("run"))
    assert all(value[0] > settled for what, value in second if what == "log")
    assert second[-1][1]["complete"]


def test_a_run_that_was_complete_before_is_told_as_its_result_alone() -> None:
    tracked(limit=2)
    again = tracked(limit=2)
    assert again.points == [] and again.ending is not None
    assert again.ending.complete and again.ending.values and again.ending.rows
    assert again.name == "run"


def test_a_session_that_only_looks_after_batches_is_not_told(place: Path) -> None:
    provider = Provider()
    batch_session(provider, track=Notes())
    idle, last = Notes(), Notes()
    assert not batch_session(provider, track=idle).complete
    assert idle.name == "" and idle.ending is None
    while not batch_session(provider, track=last).complete:
        provider.answer()
    assert last.ending is not None and last.ending.complete


def test_neither_keys_nor_addresses_nor_paths_are_among_the_settings_that_are_sent(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    tracker = Notes()
    with WireServer(replying()) as server:
        url, extra = server.base_url("openai"), json.dumps({"at": f"{place}/x"})
        out = place / "deep" / "run"
        asked(server, tracker, adapter_option={"extra_body": extra}, limit=1, out=out)
    config = tracker.config
    assert tracker.name == "run"
    assert (config["model"], config["limit"]) == ("openai:m", 1)
    assert config["benchmark_option"]["distractors"] == 20
    assert config["dataset"]["files"][0]["sha256"] and config["model_info"]["model"] == "m"
    port = url.rpartition(":")[2].partition("/")[0]
    for hidden in (KEY, KEY[:16], str(place), port, "127.0.0.1", str(Path.home())):
        assert hidden not in json.dumps(config), hidden


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Notes]]:
    """Every tracker that was made under the name `notes`."""
    monkeypatch.setitem(TRACKERS._entries, "notes", Entry("notes", OWN))
    monkeypatch.setattr(Known, "made", [])
    yield Known.made


@pytest.mark.parametrize("name", ["notes", OWN])
def test_a_name_may_have_a_project_and_files_take_it_as_any_setting(
    name: str, known: list[Notes], place: Path
) -> None:
    Path("run.toml").write_text(f'track = ["{name}", "{name}:mine"]\n')
    done = call("--model", "lexical", "--config", "run.toml", *DEV, "--limit", "1", "-o", "a")
    assert done.code == 0
    assert [one.project for one in known] == ["", "mine"]
    assert all(one.ending and one.ending.complete for one in known)
    session = json.loads(Path("a/manifest.json").read_text())["sessions"][0]["settings"]
    assert session["track"] == [name, f"{name}:mine"]


def test_whether_a_run_is_tracked_is_no_part_of_its_identity(known: list[Notes]) -> None:
    line = ("--model", "lexical", *DEV, "--limit", "1", "--progress", "off")
    assert call(*line).code == call(*line, "--track", "notes").code == 0
    assert len(list(Path("runs").iterdir())) == 1
    [tracker] = known
    assert tracker.ending is not None and tracker.ending.complete


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (("--track", "wand"), "--track wand: unknown tracker 'wand'; did you mean 'wandb'?"),
        (("--track", "mlflow"), "--track mlflow: unknown tracker 'mlflow'; known: notes, wandb"),
        (("--track", "nowhere:T"), "--track nowhere:T: unknown tracker 'nowhere:T'; there is no f"),
        (("--track", f"{NOTES}:No"), f"--track {NOTES}:No: tracker '{NOTES}:No' cannot be loaded"),
        (("--track", "notes", "--track", "notes"), "--track notes is given twice"),
        (
            ("--track", f"{NOTES}:broken"),
            f"--track {NOTES}:broken: it cannot be opened (KeyError: ",
        ),
        (
            ("--track", f"{NOTES}:odd"),
            f"--track {NOTES}:odd: tracker '{NOTES}:odd' is not a tracker: it has no 'start'",
        ),
    ],
)
def test_bad_input_gets_one_line_and_leaves_nothing(
    args: tuple[str, ...], complaint: str, known: list[Notes]
) -> None:
    done = call("--model", "lexical", *DEV, *TEXT_ONLY, *args)
    assert done.code == 2 and done.complaint.startswith(f"vlm-eval: {complaint}")
    assert not Path("runs").exists()


def test_python_takes_names_and_objects_side_by_side(known: list[Notes]) -> None:
    own = Notes()
    harness.evaluate("lexical", **SPLIT, limit=1, track=["notes:p", own], out="a")
    assert [one.project for one in known] == ["p"]
    assert known[0].ending == own.ending and own.ending is not None
    session = json.loads(Path("a/manifest.json").read_text())["sessions"][0]["settings"]
    assert session["track"] == ["notes:p", "Notes"]
    for wrong in (3, object(), [own, 3], [own, Notes()]):
        with pytest.raises(UserError, match="track"):
            harness.evaluate("lexical", **SPLIT, limit=1, track=wrong, out="b")


STUCK = """
import atexit, threading
from harness.trackers import tracking
tracking.END_S = 0.5
class Stuck:
    def start(self, name, config):
        atexit.register(threading.Event().wait)
        threading.Event().wait()
    def log(self, settled, values): ...
    def finish(self, ending): ...
"""


def test_a_tracker_that_hangs_at_the_end_of_the_process_does_not_hold_it_up(place: Path) -> None:
    (place / "stuck.py").write_text(STUCK)
    line = ["-m", "harness", "-m", "lexical", *DEV, "--limit", "1", "--track", "stuck:Stuck"]
    done = subprocess.run(
        [sys.executable, *line, "-o", "a"],
        env={**os.environ, "PYTHONPATH": str(Path(harness.__file__).parent.parent)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0 and "complete: a" in done.stderr
    assert "tracker stuck:Stuck: not finished" in done.stderr and "Ele. Acc" in done.stdout


def test_code_that_no_user_has_named_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapters.entry_points._allowed", set())
    with pytest.raises(UserError, match=f"run only if you name it: add --allow {OWN}"):
        open_trackers([f"{OWN}:mine"], {})
