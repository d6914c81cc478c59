"""The front door: help, lists, the default command, and what is imported for them."""

from __future__ import annotations

import errno
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import adapters
import harness
import parsers
import reports
from adapters import MODELS
from adapters.catalog import LOCAL
from harness import sample
from harness.benchmarks import BENCHMARKS
from harness.protocols import PROTOCOLS
from harness.settings import SETTINGS
from tests.harness.commands.tool import ONE_TASK, TEXT_ONLY, at, call
from tests.servers import WireServer, error

HEAVY = ("torch", "transformers", "datasets", "openai", "anthropic", "google.genai", "pandas")
COMMANDS = (
    *("run", "show", "score", "merge", "data check"),
    *("rankers rank", "rankers recall", "rankers train", "rankers convert"),
)
IN_GROUPS = ("data record", "environments play", "environments check")
LISTS = {
    "models": (
        *("openai", "anthropic", "google", "scripted", "hf", "qwen-vl", "seeclick"),
        *("random", "always-click", "oracle", "lexical"),
    ),
    "benchmarks": ("multimodal-mind2web", "mm-mind2web-tilde", "sample"),
    "protocols": ("seeact-two-rounds",),
}


@pytest.mark.parametrize("line", ["--help", *LISTS])
def test_help_and_lists_import_no_model_library(line: str) -> None:
    program = (
        "import sys, json\n"
        "from harness.commands.main import run\n"
        "try:\n"
        f"    run([{line!r}])\n"
        "except SystemExit as stop:\n"
        "    assert stop.code == 0\n"
        f"print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == []


@pytest.mark.parametrize(
    ("line", "extras"),
    [
        ("benchmarks", {"miniwob": "miniwob", "autowebbench": "zh"}),
        ("rankers", {"cross-encoder": "rank"}),
        ("models", dict.fromkeys(LOCAL, "local") | {"vllm": "vllm", "ocr": "ocr"}),
    ],
)
def test_a_list_says_which_extra_a_name_needs(line: str, extras: dict[str, str]) -> None:
    listed = {row.split()[0]: row for row in call(line).out.splitlines()[::-1] if row.strip()}
    assert [name for name, extra in extras.items() if f"extra {extra}" not in listed[name]] == []


@pytest.mark.parametrize(
    ("line", "extra"),
    [("data record", "record"), ("environments play", "gym"), ("rankers train", "rank")],
)
def test_help_says_which_extra_a_command_needs(line: str, extra: str) -> None:
    assert f"the extra {extra}" in " ".join(call(*line.split(), "--help").out.split())


def test_help_names_every_command_and_itself() -> None:
    called = call("--help")
    assert called.code == 0
    assert called.out.startswith("Usage: vlm-eval ")
    listed = [line.split()[0] for line in called.out.splitlines() if line.startswith("  ")]
    assert {line.split()[0] for line in COMMANDS} | set(LISTS) <= set(listed)


def test_the_help_has_a_line_for_each_of_its_commands() -> None:
    rows = re.findall(r"^  ([a-z]+)  +[A-Z]", call("--help").out.partition("\nEvaluate:")[2], re.M)
    assert len(rows) == len(set(rows)) == 21


@pytest.mark.parametrize(
    ("old", "now"),
    [
        ("play --model lexical", "environments play"),
        ("check webarena", "environments check"),
        ("record https://shop.invalid --out a", "data record"),
        ("policies", "models"),
        ("trackers", "run --help-all"),
    ],
)
def test_a_command_that_moved_is_refused_by_its_new_name(old: str, now: str) -> None:
    called = call(*old.split())
    assert (called.code, called.out) == (2, "")
    assert called.err == f"vlm-eval: '{old.split()[0]}' is now 'vlm-eval {now}'\n"
    assert call(*now.split(), "--help").out.startswith(f"Usage: vlm-eval {now.split(' --')[0]} ")


@pytest.mark.parametrize("group", ["data", "environments", "rankers"])
def test_the_help_of_a_group_lists_its_commands_and_imports_none(group: str) -> None:
    program = (
        "import sys\n"
        "sys.modules['gymnasium'] = sys.modules['playwright'] = None\n"
        f"from harness.commands.main import run; run([{group!r}, '--help'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    names = {line.split()[-1] for line in (*COMMANDS, *IN_GROUPS) if line.startswith(group)}
    listed = re.findall(r"^  ([a-z-]+)  +[A-Z]", done.stdout.partition("\nCommands:")[2], re.M)
    assert names <= set(listed)


def test_the_help_of_run_has_the_usual_options_and_help_all_every_one() -> None:
    usual, every = call("run", "--help").out, call("run", "--help-all").out

    def options(text: str) -> set[str]:
        return set(re.findall(r"^  (?:-\w, )?(--[a-z0-9-]+)", text, re.MULTILINE))

    assert len(options(usual) - {"--help", "--help-all"}) == 25
    assert len(usual.splitlines()) <= 50
    assert len(options(every)) <= 45
    assert options(usual) < options(every)
    assert {one.option for one in SETTINGS.values() if not one.among} <= options(every)


@pytest.mark.parametrize("line", COMMANDS)
def test_every_option_of_every_command_has_a_word_of_help(line: str) -> None:
    whole = call(*line.split(), "--help-all")
    called = whole if whole.code == 0 else call(*line.split(), "--help")
    assert called.code == 0
    assert called.out.startswith(f"Usage: vlm-eval {line} ")
    first = re.search(r"^(Options|Model|Data):$", called.out, re.MULTILINE)
    assert first is not None
    options = called.out[first.end() :].splitlines()[1:]
    bare = [
        text
        for text, below in zip(options, [*options[1:], ""], strict=True)
        if text.startswith("  -")  # Deeper is a word of help.
        and len(text.strip().split("  ", 1)) == 1
        and below.lstrip().startswith("-")
    ]
    assert bare == []


def test_no_command_at_all_shows_the_help_and_says_that_nothing_was_done() -> None:
    called = call()
    assert (called.code, called.out) == (2, "")
    assert called.err.startswith("Usage: vlm-eval ")


def test_a_line_that_begins_with_an_option_is_a_run(place: Path) -> None:
    short = call("--model", "oracle", *ONE_TASK, "--out", "a")
    long = call("run", "--model", "oracle", *ONE_TASK, "--out", "b")
    assert (short.code, long.code) == (0, 0)
    assert short.out == long.out.replace("report b", "report a")
    assert (place / "a" / "summary.json").exists()


def test_a_package_that_another_distribution_has_overwritten_is_noticed(tmp_path: Path) -> None:
    house = tmp_path / "site"
    for package in (adapters, harness, parsers, reports):
        folder = Path(str(package.__file__)).parent
        leave = shutil.ignore_patterns("__pycache__", "*.parquet")
        shutil.copytree(folder, house / folder.name, ignore=leave)
    line = [sys.executable, "-B", "-m", "harness", "models"]
    fine = subprocess.run(line, cwd=house, capture_output=True, text=True)
    assert (fine.returncode, fine.stderr) == (0, "")
    (house / "adapters" / "__init__.py").write_text('"""Somebody else\'s adapters."""\n')
    foreign = subprocess.run(line, cwd=house, capture_output=True, text=True)
    assert foreign.returncode == 2
    assert foreign.stdout == ""
    assert len(foreign.stderr.splitlines()) == 1
    assert "overwritten vlm-web-eval's 'adapters'" in foreign.stderr


def test_no_file_and_no_server_gives_orders_to_the_terminal(place: Path) -> None:
    orders = "\x1b]0;title\x07\x1b[2J\x9b31m\u202e"
    whole = pq.read_table(Path(sample.__file__).parent / "data" / "dev.parquet").slice(0, 2)
    names = pa.array([f"[red]{orders}"] * 2)
    hostile = whole.set_column(whole.column_names.index("annotation_id"), "annotation_id", names)
    pq.write_table(hostile, place / "hostile.parquet")
    missing = call("show", "nope", "--data", "hostile.parquet")
    assert missing.code == 2
    with WireServer(lambda _: error(401, f"bad {orders} key", "invalid_api_key")) as server:
        refused = call(*at(server, *ONE_TASK, *TEXT_ONLY, "--out", "a"))
    assert refused.code == 2
    for text in (missing.err, refused.err):
        assert "[2J" in text
        assert not any(c in text for c in "\x1b\x07\x9b\u202e")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (MemoryError(), "out of memory"),
        (ImportError("x.so: failed to map segment from shared object"), "out of memory"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "out of memory"),
        (RuntimeError("can't start new thread"), "no further thread can be started"),
        (ExceptionGroup("tasks", [ValueError(), MemoryError()]), "out of memory"),
        (ValueError("embedded null byte"), "a path contains a null byte"),
    ],
)
def test_a_machine_without_memory_is_one_line(
    error: Exception, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **more: object) -> None:
        raise error

    monkeypatch.setattr("harness.commands.main.cli.main", fail)
    called = call("models")
    assert (called.code, called.out) == (2, "")
    assert called.err.startswith(f"vlm-eval: {line}")
    assert called.err.count("\n") == 1


@pytest.mark.parametrize("line", ['out = "a\\u0000b"', 'role = {planner = "a\\u0000b"}'])
def test_a_null_byte_in_a_file_of_settings_is_one_line(line: str, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(f'model = "random"\n{line}\n')
    called = call("run", "--config", tmp_path / "c.toml")
    assert called.code == 2
    assert called.err.count("\n") == 1
    assert "a null byte is in it" in called.err


@pytest.mark.parametrize("what", ["benchmarks", "protocols", "models"])
def test_every_key_of_an_option_of_pairs_has_a_sentence(what: str) -> None:
    listed = {
        "benchmarks": BENCHMARKS.names(),
        "protocols": PROTOCOLS.names(),
        "models": MODELS.names(),
    }[what]
    bare = re.compile(
        r"^  \w+ +(?:One of|A text\.|A whole|A number|A path|True or|$)", re.MULTILINE
    )
    for name in listed:
        if what == "benchmarks" and name in ("browsergym", "judgment"):
            continue  # They take an argument.
        told = call(what, name)
        if "No module named" in told.err:
            continue  # It needs an extra.
        assert told.code == 0 and not bare.findall(told.out.replace("(none)", "")), told.out
