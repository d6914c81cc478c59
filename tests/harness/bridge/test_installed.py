"""The tasks through inspect's own command line, where the package is installed as from a wheel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra [inspect]")

from inspect_ai.log import read_eval_log

from tests.servers import Answer, Ask, WireServer, error

ROOT = Path(__file__).parents[3]
ASKED = (
    *("harness/benchmark", "-T", "benchmark=sample", "-T", "split=dev", "-T", "limit_tasks=1"),
    *("-T", "protocol=autowebglm", "-T", "ranker=lexical", "--no-log-images"),
)


@pytest.fixture
def installed(place: Path) -> Path:
    """A folder as pip makes it of a wheel: inspect looks for the namespace of tasks there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    folder = place / "site-packages"
    for package in packages:
        left_out = shutil.ignore_patterns("__pycache__", "*.pyc")
        shutil.copytree(ROOT / package, folder / package, ignore=left_out)
    told = folder / "vlm_web_eval-0.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.4\nName: vlm-web-eval\nVersion: 0.0\n")
    points = project["project"]["entry-points"]["inspect_ai"].items()
    lines = "\n".join(f"{name} = {target}" for name, target in points)
    (told / "entry_points.txt").write_text(f"[inspect_ai]\n{lines}\n")
    return folder


def inspect(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(installed), "OPENAI_API_KEY": "sk-secret"}
    return subprocess.run(
        [sys.executable, "-m", "inspect_ai", *arguments, "--display", "plain", "--log-dir", "logs"],
        env=environment,
        cwd=installed.parent,
        capture_output=True,
        text=True,
        timeout=240,
    )


def test_inspect_finds_runs_and_retries_the_tasks(installed: Path) -> None:
    broken: list[int] = []

    def react(ask: Ask) -> Answer:
        if not broken:
            broken.append(ask.number)
            return error(400, "the server stumbles")
        return Answer("do(action='Click', element='1')")

    with WireServer(react) as server:
        model = ("--model", "openai/gpt-4o", "--model-base-url", server.base_url("openai"))
        first = inspect(installed, "eval", *ASKED, *model, "--no-fail-on-error")
        assert first.returncode == 0, first.stdout + first.stderr
        (path,) = (installed.parent / "logs").glob("*.eval")
        log = read_eval_log(str(path))
        assert log.eval.task == "harness/benchmark" and log.samples
        assert sum(sample.error is not None for sample in log.samples) == 1
        assert "sk-secret" not in path.read_bytes().decode("latin-1")
        before = server.count

        again = inspect(installed, "eval-retry", str(path), "--fail-on-error")
        assert again.returncode == 0, again.stdout + again.stderr
        assert server.count == before + 1
        (retried,) = (one for one in (installed.parent / "logs").glob("*.eval") if one != path)
        whole = read_eval_log(str(retried))
        assert whole.status == "success" and whole.samples
        assert not any(sample.error for sample in whole.samples)
        assert len(whole.samples) == len(log.samples)


def test_a_wrong_argument_is_one_complaint_without_a_traceback(installed: Path) -> None:
    told = inspect(
        installed, "eval", "harness/mm_mind2web", "--model", "mockllm/model", "-T", "tier=flex"
    )
    assert told.returncode != 0
    output = told.stdout + told.stderr
    assert "-T tier is an option of inspect: give -M service_tier=TIER instead" in output
    assert "Traceback" not in output
