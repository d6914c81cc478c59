"""Plays tasks of BrowserGym for `vlm-eval`, in the environment that BrowserGym is installed in.

This file runs as a program, under another Python than ours. It imports the standard library and
BrowserGym, and nothing else is there for it. Messages are lines of JSON on the standard streams:

    {"suite": "miniwob", ...}             options (`Player`), first and once
    ["ready", null]                       ["done", null]
    ["begin", {"task": ..., "seed": 7}]   ["done", {"goal": ..., "nodes": [...], ...}]
    ["act", "click('12')"]                the same; one or several calls of BrowserGym's functions
    ["type", [[3, 4], "mouse_click(...)"]]  the same, with nothing done if nothing there takes text
    ["refuse", "there is no such key"]    the same, with this error and nothing done
    ["tasks", null]                       ["done", {"tasks": [...], "versions": {...}}]

An answer of the kind "failed" says what went wrong, "fatal" what the user has to mend.
"""

from __future__ import annotations

import base64
import importlib
import importlib.metadata
import importlib.util
import json
import os
import queue
import re
import signal
import threading
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from PIL import Image  # BrowserGym needs it, too.

TAGS = {"a", "button", "input", "select", "textarea", "summary", "label", "option"}
ROLES = {"button", "link", "tab", "checkbox", "radio", "menuitem", "option", "switch"}
SILENT_ROLES = {"generic", "none", "presentation", "InlineTextBox", "StaticText", "LineBreak"}
SILENT_STATES = {"editable", "readonly", "level", "settable", "multiline", "invalid", "focusable"}
LEFT_OUT = {"head", "script", "style", "template", "noscript"}
ID = re.compile(r"[A-Za-z0-9]{1,40}")


def goal_of(seen: Any) -> str:
    """The texts of the goal, and what the user has said in the chat since."""
    texts = [part["text"] for part in seen["goal_object"] if part.get("type") == "text"]
    pictures = sum(part.get("type") == "image_url" for part in seen["goal_object"])
    said = [one["message"] for one in seen["chat_messages"] if one["role"] == "user"]
    later = said[len(texts) :]
    shown = [f"({pictures} pictures of the goal are not shown.)"] if pictures else []
    return "\n".join([*texts, *shown, *(f"User: {text}" for text in later)])


