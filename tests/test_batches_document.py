"""The demonstration in docs/cost.md runs as it is printed, and prints what is printed there."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.commands.tool import isolate

HOUSE = Path(__file__).parents[1]


def same(line: str) -> str:
    """A line without what differs from time to time."""
    line = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "TIME", line)
    return re.sub(r"\d+:\d\d(:\d\d)?", "SPAN", line).strip()


def test_the_demonstration_runs_as_printed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate(monkeypatch, tmp_path)
    document = (HOUSE / "docs/cost.md").read_text("utf-8")
    [block] = re.findall(r"```console\n(.*?)```", document, re.DOTALL)
    lines = block.splitlines()
    commands = [line[2:] for line in lines if line.startswith("$ ")]
    printed = [line for line in lines if not line.startswith("$ ")]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    (tmp_path / "bin").mkdir()
    for name, what in (("python", ""), ("vlm-eval", "-m harness ")):
        script = tmp_path / "bin" / name
        script.write_text(f'#!/bin/sh\nexec {sys.executable} {what}"$@"\n')
        script.chmod(0o755)
    # The server says its port when it takes requests; a reader's shell is slow enough.
    commands.insert(1, "until [ -s server.log ]; do sleep 0.1; done")
    done = subprocess.run(
        ["bash", "-c", "\n".join(commands).replace("8765", port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
        env={
            **os.environ,
            "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{HOUSE}".lstrip(":"),
            "COLUMNS": "120",
        },
    )
    said = [same(line) for line in done.stdout.splitlines()]
    missing = [line for line in printed if same(line) not in said]
    assert not missing, done.stdout
