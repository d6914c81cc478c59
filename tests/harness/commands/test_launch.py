"""Scripts for clusters: they are read by what they are for, and run with everything else in place.

`vlm-eval` is a stand-in on the path, which keeps what it was called with, and is the real one where
a test lets it.
"""

from __future__ import annotations

import json
import os
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
    "",
)
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
# As much of Ray as the program needs: tasks are done at once, in this process.
RAY = """
class Task:
    def __init__(self, function): self.function = function
    def options(self, **options): return self
    def remote(self, *args): return self.function(*args)
def remote(**options): return Task
def get(results): return results
"""


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


def script(
    kind: str, *options: str, shards: int = 2, file: str = "job", more: tuple[str, ...] = ()
) -> Path:
    """The script of a kind, as a file that bash or Python can read."""
    shown = call("launch", kind, "--shards", str(shards), *more, "--", *options)
    assert shown.code == 0, shown.err
    assert shown.err == ""
    Path(file).write_text(shown.out)
    if kind == "slurm":
        subprocess.run(["bash", "-n", file], check=True)
    return Path(file)


def manifests(file: Path) -> list[dict[str, Any]]:
    yaml: Any = pytest.importorskip("yaml")
    return list(yaml.safe_load_all(file.read_text()))


def scripts_of(file: Path) -> tuple[Path, Path]:
    """The scripts of a ConfigMap, as files."""
    (found,) = (one for one in manifests(file) if one["kind"] == "ConfigMap")
    for name, text in found["data"].items():
        Path(name).write_text(text)
        subprocess.run(["bash", "-n", name], check=True)
    return Path("shard"), Path("merge")


def bash(file: Path, *args: str, **environment: str) -> int:
    environment = {**os.environ, **environment}
    return subprocess.run(["bash", file, *args], env=environment, check=False).returncode


def called() -> list[list[str]]:
    """The arguments of every call of `vlm-eval` so far."""
    return [json.loads(line) for line in Path("called").read_text().splitlines()]


def test_the_tasks_of_an_array_job_merged_are_the_whole_run() -> None:
    assert call(*FEW, "--out", "whole").code == 0
    job = script("slurm", *FEW, "--out", "out folder/run")
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


def test_the_pods_of_an_indexed_job_are_the_shards_of_a_run() -> None:
    file = script("k8s", *FEW, "--out", "run", more=("--image", "example.org/vlm-eval:1"))
    _, job, joining = manifests(file)
    assert (job["kind"], job["spec"]["completionMode"]) == ("Job", "Indexed")
    assert job["spec"]["completions"] == 2
    failing, ignored = job["spec"]["podFailurePolicy"]["rules"]
    assert (failing["action"], failing["onExitCodes"]["values"]) == ("FailJob", [2])
    assert (ignored["action"], ignored["onPodConditions"]) == (
        "Ignore",
        [{"type": "DisruptionTarget"}],
    )
    (pod,) = job["spec"]["template"]["spec"]["containers"]
    assert pod["name"] == failing["onExitCodes"]["containerName"]
    assert pod["image"] == "example.org/vlm-eval:1"
    assert pod["envFrom"] == [{"secretRef": {"name": "vlm-eval-keys", "optional": True}}]
    assert joining["spec"]["suspend"] is True
    shard, merge = scripts_of(file)
    assert [Path(pod["command"][-1]).name for pod in _pods(job, joining)] == ["shard", "merge"]
    for index in ("0", "1"):
        assert bash(shard, JOB_COMPLETION_INDEX=index, BEHAVIOUR="nothing") == 0
    assert bash(merge, BEHAVIOUR="nothing") == 0
    *shards, merging = called()
    for number, words in enumerate(shards, 1):
        assert words[0] == "run" and words[-4:] == [
            *("--shard", f"{number}/2", "--out", f"run/shard-{number}"),
        ]
    assert merging == ["merge", "run/shard-1", "run/shard-2", "--out", "run/merged"]


def _pods(*jobs: dict[str, Any]) -> list[dict[str, Any]]:
    return [job["spec"]["template"]["spec"]["containers"][0] for job in jobs]


