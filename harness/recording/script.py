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
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import msgspec

from adapters.decoding import convert_to
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
_ELSEWHERE = ("GOTO", "BACK", "UNDO", "PRESS")
_VALUED = {
    "SELECT": "an option", "PRESS": "a key", "DRAG": "a selector", "GOTO": "an address",
}  # fmt: skip


class Move(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of a script.

    op: the action. PRESS presses the key `value`, DRAG drags to the element `value`, WAIT waits
        for an element, UNDO and SECRET are commands of the recorder.
    at: selector of the element; `frame >> element` (`>>>`) leads into frames.
    value: the text to type, the option to select, or the address to go to.
    hover: selector of an element to point at first.
    key: the key that presses the element, instead of the mouse.
    times: number of presses of the mouse button.
    """

    op: ScriptOp
    at: str = ""
    value: str = ""
    hover: str = ""
    key: str = ""
    times: int = 1
    picture: str = ""

    def __post_init__(self) -> None:
        if not self.at and self.op not in _ELSEWHERE:
            raise ValueError(f"{self.op} needs at, a selector")
        if self.op in _VALUED and not self.value:
            raise ValueError(f"{self.op} needs value, {_VALUED[self.op]}")


class Script(NamedTuple):
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
    moves = []
    for at, step in enumerate(steps, start=1):
        try:
            moves.append(convert_to(step, Move))
        except msgspec.ValidationError as error:
            keys, ops = ", ".join(Move.__struct_fields__), ", ".join(get_args(ScriptOp))
            raise UserError(
                f"--script {name}, step {at}: {error}; keys are {keys}, and op is one of {ops}"
            ) from None
    return Script(goal, tuple(moves))


async def play(script: Script, page: Page, recorder: Recorder) -> None:
    """Perform the actions of a script, each when the one before it has been recorded.

    Raises:
        UserError: an action is not possible, or takes longer than `MOVE_S`.
    """
    from playwright.async_api import Error

    async def accept(dialog: Any) -> None:
        await dialog.accept()

    for at, move in enumerate(script.moves, start=1):
        page = page.context.pages[-1]  # the one that was opened last
        page.on("dialog", accept)
        try:
            async with asyncio.timeout(MOVE_S):
                await _make(move, page, recorder)
                await recorder.calm()
        except (Error, UserError, TimeoutError) as error:
            late = f"the page was still busy after {MOVE_S:g} seconds"
            reason = (str(error) or late).splitlines()[0].rstrip(":")
            raise UserError(f"step {at} of the script ({move.op} {move.at}): {reason}") from None
        finally:
            page.remove_listener("dialog", accept)


async def _make(move: Move, page: Page, recorder: Recorder) -> None:
    match move.op:
        case "UNDO":
            await recorder.do(recorder.undo)
        case "GOTO":
            await page.goto(move.value)
        case "BACK":
            await page.go_back()
        case "WAIT":
            await _wait(page, move.at)
        case "PRESS" if not move.at:
            await page.keyboard.press(move.value)
        case _:
            await _make_on(_element(page, move.at), move, page, recorder)


async def _make_on(element: Locator, move: Move, page: Page, recorder: Recorder) -> None:
    await element.wait_for(state="attached")
    if move.hover:
        await page.hover(move.hover)
    if move.op == "SECRET":
        recorder.marking = True
    match move.op:
        case _ if move.key:
            await element.focus()
            await page.keyboard.press(move.key)
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

    for left in range(_LOOKS, -1, -1):
        with suppress(*([TimeoutError] if left else [])):
            await _element(page.context.pages[-1], selector).wait_for(timeout=_LOOK_MS)
            return


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
