"""Fake deployments: each fault is named, and a right one is never accused."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from harness.planning.model import open_model
from harness.settings import read_settings
from harness.verify.calls import SHORT
from harness.verify.checks import QUICK, rows
from harness.verify.probing import Verification
from harness.verify.words import Check
from tests.harness.commands.tool import call, isolate
from tests.harness.verify.test_scenes import _cases
from tests.pictures import keep_processes
from tests.servers import Answer, Ask, WireServer, drop, error
from tests.servers.deployments import Deployment, tokens

NAMES = {
    "qwen3-vl": "Qwen/Qwen3-VL-8B-Instruct",
    "qwen2.5-vl": "Qwen/Qwen2.5-VL-7B-Instruct",
    "gemma3": "google/gemma-3-27b-it",
    "internvl3": "OpenGVLab/InternVL3-8B",
}
TEMPLATE = tuple(len(tokens(text)) + 7 for text in SHORT)


def verified(
    fake: Any,
    family: str = "qwen3-vl",
    quick: bool = False,
    heard: list[str] | None = None,
    **more: Any,
) -> Verification:
    seed = more.pop("seed", 1)
    respond = fake if callable(fake) else Deployment(fake, "[{x}, {y}]")
    numbers = "absolute" if family == "qwen2.5-vl" else "per-mille"
    with WireServer(respond) as server:
        given = {
            "model": f"openai:{NAMES[family]}",
            "base_url": server.base_url("openai"),
            "protocol_option": [("form", "plain"), ("coordinates", numbers)],
            "attempts": 2,
            **more,
        }
        settings = read_settings(given)
        model = open_model(settings).loaded()
        done = Verification.of(
            settings, model, rows(quick), quick=quick, seed=seed, template=TEMPLATE
        )
        asyncio.run(done.ask((heard if heard is not None else []).append))
        return done


@pytest.fixture(autouse=True)
def _processes(monkeypatch: pytest.MonkeyPatch) -> None:
    keep_processes(monkeypatch)


def words(checks: list[Check]) -> dict[str, set[str]]:
    said = {check.rule for check in checks}
    return {word: {c.name for c in checks if c.rule == word} for word in said}


RIGHT: list[tuple[dict[str, Any], str, dict[str, Any]]] = [
    ({}, "qwen3-vl", {}),
    ({"family": "qwen2.5-vl"}, "qwen2.5-vl", {}),
    ({"family": "gemma3"}, "gemma3", {}),
    ({"family": "internvl3", "points": False}, "internvl3", {}),
    ({"weakest": 24, "spread": 0.3}, "qwen3-vl", {}),
    ({"temperature": 0.7}, "qwen3-vl", {"temperature": 0.7}),
    ({"noise": True}, "qwen3-vl", {}),
    ({"babble": True}, "qwen3-vl", {}),
]


@pytest.mark.parametrize(("fake", "family", "more"), RIGHT)
@pytest.mark.parametrize("quick", [False, True])
def test_a_right_deployment_is_not_accused(
    fake: dict[str, Any], family: str, more: dict[str, Any], quick: bool
) -> None:
    done = verified(fake, family, quick, **more)
    assert not done.failed
    found = words(done.judge.checks())
    assert not found.get("broken")
    assert not found.get("suspicious")
    made = [name for name in done.probe.records if "again" not in name]
    assert len(made) == (21 if quick else 38)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("right", RIGHT)
def test_right_deployments_are_not_accused_in_100_seeds(
    right: tuple[dict[str, Any], str, dict[str, Any]],
) -> None:
    fake, family, more = right
    suspicious = 0
    for seed in range(1, 101):
        found = words(verified(fake, family, seed=seed, **more).judge.checks())
        assert not found.get("broken"), seed
        suspicious += bool(found.get("suspicious"))
    assert suspicious <= 1


@pytest.mark.parametrize("seed", [2, 3])
def test_a_right_deployment_is_not_accused_whatever_it_is_shown(seed: int) -> None:
    found = words(verified({}, quick=True, seed=seed).judge.checks())
    assert not found.get("broken")
    assert not found.get("suspicious")


def test_weak_eyes_that_miss_a_column_once_are_not_suspected() -> None:
    done = verified({"weakest": 24, "spread": 0.3}, seed=203)
    assert "coverage" in words(done.judge.checks())["cannot tell"]


FAULTS: list[tuple[dict[str, Any], str, set[str], set[str]]] = [
    ({"family": "qwen2.5-vl", "most": 1_003_520}, "qwen2.5-vl", {"sizes", "points"}, set()),
    ({"family": "qwen2.5-vl", "side": 500}, "qwen2.5-vl", {"sizes", "ladder", "points"}, set()),
    ({"side": 1024}, "qwen3-vl", set(), {"sizes"}),
    ({"side": 768, "usage": "text"}, "qwen3-vl", set(), {"ladder", "usage"}),
    ({"double": True}, "qwen3-vl", {"sizes"}, set()),
    ({"family": "qwen2.5-vl", "square": 640}, "qwen2.5-vl", {"sizes", "ladder"}, set()),
    ({"family": "internvl3", "one_tile": True}, "internvl3", {"ladder"}, {"sizes"}),
    ({"channels": True}, "qwen3-vl", {"corners"}, set()),
    ({"mirror": True}, "qwen3-vl", {"corners"}, set()),
    ({"turn": 1}, "qwen3-vl", {"corners"}, set()),
    ({"centre": True}, "qwen3-vl", {"coverage", "ladder"}, {"sizes"}),
    ({"lose_right": True}, "qwen3-vl", {"coverage", "points"}, {"sizes"}),
    ({"no_pictures": True}, "qwen3-vl", {"picture seen"}, {"usage"}),
    ({"no_pictures_with_system": True}, "qwen3-vl", {"with system text"}, set()),
    ({"last_only": True}, "qwen3-vl", {"order", "history"}, set()),
    ({"reverse": True}, "qwen3-vl", {"order"}, {"history"}),
    ({"as_text": True}, "qwen3-vl", {"bytes"}, {"sizes"}),
    ({"cached_picture": True}, "qwen3-vl", {"picture cache"}, {"history"}),
    ({"numbers": "unit"}, "qwen3-vl", {"points"}, set()),
    ({"numbers": "absolute"}, "qwen3-vl", {"points"}, set()),
    ({"swap": True}, "qwen3-vl", {"points"}, set()),
    ({"offset": 36}, "qwen3-vl", set(), {"points"}),
    ({"family": "qwen2.5-vl"}, "qwen3-vl", {"points"}, {"sizes"}),
    ({"drop_system": True}, "qwen3-vl", {"system text"}, set()),
    ({"bos_twice": True}, "qwen3-vl", set(), {"template"}),
    ({"think": True}, "qwen3-vl", set(), {"thinking"}),
    ({"in_reasoning": True}, "qwen3-vl", {"thinking"}, set()),
    ({"ignore_max": True}, "qwen3-vl", {"max_tokens"}, set()),
    ({"wrong_finish": True}, "qwen3-vl", {"max_tokens"}, set()),
    ({"cap": 256}, "qwen3-vl", {"long reply"}, set()),
    ({"context": 4096}, "qwen3-vl", {"context"}, set()),
    ({"context": 4096, "honest": True}, "qwen3-vl", set(), {"context", "refused sizes"}),
    ({"temperature": 0.7}, "qwen3-vl", {"repeats"}, set()),
    ({"usage": "none"}, "qwen3-vl", set(), {"usage"}),
    ({"usage": "zero"}, "qwen3-vl", {"usage"}, {"template"}),
    ({"garbage": True}, "qwen3-vl", {"copy"}, set()),
]


@pytest.mark.parametrize(("fake", "family", "broken", "suspicious"), FAULTS)
def test_a_fault_is_named(
    fake: dict[str, Any], family: str, broken: set[str], suspicious: set[str]
) -> None:
    # The other checks are asked only where they find it.
    quick = broken | suspicious <= set(QUICK) and not {
        "most",
        "side",
        "offset",
        "temperature",
    } & set(fake)
    done = verified(fake, family, quick)
    assert not done.failed
    found = words(done.judge.checks())
    assert found.get("broken", set()) == broken
    assert found.get("suspicious", set()) == suspicious


@pytest.mark.slow
def test_deployments_of_the_cases() -> None:
    for case in _cases("deployments"):
        given, declared = case["input"], case["input"]["declared"]
        more = {"effort": declared["effort"]} if "effort" in declared else {}
        if declared.get("greedy") is False:
            more["temperature"] = 0.7
        found = words(verified(given["fake"], declared["family"], **more).judge.checks())
        for word in ("broken", "suspicious", "cannot tell"):
            expected = set(case["expect"][word.replace(" ", "_")])
            assert found.get(word, set()) == expected, case["id"]


def test_a_model_told_not_to_think_that_thinks_is_broken() -> None:
    assert "thinking" in words(verified({"think": True}, effort="none").judge.checks())["broken"]


@pytest.mark.parametrize("answer", [error(429, "slow down"), error(500, "no"), drop()])
def test_a_server_that_stops_answering_leaves_what_is_known(answer: Any) -> None:
    sound = Deployment({}, "[{x}, {y}]")

    def respond(ask: Ask) -> Any:
        return sound(ask) if ask.number <= 10 else answer

    done = verified(respond, attempts=1)
    assert done.failed
    assert 4 <= len(done.probe.records) <= 10
    assert not words(done.judge.checks()).get("broken")


@pytest.mark.parametrize(
    "fault",
    [
        {"usage": {"input": 10**30, "output": 5}},
        {"usage": {"input": -5, "output": -1}},
        {"text": ""},
        {"text": "7" * 300_000},
        {"text": "\ud800 [1e999, nan]"},
        {"text": "<think>" * 5_000},
        {"thinking": "x" * 100_000, "text": ""},
        {"finish": "content_filter"},
        {"finish": "refusal"},
    ],
)
def test_whatever_a_server_answers_is_judged(fault: dict[str, Any]) -> None:
    done = verified(lambda ask: Answer(**fault), quick=True)
    assert {check.name for check in done.judge.checks()} <= set(QUICK)


def test_the_command_prints_findings_in_80_columns_and_writes_a_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1234567890abcdef1234")
    sound = Deployment({"family": "qwen2.5-vl", "most": 1_003_520})

    def respond(ask: Ask) -> Answer:
        answer = sound(ask)
        tells = "hello" in ask.text
        return Answer("sk-1234567890abcdef1234", usage=answer.usage) if tells else answer

    with WireServer(respond) as server:
        line = ["verify", NAMES["qwen2.5-vl"], "--base-url", server.base_url("openai"), "--quick"]
        done = call(*line, "--output", "record.json")
        asked = server.count
    assert done.code == 4, done.err
    rows = done.out.splitlines()
    assert any(line.startswith("BROKEN  sizes") for line in rows)
    assert "max_pixels" in done.out
    assert max(len(line) for line in rows if line.startswith(("BROKEN", "suspect"))) <= 80
    text = Path("record.json").read_text("utf-8")
    record = json.loads(text)
    assert "sk-1234567890abcdef1234" not in text + done.out + done.err
    assert record["verdict"] == "broken"
    assert record["counts"]["pictures"] == [258, 794, 1249, 1209, 1224]
    assert record["measured"]["limit"] == ["pixels", 989408, 1012143]
    assert record["spent"]["calls"] == len(record["calls"]) >= 21
    assert asked >= 21


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["lexical"], "baseline"),
        (["m", "--base-url", "http://127.0.0.1:9/v1", "--only", "size"], "did you mean 'sizes'"),
        (["m", "--base-url", "http://127.0.0.1:9/v1", "--only", "sizes", "--skip", "sizes"], "no"),
        (["m", "--base-url", "http://127.0.0.1:9/v1", "--max-cost", "1"], "needs a price for"),
    ],
)
def test_bad_input_is_one_line(words: list[str], said: str) -> None:
    done = call("verify", *words)
    assert done.code == 2
    assert said in done.complaint


def test_a_cost_limit_stops_between_calls_and_what_may_be_spent_is_said_before(
    tmp_path: Path,
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text(f'["openai:{NAMES["qwen3-vl"]}"]\ninput = 3.0\noutput = 15.0\n', "utf-8")
    heard = list[str]()
    done = verified({}, quick=True, prices=str(prices), max_cost=0.02, concurrency=1, heard=heard)
    assert done.failed.startswith("cost limit reached")
    assert 4 <= len(done.probe.records) < 21
    assert 0 < done.spent <= 0.02
    assert heard[0].startswith("cost:     at most ")
    assert "$" in heard[0]


def test_a_servers_own_words_and_what_to_do_are_on_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path)
    with WireServer(
        Deployment({"family": "qwen2.5-vl", "most": 1_003_520}, "[{x}, {y}]")
    ) as server:
        server.told["/props"] = {
            "build_info": "b6000",
            "chat_template": "{{ messages }}",
            "default_generation_settings": {"n_ctx": 8192},
        }
        listed = {"id": NAMES["qwen2.5-vl"], "meta": {"quantization": "Q4_K_M"}}
        server.told["/v1/models"] = {"data": [listed]}
        line = ["verify", NAMES["qwen2.5-vl"], "--base-url", server.base_url("openai"), "--quick"]
        assert call(*line, "--output", "record.json").code == 4
    record = json.loads(Path("record.json").read_text("utf-8"))
    assert record["server"] == {
        "software": "llama.cpp",
        "version": "b6000",
        "context": 8192,
        "quantization": "Q4_K_M",
        "template_sha256": hashlib.sha256(b"{{ messages }}").hexdigest(),
    }
    assert record["measured"]["calls_per_minute"] > 0
    todo = {check["name"]: check["next"] for check in record["checks"]}
    assert any("--image-max-tokens" in one for one in todo["sizes"])
    assert not todo["copy"]
