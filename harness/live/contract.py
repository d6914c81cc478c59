"""The contract of worlds, and the observations in them.

    class Counter(World):
        def __init__(self, options):            # runs in a worker process, once
            ...
        def begin(self, episode):               # the first observation of an episode
            return Seen(goal=episode["task"]).observation()
        def act(self, action):                  # the next ones
            return Seen(goal="...", reward=1.0, ended=True).observation()

A benchmark names its world as `package.module:Class`. All points and boxes are in pixels of the
screenshot, whatever the scale at which the browser draws.
"""

from __future__ import annotations

import json
import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from adapters.decoding import convert_to, decoder_of
from harness.dialogue import SCREENSHOT, Observation
from harness.live.clean import clean_line, clean_text
from harness.page import Box, Candidate, decode_candidates
from harness.runs import digest_of
from harness.runs.live_steps import Sight
from parsers.actions import Action

PAGE = "page"
"""Name of the page's blob in an observation; the other blob is its `SCREENSHOT`."""
LARGEST_PAGE = 64_000_000
"""Largest page to read from a blob, in bytes of JSON."""
LONGEST_GOAL = 50_000
"""Longest goal of an observation, in characters."""
LONGEST_LINES = {"url": 2_000, "title": 1_000, "reason": 2_000, "error": 200}
"""Longest line of an observation, in characters, by its name in `Seen`."""
MOST_TABS = 100


class World(ABC):
    """The surroundings of episodes. A worker process has one and uses it for many episodes.

    An exception ends the worker, and the episode is tried again in another one. A mistake of the
    agent is not an exception: report it in `Seen.error`.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Prepare everything that all episodes share; `options` are plain values.

        Raises:
            UserError: the user has to change something, such as install a browser.
        """
        self.options = options

    @abstractmethod
    def begin(self, episode: Mapping[str, Any]) -> Observation:
        """Start an episode, described by plain values, after any state of the one before."""

    @abstractmethod
    def act(self, action: Action) -> Observation:
        """Carry out an action of `parsers.live.LIVE_ACTIONS`."""


@dataclass(frozen=True, slots=True)
class Seen(Sight):
    """An agent's view of a live page: the content of an observation.

    Attributes:
        page: digest of the page; "" without a page.
        tabs: titles and addresses of the browser's tabs, if an agent may have several.
        tab: number of the visible tab, from 0.
    """

    page: str = ""
    tabs: tuple[tuple[str, str], ...] = ()
    tab: int = 0

    def to_plain(self) -> dict[str, Any]:
        """Convert to values of JSON, without `tabs` if there are none."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        if not self.tabs:
            del plain["tabs"], plain["tab"]
        return plain

    @classmethod
    def from_plain(cls, plain: object) -> Seen:
        """Read what `to_plain` wrote. Raises ValueError."""
        return convert_to(plain, cls)

    def observation(
        self, screenshot: bytes | None = None, page: LivePage | None = None
    ) -> Observation:
        """Return the observation with its blobs; this cleans all texts of a page or environment."""
        blobs: dict[str, bytes] = {}
        if screenshot is not None:
            blobs[SCREENSHOT] = screenshot
        if page is not None:
            blobs[PAGE] = encode_page(page)
        names = {SCREENSHOT: self.screenshot, PAGE: self.page}
        names |= {name: digest_of(data) for name, data in blobs.items()}
        lines: dict[str, Any] = {
            name: clean_line(getattr(self, name), most) for name, most in LONGEST_LINES.items()
        }
        seen = replace(
            self,
            goal=clean_text(self.goal, LONGEST_GOAL),
            tabs=tuple(
                (clean_line(title, LONGEST_LINES["title"]), clean_line(url, LONGEST_LINES["url"]))
                for title, url in self.tabs[:MOST_TABS]
            ),
            screenshot=names[SCREENSHOT],
            page=names[PAGE],
            **lines,
        )
        return Observation(seen.to_plain(), blobs)


@dataclass(frozen=True, slots=True)
class LivePage:
    """An observed page.

    Attributes:
        html: cleaned as in Mind2Web's `cleaned_html`, with `backend_node_id` attributes.
        candidates: all rendered elements, in document order; boxes in pixels of the screenshot, and
            outside of it for elements that need scrolling.
        in_view: ids of the candidates at least partly within the screenshot.
        cut: True if the page was too large to be described completely.
    """

    html: str
    candidates: tuple[Candidate, ...] = ()
    in_view: frozenset[str] = frozenset()
    cut: bool = False


def element(node_id: str, tag: str, box: tuple[float, float, float, float]) -> Candidate:
    """Build a candidate from its box (left, top, width, height) in pixels of the screenshot."""
    attributes = json.dumps({"bounding_box_rect": ",".join(map(str, box))})
    return Candidate(node_id, tag, Box(*box), False, False, attributes)


def encode_page(page: LivePage) -> bytes:
    """Encode a page as compressed bytes; equal pages give equal bytes."""
    plain: dict[str, Any] = {
        "cut": page.cut,
        "cleaned_html": page.html,
        "candidates": [
            {
                "backend_node_id": one.id,
                "tag": one.tag,
                "attributes": one.raw_attributes,
                "in_view": one.id in page.in_view,
            }
            for one in page.candidates
        ],
    }
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    return zlib.compress(text.encode("utf-8", "replace"), 6)


def decode_page(data: bytes) -> LivePage:
    """Read what `encode_page` wrote. Raises ValueError for anything else."""
    unpacked = zlib.decompressobj()
    try:
        text = unpacked.decompress(data, LARGEST_PAGE)
        if not unpacked.eof:
            raise ValueError("incomplete, or larger than any page")
        stored = _STORED.decode(text)
        candidates = decode_candidates(stored.candidates)
        seen = [_IN_VIEW.decode(one).in_view for one in stored.candidates]
    except (zlib.error, ValueError, RecursionError) as error:
        raise ValueError(f"not the page of an observation: {error}") from None
    in_view = (one.id for one, shown in zip(candidates, seen, strict=True) if shown)
    return LivePage(stored.cleaned_html, tuple(candidates), frozenset(in_view), stored.cut)


class _Page(msgspec.Struct):
    cleaned_html: str
    candidates: list[msgspec.Raw]
    cut: bool = False


class _Shown(msgspec.Struct):
    in_view: bool = False


_STORED = decoder_of(_Page)
_IN_VIEW = decoder_of(_Shown)
