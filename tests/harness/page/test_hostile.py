"""Pages that are made to hurt do not."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from harness.page import Page, PageError
from harness.protocols.autowebglm import ordered_id


def nested(levels: int) -> str:
    opening = "".join(f'<div backend_node_id="{i}">' for i in range(levels))
    return f"{opening}<b backend_node_id='last' type='submit'/>{'</div>' * levels}"


def test_entity_bombs_are_refused_before_they_grow() -> None:
    declared = "".join(
        f'<!ENTITY e{i} "{f"&e{i - 1};" * 10 if i else "bang" * 100}">' for i in range(12)
    )
    for use in ("<a>&e11;</a>", "<a title='&e11;'/>"):
        started = time.process_time()
        with pytest.raises(PageError, match="entities"):
            Page.parse(f"<!DOCTYPE a [{declared}]>{use}")
        assert time.process_time() - started < 10


def test_files_are_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.dtd"
    secret.write_text('<!ENTITY word "secret">')
    with pytest.raises(PageError):
        Page.parse(f'<!DOCTYPE a [<!ENTITY x SYSTEM "{secret.as_uri()}">]><a>&x;</a>')
    with pytest.raises(PageError):
        Page.parse(f'<!DOCTYPE a SYSTEM "{secret.as_uri()}"><a backend_node_id="1">&word;</a>')


def test_the_deepest_pages_neither_recurse_nor_take_long() -> None:
    started = time.process_time()
    page = Page.parse(nested(2_040))
    ids = [*map(str, range(2_040)), "last"]
    snippet = page.snippet(["0", "last"])
    assert snippet.text == "<div id=0><b id=1 submit /></div>"
    assert len(page.choices(ids)) == len(ids)
    assert page.choices(["2000"])[0].text == "<div id=0 />"
    assert page.related("0", "last")
    capped = page.compact("0", max_tokens=1_000, count=len)
    assert len(capped) <= 1_000
    assert page.compact("0", max_tokens=None, count=len).endswith("</div></div>")
    assert page.text_of("0") == ""
    assert page.refined({"last": "A"}) == "<b[A]| submit >"
    shown = {str(number): ordered_id(number) for number in range(2_040)}
    assert page.refined(shown).count("<div[") == 2_040
    assert time.process_time() - started < 30


def test_ten_thousand_levels_are_refused_at_once() -> None:
    started = time.process_time()
    with pytest.raises(PageError, match="depth"):
        Page.parse(nested(10_000))
    assert time.process_time() - started < 10


def test_very_long_text_and_wide_pages_are_cut_in_passing() -> None:
    wide = "".join(f"<i backend_node_id='{i}'/>" for i in range(50_000))
    words = "word " * 500_000
    html = (
        f"<html backend_node_id='a'><p backend_node_id='b' title='{words}'>"
        f"<text backend_node_id='c'>{words}</text></p>{wide}</html>"
    )
    started = time.process_time()
    page = Page.parse(html)
    choices = page.choices(["a", "b", "49999"])
    assert choices[1].text == "<p id=1 word word word word word>word word word word"
    assert page.refined({"49999": "A"}) == "<i[A]| >"
    assert time.process_time() - started < 30
