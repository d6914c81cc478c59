"""Environments of gymnasium over recorded steps (extra `gym`).

    import gymnasium

    env = gymnasium.make("harness.gym:vlm_eval/Mind2Web-v0", benchmark="sample")
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step('click("12")')

Importing this module registers `MIND2WEB`; it opens no data. See docs/environment.md for
observations and actions. `vlm-eval environments play --model lexical --benchmark sample` plays one
with a baseline.
"""

from __future__ import annotations

from adapters.registry import install
from harness.errors import UserError

try:
    import gymnasium
except ImportError as error:  # pragma: no cover
    raise UserError(f"environments need gymnasium: {install('gym')}") from error

MIND2WEB = "vlm_eval/Mind2Web-v0"
"""A task or conversation is an episode; by default of Multimodal-Mind2Web."""

if MIND2WEB not in gymnasium.registry:
    gymnasium.register(MIND2WEB, "harness.gym.recorded:RecordedEnv")
