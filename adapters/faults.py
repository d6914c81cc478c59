"""Failed calls: what they mean for the run, in one vocabulary for all providers.

Sources: the providers' error references and the installed SDKs, November 2026.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
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
    r"not enabled (for|on) (the |this )?models?\b|"
    # Tools and their calls are the same for all units, or ours to send back whole.
    r"\b(tool|function)[_ -](choice|use|result|calls?|response)\b|"
    r"\btools[\[.]\d|thought.?signature|"
    r"\bmodels?[\s/:`'\"]+(\S+ )?((is|was) )?"
    r"(not (found|available|supported|valid|enabled)|does not exist|unavailable|no longer)",
    re.IGNORECASE,
)
# Words about the input together with a limit (docs/servers.md lists both).
_INPUT = re.compile(
    r"\b(prompts?|inputs?|context|sequence|messages?|request|conversation)\b"
    r"[^.;]{0,80}\b(tokens?|length|long|window|context size)\b|"
    r"\b(tokens?|length|window|context size)\b"
    r"[^.;]{0,80}\b(prompts?|inputs?|context|sequence|messages?|request|conversation)\b|"
    r"\b(prompts?|inputs?|context)\b[^.;]{0,40}\bexceed|"
    r"\bexceed\w*[^.;]{0,40}\b(prompt|input|context)\b|"
    r"\btokens\b|\btoken (count|limit|length|number)\b",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    r"\b(max(imum)?|limit(ed|s)?|exceed\w*|over|longer|larger|greater|"
    r"(more|less|fewer) than|at most|too \w+|range|(window|length|size) (is|of) \d+|"
    r"reduce|shorten|truncate|fits?|capacity|allowed|supports?( only)? up to)\b|<=?|>=?|≤|≥",
    re.IGNORECASE,
)
# Tokens of something else: of the reply, of a rate or a key; and the length of a side.
_OTHER_TOKENS = re.compile(
    r"\b(completion|output|generated|new|thinking|reasoning|budget|max(imum)?|access|auth\w*|bearer|"
    r"refresh|id|api|csrf|stop|special|invalid) tokens?\b|"
    r"\btokens?( \w+){0,2} per (second|minute|hour|day)\b|"
    r"\b(images?|pictures?|pixels?|dimensions?)\b[^.;]{0,40}\b(length|long|larger)\b",
    re.IGNORECASE,
)
_FILTERED = re.compile(
    r"content (management )?(policy|policies|guidelines?)|content.?filter|content moderation|"
    r"moderation|inappropriate|data.?inspection|sensitive (content|information|words?)|"
    r"responsible.?ai|flagged|safety (system|filters?|policy|policies|guidelines?|settings?|check)|"
    r"usage (policy|policies|guidelines)|prohibited (content|use)|violat\w+ [^.]{0,60}polic|"
    r"blocked (by|due to|because of|for) [^.]{0,40}(safety|policy|policies|filter)|risk control|"
    r"(harmful|unsafe|offensive|illegal) content|high.?risk content",
    re.IGNORECASE,
)
# What a server says about a prompt and a limit of the reply that do not fit together.
_OTHER_UNITS = (
    r"images?|pictures?|photos?|videos?|audios?|files?|pixels?|px|bytes|[kmg]i?b|seconds?|requests"
)
_NUMBER = rf"(\d{{1,3}}(?:,\d{{3}})+|\d{{1,9}})(?!\d|\.\d|[ -]*(?:{_OTHER_UNITS})\b)"
_LIMITS = tuple(
    re.compile(pattern.replace("N", _NUMBER), re.IGNORECASE)
    for pattern in (
        r"max(?:imum)? (?:\w+ ){0,4}(?:length|size|window|number)[^\d.]{0,30}N",
        r"(?:<=?|>=?|\bat most|\bup to|\bless than|\bexceeds?(?: the)?(?: \w+){0,4} limit of"
        r"|\bcannot exceed) *N",
        r"N (?:tokens )?max(?:imum)?\b|\[\d+, *N\]",
        r"(?:context|limit|window)\b[^\d.]{0,30}N",
    )
)
_PROMPTS = re.compile(
    rf"{_NUMBER} `?(?:inputs?|prompt)`? tokens"
    rf"|{_NUMBER} (?:tokens )?(?:in|from) the (?:messages|input|prompt)"
    rf"|(?<!max )(?<!maximum )\b(?:inputs?|prompts?|messages|request)\b[ (]*"
    rf"(?:(?:has|have|is|contains?|length|tokens|of|resulted in)[ (]+){{0,2}}{_NUMBER}"
    rf"|too long: {_NUMBER}|token count \({_NUMBER}|limit: {_NUMBER} \+"
    rf"|\b(?:given:?|received) {_NUMBER}(?! `?(?:max|inputs))",
    re.IGNORECASE,
)
_OF_REPLY = re.compile(
    r"max_?(?:new_|completion_|output_)?tokens|(?:output|completion|new|generated) tokens"
    r"|(?:in|for) the (?:completion|output|reply)",
    re.IGNORECASE,
)
_REFUSES = re.compile(
    r"unsupported|n[o']t support|not (permitted|allowed|accepted|enabled|available)|unknown|"
    r"unrecognized|unexpected|deprecated|extra|removed|cannot|only works|only the default",
    re.IGNORECASE,
)
_REFUSAL_CODES = {"unsupported_value", "unsupported_parameter", "unknown_parameter"}
_STREAM = re.compile(r"\bstream(s|ed|ing|GenerateContent)?\b", re.IGNORECASE)
KNOWN_CODES = FINAL_CODES | FILTER_CODES | TOO_LONG_CODES | _REFUSAL_CODES
"""Codes that decide what a failure means."""
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
        line = clean(f"{speaker}: {failure.message}")
        return Fatal(line) if failure.final else Fault(failure.kind, line)
    if status == 413 or code in TOO_LONG_CODES:
        return Finish.TOO_LONG
    of_the_run = _is_of_the_run(failure)
    if status in {400, 422} and not of_the_run and _says_too_long(failure.message):
        return Finish.TOO_LONG
    if status in {400, 403} and code in FILTER_CODES:
        return Finish.CONTENT_FILTER
    if status in {400, 403, 422} and not of_the_run and _says_filtered(failure):
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
    if status in {400, 422} and not of_the_run and not _names_a(failure, parameters):
        return Finish.PROVIDER_REFUSED
    return Fatal(line)


def _says_too_long(message: str) -> bool:
    """Return whether an error says that the prompt has too many tokens.

    >>> _says_too_long("inputs tokens + max_new_tokens must be <= 4096")
    True
    >>> _says_too_long("max_tokens is too large: this model has at most 4096 completion tokens")
    False
    """
    rest = _OTHER_TOKENS.sub(" ", message)
    return bool(_INPUT.search(rest) and _LIMIT.search(rest))


def _says_filtered(failure: Failure) -> bool:
    return bool(_FILTERED.search(f"{failure.code.replace('_', ' ')}: {failure.message}"))


def error_line(failure: Failure, speaker: str, clean: Cleaner) -> str:
    """Return an HTTP error as one line: who answered, status, code and message."""
    named = f" ({failure.code})" if failure.code else ""
    return clean(f"{speaker} answered {failure.status}{named}: {failure.message}")


@dataclass(frozen=True, slots=True)
class Sizes:
    """The numbers in a server's complaint about a prompt, in tokens.

    limit: of the server, None if not named.
    prompt: of this prompt, None if not named.
    of_reply: whether the limit of the reply is what does not fit; the prompt alone would.
    """

    limit: int | None
    prompt: int | None
    of_reply: bool


def sizes_named(words: str) -> Sizes:
    """Return the numbers that a server names where a prompt does not fit.

    >>> sizes_named("maximum context length is 4096 tokens, you sent 3500 input tokens, "
    ...             "max_tokens is 1024")
    Sizes(limit=4096, prompt=3500, of_reply=True)
    """
    found = next((match for one in _LIMITS if (match := one.search(words))), None)
    limit = _number(found) if found else None
    prompts = _PROMPTS.search(words)
    prompt = _number(prompts) if prompts else None
    alone = limit is not None and prompt is not None and prompt >= limit
    return Sizes(limit, prompt, of_reply=bool(_OF_REPLY.search(words)) and not alone)


def _number(match: re.Match[str]) -> int:
    return int(next(group for group in match.groups() if group).replace(",", ""))


def _is_of_the_run(failure: Failure) -> bool:
    """Return whether an error is about key, account, money or model, so not about this prompt."""
    return bool(_OF_THE_RUN.search(f"{failure.code.replace('_', ' ')}: {failure.message}"))


def _names_a(failure: Failure, parameters: Collection[str]) -> bool:
    """Return whether an error is about a parameter or the tools, which every call has."""
    of_all = {"model", "tools", "tool_choice", *parameters}
    if failure.param:
        return re.split(r"[.\[]", failure.param)[0] in of_all
    if failure.message.startswith(("tools.", "tools[", "tool_choice")):
        return True
    return _names(failure.message, parameters)


def refused(
    failure: Failure, sent: Mapping[str, Sequence[str]], defaults: Collection[str] = ()
) -> list[str]:
    """Return the parameters that the server refuses.

    `sent` gives for each parameter the spellings under which a server may name it. Any complaint
    about one of the `defaults` refuses it, and only words for that another one: its value may be
    out of range.
    """
    if failure.status not in {400, 422}:
        return []
    text = failure.message
    if failure.code not in _REFUSAL_CODES and not _REFUSES.search(text):
        sent = {name: words for name, words in sent.items() if name in defaults}
    named = {failure.param, failure.param.rpartition(".")[2]}
    if not failure.param and text.startswith("messages"):
        # A field of the content by its path: `messages.0.content.1.image.transformations: ...`.
        named = {text.partition(":")[0].rpartition(".")[2]}
    elif not failure.param:
        return [name for name, words in sent.items() if _names(text, (name, *words))]
    return [name for name, words in sent.items() if named & {name, *words}]


def demands_stream(failure: Failure) -> bool:
    """Return whether a server that was not asked for a stream of events asks for that."""
    words = failure.param, failure.message
    statuses = {400, 404, 405, 422, 501}
    return failure.status in statuses and any(map(_STREAM.search, words))


def _names(text: str, words: Iterable[str]) -> bool:
    return any(re.search(rf"(?<!\w){re.escape(w)}(?!\w)", text, re.IGNORECASE) for w in words)


def first_line(error: BaseException) -> str:
    """Return the first line of what a library says of a failure, or the kind of its error."""
    return (str(error).splitlines() or [""])[0] or type(error).__name__


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
