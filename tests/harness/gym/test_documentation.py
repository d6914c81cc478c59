"""The examples of docs/environment.md run as they are printed, and print what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from harness.gym import RecordedEnv
from harness.protocols.action_strings import ON_RECORDED_PAGES
from parsers.browsergym import STOPS
from tests.harness.commands.tool import call
from tests.servers import Answer, Ask, WireServer

HOUSE = Path(__file__).parents[3]
PAGE = (HOUSE / "docs" / "environment.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r'^```python title="(\S+)"\n(.*?)^```$', PAGE, re.M | re.S))
EXAMPLES["llm_agent.py"] = (HOUSE / "docs/examples/llm_agent.py").read_text(encoding="utf-8")
OUTPUT = dict(re.findall(r'^```text title="(\S+)"\n(.*?)^```$', PAGE, re.M | re.S))


def printed(folder: Path, name: str, **environment: str) -> str:
    """What an example prints, run as a file in a folder of its own."""
    (folder / name).write_text(EXAMPLES[name], encoding="utf-8")
    done = subprocess.run(
        [sys.executable, name],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(HOUSE), **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_the_example_prints_what_the_page_says(tmp_path: Path) -> None:
    assert printed(tmp_path, "word_agent.py") == OUTPUT["word_agent.py"]


def test_a_model_is_asked_about_what_is_seen(tmp_path: Path) -> None:
    def clicks(ask: Ask) -> Answer:
        listed = re.findall(r"^(\d+): ", ask.text, re.M)
        return Answer(f'The first one.\n```python\nclick("{listed[0]}")\n```')

    with WireServer(clicks) as server:
        url = server.base_url("openai")
        shown = printed(tmp_path, "llm_agent.py", OPENAI_BASE_URL=url, OPENAI_API_KEY="none")
    assert [ask.pictures for ask in server.asks] == [1] * len(server.asks)
    assert shown.splitlines()[-1] in ("0.0 False", "1.0 True")
    assert "The first one." in shown


def test_the_line_of_a_baseline_is_the_one_on_the_page() -> None:
    line = ("--model", "lexical", "--benchmark", "sample", "--split", "dev")
    assert f"vlm-eval environments play {' '.join(line)}\n" in PAGE
    assert call("environments", "play", *line).out.endswith(OUTPUT["play"])


def test_the_page_names_all_that_is_seen_told_and_taken() -> None:
    env = RecordedEnv(benchmark="mt-sample", split="dev", limit=1)
    seen, info = env.reset()
    named = set(seen) | set(info) | {name + "(" for name in (*ON_RECORDED_PAGES, *STOPS)}
    over = False
    while not over:
        _, _, over, _, info = env.step("noop()")
        named |= set(info)
    assert {name for name in named if f"`{name}" not in PAGE} == set()
