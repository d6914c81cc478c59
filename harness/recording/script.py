"""Scripts: actions to record without a person, for tests and demonstrations.

    goal = "Find the Spanish book in the catalogue"
    steps = [
      { op = "TYPE", at = "input[name=q]", value = "luz" },
      { op = "ENTER", at = "input[name=q]" },
      { op = "CLICK", at = "text=Luz de invierno" },
    ]

The browser's mouse and keyboard perform them, so they are recorded like a person's actions. A file
may hold several under `[[task]]`, each with a name: `FILE#NAME` is one of them.
"""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from adapters.input_files import file_text
from harness.errors import UserError, suggestion

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page

    from harness.recording.recorder import Recorder

ScriptOp = Literal[
    "CLICK", "TYPE", "SELECT", "ENTER", "PRESS", "HOVER", "DRAG", "GOTO", "BACK", "WAIT",
    "UNDO", "SECRET",
]  # fmt: skip
MOVE_S = 60.0
"""Limit for one move, with what is recorded of it, in seconds."""
_LOOKS = 20
_LOOK_MS = 1_000
_ELSEWHERE = ("GOTO", "BACK", "UNDO")
_VALUED = {
    "SELECT": "an option", "PRESS": "a key", "DRAG": "a selector", "GOTO": "an address",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Move:
    """A line of a script.

    op: the action. PRESS presses the key `value`, DRAG drags to the element `value`, WAIT waits
        for an element, UNDO and SECRET are commands of the recorder.
    at: selector of the element; `frame >> element` (`>>>`) leads into frames.
    value: the text to type, the option to select, or the address to go to.
    hover: selector of an element to point at first.
    key: the key that presses the element, instead of the mouse.
    times: number of presses of the mouse button.
    accept: True to accept dialogs that it opens, False to dismiss them.
    """

    op: ScriptOp
    at: str = ""
    value: str = ""
    hover: str = ""
    key: str = ""
    times: int = 1
    accept: bool = True
    picture: str = ""


@dataclass(frozen=True, slots=True)
class Script:
    """A task and its actions."""

    goal: str
    moves: tuple[Move, ...]


def read_script(file: str) -> Script:
    """Read a script, or one of several in a file as `FILE#NAME`.

    Raises:
        UserError: the file is not a script; the message names the step.
    """
    name, _, wanted = file.partition("#")
    try:
        content = tomllib.loads(file_text(Path(name)))
    except OSError as error:
        raise UserError(f"--script {name}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"--script {name}: not TOML: {error}") from None
    if wanted:
        tasks = {str(task.get("name")): task for task in content.get("task", ())}
        if wanted not in tasks:
            raise UserError(f"--script {name}: no task '{wanted}'; {suggestion(wanted, tasks)}")
        content = tasks[wanted]
    goal, steps = content.get("goal"), content.get("steps")
    if not isinstance(goal, str) or not goal.strip() or not isinstance(steps, list):
        hint = " (FILE#NAME is one of its tasks)" if "task" in content else ""
        raise UserError(f"--script {name}: needs goal, a text, and steps, a list{hint}")
    return Script(goal, tuple(_move(name, at, step) for at, step in enumerate(steps, start=1)))


def _move(name: str, at: int, step: Any) -> Move:
    known = {part.name: part for part in fields(Move)}
    where = f"--script {name}, step {at}"
    if not isinstance(step, Mapping):
        raise UserError(f"{where}: not a table")
    for key, value in step.items():
        if key not in known:
            raise UserError(f"{where}: unknown key '{key}'; {suggestion(key, known)}")
        kind = {"times": int, "accept": bool}.get(key, str)
        if type(value) is not kind:
            raise UserError(f"{where}: {key} is {value!r}, not of type {kind.__name__}")
    if step.get("op") not in get_args(ScriptOp):
        raise UserError(f"{where}: op is one of {', '.join(get_args(ScriptOp))}")
    if not step.get("at") and step["op"] not in (*_ELSEWHERE, "PRESS"):
        raise UserError(f"{where}: {step['op']} needs at, a selector")
    if step["op"] in _VALUED and not step.get("value"):
        raise UserError(f"{where}: {step['op']} needs value, {_VALUED[step['op']]}")
    return Move(**step)


async def play(script: Script, page: Page, recorder: Recorder) -> None:
    """Perform the actions of a script, each when the one before it has been recorded.

    Raises:
        UserError: an action is not possible, or takes longer than `MOVE_S`.
    """
    from playwright.async_api import Error

    for at, move in enumerate(script.moves, start=1):
        page = _current(page)
        accept = move.accept
        dialogs = _Dialogs(accept)
        page.on("dialog", dialogs)
        try:
            async with asyncio.timeout(MOVE_S):
                await _make(move, page, recorder)
                await recorder.calm()
        except (Error, UserError, TimeoutError) as error:
            late = f"the page was still busy after {MOVE_S:g} seconds"
            reason = (str(error) or late).splitlines()[0].rstrip(":")
            raise UserError(f"step {at} of the script ({move.op} {move.at}): {reason}") from None
        finally:
            page.remove_listener("dialog", dialogs)


class _Dialogs:
    def __init__(self, accept: bool) -> None:
        self._accept = accept

    async def __call__(self, dialog: Any) -> None:
        await (dialog.accept() if self._accept else dialog.dismiss())


def _current(page: Page) -> Page:
    """Return the page that was opened last."""
    return page.context.pages[-1]


async def _make(move: Move, page: Page, recorder: Recorder) -> None:
    if move.op == "UNDO":
        await recorder.do(recorder.undo)
        return
    if move.op == "GOTO":
        await page.goto(move.value)
        return
    if move.op == "BACK":
        await page.go_back()
        return
    if move.op == "PRESS" and not move.at:
        await page.keyboard.press(move.value)
        return
    if move.op == "WAIT":
        await _wait(page, move.at)
        return
    element = _element(page, move.at)
    await element.wait_for(state="attached")
    if move.hover:
        await page.hover(move.hover)
    if move.op == "SECRET":
        recorder.marking = True
    if move.key:
        await element.focus()
        await page.keyboard.press(move.key)
        return
    match move.op:
        case "PRESS" | "ENTER":
            if not await element.evaluate("one => one.matches(':focus')"):
                await element.focus()
            await page.keyboard.press("Enter" if move.op == "ENTER" else move.value)
        case "HOVER":
            await page.mouse.move(*await _middle(element))
        case "DRAG":
            await page.mouse.move(*await _middle(element))
            await page.mouse.down()
            await page.mouse.move(*await _middle(_element(page, move.value)), steps=4)
            await page.mouse.up()
        case "TYPE" if await element.evaluate("one => one.matches(`input[type*=date]`)"):
            # A press would be on the day, the month or the year.
            await element.focus()
            await page.keyboard.type(move.value)
        case "TYPE":
            await page.mouse.click(*await _middle(element))
            await recorder.calm()
            await page.keyboard.press("Control+a")
            await page.keyboard.type(move.value)
        case "SELECT":
            await _select(element, move.value, page, recorder)
        case _:
            await page.mouse.click(*await _middle(element), click_count=move.times)


async def _wait(page: Page, selector: str) -> None:
    """Wait for an element, also on a page that has not been opened yet."""
    from playwright.async_api import TimeoutError

    for _ in range(_LOOKS):
        with suppress(TimeoutError):
            await _element(_current(page), selector).wait_for(timeout=_LOOK_MS)
            return
    await _element(_current(page), selector).wait_for(timeout=_LOOK_MS)


async def _select(element: Locator, value: str, page: Page, recorder: Recorder) -> None:
    """Open a list and choose one of its options with the keyboard."""
    if not await element.evaluate("one => one.matches('select')"):
        raise UserError("the element is not a list")
    labels: list[str] = await element.evaluate("one => [...one.options].map(x => x.label.trim())")
    if value not in labels:
        raise UserError(f"the list has no option '{value}'; {suggestion(value, labels)}")
    at = await element.evaluate("one => one.selectedIndex")
    await page.mouse.click(*await _middle(element))
    await recorder.calm()
    steps = labels.index(value) - at
    for _ in range(abs(steps)):
        await page.keyboard.press("ArrowDown" if steps > 0 else "ArrowUp")
    await page.keyboard.press("Enter")


def _element(page: Page, selector: str) -> Locator:
    *frames, inner = (part.strip() for part in selector.split(">>>"))
    within: Any = page
    for frame in frames:
        within = within.frame_locator(frame)
    found: Locator = within.locator(inner)
    return found


async def _middle(element: Locator) -> tuple[float, float]:
    await element.scroll_into_view_if_needed()
    box = await element.bounding_box()
    if box is None:
        raise UserError("the element is not visible")
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
