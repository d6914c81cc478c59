"""The list of a run as large as the benchmark, and the page behind a server."""

from __future__ import annotations

import http.client
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reports.view import POLICY
from reports.view.serving import server
from reports.view.write import RunsPage
from tests.reports.view.conftest import Watched
from tests.reports.view.pages import many, page

STEPS = 2_000


@pytest.mark.browser
def test_a_list_of_thousands_of_steps_opens_scrolls_filters_and_sorts(
    browser: Any, tmp_path: Path
) -> None:
    run, out = many(tmp_path / "run", STEPS), tmp_path / "view"
    assert page([run], out, pictures=False) == f"{STEPS:,} steps"
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    watched = Watched(context.new_page(), (out.as_uri(),))
    tab = watched.tab
    tab.goto(f"{out.as_uri()}/index.html#/steps")
    tab.locator("#grid-space .row").first.wait_for()
    assert tab.locator("#f-count").inner_text() == f"{STEPS:,} of {STEPS:,} steps"
    assert tab.locator("#grid-space .row").count() < 60
    tab.keyboard.press("End")
    tab.locator(f"#row-{STEPS - 1}").wait_for()
    tab.keyboard.press("Enter")
    tab.locator(".verdict").wait_for()
    tab.keyboard.press("Escape")
    tab.locator("#f-site").select_option("site-7")
    assert 0 < int(tab.locator("#f-count").inner_text().split()[0]) < 200
    tab.get_by_role("columnheader", name="Outcome").get_by_role("button").click()
    tab.locator("#grid-space .row").first.wait_for()
    context.close()
    assert watched.wrong == []


@pytest.fixture
def address(folder: Path) -> Iterator[tuple[str, int]]:
    with server(RunsPage([], folder), 0) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield str(serving.server_address[0]), int(serving.server_address[1])
        serving.shutdown()
        thread.join()


def _get(address: tuple[str, int], path: str, **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(*address, timeout=5)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    response.read()
    connection.close()
    return response


def test_the_server_is_for_this_machine_alone(address: tuple[str, int]) -> None:
    assert address[0] == "127.0.0.1"
    found = _get(address, "/index.html")
    assert found.status == 200
    assert found.getheader("Content-Security-Policy") == POLICY
    assert found.getheader("X-Content-Type-Options") == "nosniff"
    assert _get(address, "/index.html", Host="evil.example").status == 403
    assert _get(address, "/data/").status == 404
    assert _get(address, "/../../etc/passwd").status == 404


def test_no_address_ends_the_server_or_makes_it_print(
    address: tuple[str, int], capfd: pytest.CaptureFixture[str]
) -> None:
    for path in ("/%00", "/a%00b/", "/" + "x" * 5000, "/%ff%fe", "/%ed%a0%80", "/index.html%00"):
        assert _get(address, path).status == 404
    with socket.create_connection(address) as visitor:
        visitor.sendall(b"GET /index.html HTTP/1.0\r\nHost: localhost\r\n\r\n")
        # Leaves with a reset while the file is sent.
        visitor.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert _get(address, "/index.html").status == 200
    assert capfd.readouterr() == ("", "")
