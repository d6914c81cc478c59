"""The tools of vendors by name: which models have them, what is sent, how their calls are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adapters.contract import AdapterInfo
from adapters.conversation import ProviderTool
from harness.errors import UserError
from harness.native.functions import beside
from harness.native.looks import HALTED, Offer
from parsers.native import ToolAct, ToolUse, vendors
from parsers.native import spelling as writing
from parsers.native.spelling import Write
from parsers.native.toolsets import toolset
from parsers.points import Convention
from parsers.screen import Device

ZOOM_TOKENS = 410
"""Tokens of the definition of zoom in a toolset."""


@dataclass(frozen=True, slots=True)
class VendorTool:
    """A tool that a vendor has trained its models on.

    entry: what a request asks for it with.
    models: the names of those that have it.
    settings: what their adapters have to be set to (a part of the setting), and how.
    words: the actions beyond clicks and keys that it has.
    withheld: members that are switched off; on live pages only those of tabs.
    refs: whether it names elements of a page.
    look: a call that looks, for estimates.
    """

    entry: Mapping[str, object]
    models: re.Pattern[str]
    settings: Mapping[str, tuple[str, str]]
    read: Callable[[ToolUse], Iterator[ToolAct]]
    write: Write
    look: tuple[str, Mapping[str, Any]]
    convention: Convention = "absolute"
    tokens: int | None = None
    zooms: bool = False
    pictured: frozenset[str] = frozenset()
    halted: str = HALTED
    words: frozenset[str] = frozenset()
    withheld: tuple[str, ...] = ()
    refs: bool = False

    def offer(
        self, device: Device, has: Sequence[str], *, zoom: bool, extras: bool, live: bool
    ) -> Offer:
        """Return what is offered for a set: the tool, and functions for what it has no word for."""
        tokens = self.tokens
        off = tuple(name for name in self.withheld if not live or name.endswith("_tab"))
        if self.zooms and not zoom:
            off += ("zoom",)
        if "zoom" in off:
            tokens = None if tokens is None else tokens - ZOOM_TOKENS
        configs = {"configs": {member: {"enabled": False} for member in off}} if off else {}
        entry = {**self.entry, **configs}
        further = beside(device, has, self.words) if extras else ()
        return Offer(
            (ProviderTool(entry, tokens), *further),
            self.read,
            self.write,
            self.convention,
            shows=True,
            pictured=self.pictured,
            all_pictured=self.convention != "absolute",
            halted=self.halted,
            refs=self.refs,
            look=self.look,
        )

    def check(self, name: str, model: AdapterInfo) -> None:
        """Raise `UserError` for a model whose adapter does not send this tool."""
        for key, (wanted, how) in self.settings.items():
            if wanted not in str(model.settings.get(key)):
                raise UserError(f"tool={name} is not a tool of {model.name}{how}")


_CLAUDE = re.compile(r"claude-(opus-(4-8|5)|sonnet-5|haiku-5-5|(fable|mythos)-5)")
VENDORS: Mapping[str, VendorTool] = {
    "computer": VendorTool(
        {"type": "computer"},
        re.compile(r"gpt-(5\.[4-9]|[6-9])(?!.*(nano|instant|chat))"),
        {
            "api": ("responses", " over this wire: add --adapter-option wire=responses"),
            "detail": ("original", " in this detail: add --adapter-option detail=original"),
        },
        vendors.computer,
        writing.computer,
        ("computer", {"actions": [{"type": "screenshot"}]}),
        pictured=frozenset({"computer"}),
    ),
    "computer-toolset": VendorTool(
        {"type": "computer_toolset_20260801"},
        _CLAUDE,
        {"api": ("messages", "")},
        toolset,
        writing.computer_toolset,
        ("computer.screenshot", {}),
        tokens=4520,
        zooms=True,
        halted="Not executed: an earlier computer action in this turn failed.",
    ),
    "browser-toolset": VendorTool(
        {"type": "browser_toolset_20260801"},
        _CLAUDE,
        {"api": ("messages", "")},
        toolset,
        writing.browser_toolset,
        ("browser.read_page", {}),
        tokens=6610,
        zooms=True,
        words=frozenset({"choose"}),
        # A recorded page leads nowhere.
        withheld=(
            *("navigate", "new_tab", "switch_tab", "close_tab", "left_click_drag"),
            *("left_mouse_down", "left_mouse_up", "hold_key"),
        ),
        refs=True,
    ),
    "gemini-browser": VendorTool(
        {"computerUse": {"environment": "ENVIRONMENT_BROWSER"}},
        re.compile(
            r"gemini-(3\.[78]-flash(?!-lite)|3\.5-flash"
            r"|2\.5-computer-use-preview|3-flash-preview|3\.1-pro-preview)"
        ),
        {"api": ("generateContent", "")},
        vendors.gemini,
        writing.gemini_browser,
        ("take_screenshot", {}),
        "per-mille",
        words=frozenset({"back"}),
    ),
    "gemini-mobile": VendorTool(
        {"computerUse": {"environment": "ENVIRONMENT_MOBILE"}},
        re.compile(r"gemini-(3\.[78]-flash(?!-lite)|3\.5-flash)"),
        {"api": ("generateContent", "")},
        vendors.gemini,
        writing.gemini_mobile,
        ("take_screenshot", {}),
        "per-mille",
        words=frozenset({"back", "long_press", "open_app"}),
    ),
}


def tool_of(model: str) -> str | None:
    """Return the newest computer tool of a model (Gemini's for browsers); None without a row.

    >>> tool_of("gpt-5.6"), tool_of("gpt-5.4-nano"), tool_of("claude-opus-5-5"), tool_of("gpt-4o")
    ('computer', None, 'computer-toolset', None)
    >>> tool_of("gemini-3.8-flash"), tool_of("gemini-3.1-flash-lite")
    ('gemini-browser', None)
    """
    return next((name for name, one in VENDORS.items() if one.models.match(model)), None)
