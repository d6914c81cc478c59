"""The tasks of the sample: a visitor's goal and the actions that reach it; conversations of tasks.

Tasks are data (`tasks/<site>.toml`). Each action names its element by a selector; `record` performs
it in a browser and keeps the page before it. The turns of a conversation are tasks in one browser
session.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args
from urllib.parse import urlsplit
from uuid import UUID, uuid5

from PIL import Image

from benchmarks.sample.serving import answer
from harness.live.chromium import found as chromium
from harness.live.chromium import running
from harness.live.clean import Node, find, tree_of
from harness.recording import columns
from harness.recording.columns import (
    ActedElement,
    Op,
    PerformedStep,
    RecordedTask,
    StepRow,
    target_of,
)
from harness.recording.session import HEIGHT, WIDTH
from harness.recording.tab import html_of, snapshot

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page, Route

TASKS = Path(__file__).parent / "tasks"
_NAMESPACE = UUID("5d2c8a3e-6f0b-5a1d-9c47-0e8b1f2a7d64")

_JPEG_QUALITY = 62
Picture = Literal["kept", "missing", "empty"]


@dataclass(frozen=True, slots=True)
class Action:
    """One action.

    op: the operation as performed.
    at: selector of the element.
    value: the text to type or the option to select.
    hover: selector of an element to point at first, without a separate step.
    key: the key that performs a click, for controls that a pointer cannot reach.
    picture: leaves out the screenshot, as a null struct ("missing") or as a struct of nulls
        ("empty"); the real data has both.
    """

    op: Op
    at: str
    value: str = ""
    hover: str = ""
    key: str = ""
    picture: Picture = "kept"


@dataclass(frozen=True, slots=True)
class Site:
    """A web site of the sample, with its category and split."""

    site: str
    website: str
    domain: str
    subdomain: str
    split: str


@dataclass(frozen=True, slots=True)
class Task:
    """A goal on a site and the actions that reach it."""

    site: Site
    name: str
    goal: str
    actions: tuple[Action, ...]

    @property
    def annotation_id(self) -> str:
        """The task's id, derived from the names of site and task, so the same in every build."""
        return str(uuid5(_NAMESPACE, f"{self.site.site}/{self.name}"))

    def action_uid(self, index: int) -> str:
        """Return the id of the step at `index`, the same in every build."""
        return str(uuid5(_NAMESPACE, f"{self.site.site}/{self.name}/{index}"))


@dataclass(frozen=True, slots=True)
class Conversation:
    """Tasks that a visitor asks for one after the other; later ones refer to earlier ones."""

    site: Site
    name: str
    turns: tuple[Task, ...]

    @property
    def task_id(self) -> str:
        """The conversation's id, called as in MT-Mind2Web; the same in every build."""
        return str(uuid5(_NAMESPACE, f"{self.site.site}/{self.name}"))


def load(folder: Path = TASKS) -> tuple[Task, ...]:
    """Read all single tasks, by file name, then in file order."""
    return tuple(
        _task(path, site, task["name"], task)
        for path, site, content in _contents(folder)
        for task in content.get("task", ())
    )


def load_conversations(folder: Path = TASKS) -> tuple[Conversation, ...]:
    """Read all conversations, by file name, then in file order."""
    return tuple(
        _conversation(path, site, found)
        for path, site, content in _contents(folder)
        for found in content.get("conversation", ())
    )


def _contents(folder: Path) -> Iterator[tuple[Path, Site, Mapping[str, Any]]]:
    for path in sorted(folder.glob("*.toml")):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        yield path, Site(**{part.name: content[part.name] for part in fields(Site)}), content


def _conversation(path: Path, site: Site, found: Mapping[str, Any]) -> Conversation:
    name = found["name"]
    turns = enumerate(found["turn"], start=1)
    return Conversation(
        site, name, tuple(_task(path, site, f"{name}/turn-{at}", turn) for at, turn in turns)
    )


def _task(path: Path, site: Site, name: str, found: Mapping[str, Any]) -> Task:
    return Task(site, name, found["goal"], tuple(_action(path, step) for step in found["steps"]))


def _action(path: Path, step: Mapping[str, Any]) -> Action:
    action = Action(**step)
    if action.op not in get_args(Op) or action.picture not in get_args(Picture):
        raise ValueError(f"{path.name}: {step}")
    if bool(action.value) != (action.op in ("TYPE", "SELECT")):
        raise ValueError(f"{path.name}: only TYPE and SELECT have a value: {step}")
    return action


@contextmanager
def launch(executable: Path | None = None) -> Iterator[Browser]:
    """Start a browser for recording.

    Raises:
        UserError: playwright or Chromium is missing.
    """
    path = chromium(executable, purpose="building the sample", extra="live")
    with running(path) as browser:
        yield browser


