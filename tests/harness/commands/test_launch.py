"""The script for clusters, and what the document has around it, run with everything else in place.

`vlm-eval` is a stand-in on the path, which keeps what it was called with, and is the real one where
a test lets it.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.harness.commands.tool import DEV, call, summary
from tests.harness.session.test_shards_and_merges import numbers

FEW = ("--model", "lexical", *DEV, "--limit", "3")
ODD = (
    "it's",
    "$(touch oops) `touch oops`",
    'two "words"',
    "a\\b $HOME $$ @OUT@",
    "\N{SNOWMAN}",
    "two\nlines",
    "",
)
SERVED = ("--model", "fake-vl", "--with-server", "vllm serve {model} --port {port}")
GENEROUS_S = 240
STUBS = {
    "vlm-eval": f"""#!{sys.executable}
import json, os, pathlib, signal, subprocess, sys, time
with open("called", "a") as file:
    print(json.dumps(sys.argv[1:]), file=file)
behaviour = os.environ.get("BEHAVIOUR", "real")
if behaviour == "real":
    sys.exit(subprocess.call([sys.executable, "-m", "harness", *sys.argv[1:]]))
if behaviour == "waits twice":
    sys.exit(3 if len(open("called").readlines()) < 3 else 0)
if behaviour == "works":
    signal.signal(signal.SIGTERM, lambda *_: (time.sleep(0.5), os._exit(130)))
    pathlib.Path("at-work").touch()
    while True:
        time.sleep(1)
""",
    "sbatch": '#!/bin/sh\nprintf "%s\\n" "$@" >> queued\necho "4242;cluster"\n',
    "scontrol": '#!/bin/sh\necho "$@" >> queued\n',
    "sleep": '#!/bin/sh\necho "$@" >> slept\n',
}


@pytest.fixture(autouse=True)
def stubs(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand-ins for the programs that a script calls, before all others on the path."""
    folder = place / "bin"
    folder.mkdir()
    for name, text in STUBS.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    root = str(Path(__file__).parents[3])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([root, *sys.path]))
    for name in ("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_JOB_ID", "SLURM_RESTART_COUNT"):
        monkeypatch.delenv(name, raising=False)
    return folder


def script(*options: str, shards: int = 2, gpus: int | None = None) -> Path:
    """The script as a file that bash can read."""
    more = () if gpus is None else ("--gpus", str(gpus))
    shown = call("launch", "--shards", str(shards), *more, "--", *options)
    assert shown.code == 0, shown.err
    assert shown.err == ""
    Path("job").write_text(shown.out)
    subprocess.run(["bash", "-n", "job"], check=True)
    return Path("job")


def bash(file: Path, *args: str, **environment: str) -> int:
    environment = {**os.environ, **environment}
    return subprocess.run(["bash", file, *args], env=environment, check=False).returncode


def called() -> list[list[str]]:
    """The arguments of every call of `vlm-eval` so far."""
    return [json.loads(line) for line in Path("called").read_text().splitlines()]


def test_the_tasks_of_an_array_job_merged_are_the_whole_run() -> None:
    assert call(*FEW, "--out", "whole").code == 0
    job = script(*FEW, "--out", "out folder/run")
    assert bash(job) == 0
    queued = Path("queued").read_text().splitlines()
    assert queued[:2] == ["--parsable", str(job)]
    assert queued[2] == "--dependency=afterany:4242"
    assert queued[-1] == f"--wrap=bash {job.resolve()} merge"
    assert not Path("called").exists()
    for task in ("1", "2"):
        assert bash(job, SLURM_ARRAY_TASK_ID=task) == 0
    wrapped = queued[-1].removeprefix("--wrap=")
    assert subprocess.run(["bash", "-c", wrapped], check=False).returncode == 0
    assert numbers(summary("out folder/run/merged")) == numbers(summary("whole"))
    # Merged once more, the earlier one is kept.
    assert bash(job, "merge", BEHAVIOUR="nothing") == 0
    assert len(list(Path("out folder/run").glob("merged.*"))) == 1


EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"


def test_the_pods_of_the_documents_indexed_job_are_the_shards_of_a_run() -> None:
    yaml: Any = pytest.importorskip("yaml")
    spec = yaml.safe_load((EXAMPLES / "job.yaml").read_text("utf-8"))["spec"]
    assert spec["completionMode"] == "Indexed"
    (pod,) = spec["template"]["spec"]["containers"]
    failing, ignored = spec["podFailurePolicy"]["rules"]
    assert failing["onExitCodes"]["containerName"] == pod["name"]
    assert failing["onExitCodes"]["values"] == [2]
    assert ignored["onPodConditions"] == [{"type": "DisruptionTarget"}]
    mounts = {mount["name"] for mount in pod["volumeMounts"]}
    assert mounts == {volume["name"] for volume in spec["template"]["spec"]["volumes"]}
    job = script(*FEW, "--out", "run", shards=spec["completions"])
    assert pod["command"] == ["/bin/bash", f"/scripts/{job.name}"]
    for index in ("0", "7"):
        assert bash(job, JOB_COMPLETION_INDEX=index, BEHAVIOUR="nothing") == 0
    assert [words[-4:] for words in called()] == [
        ["--shard", f"{number}/8", "--out", f"run/shard-{number}"] for number in (1, 8)
    ]


