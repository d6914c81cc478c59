"""Servers that answer an error with megabytes: as quick as a short one, and as short on record."""

from __future__ import annotations

import pytest

from adapters import Fatal, Fault
from adapters.faults import LONGEST, Failure, cleaner, judge
from tests import clock

WORDS = (
    "model ",
    "no ",
    "exceed ",
    "input token count ",
    "bearer abcdefghijklmn ",
    "\x00 a",
    "is ",
)


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("status", [400, 404, 422, 429, 500])
def test_ten_megabytes_of_an_error_take_no_longer(words: str, status: int) -> None:
    text = words * (10_000_000 // len(words))
    with clock.linear_time():
        failure = Failure(text, status, code=text, param=text)
        found = judge(failure, "server", cleaner("sk-0123456789abcdef"), ["temperature", "model"])
    if isinstance(found, Fault | Fatal):
        assert len(str(found)) <= 400


def test_a_key_behind_what_is_cut_is_not_shown() -> None:
    key = "sk-0123456789abcdef"
    for place in range(LONGEST - len(key), LONGEST):
        assert key[:12] not in cleaner(key)("x " * (place // 2) + key)
    assert "[key]" in cleaner(key)(f"wrong {key}" + "x" * 10_000_000)
