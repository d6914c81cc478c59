"""Failed calls: what they mean for the run, in one vocabulary for all providers.

Sources: the providers' error references and the installed SDKs, November 2026.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from time import time
from urllib.parse import quote

from adapters.contract import Fatal, Fault, FaultKind
from adapters.conversation import Finish

Cleaner = Callable[[str], str]

# 429 for which waiting does not help: no credit left, or the daily quota used up.
FINAL_CODES = {
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "access_terminated",
    "account_deactivated",
    "enforced_spend_limit_reached",
    "contract_spend_limit_reached",
}
# The provider's judgement of this one prompt, not a fault of the run.
FILTER_CODES = {
    "content_filter",
    "content_policy_violation",
    "invalid_prompt",
    "misalignment_policy_violation",
}
TOO_LONG_CODES = {"context_length_exceeded", "exceed_context_size_error"}
_TOO_LONG = re.compile(
    r"prompt is too long|maximum context length|exceed\w*[^.]{0,40}context|"
    r"longer than the (model's context|maximum model length)|input token count[^.]{0,40}exceeds|"
    r"input is too long|exceeds the maximum number of tokens",
    re.IGNORECASE,
)
_REFUSES = re.compile(
    r"unsupported|n[o']t support|not (permitted|allowed|accepted|enabled|available)|unknown|"
    r"unrecognized|unexpected|deprecated|extra|removed|cannot|only works|only the default",
    re.IGNORECASE,
)
# A value out of range is the user's mistake, not a reason to leave the parameter out.
_REFUSAL_CODES = {"unsupported_value", "unsupported_parameter", "unknown_parameter"}
_PASSING = {408: "timeout", 409: "server", 425: "server", 429: "rate_limit", 499: "timeout"}


# A server's text is printed and recorded: it must neither control the terminal nor break a file.
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed call."""

    message: str
    status: int = 0
    """HTTP status, 0 if there was none."""
    kind: FaultKind | None = None
    """What happened if it was not an HTTP error."""
    code: str = ""
    """The provider's error code."""
    param: str = ""
    """The parameter that the provider names."""
    retry_after_s: float | None = None
    """Seconds to wait, as the server asked."""
    final: bool = False
    """Whether waiting does not help."""


def judge(failure: Failure, speaker: str, clean: Cleaner) -> Finish | Fault | Fatal:
    """What a failure means: a finish reason of a reply, a fault that may pass, or a fatal error.

    `speaker` is who failed, the provider's name or an address.
    """
    code, status = failure.code, failure.status
    if failure.kind is not None:
        return Fault(failure.kind, clean(f"{speaker}: {failure.message}"))
    if status == 413 or code in TOO_LONG_CODES:
        return Finish.TOO_LONG
    if status in {400, 422} and _TOO_LONG.search(failure.message):
        return Finish.TOO_LONG
    if status in {400, 403} and code in FILTER_CODES:
        return Finish.CONTENT_FILTER
    named = f" ({code})" if code else ""
    line = clean(f"{speaker} answered {status}{named}: {failure.message}")
    if failure.final or code in FINAL_CODES or status == 501:
        return Fatal(line)
    if status >= 500 or status in _PASSING:
        kind: FaultKind = "server"
        if status in {408, 499, 504}:
            kind = "timeout"
        elif status == 429:
            kind = "rate_limit"
        return Fault(kind, line, failure.retry_after_s, status)
    return Fatal(line)


def refused(failure: Failure, sent: Mapping[str, Sequence[str]]) -> list[str]:
    """Which of the parameters sent the server refuses.

    `sent` gives for each parameter the spellings under which a server may name it.
    """
    if failure.status not in {400, 422}:
        return []
    text = failure.message
    if failure.code not in _REFUSAL_CODES and not _REFUSES.search(text):
        return []
    if failure.param:
        named = {failure.param, failure.param.rpartition(".")[2]}
        return [name for name, words in sent.items() if named & {name, *words}]
    if text.startswith("messages"):
        return []
    return [name for name, words in sent.items() if _names(text, (name, *words))]


def _names(text: str, words: Sequence[str]) -> bool:
    return any(re.search(rf"(?<!\w){re.escape(w)}(?!\w)", text, re.IGNORECASE) for w in words)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that a server asks to wait, from its headers (a number or a date)."""
    milliseconds = headers.get("retry-after-ms")
    value = headers.get("retry-after")
    try:
        if milliseconds is not None:
            return max(0.0, float(milliseconds) / 1000)
        return None if value is None else max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value or "").timestamp() - time())
    except (ValueError, TypeError, OverflowError):
        return None


def cleaner(*keys: str) -> Cleaner:
    """A function that turns a message into one short line without control characters and keys.

    The first half of a key is removed as well, because servers echo truncated keys. Text too short
    for a key ("x", "EMPTY") is a placeholder for local servers and left alone.
    """
    spelled = {word for key in keys if len(key) >= 8 for word in (key, quote(key, safe=""))}
    secrets = [
        re.compile(re.escape(word[: max(12, len(word) // 2)]) + r"[^\s\"'<>,;)]*")
        for word in sorted(spelled, key=len, reverse=True)
    ]

    def clean(text: str) -> str:
        for secret in secrets:
            text = secret.sub("[key]", text)
        text = CONTROL.sub("\N{REPLACEMENT CHARACTER}", " ".join(text.split()))
        return text if len(text) <= 400 else text[:397] + "..."

    return clean