class Walk:
    """The nodes of a page, parents before children, as many as the limits allow.

    cut: whether some were left out.
    """

    def __init__(self, seen: Any, size: tuple[int, int], limits: Mapping[str, int]) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.cut = False
        self.size, self.limits = size, limits
        self.room = limits["room"]
        self.levels: list[int] = []
        self.documents, self.strings = (
            seen["dom_object"]["documents"],
            seen["dom_object"]["strings"],
        )
        self.properties = seen["extra_element_properties"]
        self.names = accessible(seen["axtree_object"])
        waiting: list[tuple[int, Any]] = [(0, None)]
        while waiting:
            number, host = waiting.pop()
            waiting += self.document(self.documents[number]["nodes"], host)

    def text(self, number: int) -> str:
        return str(self.strings[number]) if 0 <= number < len(self.strings) else ""

    def short(self, text: str) -> str:
        kept = text[: max(0, min(self.limits["longest"], self.room))]
        self.room -= len(kept)
        self.cut = self.cut or len(kept) < len(text)
        return kept

    def document(self, part: Any, host: int | None) -> Iterator[tuple[int, int]]:
        """Add a document to the element that it is shown in, and return those inside of it."""
        inside, entered = sparse(part, "contentDocumentIndex"), self.entered(part)
        places: dict[int, Any] = {}
        for index, above in enumerate(part["parentIndex"]):
            if above >= 0 and above not in places:
                continue  # Its parent was left out.
            parent = places[above] if above >= 0 else host
            kind, tag = part["nodeType"][index], self.text(part["nodeName"][index]).lower()
            if kind in (9, 11):  # A document, or the root of a shadow tree.
                places[index] = parent
                continue
            words = self.text(part["nodeValue"][index]) if kind == 3 else ""
            if not (words.strip() or (kind == 1 and tag not in LEFT_OUT and tag[:2] != "::")):
                continue
            level = 0 if parent is None else self.levels[parent] + 1
            orphan = parent is None and (self.nodes or words)
            full = len(self.nodes) >= self.limits["most"] or level >= self.limits["deepest"]
            if orphan or full:
                self.cut = True
                continue
            place = len(self.nodes)
            self.levels.append(level)
            if words:
                self.nodes.append({"id": f"-{place}", "parent": parent, "text": self.short(words)})
                continue
            places[index] = place
            flat = [self.text(number) for number in part["attributes"][index]]
            given = dict(zip(flat[::2], flat[1::2], strict=False))
            about = {"parent": parent, "live": entered.get(index, {})}
            self.nodes.append(about | self.element(tag[:100], given))
            if index in inside:
                yield inside[index], place

    def entered(self, part: Any) -> dict[int, dict[str, str]]:
        """Return what a visitor has entered, by the numbers of nodes."""
        found: dict[int, dict[str, str]] = {}
        for name, told in (("inputValue", "input_value"), ("textValue", "text_value")):
            for index, number in sparse(part, name).items():
                if value := self.text(number):
                    found.setdefault(index, {})[told] = self.short(value)
        for name, told in (
            ("inputChecked", "input_checked"),
            ("optionSelected", "option_selected"),
        ):
            for index in (part.get(name) or {}).get("index", ()):
                found[index] = {told: "true"}
        return found

    def element(self, tag: str, given: dict[str, str]) -> dict[str, Any]:
        bid = given.pop("bid", "")
        about = (self.properties.get(bid) if ID.fullmatch(bid) else None) or {}
        box = [float(one) for one in about.get("bbox") or (0, 0, 0, 0)]
        kept = {
            self.short(name): self.short(value)
            for name, value in list(given.items())[:200]
            if not name.startswith(("browsergym", "ax_", "ax-"))
        }
        heard = bool(about.get("clickable")) and tag not in ("html", "body")
        seen = (about.get("visibility") or 0) > 0
        return {
            "id": bid if about else f"-{len(self.nodes)}",
            "tag": tag,
            "attributes": {**kept, **self.names.get(bid, {})},
            "box": box,
            "visible": bool(about) and box[2] * box[3] > 1,
            "in_view": seen and within(box, self.size),
            "clickable": tag in TAGS or given.get("role") in ROLES or "onclick" in given or heard,
        }


def sparse(part: Mapping[str, Any], name: str) -> dict[int, Any]:
    """A property that few nodes have, by their numbers."""
    found = part.get(name) or {}
    return dict(zip(found.get("index", ()), found.get("value", ()), strict=False))


def within(box: list[float], size: tuple[int, int]) -> bool:
    x, y, width, height = box
    across = min(x + width, size[0]) - max(x, 0)
    down = min(y + height, size[1]) - max(y, 0)
    return across >= min(1, width) and down >= min(1, height) and width > 0 and height > 0


def accessible(tree: Any) -> dict[str, dict[str, str]]:
    """Role, name and state of elements in the accessibility tree, as attributes by id."""
    found: dict[str, dict[str, str]] = {}
    for node in tree["nodes"]:
        bid, role = node.get("browsergym_id"), str((node.get("role") or {}).get("value", ""))
        if not bid or node.get("ignored") or role in SILENT_ROLES:
            continue
        states = []
        for one in node.get("properties", ()):
            value = (one.get("value") or {}).get("value")
            if one["name"] in SILENT_STATES or value in (None, "", False, "false"):
                continue
            states.append(one["name"] if value in (True, "true") else f"{one['name']}={value}")
        told = {
            "ax_role": role,
            "ax_name": str((node.get("name") or {}).get("value", ""))[:1000],
            "ax_state": ", ".join(states)[:200],
        }
        found[bid] = {key: value for key, value in told.items() if value}
    return found


def png(picture: Any) -> bytes:
    """An array of height x width x 3 bytes as an encoded picture."""
    height, width = picture.shape[:2]
    encoded = BytesIO()
    Image.frombytes("RGB", (width, height), picture.tobytes()).save(encoded, "PNG")
    return encoded.getvalue()


_CORNER = """(frame) => {
  const box = frame.getBoundingClientRect();
  return [box.x + frame.clientLeft, box.y + frame.clientTop];
}"""

