"""Benchmarks, candidates, protocols, policies, the engine, runs, and the command line.

    import harness

    run = harness.evaluate(model="lexical", benchmark="sample", limit=2)

Part of vlm-web-eval.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.runs import Run, open_run
    from harness.session.evaluate import aevaluate, evaluate
    from harness.session.run_options import RunOptions

__version__ = "0.1.0"
__all__ = ["Run", "RunOptions", "__version__", "aevaluate", "evaluate", "open_run"]

HELD: list[str] = []
"""Beginnings of the names of threads that no one waits for, although they may never end."""


def is_held() -> bool:
    """Return True if such a thread still runs: it may block the end of the process."""
    names = [thread.name for thread in threading.enumerate()] if HELD else []
    return any(name.startswith(tuple(HELD)) for name in names)


# Loaded when asked for: the command line looks whether our packages are ours before any is used.
_MODULES = {
    "Run": "harness.runs",
    "RunOptions": "harness.session.run_options",
    "aevaluate": "harness.session.evaluate",
    "evaluate": "harness.session.evaluate",
    "open_run": "harness.runs",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'harness' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
