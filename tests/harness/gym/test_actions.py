"""Actions as strings: what they mean, and what is said of those that cannot be read."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.gym import RecordedEnv
from tests.harness.gym.made_up import made, recorded


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> RecordedEnv:
    """One step whose right answer is to type "a red lamp" into element 3, listed as B."""
    folder = tmp_path_factory.mktemp("steps")
    return made(**recorded(folder, [("3", "TYPE", "a red lamp")]))


@pytest.mark.parametrize(
    "action",
    [
        "fill('3', 'a red lamp')",
        'fill("3", "a red lamp")',
        "fill(3, 'a red lamp')",
        "fill(value='a red lamp', bid='3')",
        "  fill('3',\n 'a red lamp')  # the search field",
        "<action>\nfill('3', 'a red lamp')\n</action>",
        "The field for words is free.\n```\nfill('3', 'a red lamp')\n```",
        "<think>click('7')?</think>fill('3', 'a red lamp')",
    ],
)
def test_ways_to_write_an_action(env: RecordedEnv, action: str) -> None:
    env.reset()
    seen, reward, *_ = env.step(action)
    assert (reward, seen["last_action_error"], seen["last_action"]) == (1.0, "", action)


@pytest.mark.parametrize(
    ("action", "element", "operation"),
    [
        ("click('3')", 1.0, 0.0),
        ("hover('3')", 1.0, 0.0),
        ("press('3', 'Enter')", 1.0, 0.0),
        ("fill('7', 'a red lamp')", 0.0, 1.0),
        ("select_option('3', 'a red lamp')", 1.0, 0.75),
        ("noop()", 0.0, 0.0),
        ("noop(1000)", 0.0, 0.0),
    ],
)
def test_wrong_actions_without_an_error(
    env: RecordedEnv, action: str, element: float, operation: float
) -> None:
    env.reset()
    seen, reward, _, _, info = env.step(action)
    assert (reward, seen["last_action_error"]) == (0.0, "")
    assert (info["element_acc"], info["op_f1"]) == (element, pytest.approx(operation))


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ("", 'write one call, such as click("12")'),
        ("I would rather not.", "write one call"),
        ("fill('3', __import__('os').system('true'))", "write one call"),
        ("exec('import os')", "not an action on recorded pages: \"exec('import os')\""),
        ("drag('3', '4')", "not an action on recorded pages"),
        ("choose('B')", "not an action on recorded pages"),
        ("scroll(0, 200)", "not an action on recorded pages"),
        ("click('3'); click('4')", "several different calls"),
        ("click('99')", "not on this page: \"click('99')\""),
        ("click()", "click takes (bid, button)"),
        ("fill('3')", "fill takes (bid, value)"),
        ("fill('3', 5)", "fill takes (bid, value)"),
        ("click('3', force=True)", "click takes (bid, button)"),
        ("mouse_click('a', 'b')", "mouse_click takes"),
        ("mouse_click(1" + "0" * 400 + ", 2)", "mouse_click takes"),
        ("click(" + "(" * 5000 + "'3'" + ")" * 5000 + ")", "write one call"),
        ("click('" + "3" * 30_000 + "')", "write one call"),
    ],
)
def test_what_cannot_be_done_is_told_and_scores_nothing(
    env: RecordedEnv, action: str, said: str
) -> None:
    env.reset()
    seen, reward, terminated, truncated, _ = env.step(action)
    assert seen["last_action_error"].startswith(said)
    assert len(seen["last_action_error"]) < 300
    assert (reward, terminated, truncated) == (0.0, True, False)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    action=st.one_of(
        st.text(),
        st.builds("{}({})".format, st.sampled_from(["click", "fill", "goto", "x"]), st.text()),
        st.integers(),
        st.none(),
        st.binary(),
    )
)
def test_no_action_raises(env: RecordedEnv, action: object) -> None:
    env.reset()
    seen, reward, terminated, *_ = env.step(action)  # type: ignore[arg-type]
    assert seen in env.observation_space
    assert terminated
    assert reward == 0.0
