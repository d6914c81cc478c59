"""The log browser: an index of the runs below a folder, and their pages on demand."""

from __future__ import annotations

import shutil
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lxml import html

from reports.view import POLICY
from reports.view.serving import serve_runs
from reports.view.write import ViewError
from tests.reports.runs import setup, worked, write

Get = Callable[..., tuple[int, str]]
HOSTILE = "<script>window.HACKED = 1</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("browsed") / "runs"
    write(place / "first", worked(), setup(benchmark="sample"))
    write(place / "deep" / "second", worked(), setup(benchmark="sample", model={"name": HOSTILE}))
    return place


@pytest.fixture
def get(folder: Path, tmp_path: Path) -> Iterator[Get]:
    (tmp_path / "secret.txt").write_text("secret", "utf-8")
    work = tmp_path / "work"
    work.mkdir()
    with serve_runs((folder,), work, 0) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        place = f"http://127.0.0.1:{serving.server_address[1]}"

        def ask(address: str, **headers: str) -> tuple[int, str]:
            request = urllib.request.Request(place + address, headers=headers)
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    assert answer.headers["Content-Security-Policy"] == POLICY
                    return answer.status, answer.read().decode()
            except urllib.error.HTTPError as error:
                return error.code, ""

        yield ask
        serving.shutdown()
        thread.join()


def links(page: str) -> list[str]:
    return [str(link) for link in html.fromstring(page).xpath("//a[@class='card']/@href")]


def test_the_index_lists_all_runs_and_filters_them(get: Get) -> None:
    status, page = get("/")
    assert status == 200 and len(links(page)) == 2
    assert HOSTILE not in page and "&lt;script&gt;" in page
    _, some = get("/?state=complete&model=nobody")
    assert links(some) == [] and "No run like this" in some
    assert len(links(get("/?benchmark=sample")[1])) == 2


def test_a_page_is_written_when_it_is_asked_for(get: Get, tmp_path: Path) -> None:
    address = links(get("/")[1])[0]
    assert list((tmp_path / "work").iterdir()) == []
    status, page = get(address)
    assert status == 200 and "By split" in page
    assert len(list((tmp_path / "work").iterdir())) == 1
    base = address.removesuffix("/index.html")
    assert "VLM.load" in get(f"{base}/data/steps.js")[1]
    assert get(f"{base}/assets/app.js")[0] == 200


@pytest.mark.parametrize(
    "address",
    [
        "/runs/0123456789abcdef/index.html",
        "/runs/../secret.txt",
        "/assets/../write.py",
        "/assets/app.js",
        "/secret.txt",
        "{base}/../../secret.txt",
        "{base}/%2e%2e/%2e%2e/secret.txt",
        "{base}/..%2f..%2fsecret.txt",
        "{base}/data/",
    ],
)
def test_nothing_else_is_served(address: str, get: Get) -> None:
    base = links(get("/")[1])[0].removesuffix("/index.html")
    status, text = get(address.format(base=base))
    assert status == 404 and "secret" not in text


def test_other_hosts_are_refused(get: Get) -> None:
    assert get("/", Host="evil.example")[0] == 403


def test_a_run_that_begins_later_is_listed(get: Get, folder: Path) -> None:
    shutil.copytree(folder / "first", folder / "third")
    try:
        assert len(links(get("/")[1])) == 3
    finally:
        shutil.rmtree(folder / "third")


def test_an_occupied_port_is_told_before_any_work(folder: Path, tmp_path: Path) -> None:
    with serve_runs((folder,), tmp_path, 0) as serving:
        port = serving.server_address[1]
        with pytest.raises(ViewError, match=rf"port {port}: .*; --port \d+ is free"):
            serve_runs((tmp_path / "there is no such folder",), tmp_path, port)
