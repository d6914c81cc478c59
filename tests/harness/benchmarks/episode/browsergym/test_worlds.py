"""Episodes of BrowserGym in workers of another Python: what is seen, told and survived."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.contract import Fatal, Fault
from harness.benchmarks import benchmark
from harness.benchmarks.episode.browsergym.benchmark import BrowserGym
from harness.benchmarks.episode.browsergym.suites import SUITES
from harness.dialogue import Observation
from harness.live.clean import CUT
from harness.live.contract import (
    LONGEST_GOAL,
    LONGEST_LINES,
    PAGE,
    LivePage,
    Seen,
    decode_page,
)
from harness.live.pool import Episode, Worlds
from harness.page import Box, Page
from harness.settings import read_settings
from tests.adapters.test_processes import wait_until_gone

Play = Callable[[Episode], Awaitable[Any]]


def source(python: str, suite: str = "miniwob") -> BrowserGym:
    found = (
        benchmark(f"browsergym:{suite}.*")
        .with_options({"env_python": python}.items())
        .of_run(read_settings({}))
    )
    assert isinstance(found, BrowserGym)
    return found


def played(
    python: str, task: str, play: Play, *, step_s: float = 60, suite: str = "miniwob"
) -> Any:
    """What `play` returns of an episode, whose workers are gone afterwards."""
    ours = source(python, suite)
    limits = replace(ours.limits, step_s=step_s)

    async def whole() -> Any:
        worlds = Worlds(ours.world, ours.opening(), count=1, limits=limits)
        try:
            episode = await worlds.open({"task": task, "seed": 7})
            return await play(episode)
        finally:
            await worlds.close()
            assert worlds.pids == ()

    return asyncio.run(whole())


def first(python: str, task: str, suite: str = "miniwob") -> tuple[Seen, LivePage]:
    """What is seen at the beginning of an episode."""

    async def begin(episode: Episode) -> Observation:
        return await episode.act(None)

    seen = played(python, task, begin, suite=suite)
    return Seen.from_plain(seen.content), decode_page(seen.blobs[PAGE])


def test_a_page_is_seen_as_pages_of_our_own_are(python: str) -> None:
    seen, page = first(python, "click-test")
    assert (seen.goal, seen.viewport, seen.ended) == ("Click the button.", (80, 40), False)
    assert seen.tabs == (("Start", "http://shop.invalid/"),) and seen.title == "Start"
    (button,) = page.candidates
    assert (button.id, button.tag) == ("12", "button") and page.in_view == {"12"}
    assert button.box == Box(0, 12, 40, 10)
    assert 'ax_role="button" ax_name="Click Me!" ax_state="focused"' in page.html
    assert Page.parse(page.html).text_of("12", 5) == "Click Me!"


def test_frames_stand_in_their_elements(python: str) -> None:
    _, page = first(python, "framed")
    assert [one.id for one in page.candidates][-1] == "a12"
    assert Page.parse(page.html).related("a", "a12")


def test_actions_become_calls_and_their_errors_are_told(
    python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in SUITES["webarena"].sites:
        monkeypatch.setenv(name, "http://shop.invalid")

    async def play(episode: Episode) -> list[Seen]:
        await episode.act(None)
        actions: list[dict[str, Any]] = [
            {"name": "HOVER", "element": "12"},
            {"name": "GOTO", "arguments": {"url": "file:///etc/passwd"}},
            {"name": "NEW_TAB"},
            {"name": "STOP", "arguments": {"answer": "42"}},
        ]
        return [Seen.from_plain((await episode.act(one)).content) for one in actions]

    hovered, refused, tabs, stopped = played(python, "0", play, suite="webarena")
    assert hovered.error.startswith("TimeoutError: \ufffd[2J") and "\n" not in hovered.error
    assert refused.error == "an address begins with http:// or https://"
    assert (len(tabs.tabs), tabs.tab, tabs.title, tabs.error) == (2, 1, "Other", "")
    assert (stopped.ended, stopped.reward, stopped.screenshot) == (True, 1.0, "")


@pytest.mark.parametrize("task", ["wild", "forged", "deep", "wide"])
def test_hostile_pages_are_pages(python: str, task: str) -> None:
    seen, page = first(python, task)
    parsed = Page.parse(page.html)
    assert all(one.id in parsed for one in page.candidates)
    assert "lie" not in page.html and "\x1b" not in page.html + seen.goal
    assert all(one.id.isalnum() for one in page.candidates)
    assert page.cut == (task in ("deep", "wide"))


def test_long_texts_with_half_an_emoji_are_cut_with_a_mark(python: str) -> None:
    seen, _ = first(python, "long")
    assert len(seen.goal) == LONGEST_GOAL and seen.goal.endswith(f"x{CUT}")
    assert len(seen.title) == LONGEST_LINES["title"] and seen.title.endswith(f"x{CUT}")
    assert seen.tabs == ((seen.title, "http://shop.invalid/"),)
    (seen.goal + seen.title).encode()


def test_what_libraries_print_is_no_answer(python: str) -> None:
    seen, _ = first(python, "chatters")
    assert seen.goal == "Do chatters."


def test_a_failure_is_one_line_without_secrets_and_the_next_episode_plays(python: str) -> None:
    ours = source(python)

    async def play() -> None:
        worlds = Worlds(ours.world, ours.opening(), count=1, limits=ours.limits)
        episode = await worlds.open({"task": "raises", "seed": 1})
        with pytest.raises(Fault) as failed:
            await episode.act(None)
        said = str(failed.value)
        assert said == "the environment failed: RuntimeError: the site is down\ufffd[2J http://x/"
        await episode.close()
        again = await worlds.open({"task": "click-test", "seed": 1})
        assert (await again.act(None)).content["goal"] == "Click the button."
        await worlds.close()

    asyncio.run(play())


_MAIN = """
import asyncio, sys
from harness.benchmarks import benchmark
from harness.live.pool import Worlds
from harness.settings import read_settings