_WHY = "const field = fields.of(given); return typeof field === 'string' ? field : '';"


class ForUser(Exception):
    """Something that the user has to mend."""


class Player:
    """An environment at a time, and what is seen in it.

    Options: `suite`, with which names of tasks begin; `module`, which registers its tasks;
    `packages`, whose versions are told; `needed`, variables without which nothing works;
    `launcher`, a program that starts the browser, None for Playwright's own; `limits` of how much
    of a page is looked at; `fields`, as in `no_field`.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = options
        self.suite = options["suite"]
        self.env: Any = None
        self.action_set: Any = None

    def ready(self, _: None) -> None:
        """Import everything, once."""
        if self.action_set is not None:
            return
        missing = [name for name in self.options["needed"] if not os.environ.get(name)]
        if missing:
            says = f"vlm-eval environments check {self.suite} says more"
            raise ForUser(f"{', '.join(missing)}: not set; {says}")
        stand_in(self.options["launcher"])
        self._suite()
        actions = importlib.import_module("browsergym.core.action.highlevel")
        self.action_set = actions.HighLevelActionSet(
            subsets=["chat", "infeas", "bid", "coord", "nav", "tab"],
            multiaction=True,
            strict=True,
            retry_with_force=True,
        )

    def begin(self, episode: Mapping[str, Any]) -> dict[str, Any]:
        gymnasium = importlib.import_module("gymnasium")
        if self.env is not None:
            self.env.close()
        task, given = f"{self.suite}.{episode['task']}", {}
        if "asked" in episode:  # A task of the user's own.
            task, given = self.suite, {"task_kwargs": episode["asked"]}
        self.env = gymnasium.make(
            f"browsergym/{task}",
            **given,
            headless=True,
            tags_to_mark="all",
            action_mapping=self.action_set.to_python_code,
            disable_env_checker=True,
        )
        seen, info = self.env.reset(seed=episode["seed"])
        return self._told(seen, 0.0, False, info)

    def act(self, calls: str) -> dict[str, Any]:
        seen, reward, terminated, truncated, info = self.env.step(calls)
        return self._told(seen, reward, terminated or truncated, info)

    def type(self, given: tuple[list[float], str]) -> dict[str, Any]:
        """Act on the text field at a point; nothing is touched if there is none."""
        point, calls = given
        try:
            why = no_field(self.env.unwrapped.page, point, self.options["fields"])
        except Exception as error:  # The page may be gone just now.
            why = line(error)
        return self.refuse(why) if why else self.act(calls)

    def refuse(self, why: str) -> dict[str, Any]:
        """Look again, and say why nothing was done."""
        return {**self.act("noop(0)"), "error": why}

    def tasks(self, _: None) -> dict[str, Any]:
        """The names of the suite's tasks, without the suite, and versions of packages."""
        prefix = f"browsergym/{self.suite}."
        self._suite()
        names = importlib.import_module("gymnasium").registry
        return {
            "tasks": [name[len(prefix) :] for name in names if name.startswith(prefix)],
            "versions": versions(self.options["packages"]),
        }

    def _suite(self) -> None:
        """Register the tasks of the suite. Raises `ForUser`."""
        if self.suite == "miniwob":
            os.environ.setdefault("MINIWOB_URL", miniwob_pages())
            if not os.environ["MINIWOB_URL"]:
                raise ForUser("the pages of MiniWoB++ are missing: install the package miniwob")
        try:
            importlib.import_module(self.options["module"])
        except Exception as error:
            why = f"{self.options['module']} cannot be imported ({line(error)})"
            says = f"vlm-eval environments check {self.suite} says how to install it"
            raise ForUser(f"{why}; {says}") from None

    def _told(self, seen: Any, reward: float, ended: bool, info: Any) -> dict[str, Any]:
        about = info.get("task_info") or {}
        reason = about.get("REWARD_REASON") or about.get("error") or about.get("message") or ""
        height, width = seen["screenshot"].shape[:2]
        walk = Walk(seen, (width, height), self.options["limits"])
        most = self.options["limits"]["room"]
        tabs = zip(seen["open_pages_titles"], seen["open_pages_urls"], strict=True)
        return {
            "goal": goal_of(seen)[:most],
            "url": seen["url"][:most],
            "tabs": [[title[:most], url[:most]] for title, url in tabs],
            "tab": int(seen["active_page_index"][0]),
            "reward": float(about.get("RAW_REWARD_GLOBAL", reward)),
            "ended": bool(ended),
            "reason": str(reason)[:most],
            "error": seen["last_action_error"][:most],
            "size": [width, height],
            "screenshot": base64.b64encode(png(seen["screenshot"])).decode(),
            "nodes": walk.nodes,
            "cut": walk.cut,
        }


