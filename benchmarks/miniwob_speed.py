"""Time of one-click episodes of MiniWoB++, next to the official environment on equal work.

    python benchmarks/miniwob_speed.py [--episodes 20] [--scale 2]

An episode is a reset with the page, its elements and a screenshot, a click in the middle, and the
reward. Both run in this process, in turns. The official environment drives Chromium through
Selenium; it needs `chromedriver` (apt install chromium-driver), and is left out, with a line that
says so, where that is missing. Exit status 1 above 0.25 s.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from harness.benchmarks.episode.miniwob.benchmark import (
    SCALE,
    SIZE,
    MiniWoBWorld,
    episode_of,
    pages,
)
from harness.live.chromium import chromium
from parsers.actions import Action

TASKS = ("click-test", "click-test-2", "click-button", "click-link", "click-dialog", "click-option")
OURS, OFFICIAL = "vlm-eval", "miniwob (Selenium)"
MOST_S = 0.25
Play = Callable[[str, int], None]


@contextmanager
def ours(scale: int) -> Iterator[Play]:
    """Episodes in this project's world."""
    world = MiniWoBWorld({"pages": str(pages()), "scale": scale})
    middle = Action("CLICK", point=(SIZE[0] * scale / 2, SIZE[1] * scale / 2))

    def play(task: str, number: int) -> None:
        world.begin(episode_of(0, task, number))
        world.act(middle)

    try:
        yield play
    finally:
        world.close()


@contextmanager
def official(browser: str, driver: str) -> Iterator[Play]:
    """Episodes in the environments of the package `miniwob`, one browser for each task."""
    os.environ |= {"MINIWOB_CHROME_BINARY": browser, "MINIWOB_CHROMEDRIVER": driver}
    from miniwob.action import ActionTypes
    from miniwob.environment import MiniWoBEnvironment

    environments: dict[str, Any] = {task: MiniWoBEnvironment(task) for task in TASKS}

    def play(task: str, number: int) -> None:
        environment = environments[task]
        environment.reset(seed=number)
        click = environment.create_action(
            ActionTypes.CLICK_COORDS, coords=(SIZE[0] / 2, SIZE[1] / 2)
        )
        environment.step(click)

    try:
        yield play
    finally:
        for environment in environments.values():
            environment.close()


def timed(play: Play, task: str, number: int) -> float:
    begun = time.perf_counter()
    play(task, number)
    return time.perf_counter() - begun


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--episodes", type=int, default=20, help="episodes of each task")
    parser.add_argument("--scale", type=int, default=SCALE, help="device scale of our screenshots")
    options = parser.parse_args()
    browser, driver = chromium(), shutil.which("chromedriver")
    with ExitStack() as stack:
        players = {OURS: stack.enter_context(ours(options.scale))}
        if browser and driver:
            players[OFFICIAL] = stack.enter_context(official(str(browser), driver))
        else:
            print(f"{OFFICIAL} left out: no chromedriver (apt install chromium-driver)")
        times: dict[str, list[float]] = {name: [] for name in players}
        for number in range(options.episodes + 1):
            for task in TASKS:
                for name, play in players.items():
                    taken = timed(play, task, number)
                    if number:  # The first round fills caches.
                        times[name].append(taken)
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    for name, taken_each in times.items():
        listed = sorted(taken_each)
        slow = listed[round(0.95 * (len(listed) - 1))]
        print(
            f"{name}: {medians[name]:.3f} s an episode (95 % within {slow:.3f} s), "
            f"{len(listed)} episodes"
        )
    if OFFICIAL in medians:
        print(f"{medians[OURS] / medians[OFFICIAL]:.2f} times the official environment")
    print(f"at most {MOST_S} s are wanted")
    return 0 if medians[OURS] <= MOST_S else 1


if __name__ == "__main__":
    sys.exit(main())
