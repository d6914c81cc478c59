"""Replies of other runs: reused where it is known who answers, and elsewhere only of the same."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from adapters.contract import unless_sampled
from adapters.conversation import Reply
from harness.dialogue import Ask, Embed
from harness.engine import Engine, Job, Lane, Outcome
from harness.engine.cache import ReplyCache
from harness.pictures import PictureStore
from harness.runs import RunDirectory, open_run
from tests.harness.engine.roles import Texts, lanes
from tests.harness.engine.support import Log, Model, engine, say
from tests.harness.engine.test_equal_calls import asking
from tests.harness.runs.examples import SETUP

FACTS = {"id": "m", "root": "/weights/1", "created": "1700000000", "quantization": "fp8"}
JOBS = [asking("a", Ask(say("1"), "one"), Ask(say("2"), "two")), asking("b", Ask(say("3"), "one"))]


class Served(Model):
    """A model behind a server that names it in replies and in its list of models."""

    def __init__(self, name: str = "w-1", facts: Mapping[str, str] = FACTS, **info: Any) -> None:
        usual = {"endpoint": "http://there/v1", "greedy": unless_sampled, "concurrency": 1}
        super().__init__(lambda request: Reply("x", model=name), **{**usual, **info})
        self.facts = facts

    async def listed(self) -> Mapping[str, str]:
        return self.facts


def held(
    folder: Path,
    model: Model,
    jobs: list[Job] = JOBS,
    *,
    run: str = "runs/a",
    preflight: bool = True,
    roles: Mapping[str, Lane | None] | None = None,
    **more: Any,
) -> list[bool]:
    """Hold the dialogues of a run. Return which calls were answered by kept replies."""

    async def main() -> None:
        replies = ReplyCache(folder / "r.sqlite", pytest.fail, run=run)
        driver: Engine = engine(model, log, cache=replies, roles=roles, **more)
        if preflight:
            await driver.preflight(None)
            await driver.preflight_roles(roles or ())
        await driver.introduce()
        outcomes: list[Outcome] = []
        await driver.run(jobs, outcomes.append)
        await replies.close()
        assert len(outcomes) == len(jobs)

    log = Log()
    asyncio.run(main())
    return [record.from_cache for record in log.records]


def test_replies_of_weights_that_the_key_knows_are_reused_by_default(tmp_path: Path) -> None:
    held(tmp_path, Served(weights_known=True))
    # Providers answer with dated names, which change.
    found = held(tmp_path, Served("w-2", {}, weights_known=True), preflight=False)
    assert found == [True] * 3


def test_those_of_others_are_reused_where_they_are_asked_for(tmp_path: Path) -> None:
    assert held(tmp_path, Served()) == [False] * 3
    assert held(tmp_path, Served(), run="runs/b") == [False] * 3
    assert held(tmp_path, Served(), reuse=True) == [True] * 3


OTHERS = [
    Served("w-2"),
    *(Served(facts={**FACTS, name: "other"}) for name in FACTS),
    Served(facts={name: value for name, value in FACTS.items() if name != "quantization"}),
    Served(facts={**FACTS, "parent": "/base"}),
    Served(facts={}),
    Served(endpoint="http://elsewhere/v1"),
]


@pytest.mark.parametrize("other", OTHERS, ids=lambda one: repr((one.facts, one.info.endpoint)))
def test_replies_of_another_model_than_the_server_names_now_are_not_reused(
    tmp_path: Path, other: Served
) -> None:
    held(tmp_path, Served())
    assert held(tmp_path, other) == [False] * 3
    held(tmp_path, Served())
    other.asked.clear()
    # Its own are.
    assert held(tmp_path, other, reuse=True) == [True] * 3


def test_a_server_without_a_list_is_known_by_its_name_in_replies(tmp_path: Path) -> None:
    held(tmp_path, Served(facts={}))
    assert held(tmp_path, Served("w-2", {}), reuse=True) == [False] * 3
    assert held(tmp_path, Served(facts={}), reuse=True) == [True] * 3


def test_nothing_is_reused_before_a_reply_has_said_who_answers(tmp_path: Path) -> None:
    held(tmp_path, Served())
    found = held(tmp_path, Served(), reuse=True, preflight=False)
    # The first calls of both dialogues were under way together.
    assert sorted(found) == [False, False, True]
    held(tmp_path, Served(""), [asking("c", Ask(say("5"), "one"))])
    nameless = held(tmp_path, Served(""), [asking("c", Ask(say("5"), "one"))], reuse=True)
    assert nameless == [False]


def test_the_same_holds_for_the_models_of_roles(tmp_path: Path) -> None:
    jobs = [asking("a", Ask(say("plan"), "plan", role="planner"))]

    def found(planner: Served, **more: Any) -> list[bool]:
        return held(tmp_path, Served(), jobs, roles=lanes(planner, Texts()), **more)

    assert found(Served()) == [False]
    assert found(Served()) == [False]
    assert found(Served("w-2"), reuse=True) == [False]
    assert found(Served(), reuse=True) == [True]


def test_equal_calls_of_one_run_are_one_also_in_another_session_and_without_a_cache(
    tmp_path: Path,
) -> None:
    turns = Ask(say("?"), "same"), Embed(("x", "yy"), "texts")
    asked = []
    for number in range(2):
        model, texts = Served(), Texts()
        jobs = [asking(f"s{number}{each}", *turns) for each in "ab"]
        with RunDirectory.start(tmp_path / "run", SETUP) as run:
            driver = Engine(Lane(model), PictureStore(), run, roles=lanes(Served(), texts))
            asyncio.run(driver.run(jobs, lambda outcome: None))
        calls = [call.from_cache for call in open_run(tmp_path / "run").calls()]
        asked.append((len(model.asked), len(texts.asked)))
    assert asked == [(1, 1), (0, 0)]
    assert sorted(calls) == [False, False, *[True] * 6]
