"""The worked cases of tools: a fake server replies, an adapter reads, the protocol predicts."""

from __future__ import annotations

import asyncio
import json
import os
from base64 import b64decode
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from adapters import Adapter, EncodedPicture, Generation, Picture, PixelPicture, Reply, Request
from harness.benchmarks.step.scene import PageScene
from harness.dialogue import Ask
from harness.native.protocol import Native
from harness.page import Page
from harness.pictures import PicturePolicy, Recipe, Screenshot, plan
from harness.protocols import open_protocol
from harness.records import Earlier, Step
from harness.views import LiveView, PlaceView, ScreenView, StepView
from parsers.actions import Action
from parsers.records import Box, Choice, Description, Prediction, StepInfo
from parsers.screen import BEYOND, Device, Past, Task, parts
from tests.adapters.support import adapter_for as _adapter_for
from tests.servers import Answer, Provider, WireServer

Case = Mapping[str, Any]
WIRES: Mapping[str, Provider] = {
    "chat": "openai",
    "openai": "responses",
    "anthropic": "anthropic",
    "google": "google",
}
DEVICES: Mapping[str, Device] = {"phone": "phone", "desktop": "computer"}


class Pictures:
    """A source whose bytes say what they show: part of the original, size, and which picture."""

    async def encoded(self, picture: Picture) -> EncodedPicture:
        box = Recipe.parse(picture.recipe).box
        number = picture.digest[-1].replace("d", "1")
        data = json.dumps([box, [picture.width, picture.height], f"P{number}"]).encode()
        return EncodedPicture(data, "image/png", picture.width, picture.height)

    async def pixels(self, picture: Picture) -> PixelPicture:
        raise NotImplementedError


def _folder() -> Path | None:
    root = os.environ.get("VLM_EVAL_TEST_DATA")
    return Path(root) / "native-tools" if root else None


def cases(kind: str, tools: Sequence[str]) -> list[Any]:
    """The cases of a type about pictures and screens that are asked through one of these tools."""
    return _of_type(
        kind,
        lambda case: (
            case["provider"] in WIRES
            and case["tool"] in tools
            and case["unit"].startswith(("g-", "s-", "w-", "l-"))
        ),
    )


def of_wires(kind: str, providers: Collection[str]) -> list[Any]:
    """The cases of a type that are about a provider's wire alone."""
    return _of_type(kind, lambda case: case["provider"] in providers)


def comparisons() -> list[Any]:
    """The cases about two arms of one model."""
    return _of_type("compare", lambda case: True)


def _of_type(kind: str, wanted: Callable[[Case], bool]) -> list[Any]:
    folder = _folder()
    if folder is None:
        return [pytest.param(None, marks=pytest.mark.skip("VLM_EVAL_TEST_DATA is not set"))]
    listed = map(json.loads, (folder / "cases.jsonl").read_text("utf-8").splitlines())
    return [
        pytest.param(case, id=case["id"])
        for case in listed
        if case["type"] == kind and "scope" not in case and wanted(case)
    ]


@cache
def _units() -> Any:
    folder = _folder()
    assert folder is not None
    return json.loads((folder / "units.json").read_text("utf-8"))["units"]


def picture_of(case: Case, number: int = 1) -> Picture:
    """The picture of a case's unit as it goes out; on a live page, the one of that number."""
    width, height = _units()[case["unit"]]["size"]
    sent = tuple(case["sent"])

    class Rule:
        max_side = max_bytes = seen = None
        source = ""

        def fit(self, width: int, height: int) -> tuple[int, int]:
            return sent

        def tokens(self, width: int, height: int) -> None:
            return None

    policy = PicturePolicy.parse("full:pixels=33177600")
    digest = "d" * 63 + ("d" if number == 1 else str(number))
    shown = Screenshot(digest, width, height)
    (picture,) = plan(policy, shown, rule=Rule())  # type: ignore[arg-type]
    assert (picture.width, picture.height) == sent
    return picture


def live_of(case: Case, number: int, failure: str = "", memory: Any = None) -> LiveView:
    """A live page with two fields, after an action that may have failed."""
    unit = _units()[case["unit"]]
    choices = tuple(
        Choice("", node, "input", "", Box(10, 20 * place, 100, 15), description=Description())
        for place, node in enumerate(("11", "12"), 1)
    )
    info = StepInfo("t", "u", 0, 1, "miniwob", "test", "", "", "", unit["task"])
    before = (Earlier(outcome=failure),)
    step = Step("u", info, (), (picture_of(case, number),), before=before, page_size=(320, 420))
    return LiveView(step, choices, {} if memory is None else memory)


def step_of(unit: Any, picture: Picture) -> StepView:
    """A recorded page with its elements."""
    folder = _folder()
    assert folder is not None
    page = json.loads((folder / "units.json").read_text("utf-8"))["pages"][unit["page"]]
    choices = tuple(
        Choice(
            "",
            one["node"],
            one["tag"],
            "",
            Box(*one["box"]) if one["box"] else None,
            description=Description(one["role"], one.get("type", ""), (one["name"],)),
        )
        for one in page
    )
    html = ""
    for one in page:
        html += f'<{one["tag"]} backend_node_id="{one["node"]}">'
        html += "" if one["tag"] == "select" else f"</{one['tag']}>"
        html += "</select>" if one["name"] == "Large" else ""
    scene = PageScene(
        Page.parse(f"<html>{html}</html>"), choices, PicturePolicy(), None, None, None
    )
    info = StepInfo("t", "u", 0, 1, "mind2web", "test", "", "", "", unit["task"])
    size = tuple(unit["size"])
    step = Step("u", info, tuple(unit["before"]), (picture,), scene=scene, page_size=size)
    return StepView(step, choices)


