"""Whatever is wrong with files of a set is one line that says what, where and what to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.registry import Entry
from harness.benchmarks import BENCHMARKS
from harness.benchmarks.contract import SplitSize
from harness.benchmarks.grounding import screenspot, systems
from harness.benchmarks.grounding.sets import GroundingSet
from harness.errors import DataError
from tests.harness.benchmarks.grounding import _files as files
from tests.harness.benchmarks.grounding._files import pro_row, small, write
from tests.harness.commands.tool import call, isolate

PRO, V2, WORLD = (small(one) for one in (screenspot.PRO, screenspot.V2, systems.OSWORLD_G))


def of_rows(**more: object) -> Callable[[Path], Path]:
    return lambda place: files.screenspot_pro(place, pro_row(0), pro_row(1, **more))


def without(make: Callable[[Path], Path], name: str) -> Callable[[Path], Path]:
    def made(place: Path) -> Path:
        folder = make(place)
        (folder / name).unlink()
        return folder

    return made


def instead(make: Callable[[Path], Path], name: str, content: object) -> Callable[[Path], Path]:
    def made(place: Path) -> Path:
        folder = make(place)
        write(folder / name, content)
        return folder

    return made


def lost(place: Path) -> Path:
    folder = place / "osworld-g-converted"
    write(folder / "OSWorld-G_sspro_format.json", [pro_row(0)])
    return folder


@pytest.mark.parametrize(
    ("whole", "make", "message"),
    [
        (PRO, lambda place: place / "none", "{0} is not a folder; screenspot-pro is read from a"),
        (PRO, lambda place: place, "{0} has no annotations/*.json, the annotations of"),
        (
            PRO,
            of_rows(bbox=[42, 60, 19, 70]),
            "{0}/annotations/word_macos.json, word_macos_1: no box from left, top to right, "
            "bottom: (42.0, 60.0, 19.0, 70.0); boxes of screenspot-pro are xyxy-px",
        ),
        (
            PRO,
            of_rows(bbox=[100, 60, 197, 170]),
            "{0}: 1 item outside the picture by more than 2 px (word_macos_1: box (100, 60, 197, "
            "170) on 200x100); are boxes of screenspot-pro stored in another convention there, or "
            "sizes of other pictures?",
        ),
        (PRO, of_rows(bbox=[10, 20, 10, 40]), "{0}: 1 item without area (word_macos_1:"),
        (PRO, of_rows(id=""), "{0}/annotations/word_macos.json, : nothing to ask about (id ''"),
        (
            PRO,
            instead(files.screenspot_pro, "annotations/word_macos.json", "version https://git-lfs"),
            "{0}/annotations/word_macos.json is a git-lfs pointer, not the data; run: git lfs pull",
        ),
        (
            V2,
            without(files.screenspot_v2, "screenspotv2_image.zip"),
            "{0} has no picture mobile.png (looked for in screenspotv2_image, "
            "screenspotv2_image.zip); copy it there",
        ),
        (
            V2,
            instead(files.screenspot_v2, "screenspotv2_image.zip", b"PK\x03\x04"),
            "{0}/screenspotv2_image.zip is not a zip file: ",
        ),
        (
            WORLD,
            instead(files.osworld_g, "classification_result.json", {"classified": {"new": []}}),
            "{0}/classification_result.json has an unknown class 'new'",
        ),
        (
            WORLD,
            lost,
            "{0}/OSWorld-G_sspro_format.json is OSWorld-G in the form of ScreenSpot-Pro, where "
            "its 40 polygons and 54 refusals are lost: clone https://github.com/xlang-ai/OSWorld-G",
        ),
    ],
)
def test_the_line_names_file_and_remedy(
    tmp_path: Path, whole: GroundingSet, make: Callable[[Path], Path], message: str
) -> None:
    folder = make(tmp_path)
    with pytest.raises(DataError) as caught:
        whole.open(data=folder)
    assert str(caught.value).startswith(message.format(folder))
    assert "\n" not in str(caught.value)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder of ScreenSpot-Pro's, which commands know without its published counts."""
    isolate(monkeypatch, tmp_path)
    monkeypatch.setitem(BENCHMARKS._entries, PRO.name, Entry(PRO.name, PRO))
    return files.screenspot_pro(tmp_path)


def test_a_picture_of_another_size_than_its_row_says_ends_a_run(known: Path) -> None:
    write(known / "images" / "word_mac" / "1.png", files.png((100, 50)))
    ended = call("run", "-m", "oracle", "-b", PRO.name, "--data", known, "-o", "r")
    assert ended.code == 2
    assert ended.err.splitlines()[-1].endswith(
        "word_macos_1: its picture has 100 x 50 pixels, and its row says 200 x 100: is the picture "
        "another one, or made smaller?"
    )


def test_data_check_ends_with_the_line_of_what_is_wrong(known: Path) -> None:
    checked = call("data", "check", known)
    assert checked.code == 0 and "screenspot-pro, cn: 2 items" in checked.out
    named = call("data", "check", known, "-b", PRO.name, "--split", "cn")
    assert named.code == 0 and ", en:" not in named.out
    (known / "annotations" / "word_macos.json").unlink()
    checked = call("data", "check", known)
    assert checked.code == 2 and checked.complaint.startswith(
        f"vlm-eval: {known} has no annotations/*.json"
    )
    unknown = call("data", "check", known, "--split", "en-us")
    assert unknown.complaint.endswith("has no split 'en-us'; known: cn, en")


def test_shares_where_pixels_are_declared_are_refused(tmp_path: Path) -> None:
    rows = [pro_row(number, bbox=[0.1, 0.2, 0.3, 0.4]) for number in range(3)]
    folder = files.screenspot_pro(tmp_path, *rows)
    with pytest.raises(DataError, match="every box lies within 0 to 1, as shares of the picture"):
        PRO.open(data=folder)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({"sizes": (SplitSize("en", None, 3),)}, "en: 2 items where 3 are published"),
        ({"sizes": (SplitSize("en", 1, 2),)}, "en: 2 pictures where 1 are published"),
        (
            {"cell_labels": ("group", "ui_type"), "cells": {"en": {("Office", "icon"): 1}}},
            "en: 0 items of Office icon where 1 are published",
        ),
    ],
)
def test_counts_that_are_not_the_published_ones_are_refused(
    tmp_path: Path, counts: dict[str, object], message: str
) -> None:
    folder = files.screenspot_pro(tmp_path)
    with pytest.raises(DataError, match=message):
        replace(PRO, **counts).open(data=folder)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["../secret.png", "/etc/passwd", "a/../../secret.png", ".."])
def test_a_row_cannot_name_a_picture_outside_of_the_folder(tmp_path: Path, name: str) -> None:
    write(tmp_path / "secret.png", files.png())
    row = pro_row(0, img_filename="word_mac/0.png")
    folder = files.screenspot_pro(tmp_path, row)
    write(folder / "annotations" / "word_macos.json", [row | {"img_filename": name}])
    opened = PRO.open(data=folder)
    with pytest.raises(DataError, match="is not a picture name within a folder"):
        opened.pictures(opened.entries[0])


def test_a_member_of_a_zip_that_claims_to_be_huge_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = files.screenspot_v2(tmp_path)
    monkeypatch.setattr("harness.benchmarks.folders._LARGEST", 10)
    with pytest.raises(DataError, match=r"mobile\.png takes .* bytes unpacked"):
        V2.open(data=folder)


def test_a_set_that_is_on_no_hub_says_where_it_is() -> None:
    with pytest.raises(DataError, match=r"osworld-g is on no hub: clone https://.*--data"):
        WORLD.open()
