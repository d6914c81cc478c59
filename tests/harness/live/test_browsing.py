"""What agents see of live pages, and what their actions do there."""

from __future__ import annotations

from io import BytesIO

import pytest
from PIL import Image

from harness.dialogue import SCREENSHOT
from parsers.actions import Action
from tests.harness.live.browsed import HOST, Table, needs_browser

pytestmark = [pytest.mark.browser, needs_browser]


def test_boxes_are_in_pixels_of_the_screenshot(table: Table) -> None:
    style = "position:absolute; left:10px; top:20px; width:60px; height:30px"
    table.show(f"<button id=b style='{style}'>A</button>")
    assert table.seen.viewport == (800, 600)
    button = next(one for one in table.page.candidates if one.tag == "button")
    assert button.box is not None
    assert (button.box.x, button.box.y, button.box.width, button.box.height) == (20, 40, 120, 60)
    picture = Image.open(BytesIO(table.blobs[SCREENSHOT]))
    assert picture.format == "WEBP" and picture.size == (800, 600)


def test_what_has_to_be_scrolled_to_is_listed_and_not_in_view(table: Table) -> None:
    table.show(
        "<div id=list style='height:50px; overflow:auto'>"
        + "".join(f"<p id=p{n} onclick='document.title=this.id'>{n}</p>" for n in range(40))
        + "</div><div style='height:2000px'></div>"
        + "<button id=far onclick='document.title=1'>F</button>"
    )
    assert table.id_of("p0") in table.page.in_view
    assert table.id_of("p30") not in table.page.in_view
    assert table.id_of("far") not in table.page.in_view
    assert table.do("CLICK", "p30").title == "p30"
    assert table.id_of("p30") in table.page.in_view
    assert table.do("CLICK", "far").title == "1"


def test_clicks_by_element_and_by_point_are_the_same(table: Table) -> None:
    style = "position:absolute; left:100px; top:100px"
    body = f"<button id=b style='{style}' onclick='reward=1;done=1'>A</button>"
    table.show(body)
    assert table.do("CLICK", "b").reward == 1
    table.show(body)
    ended = table.do("CLICK", (210.0, 210.0))
    assert (ended.reward, ended.ended, ended.reason, ended.screenshot) == (1, True, "done", "")


def test_what_is_covered_in_part_is_clicked_where_it_can_be_seen(table: Table) -> None:
    table.show(
        "<button id=b onclick='document.title=1' style='position:absolute;left:0;top:0;"
        "width:100px;height:40px'>A</button><div onclick='document.title=2' "
        "style='position:absolute;left:20px;top:0;width:80px;height:40px;background:red'></div>"
    )
    assert table.do("CLICK", "b").title == "1"


def test_a_click_waits_for_the_picture_that_hovering_loads(table: Table) -> None:
    for name in ("plain", "hover"):
        drawn = "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='40'/>"
        (table.folder / f"{name}.svg").write_text(drawn)
    table.show(
        "<style>#i { content: url(plain.svg) } #i:hover { content: url(hover.svg) }</style>"
        "<p style='height:40px'><span id=i onclick='document.title=1' role=button>A</span></p>"
    )
    assert table.do("CLICK", "i").title == "1"


def test_typing_replaces_the_text_and_the_page_hears_every_key(table: Table) -> None:
    table.show("<input id=i value=old onkeydown='n=(window.n??0)+1' onchange='document.title=n'>")
    assert table.do("TYPE", "i", value="New", press_enter=True).error == ""
    assert table.value("i.value") == "New"
    assert table.seen.title == "4"
    table.do("TYPE", "i", value="")
    assert table.value("i.value") == ""
    table.do("TYPE", (20.0, 25.0), value="x" * 500)
    assert table.value("i.value.length") == 500


def test_typing_into_a_label_or_what_can_be_edited(table: Table) -> None:
    table.show("<label id=l>Name <input id=i></label><div id=d contenteditable>old</div>")
    table.do("TYPE", "l", value="Ann")
    assert table.value("i.value") == "Ann"
    table.do("TYPE", "d", value="new\nline")
    assert table.value("d.innerText.trim()").split() == ["new", "line"]


@pytest.mark.parametrize(
    ("kind", "value", "told"),
    [
        ("date", "2024-02-29", ""),
        ("date", "29/02/2024", "the field takes YYYY-MM-DD"),
        ("time", "23:05", ""),
        ("color", "#00ff00", ""),
        ("range", "30", ""),
        ("range", "300", "the field takes a number from 0 to 100"),
        ("checkbox", "yes", "the field takes no text"),
        ("file", "/etc/passwd", "the field takes no text"),
    ],
)
def test_fields_that_show_no_list_are_set(table: Table, kind: str, value: str, told: str) -> None:
    table.show(f"<input id=i type={kind} oninput='document.title=this.value'>")
    seen = table.do("TYPE", "i", value=value)
    assert seen.error == told
    assert seen.title == ("" if told else value)


