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


CORE = (
    *("test_house.py", "test_core_and_leaves.py", "harness/test_settings.py"),
    *("harness/test_dialogue.py", "harness/candidates/", "harness/engine/", "harness/pictures/"),
    *("harness/policies/", "harness/runs/", "harness/tables/", "harness/page/test_page.py"),
    *("harness/page/test_candidates.py", "harness/page/test_against_literal.py"),
    *("harness/commands/test_front.py", "harness/commands/test_bad_input.py"),
    *("harness/protocols/test_two_rounds.py", "harness/protocols/test_seeact_choice.py"),
    *("harness/protocols/test_spelling.py", "harness/protocols/test_secrecy.py"),
    *("harness/session/test_whole_runs.py", "harness/session/test_measures.py"),
    *("harness/session/test_secrecy.py", "harness/session/test_refused_prompts.py"),
    *("adapters/test_openai.py", "adapters/test_anthropic.py", "adapters/test_google.py"),
    *("adapters/test_prices.py", "adapters/test_registry.py", "adapters/test_secrets.py"),
    *("parsers/test_answers.py", "parsers/test_aggregate.py", "parsers/test_intervals.py"),
    *("parsers/test_letters.py", "parsers/test_lines.py", "parsers/test_measures.py"),
    *("parsers/test_scoring.py", "parsers/test_values.py", "parsers/test_declaration.py"),
    *("reports/errors/", "reports/test_frames.py", "reports/test_tables.py"),
    *("reports/test_declared.py", "reports/test_keys.py"),
)
"""Tests of the core, below `tests/`: what a hosted model or a baseline on recorded steps needs."""
NOT_CORE = ("test_kill_protocols.py", "test_kill_roles.py", "test_batch_properties.py")
LONGEST = ("test_tutorials.py", "docs/test_site.py", "test_build.py", "extensions/test_killed")
"""Tests of half a minute, below `tests/`: they start first, so that nobody waits for them last."""
HERE = Path(__file__).parent


def _below(path: Path) -> str:
    """The path below `tests/`; empty for one elsewhere."""
    return path.relative_to(HERE).as_posix() if path.is_relative_to(HERE) else ""


def _is_core(path: Path) -> bool:
    return _below(path).startswith(CORE) and path.name not in NOT_CORE


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out other modules where the core alone is asked for: importing all takes 20 seconds."""
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    left_out = config.option.markexpr == "core" and is_test and not _is_core(collection_path)
    return True if left_out else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests of the core; skip what takes minutes, unless it is asked for; order the rest."""
    for item in items:
        if _is_core(item.path):
            item.add_marker(pytest.mark.core)
    items.sort(key=lambda item: not _below(item.path).startswith(LONGEST))
    if "slow" not in config.option.markexpr:
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip("it takes minutes; -m slow runs it"))


# Behind everything else: the packages are tested where they are installed, not from the checkout.
sys.path.append(str(Path(__file__).parents[1]))
