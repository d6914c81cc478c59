"""Files that a user names: with a mark at their beginning, and what is no file."""

from __future__ import annotations

import codecs
import json
import os
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from adapters import input_files
from harness.commands.options import read_toml
from harness.errors import UserError
from tests.harness.benchmarks.question.test_own import png
from tests.harness.commands.tool import Called, call

STEP = {
    "task": "Go",
    "html": "<body backend_node_id='9'><button backend_node_id='1'>Go</button></body>",
    "operation": "CLICK",
    "positives": ["1"],
}
PLACE = {"id": "a", "image": "p.png", "instruction": "press", "box": [1, 1, 5, 5]}
ON_SCREEN = {"image": "p.png", "goal": "go", "action": {"type": "click", "at": [5, 5]}}
ORACLE = ("run", "-m", "oracle", "-b", "sample", "--split", "dev", "--limit", "1", "--dry-run")
SCRIPTED = ("run", "-m", "scripted:f/replies.jsonl", *ORACLE[3:])
HOSTED = ("run", "-m", "openai:m", *ORACLE[3:], "--base-url", "http://127.0.0.1:9/v1")
GROUNDING = 'name = "g"\nbox = "xyxy-px"\n'
SCREEN = 'name = "s"\npoints = "px"\nscroll = "content"\n'
CASES: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "config": ({"c.toml": "limit = 1\n"}, (*ORACLE, "--config", "f/c.toml")),
    "prices": (
        {"p.toml": '["openai:m"]\ninput = 1.0\noutput = 1.0\n'},
        (*HOSTED, "--prices", "f/p.toml"),
    ),
    "replies": ({"replies.jsonl": '{"text": "A"}\n'}, SCRIPTED),
    "steps": ({"steps.jsonl": json.dumps(STEP) + "\n"}, ("data", "check", "f/steps.jsonl")),
    "grounding items": (
        {"items.jsonl": json.dumps(PLACE) + "\n", "grounding.toml": GROUNDING},
        ("data", "check", "f"),
    ),
    "steps on screens": (
        {"steps.jsonl": json.dumps(ON_SCREEN) + "\n", "screen.toml": SCREEN},
        ("data", "check", "f"),
    ),
    "ranks": (
        {"r.json": '{"scores": {"x": {"1": 0.5}}}'},
        ("rankers", "recall", "-b", "sample", "--split", "dev", "f/r.json", "--limit", "1"),
    ),
}
"""Files by name, the first of which is tried, and the command that reads them."""


@pytest.fixture
def folder(place: Path) -> Path:
    (place / "f").mkdir()
    (place / "f/p.png").write_bytes(png())
    return place / "f"


def called(case: str, folder: Path, change: Callable[[Path], None]) -> Called:
    files, words = CASES[case]
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    change(folder / next(iter(files)))
    return call(*words)


def told(found: Called) -> tuple[int, str]:
    """What was said, without the sizes and digests of files."""
    text = found.out + found.err
    return found.code, re.sub(r"\d+ bytes, sha256 \w+", "", text)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("mark", ["utf-8-sig", "utf-16"])
def test_a_mark_at_the_beginning_changes_nothing(case: str, mark: str, folder: Path) -> None:
    if mark == "utf-16" and case in ("steps", "ranks"):
        pytest.skip("these are read in parts, in UTF-8 only")
    plain = called(case, folder, lambda path: None)
    made = folder.parent / "made"
    for file in made.glob("*"):
        file.unlink()
    marked = called(
        case, folder, lambda path: void(path.write_bytes(path.read_text().encode(mark)))
    )
    assert told(marked) == told(plain)
    assert plain.code == (2 if case == "ranks" else 0), plain.err
    assert codecs.BOM_UTF8.decode() not in told(marked)[1]


def void(_: object) -> None:
    return None


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def zeros(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(50_000_000)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("change", [pipe, device, zeros])
def test_what_is_no_file_of_the_kind_is_told_shortly(
    case: str, change: Callable[[Path], None], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input_files, "PIPE_S", 0.05)
    found = called(case, folder, change)
    assert found.code == 2, told(found)
    lines = (found.err or found.out).splitlines()
    assert len(lines) <= 6 and len("".join(lines)) < 1_000 and "Traceback" not in found.err


def fed(path: Path, data: bytes, *, ends: bool = True) -> threading.Thread:
    """Feed a pipe from a thread, as a command in a shell does."""

    def write() -> None:
        with path.open("wb", buffering=0) as file, suppress(BrokenPipeError):
            for start in range(0, len(data), 7):
                file.write(data[start : start + 7])
            while not ends:
                file.write(b"#" * 4096)

    os.mkfifo(path)
    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return thread


def test_options_may_come_out_of_a_pipe(folder: Path) -> None:
    thread = fed(folder / "pipe", b"\xef\xbb\xbflimit = 1\n[task]\nid = 'x'\n")
    assert read_toml(str(folder / "pipe"), "--config") == {"limit": 1, "task": {"id": "x"}}
    thread.join()


@pytest.mark.parametrize(
    ("data", "ends", "why"),
    [(b"", True, "gave nothing"), (b"limit = 1\n", False, "did not end|gives too much")],
)
def test_a_pipe_that_gives_nothing_or_too_much_is_told(
    data: bytes, ends: bool, why: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input_files, "PIPE_S", 0.2)
    thread = fed(folder / "pipe", data, ends=ends)
    with pytest.raises(UserError, match=f"--config: it is a pipe that ({why})"):
        read_toml(str(folder / "pipe"), "--config")
    thread.join()
