"""Drive dialogues: many at a time, each call made once, everything on record.

    engine = Engine(adapter, pictures, Generation(), run_directory)
    await engine.run(jobs, settle)

The engine owns the order and number of calls, retries, time limits, the reply cache and the cost
limit. It does not know which steps there are, nor what an answer is worth.
"""

from harness.engine.cache import (
    ReplyCache,
    VectorCache,
    default_cache_path,
    model_key,
    request_key,
    text_key,
)
from harness.engine.caller import Caller
from harness.engine.calls import CallLog
from harness.engine.dialogues import Environment, Job, Jobs
from harness.engine.engine import Engine, first_request
from harness.engine.lanes import Lane, PromptTokens
from harness.engine.limits import Budget, EmbedRequest, Pricing
from harness.engine.observer import Observer, Outcome
from harness.engine.policy import EnginePolicy
from harness.engine.progress import Counters, Progress
from harness.engine.retries import RetryPolicy
from harness.engine.stopping import (
    CostLimitReached,
    GaveUp,
    ProtocolError,
    ReplayMismatch,
    Stopped,
    TooManyFailures,
    on_interrupt,
)

__all__ = [
    "Budget",
    "CallLog",
    "Caller",
    "CostLimitReached",
    "Counters",
    "EmbedRequest",
    "Engine",
    "EnginePolicy",
    "Environment",
    "GaveUp",
    "Job",
    "Jobs",
    "Lane",
    "Observer",
    "Outcome",
    "Pricing",
    "Progress",
    "PromptTokens",
    "ProtocolError",
    "ReplayMismatch",
    "ReplyCache",
    "RetryPolicy",
    "Stopped",
    "TooManyFailures",
    "VectorCache",
    "default_cache_path",
    "first_request",
    "model_key",
    "on_interrupt",
    "request_key",
    "text_key",
]
