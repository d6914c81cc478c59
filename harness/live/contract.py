"""What a world is, and what is seen in it.

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

from harness.dialogue import SCREENSHOT, Observation
from harness.page import Box, Candidate, decode_candidates
from harness.runs import Sight, digest_of
from parsers.actions import Action

PAGE = "page"
"""Name of the blob of an observation that holds the page; the other is its `SCREENSHOT`."""
LARGEST_PAGE = 64_000_000
"""Largest page that is read from a blob, in bytes of JSON."""


class World(ABC):
    """What episodes take place in. A worker process has one and uses it for many episodes.

    Whatever it raises ends the worker, and the episode is tried again in another. What an agent
    does wrong is no failure: it is told as `Seen.error`.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Prepare everything that does not depend on an episode; `options` are plain values.

        Raises `UserError` for what the user has to mend, such as a browser that is not installed.
        """
        self.options = options

    @abstractmethod
    def begin(self, episode: Mapping[str, Any]) -> Observation:
        """Start an episode, described by plain values, whatever became of the one before."""

    @abstractmethod
    def act(self, action: Action) -> Observation:
        """Carry out an action of `parsers.live.LIVE_ACTIONS`."""

    def close(self) -> None:  # noqa: B027 (not every world holds anything)
        """Let go of everything. It is not called when the worker is killed."""


@dataclass(frozen=True, slots=True)
class Seen(Sight):
    """What an agent sees of a live page: the content of an observation.

    Attributes:
        page: digest of the page, "" without.
        tabs: titles and addresses of the browser's tabs, where an agent may have several.
        tab: number of the one that is seen, from 0.
    """

    page: str = ""
    tabs: tuple[tuple[str, str], ...] = ()
    tab: int = 0

    def to_plain(self) -> dict[str, Any]:
        """The same as values of JSON; tabs are left out where there are none."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        if not self.tabs:
            del plain["tabs"], plain["tab"]
        return plain

    @classmethod
    def from_plain(cls, plain: object) -> Seen:
        """Read what `to_plain` wrote. Raises ValueError."""
        return msgspec.convert(plain, cls)

    def observation(
        self, screenshot: bytes | None = None, page: LivePage | None = None
    ) -> Observation:
        """The observation of this, with its blobs."""
        blobs: dict[str, bytes] = {}
        if screenshot is not None:
            blobs[SCREENSHOT] = screenshot
        if page is not None:
            blobs[PAGE] = encode_page(page)
        names = {SCREENSHOT: self.screenshot, PAGE: self.page}
        names |= {name: digest_of(data) for name, data in blobs.items()}
        seen = replace(self, screenshot=names[SCREENSHOT], page=names[PAGE])
        return Observation(seen.to_plain(), blobs)


@dataclass(frozen=True, slots=True)
class LivePage:
    """A page as it was seen.

    Attributes:
        html: cleaned as in Mind2Web's `cleaned_html`, with `backend_node_id` attributes.
        candidates: all elements that are rendered, in document order; boxes in pixels of the
            screenshot, and outside of it for what has to be scrolled to.
        in_view: ids of those that are at least partly within the screenshot.
        cut: whether the page was too large to be looked at as a whole.
    """

    html: str
    candidates: tuple[Candidate, ...] = ()
    in_view: frozenset[str] = frozenset()
    cut: bool = False


def element(node_id: str, tag: str, box: tuple[float, float, float, float]) -> Candidate:
    """An element of a page, with its box (left, top, width, height) in pixels of the screenshot."""
    attributes = json.dumps({"bounding_box_rect": ",".join(map(str, box))})
    return Candidate(node_id, tag, Box(*box), False, False, attributes)


def encode_page(page: LivePage) -> bytes:
    """A page as compressed bytes; equal pages give equal bytes."""
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
            raise ValueError("it is cut, or larger than any page")
        stored = _STORED.decode(text)
        candidates = decode_candidates(stored.candidates)
        seen = [_IN_VIEW.decode(one).in_view for one in stored.candidates]
    except (zlib.error, ValueError, RecursionError) as error:
        raise ValueError(f"this is no page of an observation: {error}") from None
    in_view = (one.id for one, shown in zip(candidates, seen, strict=True) if shown)
    return LivePage(stored.cleaned_html, tuple(candidates), frozenset(in_view), stored.cut)


class _Page(msgspec.Struct):
    cleaned_html: str
    candidates: list[msgspec.Raw]
    cut: bool = False


class _Shown(msgspec.Struct):
    in_view: bool = False


_STORED = msgspec.json.Decoder(_Page)
_IN_VIEW = msgspec.json.Decoder(_Shown)
