"""A world of pages for tests, and what tests need to play in it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from harness.dialogue import Observation
from harness.live.browsing import BrowserWorld
from harness.live.chromium import chromium
from harness.live.contract import PAGE, LivePage, Seen, decode_page
from parsers.actions import Action

ENTRY = f"{__name__}:Pages"
HOST = "pages.invalid"

needs_browser = pytest.mark.skipif(
    find_spec("playwright") is None or chromium() is None,
    reason="needs the extra [live], and Chromium",
)


class Pages(BrowserWorld):
    """Shows `episode["page"]` of the folder that the options name; `over` on it ends the episode.

    A page may set `done` and `reward`.
    """

    size = (400, 300)
    scale = 2.0

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.folders = {HOST: Path(options["folder"])}
        super().__init__(options)

    def begin(self, episode: Mapping[str, Any]) -> Observation:
        self.settles = 0.0 if episode.get("settles") else None
        self.visit(f"https://{HOST}/{episode['page']}")
        return self.observe()

    def state(self) -> Seen:
        done, reward = self.page.evaluate("() => [!!window.done, window.reward ?? null]")
        return Seen(goal="Try it", ended=done, reward=reward, reason="done" if done else "")


class Table:
    """A world in this process, with what an agent would look up in an observation."""

    def __init__(self, world: Pages, folder: Path) -> None:
        self.world = world
        self.folder = folder
        self.seen = Seen()
        self.page = LivePage("")
        self.blobs: Mapping[str, bytes] = {}

    def show(self, body: str, **episode: Any) -> Seen:
        """Begin an episode on a page with this body."""
        path = self.folder / "index.html"
        path.write_text(f"<!DOCTYPE html><meta charset=utf-8><body>{body}</body>")
        from harness.live import browsing

        browsing._response.cache_clear()
        return self.take(self.world.begin({"page": path.name, **episode}))

    def do(self, name: str, to: str | tuple[float, float] | None = None, **given: Any) -> Seen:
        """Act on the element with that HTML id, or on a point."""
        element = self.id_of(to) if isinstance(to, str) else None
        point = to if isinstance(to, tuple) else None
        return self.take(self.world.act(Action(name, element, point, given)))

    def id_of(self, html_id: str) -> str:
        """The id of the element in the observation."""
        for one in self.page.candidates:
            if one.attributes.get("id") == html_id:
                return one.id
        raise KeyError(html_id)

    def value(self, script: str) -> Any:
        """What the page itself says."""
        return self.world.page.evaluate(script)

    def take(self, observation: Observation) -> Seen:
        self.seen = Seen.from_plain(observation.content)
        self.blobs = observation.blobs
        if data := observation.blobs.get(PAGE):
            self.page = decode_page(data)
        return self.seen