async def main():
    ours = benchmark("browsergym:miniwob.*").with_options(
        {"env_python": sys.argv[1]}.items()
    ).of_run(read_settings({}))
    worlds = Worlds(ours.world, ours.opening(), count=1, limits=ours.limits)
    episode = await worlds.open({"task": sys.argv[2], "seed": 1})
    await episode.act(None)
    print(*worlds.pids, flush=True)
    await episode.act({"name": "CLICK", "element": "12"})

asyncio.run(main())
"""


def test_no_worker_outlives_a_main_process_that_is_killed(
    python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bred = tmp_path / "pid"
    monkeypatch.setenv("VLM_TEST_BRED", str(bred))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    words = [sys.executable, "-c", _MAIN, python, "breeds"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as main:
        assert main.stdout is not None
        worker = int(main.stdout.readline())
        while not (bred.exists() and bred.read_text()):
            time.sleep(0.05)
        main.kill()
    assert wait_until_gone(worker)
    assert wait_until_gone(int(bred.read_text()))


def test_what_the_user_has_to_mend_stops_everything(python: str) -> None:
    says = r"WA_SHOPPING, .*: not set; vlm-eval environments check webarena says"
    with pytest.raises(Fatal, match=says):
        first(python, "0", suite="webarena")


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"no json",
        b'["done"]',
        b'["dance", null]',
        b'["done", {"goal": "x"}]',
        b'["done", ' + b"[" * 100_000 + b"]" * 100_000 + b"]",
        b'["done", "\\ud800"]',
    ],
)
def test_lines_that_are_no_answers_are_refused(python: str, line: bytes) -> None:
    with pytest.raises(ValueError, match=r"\A[^\n]*\Z"):
        source(python).world.read(line)


def test_an_answer_with_the_picture_of_nothing_is_refused(python: str) -> None:
    nodes = '[{"id": "0", "parent": null, "tag": "html", "box": [0, 0, 1, 1]}]'
    told = (
        '["done", {"goal": "", "url": "", "tabs": [], "tab": 0, "reward": 0, "ended": false, '
        '"reason": "", "error": "", "size": [80, 40], "screenshot": "AAAA", '
        f'"nodes": {nodes}, "cut": false}}]'
    )
    with pytest.raises(ValueError, match="no picture of the size"):
        source(python).world.read(told.encode())
