"""Observation of a page: its goal, its nodes and its picture."""

import re
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any

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

    def document(self, part: Any, host: "int | None") -> Iterator[tuple[int, int]]:
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
