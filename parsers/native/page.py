"""A recorded page as browser tools describe it: its elements by reference, as a tree, by words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from parsers.records import Box
from parsers.screen import Point

INTERACTIVE = frozenset(
    (
        *("button", "link", "textbox", "searchbox", "combobox", "listbox", "option", "checkbox"),
        *("radio", "switch", "slider", "spinbutton", "tab", "menuitem"),
    )
)
LISTS = frozenset(("combobox", "listbox"))
LONGEST, LONGEST_NAME, DEEPEST, MOST_FOUND = 50_000, 80, 15, 20
"""Most characters of an answer and of a name, levels of a tree, and lines of a search."""
_ROLES = {
    "a": "link",
    "button": "button",
    "textarea": "textbox",
    "select": "combobox",
    "option": "option",
    "img": "img",
    "li": "listitem",
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), "heading"),
}
_INPUTS = {
    **dict.fromkeys(("button", "submit", "reset", "image", "file", "color"), "button"),
    "checkbox": "checkbox",
    "radio": "radio",
    "range": "slider",
    "number": "spinbutton",
    "search": "searchbox",
    "hidden": "",
}
_NO_FIELDS = frozenset(_INPUTS) - {"number", "search"}


def role_of(tag: str, kind: str) -> str:
    """Return the implied role of an element; "" if it has none (HTML-AAM).

    >>> role_of("input", "submit"), role_of("input", ""), role_of("div", "")
    ('button', 'textbox', '')
    """
    return _INPUTS.get(kind.lower(), "textbox") if tag == "input" else _ROLES.get(tag, "")


class PageElement(NamedTuple):
    """An element of a page.

    role, name: as a reader for the blind says them.
    box: where it is; None for what cannot be seen.
    above: place of the element that it lies in, among all; -1 for none.
    """

    id: str
    tag: str
    kind: str
    role: str
    name: str
    box: Box | None = None
    above: int = -1

    @property
    def is_field(self) -> bool:
        """True if text is typed into it."""
        is_input = self.tag == "input" and self.kind.lower() not in _NO_FIELDS
        return is_input or self.tag == "textarea"

    @property
    def is_list(self) -> bool:
        """True if one of its options is chosen."""
        return self.tag == "select"


@dataclass(frozen=True)
class Elements:
    """All elements of a page in document order; `ref_1` is the first, whether it is seen or not.

    size: of the picture, in the pixels of the boxes.
    """

    listed: Sequence[PageElement]
    size: tuple[int, int]

    def ref_of(self, node_id: str | None) -> str:
        """Return the reference of an element; "" if it does not exist."""
        places = (place for place, one in enumerate(self.listed, 1) if one.id == node_id)
        return next((f"ref_{place}" for place in places), "")

    def place_of(self, ref: object) -> int | None:
        """Return the place of a reference, None if the element does not exist."""
        number = str(ref).removeprefix("ref_")
        known = number.isascii() and number.isdigit() and len(number) < 8 and ref == f"ref_{number}"
        return int(number) - 1 if known and 0 < int(number) <= len(self.listed) else None

    def at(self, ref: str, point: Point | None = None) -> PageElement | None:
        """Return the element of a reference, else the field or list at a point of the page: the
        smallest, unless something else that can be pressed lies above it."""
        if ref:
            place = self.place_of(ref)
            return None if place is None else self.listed[place]
        under = [one for one in self.listed if point and one.box and _holds(one.box, point)]
        pressed = [one for one in under if one.role in INTERACTIVE or one.is_field or one.is_list]
        first = min(pressed, key=_area, default=None)
        return first if first and (first.is_field or first.is_list) else None

    def list_of(self, option: PageElement) -> PageElement | None:
        """Return the list that an option is in."""
        if option.role != "option":
            return None
        while option.above >= 0:
            option = self.listed[option.above]
            if option.is_list or option.role in LISTS:
                return option
        return None

    def answer(self, look: str, asked: dict[str, Any]) -> str | None:
        """Return what a look at the page says; None for an element that there is not."""
        if asked.get("ref") is not None and self.place_of(asked["ref"]) is None:
            return None
        if look == "find":
            return _cut(self._found(asked["query"]))
        if look == "get_page_text":
            seen = (one.name for place, one in enumerate(self.listed) if self._is_seen(place))
            return _cut(list(filter(None, seen)))
        return _cut(list(self._tree(**asked)))

    def _tree(self, filter: str = "", depth: int = DEEPEST, ref: str = "") -> Iterator[str]:
        levels: dict[int, int] = {}
        root = self.place_of(ref) if ref else None
        for place, one in enumerate(self.listed):
            above = list(self._above(place))
            if root is not None and root not in (place, *above):
                continue
            if not (filter == "all" or self._is_seen(place)) or not (one.role or one.name):
                continue
            if filter == "interactive" and one.role not in INTERACTIVE:
                continue
            levels[place] = next((levels[one] + 1 for one in above if one in levels), 0)
            if levels[place] < depth:
                yield "  " * levels[place] + self._line(place)

    def _found(self, query: str) -> list[str]:
        asked = Counter(query.lower().split())
        found = []
        for place, one in enumerate(self.listed):
            words = Counter(f"{one.role} {one.name}".lower().split())
            shared = (asked & words).total()
            if shared and self._is_seen(place):
                found.append((-2 * shared / (asked.total() + words.total()), place))
        return [self._line(place) for _, place in sorted(found)[:MOST_FOUND]]

    def _line(self, place: int) -> str:
        one = self.listed[place]
        return f'{one.role or "generic"} "{one.name}" [ref_{place + 1}]'

    def _above(self, place: int) -> Iterator[int]:
        while (place := self.listed[place].above) >= 0:
            yield place

    def _is_seen(self, place: int) -> bool:
        one = self.listed[place]
        if one.role == "option" and (found := self.list_of(one)) is not None:
            one = found  # A closed list shows none of its options, and has them all.
        box, (width, height) = one.box, self.size
        if box is None or not box.is_visible:
            return False
        return box.x < width and box.y < height and box.right > 0 and box.bottom > 0


def _cut(lines: list[str]) -> str:
    left = LONGEST
    for number, line in enumerate(lines):
        left -= len(line) + 1
        if left < 0:
            return "\n".join([*lines[:number], f"[cut: {len(lines) - number} more elements]"])
    return "\n".join(lines)


def _holds(box: Box, point: Point) -> bool:
    return box.x <= point[0] <= box.right and box.y <= point[1] <= box.bottom


def _area(one: PageElement) -> float:
    return one.box.width * one.box.height if one.box else 0.0
