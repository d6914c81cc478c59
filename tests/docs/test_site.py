"""The site of the documents: built without a warning, as on GitHub, and whole without a network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from filelock import FileLock
from lxml import html

from harness.live.chromium import chromium, running
from tests.docs.documents import GITHUB, ROOT, documents

CONFIG = ROOT / "mkdocs.yml"
PAGES = re.findall(
    r"^ +- ([\w/.-]+\.md)$", CONFIG.read_text("utf-8") if CONFIG.is_file() else "", re.M
)
WRITTEN = [page for page in PAGES if not page.startswith("docs/reference/")]
LOADED = ("script/@src", "link/@href", "img/@src", "iframe/@src", "source/@src", "form/@action")
SHAPE = (
    "h1",
    "h2",
    "h3",
    "h4",
    "table",
    "th",
    "td",
    "ul",
    "ol",
    "li",
    "pre",
    "img",
    "em",
    "strong",
)

pytestmark = pytest.mark.skipif(not PAGES, reason="the site is built from a checkout only")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not all(map(find_spec, ("mkdocs", "material", "mkdocstrings"))):
        pytest.skip("needs the extra [docs]")
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    out = shared / "site"
    with FileLock(shared / "site.lock"):  # The first of the workers builds it for all.
        if not out.is_dir():
            new = shared / "site.new"
            command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(CONFIG)]
            quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
            done = subprocess.run(
                [*command, "-d", str(new)], env=quiet, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
            new.rename(out)
    return out


def built(site: Path, page: str) -> Path:
    """The file of a page; the README is the first one."""
    return site / re.sub(
        r"(README|\bindex)?\.md$", lambda m: "index.html" if m[1] else ".html", page
    )


def test_every_document_has_its_place_in_the_navigation() -> None:
    names = (path.relative_to(ROOT).as_posix() for path in documents())
    elsewhere = ("tests/", "benchmarks/")
    assert sorted(PAGES) == sorted(name for name in names if not name.startswith(elsewhere))


def test_every_page_of_the_navigation_is_built(site: Path) -> None:
    assert [page for page in PAGES if not built(site, page).is_file()] == []


@pytest.mark.parametrize("page", WRITTEN)
def pieces(tree: Any) -> list[tuple[str, str]]:
    """The headings, items, cells and blocks of a page, with their texts."""
    for mark in tree.xpath("//a[@class='headerlink'] | //span[@class='filename']"):
        mark.drop_tree()
    return [(str(one.tag), " ".join(one.text_content().split())) for one in tree.iter(*SHAPE)]


@pytest.mark.parametrize("page", WRITTEN)
def test_a_page_is_read_as_github_reads_it(site: Path, page: str) -> None:
    (article,) = html.parse(built(site, page)).xpath("//article")
    assert pieces(article) == pieces(
        html.fromstring(GITHUB.render((ROOT / page).read_text("utf-8")))
    )


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        page = html.parse(path)
        for target in (str(t) for kind in LOADED for t in page.xpath(f"//{kind}")):
            parts = urlsplit(target)
            assert not parts.scheme and not parts.netloc, f"{path.name}: {target}"
            # The page for what is not found is served from anywhere.
            if parts.path and path.name != "404.html":
                assert (path.parent / unquote(parts.path)).is_file(), f"{path.name}: {target}"
        assert page.xpath("//*[contains(@class, 'mermaid')]") == []
    for path in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//", path.read_text("utf-8"))


def test_the_reference_shows_every_public_name_of_the_packages(site: Path) -> None:
    import harness
    import parsers
    import reports

    found: set[str] = set()
    for path in (site / "docs" / "reference").glob("*.html"):
        found.update(html.parse(path).xpath("//@id"))
    for package in (harness, parsers, reports):
        names = {f"{package.__name__}.{name}" for name in package.__all__ if name[0] != "_"}
        assert names - found == set()


def test_sections_and_examples_of_docstrings_are_recognised(site: Path) -> None:
    """What is not, such as an example outside of its section, runs together in a paragraph."""
    for path in (site / "docs" / "reference").glob("*.html"):
        texts = html.parse(path).xpath("//article//p//text()[not(ancestor::code|ancestor::span)]")
        lost = (text for text in map(str, texts) if re.search(r">>> |(^|\n)\w+:$", text))
        assert list(lost) == [], path.name


@pytest.mark.browser
def test_search_works_from_files_and_asks_nobody(site: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the extra [live]")
    program = chromium()
    if program is None:
        pytest.skip("there is no Chromium")
    asked: list[str] = []
    wrong: list[Any] = []
    with running(program) as browser:
        tab = browser.new_page()
        tab.on("request", lambda request: asked.append(request.url))
        tab.on("pageerror", lambda error: wrong.append(error))
        results = tab.locator(".md-search-result__link")
        for _ in range(10):  # A page whose index came too late, on a busy machine, is opened again.
            tab.goto(site.joinpath("index.html").as_uri())
            tab.get_by_role("textbox", name="Search").fill("Clopper")
            with suppress(playwright.TimeoutError):
                results.first.wait_for(timeout=5000)
                break
        results.first.click()
        tab.wait_for_url(re.compile(r"\?h="))
        assert "Clopper" in tab.locator("article").inner_text()
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert wrong == []
