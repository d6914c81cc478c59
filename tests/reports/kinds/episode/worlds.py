"""Runs of made-up episodes on disk: forms with coloured buttons, drawn here."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from adapters.conversation import Picture, Reply, Usage
from harness.page import Box
from harness.pictures import PicturePolicy, Screenshot, plan
from harness.runs import (
    ActRecord,
    Blobs,
    CallRecord,
    MessageRecord,
    RunDirectory,
    Setup,
    Unit,
    digest_of,
)
from parsers import Declaration, Prediction, Status
from parsers.actions import Action
from parsers.declaration import Group, Level, Measure
from tests.reports.view.pages import HOSTILE

SMALL, WIDE = (320, 420), (1280, 720)
DECLARED = Declaration(
    measures=(
        Measure("success", "Success", "episodes done", main=True),
        Measure("earned", "Reward", "reward from 0 to 1"),
    ),
    levels=(Level("form"),),
    groups=(Group("split", "the split", whole="form"),),
    kind="episode",
)


def picture(size: tuple[int, int], step: int) -> bytes:
    """A form with three buttons and the number of the step; PNG."""
    image = Image.new("RGB", size, (255, 255, 255))
    pen, (width, height) = ImageDraw.Draw(image), size
    pen.rectangle((0, 0, width, height // 5), fill=(255, 255, 120))
    pen.text((8, 8), f"Step {step}: choose the right one.", fill=(0, 0, 0))
    for place, colour in enumerate(((220, 60, 60), (60, 160, 60), (60, 80, 220))):
        pen.rectangle(button(size, place)[1], fill=colour)
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def button(
    size: tuple[int, int], place: int
) -> tuple[tuple[float, float, float, float], tuple[float, float, float, float]]:
    """A button's (x, y, width, height), and its edges."""
    width, height = size[0] / 4, size[1] / 9
    x, y = size[0] * (0.08 + 0.3 * place), size[1] * (0.35 + 0.15 * place)
    return (x, y, width, height), (x, y, x + width, y + height)


@dataclass(frozen=True)
class Played:
    """An episode: what was done in each step (None for nothing), and how it ended."""

    actions: Sequence[Action | None]
    end: str
    reward: float | None = None
    size: tuple[int, int] = SMALL
    status: Status = Status.ANSWERED
    invalid: str | None = None
    error: str = ""
    said: str = ""


def click(place: int, value: str = "") -> Action:
    """A click on a button, or something typed into it."""
    if not value:
        return Action("CLICK", str(place))
    return Action("TYPE", str(place), arguments={"value": value})


def point(place: int, size: tuple[int, int] = SMALL) -> Action:
    """A click at the middle of a button."""
    x, y, width, height = button(size, place)[0]
    return Action("CLICK", point=(x + width / 2, y + height / 2))


EPISODES = (
    Played([click(1, "Ohio"), point(2)], "solved", 1.0),
    Played([click(0), None, click(2)], "wrong button", 0.0, said=HOSTILE[0]),
    Played([click(0)] * 4, "step limit"),
    Played([click(0), point(1), click(2), point(0)], "step limit"),
    Played([point(1), Action("STOP")], "stopped"),
    Played([None, None, None], "no action", status=Status.PARSE_ERROR),
    Played([click(1), None], "", invalid="environment_error", error="timeout: no observation"),
    Played([click(1), click(2)], HOSTILE[1], 0.5, error=HOSTILE[2]),
)


def _call(unit: str, place: str, reply: Reply, **more: Any) -> CallRecord:
    sent = more.pop("messages", ())
    id = f"{unit}/0/{place}"
    return CallRecord(id, unit, 0, place, "key", "digest", sent, reply, cost=0.0, **more)


def _act(unit: str, place: str, action: Any, content: Any, blobs: dict[str, str]) -> CallRecord:
    acted = ActRecord(action, content, blobs)
    return _call(unit, place, Reply("", latency_s=0.1), act=acted)


def shown(digest: str, size: tuple[int, int]) -> Picture:
    """A picture as a model is sent it, with the buttons marked."""
    boxes = [(letter, Box(*button(size, place)[0])) for place, letter in enumerate("ABC")]
    return plan(PicturePolicy(encoder="png"), Screenshot(digest, *size), letters=boxes)[0]