def no_field(page: Any, point: list[float], fields: str) -> str:
    """The reason that no text can be typed at a point of the screenshot; "" if some can.

    `fields` declares functions in JavaScript.
    """
    scale = getattr(page, "_bgym_scale_factor", 1.0)
    frame, (x, y) = page.main_frame, (length / scale for length in point)
    while True:
        at = f"([x, y]) => {{ {fields} return fields.at(document, x, y); }}"
        found = frame.evaluate_handle(at, [x, y]).as_element()
        if found is None:
            return "there is nothing at this point"
        inside = found.content_frame()
        if inside is None:
            return str(found.evaluate(f"(given) => {{ {fields} {_WHY} }}"))
        left, top = found.evaluate(_CORNER)
        frame, x, y = inside, x - left, y - top


def stand_in(launcher: str | None) -> None:
    """Let Playwright 1.44 start the browser of the program `launcher` where it looks for its own.

    BrowserGym starts a second browser for its chat, and takes no path for that one.
    """
    if launcher is None:
        return
    spec = importlib.util.find_spec("playwright")
    if spec is None or not spec.submodule_search_locations:
        raise ForUser(
            "BrowserGym is not installed here; vlm-eval environments check browsergym says how"
        )
    listed = Path(spec.submodule_search_locations[0]) / "driver/package/browsers.json"
    folder = Path(os.environ["TMPDIR"]) / f"browsers-{os.getpid()}"
    for one in json.loads(listed.read_text(encoding="utf-8"))["browsers"]:
        if one["name"] == "chromium":
            path = folder / f"chromium-{one['revision']}/chrome-linux/chrome"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(launcher, encoding="utf-8")
            path.chmod(0o700)
    os.environ["PLAYWRIGHT_BROWSERS_PATH"] = str(folder)


def miniwob_pages() -> str:
    """The address of the pages of MiniWoB++; "" if they are not installed."""
    spec = importlib.util.find_spec("miniwob")
    for place in (spec and spec.submodule_search_locations) or ():
        if (folder := Path(place) / "html" / "miniwob").is_dir():
            return folder.as_uri() + "/"
    return ""


def versions(packages: list[str]) -> dict[str, str]:
    """Versions of packages, "" for one that is not installed."""
    found = dict.fromkeys(packages, "")
    for package in packages:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def line(error: object) -> str:
    """The first line of an error, without names and passwords in addresses."""
    text = str(error).strip() or type(error).__name__
    return re.sub(r"//[^/@\s]*@", "//", text.splitlines()[0])[:200]


def main() -> None:
    # The main process decides what Ctrl-C and SIGTERM mean.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    incoming = os.fdopen(os.dup(0), "rb")
    outgoing = os.fdopen(os.dup(1), "wb")
    # Whatever libraries print goes to standard error.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    received: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=listen, args=(incoming, received), daemon=True).start()
    player = Player(json.loads(received.get()))
    while True:
        verb, given = json.loads(received.get())
        answer = json.dumps(outcome(getattr(player, verb), given), ensure_ascii=False)
        # A page may hold halves of characters.
        outgoing.write(answer.encode("utf-8", "replace") + b"\n")
        outgoing.flush()


def listen(incoming: BinaryIO, received: Any) -> None:
    for message in incoming:
        received.put(message)
    # The parent is gone or has closed the pipe. What this process has started goes with it.
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def outcome(answer: Any, given: Any) -> list[Any]:
    try:
        return ["done", answer(given)]
    except ForUser as error:
        return ["fatal", str(error)]
    except Exception as error:
        return ["failed", f"{type(error).__name__}: {line(error)}"]
