"""Pages that do their worst: an episode goes on or ends, and nothing leaves the machine."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from harness.live.snapshot import LIMITS
from harness.page import Page
from tests.harness.live.browsed import HOST, Table, needs_browser
from tests.harness.live.listening import Listening, sending

pytestmark = [pytest.mark.browser, needs_browser]

STYLE = "position:absolute; left:0; top:0; width:100px; height:100px"
MIDDLE = (100.0, 100.0)
ADDRESS = f"https://{HOST}/index.html"


def button(script: str) -> str:
    clicked = f"<script>b.onclick = () => {{ {script} }}</script>"
    return f"<button id=b style='{STYLE}'>Go</button>{clicked}"


@pytest.mark.parametrize(
    "script",
    [
        "alert(1); confirm(2); prompt(3)",
        "onbeforeunload = (event) => { event.preventDefault(); return 'Stay?' }",
        "for (let i = 0; i < 20; i++) window.open('about:blank')",
        "const a = document.createElement('a'); a.download = 'a'; a.href = 'data:,a'; a.click()",
        "print()",
        "location = 'mailto:somebody@example.com'",
        "location = 'https://example.com/'",
        "location = 'file:///etc/passwd'",
        "document.documentElement.requestFullscreen()",
        "navigator.geolocation.getCurrentPosition(() => 0)",
        "history.pushState(1, '', '?' + 'x'.repeat(1e5))",
        "document.title = 'x'.repeat(1e7)",
        "document.title = '\\ud83d' + '\\u{1f600}'.repeat(1e4)",
        "b.title = '\\ud83d'; b.append('\\ude00')",
    ],
)
def test_what_a_page_does_on_a_click_is_not_the_end(table: Table, script: str) -> None:
    table.show(button(script))
    seen = table.do("CLICK", MIDDLE)
    assert (seen.error, seen.ended) == ("", False)
    assert seen.url.startswith(ADDRESS) and len(seen.url) <= 2000 and len(seen.title) <= 1000
    assert table.blobs["screenshot"]
    msgspec.json.encode((seen, [one.attributes for one in table.page.candidates]))
    assert len(table.world.page.context.pages) <= 2
    # The page may have asked to be asked before it is left.
    assert table.show("<p id=next>next</p>").url == ADDRESS
    assert len(table.world.page.context.pages) == 1


def test_fields_named_as_what_is_asked_of_elements_hide_nothing(table: Table) -> None:
    names = ("tagName", "attributes", "getBoundingClientRect", "lastChild", "matches", "nodeType")
    fields = "".join(f"<input type=hidden name={name}>" for name in names)
    hidden = "<img hidden name=documentElement><img hidden name=elementFromPoint>"
    clicked = button("document.title = 'clicked'")
    table.show(f"{hidden}<form onsubmit='return false'>{fields}{clicked}</form>")
    assert "<form" in table.page.html and table.seen.error == ""
    assert table.do("CLICK", MIDDLE).title == "clicked"


def test_dialogs_are_dismissed(table: Table) -> None:
    table.show(button("document.title = [alert(1), confirm(2), prompt(3)]"))
    assert table.do("CLICK", MIDDLE).title == ",false,"


def test_no_other_file_is_shown_or_read(table: Table, tmp_path: Path) -> None:
    secret = tmp_path / "secret.html"
    secret.write_text("<body style='background: red'>secret")
    blank = table.show("<iframe></iframe>") and table.blobs["screenshot"]
    table.show(f"<iframe src='{secret.as_uri()}'></iframe>")
    assert table.blobs["screenshot"] == blank
    for address in (secret.as_uri(), f"https://{HOST}/../secret.html", "/%2e%2e/secret.html"):
        read = "then((r) => r.text()).then((text) => document.title = text)"
        script = f"fetch('{address}').{read}"
        table.show(f"<script>{script}</script>")
        assert "secret" not in table.do("HOVER", MIDDLE).title


def test_a_page_that_breaks_what_it_is_written_in_is_seen_and_acted_on(table: Table) -> None:
    table.show(
        """<script>
          Array.prototype.filter = Array.prototype.includes = () => { throw 1 };
          Object.fromEntries = document.elementFromPoint = Element.prototype.matches = null;
          Element.prototype.getBoundingClientRect = () => ({});
          window.vlmEval = { look: () => ({ nodes: [], cut: false }) };
        </script>"""
        + button("document.title = 1")
    )
    assert table.do("CLICK", "b").title == "1"


@pytest.mark.parametrize(
    "script",
    [
        "document.documentElement.remove()",
        "document.open()",
        "let e = document.body; for (let i = 0; i < 1500; i++) {"
        "const n = document.createElement('div'); e.append(n); e = n } e.append('deep')",
        "for (let i = 0; i < 5000; i++) document.body.setAttribute('a' + i, 'x')",
        'document.body.innerHTML = \'<a"b c<d=1>x</a"b><p title="&#1;]]>&#x202e;">\\ud800</p>\'',
        "document.body.append(document.createElement('a:b'), document.createElement('é'))",
    ],
)
def test_odd_pages_are_read_as_pages(table: Table, script: str) -> None:
    table.show(f"<script>{script}</script>")
    Page.parse(table.page.html)


def test_a_large_page_is_cut(table: Table) -> None:
    table.show("<script>document.body.append('some words '.repeat(1e5))</script>")
    assert table.page.cut and len(table.page.html) < 2 * LIMITS["longest"]
    table.show("<script>document.body.innerHTML = '<p>some text</p>'.repeat(11_000)</script>")
    assert table.page.cut and len(table.page.candidates) <= LIMITS["most"]
    table.show("small")
    assert not table.page.cut


@pytest.mark.parametrize("way", sending(1, 2))
def test_nothing_leaves_the_machine(table: Table, way: str) -> None:
    with Listening() as listening:
        table.show(button(sending(*listening.ports)[way]))
        table.do("CLICK", MIDDLE)
        assert not listening.came.wait(0.5)
