"""The vocabulary of the original: equal ids, no special token from text, clear errors."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch", reason="the extra 'local' is not installed")

from adapters.contract import Fatal
from adapters.local.qwen_vl.prompt import (
    IMAGE,
    IMAGE_END,
    IMAGE_PAD,
    MARKUP,
    SPECIALS,
    Tokenizer,
)

BYTES = Tokenizer({bytes([byte]): byte for byte in range(256)})


def with_specials(tokenizer: Tokenizer, text: str, allowed: Collection[str]) -> list[int]:
    """The ids of a text as the original encodes it: these tokens are special in it, and a picture's
    places hold its name."""
    words = "|".join(map(re.escape, sorted(allowed, key=len, reverse=True)))
    ids: list[int] = []
    for piece in re.split(f"({IMAGE}.*?{IMAGE_END}|{words})", text, flags=re.DOTALL):
        if piece.startswith(IMAGE) and piece.endswith(IMAGE_END):
            name = piece.removeprefix(IMAGE).removesuffix(IMAGE_END).encode()
            span = tokenizer.image_span()
            ids += [span[0], *name, *span[1 + len(name) :]]
        elif piece in allowed:
            ids.append(tokenizer.specials[piece])
        else:
            ids += tokenizer.encode(piece)
    return ids


def test_ids_are_those_of_the_original(known: Path) -> None:
    tokenizer = Tokenizer.read(known / "mini.tiktoken")
    lines = (known / "mini_tokenizer_golden.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == 20
    for line in lines:
        pair = json.loads(line)
        allowed = SPECIALS if pair["mode"] == "all" else {*MARKUP, IMAGE, IMAGE_END, IMAGE_PAD}
        assert with_specials(tokenizer, pair["text"], allowed) == pair["ids"], pair["text"]


def test_special_tokens_have_the_published_ids() -> None:
    """151,643 ranks, so that `<|endoftext|>` is 151643 and `<imgpad>` 151859."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    ranks |= {f"\0{number:06}".encode(): number for number in range(256, 151_643)}
    specials = Tokenizer(ranks).specials
    published = {
        "<|endoftext|>": 151643,
        "<|im_start|>": 151644,
        "<|im_end|>": 151645,
        "<ref>": 151851,
        "</box>": 151854,
        "<quad>": 151855,
        "<img>": 151857,
        "</img>": 151858,
        "<imgpad>": 151859,
    }
    assert {name: specials[name] for name in published} == published
    assert len(specials) == 217


def test_every_digit_stands_alone() -> None:
    digits = {b"12": 256, b"1234": 257}
    tokenizer = Tokenizer({**{bytes([byte]): byte for byte in range(256)}, **digits})
    assert tokenizer.encode("1234") == [ord(digit) for digit in "1234"]


TEXT = st.lists(st.one_of(st.sampled_from(SPECIALS), st.text(max_size=8)), max_size=6)


@given(TEXT.map("".join))
def test_no_text_becomes_a_special_token(text: str) -> None:
    ids = BYTES.encode(text)
    assert not set(ids) & set(BYTES.specials.values())


@given(st.text(st.characters(blacklist_categories=["Cs"])))
def test_decoding_gives_the_composed_text_back(text: str) -> None:
    import unicodedata

    assert BYTES.decode(BYTES.encode(text)) == unicodedata.normalize("NFC", text)


def test_boxes_are_shown_and_other_special_tokens_are_not() -> None:
    marked = "<ref>Search</ref><box>(10,20),(30,40)</box>"
    ids = with_specials(BYTES, f"<|im_start|>{marked}<|im_end|><|endoftext|>", SPECIALS)
    assert BYTES.decode(ids) == marked
    assert len(MARKUP) == 6


def test_ids_beyond_the_vocabulary_and_broken_characters_do_not_raise() -> None:
    assert BYTES.decode([65, 5000, 0xE4, 66]) == "A\ufffdB"


def test_a_picture_takes_its_places_and_two_marks() -> None:
    span = BYTES.image_span()
    assert len(span) == 258
    assert span[1:-1] == [BYTES.specials["<imgpad>"]] * 256


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"QQ== 0\nnot base64 1\n", "a line is not"),
        (b"QQ== 0\nQg==\n", "a line is not"),
        (b"QQ== 0\n", "is missing"),
        (b"<html>not found</html>", "a line is not"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a line is not"),
    ],
)
def test_a_file_that_is_no_vocabulary_is_named(
    tmp_path: Path, content: bytes, complaint: str
) -> None:
    path = tmp_path / "qwen.tiktoken"
    path.write_bytes(content)
    with pytest.raises(Fatal, match=complaint) as caught:
        Tokenizer.read(path)
    assert str(path) in str(caught.value)


def test_a_vocabulary_without_every_byte_is_refused(tmp_path: Path) -> None:
    tokens = [bytes([1 + n % 255, 1 + n // 255]) for n in range(300)]
    lines = [f"{base64.b64encode(token).decode()} {rank}" for rank, token in enumerate(tokens)]
    (tmp_path / "qwen.tiktoken").write_text("\n".join(lines))
    with pytest.raises(Fatal, match="a single byte is missing"):
        Tokenizer.read(tmp_path / "qwen.tiktoken")
