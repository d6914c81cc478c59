"""Stands in for wandb.sdk.wandb_login."""

from __future__ import annotations

from typing import Any


def _login(*, prompt: bool, _silent: bool) -> tuple[bool, Any]:
    import wandb

    assert not prompt and _silent
    key = wandb.STATE["key"]
    return bool(key), key
