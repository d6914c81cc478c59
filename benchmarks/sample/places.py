"""What `sample-grounding` asks about windows of the recorded sample's screenshots.

At most two elements that can be clicked are asked about by their names. Every tenth item asks for
something that is not there. The refined instruction names what is next to the same target, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.sample.windows import Clickable, View, direction, hash_of, outer, views

PER_PICTURE, ABSENT_EVERY = 2, 10

_DOING = {
    "link": "open “{}”",
    "button": "press “{}”",
    "textbox": "type into “{}”",
    "combobox": "choose from “{}”",
    "checkbox": "tick “{}”",
    "radio": "select “{}”",
    "tab": "switch to “{}”",
}
_AREAS = ((1_800, "small"), (5_000, "medium"))


def lines(file: Path) -> Iterator[dict[str, Any]]:
    """Yield a line per place on the screenshots of a file of the recorded sample."""
    windows = list(_windows(file))
    names = [(w.view.website, one) for w in windows for one in w.targets]
    number = 0
    for window in windows:
        for place, one in enumerate(window.targets, start=1):
            number += 1
            unit_id = f"{window.view.id}-{place}"
            absent = number % ABSENT_EVERY == 0
            asked = _of_another_site(unit_id, window, names, one) if absent else one
            text = _DOING[asked.role].format(asked.name)
            next_to = direction(one, window.shown)
            item = {
                "id": unit_id,
                "image": window.view.id,
                "instruction": text,
                **({"absent": True} if absent else {"box": one.box}),
                "labels": {
                    "role": asked.role,
                    "size": "absent" if absent else _size(one),
                    "target": "absent" if absent else "present",
                    "website": window.view.website,
                },
            }
            refined = f"{text}, {next_to}" if next_to else text
            yield {**window.view.line(window.top), "item": item, "refined": refined}


class _Window(NamedTuple):
    """What can be clicked in a window of a screenshot, all and those that are asked about."""

    view: View
    top: int
    shown: Sequence[Clickable]
    targets: Sequence[Clickable]


def _windows(file: Path) -> Iterator[_Window]:
    """Yield the window of every distinct screenshot, in the order of the file."""
    for view in dict.fromkeys(view for view, _ in views(file)):
        top = view.tops[hash_of(view.digest) % len(view.tops)]
        shown = view.clickables(top)
        targets = sorted(outer(shown), key=lambda one: hash_of(view.digest, one.id))
        yield _Window(view, top, shown, targets[:PER_PICTURE])


def _of_another_site(
    unit_id: str, window: _Window, names: Sequence[tuple[str, Clickable]], instead: Clickable
) -> Clickable:
    """Something of that role that only other sites have."""
    others = (
        one
        for website, one in sorted(names, key=lambda pair: hash_of(unit_id, pair[1].name))
        if website != window.view.website
        and one.role == instead.role
        and one.name.casefold() not in window.view.words
    )
    return next(others)


def _size(one: Clickable) -> str:
    left, top, right, bottom = one.box
    area = (right - left) * (bottom - top)
    return next((name for most, name in _AREAS if area < most), "large")
