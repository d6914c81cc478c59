"""Check whether the token limit of replies is enough.

A model that thinks spends the same limit on its thoughts. If they use it up, the answer is missing,
and every such step scores 0 as if the model had been wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from adapters import AdapterInfo, Reply
from adapters.conversation import Finish
from harness.planning.model import THINKING, Limits, default_limit
from harness.printing import one_line
from harness.runs import Unit, open_run
from harness.settings import Settings
from parsers import PARSE_FAILURES
from parsers.records import Status
from parsers.thinking import ends_in_thought, without_thinking

FIRST_STEPS = 20
"""Steps before anything is said about their share."""
SHARE = 0.1
"""Share of steps without a usable reply above which the user is informed about the limit."""
_QUOTED = 200


def heading(settings: Settings, info: AdapterInfo) -> str | None:
    """Describe the limit of a model that thinks, if it was not given."""
    if "max_tokens" in settings.given or default_limit(settings, info) != (THINKING,):
        return None
    return f"{THINKING} tokens a reply, thoughts included (--max-tokens)"


def preflight_warning(reply: Reply, limits: Limits) -> str | None:
    """A line if the model had no room left for the one word that the preflight call asks for."""
    if reply.finish is Finish.LENGTH or ends_in_thought(reply.text):
        found = f"was cut off at {limits[0]} tokens"
    elif reply.finish is Finish.STOP and not without_thinking(reply.text).strip():
        found = f"has no text (the limit is {limits[0]} tokens)"
    else:
        return None
    return (
        f"warning: the preflight call asks for one word, and its reply {found}; a model that "
        "thinks spends the limit on its thoughts, and steps without an answer score 0. Give a "
        f"higher one: --max-tokens {higher(limits)}"
    )


def unusable_replies(
    records: Sequence[Unit[Any]],
    limits: Limits,
    units: str = "steps",
    directory: Path | None = None,
) -> str | None:
    """A line if more than `SHARE` of the steps have a reply that is cut off, empty or unreadable.

    It counts steps, or what `units` names, each once, and is None for fewer than `FIRST_STEPS`. Its
    advice is about the kind that is most frequent; a form that is not read is shown by a reply of
    the run at `directory`.
    """
    kinds = reply_kinds(records)
    steps = kinds.total()
    bad = steps - kinds[""]
    if steps < FIRST_STEPS or bad <= SHARE * steps:
        return None
    listed = ", ".join(f"{kinds[kind]} {kind}" for kind in UNUSABLE if kinds[kind])
    raised = f"raise the limit of {written(limits)} tokens, --max-tokens {higher(limits)}"
    match max(UNUSABLE, key=lambda kind: kinds[kind]):
        case "cut off":
            advice = raised
        case "empty":
            advice = f"look at the server's chat template and reasoning parser, or {raised}"
        case _:
            last = next(record for record in reversed(records) if _kind(record) == "unreadable")
            shown = f", such as {quoted(_reply_to(last, directory))}" if directory else ""
            advice = f"they do not have the form that was asked for{shown}"
    return (
        f"{bad} of {steps} {units} ({100 * bad / steps:.0f} %) without a usable reply ({listed}): "
        f"{advice}"
    )


def _reply_to(record: Unit[Any], directory: Path) -> str:
    """Return the last reply of the model under test to a unit. Raises `RunError`."""
    calls = open_run(directory).calls_of(record.unit_id, record.repeat)
    return next((call.reply.text for call in reversed(calls) if call.is_ask and not call.role), "")


def quoted(text: str) -> str:
    """Return the beginning of a model's or server's text in one line, safe for a terminal."""
    line = one_line(text, _QUOTED)
    return f"'{line}'" if line else "(no text)"


UNUSABLE = ("cut off", "empty", "unreadable")
"""Kinds of replies that cannot be used."""


def reply_kinds(records: Iterable[Unit[Any]]) -> Counter[str]:
    """Count the settled steps that were asked by the kind of their reply; "" is usable."""
    return Counter(_kind(record) for record in records if record.asked and record.settled)


def _kind(record: Unit[Any]) -> str:
    prediction = record.prediction
    if prediction is None:
        return ""
    if prediction.status is Status.TRUNCATED:
        return "cut off"
    if prediction.status is Status.EMPTY:
        return "empty"
    return "unreadable" if prediction.status in PARSE_FAILURES else ""


def higher(limits: Limits) -> int:
    """A limit worth trying next."""
    return max(THINKING, 4 * max(limits))


def written(limits: Limits) -> str:
    """Write limits as on a command line."""
    return ",".join(map(str, limits))
