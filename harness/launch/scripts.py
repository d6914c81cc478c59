"""Scripts that run the shards of a run on many machines, and merge them.

Each is a text with its settings filled in and every word quoted; nothing is submitted here. What
they rely on is that a run directory is its own checkpoint: whatever ends a shard, the same line
goes on with it.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import indent

from harness import __version__


@dataclass(frozen=True, slots=True)
class Launch:
    """A run in shards.

    options: those of `vlm-eval run`, without `--shard` and `--out`.
    shards: their number.
    out: folder of all shards, and of the run that is made of them.
    name: name of the job.
    on_gpu: whether a shard needs a GPU for its model.
    image: container image with vlm-eval, for Kubernetes.
    """

    options: Sequence[str]
    shards: int
    out: str
    name: str
    on_gpu: bool
    image: str = ""


def slurm(launch: Launch) -> str:
    """Return a script for `sbatch`: an array job, and a job after it that merges."""
    needs = "#SBATCH --cpus-per-task=4\n#SBATCH --mem=16G"
    if launch.on_gpu:
        needs = "#SBATCH --gpus=1\n#SBATCH --cpus-per-task=8\n#SBATCH --mem=64G"
    return _filled(_SLURM, launch, NEEDS=needs)


def kubernetes(launch: Launch) -> str:
    """Manifests for `kubectl apply`: an Indexed Job, and a suspended Job that merges.

    The scripts are in a ConfigMap, since Kubernetes reads `$(...)` in a pod's arguments itself.
    """
    gpu = launch.on_gpu
    return _filled(
        _KUBERNETES,
        launch,
        LIMITS="        resources: {limits: {nvidia.com/gpu: 1}}\n" if gpu else "",
        MOUNT="        - {name: memory, mountPath: /dev/shm}\n" if gpu else "",
        VOLUME="      - {name: memory, emptyDir: {medium: Memory}}\n" if gpu else "",
        RUN=indent(_filled(_SHARD + _IN_POD, launch), " " * 4),
        JOIN=indent(_filled(_MERGE + "\nmerge\n", launch), " " * 4),
        IMAGE=json.dumps(launch.image, ensure_ascii=False),
    )


def ray(launch: Launch) -> str:
    """Return a program that runs the shards as tasks of Ray, and merges them."""
    return _filled(
        _RAY,
        launch,
        WORDS="[\n" + "".join(f"    {word!r},\n" for word in launch.options) + "]",
        OUT=repr(launch.out),
        GPUS="1" if launch.on_gpu else "0",
    )


def _filled(template: str, launch: Launch, **values: str) -> str:
    known: Mapping[str, str] = {
        "VERSION": __version__,
        "SHARDS": str(launch.shards),
        "NAME": launch.name,
        "OUT": shlex.quote(launch.out),
        "OPTIONS": _by_line(launch.options),
        **values,
    }
    known = {"SHARD": _SHARD, "MERGE": _MERGE, **known}
    text = re.sub(r"@(SHARD|MERGE)@\n", lambda found: known[found[1]], template)
    return re.sub(r"@([A-Z]+)@", lambda found: known[found[1]], text)


def _by_line(options: Sequence[str]) -> str:
    """Return the words as a shell reads them, an option a line."""
    lines: list[list[str]] = []
    for word in options:
        if word.startswith("-") or not lines:
            lines.append([])
        lines[-1].append(shlex.quote(word))
    return "".join(f"            {' '.join(line)} \\\n" for line in lines)


_SHARD = r"""# Runs shard $1. Leaves its exit code in $code, and what ended it early in $stopped.
shard() {
    stopped=
    # TERM ends a run as Ctrl-C does, to which shells make programs in the background deaf: calls
    # under way are finished.
    trap 'stopped=INT; kill -TERM "$run" 2>/dev/null' INT
    trap 'stopped=TERM; kill -TERM "$run" 2>/dev/null' TERM
    while :; do
        vlm-eval run \
@OPTIONS@            --shard "$1/@SHARDS@" --out @OUT@"/shard-$1" &
        run=$!
        await
        # 3: a provider has batches of it. Look again in ten minutes.
        if [ "$code" != 3 ] || [ -n "$stopped" ]; then break; fi
        sleep 600 &
        run=$!
        await
        if [ -n "$stopped" ]; then break; fi
    done
}

# Waits for $run, however many signals come meanwhile.
await() {
    wait "$run"; code=$?
    while kill -0 "$run" 2>/dev/null; do wait "$run"; code=$?; done
}
"""

_MERGE = r"""# Merges the shards; one that was merged before is moved aside.
merge() {
    out=@OUT@
    if [ -e "$out/merged" ]; then mv "$out/merged" "$out/merged.$(date +%s)"; fi
    set --
    number=1
    while [ "$number" -le @SHARDS@ ]; do
        set -- "$@" "$out/shard-$number"
        number=$((number + 1))
    done
    vlm-eval merge "$@" --out "$out/merged"
}
"""

_SLURM = r"""#!/bin/bash
# @SHARDS@ shards of a run as an array job, and a job after it that merges them.
# Written by vlm-eval @VERSION@; `bash THIS_FILE` submits both, and again to go on.
#
# The folder of --out has to be on a file system that all nodes share. Keys are not in here: what
# `sbatch` finds in the environment (OPENAI_API_KEY, HF_TOKEN, ...) it hands on.
# Change the lines below: partition, account, time. The limit of time ends no shard: it
# gets a signal two minutes before, and is queued again.
#SBATCH --job-name=@NAME@
#SBATCH --array=1-@SHARDS@
#SBATCH --time=24:00:00
@NEEDS@
#SBATCH --requeue
#SBATCH --signal=B:INT@120
#SBATCH --open-mode=append

