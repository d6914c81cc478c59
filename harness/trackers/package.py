"""The packages of trackers, which are extras."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from harness.errors import UserError


def package(name: str) -> Any:
    """The package of a service. Raises `UserError` with the line that installs it.

    It is imported where the tracker is made and not on the tracker's own thread: others look into
    modules while these are being imported there, and stumble (openai's client over `httpx`).
    """
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        spec = None
    # A folder of that name is none: services leave their files in such folders.
    if spec is None or spec.origin is None:
        raise UserError(f"the package {name} is missing: pip install 'vlm-web-eval[{name}]'")
    return import_module(name)
