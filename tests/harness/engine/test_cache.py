from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.contract import (
    AdapterInfo,
    EncodedPicture,
    Generation,
    PictureSource,
    PixelPicture,
    Request,
)
from adapters.conversation import Conversation, Finish, Message, Picture, Reply, Text, Usage, user
from harness.engine import (
    Engine,
    Job,
    Lane,
    model_key,
    request_key,
)
from harness.engine.cache import ReplyCache
from tests.harness.engine.support import Log, Model, echo, engine, rounds, say

PICTURE = Picture("d", "jpeg-85", 8, 9)
PLAIN, QUESTION = Generation(), say("a", PICTURE)
INFO = AdapterInfo("openai:m", "m", "openai", settings={"detail": "high"})
FULL = Reply(
    "é", Finish.STOP, Usage(1, 2, 3, 4, 5), "m", 0.5, [{"k": 1}], "id", {"p": 1}, ((1,), (2,))
)


def key(
    info: AdapterInfo = INFO,
    generation: Generation = PLAIN,
    conversation: Conversation = QUESTION,
    repeat: int = 0,
) -> str:
    return request_key(model_key(info, generation), conversation.digest(), repeat)


@pytest.mark.parametrize(
    "other",
    [
        {"info": replace(INFO, model="n")},
        {"info": replace(INFO, provider="azure")},
        {"info": replace(INFO, revision="r")},
        {"info": replace(INFO, endpoint="http://localhost")},
        {"info": replace(INFO, settings={"detail": "low"})},
        {"generation": Generation(max_tokens=5)},
        {"generation": Generation(temperature=0.0)},
        {"generation": Generation(top_p=0.5)},
        {"generation": Generation(seed=1)},
        {"generation": Generation(effort="low")},
        {"generation": Generation(thinking_budget=100)},
        {"repeat": 1},
        {"conversation": say("b", PICTURE)},
        {"conversation": say(PICTURE, "a")},
        {"conversation": say("a", replace(PICTURE, digest="e"))},
        {"conversation": say("a", replace(PICTURE, recipe="jpeg-90"))},
        {"conversation": Conversation((Message("assistant", (Text("a"), PICTURE)),))},
        {"conversation": say("a", PICTURE).then(Reply("r", native={"t": 1}), user("x"))},
    ],
)
def test_everything_that_changes_a_reply_is_in_the_key(other: dict[str, Any]) -> None:
    assert key(**other) != key()


def test_what_changes_no_reply_is_not_in_the_key() -> None:
    same = replace(
        INFO, name="other", concurrency=99, open_dialogues=7, billed=True, wait_s=9,
        price_ref="p", context_tokens=10,
    )  # fmt: skip
    assert key(info=same) == key()


class Warnings(list[str]):
    def __call__(self, text: str) -> None:
        self.append(text)


def use(path: Path, act: Callable[[ReplyCache], Any], warn: Warnings, **more: Any) -> Any:
    async def main() -> Any:
        cache = ReplyCache(path, warn, **more)
        try:
            return await act(cache)
        finally:
            await cache.close()

    return asyncio.run(main())


def fill(path: Path, replies: dict[str, Reply], **more: Any) -> None:
    async def put(cache: ReplyCache) -> None:
        for name, reply in replies.items():
            cache.keep(name, reply)

    warnings = Warnings()
    use(path, put, warnings, **more)
    assert warnings == []


def look(path: Path, names: Sequence[str], warn: Warnings, **more: Any) -> list[Reply | None]:
    async def get(cache: ReplyCache) -> list[Reply | None]:
        found = [await cache.get(name) for name in names]
        return [one and one.reply for one in found]

    found: list[Reply | None] = use(path, get, warn, **more)
    return found


def test_a_reply_comes_back_whole(tmp_path: Path) -> None:
    fill(tmp_path / "deep" / "c", {"k": FULL})
    assert look(tmp_path / "deep" / "c", ["k", "other"], Warnings()) == [FULL, None]


@pytest.mark.parametrize("finish", [finish for finish in Finish if finish is not Finish.STOP])
def test_only_replies_with_a_normal_end_are_kept(tmp_path: Path, finish: Finish) -> None:
    fill(tmp_path / "c", {"k": replace(FULL, finish=finish)})
    assert look(tmp_path / "c", ["k"], Warnings()) == [None]


