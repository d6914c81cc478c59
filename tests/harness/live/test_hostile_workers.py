"""Pages that never answer end their episode and not the run; only named hosts are reached."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from adapters.contract import Fault
from harness.live.contract import Seen
from harness.live.pool import TimeLimits, Worlds
from tests.harness.live.browsed import ENTRY, needs_browser
from tests.harness.live.listening import Listening, sending

pytestmark = [pytest.mark.browser, needs_browser]

PAGE = """<body><button id=b style="position:absolute; left:0; top:0; width:100px; height:100px">
Go</button><script>b.onclick = () => {{ {} }}</script>"""


NEVER = (
    "while (true);",
    "for (;;) alert(1)",
    "window.close()",
    "setInterval(() => location.reload())",
    "document.body.innerHTML = '<p title=abc>some text here</p>'.repeat(1e6)",
)


async def click(worlds: Worlds, page: str, times: int = 1) -> None:
    episode = await worlds.open({"page": page})
    with suppress(Fault):
        await episode.act(None)
        for _ in range(times):
            await episode.act({"name": "CLICK", "point": [100, 100]})
    await episode.close()


async def look(worlds: Worlds, page: str) -> Seen:
    """Begin an episode; the browser may still have to do with the page before at first."""
    for _ in range(3):
        episode = await worlds.open({"page": page})
        try:
            return Seen.from_plain((await episode.act(None)).content)
        except Fault:
            continue
        finally:
            await episode.close()
    raise AssertionError("no episode begins")


def test_the_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / "next.html").write_text("<title>next</title>")
    for number, script in enumerate(NEVER):
        (tmp_path / f"{number}.html").write_text(PAGE.format(script))

    async def play() -> list[str]:
        limits = TimeLimits(step_s=4)
        worlds = Worlds(ENTRY, {"folder": str(tmp_path)}, count=1, limits=limits)
        titles = []
        for number in range(len(NEVER)):
            await click(worlds, f"{number}.html", times=2)
            titles.append((await look(worlds, "next.html")).title)
        await worlds.close()
        return titles

    assert asyncio.run(play()) == ["next"] * len(NEVER)


def test_only_a_host_that_the_world_names_is_reached(tmp_path: Path) -> None:
    async def play(named: Listening, other: Listening) -> bool:
        ways = sending(*named.ports)["socket"], sending(*other.ports)["localhost"]
        (tmp_path / "index.html").write_text(PAGE.format("; ".join(ways)))
        options = {"folder": str(tmp_path), "hosts": ["127.0.0.1"]}
        worlds = Worlds(ENTRY, options, count=1, limits=TimeLimits())
        came = False
        for _ in range(3):
            # A busy machine may fail an episode; what the page sends is what is asked here.
            await click(worlds, "index.html")
            came = came or await asyncio.to_thread(named.came.wait, 10)
        await worlds.close()
        return came

    with Listening() as named, Listening() as other:
        assert asyncio.run(play(named, other))
        assert not other.came.is_set()
