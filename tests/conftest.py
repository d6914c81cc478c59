"""What all tests share: the scripts in `benchmarks/` can be imported, and no test is timed."""

from __future__ import annotations

import gc
import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine must not fail a property that holds.
PARENT = settings.get_profile("ci" if os.environ.get("CI") else "default")
settings.register_profile("untimed", parent=PARENT, deadline=None)
settings.load_profile("untimed")

# Collecting tests makes millions of objects, and all of them stay: looking for garbage among them
# took a third of the time of collecting, and a tenth of that of testing.
gc.disable()


def pytest_collection_finish() -> None:
    """Set aside what is there to stay, and look for garbage among the rest."""
    gc.collect()
    gc.freeze()
    gc.enable()


# A shell starts programs in the background with Ctrl-C ignored, and their children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what takes minutes, unless it is asked for."""
    if "slow" not in config.option.markexpr:
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip("it takes minutes; -m slow runs it"))


# Behind everything else: the packages are tested where they are installed, not from the checkout.
sys.path.append(str(Path(__file__).parents[1]))
