"""The page about errors says what the code does."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports.errors.labels import DEFAULT_LABELS
from reports.kinds.step.described import NEAR, RARE
from reports.kinds.step.errors import CLASSES, NEAR_EDIT, NEAR_F1

PAGE = Path(__file__).parents[3] / "docs" / "errors.md"


@pytest.fixture
def text() -> str:
    if not PAGE.exists():
        pytest.skip("the documentation is not part of this installation")
    return PAGE.read_text("utf-8")


def test_the_table_of_classes_is_that_of_the_code(text: str) -> None:
    rows = [line for line in text.splitlines() if line.startswith("| ") and "`" in line[:10]]
    assert rows[: len(CLASSES)] == [
        f"| {place} | `{info.error_class}` | {info.title} | {info.meaning} |"
        for place, info in enumerate(CLASSES, 1)
    ]


def test_the_numbers_are_those_of_the_code(text: str) -> None:
    assert f"at most {NEAR:.0f} pixels" in text
    assert f"F1 of at least {NEAR_F1}" in text
    assert f"edit distance of at most {NEAR_EDIT}" in text
    assert RARE == 5
    assert "a fifth of the choices" in text
    assert ", ".join(DEFAULT_LABELS) in text
