"""Lines in files, answered by `vllm run-batch`."""

from __future__ import annotations

import asyncio
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from adapters import Fatal, Fault, Finish, Reply, make
from adapters.batches.contract import RemoteBatch
from tests.adapters.batches.support import TOKEN, deferring, id_of, use, write
from tests.adapters.support import first_round, request
from tests.servers.answers import Answer, Ask
from tests.servers.wire import body_of

NAME = "0001.requests.jsonl"
MODEL = "file:Qwen/Qwen2.5-VL-7B-Instruct"


def answers(requests: Path, only: int | None = None, **failures: Any) -> bytes:
    """What `vllm run-batch` writes: in input order, failures in between."""
    lines = []
    for number, line in enumerate(requests.read_text().splitlines()[:only]):
        asked = json.loads(line)
        assert (asked["method"], asked["url"]) == ("POST", "/v1/chat/completions")
        ask = Ask(number, "openai", "/v1/chat/completions", {}, asked["body"])
        body: Any = body_of(ask, Answer(f"you said {ask.text}"))
        status, error = 200, None
        if str(number) in failures:
            status, body, error = failures[str(number)][0], None, failures[str(number)][1]
        response = {"status_code": status, "request_id": f"vllm-{number}", "body": body}
        said = {"id": f"vllm-{number}", "custom_id": asked["custom_id"]}
        lines.append(json.dumps({**said, "response": response, "error": error}) + "\n")
    return "".join(lines).encode()


async def begun(one: Any, folder: Path) -> tuple[RemoteBatch, list[Any]]:
    asked = [request(first_round(word)) for word in ("one", "two", "three")]
    path = folder / NAME
    sent = await write(one, path, asked)
    uploaded = await one.upload(TOKEN, path)
    batch = await one.create(TOKEN, path, uploaded, 3)
    return batch, list(zip(asked, sent, strict=True))


async def results(one: Any, batch: RemoteBatch, asked: list[Any]) -> list[Any]:
    by_id = {one.id_of(line): one.read(line, *asked[0]) async for line in one.fetch(batch)}
    return [by_id.get(id_of(number)) for number in range(3)]


def test_answers_are_read_once_the_file_is_whole(tmp_path: Path) -> None:
    written = tmp_path / "0001.answers.jsonl"

    async def run(one: Any) -> None:
        batch, asked = await begun(one, tmp_path)
        assert not batch.ended
        whole = answers(tmp_path / NAME)
        for torn in (b"", whole[: len(whole) // 2], answers(tmp_path / NAME, 2), whole[:-1]):
            written.write_bytes(torn)
            assert not (await one.poll(batch.id)).ended
        written.write_bytes(whole)
        over = await one.poll(batch.id)
        assert (over.ended, over.total, over.answered) == (True, 3, 3)
        texts = [reply.text for reply in await results(one, over, asked)]
        assert texts == ["you said one", "you said two", "you said three"]
        await one.clean(over, "")
        assert list(tmp_path.iterdir()) == []

    use(make(MODEL), run, tmp_path)


def test_failures_stand_in_the_same_file(tmp_path: Path) -> None:
    failures: dict[str, Any] = {
        "0": (400, {"error": {"message": "maximum context length is 4096", "code": 400}}),
        "1": (500, "the engine has a bad day"),
    }

    async def run(one: Any) -> None:
        batch, asked = await begun(one, tmp_path)
        (tmp_path / "0001.answers.jsonl").write_bytes(answers(tmp_path / NAME, **failures))
        first, second, third = await results(one, await one.poll(batch.id), asked)
        assert isinstance(first, Reply)
        assert first.finish is Finish.TOO_LONG
        assert isinstance(second, Fault)
        assert "bad day" in str(second)
        assert isinstance(third, Reply)

    use(make(MODEL), run, tmp_path)


def test_the_command_is_told_and_runs_from_any_shell(tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    told = deferring(make(MODEL), folder).told(folder / NAME)
    assert told is not None
    assert shlex.split(told) == [
        *("vllm", "run-batch", "-i", str(folder / NAME)),
        *("-o", str(folder / "0001.answers.jsonl"), "--model", "Qwen/Qwen2.5-VL-7B-Instruct"),
    ]


def test_a_batch_that_is_given_up_keeps_what_was_answered(tmp_path: Path) -> None:
    async def run(one: Any) -> None:
        batch, asked = await begun(one, tmp_path)
        torn = answers(tmp_path / NAME, 1) + b'{"custom_id"'
        (tmp_path / "0001.answers.jsonl").write_bytes(torn)
        await one.cancel(batch.id)
        over = await one.poll(batch.id)
        assert over.ended
        first, *others = await results(one, over, asked)
        assert isinstance(first, Reply)
        assert others == [None, None]

    use(make(MODEL), run, tmp_path)


def test_a_folder_that_moved_is_the_same_batch(tmp_path: Path) -> None:
    (old := tmp_path / "old").mkdir()
    batch, _ = use(make(MODEL), lambda one: begun(one, old), old)
    new = old.rename(tmp_path / "new")
    assert not use(make(MODEL), lambda one: one.poll(batch.id), new).ended


@pytest.mark.parametrize("id", ["../0001.requests.jsonl", "/etc/passwd", "x"])
def test_a_name_that_is_no_file_of_requests_is_refused(id: str, tmp_path: Path) -> None:
    with pytest.raises(Fatal, match="is not a file of requests"):
        use(make(MODEL), lambda one: one.poll(id), tmp_path)


def test_it_costs_nothing_and_is_asked_in_files_only() -> None:
    adapter = make(MODEL, max_pixels=1_000_000)
    assert not adapter.info.billed
    assert adapter.info.coordinates == "absolute"
    assert adapter.info.image_rule is not None
    with pytest.raises(Fatal, match="--tier batch"):
        asyncio.run(adapter.ask(request(), None))  # type: ignore[arg-type]
