"""Settings that the command line takes as `KEY=VALUE` of another option."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.benchmarks import benchmark_of
from harness.benchmarks.step.options import StepOptions
from harness.commands.options import read_options
from harness.commands.run import run
from harness.settings import Settings, read_settings
from tests.harness.commands.tool import DEV, call

PAIRS = (
    *("--adapter-option", "detail=low", "--adapter-option", "max-pixels=40000"),
    *("--benchmark-option", "exclude_status=refusal", "--benchmark-option", "exclude_status=empty"),
    *("--benchmark-option", "mapped_operations=no", "--benchmark-option", "order=2"),
    *("--protocol-option", "none=first", "--only", "website=united", "--only", "device=phone"),
)
FILE = """
model = "gpt-5.4"
only = ["website=united", "device=phone"]
adapter-option = {detail = "low", max-pixels = 40000}
[benchmark-option]
exclude_status = ["refusal", "empty"]
mapped_operations = false
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
            "adapter_option": {"detail": "low", "max_pixels": 40000},
            "exclude_status": ["refusal", "empty"],
            "benchmark_option": {"mapped_operations": False, "order": 2},
            "protocol_option": {"none": "first"},
            "only": ["website=united", "device=phone"],
        }
    )
    assert [status.value for status in python.exclude_status] == ["refusal", "empty"]
    assert python.only == ("website=united", "device=phone")
    assert python.benchmark_option == (("mapped_operations", False), ("order", 2))
    assert python.adapter_option == (("detail", "low"), ("max_pixels", 40000))
    for same in (settings_of(*("-m", "gpt-5.4"), *PAIRS), settings_of("--config", "run.toml")):
        assert same.given == python.given
        for name in ("model", "only", "exclude_status"):
            assert getattr(same, name) == getattr(python, name)
        read = [benchmark_of(one).options for one in (same, python)]
        assert read[0] == read[1] == StepOptions(mapped_operations=False, order=2)
        assert dict(same.protocol_option) == dict(python.protocol_option)
        asked = {key: str(value) for key, value in same.adapter_option}
        assert asked == {"detail": "low", "max_pixels": "40000"}


@pytest.mark.parametrize(
    ("file", "words", "kept"),
    [
        ("distractors = 3", ("--benchmark-option", "distractors=4"), "4"),
        ("benchmark-option = {distractors = 3}", ("-k", "4"), 4),
        ("distractors = 3", ("-k", "4"), 4),
    ],
)
def test_a_short_form_and_its_option_are_one(
    place: Path, file: str, words: tuple[str, ...], kept: object
) -> None:
    Path("run.toml").write_text(file)
    read = settings_of("-m", "lexical", "--config", "run.toml", *words)
    assert read.benchmark_option == (("distractors", kept),)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--dtype", "float32"), "no such option: --dtype; give --adapter-option dtype=VALUE"),
        (
            ("--benchmark-option", "step_rul=f1"),
            "sample has no such option; did you mean 'step_rule'?",
        ),
        (
            ("--benchmark-option", "step_rule=f2"),
            "step_rule=f2: expected one of f1, exact, not 'f2'",
        ),
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
    Path("run.toml").write_text('f1 = "f2"\n')
    complaint = call("-m", "lexical", "--config", "run.toml").complaint
    assert "--config run.toml: f1: expected one of mind2web, mind2web-lc" in complaint
    Path("run.toml").write_text('[benchmark-option]\nstep_rule = "f2"\n')
    complaint = call("-m", "lexical", "--config", "run.toml").complaint
    assert "--benchmark-option step_rule=f2: expected one of f1, exact" in complaint


@pytest.mark.parametrize(
    "words",
    [
        ("--protocol-option", "none=last"),
        ("--protocol-option", "first_of_many=yes"),
        ("--protocol-option", "form=bnid"),
        ("--benchmark-option", "order=1"),
        ("--benchmark-option", "distractors=3"),
    ],
)
def test_how_is_asked_has_no_effect_on_predictions(place: Path, words: tuple[str, str]) -> None:
    (place / "p.jsonl").write_text('{"step": "a", "element": "1"}\n')
    line = ("score", "--predictions", "p.jsonl", *DEV)
    called = call(*line, *words)
    name = words[1].partition("=")[0]
    said = "--distractors" if name == "distractors" else f"{words[0]} {name}"
    assert called.code == 2
    assert f"{said} has no effect on predictions: leave it out" in called.complaint
    scored = call(*line, "--protocol-option", "value_style=plain", "--benchmark-option", "bag=yes")
    assert "no step a among those selected" in scored.complaint
