"""Where text can be typed on a page, found as the worker finds it in BrowserGym's browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.benchmarks.episode.browsergym.gym_worker import no_field
from harness.benchmarks.episode.browsergym.program import Gym
from harness.live.snapshot import finding
from tests.harness.live.browsed import Pages, Table, needs_browser

_FRAME = """<iframe style="position:absolute;left:50px;top:40px;border:5px solid"
    srcdoc="<body style=margin:0><input style='position:absolute;left:20px;top:10px'>"></iframe>"""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    folder = tmp_path_factory.mktemp("pages")
    world = Pages({"folder": str(folder)})
    yield Table(world, folder)
    world.close()


@pytest.mark.browser
@needs_browser
@pytest.mark.parametrize(
    ("markup", "point", "why"),
    [
        ("<input>", (30, 20), ""),
        ("<label>Name <input></label>", (15, 20), ""),
        ("<button>Buy now, pay later</button>", (30, 20), "the element takes no text"),
        ("<input type=checkbox style='width:50px;height:20px'>", (30, 20), "the field takes"),
        ("<input readonly>", (30, 20), "the field is read-only"),
        (_FRAME, (80, 65), ""),
        (_FRAME, (60, 120), "the element takes no text"),
        ("<input>", (900, 20), "there is nothing at this point"),
    ],
)
def test_text_is_typed_at_points_that_take_it(
    table: Table, markup: str, point: tuple[int, int], why: str
) -> None:
    table.show(markup)
    found = no_field(table.world.page, [*point], finding())
    assert found.startswith(why) and bool(found) == bool(why)
    scaled = [1.5 * length for length in point]
    vars(table.world.page)["_bgym_scale_factor"] = 1.5
    try:
        assert no_field(table.world.page, scaled, finding()) == found
    finally:
        del vars(table.world.page)["_bgym_scale_factor"]


def test_only_typing_at_a_point_asks_what_is_there() -> None:
    gym = Gym("python", (800, 600))
    typed = {"name": "TYPE", "point": (1, 2), "arguments": {"value": "x"}}
    asked, (point, calls) = gym.message(typed)
    assert (asked, point) == ("type", (1, 2)) and calls.startswith("mouse_click(1, 2)")
    assert gym.message({**typed, "point": None, "element": "7"}) == ("act", "fill('7', 'x')")
    assert gym.message({**typed, "point": None})[0] == "refuse"
