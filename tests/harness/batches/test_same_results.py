"""Runs in batches against runs at once: the same results, within the same limits."""

from __future__ import annotations

import gc
import hashlib
import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any
from weakref import WeakSet

import pytest

from harness.batches import passes
from harness.batches.lane import Spool
from harness.engine.dialogues import OpenDialogue
from tests.adapters.support import MODELS, PROVIDERS
from tests.harness.batches.deferring import told
from tests.harness.commands.tool import (
    ONE_TASK,
    TEXT_ONLY,
    call,
    calls,
    replying,
)
from tests.servers import Answer, Ask, Provider, Switches, WireServer, error

WAITING = 3
FEW = ("--ranker", "lexical", "--benchmark-option", "top_k=12")
MT = ("--benchmark", "mt-sample", "--limit", "1")
# One call, two rounds, tuples of calls, pictures, several dialogues of one conversation.
PROTOCOLS: dict[str, tuple[str, ...]] = {
    "seeact-two-rounds": ONE_TASK,
    "seeact-choice": (*ONE_TASK, *FEW, "--protocol-option", "batch_size=6"),
    "coordinates": (*ONE_TASK, "--protocol-option", "coordinates=unit"),
    "mindact-choice": (*ONE_TASK, *FEW),
    "autowebglm": (*ONE_TASK, *FEW),
    "self-map": (*MT, *FEW),
}
REPLIES = (
    "I would click the search field.",
    "ELEMENT: A\nACTION: CLICK\nVALUE: None",
    "Answer: B.\nAction: TYPE\nValue: shoes",
    "Answer: A.",
    "click(0.31, 0.42)",
    "Click(12)",
)