def test_the_documents_program_runs_on_a_ray_cluster_of_two_nodes() -> None:
    missing = "Ray is no part of the test environment: pip install ray"
    cluster_utils: Any = pytest.importorskip("ray.cluster_utils", reason=missing)
    assert call(*FEW, "--out", "whole").code == 0
    script(*FEW, "--out", "run", shards=8)
    program = (EXAMPLES / "shards.py").read_text("utf-8")
    Path("shards.py").write_text(program.replace("num_gpus=2", "num_gpus=0"))
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        cluster.add_node(num_cpus=1)
        environment = {**os.environ, "RAY_ADDRESS": cluster.address}
        done = subprocess.run([sys.executable, "shards.py"], env=environment, check=False)
        assert done.returncode == 0
    finally:
        cluster.shutdown()
    assert numbers(summary("run/merged")) == numbers(summary("whole"))


def test_every_word_reaches_the_run_as_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-Recognisable0123456789")
    monkeypatch.setenv("BEHAVIOUR", "nothing")
    sites = [word for odd in ODD for word in ("--only", f"website={odd}")]
    options = ("--model", "gpt-5.4", "--max-cost", "100", "-o", ODD[1], *sites)
    wanted = ["run", *options, "--max-cost", "33.3333", "--shard", "2/3"]
    wanted += ["--out", f"{ODD[1]}/shard-2"]
    job = script(*options, shards=3)
    for task in ({"SLURM_ARRAY_TASK_ID": "2"}, {"JOB_COMPLETION_INDEX": "1"}):
        assert bash(job, **task) == 0
    assert bash(job, "2") == 0
    assert called() == [wanted] * 3
    assert bash(job, "merge") == 0
    runs = [f"{ODD[1]}/shard-{number}" for number in (1, 2, 3)]
    assert called()[3] == ["merge", *runs, "--out", f"{ODD[1]}/merged"]
    assert not Path("oops").exists()
    assert "sk-proj" not in job.read_text()


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + GENEROUS_S
    while not condition():
        assert time.monotonic() < end, "nothing of the kind happened"
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("sent", "restarts", "requeued"),
    [(signal.SIGINT, "0", True), (signal.SIGINT, "20", False), (signal.SIGTERM, "0", False)],
)
def test_a_task_that_runs_out_of_time_finishes_its_calls_and_is_queued_again(
    sent: signal.Signals, restarts: str, requeued: bool
) -> None:
    job = script(*FEW, "--out", "run")
    given = {"BEHAVIOUR": "works", "SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_JOB_ID": "77"}
    task = subprocess.Popen(
        ["bash", job], env={**os.environ, **given, "SLURM_RESTART_COUNT": restarts}
    )
    wait_for(Path("at-work").exists)
    task.send_signal(sent)
    assert task.wait(GENEROUS_S) == 130
    assert Path("queued").exists() is requeued
    if requeued:
        assert Path("queued").read_text() == "requeue 77_2\n"


def test_a_task_looks_again_while_a_provider_has_batches_of_it() -> None:
    job = script(*FEW, "--out", "run")
    assert bash(job, SLURM_ARRAY_TASK_ID="1", BEHAVIOUR="waits twice") == 0
    assert len(called()) == 3
    assert Path("slept").read_text().split() == ["600", "600"]


def test_the_limit_is_that_of_a_shard_whatever_is_said_before(place: Path) -> None:
    """Options that are given twice count as the last one."""
    (place / "c.toml").write_text("max-cost = 1\n")
    words = ("--model", "gpt-5.4", "--config", "c.toml", "--out", "a", *DEV, "--max-cost", "2")
    assert bash(script(*words, shards=3), "1", BEHAVIOUR="nothing") == 0
    shown = call(*called()[0], "--dry-run")
    assert "run:      a/shard-1" in shown.err and "$0.67 in all" in shown.err


@pytest.mark.parametrize(
    ("options", "gpus", "wanted"),
    [
        (SERVED, None, 1),
        (SERVED, 4, 4),
        (SERVED, 0, 0),
        (FEW, None, 0),
        (FEW, 2, 2),
    ],
)
def test_a_model_of_ones_own_asks_for_a_gpu_and_a_hosted_one_does_not(
    options: tuple[str, ...], gpus: int | None, wanted: int
) -> None:
    text = script(*options, "--out", "run", gpus=gpus).read_text()
    assert re.findall(r"^#SBATCH --gpus=(\d+)$", text, re.MULTILINE) == (
        [str(wanted)] if wanted else []
    )


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ((*FEW,), "launch needs --out DIR"),
        ((*FEW, "--out", "a", "--limmit", "3"), "No such option '--limmit'"),
        ((*FEW, "--out", "a", "--seed", "x"), "expected a whole number, not 'x'"),
        ((*FEW, "--out", "a", "--shard", "1/2"), "launch gives every task its shard"),
        ((*FEW, "--out", "a", "--dry-run"), "leave out --dry-run"),
        ((*FEW, "--out", "a", "--status"), "leave out --dry-run and --status"),
        ((*FEW, "--out", "a", "--model", "random"), "launch is for one run"),
        (("--model", "gpt-5.4", "--out", "a"), "no task can ask about it: say --max-cost"),
        (("--model", "lexicl", "--out", "a"), "did you mean 'lexical'?"),
        (
            ("--model", "m", "--with-server", "vllm --api-key s3cr3t {port}", "--out", "a"),
            "--with-server holds a key (api-key)",
        ),
        (
            (
                *("--model", "m", "--base-url", "http://localhost:1/v1", "--out", "a"),
                *("--adapter-option", 'extra_body={"api_key": "s3cr3t"}'),
            ),
            "--adapter-option holds a key, which a script would give away",
        ),
    ],
)
def test_what_a_script_cannot_have_is_refused_in_a_line(
    options: tuple[str, ...], complaint: str
) -> None:
    refused = call("launch", "--shards", "2", "--", *options)
    assert (refused.code, refused.out) == (2, "")
    assert complaint in refused.complaint
    assert "s3cr3t" not in refused.err
