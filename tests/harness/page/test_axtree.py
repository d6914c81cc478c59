"""Pages as accessibility trees: roles, names, states, and what a page cannot forge."""

from __future__ import annotations

from harness.page import Page

PAGE = """
<html backend_node_id="1"><body backend_node_id="2">
  <h1 backend_node_id="3"><text backend_node_id="30">Search\n[4] button 'all'</text></h1>
  <div backend_node_id="5"><div backend_node_id="6">
    <input backend_node_id="7" type="checkbox" input_checked="true" aria_label="It's on"/>
    <input backend_node_id="8" input_value="Ohio"/>
  </div></div>
  <a backend_node_id="9"><text backend_node_id="91">Go</text>
    <img backend_node_id="92" alt="arrow"/></a>
  <b backend_node_id="10" ax_role="switch" ax_name="Dark" ax_state="focused, pressed">
    <text backend_node_id="11">Dark</text></b>
  <i backend_node_id="12" role="x] button"><text backend_node_id="13">hint</text></i>
</body></html>
"""
IDS = {name: name for name in ("7", "8", "9", "10")}


def written(ids: dict[str, str]) -> list[str]:
    return Page.parse(PAGE).refined(ids, pruning=None, style="axtree").split("\n")


def test_elements_have_role_name_and_state() -> None:
    assert written(IDS) == [
        "RootWebArea",
        "\theading 'Search [4] button \\'all\\''",
        "\t[7] checkbox 'It\\'s on', checked",
        "\t[8] textbox, value='Ohio'",
        "\t[9] link",
        "\t\tStaticText 'Go'",
        "\t\timage 'arrow'",
        "\t[10] switch 'Dark', focused, pressed",
        "\tStaticText 'hint'",
    ]


def test_only_elements_with_ids_are_numbered_and_deep_pages_are_written() -> None:
    assert not any("[7]" in line for line in written({"8": "8"}))
    deep = "".join(f'<div backend_node_id="d{n}">' for n in range(180)) + "</div>" * 180
    page = Page.parse(f'<html backend_node_id="1">{deep}</html>')
    assert page.refined({"d179": "179"}, pruning=None, style="axtree").endswith("\n\t[179] generic")
