"""The tools of vendors by name: which models have them, what is sent, how their calls are read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from adapters.contract import AdapterInfo
from adapters.conversation import ProviderTool
from harness.errors import UserError
from harness.native.functions import beside
from harness.native.looks import Offer
from parsers.native import spelling as writing
from parsers.native import vendors
from parsers.native.toolsets import toolset
from parsers.screen import Device

ZOOM_TOKENS = 410
"""Tokens of the definition of zoom in a toolset."""


@dataclass(frozen=True, kw_only=True)
class VendorTool(Offer):
    """A tool that a vendor has trained its models on, to be offered for a set.

    entry: what a request asks for it with.
    models: the names of those that have it.
    settings: what their adapters have to be set to (a part of the setting), and how.
    words: the actions beyond clicks and keys that it has.
    withheld: members that are switched off; on live pages only those of tabs.
    confirms: whether the vendor may want a call confirmed.
    """

    entry: Mapping[str, object]
    models: re.Pattern[str]
    settings: Mapping[str, tuple[str, str]]
    shows: bool = True
    tokens: int | None = None
    zooms: bool = False
    words: frozenset[str] = frozenset()
    withheld: tuple[str, ...] = ()
    confirms: bool = False

    def offer(
        self, device: Device, has: Sequence[str], *, zoom: bool, extras: bool, live: bool
    ) -> Offer:
        """Return what is offered for a set: the tool, and functions for what it has no word for."""
        tokens = self.tokens
        off = tuple(name for name in self.withheld if not live or name.endswith("_tab"))
        if self.zooms and not zoom:
            off += ("zoom",)
            tokens = None if tokens is None else tokens - ZOOM_TOKENS
        configs = {"configs": {member: {"enabled": False} for member in off}} if off else {}
        further = beside(device, has, self.words) if extras else ()
        own = ProviderTool({**self.entry, **configs}, tokens)
        extra = frozenset(one.name for one in further)
        return replace(self, tools=(own, *further), off=off, extras=extra)

    def check(self, name: str, model: AdapterInfo) -> None:
        """Raise `UserError` for a model whose adapter does not send this tool."""
        for key, (wanted, how) in self.settings.items():
            if wanted not in str(model.settings.get(key)):
                raise UserError(f"tool={name} is not a tool of {model.name}{how}")


_CLAUDE = re.compile(r"claude-(opus-(4-8|5)|sonnet-5|haiku-5-5|(fable|mythos)-5)")
VENDORS: Mapping[str, VendorTool] = {
    "computer": VendorTool(
        entry={"type": "computer"},
        models=re.compile(r"gpt-(5\.[4-9]|[6-9])(?!.*(nano|instant|chat))"),
        settings={
            "api": ("responses", " over this wire: add --adapter-option wire=responses"),
            "detail": ("original", " in this detail: add --adapter-option detail=original"),
        },
        read=vendors.computer,
        write=writing.computer,
        look=("computer", {"actions": [{"type": "screenshot"}]}),
        pictured=frozenset({"computer"}),
        confirms=True,
    ),
    "computer-toolset": VendorTool(
        entry={"type": "computer_toolset_20260801"},
        models=_CLAUDE,
        settings={"api": ("messages", "")},
        read=toolset,
        write=writing.computer_toolset,
        look=("computer.screenshot", {}),
        tokens=4520,
        zooms=True,
        halted="Not executed: an earlier computer action in this turn failed.",
    ),
    "browser-toolset": VendorTool(
        entry={"type": "browser_toolset_20260801"},
        models=_CLAUDE,
        settings={"api": ("messages", "")},
        read=toolset,
        write=writing.browser_toolset,
        look=("browser.read_page", {}),
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
        entry={"computerUse": {"environment": "ENVIRONMENT_BROWSER"}},
        models=re.compile(
            r"gemini-(3\.[78]-flash(?!-lite)|3\.5-flash"
            r"|2\.5-computer-use-preview|3-flash-preview|3\.1-pro-preview)"
        ),
        settings={"api": ("generateContent", "")},
        read=vendors.gemini,
        write=writing.gemini_browser,
        look=("take_screenshot", {}),
        convention="per-mille",
        all_pictured=True,
        confirms=True,
        words=frozenset({"back"}),
    ),
    "gemini-mobile": VendorTool(
        entry={"computerUse": {"environment": "ENVIRONMENT_MOBILE"}},
        models=re.compile(r"gemini-(3\.[78]-flash(?!-lite)|3\.5-flash)"),
        settings={"api": ("generateContent", "")},
        read=vendors.gemini,
        write=writing.gemini_mobile,
        look=("take_screenshot", {}),
        convention="per-mille",
        all_pictured=True,
        confirms=True,
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
