"""MiniWoB++: its tasks, an episode in Chromium, and when one has succeeded.

The pages come with the package `miniwob`, which is looked for and never imported: it would import
Selenium and register hundreds of environments. An episode begins and is read as in the package's
own environment, but the clock of a page is set to three weeks, so no agent is too slow for it, and
a page that has ended begins no second episode: its cover would start one with a random seed at the
next click.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from adapters.registry import install
from harness.benchmarks.contract import SplitSize
from harness.benchmarks.dataset import Items
from harness.benchmarks.episode.benchmark import EpisodeBenchmark
from harness.benchmarks.episode.task import EpisodeDetail, EpisodeTask
from harness.data_files import check_splits
from harness.dialogue import Observation
from harness.errors import UserError
from harness.live.browsing import BrowserWorld
from harness.live.chromium import found
from harness.live.clean import KeptParts
from harness.live.contract import Seen
from harness.page import MINIWOB_ATTRIBUTES
from harness.runs.records import Unit
from parsers.declaration import SPLIT, SPREAD, Declaration, Group, Level, Measure
from parsers.live import LIVE_ACTIONS
from parsers.records import Prediction

INSTALL = install("miniwob")
# fmt: off
PUBLISHED = (
    "book-flight", "choose-date", "choose-date-easy", "choose-date-medium", "choose-list",
    "click-button", "click-button-sequence", "click-checkboxes", "click-checkboxes-large",
    "click-checkboxes-soft", "click-checkboxes-transfer", "click-collapsible",
    "click-collapsible-2", "click-color", "click-dialog", "click-dialog-2", "click-link",
    "click-menu", "click-option", "click-pie", "click-scroll-list", "click-shades",
    "click-shape", "click-tab", "click-tab-2", "click-tab-2-hard", "click-test", "click-test-2",
    "click-widget", "count-shape", "email-inbox", "email-inbox-forward-nl",
    "email-inbox-forward-nl-turk", "email-inbox-nl-turk", "enter-date", "enter-password",
    "enter-text", "enter-text-dynamic", "enter-time", "focus-text", "focus-text-2",
    "grid-coordinate", "guess-number", "identify-shape", "login-user", "login-user-popup",
    "multi-layouts", "multi-orderings", "navigate-tree", "search-engine", "social-media",
    "social-media-all", "social-media-some", "tic-tac-toe", "use-autocomplete", "use-spinner",
)
# fmt: on
"""The 56 tasks that AutoWebGLM (Lai et al. 2024, Table 8) and the work before it report."""

SIZE = (160, 210)
"""Width and height of a task in pixels of its page."""
WINDOW = (500, 320)
"""Size of the window, as in the package: next to the task it shows the last rewards."""
SCALE = 2
"""Pixels of a screenshot for one of the page, on which letters are ten pixels high."""
EPISODES = 100
"""Episodes of a task, as published."""
STEPS = 10
LONG_STEPS = 30
LONG = ("choose-date", "guess-number", "use-slider")
"""The tasks that SeeClick (Cheng et al. 2024) gives 30 steps instead of 10."""

AT_ONCE, DELAYED = 0.1, 0.35
ANIMATED: Mapping[str, float] = {
    "book-flight": DELAYED,
    "book-flight-nodelay": AT_ONCE,
    "choose-date": AT_ONCE,
    "choose-date-easy": AT_ONCE,
    "choose-date-medium": AT_ONCE,
    "click-collapsible": AT_ONCE,
    "click-collapsible-2": AT_ONCE,
    "click-menu": DELAYED,
    "click-pie": AT_ONCE,
    "use-autocomplete": DELAYED,
    "use-autocomplete-nodelay": AT_ONCE,
}
"""Tasks whose pages still move after an action, with the seconds until that can be seen: menus of
jQuery UI open after 0.3 s, and its animations begin slowly."""


def pages() -> Path:
    """The folder of the pages. Raises `UserError` if the package is not there."""
    spec = find_spec("miniwob")
    for place in (spec and spec.submodule_search_locations) or ():
        folder = Path(place) / "html" / "miniwob"
        if folder.is_dir():
            return folder
    raise UserError(f"miniwob: its pages are not installed: {INSTALL}")


def episode_of(seed: int, task: str, number: int) -> dict[str, Any]:
    """The start of an episode: the task, and the text that its page draws everything from.

    The seed of a page is a text: the generator of the pages draws other numbers from the text "5"
    than from the number.

    >>> episode_of(42, "click-test", 0)
    {'task': 'click-test', 'seed': '...'}
    """
    digest = hashlib.sha256(f"{seed}\n{task}\n{number}".encode()).hexdigest()
    return {"task": task, "seed": digest[:16]}


def most_steps(task: str) -> int:
    """Return the largest number of actions of an episode."""
    return LONG_STEPS if task in LONG else STEPS


HOST = "miniwob.invalid"
_BEGIN = """(seed) => {
  Math.seedrandom(seed);
  core.EPISODE_MAX_TIME = 2147483647;
  core.startEpisodeReal();
  core.startEpisodeReal = () => {};
  window.vlmEvalBegun = true;
  return WOB_TASK_READY;
}"""
_READY = "() => WOB_TASK_READY"
_STATE = """() => {
  if (!window.vlmEvalBegun) return null;
  const told = core.getUtterance();
  const goal = typeof told === "string" ? told : told.utterance;
  return [String(goal), WOB_DONE_GLOBAL, WOB_RAW_REWARD_GLOBAL, String(WOB_REWARD_REASON ?? "")];
}"""


class MiniWoBWorld(BrowserWorld):
    """Options: `pages`, the folder of the pages.

    An episode has a `task` and a `seed`, which is a text.
    """

    size = SIZE
    # Menus and dialogs depend on the width of the window; a task is its left part.
    window = WINDOW
    scale = SCALE
    needed_by = ("miniwob", "miniwob")
    kept = KeptParts(
        drawings=True,
        colours=True,
        attributes=frozenset({"class", "id"}),
        left_out="#reward-display, #click-canvas, #sync-task-cover, #query",
    )

    def __init__(self, options: Mapping[str, Any]) -> None:
        # The pages lie next to what they load: `../core`, `../common`.
        self.folders = {HOST: Path(options["pages"]).parent}
        super().__init__(options)

    def begin(self, episode: Mapping[str, Any]) -> Observation:
        self.visit(f"https://{HOST}/miniwob/{episode['task']}.html")
        if not self.page.evaluate(_BEGIN, str(episode["seed"])):
            self.page.wait_for_function(_READY)
        self.settles = None
        observation = self.observe()
        self.settles = ANIMATED.get(str(episode["task"]))
        return observation

    def state(self) -> Seen:
        """A page that was left or loaded again has no episode."""
        found = self.page.evaluate(_STATE)
        if found is None:
            return Seen(ended=True, reason="the page was left")
        goal, ended, reward, reason = found
        return Seen(
            goal=goal,
            ended=bool(ended),
            reward=float(reward) if ended else None,
            reason=(reason or "the page ended it") if ended else "",
        )


SPLITS = ("published", "other")


def raw_reward(prediction: Prediction, detail: EpisodeDetail) -> float:
    """The reward without the page's clock, between -1 and 1; 0 where the page has given none."""
    reward = prediction.parsed.get("reward")
    return float(reward) if isinstance(reward, int | float) else 0.0


