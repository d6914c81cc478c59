"""Files of models on the hub, from its cache as its own library lays it out."""

from __future__ import annotations

from pathlib import Path

import pytest
from huggingface_hub import constants

from adapters.contract import Fatal
from adapters.hub import downloaded

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The cache of a machine without a network: one model, at one commit."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    model = tmp_path / "models--me--tiny"
    (model / "refs").mkdir(parents=True)
    (model / "refs" / "main").write_text(COMMIT)
    snapshot = model / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}")
    return snapshot


@pytest.mark.parametrize("revision", [None, "main", COMMIT])
def test_files_that_were_downloaded_are_found_at_each_name_of_their_commit(
    cache: Path, revision: str | None
) -> None:
    assert downloaded("me/tiny", revision, ["*.json"], "name a folder") == cache


@pytest.mark.parametrize(
    ("repo", "revision", "said"),
    [
        ("me/tiny", "next", "cannot get me/tiny at revision next from the hub"),
        ("me/other", None, "cannot get me/other from the hub"),
        ("me/no such/model", None, "'me/no such/model' is neither a folder nor a model id"),
    ],
)
def test_what_cannot_be_had_is_one_line_with_the_remedy(
    cache: Path, repo: str, revision: str | None, said: str
) -> None:
    with pytest.raises(Fatal) as failed:
        downloaded(repo, revision, ["*.json"], "name a folder")
    line = str(failed.value)
    assert line.startswith(said)
    assert "\n" not in line
    if "neither" not in said:
        assert line.endswith("; name a folder")
        assert "HF_HUB_OFFLINE is set" in line
