"""Keys and passwords among the words of a command: refused, and never repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

import harness
from adapters.contract import Fatal
from adapters.served import words_of
from harness.errors import UserError
from tests.harness.commands.tool import call

KEY = "sk-0123456789abcdef"
RUN = ("run", "-m", "openai:m", "-b", "sample", "--base-url", "http://127.0.0.1:9/v1")


def written(place: Path) -> str:
    return "".join(path.read_text(errors="replace") for path in place.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    "words",
    [
        ("-m", f"openai:{KEY}"),
        ("--base-url", f"http://127.0.0.1:9/{KEY}/v1"),
        ("--adapter-option", f'extra_body={{"user": "{KEY}"}}'),
        ("--adapter-option", f"detail={KEY}"),
        ("--role", f"planner={KEY}"),
        ("--role", f"planner.base_url=http://h/{KEY}"),
        ("--data", f"folder/{KEY}"),
        ("-o", f"runs/{KEY}"),
        ("--protocol-option", f"x={KEY}"),
        ("--with-server", f"serve {KEY} {{port}}"),
    ],
)
@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "MY_TOKEN", "SITE_PASSWORD"])
def test_a_setting_that_holds_a_key_of_the_environment_is_refused(
    words: tuple[str, ...], variable: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, KEY)
    given = dict(zip(RUN[1::2], RUN[2::2], strict=True)) | {words[0]: words[1]}
    told = call("run", *(one for pair in given.items() for one in pair))
    assert told.code == 2 and f"holds the value of {variable}" in told.err
    assert KEY not in told.err + told.out and KEY not in written(place)


def test_short_values_and_other_variables_are_no_keys(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    monkeypatch.setenv("CITY", "sample-questions")
    line = ("run", "-m", "random", "-b", "sample-questions", "--limit", "1", "--dry-run")
    assert call(*line).code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("--data", "https://user:pa55word@host/data"),
        ("--prices", "https://user:pa55word@host/prices.toml"),
        ("--adapter-option", "proxy=http://user:pa55word@proxy:80"),
    ],
)
def test_a_password_in_an_address_is_refused(words: tuple[str, ...], place: Path) -> None:
    told = call(*RUN, *words)
    assert told.code == 2 and "holds the password of an address" in told.err
    assert "pa55word" not in told.err + told.out + written(place)


def test_from_python_they_are_refused_alike(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", KEY)
    with pytest.raises(UserError, match="holds the value of MY_API_KEY"):
        harness.evaluate("oracle", benchmark="sample", out=f"runs/{KEY}")


@pytest.mark.parametrize(
    "address",
    ["https://user:pa55word@host/shop", "user:pa55word@host/shop", "ftp://user:pa55word@host"],
)
def test_a_recording_has_no_password(
    address: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.recording.session.check_display", lambda: None)
    told = call("data", "record", address, "--out", "recorded")
    assert told.code == 2 and "pa55word" not in told.err + told.out + written(place)


@pytest.mark.parametrize(
    "command",
    [
        "sh -c 'vllm serve m --port {port} --api-key=X'",
        "sh -c 'vllm serve m --port {port} --api-key X'",
        'bash -lc "OPENAI_API_KEY=X vllm serve m --port {port}"',
        "bash -c 'bash -c \"x --hf-token X --port {port}\"'",
        "sh -c 'export HF_TOKEN=X; x {port}'",
        "x --port {port} --header 'Authorization: Bearer X'",
        "env SERVER_PASSWORD=X x {port}",
        "docker run -e HF_TOKEN=X image {port}",
    ],
)
def test_a_key_within_the_command_of_a_server_is_refused(command: str) -> None:
    with pytest.raises(Fatal, match="holds a key"):
        words_of(command)


@pytest.mark.parametrize(
    "command",
    [
        "sh -c 'vllm serve m --port {port} --api-key $VLLM_API_KEY'",
        "sh -c 'HF_TOKEN=$(cat token) x {port}'",
        "vllm serve m --port {port} --max-num-tokens 9 --chat-template 'a: key'",
    ],
)
def test_a_variable_in_the_place_of_a_key_is_none(command: str) -> None:
    assert words_of(command)


def test_a_command_that_is_no_command_is_not_repeated() -> None:
    for command in ("x --api-key 'X-SECRET {port}", "MY_API_KEY=X-SECRET x {port}"):
        with pytest.raises(Fatal) as found:
            words_of(command)
        assert "X-SECRET" not in str(found.value)
