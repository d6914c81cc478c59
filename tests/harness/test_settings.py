"""Settings are declared once, and read the same wherever they come from."""

from __future__ import annotations

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


def test_settings_go_by_the_names_of_fields_and_of_options() -> None:
    by_option = read_settings({"split": ["test_task"], "timeout": "5", "adapter_option": "a=b"})
    by_field = read_settings({"split": ["test_task"], "timeout_s": 5, "adapter_option": {"a": "b"}})
    assert by_option == by_field
    assert by_option.given == {"split", "timeout_s", "adapter_option"}


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("cache", "no", False),
        ("wait", "on", True),
        ("limit", "none", None),
        ("shard", "2/4", (2, 4)),
        ("max_tokens", "800, 300", (800, 300)),
        ("max_tokens", 512, (512,)),
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
    ("name", "value", "owner", "read"),
    [
        ("history", "none", "protocol_option", 0),
        ("history", "all", "protocol_option", "all"),
        ("history", 3, "protocol_option", 3),
        ("distractors", "5", "benchmark_option", 5),
        ("ranker", Path("ranks.jsonl"), "benchmark_option", "ranks.jsonl"),
    ],
)
def test_a_short_form_is_an_option_of_its_owner(
    name: str, value: object, owner: str, read: object
) -> None:
    settings = read_settings({name: value})
    assert settings.given == {owner}
    assert getattr(settings, owner) == ((name, read),)
    with pytest.raises(ValueError, match=f"{owner}: {name} is given twice"):
        read_settings({name: value, owner: {name: value}})


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"limit": 0}, "limit: expected a whole number of at least 1, not '0'"),
        ({"limit": 2.5}, "limit: expected a whole number of at least 1, not '2.5'"),
        ({"limit": True}, "limit: expected a whole number of at least 1, not 'True'"),
        ({"top_p": "3"}, "top_p: expected a number from 0 to 1, not '3'"),
        ({"temperature": "inf"}, "temperature: expected a number from 0 to 100, not 'inf'"),
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
        }
    )
    assert from_record(on_record(settings)) == settings


def test_runs_on_other_data_have_directories_of_other_names() -> None:
    settings: dict[str, Any] = {"model": "lexical", "benchmark": "steps"}
    first, again, other = (
        directory_name(read_settings({**settings, "data": data}))
        for data in ("here/a.jsonl", "here/a.jsonl", "there/a.jsonl")
    )
    assert first == again != other


def test_a_setting_that_is_not_on_record_is_named() -> None:
    config = on_record(Settings(model="m"))
    del config["seed"]
    with pytest.raises(ValueError, match="seed is missing"):
        from_record(config)


def test_every_setting_says_what_it_is_for() -> None:
    for name, setting in SETTINGS.items():
        assert setting.help.endswith("."), name
        assert setting.read(setting.default) == setting.default, name
    assert (written("preflight"), written("cache")) == ("--adapter-option preflight", "--cache")
    assert written("timeout_s") == "--adapter-option timeout"