def steps(prediction: Prediction, detail: EpisodeDetail) -> float | None:
    """Return the number of steps of the episode."""
    number = prediction.parsed.get("steps")
    return float(number) if isinstance(number, int) else None


SCORERS: Mapping[str, Callable[[Prediction, Any], float | None]] = {
    # AutoWebGLM (`get_binary_reward`), SeeClick, and BrowserGym: half of the boxes right succeeds.
    "success": lambda said, detail: float(raw_reward(said, detail) == 1.0),
    "success_seeclick": lambda said, detail: float(raw_reward(said, detail) > 0.8),
    "success_browsergym": lambda said, detail: float(raw_reward(said, detail) > 0.0),
    "raw_reward": raw_reward,
    "steps": steps,
}
DECLARED = Declaration(
    measures=(
        Measure("success", "Success", "episodes with a raw reward of 1", main=True),
        Measure("success_seeclick", "> 0.8", "episodes with more than 0.8 (SeeClick's rule)"),
        Measure("success_browsergym", "> 0", "episodes with more than 0 (BrowserGym's rule)"),
        Measure("raw_reward", meaning="the reward of the page", averages=SPREAD),
        Measure("steps", meaning="steps of an episode", averages=SPREAD),
    ),
    levels=(Level("task", extent="tasks"),),
    groups=(
        Group(SPLIT, "the split", whole="task"),
        Group("task", "the task", whole="task"),
    ),
    kind="episode",
    actions=LIVE_ACTIONS,
)


@dataclass(frozen=True)
class MiniWoB(EpisodeBenchmark):
    """The pages of the package `miniwob`: the 56 tasks of the papers, and all others."""

    name: str = "miniwob"
    splits: tuple[str, ...] = SPLITS
    default_splits: tuple[str, ...] = SPLITS[:1]
    sizes: tuple[SplitSize, ...] = (
        SplitSize(SPLITS[0], len(PUBLISHED), len(PUBLISHED) * EPISODES),
    )
    guarded = False
    note = ""
    declared: Declaration = DECLARED

    world = "harness.benchmarks.episode.miniwob.benchmark:MiniWoBWorld"
    viewport = (SIZE[0] * SCALE, SIZE[1] * SCALE)
    attributes = MINIWOB_ATTRIBUTES
    scorers: ClassVar = SCORERS

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> Items:
        """Open 100 episodes of every task; their pages follow from `seed`."""
        if data is not None:
            raise UserError(f"{self.name} has its pages from the package miniwob: leave out --data")
        check_splits(splits, self.splits, self.name)
        known = list[str]()
        with suppress(PackageNotFoundError):
            known.append(version("miniwob"))
        return Items.of(
            self._units(splits or self.default_splits),
            origin={"origin": "local", "package": " ".join(("miniwob", *known))},
        )

    def check_installed(self) -> None:
        """Check for the pages, playwright and Chromium."""
        pages()
        found(purpose=self.name, extra=self.name)

    def opening(self) -> Mapping[str, Any]:
        return {"pages": str(pages())}

    def _units(self, splits: Sequence[str]) -> Iterator[Unit[Any]]:
        for split in splits:
            tasks: tuple[str, ...] = PUBLISHED
            if split != SPLITS[0]:
                others = {page.stem for page in pages().glob("*.html")} - {*PUBLISHED}
                tasks = tuple(sorted(others))
            for task in tasks:
                for number in range(EPISODES):
                    asked = EpisodeTask(episode_of(self.seed, task, number), most_steps(task))
                    yield self.unit(
                        f"{task}-{number}",
                        EpisodeDetail(asked, {"task": task}),
                        split,
                        parents={"task": task},
                    )


BENCHMARK = MiniWoB()
