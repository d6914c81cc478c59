"""What the environment says of the way to a server, and is wrong: the line names the variable."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest

from adapters import Adapter, Fatal, Fault, make
from tests.adapters.support import KEY, ask
from tests.adapters.test_failures import every_provider
from tests.servers import Answer, Provider, WireServer

MODELS = {
    "openai": "openai:m",
    "anthropic": "anthropic:claude-sonnet-5-5",
    "google": "google:gemini-2.5-flash",
}
SECRET = "pa55word"


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)


def adapter(provider: Provider, scheme: str) -> Adapter:
    url = f"{scheme}://models.example/v1"
    return make(MODELS[provider], base_url=url, api_key=KEY, timeout_s=3.0)


def nobody() -> str:
    """The address of a port at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://user:{SECRET}@127.0.0.1:{taken.getsockname()[1]}"


@every_provider
@pytest.mark.parametrize(
    ("variable", "scheme"),
    [
        ("HTTP_PROXY", "http"),
        ("http_proxy", "http"),
        ("HTTPS_PROXY", "https"),
        ("https_proxy", "https"),
        ("ALL_PROXY", "http"),
        ("all_proxy", "https"),
    ],
)
def test_a_proxy_that_is_not_reached_is_named_by_its_variable(
    provider: Provider, variable: str, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, nobody())
    with pytest.raises(Fault, match=f"proxy that {variable} in the environment names") as caught:
        ask(adapter(provider, scheme))
    assert caught.value.kind == "connection"
    assert SECRET not in str(caught.value)


@every_provider
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_asks_for_a_password_is_named(
    provider: Provider, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with WireServer(Answer(status=407, raw=b"")) as proxy:
        monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{proxy.port}")
        with pytest.raises((Fault, Fatal), match="proxy that ALL_PROXY in the environment names"):
            ask(adapter(provider, scheme))


@every_provider
@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "all_proxy"])
@pytest.mark.parametrize(
    "value", ["ftp://proxy:1", "http://\u00fc \u00fc", "socks5h://127.0.0.1:1080", "socks9://h"]
)
def test_what_is_no_proxy_is_named_by_its_variable(
    provider: Provider, variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(Fatal, match=f"^{variable} in the environment names"):
        adapter(provider, "https")


@every_provider
@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
@pytest.mark.parametrize("content", [None, "", "no certificate"])
def test_certificates_that_cannot_be_read_are_named_by_their_variable(
    provider: Provider,
    variable: str,
    content: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    monkeypatch.setenv(variable, str(path))
    with pytest.raises(Fatal, match=f"^{variable}={re.escape(str(path))} in the environment"):
        adapter(provider, "https")


@pytest.mark.parametrize(
    ("provider", "variable"),
    [
        ("openai", "OPENAI_ORG_ID"),
        ("openai", "OPENAI_PROJECT_ID"),
        ("openai", "OPENAI_CUSTOM_HEADERS"),
        ("anthropic", "ANTHROPIC_CUSTOM_HEADERS"),
    ],
)
@pytest.mark.parametrize("value", ["X-Team: \u00fc", "X-Team: \x01"])
def test_what_no_header_has_is_named_by_its_variable(
    provider: Provider, variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(Fatal, match=f"^{variable} in the environment"):
        adapter(provider, "http")


@pytest.mark.parametrize(
    ("provider", "variable"),
    [
        ("openai", "OPENAI_BASE_URL"),
        ("anthropic", "ANTHROPIC_BASE_URL"),
        ("google", "GOOGLE_GEMINI_BASE_URL"),
    ],
)
@pytest.mark.parametrize("value", ["http://[bad", "models.example", f"http://h/v1?key={SECRET}"])
def test_an_address_that_is_none_is_named_by_its_variable(
    provider: Provider, variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(Fatal, match=f"^{variable} in the environment") as caught:
        make(MODELS[provider], api_key=KEY)
    assert SECRET not in str(caught.value)
    with pytest.raises(Fatal, match=r"^the base URL "):
        make(MODELS[provider], api_key=KEY, base_url=value)
