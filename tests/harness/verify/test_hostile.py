"""Faults of ordinary servers: a verification ends with an exit code and a record, and accuses
nobody of what was never answered."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness.commands.tool import call, isolate
from tests.pictures import keep_processes
from tests.servers import Answer, Ask, WireServer, drop, error, html, redirect, truncated
from tests.servers.answers import drip, stall
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
    "torn": Answer(tear=True),
    "nothing": raw("", status=204),
    "marked": raw("\ufeff[1]"),
    "a stream": Answer(raw=b'data: {"a": 1}\n\n', content_type="text/event-stream"),
    "markup": Answer(raw=b"<a/>", content_type="text/xml"),
    "endless": Answer(raw=b"x" * (17 << 20)),
    "small and large": Answer(
        raw=gzip.compress(bytes(40 << 20), 1), headers={"content-encoding": "gzip"}
    ),
    "in circles": redirect("/v1/chat/completions"),
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
    # The server's own threads may complain of a client that hangs up.
    assert "commands/main.py" not in done.out + done.err
    assert max(map(len, done.out.splitlines())) <= 130
    record = json.loads(Path("record.json").read_text("utf-8"))
    assert record["complete"] == (done.code != 1)
    assert bool(record["ended"]) == (done.code == 1)
    assert not [check for check in record["checks"] if check["verdict"] == "broken"]


@pytest.mark.parametrize("fault", [stall(20), drip(20)])
def test_a_server_that_does_not_end_its_answer_is_left(
    fault: Answer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path)
    keep_processes(monkeypatch)
    with WireServer(lambda ask: fault) as server:
        words = (
            "verify",
            "m",
            "--base-url",
            server.base_url("openai"),
            "--adapter-option",
            "timeout=0.3",
        )
        done = call(*words, "--quick", "--adapter-option", "attempts=1", "--output", "record.json")
    assert done.code == 1, done.err
    assert "ended early" in done.out


@pytest.mark.parametrize("count", ["many", -1, 0, 10**30, [5], {"n": 5}, True, 1.5])
def test_a_server_that_miscounts_is_told_and_its_model_is_not_accused(
    count: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path)
    usage = {"prompt_tokens": count, "completion_tokens": 3}
    answer = {"id": "a", "model": "m", "usage": usage}
    choice = {"message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}
    body = json.dumps({**answer, "choices": [{"index": 0, **choice}]})
    with WireServer(lambda ask: raw(body)) as server:
        words = ("verify", "Qwen/Qwen3-VL-8B-Instruct", "--base-url", server.base_url("openai"))
        done = call(*words, "--only", "system text,template,usage,bytes", "--output", "record.json")
    record = json.loads(Path("record.json").read_text("utf-8"))
    broken = [check["name"] for check in record["checks"] if check["verdict"] == "broken"]
    assert done.code == 0, done.err
    assert broken == ["usage"]
