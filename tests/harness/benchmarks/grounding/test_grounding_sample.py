"""The sample of grounding: places that can be found, the same on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from io import BytesIO

import pytest
from PIL import Image, ImageChops

from benchmarks.sample.trajectories import jpeg
from harness.benchmarks import Items, benchmark, open_benchmark
from harness.benchmarks.sample_windows import jpeg_rows
from harness.errors import DataError
from harness.pictures import read_size

NAME = "sample-grounding"
SPLITS = ("dev", "test")
DIGESTS = {
    "dev": "f6be0e3b73c0dc1b2d1c6ad81308fe08286b552ebfb502ca0d156ddd0a9f348f",
    "test": "6aa794107027fc6cd87788f0591ef6b5d48728ed686f6a11df09ea6cd8834b8e",
}
"""Of all items: what is asked about which picture, and where it is."""


@cache
def sample(split: str) -> Items:
    opened = open_benchmark(NAME, splits=[split])
    assert isinstance(opened, Items)
    return opened


@pytest.mark.parametrize("split", SPLITS)
def test_items_are_the_same_on_every_machine(split: str) -> None:
    digest = hashlib.sha256()
    for unit in sample(split).entries:
        (picture,) = sample(split).pictures(unit)
        asked, gold = unit.detail.asked, unit.detail.gold
        digest.update(repr((unit.unit_id, asked, gold.kind, gold.numbers)).encode() + picture)
    assert digest.hexdigest() == DIGESTS[split]


def test_dev_and_test_share_no_site_and_have_the_declared_sizes() -> None:
    sites = [{unit.parents["website"] for unit in sample(split).entries} for split in SPLITS]
    assert not sites[0] & sites[1]
    for size in benchmark(NAME).sizes:
        units = sample(size.split).entries
        pictures = {unit.parents["picture"] for unit in units}
        assert (len(pictures), len(units)) == (size.tasks, size.rows)
    assert not any(sample(split).notices or sample(split).remarks for split in SPLITS)


@pytest.mark.parametrize("split", SPLITS)
def test_items_about_a_picture_have_no_order(split: str) -> None:
    assert {(unit.place, unit.total) for unit in sample(split).entries} == {(None, 0)}


@pytest.mark.parametrize("split", SPLITS)
def test_refined_instructions_ask_for_the_same_and_name_a_neighbour(split: str) -> None:
    short, long = sample(split).entries, sample(f"{split}-refined").entries
    assert [unit.unit_id for unit in short] == [unit.unit_id for unit in long]
    assert [unit.detail.gold for unit in short] == [unit.detail.gold for unit in long]
    longer = [
        other.detail.asked.removeprefix(one.detail.asked)
        for one, other in zip(short, long, strict=True)
    ]
    named = [text for text in longer if text]
    assert all(text.startswith(", ") and text.endswith("”") for text in named)
    assert len(named) > 0.8 * len(longer)


def windows() -> Iterator[tuple[bytes, bytes, int]]:
    """The encoded window, the whole screenshot and the top of the window, of some items."""
    whole = benchmark(NAME)
    for split in SPLITS:
        folder = whole.folder(None)  # type: ignore[attr-defined]
        whole.rows(folder, split)  # type: ignore[attr-defined]
        for name, (shots, window) in list(folder.windows.items())[::20]:
            yield folder.picture(name), shots.pictures(shots.cells[window.row - 1]), window.top


def test_windows_are_cut_out_without_loss() -> None:
    for data, screenshot, top in windows():
        assert (read_size(data).width, read_size(data).height) == (1280, 720)
        with Image.open(BytesIO(data)) as window, Image.open(BytesIO(screenshot)) as page:
            window.load()
            # Colours of the outermost rows are smoothed towards rows that are not there.
            inner = page.crop((0, top + 2, 1280, top + 718))
            assert not ImageChops.difference(inner, window.crop((0, 2, 1280, 718))).getbbox()


def test_a_picture_without_markers_or_rows_is_not_cut() -> None:
    out = BytesIO()
    image = Image.effect_noise((64, 64), 50).convert("RGB")
    image.save(out, "PNG")
    marked = jpeg(out.getvalue())
    assert read_size(jpeg_rows(marked, 16, 32)).height == 32
    for top, height in ((8, 32), (16, 40), (48, 32), (-16, 32), (0, 0)):
        with pytest.raises(ValueError, match="no rows"):
            jpeg_rows(marked, top, height)
    plain = BytesIO()
    image.save(plain, "JPEG")
    with pytest.raises(ValueError, match="no restart marker"):
        jpeg_rows(plain.getvalue(), 16, 32)


def test_data_of_the_user_is_refused(tmp_path: object) -> None:
    with pytest.raises(DataError, match="sample-grounding ships with the package"):
        open_benchmark(NAME, data=tmp_path)  # type: ignore[arg-type]
