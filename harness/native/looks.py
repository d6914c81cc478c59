"""The tools of a request, and answers to calls that only look, from a recorded picture."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from adapters.conversation import (
    Picture,
    ProviderTool,
    Reply,
    Result,
    Shown,
    Text,
    Tool,
    ToolCall,
    canonical_json,
)
from harness.pictures import cropped
from parsers.actions import mended
from parsers.native import ToolAct, ToolUse
from parsers.native.page import Elements
from parsers.native.spelling import Write
from parsers.native.tools import Read, acts_of
from parsers.native.toolsets import NOT_PERMITTED
from parsers.points import Convention
from parsers.screen import Point

HALTED = "Not executed: an earlier action in this turn failed."


@dataclass(frozen=True, kw_only=True)
class Offer:
    """The tools of a request.

    read: reads the calls of a vendor's tool, None where there are only functions.
    write: writes them; None where all are functions of our own.
    convention: what their numbers mean.
    shows: whether looks are answered with pictures.
    pictured: calls that are answered with one picture and nothing else.
    all_pictured: whether every answer has a picture, errors too; else on a live page only the last.
    halted: the answer to calls behind one that failed.
    refs: whether elements of a page are named, and answers say what the browser shows.
    off: looks that are switched off.
    look: a call that looks, for estimates.
    extras: names of the functions beside the tool, for what it has no word for.
    """

    read: Read | None = None
    write: Write | None = None
    convention: Convention = "absolute"
    tools: tuple[Tool | ProviderTool, ...] = ()
    shows: bool = False
    pictured: frozenset[str] = frozenset()
    all_pictured: bool = False
    halted: str = HALTED
    refs: bool = False
    off: tuple[str, ...] = ()
    look: tuple[str, Mapping[str, Any]] | None = None
    extras: frozenset[str] = frozenset()

    def acts(self, reply: Reply) -> list[ToolAct]:
        """Return the acts of a reply, in the model's numbers."""
        uses = [ToolUse(one.name, one.arguments) for one in calls_of(reply)]
        functions = {tool.name for tool in self.tools if isinstance(tool, Tool)}
        said = [
            replace(act, wrong=NOT_PERMITTED.format(act.text))
            if act.word == "look" and act.text in self.off
            else act
            for act in acts_of(uses, self.read, functions)
        ]
        if self.convention == "unit":
            return [replace(act, flags=act.flags - {"fraction"}) for act in said]
        return said

    @property
    def rehearsed(self) -> Reply | None:
        """A reply that only looks, for estimates."""
        return Reply("", tool_calls=(ToolCall("look", *self.look),)) if self.look else None

    @property
    def state(self) -> Mapping[str, Any] | None:
        """More that the tool shows, in the provider's words."""
        return _TAB if self.refs else None


_TAB = {
    "type": "browser_state",
    "tabs": [{"tab_id": "tab-1", "title": "", "url": "", "active": True}],
}
"""More that a browser with a recorded page shows."""


def answered(
    offer: Offer,
    calls: Sequence[ToolCall],
    acts: Sequence[ToolAct],
    picture: Picture,
    shows: Callable[[ToolAct], list[Shown] | str],
    *,
    live: bool = False,
) -> list[Result]:
    """Return the answers to the calls of a reply, in their order.

    After a failure the calls behind it are not carried out.

    picture: of the page as it is by now; on live pages the last call shows it if none has.
    shows: says what an act shows, or why it fails, as a text.
    """
    results: list[Result] = []
    own: dict[int, list[ToolAct]] = {}
    for act in acts:
        own.setdefault(act.call, []).append(act)
    failed = False
    for number, call in enumerate(calls):
        shown: list[Shown] = []
        wrong = offer.halted if failed else ""
        for act in own.get(number, ()):
            if not wrong:
                one = shows(act)
                wrong, more = (one, []) if isinstance(one, str) else ("", one)
                shown += [part for part in more if part not in shown]
        failed = bool(wrong)
        if call.name in offer.pictured:
            results.append(Result(call.id, (picture,)))
        elif wrong:
            seen = (picture,) if offer.all_pictured else ()
            results.append(Result(call.id, (Text(wrong), *seen), is_error=True))
        else:
            pictures = [one for one in shown if isinstance(one, Picture)]
            if not offer.shows:
                shown = [one for one in shown if isinstance(one, Text)]
            elif live and not pictures and (number == len(calls) - 1 or offer.all_pictured):
                shown.append(picture)
            results.append(Result(call.id, tuple(shown), state=offer.state))
    return results


def looked(
    act: ToolAct, picture: Picture, to_page: Callable[[Point], Point | None], page: Elements | None
) -> list[Shown] | str:
    """Return what a look shows, in the words that the published tools have for it; a text where
    it fails."""
    if act.wrong:
        return act.wrong
    match act.word:
        case "press":
            return [Text("Clicked."), picture]
        case "wait":
            return [Text(f"Waited {act.seconds:g}s."), picture]
        case "scroll":
            return [Text(f"Scrolled {act.text}."), picture]
    match act.text:
        case "cursor":
            return [Text("X=0,Y=0")]
        case "list_tabs":
            return []
        case "read_page" | "find" | "get_page_text":
            said = (page or Elements((), (0, 0))).answer(act.text, dict(act.asked))
            return (
                _STALE.format(mended(str(act.asked["ref"]))[:40])
                if said is None
                else [Text(said or "(empty)")]
            )
        case "scroll_to" if page is None or page.place_of(act.ref) is None:
            return _STALE.format(act.ref)
        case "scroll_to":
            return [Text(f"Scrolled to {act.ref}."), picture]
        case "zoom" if act.at and act.to:
            first, last = to_page(act.at), to_page(act.to)
            if first is None or last is None or not (first[0] < last[0] and first[1] < last[1]):
                return "Error: the region is empty, or lies outside of the picture."
            return [cropped(picture, (*first, *last))]
    return [picture]


_STALE = (
    "Error: {} is stale or not found on the current page. Re-read the page to get fresh references."
)


def calls_of(reply: Reply) -> Sequence[ToolCall]:
    """Return the calls of a reply; those of a policy are written as JSON in its text."""
    if reply.tool_calls or not reply.text.startswith("[{"):
        return reply.tool_calls
    try:
        listed = json.loads(reply.text)
        if canonical_json(listed) != reply.text:
            return ()
        return [ToolCall("", one["name"], one["arguments"]) for one in listed]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ()
