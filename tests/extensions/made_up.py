"""Things of other packages, registered for one test as an entry point would."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.registry import Entry, Registry


def known(monkeypatch: pytest.MonkeyPatch, registry: Registry[Any], name: str, thing: Any) -> None:
    """Have a registry know a thing until the end of the test."""
    monkeypatch.setitem(registry._entries, name, Entry(name, thing))
