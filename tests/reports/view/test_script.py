"""Values as scripts: whatever the texts hold, they stay values."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.view.folder import call, literal, note
from tests.reports.view.pages import HOSTILE

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=12,
)


@given(PLAIN)
def test_a_literal_reads_back_and_holds_no_sign_that_ends_a_script(value: object) -> None:
    text = literal(value)
    assert json.loads(text) == value
    assert text.isascii()
    assert not set("<>&\n\r\u2028\u2029") & set(text)


@pytest.mark.parametrize("text", [*HOSTILE, "\ud800 alone"])
def test_hostile_texts_are_escaped(text: str) -> None:
    written = call("VLM.add", 1, text) + note(text)
    assert "<" not in written
    assert "-->" not in written
    assert written.count("\n") == 1


def test_numbers_that_json_does_not_have_are_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        literal(float("nan"))
