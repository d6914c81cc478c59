"""A Python in which a stand-in for BrowserGym is installed."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

FAKE = Path(__file__).with_name("fake")
_STARTS = (
    "import sys; sys.path.insert(0, {fake!r}); sys.dont_write_bytecode = True; "
    "_, _, _, program, *sys.argv[1:] = sys.argv; exec(program)"
)


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The path of a program that is started as a Python is."""
    monkeypatch.setenv("MINIWOB_URL", "file:///pages/")
    path = tmp_path / "python"
    words = shlex.join([sys.executable, "-c", _STARTS.format(fake=str(FAKE))])
    path.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    path.chmod(0o700)
    return str(path)
