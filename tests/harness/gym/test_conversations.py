"""Conversations as episodes: the turns of the user, and how each of them went."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from harness.benchmarks import open_steps
from harness.gym.recorded import RecordedEnv

SAMPLE: dict[str, Any] = {"benchmark": "mt-sample", "split": "dev"}


def turns(conversation: str) -> dict[str, list[tuple[str, str]]]:
    """The steps of each turn of a conversation as (id, instruction), in the order of the data."""
    found: dict[str, list[tuple[str, str]]] = {}
    for row in open_steps("mt-sample", splits=["dev"]).rows():
        if row.parents["conversation"] == conversation:
            of_turn = found.setdefault(row.parents["task"], [])
            of_turn.append((row.detail.action_uid, row.goal))
    return found


def test_gymnasium_finds_nothing_to_complain_about() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make("harness.gym:vlm_eval/MTMind2Web-v0", **SAMPLE, limit=2)
        check_env(env.unwrapped)


def test_an_episode_is_a_conversation_and_shows_what_was_said_so_far() -> None:
    env = RecordedEnv(**SAMPLE, limit=1, reveal_gold=True)
    (conversation,) = env.episodes
    expected = turns(conversation)
    seen, info = env.reset()
    for number, steps in enumerate(expected.values()):
        for place, (uid, instruction) in enumerate(steps):
            said = [message["message"] for message in seen["chat_messages"]]
            assert said == [of[0][1] for of in list(expected.values())[: number + 1]]
            assert (seen["goal"], info["action_uid"]) == (instruction, uid)
            assert info["turn_index"] == number
            seen, reward, terminated, _, info = env.step(info["oracle"]["action"])
            assert reward == 1.0
            assert info.get("turn_success") == (True if place == len(steps) - 1 else None)
    assert terminated
    assert (info["task_success"], info["turn_success_rate"]) == (True, 1.0)


@pytest.mark.parametrize("transition", ["teacher", "strict"])
def test_a_turn_with_an_error_fails_and_so_do_those_not_reached(transition: Any) -> None:
    env = RecordedEnv(**SAMPLE, limit=1, reveal_gold=True, transition=transition)
    lengths = [len(steps) for steps in turns(env.episodes[0]).values()]
    _, info = env.reset()
    terminated, wrong, won = False, lengths[0], []
    while not terminated:
        # The first step of the second turn.
        action = "noop()" if len(env.records) == wrong else info["oracle"]["action"]
        _, _, terminated, _, info = env.step(action)
        won += [info["turn_success"]] if "turn_success" in info else []
    assert info["task_success"] is False
    if transition == "teacher":
        assert won == [True, False, *[True] * (len(lengths) - 2)]
        assert info["turn_success_rate"] == (len(lengths) - 1) / len(lengths)
    else:
        assert won == [True, False]
        assert info["turn_success_rate"] == 1 / len(lengths)
