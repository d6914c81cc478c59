"""Faults of ordinary servers: a verification ends with an exit code and a record, and accuses
nobody of what was never answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness.commands.tool import call, isolate
from tests.pictures import keep_processes
from tests.servers import Answer, Ask, WireServer, drop, error, html, redirect, truncated
from tests.servers.deployments import Deployment


def raw(text: str, status: int = 200) -> Answer:
    return Answer(raw=text.encode("utf-8", "surrogatepass"), status=status)


def chat(**changes: Any) -> Answer:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": "ok"},
        "finish_reason": "stop",
    }
    return raw(json.dumps({"id": "a", "model": "m", "choices": [{**choice, **changes}]}))


FAULTS: dict[str, Answer] = {
    "html": html(),
    "truncated": truncated(),
    "drop": drop(),
    "redirect": redirect("http://127.0.0.1:9/v1/chat/completions"),
    "empty": raw(""),
    "null": raw("null"),
    "list": raw("[]"),
    "number": raw("1e999"),
    "deep": raw("[" * 20_000),
    "not utf-8": Answer(raw=b"\xff\xfe{"),
    "no choices": raw('{"choices": []}'),
    "choices null": raw('{"choices": null}'),
    "an error with status 200": raw('{"error": {"message": "CUDA out of memory"}}'),
    "content null": chat(message={"role": "assistant", "content": None}),
    "content a number": chat(message={"role": "assistant", "content": 5}),
    "content a list": chat(message={"role": "assistant", "content": [{"type": "text"}]}),
    "message missing": chat(message=None),
    "unknown finish": chat(finish_reason="eos_token"),
    "no finish": chat(finish_reason=None),
    **{str(status): error(status, "a line\nand another") for status in (400, 401, 403, 404)},
    **{str(status): error(status, "x" * 20_000) for status in (405, 413, 422, 429, 500, 503)},
}


@pytest.mark.parametrize("good", [0, 6])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_server_ends_with_a_code_and_a_record(
    fault: str, good: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path)
    keep_processes(monkeypatch)
    sound = Deployment({}, "[{x}, {y}]")

    def respond(ask: Ask) -> Answer:
        return sound(ask) if ask.number <= good else FAULTS[fault]

    with WireServer(respond) as server:
        words = ("verify", "Qwen/Qwen3-VL-8B-Instruct", "--base-url", server.base_url("openai"))
        done = call(*words, "--quick", "--adapter-option", "attempts=1", "--output", "record.json")
    assert done.code in (0, 1, 4), done.err
    assert "Traceback" not in done.out + done.err
    assert max(map(len, done.out.splitlines())) <= 130
    record = json.loads(Path("record.json").read_text("utf-8"))
    assert record["complete"] == (done.code != 1)
    assert bool(record["ended"]) == (done.code == 1)
    assert not [check for check in record["checks"] if check["verdict"] == "broken"]
