"""A world of pages that the tests of a module share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness.live.browsed import Pages, Table


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    folder = tmp_path_factory.mktemp("pages")
    world = Pages({"folder": str(folder)})
    yield Table(world, folder)
    world.close()
