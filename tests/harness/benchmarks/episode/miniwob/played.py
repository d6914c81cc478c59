"""A world of MiniWoB++ for tests, and a way to play it without a run."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from harness.benchmarks.episode.miniwob.benchmark import MiniWoBWorld, episode_of, most_steps
from harness.benchmarks.episode.miniwob.policy import ORACLE
from harness.dialogue import Observation
from harness.live.chromium import chromium
from harness.live.contract import PAGE, LivePage, Seen, decode_page
from harness.page import Page
from harness.policies import Secret, chance_for
from harness.records import Choice, Step
from harness.views import StepView
from parsers.records import StepInfo

needs_miniwob = pytest.mark.skipif(
    find_spec("playwright") is None or find_spec("miniwob") is None or chromium() is None,
    reason="needs the extra [miniwob], and Chromium",
)


def seen(observation: Observation) -> Seen:
    return Seen.from_plain(observation.content)


def page_of(observation: Observation) -> LivePage:
    return decode_page(observation.blobs[PAGE])


def choices_of(observation: Observation) -> tuple[Choice, ...]:
    """The elements in view, as a protocol is given them."""
    page = page_of(observation)
    shown = [one for one in page.candidates if one.id in page.in_view]
    texts = {one.id: one.text for one in Page.parse(page.html).choices([one.id for one in shown])}
    return tuple(Choice("", one.id, one.tag, texts[one.id], one.box) for one in shown)


def solved(world: MiniWoBWorld, task: str, number: int, steps: int = 0) -> Seen:
    """What an episode ends with if the scripted solution plays it, with so many steps at most."""
    observation = world.begin(episode_of(42, task, number))
    for step in range(steps or most_steps(task)):
        now = seen(observation)
        if now.ended:
            break
        info = StepInfo(task, "", step, 0, "miniwob", "published", "", "", "", now.goal)
        view = StepView(Step("", info, ()), choices_of(observation))
        chance = chance_for(0, 0, task, "test")
        prediction = ORACLE.predict(view, chance, Secret({"task": task}))
        assert prediction.action is not None, f"{task}-{number}: no way on at step {step}"
        observation = world.act(prediction.action)
    return seen(observation)
