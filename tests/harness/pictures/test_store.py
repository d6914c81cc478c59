"""The store: once per step, ahead of need, bounded, and alive when a worker is not."""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from PIL import Image

from adapters.contract import EncodedPicture
from adapters.conversation import Picture
from harness.pictures import (
    PictureError,
    PicturePolicy,
    PictureStore,
    Recipe,
    built_in_picture,
    decode,
    imaging,
    plan,
    read_size,
    stored_picture,
    zoomed,
)
from tests.harness.pictures.examples import encoded_page, real_page

T = TypeVar("T")
SMALL = PicturePolicy("full", pixels=40_000)
TILES = PicturePolicy("tiles", tile_height=200, tile_overlap=0)


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(work, 300))


def added(
    store: PictureStore, data: bytes, policy: PicturePolicy = SMALL, name: str = "step 3"
) -> tuple[Picture, ...]:
    """The pictures of a screenshot that the store now holds."""
    screenshot = read_size(data)
    store.add(screenshot.digest, data, name)
    return plan(policy, screenshot)


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended but was not yet waited for does not."""
    status = Path(f"/proc/{pid}/stat")
    try:
        os.kill(pid, 0)
        return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_a_worker_gives_the_bytes_that_this_process_would() -> None:
    async def work() -> None:
        data = real_page()
        async with PictureStore(1) as store:
            (picture,) = added(store, data)
            got = await store.encoded(picture)
            expected, media_type = imaging.prepare(data, Recipe.parse(picture.recipe))
            assert (got.data, got.media_type) == (expected, media_type)
            assert (got.width, got.height) == (picture.width, picture.height)

    run(work())


def test_requests_at_the_same_time_share_the_work_and_later_ones_its_result() -> None:
    async def work() -> None:
        async with PictureStore(2) as store:
            (picture,) = added(store, encoded_page())
            got = await asyncio.gather(*(store.encoded(picture) for _ in range(20)))
            assert len({id(one) for one in got}) == 1
            assert await store.encoded(picture) is got[0]
            assert store.stats.prepared == 1

    run(work())


def test_pictures_prepared_ahead_lie_ready() -> None:
    async def work() -> None:
        async with PictureStore(2) as store:
            pictures = added(store, encoded_page(), TILES)
            for picture in pictures:
                store.prepare(picture)
                store.prepare(picture)
            while store.stats.prepared < len(pictures):
                await asyncio.sleep(0.01)
            for picture in pictures:
                await store.encoded(picture)
            assert store.stats.prepared == len(pictures) == 10

    run(work())


def test_no_process_starts_before_a_picture_is_needed_and_none_outlives_the_store() -> None:
    async def work() -> None:
        store = PictureStore(2)
        (picture,) = added(store, encoded_page())
        assert store.worker_pids == ()
        await store.encoded(picture)
        pids = store.worker_pids
        assert len(pids) == 1  # one picture needs one process
        store.close()
        store.close()
        assert not any(map(alive, pids))
        with pytest.raises(PictureError, match="is closed"):
            await store.encoded(picture)

    run(work())


def test_a_killed_worker_is_replaced_and_the_picture_prepared() -> None:
    async def work() -> None:
        async with PictureStore(1) as store:
            first, second, *_ = added(store, encoded_page(), TILES)
            await store.encoded(first)
            (pid,) = store.worker_pids
            os.kill(pid, signal.SIGKILL)
            assert (await store.encoded(second)).width == 640
            assert store.worker_pids != (pid,)

    run(work())


def test_a_picture_that_ends_two_workers_is_an_error_that_names_the_step() -> None:
    async def work() -> None:
        async with PictureStore(1) as store:
            (large,) = added(store, real_page(), PicturePolicy(), "step 9")
            (other,) = added(store, encoded_page())
            await store.encoded(other)
            doomed = asyncio.ensure_future(store.encoded(large))
            killed: set[int] = set()
            while not doomed.done():
                for pid in store.worker_pids:
                    if pid not in killed:
                        os.kill(pid, signal.SIGKILL)
                        killed.add(pid)
                await asyncio.sleep(0.001)
            with pytest.raises(PictureError, match=r"step 9: .*two worker processes.*signal 9"):
                await doomed
            # The first one may have been idle still, and have been replaced unnoticed.
            assert len(killed) in (2, 3)
            store.discard(other.digest)
            (other,) = added(store, encoded_page())
            await store.encoded(other)  # the store goes on

    run(work())


def test_what_does_not_decode_is_an_error_that_names_the_step_and_ends_no_worker() -> None:
    async def work() -> None:
        data = encoded_page()
        async with PictureStore(1) as store:
            (broken,) = added(store, data[: len(data) // 2], name="task_a step 4")
            store.prepare(broken)  # failing ahead of need disturbs nobody
            with pytest.raises(
                PictureError, match=rf"task_a step 4: .*{broken.digest[:12]}.*decode"
            ):
                await store.encoded(broken)
            pids = store.worker_pids
            (fine,) = added(store, data)
            await store.encoded(fine)
            assert store.worker_pids == pids

    run(work())


def test_memory_for_prepared_pictures_is_bounded_and_the_oldest_leave_first() -> None:
    async def work() -> None:
        async with PictureStore(1) as store:
            pictures = added(store, encoded_page(), TILES)
            sizes = [len((await store.encoded(p)).data) for p in pictures]
            assert store.stats.kept_bytes == sum(sizes)
        bound = max(sizes) * 3
        async with PictureStore(1, cache_bytes=bound) as store:
            added(store, encoded_page(), TILES)
            await store.encoded(pictures[0])
            for picture in pictures[1:]:
                await store.encoded(picture)
                await store.encoded(pictures[0])  # used again and again, so it stays
                assert store.stats.kept_bytes <= bound
            assert store.stats.prepared == len(pictures)
        async with PictureStore(1, cache_bytes=1) as store:
            added(store, encoded_page(), TILES)
            assert (await store.encoded(pictures[0])).data
            assert store.stats.kept_bytes == 0

    run(work())


def test_a_screenshot_goes_with_its_last_user_and_its_pictures_with_it() -> None:
    async def work() -> None:
        data = encoded_page()
        async with PictureStore(1) as store:
            (picture,) = added(store, data)
            added(store, data)
            await store.encoded(picture)
            store.discard(picture.digest)
            assert await store.encoded(picture)
            store.discard(picture.digest)
            store.discard(picture.digest)
            assert store.stats.kept_bytes == 0
            with pytest.raises(PictureError, match="not in the picture store"):
                await store.encoded(picture)

    run(work())


def test_closing_does_not_wait_for_work_and_tells_those_who_do() -> None:
    async def work() -> None:
        data = real_page()
        store = PictureStore(2)
        pictures = added(store, data, PicturePolicy("tiles"))
        waiting = [asyncio.ensure_future(store.encoded(p)) for p in pictures]
        await asyncio.sleep(0.05)
        pids = store.worker_pids
        store.close()
        assert not any(map(alive, pids))
        got = await asyncio.gather(*waiting, return_exceptions=True)
        assert isinstance(got[-1], PictureError)

    run(work())


def test_a_caller_that_gives_up_takes_nothing_from_the_others() -> None:
    async def work() -> None:
        async with PictureStore(1) as store:
            (picture,) = added(store, encoded_page())
            patient = asyncio.ensure_future(store.encoded(picture))
            hasty = asyncio.ensure_future(store.encoded(picture))
            await asyncio.sleep(0)
            hasty.cancel()
            assert (await patient).data
            assert store.stats.prepared == 1

    run(work())


def test_a_recipe_for_another_version_of_the_library_is_refused() -> None:
    async def work() -> None:
        async with PictureStore(1) as store:
            (picture,) = added(store, encoded_page())
            recipe = Recipe.parse(picture.recipe)
            old = picture.recipe.replace(f"pillow={recipe.pillow}", "pillow=1.0")
            with pytest.raises(PictureError, match=r"step 3: .*Pillow 1\.0 .*is installed"):
                await store.encoded(Picture(picture.digest, old, 1, 1))
            with pytest.raises(PictureError, match="not the recipe"):
                await store.encoded(Picture(picture.digest, "as it is", 1, 1))
            assert store.worker_pids == ()

    run(work())


INTERRUPTED = """
import asyncio, sys
from harness.pictures import PicturePolicy, PictureStore, plan, read_size
from tests.harness.pictures.examples import encoded_page

