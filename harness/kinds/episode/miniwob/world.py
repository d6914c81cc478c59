"""An episode of MiniWoB++ in Chromium, begun and read as the package's own environment does.

The clock of a page is set to three weeks, so that no agent is too slow for it, and a page that has
ended begins no second episode: its cover would start one with a random seed at the next click.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.dialogue import Observation
from harness.kinds.episode.miniwob.tasks import ANIMATED, SCALE, SIZE, WINDOW
from harness.live.browsing import BrowserWorld
from harness.live.clean import Kept
from harness.live.contract import Seen

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
    """Options: `pages`, the folder of the pages, and those of `BrowserWorld`.

    An episode has a `task` and a `seed`, which is a text.
    """

    size = SIZE
    # Menus and dialogs depend on the width of the window; a task is its left part.
    window = WINDOW
    scale = SCALE
    needed_by = ("miniwob", "miniwob")
    kept = Kept(
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
