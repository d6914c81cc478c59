"""Every option that there ever was is taken, or the refusal names how it is written now."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.commands.options import read_options
from harness.commands.run import run
from harness.settings import SETTINGS, read_settings
from tests.harness.commands.tool import call

HERE = (
    *("model", "base_url", "adapter_option", "max_tokens", "temperature"),
    *("role", "benchmark", "benchmark_option", "data", "split"),
    *("only", "limit", "shard", "protocol", "protocol_option", "distractors", "seed", "ranker"),
    *("history", "image_policy", "repeats", "samples", "f1", "invalid"),
    *("out", "concurrency", "tier"),
    *("max_cost", "prices", "yes", "cache"),
    *("progress", "rule", "redo"),
    *("with_server", "track"),
)
"""Names that are options of their own."""
AMONG = {
    "adapter_option": (
        *("top_p", "model_seed", "effort", "thinking_budget", "timeout", "attempts", "patience"),
        *("preflight", "wait", "queue_tokens"),
    ),
    "benchmark_option": ("unattempted", "exclude_status", "skip_bad_rows", "score_failures"),
    "protocol_option": ("vote", "shuffles"),
}
"""Names of settings that are written among the pairs of another one, by that."""
ELSEWHERE = {
    "--benchmark-option {}=VALUE": (
        *("candidates", "top_k", "missed", "positives", "shown", "exclude_related"),
        *("exclude_same_text", "order", "lost_rows", "history_from", "step_rule"),
        *("none_zeroes_operation", "no_element_zeroes_operation"),
        *("wrong_element_zeroes_operation", "mapped_operations", "bag", "point_rule"),
        *("episodes", "max_steps", "environments", "env_python"),
    ),
    "--protocol-option {}=VALUE": ("none", "prompts", "first_of_many", "value_style"),
    "--adapter-option {}=VALUE": (
        *("max_pixels", "ends", "model_path", "revision", "dtype", "attn", "quantization"),
        *("batch_size", "devices", "device_map"),
    ),
    "--only {}=VALUE": ("website", "domain", "task_id", "step_id"),
    "--benchmark-option KEY=VALUE": ("candidate_option", "scoring_option"),
    "--image-policy full:pixels=N": ("pixels",),
    "--redo-from RUN": ("from",),
    "XDG_CACHE_HOME=FOLDER in the environment": ("cache_dir",),
    "--benchmark judgment:METHOD:RUN": ("judge",),
}
"""Names that are given with another option now, by how."""
WITHOUT = ("picture_cache", "serve_timeout", "workers", "repair", "trust_remote_code")
"""Names of what is gone: CHANGELOG.md says what is lost."""
GONE = [(name, how.format(name)) for how, names in ELSEWHERE.items() for name in names]
IN_PYTHON = {
    "websites": "--only website=VALUE",
    "domains": "--only domain=VALUE",
    "task_ids": "--only task_id=VALUE",
    "step_ids": "--only step_id=VALUE",
    "splits": "did you mean 'split'?",
    "roles": "did you mean 'role'?",
    "benchmark_options": "did you mean 'benchmark_option'?",
    "protocol_options": "did you mean 'protocol_option'?",
    "adapter_options": "did you mean 'adapter_option'?",
    "exclude_statuses": "did you mean 'exclude_status'?",
}
"""Fields that Python had by another name than the command line."""
VALUES = {
    "base_url": "http://localhost/v1",
    "temperature": 0.5,
    "top_p": 0.5,
    "vote": "first",
    "role": "planner=gpt-5.4",
    "only": "website=united",
    "shard": "1/2",
    "tier": "flex",
    "image_policy": "tiles",
    "f1": "mind2web-np",
    "invalid": "fail",
    "unattempted": "fail",
    "exclude_status": "refusal",
    "progress": "off",
    "redo": "truncated",
    **dict.fromkeys(("model", "effort", "benchmark", "data", "split", "protocol", "ranker"), "x"),
    **dict.fromkeys(("out", "prices", "rule", "with_server", "track"), "x"),
    **{name: f"{name[0]}=1" for name in ("adapter_option", "benchmark_option", "protocol_option")},
}
"""A value of settings that do not take 2."""


def test_every_name_is_in_one_of_the_lists() -> None:
    now = {setting.key for setting in SETTINGS.values()}
    among = [name for names in AMONG.values() for name in names]
    assert now == {*HERE, *among, "redo_from", "verify"}
    assert len(HERE) + len(among) + len(GONE) + len(WITHOUT) == 102, "the names of before"
    assert now.isdisjoint(name for name, _ in GONE)


@pytest.mark.parametrize("name", HERE)
def test_what_stayed_means_the_same_on_a_line_in_a_file_and_in_python(
    place: Path, name: str
) -> None:
    (setting,) = (one for one in SETTINGS.values() if one.key == name)
    value = True if setting.is_switch else VALUES.get(name, 2)
    Path("run.toml").write_text(f"{name.replace('_', '-')} = {json.dumps(value)}\n")
    words = [setting.option] if setting.is_switch else [setting.option, str(value)]
    read = []
    for line in (words, ["--config", "run.toml"]):
        with run.make_context("run", line):
            read.append(read_options())
    python = read_settings({name: value})
    assert read == [python, python]
    owner = f"{setting.of}_option" if setting.of in ("benchmark", "protocol") else setting.name
    assert [one.given for one in (*read, python)] == [{owner}] * 3


@pytest.mark.parametrize(("owner", "name"), [(o, n) for o, names in AMONG.items() for n in names])
def test_a_setting_among_options_means_the_same_on_a_line_in_a_file_and_in_python(
    place: Path, owner: str, name: str
) -> None:
    (setting,) = (one for one in SETTINGS.values() if one.key == name)
    value = True if setting.is_switch else VALUES.get(name, 2)
    option, said = owner.replace("_", "-"), "yes" if setting.is_switch else value
    Path("run.toml").write_text(f"[{option}]\n{name} = {json.dumps(value)}\n")
    python = [read_settings({name: value}), read_settings({owner: {name: value}})]
    for line in ([f"--{option}", f"{name}={said}"], ["--config", "run.toml"]):
        with run.make_context("run", line):
            python.append(read_options())
    assert python == python[:1] * 4
    assert [one.given for one in python] == [{setting.name}] * 4
    # A key that is not a setting stays with its owner, and the line has precedence over the file.
    line = [f"--{option}", f"{name}={said}", f"--{option}", "own=1", "--config", "run.toml"]
    with run.make_context("run", line):
        both = read_options()
    assert dict(getattr(both, owner)) == {"own": "1"}
    assert getattr(both, setting.name) == getattr(python[0], setting.name)
    Path("old.toml").write_text(f"{name.replace('_', '-')} = 1\n")
    for old in ([f"--{name.replace('_', '-')}", "1"], ["--config", "old.toml"]):
        called = call("-m", "lexical", "-b", "sample", *old)
        assert (called.code, called.out) == (2, "")
        assert called.complaint.endswith(f"; give --{option} {name}=VALUE")


@pytest.mark.parametrize(
    "words",
    [
        ("data", "check", "-b", "sample", "--benchmark-option", "skip_bad_rows=yes"),
        ("rankers", "recall", "--ranker", "lexical", "--benchmark-option", "unattempted=fail"),
        ("show", "x", "-b", "sample", "--benchmark-option", "exclude_status=refusal"),
        ("score", "x", "--benchmark-option", "skip_bad_rows=yes"),
    ],
)
def test_a_command_refuses_settings_among_options_that_it_does_not_read(
    place: Path, words: tuple[str, ...]
) -> None:
    called = call(*words)
    key = words[-1].partition("=")[0]
    assert (called.code, called.out) == (2, "")
    assert f"--benchmark-option {key} has no effect on " in called.complaint


def test_values_of_settings_among_options_are_checked(place: Path) -> None:
    for words, said in (
        (("top_p=3",), "top_p: expected a number from 0 to 1, not '3'"),
        (("top_p=0.1", "top_p=0.2"), "top_p is given twice"),
        (("patience=0.1", "patience_s=2"), "patience is given twice"),
        (("attempts=0",), "attempts: expected a whole number of at least 1, not '0'"),
    ):
        options = [part for pair in words for part in ("--adapter-option", pair)]
        called = call("-m", "gpt-5.4", "-b", "sample", *options)
        assert (called.code, said in called.complaint) == (2, True)
    policy = call("-m", "lexical", "-b", "sample", "--adapter-option", "top_p=0.5")
    assert "--adapter-option top_p has no effect on the policy" in policy.complaint


@pytest.mark.parametrize(("name", "now"), GONE)
def test_a_refusal_of_what_moved_says_how_it_is_given_now(place: Path, name: str, now: str) -> None:
    key = name.replace("_", "-")
    Path("run.toml").write_text(f"{key} = 1\n")
    for words in ([f"--{key}", "1"], ["--config", "run.toml"]):
        called = call("-m", "lexical", "-b", "sample", *words)
        assert (called.code, called.out) == (2, "")
        assert called.complaint.endswith(f"; give {now}")
    with pytest.raises(ValueError, match=f"unknown setting '{name}'") as error:
        read_settings({name: 1})
    assert str(error.value).endswith(f"; give {now}")


@pytest.mark.parametrize(("name", "now"), IN_PYTHON.items())
def test_a_refusal_of_a_field_says_how_it_is_given_now(name: str, now: str) -> None:
    with pytest.raises(ValueError, match=f"unknown setting '{name}'") as error:
        read_settings({name: 1})
    assert str(error.value).endswith(now)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--shuffles", "3"), "no such option: --shuffles; give --protocol-option shuffles=VALUE"),
        (("--no-preflight",), "give --adapter-option preflight=VALUE"),
        (("--protocol-option", "ranker=lexical"), "unknown key 'ranker'; give --ranker ("),
        (("--protocol-option", "seed=3"), "unknown key 'seed'; give --seed ("),
        (("--benchmark-option", "attempts=2"), "no such option; give --adapter-option attempts"),
        (
            ("--benchmark-option", "timeout_s=3"),
            "has no such option; give --adapter-option timeout",
        ),
        (("--benchmark-option", "history=3"), "has no such option; give --history"),
    ],
)
def test_a_setting_of_the_run_among_options_of_others_is_named(
    words: tuple[str, str], said: str
) -> None:
    called = call("-m", "lexical", "-b", "sample", *words)
    assert called.code == 2
    assert words[0] in called.complaint and said in called.complaint
