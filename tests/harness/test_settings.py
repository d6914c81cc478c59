"""Settings are declared once, and read the same wherever they come from."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.settings import (
    SETTINGS,
    Settings,
    directory_name,
    from_record,
    on_record,
    read_settings,
    written,
)
from tests.harness.commands.tool import isolate


def test_settings_go_by_the_names_of_fields_and_of_options() -> None:
    by_option = read_settings({"split": ["test_task"], "timeout": "5", "adapter_option": "a=b"})
    by_field = read_settings(
        {"splits": ["test_task"], "timeout_s": 5, "adapter_options": {"a": "b"}}
    )
    assert by_option == by_field
    assert by_option.given == {"splits", "timeout_s", "adapter_options"}


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("cache", "no", False),
        ("first_of_many", "on", True),
        ("limit", "none", None),
        ("history", "none", 0),
        ("history", "all", "all"),
        ("history", 3, 3),
        ("shard", "2/4", (2, 4)),
        ("max_tokens", "800, 300", (800, 300)),
        ("max_tokens", 512, (512,)),
        ("batch_size", "auto", None),
        ("temperature", 0, 0.0),
        ("split", "test_task", ("test_task",)),
        ("data", Path("folder"), "folder"),
    ],
)
def test_values_are_read_as_people_write_them(name: str, value: object, read: object) -> None:
    settings = read_settings({name: value})
    (field,) = settings.given
    assert getattr(settings, field) == read
    assert type(getattr(settings, field)) is type(read)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"limit": 0}, "limit: expected a whole number of at least 1, not '0'"),
        ({"limit": 2.5}, "limit: expected a whole number of at least 1, not '2.5'"),
        ({"limit": True}, "limit: expected a whole number of at least 1, not 'True'"),
        ({"top_p": "3"}, "top_p: expected a number from 0 to 1, not '3'"),
        (
            {"f1": "best"},
            "f1: expected one of mind2web, mind2web-lc, cl100k-lc, mind2web-np, not 'best'",
        ),
        ({"shard": "5/4"}, "shard: '5/4' is not a shard; write 1/4 to 4/4"),
        ({"limt": 2}, "unknown setting 'limt'; did you mean 'limit'?"),
    ],
)
def test_what_a_setting_does_not_take_is_named(values: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as error:
        read_settings(values)
    assert str(error.value) == complaint


def test_settings_on_record_are_read_back() -> None:
    settings = read_settings(
        {
            "model": "m",
            "protocol_option": ["b=1", "a=2"],
            "exclude_status": ["refusal"],
            "max_tokens": "5,6",
            "shard": "1/2",
            "dtype": "float32",
            "none": "first",
        }
    )
    assert from_record(on_record(settings)) == settings


def test_a_setting_that_older_runs_lack_has_the_value_it_had_then() -> None:
    config = on_record(Settings(model="m"))
    older = {name: value for name, value in config.items() if name != "point_rule"}
    assert from_record(older).point_rule == "box"
    del older["seed"]
    with pytest.raises(ValueError, match="seed is missing"):
        from_record(older)


def test_directories_are_named_as_they_always_were() -> None:
    # Names that the first versions gave: a run goes on where it was begun.
    lexical = read_settings({"model": "lexical", "benchmark": "sample", "max_tokens": 1024})
    assert directory_name(lexical) == "lexical-sample-k20-17f32d55"


def test_every_setting_says_what_it_is_for() -> None:
    for name, setting in SETTINGS.items():
        assert setting.help.endswith("."), name
        assert setting.read(setting.default) == setting.default, name
    assert written("cache") == "--no-cache"
    assert written("timeout_s") == "--timeout"


EXTENDED = """
import contextlib, io, json, sys
from dataclasses import dataclass
from typing import Literal

from harness.settings import Settings, declare, setting

@dataclass(frozen=True, slots=True, kw_only=True)
class Extended(Settings):
    mood: Literal["calm", "bold"] = setting(
        "calm",
        "Mood of the question.",
        group="Question",
        about="question",
        forbids_ranking=True,
        absent="calm",
    )

declare(Extended)

from harness.commands.main import run

results = []
for line in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            run(line)
        except SystemExit as stop:
            results.append([stop.code, out.getvalue(), err.getvalue()])
print(json.dumps(results))
"""


def test_a_setting_that_is_declared_is_known_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path)
    (tmp_path / "bold.toml").write_text('mood = "bold"\n')
    base = ["--model", "oracle", "-b", "sample", "--split", "dev", "--limit", "1"]
    lines = [
        ["run", "--help"],
        [*base, "--config", "bold.toml", "-o", "bold"],
        [*base, "-o", "calm"],
        [*base, "--mood", "bold", "-o", "calm"],
        [*base, "--mood", "wild", "-o", "wild"],
        ["report", "bold", "calm"],
        ["report", "bold"],
        [*base],
    ]
    done = subprocess.run(
        [sys.executable, "-c", EXTENDED, json.dumps(lines)],
        capture_output=True,
        text=True,
        check=True,
    )
    shown, bold, calm, other, wild, both, one, named = json.loads(done.stdout)
    assert "--mood [calm|bold]" in shown[1]
    assert shown[1].index("Question:") < shown[1].index("--mood") < shown[1].index("Scoring:")
    assert (bold[0], calm[0]) == (0, 0), bold[2] + calm[2]
    assert json.loads(Path("bold/manifest.json").read_text())["config"]["mood"] == "bold"
    assert other[0] == 2
    assert 'config.mood: "calm" on record, "bold" now' in other[2]
    assert wild[0] == 2
    assert "expected one of calm, bold, not 'wild'" in wild[2]
    assert "not ranked: the runs were not measured alike, but differ in mood" in both[1]
    assert "mood=bold" in " ".join(one[1].split())
    # A run with settings as they always were keeps the name that it always had.
    plain = read_settings(
        {"model": "oracle", "benchmark": "sample", "split": "dev", "limit": 1, "none": "last"}
        | {"history": "all", "image_policy": "full", "candidates": "snapshot"}
        | {"value_style": "plain", "first_of_many": False, "max_tokens": 1024}
    )
    assert named[0] == 0
    assert f"runs/{directory_name(plain)}" in named[2]
