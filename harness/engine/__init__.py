"""Drives dialogues: many at a time, each call once, everything on record.

    engine = Engine(adapter, pictures, Generation(), run_directory)
    await engine.run(jobs, settle)

What the engine owns: order and number of calls, retries, time limits, the response cache, the cost
limit. What it does not: which steps there are and what an answer is worth.
"""

from harness.engine._calls import CallLog, PromptTokens
from harness.engine._errors import (
    CostLimitReached,
    GaveUp,
    ProtocolError,
    ReplayMismatch,
    Stopped,
    TooManyFailures,
)
from harness.engine._keys import call_id, model_key, request_key
from harness.engine._starvation import Starvation
from harness.engine.cache import ReplyCache, default_cache_path
from harness.engine.engine import Engine, Job, Jobs
from harness.engine.interrupt import on_interrupt
from harness.engine.observer import Observer, Observers, Outcome
from harness.engine.policy import EnginePolicy, Pricing, RetryPolicy
from harness.engine.preflight import preflight
from harness.engine.progress import Counters, Progress

__all__ = [
    "CallLog",
    "CostLimitReached",
    "Counters",
    "Engine",
    "EnginePolicy",
    "GaveUp",
    "Job",
    "Jobs",
    "Observer",
    "Observers",
    "Outcome",
    "Pricing",
    "Progress",
    "PromptTokens",
    "ProtocolError",
    "ReplayMismatch",
    "ReplyCache",
    "RetryPolicy",
    "Starvation",
    "Stopped",
    "TooManyFailures",
    "call_id",
    "default_cache_path",
    "model_key",
    "on_interrupt",
    "preflight",
    "request_key",
]
