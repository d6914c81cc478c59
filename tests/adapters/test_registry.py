from __future__ import annotations

import subprocess
import sys

import pytest

import adapters
from adapters import ADAPTERS, Fatal, Registry, UnknownName, make, names, resolve
from adapters.entry_points import EntryPoint


def test_a_module_of_the_registry_is_imported_when_it_is_asked_for_and_not_before() -> None:
    registry: Registry[object] = Registry("thing", "vlm_eval.none")
    registry.add("good", "json:dumps", "writes")
    registry.add("bad", "no_such_module:x")
    assert registry.names() == {"good": "writes", "bad": ""}
    assert registry.get("good") is __import__("json").dumps
    with pytest.raises(UnknownName, match="thing 'bad': module no_such_module is not installed"):
        registry.get("bad")


def test_a_name_close_to_a_known_one_is_suggested() -> None:
    with pytest.raises(UnknownName) as caught:
        resolve("antropic:claude")
    assert str(caught.value) == "unknown model 'antropic:claude'; did you mean 'anthropic'?"


def test_a_taken_name_is_refused() -> None:
    registry: Registry[int] = Registry("number", "vlm_eval.none")
    registry.add("one", 1)
    registry.add("one", 1)
    with pytest.raises(ValueError, match="number 'one' is 1 already"):
        registry.add("one", 2)


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [
        ("gpt-4o", "openai", "gpt-4o"),
        ("o3", "openai", "o3"),
        ("claude-sonnet-5-5", "anthropic", "claude-sonnet-5-5"),
        ("gemini-3.8-flash", "google", "gemini-3.8-flash"),
        ("openai:qwen2.5vl:7b", "openai", "qwen2.5vl:7b"),
        ("scripted:/tmp/a.jsonl", "scripted", "/tmp/a.jsonl"),
    ],
)
def test_full_and_plain_names_resolve(name: str, provider: str, model: str) -> None:
    spec = resolve(name)
    assert (spec.provider, spec.model, spec.name) == (provider, model, f"{provider}:{model}")


def test_a_base_url_makes_any_name_a_model_of_that_server() -> None:
    spec = resolve("Qwen/Qwen3-VL-8B-Instruct", base_url="http://localhost:8000/v1")
    assert spec.name == "openai:Qwen/Qwen3-VL-8B-Instruct"


@pytest.mark.parametrize("name", ["hf:x/y", "qwen-vl", "seeclick", "qwen2.5-vl", "qwen3-vl"])
def test_local_models_take_no_option_of_a_server(name: str) -> None:
    with pytest.raises(Fatal, match=r"takes no option 'detail' \(it takes: model_path"):
        make(name, detail="high")


def test_an_option_that_the_provider_does_not_take_is_refused_by_name() -> None:
    with pytest.raises(Fatal, match=r"'anthropic' takes no option 'detail' \(it takes: base_url"):
        make("claude-sonnet-5-5", detail="high")


def test_importing_and_listing_load_no_sdk() -> None:
    code = (
        "import adapters, sys; adapters.names()\n"
        "sdks = {'openai', 'anthropic', 'google.genai', 'httpx2', 'genai_prices'}\n"
        "loaded = sdks & {*sys.modules}\n"
        "assert not loaded, loaded\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_name_has_a_line_about_it() -> None:
    assert {"openai", "anthropic", "google", "scripted", "hf"} <= names().keys()
    assert all(line for line in names().values())


def test_an_entry_point_is_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("adapters.scripted:scripted")
    monkeypatch.setattr(ADAPTERS, "_foreign", {"echo": point})
    adapter = make("echo", lines=[{"default": True, "text": "hello"}])
    assert isinstance(adapter, adapters.Adapter)
    assert names()["echo"] == "from an entry point"


def test_options_that_change_no_reply_reach_only_those_who_take_them() -> None:
    adapter = make("scripted", lines=[], timeout_s=3.0, concurrency=2)
    assert adapter.info.concurrency == 2
    with pytest.raises(Fatal, match="'scripted' takes no option 'base_url'"):
        make("scripted", lines=[], base_url="http://localhost/v1")


@pytest.mark.parametrize(
    ("written", "start"),
    [("gtp-4o", "gpt-"), ("gpt4o", "gpt-"), ("cluade-sonnet-5-5", "claude-"), ("Gemini-3", "gem")],
)
def test_a_plain_name_that_is_misspelt_is_suggested_by_its_beginning(
    written: str, start: str
) -> None:
    with pytest.raises(UnknownName, match=rf"did you mean '{start}.*\.\.\.'\?"):
        resolve(written)


def test_a_fault_is_of_a_known_kind() -> None:
    with pytest.raises(ValueError, match="'too-busy' is not a fault; choose rate_limit, "):
        adapters.Fault("too-busy", "come back later")  # type: ignore[arg-type]
