"""The page on what a record holds is what its types say."""

from __future__ import annotations

from docs.site.records import PAGE, page


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == page(), "run python -m docs.site.records"