def test_a_reply_is_found_before_it_is_saved(tmp_path: Path) -> None:
    async def act(cache: ReplyCache) -> Reply | None:
        cache.keep("k", FULL)
        found = await cache.get("k")
        return found and found.reply

    assert use(tmp_path / "c", act, Warnings()) == FULL


@pytest.mark.parametrize(
    "rubbish", [b"no database at all" * 500, b"SQLite format 3\0" + b"\1" * 9000]
)
def test_a_damaged_file_is_one_warning_and_no_reply(tmp_path: Path, rubbish: bytes) -> None:
    (tmp_path / "c").write_bytes(rubbish)
    warnings = Warnings()
    assert look(tmp_path / "c", ["k", "l"], warnings) == [None, None]
    assert len(warnings) == 1
    assert warnings[0].startswith(f"continuing without the reply cache {tmp_path / 'c'}: ")


def test_a_damaged_entry_is_one_warning_and_no_reply(tmp_path: Path) -> None:
    fill(tmp_path / "c", {"k": FULL, "l": FULL})
    database = sqlite3.connect(tmp_path / "c")
    with database:
        database.execute("update replies set reply = replace(reply, 'stop', 'stop ')")
    database.close()
    warnings = Warnings()
    assert look(tmp_path / "c", ["k", "l"], warnings) == [None, None]
    assert len(warnings) == 1


def test_an_entry_under_another_key_is_not_believed(tmp_path: Path) -> None:
    fill(tmp_path / "c", {"k": FULL})
    database = sqlite3.connect(tmp_path / "c")
    with database:
        database.execute("update replies set key = 'l'")
    database.close()
    assert look(tmp_path / "c", ["l"], Warnings()) == [None]


def test_a_place_that_cannot_be_written_is_one_warning(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    warnings = Warnings()
    assert look(tmp_path / "file" / "c", ["k"], warnings) == [None]
    assert len(warnings) == 1


def test_the_oldest_replies_go_when_there_are_too_many(tmp_path: Path) -> None:
    for number in range(8):
        fill(tmp_path / "c", {str(number): replace(FULL, text="x" * 50_000)}, max_bytes=300_000)
    found = look(tmp_path / "c", [str(number) for number in range(8)], Warnings())
    kept = [number for number, reply in enumerate(found) if reply]
    assert kept == list(range(8))[-len(kept) :]
    assert 0 < len(kept) < 7


def test_several_processes_share_one_cache(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib\n"
        "from tests.harness.engine.test_cache import FULL, fill\n"
        "path, name = pathlib.Path(sys.argv[1]), sys.argv[2]\n"
        "for n in range(10): fill(path, {f'{name}-{n}-{m}': FULL for m in range(10)})"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "c")]
    root = Path(__file__).parents[3]
    processes = [subprocess.Popen([*command, name], cwd=root) for name in "abc"]
    assert [process.wait(120) for process in processes] == [0, 0, 0]
    names = [f"{name}-{n}-{m}" for name in "abc" for n in range(10) for m in range(10)]
    assert all(look(tmp_path / "c", names, Warnings()))


class NoPictures:
    async def encoded(self, picture: Picture) -> EncodedPicture:
        raise AssertionError("a picture was decoded")

    async def pixels(self, picture: Picture) -> PixelPicture:
        raise AssertionError("a picture was decoded")


class Looking(Model):
    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        for picture in request.conversation.pictures:
            await pictures.encoded(picture)
        return await super().ask(request, pictures)


def test_a_hit_asks_no_model_and_decodes_no_picture(tmp_path: Path) -> None:
    job = Job("a", rounds("one", "two", picture=PICTURE))

    async def hold(model: Model, pictures: PictureSource | None, log: Log) -> list[object]:
        outcomes: list[object] = []
        cache = ReplyCache(tmp_path / "c", pytest.fail)
        driver = engine(model, log, cache=cache)
        if pictures is not None:
            driver = Engine(Lane(model), pictures, log, cache=cache)
        await driver.run([job], outcomes.append)
        await cache.close()
        return outcomes

    first, second = Log(), Log()
    model = Looking(echo, weights_known=True)
    asyncio.run(hold(Model(echo, weights_known=True), None, first))
    outcomes = asyncio.run(hold(model, NoPictures(), second))
    assert len(outcomes) == 1
    assert model.asked == []
    assert [r.from_cache for r in first.records + second.records] == [False, False, True, True]
    assert [r.reply for r in first.records] == [r.reply for r in second.records]
    assert [r.cost for r in second.records] == [0.0, 0.0]
