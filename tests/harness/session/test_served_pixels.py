"""Models behind servers that answer in pixels: the size sent is the size that the server makes."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from adapters import Adapter, Generation, Request, make
from harness.benchmarks.grounding.protocol import Grounding
from harness.dialogue import Ask, Dialogue
from harness.pictures import PicturePolicy, PictureStore, Recipe, plan, read_size
from harness.protocols.coordinates import Coordinates
from harness.views import PlaceView, StepView
from parsers.records import Prediction
from tests.harness.commands.tool import ONE_TASK, Called, call, calls, steps
from tests.harness.protocols.examples import step
from tests.servers import WireServer
from tests.servers.pixels import PixelModel, Size

QWEN = "Qwen/Qwen2.5-VL-7B-Instruct"
SIZES = [(1280, 720), (1920, 1080), (3840, 2160), (1280, 5429), (90, 40), (333, 1001)]
WHOLE = PicturePolicy.parse("full:pixels=99999999")
PLACE = (0.7458, 0.3139)
FORM = "qwen2.5-vl"
QWENS = (3_136, 12_845_056)
FAMILIES = {
    QWEN: (QWENS, '{{"point_2d": [{x}, {y}]}}'),
    "ByteDance-Seed/UI-TARS-1.5-7B": (
        (78_400, 12_845_056),
        "Thought: There.\nAction: click(start_box='<|box_start|>({x},{y})<|box_end|>')",
    ),
    "Hcompany/Holo1-7B": ((3_136, 1_003_520), "Click({x}, {y})"),
    "Hcompany/Holo1.5-7B": (
        (3_136, 3_686_400),
        '{{"action": "click_absolute", "x": {x}, "y": {y}}}',
    ),
    "HelloKKMe/GTA1-7B": ((3_136, 8_847_360), "({x},{y})"),
    "xlangai/Jedi-7B-1080p": (
        QWENS,
        '<tool_call>\n{{"name": "computer_use", "arguments": {{"action": "left_click", '
        '"coordinate": [{x}, {y}]}}}}\n</tool_call>',
    ),
}


def page(size: Size) -> bytes:
    out = io.BytesIO()
    Image.linear_gradient("L").resize(size).convert("RGB").save(out, "PNG", compress_level=1)
    return out.getvalue()


def pointed(adapter: Adapter, size: Size) -> tuple[float, float]:
    """Where the model points on a page of this size, in pixels of the page."""
    (point,) = pointed_on(adapter, size)
    return point


def pointed_on(adapter: Adapter, *sizes: Size) -> list[tuple[float, float]]:
    """The same for several pages. Closes the adapter."""

    async def answers() -> list[tuple[float, float]]:
        async with PictureStore(1) as pictures:
            points = [await _pointed(adapter, page(size), pictures) for size in sizes]
        await adapter.close()
        return points

    return asyncio.run(answers())


async def _pointed(adapter: Adapter, data: bytes, pictures: PictureStore) -> tuple[float, float]:
    options: dict[str, Any] = dict(Coordinates.for_model({"form": FORM}, adapter.info))
    (picture,) = plan(WHOLE, read_size(data), (), adapter.info.image_rule)
    pictures.add(picture.digest, data)
    dialogue = Coordinates(**options).dialogue(StepView(step(pictures=[picture]), ()))
    return await _point(dialogue, adapter, pictures)


async def _point(
    dialogue: Dialogue, adapter: Adapter, pictures: PictureStore
) -> tuple[float, float]:
    asked = next(dialogue)
    while True:
        assert isinstance(asked, Ask)
        request = Request(asked.conversation, Generation(), "step", asked.place)
        try:
            asked = dialogue.send(await adapter.ask(request, pictures))
        except StopIteration as stop:
            found: Prediction = stop.value
            assert found.point is not None, found
            return found.point


def served(server: WireServer, model: str = QWEN, **options: object) -> Adapter:
    return make(f"openai:{model}", base_url=server.base_url("openai"), api_key="x", **options)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
def test_points_are_read_back_exactly_and_the_server_resizes_nothing(size: Size) -> None:
    model = PixelModel(PLACE)
    with WireServer(model) as server:
        found = pointed(served(server), size)
    assert model.sent == model.seen
    assert found == pytest.approx((PLACE[0] * size[0], PLACE[1] * size[1]), abs=1e-5)


async def _grounded(adapter: Adapter, size: Size, **options: Any) -> tuple[float, float]:
    """The same when it is asked as its family is in grounding. Closes the adapter."""
    chosen: dict[str, Any] = dict(Grounding.for_model(options, adapter.info))
    protocol = Grounding(**chosen)
    policy, data = PicturePolicy.parse(protocol.needs.picture_policy), page(size)
    shown = plan(policy, read_size(data), (), adapter.info.image_rule)
    async with PictureStore(1) as pictures:
        pictures.add(shown[0].digest, data)
        found = await _point(
            protocol.dialogue(PlaceView("u", "the menu", shown)), adapter, pictures
        )
    await adapter.close()
    return found


@pytest.mark.parametrize(
    ("name", "size"),
    [*((name, (3000, 1500)) for name in FAMILIES), (next(iter(FAMILIES)), (1280, 720))],
)
def test_so_they_are_for_every_family_that_answers_in_pixels(name: str, size: Size) -> None:
    narrow, form = FAMILIES[name]
    for limits in {narrow, QWENS}:
        model = PixelModel(PLACE, limits=limits, form=form)
        with WireServer(model) as server:
            found = asyncio.run(_grounded(served(server, name), size))
        assert model.sent == model.seen
        assert found == pytest.approx((PLACE[0] * size[0], PLACE[1] * size[1]), abs=1e-5)


@pytest.mark.parametrize("size", [(1919, 1079), (1280, 5429)], ids=lambda size: str(size[0]))
def test_so_they_are_for_the_window_of_a_second_question(size: Size) -> None:
    model = PixelModel(PLACE)
    with WireServer(model) as server:
        found = asyncio.run(_grounded(served(server), size, zoom="crop", zoom_share=0.4))
    assert len(model.sent) == 2 and model.sent == model.seen
    for share, side, at in zip(PLACE, size, found, strict=True):
        window = round(0.4 * side)
        first = min(max(round(share * side - window / 2), 0), side - window)
        assert at == pytest.approx(first + share * window, abs=1e-5)


@pytest.mark.parametrize("size", SIZES[:4], ids=lambda size: "x".join(map(str, size)))
def test_a_server_with_limits_of_its_own_is_met_when_they_are_declared(size: Size) -> None:
    limits = (200_704, 1_605_632)
    model = PixelModel(PLACE, limits=limits)
    with WireServer(model) as server:
        adapter = served(server, min_pixels=limits[0], max_pixels=limits[1])
        found = pointed(adapter, size)
    assert model.sent == model.seen
    assert found == pytest.approx((PLACE[0] * size[0], PLACE[1] * size[1]), abs=1e-5)
    settings = adapter.info.settings
    assert (settings["min_pixels"], settings["max_pixels"]) == limits


def test_limits_that_are_not_the_servers_put_every_point_in_the_wrong_place() -> None:
    model = PixelModel(PLACE, limits=(3136, 1_605_632))
    with WireServer(model) as server:
        x, y = pointed(served(server), (3840, 2160))
    assert model.sent == [(3836, 2156)] and model.seen == [(1680, 924)]
    assert (x, y) != pytest.approx((PLACE[0] * 3840, PLACE[1] * 2160), abs=1000)


@pytest.mark.parametrize("details", [False, True], ids=["in all", "apart"])
def test_a_count_of_tokens_that_rules_out_the_size_sent_is_told_once(details: bool) -> None:
    model = PixelModel(PLACE, limits=(3136, 1_003_520), details=details)
    with WireServer(model) as server:
        adapter = served(server)
        pointed_on(adapter, (1280, 720), (1920, 1080), (2000, 1000))
        (notice,) = adapter.notices()
    # 1288 x 728 is within the server's limits, 1932 x 1092 is not.
    counted = "1,222 picture tokens" if details else "prompt tokens"
    assert counted in notice and "make 2,691." in notice
    assert "other limits than 3136 to 12845056 pixels" in notice


def asked(server: WireServer, *args: str | Path) -> Called:
    url = server.base_url("openai")
    options = (
        *ONE_TASK,
        "--no-cache",
        "--adapter-option=preflight=no",
        "--protocol",
        "coordinates",
    )
    return call("--model", QWEN, "--base-url", url, *options, *args)


def test_a_run_sends_what_the_server_makes_and_records_size_and_limits() -> None:
    model = PixelModel()
    with WireServer(model) as server:
        told = asked(server, "--out", "run")
    assert told.code == 0, told.err
    assert model.sent and model.sent == model.seen
    shown = [
        (part["width"], part["height"])
        for line in calls("run")
        for message in line["messages"]
        for part in message["parts"]
        if isinstance(part, dict)
    ]
    assert sorted(shown) == sorted(model.seen)
    for line in steps("run"):
        if line["asked"]:
            (picture,) = line["pictures"]
            left, top, right, bottom = Recipe.parse(picture["recipe"]).box
            centre = ((left + right) / 2, (top + bottom) / 2)
            assert line["prediction"]["point"] == pytest.approx(centre, abs=1e-5)
    recorded = json.loads(Path("run/manifest.json").read_bytes())["model"]["settings"]
    assert (recorded["min_pixels"], recorded["max_pixels"]) == (3136, 12_845_056)


def test_a_run_whose_pictures_had_another_size_is_not_gone_on_with() -> None:
    with WireServer(PixelModel()) as server:
        assert asked(server, "--out", "run").code == 0
        manifest = Path("run/manifest.json")
        stored = json.loads(manifest.read_bytes())
        for name in ("min_pixels", "max_pixels"):
            del stored["model"]["settings"][name]
        manifest.write_text(json.dumps(stored))
        told = asked(server, "--out", "run")
    assert told.code == 2
    assert "max_pixels" in told.err and "12845056 now" in told.err
