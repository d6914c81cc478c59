"""Record `sample-screens`: tasks on a phone whose apps are sites of the sample.

The files are one's own steps as `screen-steps` reads them (docs/screen-steps.md): a schema, a line
per step, and a zip file of pictures. A step stores the screen before its action.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile, ZipInfo

import msgspec

from adapters.decoding import convert_to, decode_json
from benchmarks.sample.trajectories import jpeg, launch, visit
from harness.sample import SCREENS

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

EPISODES = Path(__file__).with_name("screens.toml")
SIZE = (412, 915)
HOME = "launcher"
SCROLL_PX = 500
SCHEMA = 'name = "sample-screens"\npoints = "px"\nscroll = "content"\ngroups = ["app"]\n'
MOST_BOXES = 3
_BOXES = """(element) => {
  const found = [];
  for (let one = element; one && one !== document.body; one = one.parentElement) {
    const box = one.getBoundingClientRect();
    found.push([box.left, box.top, box.right, box.bottom].map(Math.round));
  }
  return found;
}"""


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An action of an episode.

    do: the type of the action, as in `screen-steps`.
    at: selector of the element.
    text: what is typed, opened or answered; the direction of a scroll.
    say: the sentence about the step.
    """

    do: str
    at: str = ""
    text: str = ""
    say: str = ""


class Episode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A task and the steps that reach it; `app` is where most of it happens."""

    name: str
    app: str
    split: str
    goal: str
    steps: list[Step]


def episodes(path: Path = EPISODES) -> list[Episode]:
    """Read the episodes."""
    listed = tomllib.loads(path.read_text("utf-8"))["episode"]
    return convert_to(listed, list[Episode])


Recorded = list[tuple[dict[str, Any], bytes]]
"""A line of `steps.jsonl` and its encoded picture, for every step."""


def record(
    wanted: Sequence[Episode],
    browser: Path | None = None,
    on_progress: Callable[[str], None] = lambda line: None,
) -> Recorded:
    """Perform episodes in the browser, each in a session of its own."""
    found: Recorded = []
    with launch(browser) as started:
        for episode in wanted:
            with visit(started, HOME, SIZE) as page:
                for number, step in enumerate(episode.steps):
                    line = _line(episode, number, step, _actions(page, step))
                    found.append((line, jpeg(page.screenshot(animations="disabled", caret="hide"))))
                    _perform(page, step)
            on_progress(f"{episode.name}: {len(episode.steps)} steps")
    return found


def write(content: Recorded, folder: Path = SCREENS) -> list[Path]:
    """Write the files; equal content gives equal bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    schema, steps, pictures = (folder / name for name in ("screen.toml", "steps.jsonl", PICTURES))
    schema.write_text(SCHEMA, "utf-8")
    steps.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line, _ in content))
    with ZipFile(pictures, "w") as file:
        for line, data in content:
            file.writestr(ZipInfo(line["image"]), data)
    return [schema, steps, pictures]


PICTURES = "images.zip"


def lines(folder: Path = SCREENS) -> list[dict[str, Any]]:
    """Return the recorded lines of the shipped files, or of those in a folder."""
    return list(map(decode_json, (folder / "steps.jsonl").read_bytes().splitlines()))


def differences(
    shipped: Sequence[dict[str, Any]], again: Sequence[dict[str, Any]]
) -> tuple[list[str], int]:
    """Compare two recordings: what differs but places, and how many steps have other places.

    Places depend on the fonts of the machine.
    """
    found, moved = [], 0
    others = {line["image"]: line for line in again}
    if list(others) != [line["image"] for line in shipped]:
        found.append(f"steps: {len(shipped)} shipped, {len(others)} rebuilt, or their order")
    for line in shipped:
        other = others.get(line["image"], line)
        moved += line != other
        found += [
            f"{line['image']}: {name}"
            for name in line
            if name != "boxes" and _placeless(line[name]) != _placeless(other.get(name))
        ]
    return found, moved


def counts(content: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Describe the steps of each split."""
    for split in dict.fromkeys(line["split"] for line in content):
        mine = [line for line in content if line["split"] == split]
        types = Counter(_recorded(line)["type"] for line in mine)
        told = ", ".join(f"{name} {count}" for name, count in types.most_common())
        tasks = len({line["episode"] for line in mine})
        yield f"{split}: {tasks} episodes, {len(mine)} steps; {told}"


def _recorded(line: dict[str, Any]) -> dict[str, Any]:
    action: dict[str, Any] = line["action"][0] if type(line["action"]) is list else line["action"]
    return action


def _placeless(value: object) -> object:
    if isinstance(value, list):
        return [_placeless(one) for one in value]
    if isinstance(value, dict):
        return {key: one for key, one in value.items() if key != "at"}
    return value


def _line(
    episode: Episode, number: int, step: Step, found: tuple[list[dict[str, Any]], list[list[int]]]
) -> dict[str, Any]:
    actions, boxes = found
    line = {
        "image": f"{episode.name}-{number}.jpg",
        "goal": episode.goal,
        "episode": episode.name,
        "step": number,
        "instruction": step.say or "Finish",
        "action": actions if len(actions) > 1 else actions[0],
        "labels": {"app": episode.app},
        "split": episode.split,
    }
    return line | ({"boxes": boxes} if boxes else {})


def _actions(page: Page, step: Step) -> tuple[list[dict[str, Any]], list[list[int]]]:
    """The right actions of a step, and the boxes of what is tapped, the smallest first."""
    if step.do == "open_app":
        place, boxes = _place(page, page.locator(f".app:has-text('{step.text}')"))
        return [{"type": step.do, "text": step.text}, {"type": "click", "at": place}], boxes
    if step.at:
        place, boxes = _place(page, page.locator(step.at))
        return [{"type": step.do, "at": place}], boxes
    if step.do == "scroll":
        return [{"type": step.do, "direction": step.text}], []
    return [{"type": step.do} | ({"text": step.text} if step.text else {})], []


def _place(page: Page, element: Locator) -> tuple[list[int], list[list[int]]]:
    boxes: list[list[int]] = []
    for box in element.evaluate(_BOXES):
        left, top, right, bottom = box
        inside = 0 <= left < right <= SIZE[0] and 0 <= top < bottom <= SIZE[1]
        if not boxes and not inside:
            raise ValueError(f"{element} does not lie on the screen: {box}")
        if inside and box not in boxes:
            boxes.append(box)
    left, top, right, bottom = boxes[0]
    return [(left + right) // 2, (top + bottom) // 2], boxes[:MOST_BOXES]


def _perform(page: Page, step: Step) -> None:
    match step.do:
        case "click" | "long_press":
            button: Any = "left" if step.do == "click" else "right"
            page.locator(step.at).click(button=button)
        case "type":
            page.keyboard.type(step.text)
        case "enter":
            page.keyboard.press("Enter")
        case "scroll":
            way = {"down": SCROLL_PX, "up": -SCROLL_PX}[step.text]
            page.evaluate("(way) => window.scrollBy(0, way)", way)
        case "open_app":
            page.locator(f".app:has-text('{step.text}')").click()
            page.wait_for_url("**/", wait_until="load")
        case "back":
            page.go_back()
        case "home":
            page.goto(f"https://{HOME}.example/")
        case "complete" | "impossible" | "answer":
            return
        case other:
            raise ValueError(f"{other} cannot be performed")
    # Move the pointer away: nothing may look hovered.
    page.mouse.move(0, 0)