def _calls(unit: str, played: Played, shots: Sequence[str]) -> list[CallRecord]:
    """What is on record: the beginning, then for every step a question and an action."""

    def seen(step: int, **more: Any) -> dict[str, Any]:
        return {
            "goal": f"Form {unit}",
            "url": "about:blank",
            "title": HOSTILE[0],
            "ended": False,
            "reward": None,
            "reason": "",
            "error": "",
            "viewport": list(played.size),
            "screenshot": shots[step],
            "page": "",
        } | more

    def act(place: str, action: Any, step: int, **more: Any) -> CallRecord:
        return _act(unit, place, action, seen(step, **more), {"screenshot": shots[step]})

    calls = [act("begin", None, 0)]
    last = max((n for n, one in enumerate(played.actions) if one is not None), default=-1)
    for step, action in enumerate(played.actions):
        text = played.said or f"I choose action {step + 1}. " + "Because of this, and of that. " * 3
        look = max((n + 1 for n in range(step) if played.actions[n] is not None), default=0)
        asked = (MessageRecord("user", ("What next?", shown(shots[look], played.size))),)
        reply = Reply(text, usage=Usage(300, output=20), model="model-1")
        calls.append(_call(unit, f"{step + 1}/only", reply, messages=asked))
        if action is None:
            continue
        x, y, width, height = button(played.size, int(action.element or 0))[0]
        plain = {
            "name": action.name,
            "element": action.element,
            "point": action.point,
            "arguments": dict(action.arguments),
            "told": f"[button]  Choice {action.element} -> {action.name}" if action.element else "",
            "box": (x, y, width, height) if action.element else None,
        }
        end: dict[str, Any] = {}
        if step == last and played.reward is not None:
            end = {"ended": True, "reward": played.reward, "reason": played.end}
        if step == 0 and played.error and played.invalid is None:
            end |= {"error": played.error}
        calls.append(act(f"act-{step + 1}", plain, step + 1, **end))
    return calls


def episode(number: int, played: Played, calls: Sequence[CallRecord]) -> Unit[Any]:
    """The line of an episode."""
    sent = (part for call in calls for one in call.messages for part in one.parts)
    actions = [one for one in played.actions if one is not None]
    parsed = {"reward": played.reward, "steps": len(played.actions), "end": played.end}
    said = Prediction(played.status, actions[-1] if actions else None, parsed=parsed)
    counted = played.invalid is None
    reward = played.reward or 0.0
    return Unit(
        kind="episode",
        unit_id=f"form-{number // 2}/{number % 2}",
        benchmark="forms",
        split="test",
        parents={"form": f"form-{number // 2}"},
        goal=f"Choose the right one of form {number // 2}.",
        asked=True,
        settled=True,
        invalid=played.invalid,
        error=played.error if played.invalid else None,
        pictures=tuple(dict.fromkeys(part for part in sent if isinstance(part, Picture))),
        calls=tuple(call.id for call in calls),
        prediction=said if counted else None,
        scores={"success": float(reward == 1), "earned": reward} if counted else None,
        usage=Usage(300, output=20),
        cost=0.0,
        detail={"asked": {"parameters": {"seed": number}, "max_steps": 4}, "gold": {}},
    )


def forms(path: Path, episodes: Sequence[Played] = EPISODES, *, blobs: bool = True) -> Path:
    """A run of these episodes."""
    setup = Setup(
        config={"benchmark": "forms", "repeats": 1},
        model={"name": path.name},
        dataset={"rows": len(episodes)},
        declaration=DECLARED,
    )
    with RunDirectory.start(path, setup) as run:
        for number, played in enumerate(episodes):
            shots = [picture(played.size, step) for step in range(len(played.actions) + 1)]
            digests = [Blobs(path).put(one) if blobs else digest_of(one) for one in shots]
            calls = _calls(f"form-{number // 2}/{number % 2}", played, digests)

            async def record(made: Sequence[CallRecord] = calls) -> None:
                for one in made:
                    await run.record_call(one)

            asyncio.run(record())
            run.append_step(episode(number, played, calls))
        run.finish({}, complete=True)
    return path
