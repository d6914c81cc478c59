from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "reading_memory.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reading_memory", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_is_bounded_and_independent_of_the_number_of_rows(
    tmp_path: Path, script: ModuleType
) -> None:
    peaks = []
    for rows in (100, 300):
        path = tmp_path / f"{rows}" / "test_task.parquet"
        path.parent.mkdir()
        script.write(path, rows, 100, 1.0)
        peaks.append(script.measure(script.OURS, path)[0])
        path.unlink()
    assert max(peaks) < 500
    assert peaks[1] < 1.5 * peaks[0] + 50
