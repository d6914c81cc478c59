"""Folders that commands make: whole, or not there, wherever the process is killed."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from harness.errors import RunError
from harness.runs.files import built_aside
from tests.harness.commands.tool import call, isolate
from tests.programs import completed

KILLED = """
import os, signal, sys
at, words = int(sys.argv[1]), sys.argv[2:]
count = 0


def look(event, arguments):
    global count
    if event in ("os.rename", "os.mkdir") or (
        event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)
    ):
        count += os.getcwd() in os.path.abspath(arguments[0])
        if count == at:
            os.kill(os.getpid(), signal.SIGKILL)


from harness.commands.main import run
sys.addaudithook(look)
run(words)
"""
RUN = ("run", "-m", "lexical", "-b", "sample", "--split", "dev", "--image-policy", "none")
COMMANDS = {
    "merge": ("merge", "a", "b", "-o", "out"),
    "view": ("view", "a", "--no-pictures", "-o", "out"),
    "export": ("export", "a", "--to", "csv", "--overwrite", "-o", "out"),
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    isolate(monkeypatch, tmp_path)
    return tmp_path


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_killed_command_leaves_nothing_and_the_next_one_makes_all(
    command: str, place: Path
) -> None:
    for number, name in enumerate("ab", 1):
        assert call(*RUN, "--limit", "2", "--shard", f"{number}/2", "-o", name).code == 0
    words = COMMANDS[command]
    assert call(*words).code == 0
    whole, target = names(Path("out")), Path("other")
    again = (*words[:-1], "other")
    for at in (1, 3, 6, 9, 14):
        done = completed("-c", KILLED, str(at), *again)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert not target.exists() or names(target) == whole
    else:
        assert call(*again).code == 0
    assert names(target) == whole
    assert not list(place.glob(".*.part"))


def test_a_folder_is_moved_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "new/deep/out"
    with built_aside(target) as folder:
        (folder / "a").write_text("1")
        assert not target.exists() and folder.name == "out"
    assert names(tmp_path) == {"new/deep/out/a"}
    with pytest.raises(ValueError), built_aside(tmp_path / "x/y") as folder:
        (folder / "a").write_text("1")
        raise ValueError
    assert not (tmp_path / "x").exists()
    with pytest.raises(RunError, match="exists already"), built_aside(target):
        pass
    (tmp_path / "empty").mkdir()
    with built_aside(tmp_path / "empty") as folder:
        (folder / "b").write_text("2")
    assert names(tmp_path / "empty") == {"b"}


def test_with_replaces_its_files_take_the_place_of_others(tmp_path: Path) -> None:
    target = tmp_path / "out"
    (target / "data").mkdir(parents=True)
    (target / "data/old").write_text("old")
    (target / "data/new").write_text("before")
    (target / "mine").write_text("kept")
    with built_aside(target, replaces=True) as folder:
        (folder / "data").mkdir()
        (folder / "data/new").write_text("new")
        assert (target / "data/new").read_text() == "before"
    assert names(tmp_path) == {"out/data/new", "out/data/old", "out/mine"}
    assert (target / "data/new").read_text() == "new"


def test_two_processes_do_not_write_the_same_folder(tmp_path: Path) -> None:
    with (
        built_aside(tmp_path / "out"),
        pytest.raises(RunError, match="another process is writing"),
        built_aside(tmp_path / "out"),
    ):
        pass
