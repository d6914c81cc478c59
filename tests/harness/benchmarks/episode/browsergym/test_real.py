"""BrowserGym itself with its MiniWoB++, in an environment that is made for the test."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import HealthCheck, given, settings

from harness.benchmarks import benchmark
from harness.benchmarks.episode.browsergym.benchmark import BrowserGym
from harness.benchmarks.episode.browsergym.program import calls_of
from harness.live.contract import PAGE, LivePage, Seen, decode_page
from harness.live.pool import Episode, Worlds
from harness.settings import read_settings
from tests.harness.benchmarks.episode.browsergym.talker import MODEL
from tests.harness.benchmarks.episode.browsergym.test_acting import ACTIONS
from tests.harness.benchmarks.episode.browsergym.test_worlds import source
from tests.harness.commands.tool import call, isolate
from tests.harness.live.browsed import needs_browser
from tests.numbers import number

pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.timeout(1800),
    needs_browser,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="browsers are put elsewhere"),
]
PACKAGES = ("browsergym-miniwob==0.14.3", "miniwob", "playwright==1.44.0")
MADE = "VLM_EVAL_TEST_BROWSERGYM"
"""Names the Python of an environment that is there already."""
PARSES = """
import json, sys
from browsergym.core.action.parsers import highlevel_action_parser as parser
for line in sys.stdin:
    print(json.dumps(parser.parse_string(json.loads(line), parse_all=True).as_list()), flush=True)
"""


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The Python of an environment with BrowserGym."""
    if MADE in os.environ:
        return os.environ[MADE]
    if not (3, 10) <= sys.version_info[:2] <= (3, 12):
        pytest.skip("BrowserGym needs Python 3.10 to 3.12")
    folder = tmp_path_factory.mktemp("browsergym")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    path = folder / "bin" / "python"
    done = subprocess.run(
        [path, "-m", "pip", "install", "-q", *PACKAGES], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"BrowserGym cannot be installed here: {done.stderr.strip()[-200:]}")
    return str(path)


@pytest.fixture(scope="module")
def parser(real: str) -> Iterator[subprocess.Popen[str]]:
    words = [real, "-I", "-c", PARSES]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def test_scripted_solutions_and_a_scripted_model_solve_tasks_by_action_strings(
    real: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path)
    tasks = ("click-test", "enter-text", "click-checkboxes", "choose-list", "enter-date")
    only = [word for task in tasks for word in ("--only", f"task={task}")]
    words = [
        "-b",
        "browsergym:miniwob.*",
        "--benchmark-option",
        f"env_python={real}",
        "--protocol",
        "action-strings",
    ]
    for name, model, chosen in (("a", "oracle", only), ("b", MODEL, only[:4])):
        done = call(
            "run", "-m", model, *words, *chosen, "--benchmark-option", "episodes=1", "-o", name
        )
        assert done.code == 0, done.err
        summary = json.loads((tmp_path / name / "summary.json").read_text())
        assert number(summary, "success", "micro") == 1.0


def test_a_page_is_scrolled_left_and_come_back_to_in_tabs(real: str) -> None:
    ours = source(real)

    async def play(episode: Episode) -> list[tuple[Seen, LivePage | None]]:
        found = []
        actions: list[Any] = [
            None,
            {"name": "SCROLL", "arguments": {"direction": "down"}},
            {"name": "PRESS", "arguments": {"key": "Tab"}},
            {"name": "NEW_TAB"},
        ]
        for action in actions:
            one = await episode.act(action)
            page = decode_page(one.blobs[PAGE]) if PAGE in one.blobs else None
            found.append((Seen.from_plain(one.content), page))
        return found

    async def whole() -> list[tuple[Seen, LivePage | None]]:
        worlds = Worlds(ours.world, ours.opening(), count=1, limits=ours.limits)
        try:
            episode = await worlds.open({"task": "enter-text", "seed": 3})
            found = await play(episode)
            below = [psutil.Process(pid) for pid in worlds.pids]
            below += [child for one in below for child in one.children(recursive=True)]
            assert any("chrom" in " ".join(one.cmdline()) for one in below)
        finally:
            await worlds.close()
        psutil.wait_procs(below, timeout=120)
        assert not [one for one in below if one.is_running() and one.status() != "zombie"]
        return found

    first, scrolled, pressed, left = asyncio.run(whole())
    assert first[0].viewport == (498, 321) and first[1] is not None and first[1].in_view
    assert not scrolled[0].error and not pressed[0].error
    assert pressed[1] is not None and 'ax_state="focused"' in pressed[1].html
    # MiniWoB++ ends when its page is left.
    assert left[0].ended


def test_a_page_of_the_user_takes_text_only_in_its_fields(real: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        "<!DOCTYPE html><button onclick='document.title=1'>Buy a lamp now</button>"
        "<input><iframe srcdoc='<input>'></iframe>"
    )
    data = tmp_path / "tasks.jsonl"
    data.write_text(json.dumps({"goal": "Buy it", "start_url": page.as_uri()}))
    ours = (
        benchmark("browsergym:openended")
        .with_options({"env_python": real}.items())
        .of_run(read_settings({}))
    )
    assert isinstance(ours, BrowserGym)
    (unit,) = ours.open(data=data).entries

    async def whole() -> list[Seen]:
        worlds = Worlds(ours.world, ours.opening(), count=1, limits=ours.limits)
        try:
            episode = await worlds.open(unit.detail.asked.parameters)
            first = await episode.act(None)
            seen = [Seen.from_plain(first.content)]
            listed = decode_page(first.blobs[PAGE]).candidates
            boxes = [one.box for one in listed if one.tag in ("button", "input") and one.box]
            typed = [(box.x + box.width / 2, box.y + box.height / 2) for box in boxes]
            actions: list[dict[str, Any]] = [
                {"name": "TYPE", "point": point, "arguments": {"value": "x"}} for point in typed
            ]
            actions += [{"name": "MESSAGE", "arguments": {"text": "hello"}}]
            actions += [{"name": "INFEASIBLE", "arguments": {"reason": "no lamp"}}]
            for action in actions:
                seen.append(Seen.from_plain((await episode.act(action)).content))
            return seen
        finally:
            await worlds.close()

    begun, *acted = asyncio.run(whole())
    assert begun.goal == "Buy it" and begun.url == page.as_uri()
    errors = [one.error for one in acted]
    assert errors == ["the element takes no text", "", "", "", ""]
    assert not acted[0].title and [one.ended for one in acted] == [False] * 4 + [True]


@settings(max_examples=200, suppress_health_check=list(HealthCheck), deadline=None)
@given(action=ACTIONS)
def test_browsergym_reads_what_was_composed(
    parser: subprocess.Popen[str], action: dict[str, Any]
) -> None:
    assert parser.stdin is not None and parser.stdout is not None
    parser.stdin.write(json.dumps(calls_of(action, (800, 600))) + "\n")
    parser.stdin.flush()
    read = json.loads(parser.stdout.readline())
    said = [value for value in action["arguments"].values() if isinstance(value, str)]
    known = [one for _, values in read for one in values]
    hidden = {"up", "down", "left", "right", "backward", "forward"}
    assert all(value in known for value in said if value not in hidden and value)
    assert all(name.replace("_", "").isalpha() for name, _ in read)
