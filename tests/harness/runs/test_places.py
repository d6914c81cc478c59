"""Settings as others may read them: no secrets, paths and addresses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.runs.places import public


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("Qwen/Qwen3-VL-8B-Instruct", "Qwen/Qwen3-VL-8B-Instruct"),
        ("gpt-5.4", "gpt-5.4"),
        ("hf:/home/alice/models/mine", "hf:mine"),
        ("hf:~/models/mine/", "hf:mine"),
        ("scripted:../replies.json", "scripted:replies.json"),
        ("/data/a b/ranks.jsonl", "ranks.jsonl"),
        (r"C:\Users\alice\ranks.jsonl", "ranks.jsonl"),
        (r"\\server\share\ranks.jsonl", "ranks.jsonl"),
        ("file:///home/alice/x", "[address]"),
        ("http://10.0.0.1:8000/v1", "[address]"),
        ("proxy = socks5://10.0.0.1", "proxy = [address]"),
        ("top of /home/alice/ranks.jsonl, k=5", "top of ranks.jsonl, k=5"),
        ("v1;policy=full;size=1280x1870;pillow=13.0.0", None),
        ("snapshot, one list", None),
        ("macro/micro", None),
    ],
)
def test_paths_are_cut_to_their_last_part_and_addresses_left_out(
    given: str, sent: str | None
) -> None:
    assert public(given) == (given if sent is None else sent)


def test_a_name_with_a_slash_is_a_path_where_there_is_such_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "secret-project"
    folder.mkdir()
    (folder / "prompts.toml").touch()
    assert public(["secret-project/prompts.toml", "hf:secret-project/mine", "Qwen/Qwen3"]) == [
        "prompts.toml",
        "hf:secret-project/mine",
        "Qwen/Qwen3",
    ]
    (folder / "mine").mkdir()
    assert public("hf:secret-project/mine") == "hf:mine"


def test_settings_that_hold_places_or_secrets_are_left_out_at_any_depth() -> None:
    config = {
        "model": "openai:m",
        "base_url": "http://me",
        "roles": {"planner": "gpt-5.4", "planner.base_url": "me:80", "planner.max_tokens": 300},
        "adapter_option": {
            "detail": "low",
            "api_key": "[masked]",
            "x_server": "me",
            "BASE_URL": "me:80",
            "proxyHost": "me:80",
            "extra_body": '{"user": {"host": "me:80", "token": "a"}, "see": ["/home/alice/d", 3]}',
        },
        "model_info": {"endpoint": "https://api.openai.com", "settings": {"seed": 42}},
        "dataset": {"data": "/home/alice/d", "files": [{"name": "a.parquet", "sha256": "ab"}]},
        "max_tokens": [800, 300],
    }
    assert public(config) == {
        "model": "openai:m",
        "roles": {"planner": "gpt-5.4", "planner.max_tokens": 300},
        "adapter_option": {"detail": "low", "extra_body": {"user": {}, "see": ["d", 3]}},
        "model_info": {"settings": {"seed": 42}},
        "dataset": {"files": [{"name": "a.parquet", "sha256": "ab"}]},
        "max_tokens": [800, 300],
    }


folders = st.lists(st.from_regex(r"[a-z]{3,8}", fullmatch=True), min_size=2, max_size=5)
plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
values = st.recursive(
    plain, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


@given(
    folders, st.sampled_from(["", "hf:", "scripted:"]), st.sampled_from(["/", "~/", "./", "../"])
)
def test_no_folder_of_a_path_is_left(parts: list[str], prefix: str, root: str) -> None:
    sent = public(prefix + root + "/".join(parts))
    assert sent == prefix + parts[-1]


@given(values)
def test_any_configuration_can_be_sent_and_stays_json(value: Any) -> None:
    sent = public(value)
    assert json.loads(json.dumps(sent)) == sent
    assert public(sent) == sent
