"""Environments of gymnasium over recorded steps (extra `gym`).

    import gymnasium

    env = gymnasium.make("harness.environments:vlm_eval/Mind2Web-v0", benchmark="sample")
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step('click("12")')

Importing this module registers them; it opens no data. docs/environment.md says what they show and
take. `vlm-eval play --model lexical --benchmark sample` plays one with a baseline.
"""

from __future__ import annotations

from harness.errors import UserError

try:
    import gymnasium
except ImportError as error:  # pragma: no cover
    raise UserError("environments need gymnasium: pip install 'vlm-web-eval[gym]'") from error

MIND2WEB = "vlm_eval/Mind2Web-v0"

if MIND2WEB not in gymnasium.registry:
    gymnasium.register(MIND2WEB, "harness.environments.recorded:RecordedEnv")