async def main():
    data = encoded_page()
    screenshot = read_size(data)
    async with PictureStore(2) as store:
        store.add(screenshot.digest, data)
        policy = PicturePolicy("tiles", tile_height=100, tile_overlap=0)
        for picture in plan(policy, screenshot):
            await store.encoded(picture)
        print(*store.worker_pids, flush=True)
        await asyncio.sleep(60)

try:
    asyncio.run(main())
except KeyboardInterrupt:
    sys.exit(42)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals to a group of processes")
@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 42), (signal.SIGKILL, -9)])
def test_however_the_main_process_ends_the_workers_end_in_silence(sent: int, status: int) -> None:
    main = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert main.stdout is not None
    pids = [int(pid) for pid in main.stdout.readline().split()]
    assert pids
    os.killpg(main.pid, sent)  # as a terminal does: to everybody in the group
    _, complaints = main.communicate(timeout=300)
    assert main.returncode == status
    assert complaints == ""
    deadline = time.monotonic() + 300
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(alive, pids))


def test_pixels_are_those_before_encoding_and_kept_beside_the_bytes() -> None:
    async def work() -> None:
        data = encoded_page()
        async with PictureStore(1) as store:
            (picture,) = added(store, data)
            store.prepare(picture, "pixels")
            got = await store.pixels(picture)
            expected = imaging.pixels(data, Recipe.parse(picture.recipe))
            assert (got.width, got.height) == expected.size == (picture.width, picture.height)
            assert got.data == expected.tobytes()
            assert store.stats.prepared == 1
            encoded = await store.encoded(picture)
            assert encoded.data.startswith(b"\xff\xd8")
            assert store.stats.kept_bytes == len(got.data) + len(encoded.data)
            store.discard(picture.digest)
            assert store.stats.kept_bytes == 0

    run(work())


