"""What is done on a page by mouse and keyboard becomes rows of Multimodal-Mind2Web."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from PIL import Image

from benchmarks.sample.serving import server
from harness import open_run
from harness.recording.columns import StepRow, read
from harness.sample import files
from tests.harness.recording.recording import Recording, needs_browser, recorded, run, site

pytestmark = [pytest.mark.browser, needs_browser]

TASKS = Path(__file__).parents[3] / "benchmarks/sample/tasks"


def shipped(goal: str) -> list[StepRow]:
    rows = (row for path in files().values() for row in read(path, without=("screenshot",)))
    return [row for row in rows if row["confirmed_task"] == goal]


def without_boxes(entries: list[str]) -> list[Any]:
    found = [json.loads(text) for text in entries]
    for entry in found:
        attributes = json.loads(entry["attributes"])
        del attributes["bounding_box_rect"]
        entry["attributes"] = attributes
    return found


def test_a_task_done_by_hand_gives_the_rows_that_the_samples_builder_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Targets, candidates, pages and words equal those of the shipped rows; a run takes it."""
    out = tmp_path / "recorded"
    script = TASKS / "library.toml"
    name = f"{script}#orchard-audiobook"
    with server("library") as serving:
        Thread(target=serving.serve_forever, daemon=True).start()
        address = f"http://localhost:{serving.server_port}"
        assert run("data", "record", address, "--script", name, "--out", str(out)) == 0
        serving.shutdown()
    rows = Recording(out).rows
    expected = shipped(rows[0]["confirmed_task"])
    assert len(rows) == len(expected) == 8
    for row, other in zip(rows, expected, strict=True):
        for column in ("operation", "cleaned_html", "action_reprs", "target_action_index"):
            assert row[column] == other[column]
        assert without_boxes(row["pos_candidates"]) == without_boxes(other["pos_candidates"])
        assert without_boxes(row["neg_candidates"]) == without_boxes(other["neg_candidates"])

    assert run("data", "check", str(out)) == 0
    assert "local: 8 rows, 1 task; 5 CLICK, 1 SELECT, 2 TYPE, 8 valid" in capsys.readouterr().out
    for model in ("oracle", "lexical"):
        given = ["--model", model, "--data", str(out), "--progress", "off"]
        assert run("run", *given, "--out", str(tmp_path / model)) == 0
    steps = open_run(tmp_path / "oracle").steps()
    assert steps["success"].tolist() == [True] * 8


LOGIN = {
    "/": """<form action=/welcome>
      <label for=u>User</label> <input id=u name=user>
      <label for=p>Password</label> <input id=p name=pass type=password
        placeholder="At least 7 signs">
      <button>Sign in</button></form>""",
    "/welcome": """<body data-code="{pass}"><p id=echo>Welcome, your password is {pass}.</p>
      <p><b>hun</b><i>ter2</i></p><p>h u n t e r 2 and HUNTER2</p><input value="{pass}">
      <a href="/account?token={pass}">Account</a><script>const state = "{pass}";</script>
      <!-- {pass} --><p>c00kie-0123456789abcdef</p><a id=mail href=#>jane@example.org</a>""",
    "/account": "<p>Write to jane@example.org</p><button>Done</button>",
}


def test_passwords_cookies_and_what_is_marked_are_in_no_file(tmp_path: Path) -> None:
    with site(LOGIN) as address:
        found = recorded(
            tmp_path,
            address,
            [
                {"op": "CLICK", "at": "#u"},
                {"op": "TYPE", "at": "#p", "value": "hunter2"},
                {"op": "CLICK", "at": "button"},
                {"op": "CLICK", "at": "#echo"},
                {"op": "SECRET", "at": "#mail"},
                {"op": "CLICK", "at": "a >> nth=0"},
                {"op": "CLICK", "at": "button"},
            ],
            "--task",
            "Sign in with hunter2 as jane@example.org",
        )
    assert found.words[1] == "[textbox]  Password -> TYPE: SECRET"
    assert json.loads(found.rows[1]["operation"])["value"] == "SECRET"
    field = found.rows[2]["cleaned_html"].split('type="password"')[1].split("/>")[0]
    assert 'placeholder="At least 7 signs"' in field and 'input_value="SECRET"' in field
    assert found.rows[0]["confirmed_task"] == "Sign in with SECRET as SECRET"
    everything = found.everything().lower()
    for secret in (b"hunter2", b"ter2</", b"h u n t", b"jane@example", b"c00kie"):
        assert secret not in everything
    assert found.rows[3]["cleaned_html"].count("SECRET") >= 5
    # The texts are painted over, those of an earlier step as well.
    (echo,) = found.positives(3)
    x, y, _, height = map(float, echo["attributes"]["bounding_box_rect"].split(","))
    shown = found.rows[3]["screenshot"]
    assert shown and shown["bytes"]
    with Image.open(BytesIO(shown["bytes"])) as image:
        pixel: Any = image.convert("L").getpixel((round(x) + 60, round(y + height / 2)))
    assert pixel < 20


INNER = {
    "/": """<body style="margin:0"><iframe src="http://127.0.0.1:{port}/inner"
      style="border:5px solid; padding:10px; margin:20px" width=400 height=200></iframe>
      <div id=host><em>slotted</em></div><x-closed id=closed></x-closed>
      <iframe id=written></iframe>
      <script>
        const shadow = host.attachShadow({ mode: 'open' });
        shadow.innerHTML = '<button id=shade>In shadow</button><slot></slot>';
        customElements.define('x-closed', class extends HTMLElement {
          constructor() { super(); this.attachShadow({ mode: 'closed' }).innerHTML = 'closed'; } });
        const page = written.contentDocument;
        page.open(); page.write('<button id=w>Written</button>'); page.close();
      </script>""",
    "/inner": "<body style='margin:0'><button style='margin:7px'>Inside</button><input>",
}


def test_frames_and_shadow_roots_stand_under_their_hosts(tmp_path: Path) -> None:
    with site(INNER) as address:
        found = recorded(
            tmp_path,
            address,
            [
                {"op": "CLICK", "at": "iframe >> nth=0 >>> button"},
                {"op": "TYPE", "at": "iframe >> nth=0 >>> input", "value": "in a frame"},
                {"op": "CLICK", "at": "#shade"},
                {"op": "CLICK", "at": "#closed"},
                {"op": "CLICK", "at": "#written >>> #w"},
            ],
        )
    assert found.words == [
        "[button]  Inside -> CLICK",
        "[textbox]   -> TYPE: in a frame",
        "[button]  In shadow -> CLICK",
        "[x-closed]   -> CLICK",
        "[button]  Written -> CLICK",
    ]
    # Margins, border and padding of the frame, and the margin of the button.
    (inside,) = found.positives(0)
    assert inside["attributes"]["bounding_box_rect"].startswith("42,42,")
    page = found.rows[2]["cleaned_html"]
    frame, host = page.index("<iframe"), page.index("<div")
    assert frame < page.index("Inside") < page.index("</iframe>")
    assert host < page.index("In shadow") < page.index("slotted") < page.index("</div>", host)
    assert '<template shadowrootmode="open">' in found.rows[2]["raw_html"]
    ids = [entry["backend_node_id"] for entry in map(json.loads, found.rows[0]["neg_candidates"])]
    assert len(ids) == len(set(ids))
