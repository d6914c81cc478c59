"""The server that other tests start as a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

from adapters import make, user
from tests.adapters.support import ask, first_round, request

ROOT = Path(__file__).parents[2]


def test_the_server_as_a_process_answers_by_round_and_lists_what_came_in() -> None:
    command = [sys.executable, "-m", "tests.servers", "--reply", "one", "--reply", "two"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            adapter = make("openai:m", base_url=f"http://127.0.0.1:{port}/v1", api_key="x")
            [one] = ask(adapter)
            adapter = make("openai:m", base_url=f"http://127.0.0.1:{port}/v1", api_key="x")
            [two] = ask(adapter, request(first_round().then(one, user("and now?"))))
            with urlopen(f"http://127.0.0.1:{port}/asks") as answer:
                asks = json.load(answer)
        finally:
            process.terminate()
    assert (one.text, two.text) == ("one", "two")
    assert [(a["number"], a["rounds"], a["text"]) for a in asks] == [
        (1, 0, "What would you do?"),
        (2, 1, "and now?"),
    ]