def test_stored_pictures_are_decoded_on_white() -> None:
    out = io.BytesIO()
    page = Image.new("RGBA", (3, 1), (0, 0, 0, 0))
    page.putpixel((1, 0), (255, 0, 0, 255))
    page.save(out, "PNG")
    decoded = decode(out.getvalue())
    assert (decoded.width, decoded.height) == (3, 1)
    assert decoded.data == b"\xff\xff\xff" + b"\xff\x00\x00" + b"\xff\xff\xff"
    with pytest.raises(PictureError, match="does not decode"):
        decode(out.getvalue()[:40])


def test_stored_pictures_are_given_as_they_are_while_they_are_held() -> None:
    async def main() -> None:
        data = encoded_page(40, 30, "PNG")
        picture = stored_picture(data)
        async with PictureStore(1) as store:
            store.add(picture.digest, data, "step 3")
            store.prepare(picture)
            assert await store.encoded(picture) == EncodedPicture(data, "image/png", 40, 30)
            assert await store.pixels(picture) == decode(data)
            store.discard(picture.digest)
            with pytest.raises(PictureError, match="not in the picture store"):
                await store.encoded(picture)
            assert store.worker_pids == ()

    run(main())


def test_the_built_in_picture_is_always_there() -> None:
    async def main() -> None:
        picture = built_in_picture()
        async with PictureStore(1) as store:
            store.prepare(picture)
            encoded = await store.encoded(picture)
            assert hashlib.sha256(encoded.data).hexdigest() == picture.digest
            pixels = await store.pixels(picture)
            assert pixels.data == b"\x80" * (3 * picture.width * picture.height)

    run(main())


@pytest.mark.parametrize("format", ["PNG", "JPEG"])
def test_a_window_of_a_picture_shows_its_part_at_the_same_size(format: str) -> None:
    page, out = Image.linear_gradient("L").resize((1600, 900)).convert("RGB"), io.BytesIO()
    page.paste((255, 0, 0), (1200, 300, 1400, 400))
    page.save(out, format, quality=95)

    async def work() -> None:
        async with PictureStore(1) as store:
            (whole,) = added(store, out.getvalue())
            window = zoomed(whole, (1300, 350), 0.25)
            assert (window.width, window.height) == (whole.width, whole.height) == (266, 150)
            store.prepare(window, "pixels")
            made = await store.pixels(window)
            shown = Image.frombytes("RGB", (made.width, made.height), made.data)

            def colour(x: int, y: int) -> Any:
                return shown.getpixel((round(x * scale), round(y * scale)))

            # 400 x 225 pixels from (1100, 238): the patch lies from (100, 62) to (300, 162) in it.
            scale = made.width / 400
            for x, y in ((103, 66), (297, 66), (103, 158), (297, 158), (200, 110)):
                red, green, _ = colour(x, y)
                assert red > 220 and green < 40
            for x, y in ((90, 110), (310, 110), (200, 50), (200, 174)):
                red, green, blue = colour(x, y)
                assert abs(red - green) < 20 and abs(red - blue) < 20
            sent = await store.encoded(window)
            assert Image.open(io.BytesIO(sent.data)).size == (266, 150)

    run(work())
