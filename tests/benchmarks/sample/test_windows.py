"""What is asked about windows of the screenshots: made again, it is what ships."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmarks.sample.__main__ import main
from harness.sample import WINDOWS, files


def test_lines_made_again_are_those_that_ship(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "windows"]) == 0
    assert capsys.readouterr().out == "places: 322, 0 differ\nquestions: 331, 0 differ\n"


def test_a_changed_or_missing_line_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in files().values():
        (tmp_path / path.name).symlink_to(path)
    shutil.copytree(WINDOWS, tmp_path / WINDOWS.name)
    for name, change in (
        ("places", lambda lines: [lines[0].replace("open", "shut"), *lines[1:]]),
        ("questions", lambda lines: lines[:-1]),
    ):
        path = tmp_path / WINDOWS.name / f"{name}.jsonl"
        path.write_text("".join(change(path.read_text("utf-8").splitlines(True))), "utf-8")
    assert main(["check", "windows", "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().out == "places: 322, 2 differ\nquestions: 330, 1 differ\n"


def test_without_its_files_one_line_says_what_to_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "windows", "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err.endswith("missing; run: python -m benchmarks.sample build\n")
