"""What a short run does not wait for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.harness.commands import tool

SLOW = ("pandas", "scipy", "datasets", "openai", "anthropic", "google.genai", "torch", "matplotlib")


def test_a_run_of_one_task_imports_nothing_slow(tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    arguments = ["vlm-eval", "--model", "random", *tool.ONE_TASK, "--progress", "off", "--out", out]
    code = (
        "import sys\n"
        "from harness.__main__ import main\n"
        f"sys.argv = {arguments}\n"
        "try:\n    main()\n"
        "finally:\n"
        f"    print('slow:', [name for name in {SLOW} if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert done.stdout.splitlines()[-1] == "slow: []"
