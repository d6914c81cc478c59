"""Links and names in the documents lead somewhere, on GitHub and in a checkout."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

import parsers
from tests.docs.documents import ROOT, anchors, code, documents, links

PACKAGES = ("adapters", "harness", "parsers", "reports")
PLACES = (*PACKAGES, "benchmarks", "docs", "notebooks", "tests")
A_PATH = re.compile(rf"(?:{'|'.join(PLACES)})(?:/[\w.-]+)*/?")
A_NAME = re.compile(rf"(?:{'|'.join(PACKAGES)})(?:\.\w+)+")
A_DOCUMENT = re.compile(r"\bdocs/[\w/-]+\.(?:md|png|jpg)(?:#[\w-]+)?")


def wrong(path: Path, target: str) -> str | None:
    """Why a link of a document leads nowhere; None for a good one."""
    parts = urlsplit(target)
    if parts.scheme in ("http", "https"):
        good = re.fullmatch(r"[\w-]+(\.[\w-]+)+|localhost(:\d+)?", parts.netloc)
        return None if good and not re.search(r"\s", target) else "is no address"
    if parts.scheme or parts.netloc or parts.path.startswith("/"):
        return "is neither an address nor a path from the document on"
    found = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
    if not found.is_relative_to(ROOT) or not found.is_file():
        return "is no file of the repository"
    if parts.fragment and found.suffix == ".md" and parts.fragment not in anchors(found):
        return f"has no such heading; GitHub's anchors: {', '.join(sorted(anchors(found)))}"
    return None


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_and_pictures_are_there(path: Path) -> None:
    reasons = ((target, wrong(path, target)) for target in links(path))
    assert [(target, reason) for target, reason in reasons if reason] == []


def test_the_page_of_documents_leads_to_every_document() -> None:
    start = ROOT / "docs" / "README.md"
    led = {(start.parent / target.partition("#")[0]).resolve() for target in links(start)}
    pages = {path for path in documents() if path.is_relative_to(ROOT / "docs")}
    reference = ROOT / "docs" / "reference"  # has a page that lists its pages
    assert [page for page in pages - led - {start} if page.parent != reference] == []


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    page = ROOT / "docs" / "tables.md"
    for good in ("", "statistics.md", "statistics.md#tasks-are-the-clusters", "../README.md"):
        assert wrong(page, good) is None
    for bad in (
        "statistic.md",
        "statistics.md#tasks",
        "#nowhere",
        "/docs/tables.md",
        "../../README.md",
        "images",
        "https:/example.org",
        "mailto:x",
    ):
        assert wrong(page, bad), bad


def test_anchors_are_those_of_github(tmp_path: Path) -> None:
    (tmp_path / "x.md").write_text(
        "# A `code`, and: more!\n## `--config FILE`\n## Twice\n## Twice\n## *a_b*  c/d\n"
    )
    assert anchors(tmp_path / "x.md") == {
        "a-code-and-more", "--config-file", "twice", "twice-1", "a_b--cd",
    }  # fmt: skip


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_paths_that_are_named_exist(path: Path) -> None:
    named = {text for text in code(path) if "/" in text and A_PATH.fullmatch(text)}
    patterns = {text: re.sub(r"\b[A-Z]{2,}\b(?!\.md)", "*", text.rstrip("/")) for text in named}
    assert [text for text in sorted(named) if not any(ROOT.glob(patterns[text]))] == []


def test_files_that_the_page_of_a_folder_lists_are_in_it() -> None:
    listed = [
        path.parent / name
        for path in documents()
        if path.name == "README.md" and path.parent != ROOT
        for cell in re.findall(r"^\| ([^|]+) \|", path.read_text("utf-8"), re.MULTILINE)
        for name in re.findall(r"`([\w/]+\.(?:py|js|toml))`", cell)
    ]
    assert listed
    assert [str(file) for file in listed if not file.is_file()] == []


def exists(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    words = name.split(".")
    for length in range(len(words), 0, -1):
        try:
            thing: Any = import_module(".".join(words[:length]))
        except ModuleNotFoundError:
            continue
        for word in words[length:]:
            if not hasattr(thing, word) and word not in getattr(thing, "__annotations__", {}):
                return False
            thing = getattr(thing, word, None)
        return True
    return False


def test_modules_and_names_that_are_named_exist() -> None:
    """The changelog tells of what was, too."""
    pages = {path for path in documents() if path.name != "CHANGELOG.md"}
    named = {(page, text) for page in pages for text in code(page) if A_NAME.fullmatch(text)}
    assert named
    assert [one for one in named if not exists(one[1])] == []


def test_documents_that_the_code_names_exist() -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), name)
        for package in (*PACKAGES, "benchmarks")
        for path in (ROOT / package).rglob("*.py")
        for name in A_DOCUMENT.findall(path.read_text("utf-8"))
    }
    assert found
    assert [one for one in sorted(found) if wrong(ROOT / "README.md", one[1])] == []


def test_every_stable_module_stands_in_the_reference() -> None:
    stable = (ROOT / "docs/extending.md").read_text("utf-8").split("## What is stable")[1]
    named = set(re.findall(rf"`((?:{'|'.join(PACKAGES)})(?:\.[a-z_]+)*)`", stable))
    pages = [path.read_text("utf-8") for path in (ROOT / "docs/reference").glob("*.md")]
    shown = set(re.findall(r"^::: (\S+)$", "\n".join(pages), re.MULTILINE))
    shown |= {getattr(parsers, name).__module__ for name in ("Declaration", "Prediction")}
    assert "harness.evaluate" in named & shown
    assert named - shown == set()