@pytest.mark.parametrize(
    ("markup", "told"),
    [
        ("<input id=i readonly>", "the field is read-only"),
        ("<fieldset disabled style=all:unset><input id=i></fieldset>", "the field is disabled"),
        ("<p id=i>text</p>", "the element takes no text"),
        ("<button id=i>Buy</button>", "the element takes no text"),
        ("<label id=i><input type=checkbox hidden>Buy</label>", "the field takes no text"),
        ("<select id=i><option>a</select>", "a list takes no text: select one of its options"),
        ("<div id=i>Search <input></div>", "the element takes no text"),
        (
            "<input id=i style='position:absolute;left:8px;top:8px'>"
            "<b style='position:absolute;inset:0;background:red'>x</b>",
            "another element covers the field",
        ),
    ],
)
@pytest.mark.parametrize("at", ["i", (30.0, 25.0)])
def test_what_takes_no_text_says_so_and_is_not_touched(
    table: Table, markup: str, told: str, at: str | tuple[float, float]
) -> None:
    table.show(f"{markup}<script>onmousedown = onfocus = onclick = () => done = 1</script>")
    if at != "i" and "covers" in told:  # There is nothing but the cover.
        told = "the element takes no text"
    seen = table.do("TYPE", at, value="a", press_enter=True)
    assert (seen.error, seen.ended) == (told, False)


def test_a_field_in_a_shadow_tree_is_typed_into_by_its_point(table: Table) -> None:
    table.show(
        "<div id=d></div><script>d.attachShadow({mode: 'open'}).innerHTML = '<input>'</script>"
    )
    assert table.do("TYPE", (30.0, 25.0), value="a").error == ""
    assert table.value("d.shadowRoot.querySelector('input').value") == "a"


@pytest.mark.parametrize(
    ("markup", "value", "held", "told"),
    [
        # As the spinner of MiniWoB++ does; BrowserGym's `fill` sends no keys.
        ("<input id=i value=0 onkeydown='event.preventDefault()'>", "-10", "-10", ""),
        ("<input id=i maxlength=3>", "Ohio", "Ohi", 'the field holds "Ohi" afterwards'),
        ("<input id=i type=number>", "ten", "", 'the field holds "" afterwards'),
        ("<input id=i oninput='this.value=1'>", "2", "1", 'the field holds "1" afterwards'),
        ("<textarea id=i></textarea>", "a\r\n b", "a\n b", ""),
        ("<input id=i maxlength=1 oninput='j.focus()'><input id=j>", "12", "1", ""),
        ("<input id=i oninput='this.remove()'>", "a", "", ""),
    ],
)
def test_what_a_field_holds_after_typing_is_checked(
    table: Table, markup: str, value: str, held: str, told: str
) -> None:
    table.show(f"<form>{markup}</form>")
    assert table.do("TYPE", "i", value=value).error == told
    assert table.value("document.forms[0].elements[0]?.value ?? ''") == held


def test_scroll_bars_are_shown(table: Table) -> None:
    table.show("<div style='height:3000px'>long</div>")
    assert 10 <= table.value("innerWidth - document.documentElement.clientWidth") <= 20
    picture = Image.open(BytesIO(table.blobs[SCREENSHOT])).convert("RGB")
    bar = {picture.getpixel((790, y)) for y in range(0, 600, 10)}
    assert len(bar) > 1


@pytest.mark.parametrize(
    ("value", "told"),
    [("Small  size", ""), ("s", ""), ("SMALL SIZE", ""), ("Huge", "the list has no such option")],
)
def test_options_are_chosen_by_label_or_value(table: Table, value: str, told: str) -> None:
    table.show(
        "<select id=s onchange='document.title=this.value'>"
        "<option value=m>M<option value=s>Small size</select>"
    )
    seen = table.do("SELECT", "s", value=value)
    assert (seen.error, seen.title) == (told, "" if told else "s")


def test_clicking_an_option_of_a_closed_list_chooses_it(table: Table) -> None:
    table.show("<select id=s><option>M<option>S</select>")
    _, _, last = table.page.html.split("<option ")
    table.world.act(Action("CLICK", last.split('"')[1]))
    assert table.value("s.value") == "S"


