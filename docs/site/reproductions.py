"""The sections of docs/reproductions.md, written from the declared reproductions.

    python -m docs.site.reproductions

replaces them below the mark.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from reports.reproductions.outcome import Reproduction, reproductions
from reports.reproductions.words import (
    command_text,
    comparable_text,
    measured_text,
    needs_texts,
    published_text,
)

PAGE = Path(__file__).resolve().parents[1] / "reproductions.md"
MARK = "<!-- from here on made from reports/reproductions/*.toml -->\n"


def generated() -> str:
    """Return the sections as Markdown."""
    return "\n".join(map(_section, reproductions().values()))


def _section(one: Reproduction) -> str:
    reasons = comparable_text(one).removeprefix("no, ").removeprefix("yes")
    text = f"""\
### {one.name}
{one.title}: {published_text(one)} ({one.row.paper}, {one.row.table}).

```
{_commands(one)}
```

Needs {"; ".join(needs_texts(one))}.{reasons and f" Not comparable: {reasons}."}

{_items(one.differences)}

"""
    if not one.measured:
        return text.rstrip("\n") + "\n"
    return text + f"Measured here:\n\n{_items(map(measured_text, one.measured))}\n"


def _commands(one: Reproduction) -> str:
    run = command_text((*one.command, "--out", f"runs/{one.name}"))
    return "\n".join((*one.needs.prepare, run))


def _items(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


if __name__ == "__main__":
    head, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    PAGE.write_text(head + MARK + generated(), encoding="utf-8")
