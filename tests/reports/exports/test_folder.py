"""The folder that an export writes: no text of a run leads out of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.exports import LONGEST, ExportError, ExportFolder, file_name


@given(st.text(), st.text())
def test_any_text_becomes_the_name_of_a_file_in_its_folder(one: str, other: str) -> None:
    name = file_name(one)
    assert name not in ("", ".", "..") and not set(name) & set("/\\\0:\n")
    assert name[0] not in ".-" and len(name.encode()) <= LONGEST
    assert file_name(name) == name
    if one != other:
        # What is safe already stays as it is, also where it is the name of another text.
        assert file_name(other) != name or name in (one, other)


@pytest.mark.parametrize("name", ["con", "NUL.txt", "..", "", "a/b", "a\\b", "-rf", ".hidden"])
def test_names_with_a_meaning_of_their_own_are_changed(name: str) -> None:
    assert file_name(name) != name


@pytest.mark.parametrize("part", ["..", ".", "", "a/b", "/etc", "c:d", "a\\b", "a\0"])
def test_a_part_that_is_no_name_is_an_error_of_the_format(tmp_path: Path, part: str) -> None:
    with (
        pytest.raises(ValueError, match="not the name of a file"),
        ExportFolder(tmp_path) as folder,
    ):
        folder.path(part, "x")
    assert not list(tmp_path.iterdir())


def test_links_in_the_folder_are_not_followed(tmp_path: Path) -> None:
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    out.mkdir()
    elsewhere.mkdir()
    (out / "data").symlink_to(elsewhere)
    (out / "x").symlink_to(elsewhere / "y")
    with (
        pytest.raises(ExportError, match="is not a folder"),
        ExportFolder(out, overwrite=True) as to,
    ):
        to.path("data", "x").write_text("")
    with ExportFolder(out, overwrite=True) as to:
        to.path("x").write_text("mine")
    assert not list(elsewhere.iterdir()) and (out / "x").read_text() == "mine"
    assert not (out / "x").is_symlink()


def test_two_files_of_one_name_are_refused_also_where_case_does_not_count(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="two files"), ExportFolder(tmp_path / "o") as folder:
        folder.path("Run").write_text("")
        folder.path("run")
    assert not (tmp_path / "o").exists()


def test_a_file_that_appears_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="exists already"), ExportFolder(tmp_path) as folder:
        folder.path("a").write_text("mine")
        (tmp_path / "a").write_text("somebody's")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a", "somebody's")]
