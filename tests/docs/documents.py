"""The Markdown files of the repository as GitHub shows them: headings, anchors, links, names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
FOLDERS = ("docs", "tests", "benchmarks", "adapters", "harness", "parsers", "reports")
GITHUB = MarkdownIt("commonmark").enable(["table", "strikethrough"])


@cache
def documents() -> tuple[Path, ...]:
    """Every Markdown file that is written by hand."""
    below = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md"))
    return tuple(sorted([*ROOT.glob("*.md"), *below]))


@cache
def tokens(path: Path) -> tuple[Token, ...]:
    return tuple(GITHUB.parse(path.read_text("utf-8")))


def inline(path: Path) -> Iterator[Token]:
    """The pieces of text of a document: links, pictures, code, ..."""
    return (child for token in tokens(path) for child in token.children or ())


@cache
def anchors(path: Path) -> frozenset[str]:
    """The anchors that GitHub gives the headings of a document."""
    found: dict[str, int] = {}
    for opened, token in zip(tokens(path), tokens(path)[1:], strict=False):
        if opened.type == "heading_open":
            text = "".join(child.content for child in token.children or ())
            anchor = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            found[anchor] = found.get(anchor, -1) + 1
    more = {f"{anchor}-{n + 1}" for anchor, count in found.items() for n in range(count)}
    return frozenset(found) | more


def links(path: Path) -> list[str]:
    """The targets of a document's links and pictures."""
    pieces = (piece.attrs.get("href") or piece.attrs.get("src") for piece in inline(path))
    return [str(target) for target in pieces if target]


def code(path: Path) -> list[str]:
    """What stands in a document as code within a line."""
    return [piece.content for piece in inline(path) if piece.type == "code_inline"]
