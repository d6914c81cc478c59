"""Environments with the observations and the 5-tuples of BrowserGym, one task for each way to fail.

The page of a task is nested lists: a tag, attributes, and what is inside.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

WILD = "\x1b[2J\ud800</a>\"'&]|"
LONG = "\ud83d" + "x" * 6_000_000
BUTTON = ["button", {"bid": "12", "id": "subbtn"}, "Click Me!"]
FIELD = ["input", {"bid": "13", "type": "text", "name": "q"}]
PAGES: dict[str, list[Any]] = {
    "miniwob.click-test": [BUTTON],
    "miniwob.wild": [["a", {"bid": "12", "onclick": WILD, "ax_role": "lie", WILD: "x"}, WILD]],
    "miniwob.forged": [["a", {"bid": '12"/><b id="'}, "x"], ["a", {"bid": "-1"}, "y"]],
    "miniwob.deep": [],
    "miniwob.wide": [["p", {"bid": str(number)}, "x"] for number in range(20, 21_000)],
    "miniwob.framed": [["iframe", {"bid": "a"}, ["button", {"bid": "a12"}, "Inside"]]],
    **{f"miniwob.{how}": [BUTTON] for how in ("hangs", "dies", "raises", "chatters", "breeds")},
    "miniwob.long": [BUTTON],
    "webarena.0": [BUTTON, FIELD],
    "webarena.1": [BUTTON],
    "openended": [BUTTON, FIELD],
}
nested: list[Any] = ["b", {"bid": "b5000"}, "deep"]
for level in range(400):
    nested = ["div", {"bid": f"b{level}"}, nested]
PAGES["miniwob.deep"] = [nested]
registry = {f"browsergym/{task}": None for task in PAGES} | {"CartPole-v1": None}


class Picture:
    """As much of an array as is used."""

    shape = (40, 80, 3)

    def tobytes(self) -> bytes:
        return bytes(40 * 80 * 3)


class Dom:
    """A page as DevTools tell it."""

    def __init__(self, inside: list[Any]) -> None:
        self.strings: list[str] = []
        self.documents: list[dict[str, Any]] = []
        self.properties: dict[str, Any] = {}
        self.document(["html", {"bid": "0"}, ["body", {"bid": "1"}, *inside]])

    def number(self, text: str) -> int:
        self.strings.append(text)
        return len(self.strings) - 1

    def document(self, root: list[Any]) -> int:
        part: dict[str, Any] = {
            "parentIndex": [-1],
            "nodeType": [9],
            "nodeName": [self.number("#document")],
            "nodeValue": [-1],
            "attributes": [[]],
            "contentDocumentIndex": {"index": [], "value": []},
            "inputValue": {"index": [], "value": []},
        }
        place = len(self.documents)
        self.documents.append({"nodes": part})
        waiting = [(root, 0)]
        while waiting:
            node, parent = waiting.pop(0)
            self.node(part, node, parent, waiting)
        return place

    def node(self, part: dict[str, Any], node: Any, parent: int, waiting: list[Any]) -> None:
        index = len(part["parentIndex"])
        part["parentIndex"].append(parent)
        if isinstance(node, str):
            part["nodeType"].append(3)
            part["nodeName"].append(self.number("#text"))
            part["nodeValue"].append(self.number(node))
            part["attributes"].append([])
            return
        tag, given, *inside = node
        part["nodeType"].append(1)
        part["nodeName"].append(self.number(tag.upper()))
        part["nodeValue"].append(-1)
        part["attributes"].append([self.number(text) for pair in given.items() for text in pair])
        number = int("".join(filter(str.isdigit, given["bid"])) or 0)
        self.properties[given["bid"]] = {
            "bbox": [0.0, float(number % 30), 40.0, 10.0],
            "visibility": 1.0,
            "clickable": False,
            "set_of_marks": False,
        }
        if tag == "iframe":
            where = self.document(["html", {"bid": "a0"}, *inside])
            part["contentDocumentIndex"]["index"].append(index)
            part["contentDocumentIndex"]["value"].append(where)
        else:
            waiting.extend((one, index) for one in inside)


class Env:
    def __init__(self, name: str, task_kwargs: dict[str, str] | None = None) -> None:
        self.asked = task_kwargs or {}
        self.task = name.removeprefix("browsergym/")
        self.how = self.task.partition(".")[2]
        self.said: list[dict[str, str]] = []
        self.tabs, self.tab, self.error = ["Start" if self.how != "long" else LONG], 0, ""

    def reset(self, seed: int) -> tuple[Any, Any]:
        assert isinstance(seed, int)
        if self.how == "raises":
            raise RuntimeError(f"the site is down{WILD[:4]} http://me:secret@x/\nsecond line")
        if self.how == "chatters":
            print("this is no answer", flush=True)
            os.system("echo neither is this")
        return self.observation(), {"task_info": {}}

    def step(self, action: str) -> tuple[Any, float, bool, bool, Any]:
        name = action.partition("(")[0]
        if self.how == "breeds":
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            Path(os.environ["VLM_TEST_BRED"]).write_text(str(child.pid))
        if name != "noop" and self.how in ("hangs", "breeds"):
            time.sleep(600)
        if name != "noop" and self.how == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        self.error = "" if name != "hover" else f"TimeoutError: {WILD}\nCall log"
        if name == "new_tab":
            self.tabs.append("Other")
            self.tab = len(self.tabs) - 1
        if name == "send_msg_to_user":
            self.said.append({"role": "assistant", "message": action})
        info: dict[str, Any] = {"action": action}
        if self.task.startswith("miniwob"):
            right = action in ("click('12')", "mouse_click(20.0, 17.0)")
            done = name in ("click", "mouse_click")
            raw = (1.0 if right else -1.0) if done else 0.0
            info = {"RAW_REWARD_GLOBAL": raw, "REWARD_REASON": None, "DONE_GLOBAL": done}
            return self.observation(), float(raw > 0), done, False, {"task_info": info}
        done = name == "report_infeasible"
        done = done or (name == "send_msg_to_user" and self.task != "openended")
        reward = float(action == "send_msg_to_user('42')")
        return self.observation(), reward, done, False, {"task_info": info}

    def observation(self) -> dict[str, Any]:
        dom = Dom(PAGES[self.task])
        goals = {"click-test": "Click the button.", "long": LONG}
        goal = self.asked.get("goal") or goals.get(self.how, f"Do {self.how}.")
        url = self.asked.get("start_url", "http://shop.invalid/")
        tree = [
            {
                "browsergym_id": "12",
                "role": {"value": "button"},
                "name": {"value": "Click Me!"},
                "properties": [
                    {"name": "focusable", "value": {"value": True}},
                    {"name": "expanded", "value": {"value": False}},
                    {"name": "focused", "value": {"value": True}},
                ],
            },
            {"role": {"value": "StaticText"}, "name": {"value": "Click Me!"}},
        ]
        return {
            "chat_messages": ({"role": "user", "message": goal}, *self.said),
            "goal": goal,
            "goal_object": ({"type": "text", "text": goal},),
            "open_pages_urls": tuple(url for _ in self.tabs),
            "open_pages_titles": tuple(self.tabs),
            "active_page_index": [self.tab],
            "url": url,
            "screenshot": Picture(),
            "dom_object": {"documents": dom.documents, "strings": dom.strings},
            "axtree_object": {"nodes": tree},
            "extra_element_properties": dom.properties,
            "focused_element_bid": "",
            "last_action": "",
            "last_action_error": self.error,
        }

    def close(self) -> None:
        pass


def make(name: str, task_kwargs: dict[str, str] | None = None, **_: Any) -> Env:
    return Env(name, task_kwargs)
