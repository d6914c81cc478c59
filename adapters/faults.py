"""Failed calls: what they mean for the run, in one vocabulary for all providers.

Sources: the providers' error references and the installed SDKs, November 2026.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from time import time
from urllib.parse import quote

from adapters.contract import Fatal, Fault, FaultKind
from adapters.conversation import Finish

Cleaner = Callable[[str], str]
LONGEST = 4_000
"""Most characters of a server's words that are looked at; some answer with megabytes."""

# 429 that waiting does not cure: no credit left, or the daily quota used up.
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
# 400 that every other call would get as well: about key, account, money or model.
_OF_THE_RUN = re.compile(
    r"api.?key|authenticat|authori[sz]|credential|permission|access token|failed.precondition|"
    r"billing|credit|quota|balance|payment|spend(ing)? limit|your (account|organi[sz]ation)|"
    r"(unknown|invalid|unsupported|no such|not a valid) model\b|server is pinned to|"
    r"\bmodels?[\s/:`'\"]+(\S+ )?((is|was) )?"
    r"(not (found|available|supported|valid|enabled)|does not exist|unavailable|no longer)",
    re.IGNORECASE,
)
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
# Servers may echo a token that an SDK fetched, too.
_BEARER = re.compile(r"(?<=\bbearer )[\w.~+/-]{12,}=*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed call."""

    message: str
    status: int = 0
    """HTTP status, 0 if there was none."""
    kind: FaultKind | None = None
    """Kind of failure if it was not an HTTP error."""
    code: str = ""
    """The provider's error code."""
    param: str = ""
    """The parameter that the provider names."""
    retry_after_s: float | None = None
    """Seconds to wait, as the server asked."""
    final: bool = False
    """True if waiting does not help."""

    def __post_init__(self) -> None:
        for name in ("message", "code", "param"):
            object.__setattr__(self, name, getattr(self, name)[:LONGEST])


def judge(
    failure: Failure, speaker: str, clean: Cleaner, parameters: Collection[str] = ()
) -> Finish | Fault | Fatal:
    """Return what a failure means: the finish reason of a reply, a fault that may pass, or a fatal
    error.

    speaker: who failed, the provider's name or an address.
    parameters: names of the parameters that calls of the run have.
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
    line = error_line(failure, speaker, clean)
    if failure.final or code in FINAL_CODES or status == 501:
        return Fatal(line)
    if status >= 500 or status in _PASSING:
        kind: FaultKind = "server"
        if status in {408, 499, 504}:
            kind = "timeout"
        elif status == 429:
            kind = "rate_limit"
        return Fault(kind, line, failure.retry_after_s, status)
    if status in {400, 422} and not _is_of_the_run(failure, parameters):
        return Finish.PROVIDER_REFUSED
    return Fatal(line)


def error_line(failure: Failure, speaker: str, clean: Cleaner) -> str:
    """Return an HTTP error as one line: who answered, status, code and message."""
    named = f" ({failure.code})" if failure.code else ""
    return clean(f"{speaker} answered {failure.status}{named}: {failure.message}")


def _is_of_the_run(failure: Failure, parameters: Collection[str]) -> bool:
    """Return whether every prompt would get this error, not only this one."""
    if _OF_THE_RUN.search(f"{failure.code.replace('_', ' ')}: {failure.message}"):
        return True
    if failure.param:
        return failure.param.split(".")[0] in {"model", *parameters}
    return _names(failure.message, parameters)


def refused(failure: Failure, sent: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the parameters that the server refuses.

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


def _names(text: str, words: Iterable[str]) -> bool:
    return any(re.search(rf"(?<!\w){re.escape(w)}(?!\w)", text, re.IGNORECASE) for w in words)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait, from its headers (a number or a date)."""
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
    """Return a function that turns a message into one short line without control characters and
    keys.

    The first half of a key is removed as well, because servers echo truncated keys. Text too short
    for a key ("x", "EMPTY") is a placeholder for local servers and left alone.
    """
    spelled = {word for key in keys if len(key) >= 8 for word in (key, quote(key, safe=""))}
    secrets = [
        re.compile(re.escape(word[: max(12, len(word) // 2)]) + r"[^\s\"'<>,;)]*")
        for word in sorted(spelled, key=len, reverse=True)
    ]

    def clean(text: str) -> str:
        text = text[:LONGEST]
        for secret in (*secrets, _BEARER):
            text = secret.sub("[key]", text)
        text = CONTROL.sub("\N{REPLACEMENT CHARACTER}", " ".join(text.split()))
        return text if len(text) <= 400 else text[:397] + "..."

    return clean
