"""What all tests share: the scripts in `benchmarks/` can be imported, and no test is timed."""

from __future__ import annotations

import gc
import os
import shutil
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


# Runs are synced to disk line by line, which a file system in memory has done at once.
MEMORY, ENOUGH_BYTES = Path("/dev/shm"), 8 * 2**30
if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ENOUGH_BYTES:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


LONGEST = ("test_tutorials.py", "docs/test_site.py", "test_build.py", "extensions/test_killed")
"""Tests of half a minute, below `tests/`: they start first, so that nobody waits for them last."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--whole", action="store_true", help="run every test (tests/division.py)")
    parser.addoption(
        "--record-durations", action="store_true", help="write tests/durations.json, with --whole"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Run all of what somebody names. Workers of xdist get the options of their controller."""
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    if named or config.option.keyword or config.option.markexpr:
        config.option.whole = True
    if config.option.record_durations and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Recorder())


class _Recorder:
    """Records how long each test takes, its fixtures included."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, float]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.taken.append((report.nodeid, report.duration))

    def pytest_sessionfinish(self) -> None:
        from tests import division

        division.record(self.taken)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what does not run by default, and what takes minutes; order the rest."""
    from tests import division

    if not config.option.whole:
        out = division.left_out([item.nodeid for item in items])
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in out])
        items[:] = [item for item in items if item.nodeid not in out]
    items.sort(key=lambda item: not division.function_of(item.nodeid)[0].startswith(LONGEST))
    if "slow" not in config.option.markexpr:
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip("it takes minutes; -m slow runs it"))


# Behind everything else: the packages are tested where they are installed, not from the checkout.
sys.path.append(str(Path(__file__).parents[1]))