def test_scrolling_dragging_hovering_and_keys(table: Table) -> None:
    table.show("<div style='height:3000px'>long</div>")
    table.do("SCROLL", direction="down")
    assert table.value("scrollY") == 240
    table.do("SCROLL", direction="up")
    assert table.value("scrollY") == 0
    table.do("SCROLL_BY", delta_x=0, delta_y=400)
    assert table.value("scrollY") == 200
    assert "how far" in table.do("SCROLL_BY", delta_x=0).error
    table.show(
        "<div id=d style='position:absolute;left:0;top:0;width:40px;height:40px'>d</div>"
        "<script>onmousedown = e => from = e.clientX;"
        "onmouseup = e => document.title = from + ' ' + e.clientX;"
        "onkeydown = e => document.title = e.key; onmousemove = e => moved = e.clientX</script>"
    )
    assert table.do("DRAG", "d", to_x=200, to_y=100).title == "20 100"
    table.do("HOVER", (66.0, 10.0))
    assert table.value("moved") == 33
    assert table.do("PRESS", key="ArrowDown").title == "ArrowDown"
    assert "Unknown key" in table.do("PRESS", key="Nonsense").error


def test_addresses_of_the_world_can_be_gone_to_and_back(table: Table) -> None:
    table.show("one")
    (table.folder / "two.html").write_text("<title>two</title>")
    assert table.do("GOTO", url=f"https://{HOST}/two.html").title == "two"
    assert table.do("BACK").url.endswith("/index.html")
    assert table.do("FORWARD").title == "two"
    table.show("three")
    table.do("BACK")
    assert table.seen.url.endswith("/index.html")


@pytest.mark.parametrize(
    "url",
    [
        "javascript:document.title=1",
        "file:///etc/passwd",
        "https://example.com/",
        "data:text/html,x",
        "chrome://version",
        "https://pages.invalid@example.com/",
        "http://[",
        "",
    ],
)
def test_no_other_address_can_be_gone_to(table: Table, url: str) -> None:
    table.show("one")
    seen = table.do("GOTO", url=url)
    assert seen.error == "this address is not part of the environment"
    assert seen.url == f"https://{HOST}/index.html" and seen.title == ""


def test_what_is_not_there_is_told(table: Table) -> None:
    table.show("<button id=b onclick='this.remove()'>A</button>")
    gone = table.id_of("b")
    table.do("CLICK", "b")
    table.take(table.world.act(Action("CLICK", "999")))
    assert table.seen.error == "there is no such element"
    table.take(table.world.act(Action("CLICK", gone)))
    assert table.seen.error == "there is no such element"
    assert table.do("CLICK", (900.0, 10.0)).error == "the point is outside of the screenshot"
    assert table.do("EVALUATE", value="1").error == "there is no such action"


def test_numbers_of_any_size_are_told_to_be_outside(table: Table) -> None:
    table.show("one")
    for far in (10**400, float("inf"), float("nan"), None, True):
        dragged = table.do("DRAG", (5.0, 5.0), to_x=far, to_y=5)
        assert dragged.error == "a drag needs the point that it goes to"
    assert table.do("DRAG", (5.0, 5.0), to_x=-5, to_y=5).error.startswith("the point is outside")


def test_pages_that_move_are_waited_for_where_the_world_asks(table: Table) -> None:
    moving = """
        <div id=d style="width:10px; height:10px; background:red"></div>
        <script>
          let n = 0;
          const move = () => {
            d.style.marginLeft = `${n++}px`;
            if (n < 12) requestAnimationFrame(move);
            else document.title = "still";
          };
          requestAnimationFrame(move);
        </script>
    """
    assert table.show(moving, settles=True).title == "still"


def test_an_episode_leaves_nothing_to_the_next(table: Table) -> None:
    body = """<button id=b onclick="document.cookie = 'a=1'; localStorage.a = 2">Go</button>
    <script>document.title = document.cookie + localStorage.a;</script>"""
    for _ in range(2):
        assert table.show(body).title == "undefined"
        table.do("CLICK", "b")
        assert table.value("document.cookie + localStorage.a") == "a=12"
        table.do("BACK")
        assert table.seen.url == f"https://{HOST}/index.html"


def test_where_the_caret_blinks_pictures_stay_the_same(table: Table) -> None:
    table.show("<input id=i autofocus>")
    pictures = set()
    for _ in range(3):
        table.do("HOVER", (600.0, 400.0))
        pictures.add(table.blobs[SCREENSHOT])
        table.world.page.wait_for_timeout(300)
    assert len(pictures) == 1


def test_keys_go_where_the_focus_is_or_is_put(table: Table) -> None:
    table.show("<input id=a><input id=b onkeydown='document.title=event.key'>")
    table.do("CLICK", "a")
    table.do("KEYS", value="Ohio's")
    assert 'input_value="Ohio\'s"' in table.page.html
    assert table.do("PRESS", "b", key="End").title == "End"
    assert not table.do("WAIT", ms=1).error and not table.do("INFEASIBLE", reason="no").error
