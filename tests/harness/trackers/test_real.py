"""The real package in an environment that is made for the test, read back by itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import harness
from tests.harness.commands.tool import DEV, last_lines, replying, summary
from tests.harness.trackers.notes import PATIENCE_S
from tests.numbers import number
from tests.servers import Answer, Ask, WireServer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(os.name == "nt", reason="there is no kill -9"),
]


@pytest.fixture(scope="module")
def wandb(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The Python of an environment with the package, over the one that the tests run in.

    `VLM_EVAL_TEST_WANDB` names one that is there already.
    """
    if there := os.environ.get("VLM_EVAL_TEST_WANDB"):
        return there
    folder = tmp_path_factory.mktemp("wandb") / "env"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = str(folder / "bin" / "python")
    line = [python, "-m", "pip", "install", "-q", "wandb>=0.31,<1"]
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"wandb cannot be installed here: {done.stderr.strip()[-200:]}")
    beneath = (sysconfig.get_path("purelib"), Path(harness.__file__).parent.parent)
    [own] = folder.glob("lib/python*/site-packages")
    (own / "zz_beneath.pth").write_text("".join(f"{path}\n" for path in beneath))
    return python


def run(python: str, *args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, *args],
        env={**os.environ, "PYTHONPATH": "", **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S * 5,
    )


def line(server: WireServer, *args: str) -> list[str]:
    fixed = ["-m", "harness", "-m", "openai:m", *DEV, "--base-url", server.base_url("openai")]
    rest = ["--no-preflight", "--no-cache", "--concurrency", "1", "--progress", "off", "-o", "run"]
    return [*fixed, *rest, *args]


def ended_early(
    python: str, sent: signal.Signals, *args: str, **environment: str
) -> tuple[int, subprocess.CompletedProcess[str]]:
    """Units settled when a run was sent a signal at its 60th call, and the end of the rest."""
    process: subprocess.Popen[bytes] | None = None

    def react(ask: Ask) -> Answer:
        if ask.number == 60 and process is not None and process.poll() is None:
            process.send_signal(sent)
            if sent is signal.SIGKILL:
                process.wait(PATIENCE_S)
        return replying()(ask)

    with WireServer(react) as server:
        begun = line(server, *args)
        process = subprocess.Popen(
            [python, *begun],
            env={**os.environ, "PYTHONPATH": "", **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        assert process.wait(PATIENCE_S * 2) == (-sent if sent is signal.SIGKILL else 130)
        settled = sum(one["settled"] for one in last_lines("run"))
        done = run(python, *begun, **environment)
        assert done.returncode == 0, done.stderr
    return settled, done


READ_WANDB = """
import glob, json, struct
from wandb.proto import wandb_internal_pb2 as pb

def records(path):
    data, at, held = open(path, "rb").read(), 7, b""
    assert data[:4] == b":W&B"
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        _, size, kind = struct.unpack("<IHB", data[at : at + 7])
        if kind == 0:
            break
        held += data[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (1, 4):
            record = pb.Record()
            record.ParseFromString(held)
            held = b""
            yield record

def key(item):
    return item.key or "/".join(item.nested_key)

sessions = []
for path in sorted(glob.glob("wandb/offline-run-*/*.wandb")):
    one = {"history": [], "summary": {}, "whole": open(path, "rb").read().decode("latin-1")}
    for record in records(path):
        what = record.WhichOneof("record_type")
        if what == "run":
            told = record.run
            one |= {"id": told.run_id, "project": told.project, "host": told.host}
            one["config"] = {key(item): json.loads(item.value_json) for item in told.config.update}
        elif what == "history":
            items = record.history.item
            one["history"].append({key(item): json.loads(item.value_json) for item in items})
        elif what == "summary":
            for item in record.summary.update:
                one["summary"][key(item)] = json.loads(item.value_json)
    sessions.append(one)
print(json.dumps(sessions))
"""


def test_wandb_has_one_run_of_two_sessions_and_nothing_of_the_machine(
    wandb: str, place: Path
) -> None:
    offline = {"WANDB_MODE": "offline", "WANDB_DATA_DIR": str(place / "data")}
    args = ("--track", "wandb:mine", "--image-policy", "none")
    settled, done = ended_early(wandb, signal.SIGINT, *args, **offline)
    assert "tracker wandb:mine: offline; send it with: wandb sync " in done.stderr
    read = run(wandb, "-c", READ_WANDB)
    assert read.returncode == 0, read.stderr
    first, second = json.loads(read.stdout.splitlines()[-1])
    assert (first["id"], first["project"]) == (second["id"], second["project"]) == ("run", "mine")
    assert first["config"] == second["config"] and first["config"]["model"] == "openai:m"
    numbers = [
        [one["settled"] for one in session["history"] if "macro/element" in one]
        for session in (first, second)
    ]
    both = numbers[0] + numbers[1]
    assert both == sorted(set(both)) and both[-1] == len(last_lines("run"))
    assert numbers[0][-1] <= settled < numbers[1][0]
    value = number(summary("run"), "element")
    assert second["summary"]["macro/element"] == pytest.approx(value)
    for session in (first, second):
        told = session["whole"]
        assert session["host"] == "[address]"
        for hidden in ("127.0.0.1", "harness/__main__", "--no-preflight", sys.executable):
            assert hidden not in told, hidden
    [*_, table] = sorted(place.glob("wandb/offline-run-*/files/media/table/results*.json"))
    rows = json.loads(table.read_text())
    assert rows["columns"] == ["split", "measure", "average", "value", "low", "high", "n"]
    assert not list(place.glob("wandb/offline-run-*/files/requirements.txt"))
    assert not list(place.glob("wandb/offline-run-*/files/wandb-metadata.json"))
    shown = run(str(Path(wandb).with_name("wandb")), "sync", "--dry-run", "wandb", **offline)
    assert shown.returncode == 0, shown.stderr


def test_wandb_without_a_key_asks_nobody(wandb: str, place: Path) -> None:
    args = ["-m", "harness", "-m", "lexical", *DEV, "--limit", "1", "--track", "wandb"]
    done = run(wandb, *args, NETRC=str(place / "netrc"), HOME=str(place))
    assert done.returncode == 2 and done.stderr.startswith("vlm-eval: --track wandb: no key of ")
