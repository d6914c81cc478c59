"""Prepared pictures on disk: the bytes that would be made, or none."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.contract import EncodedPicture
from adapters.conversation import Picture
from harness.pictures import PicturePolicy, PictureStore, Recipe, plan, read_size
from harness.pictures.disk import DiskPictures
from tests.harness.commands.tool import ONE_TASK, at, call, isolate, replying
from tests.harness.pictures.examples import encoded_page
from tests.servers import WireServer

POLICY = PicturePolicy("full", pixels=20_000)


def silent(line: str) -> None:
    pytest.fail(line)


def pictures(count: int) -> list[tuple[bytes, Picture]]:
    """Screenshots, and the one picture of each."""
    made = []
    for number in range(count):
        data = encoded_page(200 + number, 300)
        [picture] = plan(POLICY, read_size(data))
        made.append((data, picture))
    return made


async def prepared(
    disk: DiskPictures | None, wanted: list[tuple[bytes, Picture]]
) -> tuple[list[bytes], int, int]:
    """The pictures, how many were made, and how many found."""
    async with PictureStore(1, disk=disk) as store:
        found = []
        for data, picture in wanted:
            store.add(picture.digest, data)
            found.append((await store.encoded(picture)).data)
            store.discard(picture.digest)
        assert bool(store.worker_pids) == bool(store.stats.prepared)
        return found, store.stats.prepared, store.stats.found


def test_another_run_finds_the_same_bytes_and_starts_no_process(tmp_path: Path) -> None:
    wanted = pictures(3)
    plain, made, found = asyncio.run(prepared(None, wanted))
    assert (made, found) == (3, 0)
    first = asyncio.run(prepared(DiskPictures(tmp_path / "p", 10**9, silent), wanted))
    assert first == (plain, 3, 0)
    second = asyncio.run(prepared(DiskPictures(tmp_path / "p", 10**9, silent), wanted))
    assert second == (plain, 0, 3)


def cut(path: Path, other: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


def torn(path: Path, other: Path) -> None:
    path.write_bytes(path.read_bytes()[:30])


def changed(path: Path, other: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-100] ^= 1
    path.write_bytes(data)


def empty(path: Path, other: Path) -> None:
    path.write_bytes(b"")


def swapped(path: Path, other: Path) -> None:
    shutil.copy(other, path)


def no_picture(path: Path, other: Path) -> None:
    path.write_bytes(b"\xff" * 40_000)


@pytest.mark.parametrize("damage", [cut, torn, changed, empty, swapped, no_picture])
def test_damaged_entries_are_ignored_and_made_again(
    tmp_path: Path, damage: Callable[[Path, Path], None]
) -> None:
    wanted = pictures(2)
    plain, *_ = asyncio.run(prepared(DiskPictures(tmp_path, 10**9, silent), wanted))
    entries = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert len(entries) == 2
    damage(entries[0], entries[1])
    again = asyncio.run(prepared(DiskPictures(tmp_path, 10**9, silent), wanted))
    assert again == (plain, 1, 1)
    assert asyncio.run(prepared(DiskPictures(tmp_path, 10**9, silent), wanted)) == (plain, 0, 2)


def test_the_folder_is_bounded_and_keeps_what_was_used_last(tmp_path: Path) -> None:
    wanted = pictures(1)
    _, picture = wanted[0]
    recipe = Recipe.parse(picture.recipe)
    [data], *_ = asyncio.run(prepared(None, wanted))
    disk = DiskPictures(tmp_path, 30 * (len(data) + 500), silent)
    prepared_picture = asyncio.run(_encoded(wanted[0]))
    for number in range(100):
        disk.put(f"{number:064}", recipe, prepared_picture)
        # Times of files may be coarse.
        for path in tmp_path.rglob("*"):
            if path.is_file() and path.stat().st_mtime > 10**9:
                os.utime(path, (number + 1, number + 1))
        assert disk.get(f"{0:064}", recipe) is not None
        for path in tmp_path.rglob("*"):
            if path.is_file() and path.stat().st_mtime > 10**9:
                os.utime(path, (number + 1, number + 1))
    size = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    assert size <= 30 * (len(data) + 500)
    kept = [n for n in range(100) if disk.get(f"{n:064}", recipe) is not None]
    assert kept[0] == 0 and kept[1:] == list(range(100 - len(kept) + 1, 100))
    assert len(kept) > 15


async def _encoded(wanted: tuple[bytes, Picture]) -> EncodedPicture:
    async with PictureStore(1) as store:
        store.add(wanted[1].digest, wanted[0])
        return await store.encoded(wanted[1])


def test_a_folder_that_cannot_be_written_is_told_of_once(tmp_path: Path) -> None:
    (tmp_path / "p").write_text("a file")
    lines: list[str] = []
    disk = DiskPictures(tmp_path / "p", 10**9, lines.append)
    wanted = pictures(3)
    _, made, found = asyncio.run(prepared(disk, wanted))
    assert (made, found) == (3, 0)
    assert lines == [
        f"warning: cannot store prepared pictures in {tmp_path / 'p'} (Not a directory)"
    ]


def test_a_run_sends_the_same_with_pictures_of_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path)
    with WireServer(replying()) as server:
        line = at(server, *ONE_TASK, "--no-cache", "--picture-cache", "1", "--cache-dir", "c")
        assert call(*line, "--out", "a").code == 0
        entries = set(Path("c/pictures").rglob("*"))
        asked = sorted(str(ask.body) for ask in server.asks)
        server.asks.clear()
        assert call(*line, "--out", "b").code == 0
        assert sorted(str(ask.body) for ask in server.asks) == asked
        assert set(Path("c/pictures").rglob("*")) == entries
        assert call(*at(server, *ONE_TASK), "--no-cache", "--cache-dir", "c").code == 2