def test_the_program_runs_on_a_ray_cluster_of_two_nodes() -> None:
    missing = "Ray is no part of the test environment: pip install ray"
    cluster_utils: Any = pytest.importorskip("ray.cluster_utils", reason=missing)
    assert call(*FEW, "--out", "whole").code == 0
    program = script("ray", *FEW, "--out", "run", file="job.py", shards=4)
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        cluster.add_node(num_cpus=1)
        environment = {**os.environ, "RAY_ADDRESS": cluster.address}
        done = subprocess.run([sys.executable, program], env=environment, check=False)
        assert done.returncode == 0
    finally:
        cluster.shutdown()
    assert numbers(summary("run/merged")) == numbers(summary("whole"))


def test_every_word_reaches_the_run_as_it_was_given(
    monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-Recognisable0123456789")
    monkeypatch.setenv("BEHAVIOUR", "nothing")
    sites = [word for odd in ODD for word in ("--only", f"website={odd}")]
    options = ("--model", "gpt-5.4", "--max-cost", "100", "-o", ODD[1], *sites)
    wanted = ["run", "--model", "gpt-5.4", *sites, "--max-cost", "33.3333", "--shard", "2/3"]
    wanted += ["--out", f"{ODD[1]}/shard-2"]
    assert bash(script("slurm", *options, shards=3), SLURM_ARRAY_TASK_ID="2") == 0
    file = script("k8s", *options, shards=3, more=("--image", "a b#c"), file="job.yaml")
    assert bash(scripts_of(file)[0], JOB_COMPLETION_INDEX="1") == 0
    assert called() == [wanted, wanted]
    assert _pods(manifests(file)[1])[0]["image"] == "a b#c"
    program = script("ray", *options, shards=3, file="job.py")
    (place / "ray.py").write_text(RAY)
    (place / "harness").mkdir()
    (place / "harness" / "__init__.py").touch()
    (place / "harness" / "__main__.py").write_text(
        "import json, sys; print(json.dumps(sys.argv[1:]), file=open('called', 'a'))"
    )
    monkeypatch.setenv("PYTHONPATH", str(place))
    assert subprocess.run([sys.executable, program], check=False).returncode == 0
    assert called()[3] == wanted
    runs = [f"{ODD[1]}/shard-{number}" for number in (1, 2, 3)]
    assert called()[5] == ["merge", *runs, "--out", f"{ODD[1]}/merged"]
    assert not Path("oops").exists()
    for path in ("job", "job.yaml", "job.py"):
        assert "sk-proj" not in Path(path).read_text()


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
    job = script("slurm", *FEW, "--out", "run")
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
    job = script("slurm", *FEW, "--out", "run")
    assert bash(job, SLURM_ARRAY_TASK_ID="1", BEHAVIOUR="waits twice") == 0
    assert len(called()) == 3
    assert Path("slept").read_text().split() == ["600", "600"]


def test_a_model_of_ones_own_asks_for_a_gpu_and_a_hosted_one_does_not() -> None:
    served = ("--model", "fake-vl", "--with-server", "vllm serve {model} --port {port}")
    assert "\n#SBATCH --gpus=1\n" in script("slurm", *served, "--out", "run").read_text()
    assert "--gpus" not in script("slurm", *FEW, "--out", "run").read_text()
    file = script("k8s", *served, "--out", "run", more=("--image", "x"), file="job.yaml")
    (pod,) = _pods(manifests(file)[1])
    assert pod["resources"] == {"limits": {"nvidia.com/gpu": 1}}
    assert "num_gpus=1" in script("ray", *served, "--out", "run", file="job.py").read_text()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ((*FEW,), "launch needs --out DIR"),
        ((*FEW, "--out", "a", "--limmit", "3"), "No such option '--limmit'"),
        ((*FEW, "--out", "a", "--seed", "x"), "expected a whole number, not 'x'"),
        ((*FEW, "--out", "a", "--shard", "1/2"), "launch gives every task its shard"),
        ((*FEW, "--out", "a", "--dry-run"), "leave out --dry-run"),
        ((*FEW, "--out", "a\nb"), "holds a line break or a control character"),
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
    refused = call("launch", "slurm", "--shards", "2", "--", *options)
    assert (refused.code, refused.out) == (2, "")
    assert complaint in refused.complaint
    assert "s3cr3t" not in refused.err


def test_names_of_jobs_are_held_to_what_clusters_take() -> None:
    refused = call("launch", "slurm", "--shards", "2", "--name", "A b", "--", *FEW, "--out", "a")
    assert refused.code == 2
    assert "--name: 'A b' is not made of a-z, 0-9 and inner hyphens" in refused.complaint
    missing = call("launch", "k8s", "--shards", "2", "--", *FEW, "--out", "a")
    assert "--image" in missing.complaint
