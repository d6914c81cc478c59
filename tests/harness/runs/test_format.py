"""The form of runs on disk, written out.

The lines below are those of real runs, shortened. A change of the records that changes them raises
`SCHEMA`.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import pytest

from adapters.conversation import Finish, Message, Picture, Reply, Text, Usage
from harness.runs import CallRecord, MessageRecord, RunDirectory, Setup, Unit, open_run
from harness.runs.files import encode
from harness.runs.records import line_decoder
from parsers.mind2web import MIND2WEB
from parsers.records import Description, Gold, Status

MANIFEST = """{
  "config": {"model": "oracle", "benchmark": "sample", "protocol": "seeact-two-rounds", "seed": 42},
  "model": {"name": "oracle", "provider": "policy", "stand_in": "policy", "settings": {"seed": 42}},
  "dataset": {"benchmark": "sample", "rows": 1, "data": "/home/somebody/data"},
  "prompts": "9f86d081",
  "seed": 42,
  "pictures": "full",
  "declaration": DECLARATION,
  "schema": 10,
  "name": "first",
  "created": "2026-08-01T12:00:00+00:00",
  "answerers": {"": [{"reply": "model-1"}]},
  "unrecorded": 0.5,
  "reading": 7,
  "redone": null,
  "sessions": [
    {"started": "2026-08-01T12:00:00+00:00", "pid": 7, "settings": {"concurrency": 4},
     "environment": {"python": "3.11.2", "git": {"commit": "abc", "dirty": false}},
     "measured": {}}
  ]
}
""".replace("DECLARATION", msgspec.json.encode(MIND2WEB).decode())

FIRST_CALL = (
    '{"id":"t1_a/0/round-1","unit_id":"t1_a","repeat":0,"place":"round-1","request":"b35ef90f",'
    '"conversation":"3fe5c2b3","messages":[{"role":"system","parts":["You operate a website."],'
    '"native":null},{"role":"user","parts":[{"digest":"a1e4","recipe":"v1;policy=full","width":1268'
    ',"height":2583},"The picture shows the current page."],"native":null}],"reply":{"text":'
    '"CLICK: <a id=4> Rolling pins </a>","finish":"stop","usage":{"input":830,"cached":0,'
    '"cache_write":0,"output":12,"reasoning":0},"model":"model-1","latency_s":1.5,"native":'
    '[{"type":"thinking"}],"request_id":"req-1","sent":{"temperature":0.0,"stop":["\\n"]},'
    '"token_ids":[[1,2],[3]]},"attempts":2,"from_cache":false,"cost":0.0031,"earlier":null}\n'
)
SECOND_CALL = (
    '{"id":"t1_a/0/round-2","unit_id":"t1_a","repeat":0,"place":"round-2","request":"b5e83742",'
    '"conversation":"9dfb465e","messages":[{"role":"assistant","parts":["CLICK: <a id=4> Rolling '
    'pins </a>"],"native":[{"type":"thinking"}]},{"role":"user","parts":["Which one?"],"native":'
    'null}],"reply":{"text":"ELEMENT: A","finish":"length","usage":null,"model":"","latency_s":0.0,'
    '"native":null,"request_id":"","sent":{},"token_ids":null},"attempts":0,"from_cache":true,'
    '"cost":null,"earlier":"3fe5c2b3"}\n'
)
SETTLED = (
    '{"kind":"step","unit_id":"t1_a","benchmark":"sample","split":"dev","repeat":0,"trial":0,'
    '"parents":{"task":"t1","website":"copperquince"},"labels":{"domain":"Shopping","subdomain":'
    '"Speciality","operation":"CLICK"},"position":0,"total":7,"goal":"Buy 2 rolling pins.",'
    '"invalid":null,"asked":true,"settled":true,"error":null,"source":"dev.parquet, row 0",'
    '"digests":{"html":"ab1c","screenshot":"bea6"},"pictures":[{"digest":"bea6","recipe":'
    '"v1;policy=full","width":1268,"height":2583}],"prompt_tokens":830,"calls":["t1_a/0/round-1",'
    '"t1_a/0/round-2"],"prediction":{"status":"answered","action":{"name":"CLICK","element":"68",'
    '"point":[440.0,130.5]},"flags":["multiple"],"letter":"A"},"scores":{"element":1.0,'
    '"operation_f1":1.0,"operation_f1.mind2web":1.0,"operation_f1.mind2web-lc":1.0,"operation_f1.cl100k-lc":1.0,'
    '"operation_exact":1.0,"success":1.0,"element_in_box":1.0,"element_under":null},"usage":{'
    '"input":830,"cached":0,"cache_write":0,"output":12,"reasoning":0},"cost":0.0031,"detail":{'
    '"action_uid":"a","history":["[link]  Home -> CLICK"],"page_size":[1280,2607],"positives":1,'
    '"negatives":246,"gold":{"operation":"CLICK","value":"","elements":["68"],"boxes":[[436.75,'
    '120.6875,63.5,41.0]],"shown":"68","original":"68"},"choices":[{"letter":"A","id":"68","tag":'
    '"a","text":"<a id=3> Baking </a>","box":[436.75,120.6875,63.5,41.0],"rank":0,'
    '"description":{"role":"link","type":"","labels":["Baking"],"text":"Baking"},"place":3},{'
    '"letter":"B","id":"534","tag":"a","text":"<a id=20> Harrow </a>","box":null,'
    '"rank":null,"description":null,"place":null}],"none_letter":"V","same_text":0,"related":1,'
    '"short":false}}\n'
)
PASSED_OVER = (
    '{"kind":"step","unit_id":"t1_b","benchmark":"sample","split":"dev","repeat":0,"trial":0,'
    '"parents":{"task":"t1","website":"copperquince"},"labels":{"domain":"Shopping","subdomain":'
    '"Speciality","operation":"TYPE"},"position":1,"total":7,"goal":"Buy 2 rolling pins.",'
    '"invalid":"no_positive","asked":false,"settled":false,"error":null,"source":'
    '"dev.parquet, row 1","digests":{"html":"cd2e"},"pictures":[],"prompt_tokens":null,"calls":[],'
    '"prediction":null,"scores":null,"usage":null,"cost":null,"detail":{"action_uid":"b",'
    '"history":[],"page_size":null,"positives":0,"negatives":9,"gold":{"operation":"TYPE","value":'
    '"2","elements":[],"boxes":[],"shown":null,"original":null},"choices":[],"none_letter":null,'
    '"same_text":0,"related":0,"short":true}}\n'
)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "manifest.json").write_text(MANIFEST)
    (tmp_path / "calls.jsonl").write_text(FIRST_CALL + SECOND_CALL)
    (tmp_path / "steps.jsonl").write_text(SETTLED + PASSED_OVER)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (FIRST_CALL, CallRecord),
        (SECOND_CALL, CallRecord),
        (SETTLED, Unit),
        (PASSED_OVER, Unit),
    ],
)
def test_a_line_is_written_again_as_it_was_read(
    line: str, kind: type[CallRecord] | type[Unit[Any]]
) -> None:
    assert encode(line_decoder(kind)(line.encode())).decode() == line


def test_a_run_is_read_as_it_was_written(run: Path) -> None:
    found = open_run(run)
    first, second = found.calls()
    assert first.messages[1].parts == (
        Picture("a1e4", "v1;policy=full", 1268, 2583),
        "The picture shows the current page.",
    )
    assert first.reply.usage == Usage(830, output=12)
    assert first.reply.sent == {"temperature": 0.0, "stop": ["\n"]}
    assert first.reply.token_ids == ((1, 2), (3,))
    assert second.reply == Reply("ELEMENT: A", Finish.LENGTH)
    settled, passed_over = found.records()
    box = (436.75, 120.6875, 63.5, 41.0)
    assert settled.detail.gold == Gold("CLICK", "", ("68",), (box,), "68", "68")
    assert settled.detail.choices[0].description == Description("link", "", ("Baking",), "Baking")
    assert settled.prediction is not None and settled.prediction.status is Status.ANSWERED
    assert settled.scored().group("website") == "copperquince"
    assert passed_over.detail.gold == Gold("TYPE", "2", ())


def test_a_run_is_continued_and_finished_as_it_was_written(run: Path) -> None:
    manifest = json.loads(MANIFEST)
    setup = {name: manifest[name] for name in ("config", "model", "prompts", "seed", "pictures")}
    elsewhere = {**manifest["dataset"], "data": "/somewhere/else"}
    with RunDirectory.start(
        run, Setup(**setup, dataset=elsewhere, declaration=MIND2WEB)
    ) as directory:
        assert directory.settled == {("t1_a", 0)}
        assert directory.spent == pytest.approx(0.5031)
        directory.finish({}, complete=True)
    again = json.loads((run / "manifest.json").read_text())
    assert list(again) == list(manifest)
    assert again["sessions"][0] == manifest["sessions"][0]


def test_a_message_is_written_with_its_texts_as_they_are() -> None:
    picture = Picture("d", "r", 10, 20)
    message = Message("user", (picture, Text("Which?")), {"kept": True})
    assert MessageRecord.of(message) == MessageRecord("user", (picture, "Which?"), {"kept": True})


def test_settings_that_were_sent_may_be_read_only() -> None:
    line = encode(Reply("text", sent=MappingProxyType({"temperature": 0})))
    assert b'"sent":{"temperature":0}' in line