@pytest.fixture(autouse=True)
def keys(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC", "GOOGLE"):
        monkeypatch.setenv(f"{name}_API_KEY", "sk-0123456789")
    monkeypatch.setattr(passes, "FIRST_WAIT_S", 0.001)
    monkeypatch.setattr(passes, "LONGEST_WAIT_S", 0.01)


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer(replying()) as server:
        yield server


def anything(ask: Ask) -> Answer:
    """The same reply to the same request, and different ones else."""
    digest = hashlib.sha256(json.dumps(ask.messages).encode()).digest()
    text = REPLIES[digest[0] % len(REPLIES)]
    return Answer(text=text, usage={"input": 100 + digest[1], "cached": 0, "output": 10})


def arguments(server: WireServer, provider: Provider, out: str, *more: str) -> list[str]:
    model = ("--model", MODELS[provider], "--base-url", server.base_url(provider))
    rest = ("--progress", "off", "--no-cache", "--yes", "--out", out)
    return [*model, *rest, *more]


def asked_of(run: str) -> list[Any]:
    """What every call asked and was answered, without what a batch may change."""
    return sorted(
        (line["id"], line["conversation"], line["request"], line["reply"]["text"])
        for line in calls(run)
    )


def outcomes(run: str) -> tuple[list[Any], Any]:
    """What became of every step, and the tokens of all: calls that steps share are borne by the
    one that happens to ask first."""
    lines = told(Path(run))
    tokens = sum(line.pop("usage")["input"] for line in lines if line["usage"])
    for line in lines:
        line.pop("usage", None)
        line.pop("roles", None)
    return lines, tokens


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_form_of_dialogue_comes_to_the_same_in_batches(protocol: str) -> None:
    with WireServer(anything) as server:
        line = ("--protocol", protocol, *PROTOCOLS[protocol])
        at_once = call(*arguments(server, "openai", "at-once", *line))
        assert at_once.code == 0, at_once.err
        done = call(
            *arguments(
                server, "openai", "run", *line, "--tier", "batch", "--adapter-option=wait=yes"
            )
        )
        assert done.code == 0, done.err
        assert server.batches.creates >= 1
    assert outcomes("run") == outcomes("at-once")
    assert asked_of("run") == asked_of("at-once")


def test_samples_are_as_many_calls_in_batches() -> None:
    numbers = count()
    with WireServer(lambda ask: Answer(text=f"{next(numbers)}. {REPLIES[1]}")) as server:
        line = (
            "--samples",
            "5",
            "--temperature",
            "0.9",
            "--adapter-option",
            "model_seed=7",
            *ONE_TASK,
            *TEXT_ONLY,
        )
        batch = arguments(
            server, "openai", "run", *line, "--tier", "batch", "--adapter-option=wait=yes"
        )
        assert call(*batch).code == 0
        sent = [ask.body for ask in server.asks if ask.body.get("temperature") == 0.9]
    lines = calls("run")
    assert len({line["reply"]["text"] for line in lines}) == len(lines) == 5 * 2 * 7
    assert {line["sample"] for line in lines if "sample" in line} == {1, 2, 3, 4}
    assert {body["seed"] for body in sent} == {7, 8, 9, 10, 11}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_provider_comes_to_the_same_whatever_its_batches_do(provider: Provider) -> None:
    line = (*ONE_TASK, *TEXT_ONLY)
    with WireServer(anything) as server:
        assert call(*arguments(server, provider, "at-once", *line)).code == 0
        server.batches.switches = Switches(
            polls=2, shuffle=True, repeat=True, drop_every=5, tear=1, state="SOMETHING_NEW"
        )
        batch = arguments(
            server, provider, "run", *line, "--tier", "batch", "--adapter-option=wait=yes"
        )
        done = call(*batch)
        server.batches.switches = Switches()
        for _ in range(4):
            if done.code == 0:
                break
            done = call(*batch)
        assert done.code == 0, done.err
    assert outcomes("run") == outcomes("at-once")
    assert asked_of("run") == asked_of("at-once")


@pytest.mark.parametrize(
    "switches",
    [Switches(expire_after=2), Switches(drop_every=2), Switches(fail_full=1), Switches(full=1)],
    ids=["expired", "dropped", "queue full later", "queue full"],
)
def test_what_came_to_nothing_is_asked_again(switches: Switches, server: WireServer) -> None:
    line = arguments(server, "openai", "run", *ONE_TASK, *TEXT_ONLY, "--tier", "batch")
    server.batches.switches = switches
    for number in range(8):
        done = call(*line)
        if done.code == 0:
            break
        # With a full queue and nothing of ours in it, there is nothing to wait for.
        assert done.code == WAITING or "Enqueued token limit reached" in done.err, done.err
        assert "Traceback" not in done.err
        if number == 1:
            server.batches.switches = Switches()
    assert done.code == 0
    ids = [line["id"] for line in calls("run")]
    assert len(ids) == len(set(ids))


def test_an_upload_that_the_provider_deleted_is_sent_again(server: WireServer) -> None:
    line = arguments(server, "openai", "run", *ONE_TASK, *TEXT_ONLY, "--tier", "batch")
    server.batches.switches.full = 1
    assert "Enqueued token limit" in call(*line).err
    server.batches.files.clear()
    assert call(*line).code == WAITING
    assert (server.batches.uploads, server.batches.creates) == (2, 1)


def test_a_batch_that_failed_says_why(server: WireServer) -> None:
    server.batches.switches.fail = "Model some-model is not for batches"
    line = arguments(server, "openai", "run", *ONE_TASK, *TEXT_ONLY, "--tier", "batch")
    assert call(*line).code == WAITING
    done = call(*line)
    assert done.code == 1 or done.code == 2
    assert "Model some-model is not for batches" in done.err
    assert "Traceback" not in done.err


@pytest.fixture
def priced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers on this machine count as OpenAI itself."""
    monkeypatch.setattr("adapters.openai.HOSTS", ("127.0.0.1",))


@pytest.mark.usefixtures("priced")
def test_spent_and_reserved_stay_within_the_limit_over_sessions(server: WireServer) -> None:
    server.react = replying(usage={"input": 2000, "cached": 0, "output": 50})
    limit = 0.06
    line = [
        *(
            "--model",
            "openai:gpt-4o",
            "--base-url",
            server.base_url("openai"),
        ),
        *("--progress", "off", "--no-cache", "--yes", "--out", "run", *ONE_TASK, *TEXT_ONLY),
        *("--tier", "batch", "--max-cost", str(limit)),
    ]
    sessions, most = [], 0.0
    for _ in range(12):
        done = call(*line)
        sessions.append(done)
        spent = sum(one["cost"] or 0.0 for one in calls("run"))
        events = [json.loads(one) for one in Path("run/batches.jsonl").read_text().splitlines()]
        over = {one["n"] for one in events if one["event"] in ("drained", "dropped")}
        reserved = sum(
            one["upper"] for one in events if one["event"] == "sealed" and one["n"] not in over
        )
        most = max(most, spent + reserved)
        assert spent + reserved <= limit
        if done.code != WAITING:
            break
    assert sessions[-1].code == 1, "the limit ends it"
    assert "cost limit" in sessions[-1].err or "--max-cost" in sessions[-1].err
    assert most > limit / 2, "most of it could be used"
    # Every reply is billed at the price of batches: half of the ordinary one.
    [cost] = {line["cost"] for line in calls("run")}
    assert cost == pytest.approx((2000 * 2.5 + 50 * 10) / 1e6 / 2)


def test_a_refused_parameter_costs_no_batch_and_is_told_once(server: WireServer) -> None:
    plain = replying()

    def react(ask: Ask) -> Answer:
        if "seed" in ask.body:
            return error(400, "Unsupported parameter: 'seed'", "unsupported_parameter", "seed")
        return plain(ask)

    server.react = react
    line = arguments(
        server,
        "openai",
        "run",
        *ONE_TASK,
        *TEXT_ONLY,
        "--tier",
        "batch",
        "--adapter-option=wait=yes",
    )
    done = call(*line, "--generation-seed", "7")
    if done.code == 2:
        done = call(*line)
    assert done.code == 0, done.err
    in_batches = [ask for ask in server.asks if ask not in server.asked_at_once]
    assert len(in_batches) == len(calls("run"))


def test_dialogues_that_wait_hold_nothing(
    server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory does not grow with the number of rows: pages and pictures go with their dialogues."""
    line = arguments(server, "openai", "run", "--benchmark", "sample", "--split", "dev")
    open_dialogues: list[int] = []
    alive: WeakSet[OpenDialogue] = WeakSet()
    answer, spooled = Spool.answer, count(1)

    class Known(OpenDialogue):
        def __post_init__(self) -> None:
            super().__post_init__()
            alive.add(self)

    async def counted(self: Any, *args: Any, **more: Any) -> Any:
        if next(spooled) % 15 == 0:
            gc.collect()
            open_dialogues.append(len(alive))
        return await answer(self, *args, **more)

    monkeypatch.setattr("harness.engine.engine.OpenDialogue", Known)
    monkeypatch.setattr(Spool, "answer", counted)
    done = call(*line, *TEXT_ONLY, "--tier", "batch", "--concurrency", "4")
    assert done.code == WAITING, done.err
    [batch] = server.batches.batches.values()
    assert len(batch.lines) > 60
    assert open_dialogues and max(open_dialogues) > 0
    assert max(open_dialogues) < len(batch.lines) / 2
