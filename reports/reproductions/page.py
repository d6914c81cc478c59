"""Generate the table and the sections of docs/reproductions.md.

`python -m reports.reproductions.page docs/reproductions.md` replaces them below the mark.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from harness.tables import render
from reports.reproductions.declared import Reproduction, reproductions
from reports.reproductions.words import (
    command_text,
    comparable_text,
    list_grid,
    measured_text,
    needs_texts,
    published_text,
)

MARK = "<!-- from here on made from reports/reproductions/*.toml -->\n"


def generated() -> str:
    """Return the table and the sections as Markdown."""
    listed = list(reproductions().values())
    table = render(list_grid(listed), "markdown", note="")
    return "\n".join([table[table.index("|") :], *map(_section, listed)])


def _section(one: Reproduction) -> str:
    text = f"""\
### {one.name}
{one.title}: {published_text(one)}.

```
{_commands(one)}
```

Needs {"; ".join(needs_texts(one))}. Comparable: {comparable_text(one)}.

Differences:

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
    document = Path(sys.argv[1])
    head, mark, _ = document.read_text(encoding="utf-8").partition(MARK)
    document.write_text(head + MARK + generated(), encoding="utf-8")
