"""Screenshots show no secret, wherever the browser paints it from."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from tests.harness.recording.recording import Recording, needs_browser, recorded, site

pytestmark = [pytest.mark.browser, needs_browser]

_ROW = 60
_CLOSED = "attachShadow({mode: 'closed'}).innerHTML"
CASES = {
    "a closed list": "<select><option>hunter2</select>",
    "a closed list with a label": "<select><option>a<option selected label=hunter2>b</select>",
    "an open list": "<select size=2><option>hunter2</select>",
    "before": "<style>#b::before { content: 'hunter2' }</style><i id=b></i>",
    "after, from an attribute": "<style>#a::after { content: attr(data-x) }</style>"
    "<i id=a data-x=hunter2></i>",
    "before and after": "<style>#c::before { content: 'hun' } #c::after { content: 'ter2' }"
    "</style><i id=c></i>",
    "a marker": "<style>#m::marker { content: 'hunter2' }</style><ul><li id=m>.</ul>",
    "a first letter": "<style>#f::first-letter { font-size: 30px }</style><div id=f>hunter2</div>",
    "a closed shadow root": f"<p id=s></p><script>s.{_CLOSED} = '<b>hun</b>ter2'</script>",
    "a list in a closed root": f"<p id=t></p><script>t.{_CLOSED} = "
    "'<select><option>hunter2</select>'</script>",
    "soft hyphens": "hun&shy;ter2",
    "joiners": "h&zwj;u&#8288;n&#8203;t&zwnj;e&#xfeff;r2",
    "wide letters": "\uff48\uff55\uff4e\uff54\uff45\uff52\uff12",
    "several lines": "<div style='width: 40px; word-break: break-all'>hunter2</div>",
    "several boxes": "<b>hun</b><i style='padding: 0 9px'>te</i>r<u>2</u>",
    "capitals": "<i style='text-transform: uppercase'>hunter2</i>",
    "reversed": "<bdo dir=rtl>2retnuh</bdo>",
    "placed letters": "<div style='display: flex; flex-flow: row-reverse; width: 200px'>"
    + "".join(f"<i>{sign}</i>" for sign in "2retnuh")
    + "</div>",
    "fields": "<input value=hunter2><input placeholder=hunter2><input type=submit value=hunter2>",
    "a text area": "<textarea rows=2>hunter2</textarea>",
    "a frame": "<iframe height=50 srcdoc=\"<div style='height: 300px; color: red'></div>"
    "<i style='color: red'>hunter2</i>\" onload='contentWindow.scrollTo(0, 300)'></iframe>",
    "a frame in a closed root": f"<p id=u></p><script>u.{_CLOSED} = "
    "'<iframe height=50 srcdoc=\"<i style=color:red>hunter2</i>\">'</script>",
    "a picture's words": "<img alt='it is hunter2'>",
    "a drawing": "<svg width=200 height=40><text x=9 y=20 fill=red>hunter2</text></svg>",
    "turned": "<i style='display: inline-block; transform: rotate(20deg)'>hunter2</i>",
}
OTHERS = {"another word": "hunter 3", "another list": "<select><option>hunter 3</select>"}


def _page() -> str:
    rows = "".join(
        f"<div style='position: absolute; top: {_ROW * at}px; left: 200px'>{html}</div>"
        for at, html in enumerate([*CASES.values(), *OTHERS.values()])
    )
    return (
        "<meta charset=utf-8><style>* { color: red; margin: 0; font: 16px/20px sans-serif }"
        "</style><button>Go</button>" + rows
    )


def _red(recording: Recording, at: int) -> dict[str, bool]:
    """Whether rows of the page show red letters."""
    shown = recording.rows[at]["screenshot"]
    assert shown and shown["bytes"]
    with Image.open(BytesIO(shown["bytes"])) as image:
        found: dict[str, bool] = {}
        for row, name in enumerate([*CASES, *OTHERS]):
            strip = image.convert("RGB").crop((190, _ROW * row, image.width, _ROW * (row + 1)))
            red, green, blue = (band.tobytes() for band in strip.split())
            found[name] = any(
                r > 150 and g < 110 and b < 110 for r, g, b in zip(red, green, blue, strict=True)
            )
    return found


def test_secrets_are_painted_over_wherever_they_are_painted_from(tmp_path: Path) -> None:
    login = "<input type=password id=p><a href=/shown>On</a>"
    with site({"/": login, "/shown": _page()}) as address:
        moves = [
            {"op": "TYPE", "at": "#p", "value": "hunter2"},
            {"op": "CLICK", "at": "a"},
            {"op": "CLICK", "at": "button"},
        ]
        found = recorded(tmp_path, address, moves)
    assert _red(found, 2) == dict.fromkeys(CASES, False) | dict.fromkeys(OTHERS, True)


def test_what_is_marked_later_is_painted_over_in_earlier_pictures(tmp_path: Path) -> None:
    with site({"/": _page(), "/mark": "<b>hunter2</b>"}) as address:
        moves = [
            {"op": "CLICK", "at": "button"},
            {"op": "GOTO", "value": f"{address}/mark"},
            {"op": "SECRET", "at": "b"},
        ]
        found = recorded(tmp_path, address, moves)
    assert _red(found, 0) == dict.fromkeys(CASES, False) | dict.fromkeys(OTHERS, True)


def test_all_of_a_marked_element_is_painted_over(tmp_path: Path) -> None:
    """Also what its text does not hold, or is too long to be searched for."""
    page = (
        "<style>* { color: red; margin: 0 } #e::after { content: 'after' }</style>"
        f"<div id=e style='height: 20px'>{'word ' * 50}<p id=root></p><img alt='a face'></div>"
        "<button style='position: absolute; top: 200px; color: blue'>Go</button>"
        f"<script>root.{_CLOSED} = '<b style=position:absolute;top:150px>far below</b>'</script>"
    )
    with site({"/": page}) as address:
        moves = [{"op": "SECRET", "at": "#e"}, {"op": "CLICK", "at": "button"}]
        found = recorded(tmp_path, address, moves)
    shown = found.rows[0]["screenshot"]
    assert shown and shown["bytes"]
    with Image.open(BytesIO(shown["bytes"])) as image:
        pixels = image.convert("RGB").tobytes()
    assert not any(
        r > 150 and g < 110 and b < 110
        for r, g, b in zip(pixels[::3], pixels[1::3], pixels[2::3], strict=True)
    )


def test_halves_of_characters_do_not_keep_a_page_from_being_recorded(tmp_path: Path) -> None:
    page = (
        "<p id=p></p><input id=i oninput=\"this.value += '\\ud83d'\"><script>"
        "p.textContent = 'x\\ud83d'; p.title = '\\udc00'; document.title = '\\ud83d'</script>"
    )
    with site({"/": page}) as address:
        found = recorded(tmp_path, address, [{"op": "TYPE", "at": "#i", "value": "ab"}])
    assert found.words == ["[textbox]   -> TYPE: a\ufffdb"]
    assert "x\ufffd" in found.rows[0]["cleaned_html"]
