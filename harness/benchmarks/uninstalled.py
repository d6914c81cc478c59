"""Benchmarks of runs whose package is not installed: what is on record is all there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from harness.benchmarks.contract import Benchmark
from harness.benchmarks.step.benchmark import StepBenchmark
from harness.errors import DataError
from harness.printing import TEST_DATA_NOTE
from parsers.declaration import Declaration
from parsers.mind2web import MIND2WEB


def uninstalled(name: str, declaration: Declaration) -> Benchmark:
    """Return what represents a benchmark whose package is missing.

    Steps with Mind2Web's measures are scored all the same.
    """
    known = declaration == MIND2WEB
    return (_Steps if known else _Uninstalled)(name, declared=declaration)


@dataclass(frozen=True)
class _Uninstalled(Benchmark):
    note = TEST_DATA_NOTE

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> NoReturn:
        raise _missing(self.name)

    def check_installed(self) -> NoReturn:
        raise _missing(self.name)


@dataclass(frozen=True)
class _Steps(StepBenchmark):
    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> NoReturn:
        raise _missing(self.name)


def _missing(name: str) -> DataError:
    return DataError(
        f"scoring needs the package that has the benchmark {name}, which is not installed"
    )
