"""Drive dialogues: many at a time, each call made once, everything on record.

    engine = Engine(Lane(adapter), pictures, run_directory)
    await engine.run(jobs, settle)

The engine owns the order and number of calls, retries, time limits, the reply cache and the cost
limit. It does not know which steps there are, nor what an answer is worth.
"""

from harness.engine.dialogues import (
    CallLog,
    Environment,
    Job,
    Jobs,
    Observer,
    Outcome,
    says_nothing,
)
from harness.engine.engine import Engine
from harness.engine.lanes import (
    Answered,
    AskLane,
    Lane,
    PromptTokens,
    first_request,
    model_key,
    request_key,
)
from harness.engine.limits import Budget, EnginePolicy, Pricing, RetryPolicy
from harness.engine.stopping import (
    CostLimitReached,
    GaveUp,
    NoAnswers,
    ProtocolError,
    ReplayMismatch,
    Stopped,
    TooManyFailures,
    interrupt,
    on_interrupt,
)

__all__ = [
    "Answered",
    "AskLane",
    "Budget",
    "CallLog",
    "CostLimitReached",
    "Engine",
    "EnginePolicy",
    "Environment",
    "GaveUp",
    "Job",
    "Jobs",
    "Lane",
    "NoAnswers",
    "Observer",
    "Outcome",
    "Pricing",
    "PromptTokens",
    "ProtocolError",
    "ReplayMismatch",
    "RetryPolicy",
    "Stopped",
    "TooManyFailures",
    "first_request",
    "interrupt",
    "model_key",
    "on_interrupt",
    "request_key",
    "says_nothing",
]
