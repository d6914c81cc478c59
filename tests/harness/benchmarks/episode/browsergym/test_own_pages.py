"""The model that plays BrowserGym by action strings plays our own MiniWoB++, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.benchmarks.episode.browsergym.talker import MODEL
from tests.harness.benchmarks.episode.miniwob.played import needs_miniwob
from tests.harness.commands.tool import call, isolate
from tests.harness.live.browsed import needs_browser


@pytest.mark.browser
@needs_browser
@needs_miniwob
def test_pages_of_our_own_are_played_by_action_strings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path)
    words = ["-b", "miniwob", "--only", "task=enter-text", "--protocol", "action-strings"]
    more = ["--benchmark-option", "episodes=1", "--benchmark-option", "environments=1", "-o", "r"]
    assert call("run", "-m", MODEL, *words, *more).code == 0
    assert "reward 1.0, steps 6" in call("show", "enter-text-0", "--run", "r").out
    marks = ["--protocol-option", "text=none", "--protocol-option", "marks=true"]
    assert call("run", "-m", "oracle", *words, *marks, *more[:-1], "marked").code == 0
    assert "reward 1.0" in call("show", "enter-text-0", "--run", "marked").out
