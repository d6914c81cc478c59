"""Write the page on the fields of records from their types and docstrings.

    python -m docs.site.records

writes `docs/reference/records.md`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from adapters.conversation import Picture, Reply, Usage
from harness.judging.trajectory import Moment, Trajectory
from harness.records import Choice, Step
from harness.runs.records import ActRecord, CallRecord, Unit
from harness.runs.steps import StepDetail
from harness.views import ItemView, StepView
from parsers.actions import Action
from parsers.records import Gold, Prediction

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "records.md"

INTRO = """\
# What a record holds

The fields of what a run writes and of what a protocol, a scorer or a judge is given, written from
their types by `python -m docs.site.records`. A line of `steps.jsonl` is a unit, a line of
`calls.jsonl` a call; fields with their default value may be left out of a line.
[Extending](../extending.md) has examples, [runs in pandas](../runs-in-pandas.md) the columns of
frames.
"""

PARTS: dict[str, tuple[type[Any], ...]] = {
    "A unit, with its outcome": (Unit, Prediction, Action),
    "The detail of a recorded step": (StepDetail, Gold, Choice),
    "A call": (CallRecord, Reply, Usage, ActRecord, Picture),
    "What a protocol is given": (StepView, Step, ItemView),
    "What a judge is given": (Trajectory, Moment),
}
_ENTRY = re.compile(r"^(\w+(?:, \w+)*): (.*)$")


def page() -> str:
    """Return the page."""
    lines = [INTRO]
    for title, types in PARTS.items():
        lines.append(f"## {title}")
        for one in types:
            lines += _table(one)
    return "\n".join(lines).rstrip() + "\n"


def _table(kind: type[Any]) -> Iterator[str]:
    doc = inspect.cleandoc(kind.__doc__ or "")
    known = meanings(doc)
    types = {one.name: str(one.type).replace("|", "or") for one in fields(kind)}
    explained = [name for name in types if name in known]
    others = [f"`{name}` (`{text}`)" for name, text in types.items() if name not in known]
    yield f"`{kind.__module__}.{kind.__name__}`: {_first(doc)}"
    yield ""
    if explained:
        yield "| field | type | meaning |"
        yield "|---|---|---|"
        for name in explained:
            meaning = known[name].replace("|", "\\|")
            yield f"| `{name}` | `{types[name]}` | {meaning} |"
        yield ""
    if others:
        yield f"{'Also' if explained else 'Fields:'} {', '.join(others)}."
        yield ""


def _first(doc: str) -> str:
    return " ".join(doc.split("\n\n")[0].split())


def meanings(doc: str) -> dict[str, str]:
    """Return what a docstring says of fields, by name.

    >>> meanings("A place.\\n\\nAttributes:\\n    x, y: in pixels,\\n        from the left.")
    {'x': 'in pixels, from the left.', 'y': 'in pixels, from the left.'}
    """
    found: dict[str, str] = {}
    names: list[str] = []
    indent = 0
    for line in doc.splitlines()[1:]:
        text = line.strip()
        depth = len(line) - len(line.lstrip())
        entry = _ENTRY.match(text)
        if entry and (not names or depth <= indent):
            names, indent = entry[1].split(", "), depth
            found |= dict.fromkeys(names, entry[2])
        elif not text:
            names = []
        elif names and depth > indent:
            found |= {name: f"{found[name]} {text}" for name in names}
    return found


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