@contextmanager
def visit(browser: Browser, site: str, size: tuple[int, int] = (WIDTH, HEIGHT)) -> Iterator[Page]:
    """Open a site's first page in a fresh session; files of the sites answer all requests."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, locale="en-GB", reduced_motion="reduce"
    )
    try:
        context.set_default_timeout(5000)
        context.add_init_script(path=Path(__file__).with_name("listeners.js"))
        context.route("**/*", _serve)
        page = context.new_page()
        failures: list[str] = []
        page.on("pageerror", lambda error: failures.append(str(error)))
        page.goto(f"https://{site}.example/")
        yield page
        if failures:
            raise RuntimeError(f"a script of {site} failed: {failures[0]}")
    finally:
        context.close()


def _serve(route: Route) -> None:
    host = urlsplit(route.request.url).hostname or ""
    body, kind = answer(host.removesuffix(".example"), route.request.url)
    route.fulfill(body=body, content_type=kind)


def jpeg(png: bytes) -> bytes:
    """Encode a screenshot as JPEG.

    With a restart marker after each row of blocks and fixed code tables, equal rows of two pictures
    become equal bytes. Successive screenshots of a form differ in few rows, so the compression of
    the file stores the rest only once.
    """
    out = BytesIO()
    with Image.open(BytesIO(png)) as image:
        image.convert("RGB").save(
            out, "JPEG", quality=_JPEG_QUALITY, subsampling="4:2:0", restart_marker_rows=1
        )
    return out.getvalue()


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded step: the page before the action, and the target on it."""

    task: Task
    index: int
    root: Node
    raw_html: str
    target: ActedElement
    screenshot: bytes

    @property
    def action(self) -> Action:
        """The action performed on this page."""
        return self.task.actions[self.index]


def record(browser: Browser, tasks: Sequence[Task]) -> Iterator[Recorded]:
    """Perform all actions of tasks of a site, one task after the other in one browser session.

    Yields the page before each action, with a PNG screenshot.
    """
    with visit(browser, tasks[0].site.site) as page:
        for task in tasks:
            for index, action in enumerate(task.actions):
                yield _before(page, task, index)
                _perform(page, action)


def as_rows(steps: Iterable[Recorded]) -> list[StepRow]:
    """Build the rows of recorded steps; each has the representations of all steps of its task."""
    found: list[StepRow] = []
    for task, recorded in groupby(steps, key=lambda step: step.task):
        site = task.site
        trajectory = RecordedTask(
            task.annotation_id, task.goal, site.website, site.domain, site.subdomain
        )
        mine = list(recorded)
        listed = columns.rows(trajectory, [_step(step) for step in mine])
        found += map(_with_lost_picture, listed, mine)
    return found


def _step(recorded: Recorded) -> PerformedStep:
    action = recorded.action
    return PerformedStep(
        action_uid=recorded.task.action_uid(recorded.index),
        op=action.op,
        value=action.value,
        root=recorded.root,
        raw_html=recorded.raw_html,
        target=recorded.target,
        picture=jpeg(recorded.screenshot) if action.picture == "kept" else None,
    )


def _with_lost_picture(row: StepRow, recorded: Recorded) -> StepRow:
    if recorded.action.picture == "empty":
        row["screenshot"] = {"bytes": None, "path": None}
    return row


def _before(page: Page, task: Task, index: int) -> Recorded:
    element = page.locator(task.actions[index].at)
    element.wait_for(state="attached")
    if element.is_visible():
        element.scroll_into_view_if_needed()
    described = element.evaluate(_script())
    picture = page.screenshot(full_page=True, animations="disabled", caret="hide")
    root = tree_of(described["nodes"])
    target = target_of(find(root, described["labelled"]))
    return Recorded(task, index, root, html_of(described["pieces"]), target, picture)


def _script() -> str:
    heard = "heard: window.__clickListeners, offset: [window.scrollX, window.scrollY]"
    seen = f"const {{ ids, ...seen }} = ({snapshot()})({{ target, {heard} }});"
    return f"(target) => {{ {seen} return seen; }}"


def _perform(page: Page, action: Action) -> None:
    element = page.locator(action.at)
    if action.hover:
        page.hover(action.hover)
    if action.op == "HOVER":
        element.hover()
        return
    if action.key:
        element.focus()
        page.keyboard.press(action.key)
    else:
        _act(element, action)
    # Move the pointer away: nothing may look hovered.
    page.mouse.move(0, 0)


def _act(element: Locator, action: Action) -> None:
    match action.op:
        case "TYPE":
            element.fill(action.value)
        case "SELECT":
            element.select_option(label=action.value)
        case "ENTER":
            element.press("Enter")
        case _:
            element.click()
