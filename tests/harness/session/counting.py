"""A made-up world of buttons: pressing the one with the goal's number is rewarded."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from harness.benchmarks import Items
from harness.benchmarks.episode.benchmark import EpisodeBenchmark
from harness.benchmarks.episode.task import EpisodeDetail, EpisodeTask
from harness.dialogue import Observation
from harness.live.contract import LivePage, Seen, World, element
from harness.pictures import grey
from parsers import Declaration, Level, Measure, Prediction
from parsers.actions import Action
from parsers.live import LIVE_ACTIONS

HALF = "half \ud83d"
SIDE = 40
BUTTONS = 5


class Buttons(World):
    """Five buttons beside each other; a wrong one moves the goal by one, as the page says."""

    def begin(self, episode: Mapping[str, Any]) -> Observation:
        self.goal, self.pressed, self.odd = int(episode["goal"]), 0, "odd" in episode
        if episode.get("dies"):
            once = Path(str(episode["dies"]))
            if not once.exists() or not once.read_text():
                once.write_text("x" if not episode.get("always") else "")
                os._exit(3)
        return self._seen()

    def act(self, action: Action) -> Observation:
        if os.environ.get("PRESSING_HANGS"):
            Path(os.environ["PRESSING_HANGS"]).write_text(str(os.getpid()))
            time.sleep(3600)
        number = int(action.element) - 10 if action.element else None
        if action.point:
            number = int(action.point[0] // SIDE)
        if action.name != "CLICK" or number is None:
            return self._seen(error="only buttons can be pressed here")
        self.pressed += 1
        hit = number == self.goal
        reason = f"{HALF} pressed" if self.odd and hit else ""
        return self._seen(ended=hit, reward=1.0 if hit else None, reason=reason)

    def _seen(self, **more: Any) -> Observation:
        width = SIDE * BUTTONS
        page = "".join(f'<button backend_node_id="{10 + n}">{n}</button>' for n in range(BUTTONS))
        html = f'<html backend_node_id="1"><body backend_node_id="2">{page}</body></html>'
        listed = tuple(
            element(str(10 + n), "button", (SIDE * n, 0, SIDE, SIDE)) for n in range(BUTTONS)
        )
        more |= {"title": HALF, "url": HALF} if self.odd else {}
        goal = f"press the button {self.goal}{f' {HALF}' * 8_000_000 * self.odd}"
        seen = Seen(goal=goal, viewport=(width, SIDE), **more)
        return seen.observation(
            grey(width, SIDE), LivePage(html, listed, frozenset(one.id for one in listed))
        )


def reward(prediction: Prediction, detail: EpisodeDetail) -> float:
    return float(prediction.parsed.get("reward") == 1.0)


DECLARED = Declaration(
    (Measure("success", "Success", main=True),),
    levels=(Level("task"),),
    kind="episode",
    actions=LIVE_ACTIONS,
)


@dataclass(frozen=True)
class Pressing(EpisodeBenchmark):
    name: str = "pressing"
    declared: Declaration = DECLARED
    world = f"{__name__}:Buttons"
    viewport = (SIDE * BUTTONS, SIDE)
    scorers: ClassVar = {"success": reward}
    parameters: tuple[Mapping[str, Any], ...] = ({"goal": 0}, {"goal": 3}, {"goal": 4})

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> Items:
        return Items.of(
            self.unit(
                f"press-{number}",
                EpisodeDetail(EpisodeTask(given)),
                parents={"task": f"press-{given['goal']}"},
            )
            for number, given in enumerate(self.parameters)
        )
