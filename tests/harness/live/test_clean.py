"""What cleaning keeps of a page, and that any XML reader accepts it."""

from __future__ import annotations

from lxml import etree

from harness.live.clean import clean, escape
from tests.harness.conftest import Dom


def test_a_page_is_indented_with_text_in_elements_of_its_own(dom: Dom) -> None:
    root = dom("<html><body><p class='a'>Hi <b>you</b></p><a href='/' title='Home'/></body></html>")
    assert clean(root) == "\n".join(
        [
            '<html backend_node_id="1">',
            '  <body backend_node_id="2">',
            '    <p backend_node_id="3">',
            '      <text backend_node_id="4">Hi</text>',
            '      <b backend_node_id="5">',
            '        <text backend_node_id="6">you</text>',
            "      </b>",
            "    </p>",
            '    <a backend_node_id="7" title="Home"/>',
            "  </body>",
            "</html>",
        ]
    )


def test_scripts_styles_hidden_elements_and_parts_of_drawings_go(dom: Dom) -> None:
    root = dom(
        "<html><head><title>t</title></head><body><script>1</script><style>a</style>"
        "<p _hidden=''>secret</p><svg><path/></svg></body></html>"
    )
    tags = [element.tag for element in etree.fromstring(clean(root)).iter()]
    assert tags == ["html", "body", "svg"]


def test_a_parent_that_is_not_shown_itself_stays_for_what_it_shows(dom: Dom) -> None:
    root = dom("<body><div _hidden=''>lost<p>found</p></div></body>")
    assert "lost" not in clean(root)
    assert etree.fromstring(clean(root)).findtext("div/p/text") == "found"


def test_a_list_keeps_its_options_and_what_is_chosen(dom: Dom) -> None:
    root = dom(
        "<select aria-label='Size'><option _hidden=''>S</option>"
        "<option _hidden='' _live-option_selected='true'>M</option></select>"
    )
    page = etree.fromstring(clean(root))
    assert page.get("aria_label") == "Size"
    assert [option.findtext("text") for option in page] == ["S", "M"]
    assert page[1].get("option_selected") == "true"


def test_control_characters_and_markup_in_text_do_not_break_the_page(dom: Dom) -> None:
    assert escape('a\x00\x0b\ud800 < & > "') == "a    &lt; &amp; &gt; &quot;"
    root = dom("<p title='&lt;&quot;&amp;'>1 &lt; 2</p>")
    page = etree.fromstring(clean(root))
    assert (page.get("title"), page.findtext("text")) == ('<"&', "1 < 2")
