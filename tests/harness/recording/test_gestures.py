"""Gestures that are easily lost, done twice, or forged."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from harness.errors import UserError
from harness.recording import session
from harness.recording.recorder import Recorder
from harness.recording.script import Move, Script, play
from harness.recording.tab import Tab
from tests.harness.recording.recording import Recording, needs_browser, recorded, run, script, site

SHOP = {
    "/": """<h1 id=h>Start</h1><a id=lamps href=/lamps>Lamps</a> <a id=hop href=/hop>Offers</a>
      <script>
        lamps.onclick = (event) => {
          event.preventDefault();
          history.pushState(1, '', '/lamps');
          document.body.innerHTML = '<h1>Lamps</h1><a id=hop href=/hop>Offers</a>';
        };
      </script>""",
    "/hop": "<script>location.replace('/landed')</script>",
    "/landed": """<h1>Offers</h1><form action=/found>
      <label><input type=checkbox name=new id=new> New only</label>
      <select id=sort name=sort><option>By name</option><option>By price</option></select>
      <input id=q name=q placeholder=Search></form>
      <button id=plus onclick="n.textContent++">More</button> <b id=n>0</b>
      <a id=away href=/wrong>Elsewhere</a>
      <script>onbeforeunload = (event) => { event.preventDefault(); return 'Stay?'; }</script>""",
    "/wrong": "<h1>Wrong</h1>",
    "/found": "<h1 id=found>Found {q}</h1><button onclick=\"alert('hello')\">Say hello</button>",
}


@pytest.mark.browser
@needs_browser
def test_pages_that_change_come_twice_or_ask_are_recorded_before_each_action(
    tmp_path: Path,
) -> None:
    with site(SHOP) as address:
        found = recorded(
            tmp_path,
            address,
            [
                {"op": "CLICK", "at": "#lamps"},
                {"op": "CLICK", "at": "#hop"},
                {"op": "CLICK", "at": "label"},
                {"op": "SELECT", "at": "#sort", "value": "By price"},
                {"op": "CLICK", "at": "#plus", "times": 2},
                {"op": "CLICK", "at": "#away"},
                {"op": "WAIT", "at": "text=Wrong"},
                {"op": "UNDO"},
                {"op": "BACK"},
                {"op": "WAIT", "at": "#q"},
                {"op": "TYPE", "at": "#q", "value": "brass lamp"},
                {"op": "ENTER", "at": "#q"},
                {"op": "WAIT", "at": "#found"},
                {"op": "CLICK", "at": "button"},
                {"op": "CLICK", "at": "#found"},
            ],
        )
    assert found.words == [
        "[link]  Lamps -> CLICK",
        "[link]  Offers -> CLICK",
        "[label]  New only -> CLICK",
        "[combobox]  sort -> SELECT: By price",
        "[button]  More -> CLICK",
        "[button]  More -> CLICK",
        "[textbox]  Search -> TYPE: brass lamp",
        "[textbox]  Search -> ENTER",
        "[button]  Say hello -> CLICK",
        "[h1]  Found brass lamp -> CLICK",
    ]
    pages = [row["cleaned_html"] for row in found.rows]
    assert "Start" in pages[0] and "Lamps" in pages[1] and "Start" not in pages[1]
    assert "input_checked" not in pages[2] and "input_checked" in pages[3]
    counts = [page.split("<b ")[1].split("</text>")[0][-1] for page in pages[4:6]]
    assert counts == ["0", "1"]
    assert "brass lamp" not in pages[6] and "brass lamp" in pages[7]
    assert json.loads(found.rows[7]["operation"]) == {
        "original_op": "ENTER",
        "value": "",
        "op": "CLICK",
    }
    assert found.notes(9) == [
        "before it, not recorded: a dialog of the page (alert) and its answer"
    ]
    assert all(row["screenshot"] for row in found.rows)


MENU = {
    "/": """<body style="margin:0"><style>
        #menu { height: 40px } #panel { display: none; height: 60px; background: #00f }
        #menu:hover #panel { display: block }</style>
      <div id=menu>Menu<div id=panel><a id=deep href="#deep" style="color:#00f">Deep</a></div></div>
      <div style="height:3000px"></div>
      <script>
        menu.onmouseleave = () => { panel.remove(); };
        onresize = () => { panel.remove(); };
      </script>""",
}


@pytest.mark.browser
@needs_browser
def test_a_menu_under_the_pointer_stays_open_while_it_is_recorded(tmp_path: Path) -> None:
    with site(MENU) as address:
        found = recorded(tmp_path, address, [{"op": "CLICK", "at": "#deep", "hover": "#menu"}])
    assert found.words == ["[link]  Deep -> CLICK"]
    shown = found.rows[0]["screenshot"]
    assert shown and shown["bytes"]
    with Image.open(BytesIO(shown["bytes"])) as image:
        red, _, blue = image.getpixel((600, 60))  # type: ignore[misc]
        assert image.height > 3000
    assert blue > 200 > 50 > red


HOSTILE = {
    "/": """<input id=q> <button id=b>Go</button> <b id=n>text</b> <i id=seen>0</i>
      <script>
        const all = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'keydown', 'input'];
        const deaf = (event) => event.stopImmediatePropagation();
        for (const name of all) addEventListener(name, deaf, true);
        new MutationObserver((found) => { seen.textContent = +seen.textContent + found.length; })
          .observe(document.documentElement, { attributes: true, subtree: true });
        Element.prototype.matches = Array.prototype.filter = JSON.stringify = () => { throw 1; };
        window.vlmEval = { look: () => ({ nodes: [] }) };
        const forge = () => {
          b.click();
          for (const name of all)
            b.dispatchEvent(new PointerEvent(name, { bubbles: true, composed: true }));
          q.focus();
          document.execCommand('insertText', false, 'forged');
          window.vlmEvalTell?.(JSON.stringify({ what: 'press', number: 1 }));
        };
        forge();
        setInterval(forge, 50);
      </script>""",
}


@pytest.mark.browser
@needs_browser
def test_a_page_can_neither_forge_steps_nor_see_that_it_is_recorded(tmp_path: Path) -> None:
    with site(HOSTILE) as address:
        moves = [{"op": "CLICK", "at": "#n"}, {"op": "CLICK", "at": "#b"}]
        found = recorded(tmp_path, address, moves)
    assert [json.loads(row["operation"])["op"] for row in found.rows] == ["CLICK", "CLICK"]
    assert [entry["tag"] for at in (0, 1) for entry in found.positives(at)] == ["b", "button"]
    assert all("<text backend_node_id=" in row["cleaned_html"] for row in found.rows)
    # No attribute of the page was changed, and nothing of the recorder is in it.
    page = found.rows[1]["cleaned_html"]
    assert page.split("<i ")[1].split("</text>")[0].endswith(">0")
    assert "vlm-eval" not in found.rows[1]["raw_html"]


@pytest.mark.browser
@needs_browser
def test_fields_may_be_named_as_what_is_asked_of_elements(tmp_path: Path) -> None:
    names = (
        "tagName nodeType localName parentNode parentElement lastChild previousSibling attributes "
        "shadowRoot closest matches contains getAttribute getBoundingClientRect checkVisibility "
        "isConnected isContentEditable innerText clientWidth offsetWidth childElementCount"
    )
    fields = "".join(f"<input type=hidden name={name}>" for name in names.split())
    plain = "<form id=f style='padding:9px'>{0}<button type=button id=b>Pay</button></form>"
    hidden = "documentElement body createRange elementFromPoint activeElement"
    pictures = "".join(f"<img hidden name={name}>" for name in hidden.split())
    moves = [{"op": "CLICK", "at": "#f"}, {"op": "CLICK", "at": "#b"}]
    found = []
    for name, inside, before in (("ordinary", "", ""), ("hostile", fields, pictures)):
        with site({"/": before + plain.format(inside)}) as address:
            found.append(recorded(tmp_path / name, address, moves))
    ordinary, hostile = found
    assert hostile.words == ordinary.words and "[button]  Pay -> CLICK" in hostile.words
    for at in range(2):
        boxes = [
            [json.loads(text)["attributes"] for text in one.rows[at]["pos_candidates"]]
            for one in (ordinary, hostile)
        ]
        rects = [[json.loads(text)["bounding_box_rect"] for text in texts] for texts in boxes]
        assert rects[0] == rects[1] != []


@pytest.mark.browser
@needs_browser
def test_a_page_that_cannot_be_described_is_still_acted_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    look = Tab.look

    async def fails_at_first(tab: Tab, frame: str, target: int) -> Any:
        if "next" not in tab.page.url:
            raise ValueError("look failed")
        return await look(tab, frame, target)

    monkeypatch.setattr(Tab, "look", fails_at_first)
    pages = {"/": "<a id=on href=/next>On</a>", "/next": "<button>End</button>"}
    with site(pages) as address:
        moves = [{"op": "CLICK", "at": "#on"}, {"op": "CLICK", "at": "button"}]
        found = recorded(tmp_path, address, moves)
    assert "done, but not recorded: the page cannot be described" in capsys.readouterr().out
    assert found.words == ["[button]  End -> CLICK"]
    assert "cannot be described" in found.notes(0)[0]


def test_what_cannot_begin_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    steps = script(tmp_path / "script", [{"op": "BACK"}])
    out = tmp_path / "out"
    with pytest.raises(UserError, match=r"pip install '\.\[record\]'"):
        run("data", "record", "https://a.invalid", "--script", str(steps), "--out", str(out))
    assert not list(out.iterdir())


def test_without_a_display_one_line_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    with pytest.raises(UserError, match=r"no display.*--script FILE") as failure:
        run("data", "record", "https://shop.invalid", "--out", str(tmp_path / "out"))
    assert "\n" not in str(failure.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("goal = ", "not TOML"),
        ("goal = 'a'", "needs goal, a text, and steps"),
        ("goal = 'a'\nsteps = [1]", "step 1: Expected `object`, got `int`"),
        (
            "goal = 'a'\nsteps = [{ op = 'CLICK', att = 'b' }]",
            "unknown field `att`; keys are op, at",
        ),
        ("goal = 'a'\nsteps = [{ op = 'FLY', at = 'b' }]", "'FLY' .* op is one of CLICK"),
        ("goal = 'a'\nsteps = [{ op = 'CLICK' }]", "CLICK needs at"),
        ("goal = 'a'\nsteps = [{ op = 'GOTO' }]", "GOTO needs value, an address"),
        ("goal = 'a'\nsteps = [{ op = 'CLICK', at = 'b', times = true }]", "Expected `int`"),
    ],
)
def test_what_is_wrong_with_a_script_is_named(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "script.toml"
    path.write_text(content)
    with pytest.raises(UserError, match=said):
        given = ["--script", str(path), "--out", str(tmp_path / "out")]
        run("data", "record", "https://a.invalid", *given)


@pytest.mark.parametrize(
    "address", ["ftp://a.invalid", "http://[::1", "sample:library", "https://a.invalid:99999"]
)
def test_addresses_that_cannot_be_recorded_are_refused(tmp_path: Path, address: str) -> None:
    steps = script(tmp_path / "script", [{"op": "BACK"}])
    with pytest.raises(UserError, match="is not the address of a page"):
        run("data", "record", address, "--script", str(steps), "--out", str(tmp_path / "out"))


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    steps = script(tmp_path / "script", [{"op": "BACK"}])
    out = tmp_path / "out"
    out.write_text("mine")
    with pytest.raises(UserError, match=f"--out {out}: "):
        run("data", "record", "https://a.invalid", "--script", str(steps), "--out", str(out))
    assert out.read_text() == "mine"


@pytest.mark.browser
@needs_browser
def test_a_crash_of_the_page_ends_a_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def crashing(script: Script, page: Any, recorder: Recorder) -> None:
        await play(script, page, recorder)
        await recorder.tabs[0].send("Page.crash")

    monkeypatch.setattr("harness.recording.session.play", crashing)
    moves = [{"op": "CLICK", "at": "button"}]
    given = ["--script", str(script(tmp_path / "script", moves)), "--out", str(tmp_path / "out")]
    with site({"/": "<button>On</button>"}) as address, pytest.raises(UserError, match="crashed"):
        run("data", "record", address, *given)
    assert "1 step until here" in capsys.readouterr().err
    assert len(Recording(tmp_path / "out").rows) == 1


@pytest.mark.browser
@needs_browser
def test_a_crash_of_the_page_ends_the_task_of_a_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Lines:
        said = iter(["", "Press it"])

        async def next(self) -> str:
            return next(self.said)

    async def crashing(lines: Lines, recorder: Recorder, page: Any, tabs: Any) -> None:
        await play(Script("", (Move("CLICK", "button"),)), page, recorder)
        await recorder.tabs[0].send("Page.crash")

    opened = session._browser
    monkeypatch.setattr(session, "Lines", Lines)
    monkeypatch.setattr(session, "_obeying", crashing)
    monkeypatch.setattr(session, "check_display", lambda: None)
    monkeypatch.setattr(session, "_browser", lambda path, visible: opened(path, visible=False))
    with site({"/": "<button>On</button>"}) as address:
        assert run("data", "record", address, "--out", str(tmp_path)) == 0
    found = Recording(tmp_path)
    assert found.words == ["[button]  On -> CLICK"]
    assert found.rows[0]["confirmed_task"] == "Press it"


@pytest.mark.browser
@needs_browser
def test_a_move_that_cannot_be_made_is_named_with_its_step(tmp_path: Path) -> None:
    moves = [{"op": "SELECT", "at": "#plus", "value": "a"}]
    given = ["--script", str(script(tmp_path / "script", moves)), "--out", str(tmp_path / "out")]
    with (
        site({"/": "<button id=plus>More</button>"}) as address,
        pytest.raises(UserError, match=r"step 1 of the script \(SELECT #plus\): .* is not a list"),
    ):
        run("data", "record", address, *given)


BUSY = {"/": "<button id=on onclick='for (;;) {}'>On</button>"}
BUSY_MOVES = [{"op": "CLICK", "at": "#on"}, {"op": "CLICK", "at": "#on"}]


@pytest.mark.browser
@needs_browser
def test_a_script_ends_at_a_page_that_never_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("harness.recording.script.MOVE_S", 4.0)
    out = tmp_path / "out"
    given = ["--script", str(script(tmp_path / "script", BUSY_MOVES)), "--out", str(out)]
    late = r"step \d of the script \(CLICK #on\): the page was still busy after 4 seconds"
    with site(BUSY) as address, pytest.raises(UserError, match=late):
        run("data", "record", address, *given)
    assert "1 step until here" in capsys.readouterr().err
    assert len(Recording(out).rows) == 1


@pytest.mark.browser
@needs_browser
def test_an_interrupt_ends_a_recording_that_a_shell_put_into_the_background(
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    given = ["--script", str(script(tmp_path / "script", BUSY_MOVES)), "--out", str(out)]
    with site(BUSY) as address:
        command = [sys.executable, "-m", "harness", "data", "record", address, *given]
        shell = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *command]
        child = subprocess.Popen(
            shell,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert child.stdout is not None
        while line := child.stdout.readline():
            if line.startswith("  1  "):
                break
        child.send_signal(signal.SIGINT)
        try:
            _, said = child.communicate(timeout=40)
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
    assert child.returncode == 130
    assert "1 step until here" in said and "Traceback" not in said
    assert Recording(out).rows[0]["confirmed_task"]


FIELDS = {
    "/": """<body style="height:17000px">
      <input type=date id=date> <input type=range id=range value=1 max=9>
      <select multiple id=many size=3><option>One</option><option>Two</option></select>
      <div contenteditable id=rich style="width:200px; height:30px">old</div>
      <textarea id=long></textarea> <input id=text value=old>
      <canvas id=canvas width=60 height=40></canvas> <p id=words>Some words to drag over</p>
      <input type=file id=file> <span style="opacity:0.001"><b id=ghost>ghost</b></span>
      <a id=tab href=/other target=_blank>Other</a>""",
    "/other": "<a id=next href=/last>Last</a>",
    "/last": "<button id=b>End</button>",
}


@pytest.mark.browser
@needs_browser
def test_every_kind_of_field_is_one_step_and_what_cannot_be_held_is_said(tmp_path: Path) -> None:
    with site(FIELDS) as address:
        found = recorded(
            tmp_path,
            address,
            [
                {"op": "TYPE", "at": "#date", "value": "05042026"},
                {"op": "DRAG", "at": "#range", "value": "#many"},
                {"op": "CLICK", "at": "#many option >> nth=1"},
                {"op": "TYPE", "at": "#rich", "value": "new words"},
                {"op": "TYPE", "at": "#long", "value": "one\ntwo"},
                {"op": "TYPE", "at": "#text", "value": "typed"},
                {"op": "DRAG", "at": "#words", "value": "#canvas"},
                {"op": "PRESS", "value": "Escape"},
                {"op": "CLICK", "at": "#canvas"},
                {"op": "CLICK", "at": "#tab"},
                {"op": "WAIT", "at": "#next"},
                {"op": "CLICK", "at": "#next"},
                {"op": "WAIT", "at": "#b"},
                {"op": "CLICK", "at": "#b"},
                {"op": "BACK"},
                {"op": "CLICK", "at": "#next"},
            ],
        )
    operations = [json.loads(row["operation"]) for row in found.rows]
    assert [(one["op"], one["value"]) for one in operations[:6]] == [
        ("TYPE", "2026-05-04"),
        ("TYPE", "9"),
        ("SELECT", "Two"),
        ("TYPE", "new words"),
        ("TYPE", "one two"),
        ("TYPE", "typed"),
    ]
    assert "the list takes several options; only the first is recorded" in found.notes(2)
    assert "line breaks of the text become blanks" in found.notes(4)
    assert "the page is longer than its picture, which ends at 16000 pixels" in found.notes(0)
    drawn = "\n".join(found.notes(6))
    assert "dragging with the mouse" in drawn and "the key Escape" in drawn
    assert "the place in it is not recorded" in drawn
    assert found.words[7:] == [
        "[link]  Other -> CLICK",
        "[link]  Last -> CLICK",
        "[button]  End -> CLICK",
        "[link]  Last -> CLICK",
    ]
    assert found.notes(8) == []
    assert all(found.positives(at) for at in range(len(found.rows)))
