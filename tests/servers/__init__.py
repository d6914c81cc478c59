"""Servers on this machine that answer as OpenAI, Anthropic and Google do, and fail as they do."""

from tests.servers.answers import (
    Answer,
    Ask,
    Provider,
    Reaction,
    drip,
    drop,
    error,
    google_quota,
    html,
    no_capacity,
    redirect,
    refusing,
    stall,
    truncated,
)
from tests.servers.batches import Switches
from tests.servers.server import WireServer

__all__ = [
    "Answer",
    "Ask",
    "Provider",
    "Reaction",
    "Switches",
    "WireServer",
    "drip",
    "drop",
    "error",
    "google_quota",
    "html",
    "no_capacity",
    "redirect",
    "refusing",
    "stall",
    "truncated",
]
