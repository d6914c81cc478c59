"""Runs of every kind, made once; nothing here writes into them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.reports.exports.runs import KINDS


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """A complete run of every kind of unit, by kind."""
    place = tmp_path_factory.mktemp("runs")
    return {kind: make(place / f"run-{kind}") for kind, make in KINDS.items()}


@pytest.fixture(params=KINDS)
def run(request: pytest.FixtureRequest, runs: Mapping[str, Path]) -> Path:
    """A complete run, of one kind of unit after the other."""
    return runs[request.param]