@SHARD@

@MERGE@

if [ "${1:-}" = merge ]; then
    merge
elif [ -z "${SLURM_ARRAY_TASK_ID:-}" ]; then
    job=$(sbatch --parsable "$0") || exit
    again="bash $(printf %q "$(realpath "$0")") merge"
    sbatch --dependency="afterany:${job%%;*}" --job-name=@NAME@-merge --wrap="$again"
else
    shard "$SLURM_ARRAY_TASK_ID"
    # Out of time, not out of work. Twenty times at most, should it never get anywhere.
    if [ "$stopped" = INT ] && [ "$code" != 0 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 20 ]; then
        scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
    fi
    exit "$code"
fi
"""

_IN_POD = r"""
shard "$((JOB_COMPLETION_INDEX + 1))"
exit "$code"
"""

_KUBERNETES = r"""# @SHARDS@ shards of a run as an Indexed Job, and a Job that then merges them.
# Written by vlm-eval @VERSION@.
#
#   kubectl create secret generic vlm-eval-keys --from-literal=OPENAI_API_KEY=...   # if needed
#   kubectl apply -f THIS_FILE
#   kubectl wait --for=condition=complete --timeout=-1s job/@NAME@
#   kubectl patch job @NAME@-merge --patch '{"spec": {"suspend": false}}'
#
# Folders are those of the volume `vlm-eval` (ReadWriteMany, with locks), seen from its root.
apiVersion: v1
kind: ConfigMap
metadata:
  name: @NAME@
data:
  shard: |
@RUN@  merge: |
@JOIN@---
apiVersion: batch/v1
kind: Job
metadata:
  name: @NAME@
spec:
  completionMode: Indexed
  completions: @SHARDS@
  parallelism: @SHARDS@
  backoffLimitPerIndex: 6
  podFailurePolicy:
    rules:
    - action: FailJob  # bad input, which another attempt would not mend
      onExitCodes: {containerName: vlm-eval, operator: In, values: [2]}
    - action: Ignore  # the pod was evicted, or its node drained
      onPodConditions: [{type: DisruptionTarget}]
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 180
      containers:
      - name: vlm-eval
        image: @IMAGE@
        workingDir: /work
        command: [/bin/bash, /scripts/shard]
        env:
        - {name: HF_HOME, value: /work/.cache/huggingface}
        envFrom:
        - secretRef: {name: vlm-eval-keys, optional: true}
        volumeMounts:
        - {name: work, mountPath: /work}
        - {name: scripts, mountPath: /scripts}
@MOUNT@@LIMITS@      volumes:
      - {name: work, persistentVolumeClaim: {claimName: vlm-eval}}
      - {name: scripts, configMap: {name: @NAME@}}
@VOLUME@---
apiVersion: batch/v1
kind: Job
metadata:
  name: @NAME@-merge
spec:
  suspend: true
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: vlm-eval
        image: @IMAGE@
        workingDir: /work
        command: [/bin/bash, /scripts/merge]
        volumeMounts:
        - {name: work, mountPath: /work}
        - {name: scripts, mountPath: /scripts}
      volumes:
      - {name: work, persistentVolumeClaim: {claimName: vlm-eval}}
      - {name: scripts, configMap: {name: @NAME@}}
"""

_RAY = r'''"""@SHARDS@ shards of a run as tasks of Ray, then merged. Written by vlm-eval @VERSION@.

    python THIS_FILE          # on a node of the cluster

It runs in the folder where it is started, which all nodes have to share, with locks; vlm-eval, its
data and its keys have to be on every node. Should anything end it, the same line goes on.
"""

import os
import subprocess
import sys
import time

import ray

OPTIONS = @WORDS@
SHARDS, OUT, HERE = @SHARDS@, @OUT@, os.getcwd()


def vlm_eval(*words):
    return subprocess.run([sys.executable, "-P", "-m", "harness", *words], cwd=HERE).returncode


# A node or a worker that is lost is tried again elsewhere, and goes on with the same run.
@ray.remote(num_cpus=1, num_gpus=@GPUS@, max_retries=5)
def shard(number):
    words = ["--shard", f"{number}/{SHARDS}", "--out", os.path.join(OUT, f"shard-{number}")]
    while (code := vlm_eval("run", *OPTIONS, *words)) == 3:
        time.sleep(600)  # A provider has batches of it.
    return code


numbers = range(1, SHARDS + 1)
codes = ray.get([shard.options(name=f"shard {n}").remote(n) for n in numbers])
for number, code in zip(numbers, codes):
    print(f"shard {number}: exit code {code}", file=sys.stderr)
merged = os.path.join(OUT, "merged")
if os.path.exists(merged):
    os.rename(merged, f"{merged}.{time.time():.0f}")
runs = [os.path.join(OUT, f"shard-{n}") for n in numbers]
sys.exit(vlm_eval("merge", *runs, "--out", merged))
'''
