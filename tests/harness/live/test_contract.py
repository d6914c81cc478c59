"""What worlds and runs hand to each other."""

from __future__ import annotations

import zlib
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.dialogue import SCREENSHOT
from harness.live.clean import CUT
from harness.live.contract import (
    LONGEST_GOAL,
    LONGEST_LINES,
    PAGE,
    LivePage,
    Seen,
    decode_page,
    encode_page,
)
from harness.page import Box, Candidate
from harness.runs import digest_of

BUTTON = Candidate(
    "7", "button", Box(1, 2, 30.5, 4), False, False, '{"bounding_box_rect": "1,2,30.5,4"}'
)
GONE = Candidate("9", "p", None, False, False, "{}")


def test_an_observation_says_what_its_blobs_are() -> None:
    page = LivePage("<html/>", (BUTTON, GONE), frozenset({"7"}))
    seen = Seen(goal="Press it", viewport=(320, 420), reward=0.5)
    observation = seen.observation(b"picture", page)
    read = Seen.from_plain(observation.content)
    assert read.goal == "Press it" and read.viewport == (320, 420) and read.reward == 0.5
    assert read.screenshot == digest_of(b"picture")
    assert observation.blobs[SCREENSHOT] == b"picture"
    assert read.page == digest_of(observation.blobs[PAGE])
    assert decode_page(observation.blobs[PAGE]) == page


HALF = "half \ud83d"
WHOLE = "half \N{REPLACEMENT CHARACTER}"


def test_texts_of_an_observation_can_be_written_and_are_cut_with_a_mark() -> None:
    lines: dict[str, Any] = dict.fromkeys(LONGEST_LINES, HALF)
    seen = Seen(goal=f"{HALF}\nthen", tabs=((HALF, HALF),), **lines).observation().content
    assert seen["goal"] == f"{WHOLE}\nthen" and seen["tabs"] == ((WHOLE, WHOLE),)
    assert {name: seen[name] for name in lines} == dict.fromkeys(lines, WHOLE)
    msgspec.json.encode(seen)

    long = "word " * 12_000_000
    lines = dict.fromkeys(LONGEST_LINES, long)
    seen = Seen(goal=long, **lines).observation().content
    for name, most in {"goal": LONGEST_GOAL, **LONGEST_LINES}.items():
        assert len(seen[name]) == most and seen[name].endswith(CUT)


@given(st.text(), st.lists(st.text(max_size=9), max_size=3))
def test_any_page_is_read_back(html: str, ids: list[str]) -> None:
    readable = html.encode("utf-8", "replace").decode()
    page = LivePage(readable, tuple(Candidate(i, "a", None, False, False, "{}") for i in ids))
    assert decode_page(encode_page(page)) == page


@pytest.mark.parametrize(
    "data", [b"", b"no zlib", zlib.compress(b"[]"), encode_page(LivePage("x"))[:-6]]
)
def test_other_bytes_are_no_page(data: bytes) -> None:
    with pytest.raises(ValueError, match="not the page of an observation"):
        decode_page(data)


@pytest.mark.parametrize("plain", [None, [], {"reward": "1"}, {"viewport": [1]}, {"ended": 2}])
def test_other_values_are_no_observation(plain: object) -> None:
    with pytest.raises(ValueError):
        Seen.from_plain(plain)
