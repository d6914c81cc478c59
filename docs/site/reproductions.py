"""The commands of docs/reproductions.md, written from the declared reproductions.

    python -m docs.site.reproductions

replaces them below the mark.
"""

from __future__ import annotations

from pathlib import Path

from reports.reproductions.outcome import Reproduction, command_text, published_text, reproductions

PAGE = Path(__file__).resolve().parents[1] / "reproductions.md"
MARK = "<!-- from here on made from reports/reproductions/*.toml -->\n"


def generated() -> str:
    """Return the commands as a block of Markdown."""
    return "```sh\n" + "\n".join(map(_commands, reproductions().values())) + "```\n"


def _commands(one: Reproduction) -> str:
    run = command_text((*one.command, "--out", f"runs/{one.name}"))
    return "\n".join((f"# {one.title}: {published_text(one)}", *one.needs.prepare, run, ""))


if __name__ == "__main__":
    head, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    PAGE.write_text(head + MARK + generated(), encoding="utf-8")
