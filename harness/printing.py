"""Text by others (pages, models, servers, file names) on its way to a terminal.

Everything that a command prints goes through `say` or a `terminal`. Outputs that could leak test
data have a note on it.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


_UNSAFE = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)"
)


def printable(text: str) -> str:
    """The text with control characters, and those that turn its direction, made visible.

    A terminal obeys them: it can be cleared, renamed or made to show something else.

    >>> printable("a\\x1b[2J") == "a\\N{REPLACEMENT CHARACTER}[2J"
    True
    """
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text)


def one_line(text: str, most: int) -> str:
    """Return the beginning of a text in one line of at most `most` characters, made `printable`.

    >>> one_line("one\\n two three", 10)
    'one two...'
    """
    line = printable(" ".join(text[: 8 * most].split()))
    return line if len(line) <= most else f"{line[: most - 3]}..."


def first_and_others(names: Sequence[str], others: str = "others") -> str:
    """Name one or two things, or the first of more and how many there are besides.

    >>> first_and_others(["a", "b"]), first_and_others(["a", "b", "c"])
    ('a and b', 'a and 2 others')
    """
    return " and ".join(names if len(names) < 3 else (names[0], f"{len(names) - 1} {others}"))


def say(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text on standard output, or with `err` on standard error."""
    import click

    click.echo(printable(text), err=err, nl=nl)


def terminal_width() -> int | None:
    """Return the width of the terminal; None if standard output is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def terminal(*, err: bool = False, bar: bool | None = None) -> Console:
    """A console that prints texts as `say` does.

    A file or a pipe gets tables as wide as they are. `bar` says whether to treat it as a terminal,
    None: if it is one, whatever FORCE_COLOR says, which a notebook sets for the programs it starts.
    """
    from rich.console import Console

    if bar is None and not (sys.stderr if err else sys.stdout).isatty():
        bar = False

    class Printable(Console):
        def print(self, *objects: Any, **options: Any) -> None:
            texts = [printable(one) if isinstance(one, str) else one for one in objects]
            super().print(*texts, **options)

    # No pictures for words between colons: `file:m:` is a model's name.
    found = Printable(stderr=err, force_terminal=bar, emoji=False)
    return found if err or found.is_terminal else Printable(width=100, emoji=False)


def test_data_note(terms: str = "") -> str:
    """Return the note on test data of a benchmark, with the terms that its authors state."""
    stated = f" ({terms})" if terms else ""
    return f"Contains test data of a benchmark{stated}: do not publish where crawlers collect text."


TEST_DATA_NOTE = test_data_note("Mind2Web asks that it stay out of training corpora")
"""Included in every output with texts of tasks or pages, or scores on them; benchmarks with other
terms declare another note (`Benchmark.note`)."""
