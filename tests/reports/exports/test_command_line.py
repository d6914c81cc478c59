"""The command that stands for a run: given again, it finds the run complete."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from harness.runs.places import without_places
from reports.exports.facts import command_of
from tests.harness.commands.tool import call, isolate


@pytest.mark.parametrize(
    "given",
    [
        "-m lexical -b sample",
        "-m random -b sample -k 5 --history none --image-policy none --seed 7 --f1 cl100k-lc "
        "--invalid fail --benchmark-option mapped_operations=no --split dev "
        "--benchmark-option exclude_status=refusal",
        "-m lexical -b sample --benchmark-option candidates=ranker --ranker lexical "
        "--benchmark-option top_k=10 --protocol mindact-choice --shuffles 2 --max-tokens 800",
        "-m random -b sample-grounding --protocol-option form=computer-use --only target=present",
        "-m lexical -b mt-sample --protocol mt-mindact-fixed --ranker lexical",
        # An option that is called as a setting of the run.
        "-m random -b sample --protocol mindact-generate --ranker lexical --seed 7 "
        "--protocol-option seed=3",
    ],
)
def test_the_arguments_lead_to_the_run_that_they_were_read_from(
    given: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    to = ("--limit", "1", "--progress", "off", "--out", "run")
    first = call("run", *given.split(), *to)
    assert first.code == 0, first.err
    before = Path("run/steps.jsonl").read_bytes()
    config = json.loads(Path("run/manifest.json").read_text())["config"]
    again = call("run", *shlex.split(command_of(config))[2:], *to[2:])
    assert again.code == 0, again.err
    assert Path("run/steps.jsonl").read_bytes() == before
    assert command_of(config).startswith("vlm-eval run --model ")


def test_addresses_folders_and_secrets_do_not_stand_in_it() -> None:
    config = {
        "model": "openai:m",
        "base_url": "http://me:word@host.internal:8000/v1",
        "adapter_option": {"api_key": "[masked]", "proxy": "http://proxy.internal"},
        "role": {"planner": "m", "planner.base_url": "host.internal"},
        "protocol_option": {"prompts": "/home/somebody/prompts.toml", "seed": 42},
        "benchmark": "steps",
    }
    command = command_of(config, data="/home/somebody/data")
    assert command == (
        "vlm-eval run --model openai:m --base-url URL --adapter-option 'api_key=[masked]' "
        "--adapter-option 'proxy=[address]' --role planner=m --role planner.base_url=URL "
        "--benchmark steps --protocol-option prompts=prompts.toml --protocol-option seed=42 "
        "--data FOLDER"
    )


def test_neither_do_those_within_values() -> None:
    options = {"extra_body": '{"lora": "/home/somebody/lora", "at": ["http://host.internal/v1"]}'}
    command = command_of({"model": "openai:/srv/models/m", "adapter_option": options})
    assert "somebody" not in command and "internal" not in command and "srv" not in command
    assert '{"lora": "lora", "at": ["[address]"]}' in command and "openai:m" in command


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("https://me:w)x@host:8000/v1?key=1 answered 500", "[address] answered 500"),
        ("no file ~/models/x.bin, or '/data/me/y'", "no file x.bin, or 'y'"),
        ("refused by ('10.1.2.3', 8000)", "refused by ('[address]', 8000)"),
        ("owner/name and 3/4, 1/2/3", "owner/name and 3/4, 1/2/3"),
    ],
)
def test_messages_say_no_places(text: str, told: str) -> None:
    assert without_places(text) == told


def test_hostile_values_stay_one_word_each() -> None:
    command = command_of({"model": "x; rm -rf ~ #\n`id`", "benchmark": "sample"})
    assert command == "vlm-eval run --model 'x; rm -rf ~ #\n`id`' --benchmark sample"
