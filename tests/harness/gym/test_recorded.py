"""The environment of recorded tasks: what is shown, how it is scored, when it ends."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from harness.benchmarks import open_steps
from harness.errors import UserError
from tests.harness.gym.made_up import OFFERED, PAGE, RIGHT, actions, made, recorded, registered


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"invalid": "fail", "render_mode": "rgb_array"},
        {"benchmark": "mt-sample"},
        {"benchmark_option": {"candidates": "all"}, "reveal_gold": True},
        {"benchmark_option": {"candidates": "ranker", "top_k": 5}, "ranker": "lexical"},
    ],
)
def test_gymnasium_finds_nothing_to_complain_about(settings: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = registered(limit=2, **settings)
        check_env(env.unwrapped)
        env.close()


def test_an_observation_holds_what_is_recorded_of_the_step() -> None:
    row = next(open_steps("sample", splits=["dev"]).rows())
    env = made()
    seen, info = env.reset(options={"task_id": row.parents["task"]})
    assert seen in env.observation_space
    assert seen["goal"] == seen["chat_messages"][0]["message"] == row.goal
    assert (seen["cleaned_html"], seen["previous_actions"]) == (row.detail.html, row.detail.history)
    assert seen["screenshot"].shape[2] == 3
    assert (info["task_id"], info["action_uid"]) == (row.parents["task"], row.detail.action_uid)
    listed = {candidate["bid"]: candidate for candidate in seen["candidates"]}
    known = {c.id: c for c in (*row.detail.positives, *row.detail.negatives)}
    assert len(listed) == 21
    for bid, candidate in listed.items():
        box = known[bid].box
        assert candidate["bbox"] == (box and [box.x, box.y, box.width, box.height])
        assert f'id="{bid}"' in seen["pruned_html"]


def test_right_actions_are_rewarded_one_by_one(tmp_path: Path) -> None:
    env = made(**recorded(tmp_path))
    seen, info = env.reset()
    assert "step_success" not in info
    for number, action in enumerate(actions()):
        assert seen["step_index"] == number
        seen, reward, terminated, truncated, info = env.step(action)
        assert (reward, truncated, seen["last_action"]) == (1.0, False, action)
        assert (info["element_acc"], info["op_f1"], info["step_success"]) == (1.0, 1.0, True)
        assert info["last_action_uid"] == str(number)
    assert terminated
    assert info["task_success"] is True
    with pytest.raises(ResetNeeded):
        env.step(actions()[0])


def test_nothing_tells_which_element_is_right(tmp_path: Path) -> None:
    """Two recordings that differ in the right answers only look the same."""
    pages = []
    for name, right in (("one", RIGHT), ("other", [("7", "CLICK", ""), *RIGHT[1:]])):
        folder = tmp_path / name
        folder.mkdir()
        env = made(**recorded(folder, right))
        first = env.reset(seed=0)
        pages.append((first, env.step("noop()")))
    (one, after), (other, after_other) = pages
    assert json.dumps(one, default=np.ndarray.tolist) == json.dumps(
        other, default=np.ndarray.tolist
    )
    assert [after[number] for number in (1, 2, 3)] == [after_other[number] for number in (1, 2, 3)]
    assert after[4] == after_other[4]


def test_the_right_answer_is_told_on_request(tmp_path: Path) -> None:
    env = made(**recorded(tmp_path), reveal_gold=True)
    _, info = env.reset()
    assert info["oracle"] == {
        "elements": ["3"],
        "operation": "TYPE",
        "value": "a red lamp",
        "action": 'fill("3", "a red lamp")',
    }
    done = made(reveal_gold=True, limit=3)
    for index in range(len(done.episodes)):
        _, info = done.reset(options={"index": index})
        over = False
        while not over:
            _, reward, over, _, info = done.step(info["oracle"]["action"])
            assert reward == 1.0
        assert info["task_success"] is True


@pytest.mark.parametrize("stop", ["send_msg_to_user('done')", "report_infeasible('no')"])
def test_an_agent_may_stop(tmp_path: Path, stop: str) -> None:
    env = made(**recorded(tmp_path))
    env.reset()
    env.step(actions()[0])
    seen, reward, terminated, _, info = env.step(stop)
    assert (reward, terminated, info["task_success"]) == (0.0, True, False)
    assert seen["last_action_error"] == ""


def test_a_click_on_a_point_is_one_on_the_smallest_candidate(tmp_path: Path) -> None:
    settings = recorded(tmp_path, [("6", "CLICK", "")])
    env = made(**settings)
    for point, right in (((90, 10), 1.0), ((10, 10), 0.0), ((300, 300), 0.0)):
        env.reset()
        assert env.step(f"mouse_click{point}")[1] == right
    # The box of the form holds that of the button: with `box`, a point beside it counts.
    around = recorded(tmp_path, [("2", "CLICK", "")])
    assert [_reward(made(**{**around, **more})) for more in ({}, BOX)] == [0.0, 1.0]


BOX = {"benchmark_option": {**OFFERED, "point_rule": "box"}}


def _reward(env: Any) -> float:
    env.reset()
    reward: float = env.step("mouse_click(90, 10)")[1]
    return reward


def test_steps_without_a_right_answer_are_left_out_or_count_as_failed(tmp_path: Path) -> None:
    settings = recorded(tmp_path, step_1={"positives": []})
    env = made(**settings)
    env.reset()
    seen, *_, info = env.step(actions()[0])
    assert (seen["step_index"], info["skipped_steps"]) == (2, 1)
    assert seen["previous_actions"] == ("step 0", "step 1")
    _, _, terminated, _, info = env.step(actions()[2])
    assert terminated
    assert info["task_success"] is True
    zero = made(**settings, invalid="fail")
    zero.reset()
    zero.step(actions()[0])
    *_, info = zero.step(actions()[2])
    assert info["task_success"] is False


def test_an_episode_of_which_nothing_can_be_asked_ends_with_the_first_action(
    tmp_path: Path,
) -> None:
    settings = recorded(tmp_path, RIGHT[:1], step_0={"positives": []})
    env = made(**settings)
    _, info = env.reset()
    assert info["is_valid"] is False
    _, reward, terminated, _, info = env.step("click('3')")
    assert (reward, terminated) == (0.0, True)
    assert "task_success" not in info


def test_rendering_gives_the_screenshot() -> None:
    env = registered(render_mode="rgb_array")
    seen, _ = env.reset(seed=3)
    assert np.array_equal(np.asarray(env.render()), seen["screenshot"])


def test_the_seed_of_reset_draws_tasks_and_nothing_else() -> None:
    env = made()
    drawn = [env.reset(seed=5)[1]["task_id"], *(env.reset()[1]["task_id"] for _ in range(6))]
    again = [env.reset(seed=5)[1]["task_id"], *(env.reset()[1]["task_id"] for _ in range(6))]
    assert drawn == again
    assert len(set(drawn)) > 1
    named = [env.reset(seed=seed, options={"index": 0})[0]["candidates"] for seed in (1, 2)]
    assert named[0] == named[1]
    assert made(seed=1).reset(options={"index": 0})[0]["candidates"] != named[0]


def test_only_one_task_is_decoded_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.benchmarks.mind2web import Mind2WebLayout

    decoded: list[str] = []
    usual = Mind2WebLayout.decode

    def counting(self: Any, record: Any, entry: Any) -> Any:
        decoded.append(entry.parents["task"])
        return usual(self, record, entry)

    monkeypatch.setattr(Mind2WebLayout, "decode", counting)
    env = made()
    assert decoded == []
    _, info = env.reset(seed=0)
    assert set(decoded) == {info["task_id"]}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"render_mode": "human"}, "render_mode='human'"),
        ({"benchmrk": "sample"}, "unknown setting 'benchmrk'"),
        ({"protocol": "coordinates"}, "protocol has no effect on an environment"),
        ({"benchmark_option": "candidates=ranker"}, "name one with --ranker"),
        ({"benchmark_option": "candidates=all", "distractors": 5}, "--distractors has no effect"),
        ({"benchmark": "autowebbench"}, "autowebbench has no recorded steps"),
        ({"split": "train"}, "train"),
        ({"only": "website=nowhere"}, "no website 'nowhere'"),
        ({"benchmark_option": "image_policy=full"}, "image_policy has no effect on an environment"),
    ],
)
def test_settings_that_make_no_sense_are_refused_in_one_line(
    settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(UserError, match=said) as raised:
        made(**settings)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "options",
    [{"task_id": "no such task"}, {"index": 1000}, {"index": "0"}, {"seed": 1}, {"index": -1}],
)
def test_episodes_that_do_not_exist_are_refused(options: dict[str, Any]) -> None:
    env = made()
    with pytest.raises(UserError):
        env.reset(options=options)


def test_a_conversation_is_an_episode_and_shows_what_was_said_so_far() -> None:
    env = made(benchmark="mt-sample", limit=1, reveal_gold=True)
    (conversation,) = env.episodes
    rows = list(open_steps("mt-sample", splits=["dev"]).rows())
    rows = [row for row in rows if row.parents["conversation"] == conversation]
    said: dict[str, str] = {}
    seen, info = env.reset()
    for row in rows:
        said[row.parents["task"]] = row.goal
        assert [one["message"] for one in seen["chat_messages"]] == list(said.values())
        assert (seen["goal"], info["action_uid"]) == (row.goal, row.detail.action_uid)
        seen, reward, terminated, _, info = env.step(info["oracle"]["action"])
        assert reward == 1.0
    assert terminated and len(said) > 1 and info["task_success"] is True


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_several_are_stepped_side_by_side(mode: str) -> None:
    envs = gymnasium.make_vec(
        "harness.gym:vlm_eval/Mind2Web-v0",
        num_envs=2,
        vectorization_mode=mode,
        vector_kwargs={"shared_memory": False} if mode == "async" else {},
        benchmark="sample",
        split="dev",
        limit=3,
    )
    try:
        seen, infos = envs.reset(seed=0)
        tasks = [made(limit=3).reset(seed=seed)[1]["task_id"] for seed in (0, 1)]
        assert list(infos["task_id"]) == tasks
        assert len(seen["goal"]) == 2
        ended = np.zeros(2, bool)
        while not ended.all():
            action = tuple(f"click('{listed[0]['bid']}')" for listed in seen["candidates"])
            seen, rewards, terminated, _, infos = envs.step(action)
            assert rewards.shape == (2,)
            ended |= terminated
    finally:
        envs.close()


def test_steps_without_a_screenshot_show_none(tmp_path: Path) -> None:
    env = made(**recorded(tmp_path), render_mode="rgb_array")
    seen, _ = env.reset()
    assert seen["screenshot"] is None and env.render() is None
    assert PAGE.replace("bid", "x").count("input") == seen["cleaned_html"].count("<input")
