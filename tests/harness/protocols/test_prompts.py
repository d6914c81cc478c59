"""Prompt files are filled in strictly."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import UserError
from harness.protocols.seeact import SCHEMA
from harness.protocols.texts import Texts, open_texts


def written(tmp_path: Path, old: str, new: str) -> Path:
    """The shipped texts with one thing changed, as a file."""
    from importlib.resources import files

    text = files("harness").joinpath("prompts/seeact.toml").read_text("utf-8")
    assert old in text
    path = tmp_path / "prompts.toml"
    path.write_text(text.replace(old, new), "utf-8")
    return path


def test_values_are_not_filled_in_turn() -> None:
    texts = Texts({"first": "{task}|{history}"})
    assert texts.fill("first", task="a {history}", history="b") == "a {history}|b"


def test_braces_around_other_things_stay() -> None:
    texts = Texts({"first": '{"ELEMENT": "{task}"} {}'})
    assert texts.fill("first", task="x") == '{"ELEMENT": "x"} {}'


def test_a_file_equal_to_the_shipped_one_has_the_same_digest(tmp_path: Path) -> None:
    path = written(tmp_path, "# The texts", "# Some other comment about the texts")
    assert open_texts(SCHEMA, path).digest() == open_texts(SCHEMA).digest()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{task}\n\nActions", "{tsk}\n\nActions", "first has {tsk}"),
        ("{choices}", "the choices", "second must contain {choices}"),
        ("none_option", "non_option", "unknown non_option; missing none_option"),
        ('name = "two-rounds"', "name = 3", "name must be text, not int"),
        ('name = "two-rounds"', "name = ", "not TOML"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(UserError, match=message.replace("{", r"\{")):
        open_texts(SCHEMA, written(tmp_path, old, new))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        open_texts(SCHEMA, tmp_path / "nothing.toml")