def view_of(case: Case) -> PlaceView | ScreenView | StepView:
    """What is shown of a case's unit."""
    unit = _units()[case["unit"]]
    if unit["kind"] == "live":
        return live_of(case, 1)
    if unit["kind"] == "web":
        return step_of(unit, picture_of(case))
    if unit["kind"] == "grounding":
        return PlaceView("u", unit["instruction"], (picture_of(case),))
    has = [name for name in BEYOND if unit["device"] == "phone"]
    if not unit["ends"]:
        has = [name for name in has if name not in ("answer", "complete", "impossible")]
    task = Task(
        goal=unit["goal"],
        size=tuple(unit["size"]),
        before=tuple(Past(Action(**one)) for one in unit["before"]),
        script=unit["script"],
        device=DEVICES[unit["device"]],
        has=tuple(has),
    )
    return ScreenView("u", task, (picture_of(case),))


def protocol_of(case: Case, adapter: Adapter, **options: Any) -> Native:
    """The protocol with the options of a case."""
    named = ("turns", "zoom", "coordinates", "refusals", "pairs", "safety")
    given = {name: case[name] for name in named if name in case}
    given |= {name: value for name, value in case.get("settings", {}).items() if name in named}
    protocol = open_protocol(
        "native",
        {"tool": case["tool"], **given, **options},
        model=adapter.info,
        View=type(view_of(case)),
    )
    assert isinstance(protocol, Native)
    return protocol


def adapter_for(case: Case, server: WireServer) -> Adapter:
    """The adapter of a case's model."""
    return _adapter_for(WIRES[case["provider"]], server, model=case["model"])


def replying(bodies: Sequence[Any]) -> Any:
    """A server's reaction: these bodies, one after the other."""
    waiting: Iterator[Any] = iter(bodies)
    return lambda asked: Answer(raw=json.dumps(next(waiting)).encode())


def asked(case: Case, adapter: Adapter, protocol: Native) -> Prediction:
    """Hold the dialogue about a case, and return its prediction."""

    async def run() -> Prediction:
        dialogue = protocol.dialogue(view_of(case))
        generation = Generation(
            max_tokens=case.get("settings", {}).get("max_tokens", 1024),
            effort=case.get("settings", {}).get("effort"),
        )
        try:
            ask = next(dialogue)
            while True:
                assert isinstance(ask, Ask)
                request = Request(ask.conversation, generation, "u", ask.place)
                reply = await adapter.ask(request, Pictures())
                assert isinstance(reply, Reply)
                ask = dialogue.send(reply)
        except StopIteration as stop:
            found: Prediction = stop.value
            return found
        finally:
            await adapter.close()

    return asyncio.run(run())


def compare(found: Prediction, expected: Case) -> None:
    """Assert that a prediction is the expected one."""
    assert str(found.status) == expected["status"]
    assert list(found.flags) == sorted(expected["flags"])
    compare_action(found, expected["action"])


def compare_action(found: Prediction, wanted: Any) -> None:
    """Assert that the action of a prediction is the expected one."""
    if wanted is None:
        assert found.action is None
        return
    assert found.action is not None
    listed = wanted.get("several", [wanted])
    actions = parts(found.action)
    assert [one.name for one in actions] == [one["name"] for one in listed]
    for action, one in zip(actions, listed, strict=True):
        assert action.element == one.get("element")
        if one.get("point") is None:
            assert action.point is None
        else:
            assert action.point == pytest.approx(one["point"], abs=0.01)
        assert dict(action.arguments) == pytest.approx(one["arguments"], abs=0.01)


def matches(found: Any, wanted: Any, case: Case, first: Any = None) -> bool:
    """Whether part of a body is as wanted: objects may have more, lists are whole.

    Words that begin with @ stand for pictures, for the first message, or for texts of ours.
    """
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            name in found and matches(found[name], one, case, first) for name, one in wanted.items()
        )
    if isinstance(wanted, list) and len(wanted) == 1 and str(wanted[0]).startswith("@tools:"):
        names = [one.get("name") or one["type"] for one in found]
        return bool(names == wanted[0].partition(":")[2].split(","))
    if wanted == "@any":
        return True
    if isinstance(wanted, str) and wanted.startswith("@functions:"):
        return [one["name"] for one in found] == wanted.partition(":")[2].split(",")
    if isinstance(wanted, list):
        return (
            isinstance(found, list)
            and len(found) == len(wanted)
            and all(
                matches(one, other, case, first) for one, other in zip(found, wanted, strict=True)
            )
        )
    if not isinstance(wanted, str) or not wanted.startswith("@"):
        return bool(found == wanted)
    word, _, name = wanted[1:].partition(":")
    if word in ("data", "b64"):
        box, size, shown = json.loads(b64decode(found.rpartition(",")[2]))
        crop = case.get("pictures", {}).get(name)
        if crop is None:
            return bool(size == case["sent"] and shown == name)
        return bool(size == crop["size"] and box == pytest.approx(crop["box"], abs=1))
    if word == "first":
        return bool(found == first)
    return bool(found) and all(one in str(found) for one in name.split(","))


def is_absent(body: Any, path: str) -> bool:
    """Whether a body has nothing under a path such as `tools[0].name`."""
    for step in path.replace("[", ".").replace("]", "").split("."):
        try:
            body = body[int(step)] if isinstance(body, list) else body[step]
        except (KeyError, IndexError, TypeError):
            return True
    return False
