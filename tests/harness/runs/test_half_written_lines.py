"""A reader of a run that another thread goes on writing."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.runs.files import read_lines


class Growing(io.BytesIO):
    """A file whose last line was half written when its end was reached, and whole right after."""

    def __iter__(self) -> Iterator[bytes]:
        yield from (b'{"a":1}\n', b'{"b', b'":2}\n')


def test_the_other_half_of_a_line_is_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "open", lambda *_: Growing())
    (line,) = read_lines(Path("calls.jsonl"))
    assert (line.number, line.offset, line.data) == (1, 0, b'{"a":1}\n')
