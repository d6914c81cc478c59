"""Settings that the command line takes as `KEY=VALUE` of another option."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.commands.options import read_options
from harness.commands.run import run
from harness.settings import Settings, on_record, read_settings
from tests.harness.commands.tool import call

PAIRS = (
    *("--adapter-option", "detail=low", "--adapter-option", "max-pixels=40000"),
    *("--exclude-status", "refusal", "--exclude-status", "empty"),
    *("--benchmark-option", "mapped_operations=no", "--benchmark-option", "order=2"),
    *("--protocol-option", "none=first", "--only", "website=united", "--only", "device=phone"),
)
FILE = """
model = "gpt-5.4"
max-pixels = 40000
exclude-status = ["refusal", "empty"]
only = ["website=united", "device=phone"]
adapter-option = {detail = "low"}
[scoring-option]
mapped_operations = false
[candidate-option]
order = 2
[protocol-option]
none = "first"
"""


def settings_of(*words: str) -> Settings:
    with run.make_context("run", list(words)):
        return read_options()


def test_the_line_a_file_and_python_say_the_same(place: Path) -> None:
    Path("run.toml").write_text(FILE)
    python = read_settings(
        {
            "model": "gpt-5.4",
            "max_pixels": 40000,
            "adapter_option": {"detail": "low"},
            "exclude_status": ["refusal", "empty"],
            "benchmark_option": {"mapped_operations": False},
            "order": 2,
            "none": "first",
            "only": {"website": "united", "device": "phone"},
        }
    )
    assert python.max_pixels == 40000
    assert [status.value for status in python.exclude_status] == ["refusal", "empty"]
    assert (python.websites, python.only) == (("united",), ("device=phone",))
    assert (python.mapped_operations, python.order, python.none) == (False, 2, "first")
    assert python.adapter_option == (("detail", "low"),)
    for same in (settings_of("-m", "gpt-5.4", *PAIRS), settings_of("--config", "run.toml")):
        assert on_record(same) == on_record(python)
        assert same.given - {"only"} == python.given - {"only"}


def test_the_line_goes_before_the_file_key_by_key(place: Path) -> None:
    Path("run.toml").write_text(FILE)
    words = ("--adapter-option", "max_pixels=9", "--adapter-option", "colour=red")
    read = settings_of("--config", "run.toml", *words)
    assert (read.max_pixels, read.order) == (9, 2)
    assert read.adapter_option == (("colour", "red"), ("detail", "low"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--dtype", "float32"), "no such option: --dtype; give --adapter-option dtype=VALUE"),
        (
            ("--no-trust-remote-code",),
            "no such option: --no-trust-remote-code; give --adapter-option trust_remote_code",
        ),
        (
            ("--benchmark-option", "step_rul=f1"),
            "unknown key 'step_rul'; did you mean 'step_rule'?",
        ),
        (("--benchmark-option", "step_rule=f2"), "step_rule: expected one of f1, exact, not 'f2'"),
        (("--benchmark-option", "bag"), "expected key=value, not 'bag'"),
        (
            ("--benchmark-option", "order=1", "--benchmark-option", "order=2"),
            "order is given twice",
        ),
        (("--adapter-option", "a=1", "--adapter-option", "a=2"), "a is given twice"),
    ],
)
def test_mistakes_are_one_line(place: Path, words: tuple[str, ...], said: str) -> None:
    called = call("-m", "lexical", "-b", "sample", *words)
    assert called.code == 2
    assert said in called.complaint


def test_a_mistake_in_a_file_names_file_and_key(place: Path) -> None:
    Path("run.toml").write_text('[scoring-option]\nstep_rule = "f2"\n')
    complaint = call("-m", "lexical", "--config", "run.toml").complaint
    assert "--config run.toml: scoring-option: step_rule: expected one of f1, exact" in complaint


def test_a_command_takes_the_keys_that_have_an_effect_there(place: Path) -> None:
    called = call("score", "--predictions", "p.jsonl", "--protocol-option", "none=last")
    assert "none has no effect here" in called.complaint
    listed = call("score", "--protocol-option", "help").out
    assert "value_style=plain|seeact" in listed
    assert "none=" not in listed


def test_help_lists_the_keys_of_an_option_and_of_a_protocol_and_a_model(place: Path) -> None:
    listed = call("run", "--benchmark-option", "help")
    assert (listed.code, listed.err) == (0, "")
    assert "step_rule=f1|exact" in listed.out
    assert "[default: f1]" in listed.out
    protocol = call("protocols", "coordinates").out
    assert "coordinates  One of absolute, unit" in " ".join(protocol.split("\n")).replace("   ", "")
    assert "trust_remote_code" in call("models", "hf").out
    assert "did you mean" in call("protocols", "coordinate").complaint
