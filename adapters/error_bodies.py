"""The words of a server about a failure: its message, code, parameter and wait, in whatever form.

Gateways mix the forms of all providers and put them into each other, so one reader serves all. What
a failure means is judged elsewhere (`adapters.faults`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from time import time
from types import MappingProxyType
from typing import Any

from adapters.faults import KNOWN_CODES, Failure

STATUSES = {
    "invalid_request_error": 400,
    "invalid_argument": 400,
    "failed_precondition": 400,
    "authentication_error": 401,
    "unauthenticated": 401,
    "billing_error": 402,
    "insufficient_quota": 402,
    "permission_error": 403,
    "permission_denied": 403,
    "not_found_error": 404,
    "not_found": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "resource_exhausted": 429,
    "timeout_error": 504,
    "deadline_exceeded": 504,
    "overloaded_error": 529,
    "unavailable": 503,
}
"""HTTP statuses of the providers' words for errors."""
LONGEST_WAIT_S = 7 * 86_400.0
"""No server is waited for longer than this, whatever it asks for."""
_ANSWERS = ("choices", "content", "candidates", "promptFeedback", "data")
"""Fields of answers; next to one of them, an error is the answer's own."""
_MOST = 20_000
"""Characters of an error that are read."""
_DEPTH = 4
_EPOCH_S, _EPOCH_MS = 1e9, 1e11
"""Larger numbers are moments in time, in seconds and in milliseconds since 1970."""
_UNITS = {"ms": 0.001, "mi": 60.0, "m": 60.0, "h": 3600.0, "s": 1.0, "": 1.0}
_NUMBER = r"\d{1,15}(?:\.\d{1,9})?"
_UNIT = r"(?:milliseconds?|ms|minutes?|mins?|m|hours?|h|seconds?|secs?|s)"
_WAIT = re.compile(
    r"(?:retry[-_ ]?(?:after|delay|in)|try again (?:in|after))"
    r"(?P<ms>[-_ ]?(?:ms|milliseconds))?[\"']?\s{0,3}(?:[:=]|about)?\s{0,3}[\"']?"
    rf"(?P<wait>{_NUMBER}(?: ?{_UNIT})?(?: ?{_NUMBER} ?{_UNIT}){{0,2}})(?!\.?\w)",
    re.IGNORECASE,
)
_PART = re.compile(rf"({_NUMBER}) ?({_UNIT})?", re.IGNORECASE)
# A day's quota, or none at all, comes back with no waiting of a reasonable length (Google).
_FINAL = re.compile(r'"quotaId": "\w*PerDay|"quotaValue": "0"')
_REASON = re.compile(r'"reason": "(\w{1,100})"')


def failure_of(
    status: int, body: object, headers: Mapping[str, str] = MappingProxyType({})
) -> Failure:
    """Return the failure of an error status and its body.

    body: JSON values, or the bytes or text that came.
    """
    plain = _plain(body)
    text = _text(plain)
    message, codes, param = _said(plain, _DEPTH)
    wait = retry_after(headers)
    return Failure(
        (message or text)[:_MOST],
        status=status,
        code=next((code for code in codes if code in KNOWN_CODES), next(iter(codes), "")),
        param=param,
        retry_after_s=_wait_in(text) if wait is None else wait,
        final=bool(_FINAL.search(text)),
    )


def failure_inside(plain: object) -> object:
    """Return the error that came in place of an answer, None for an answer."""
    if isinstance(plain, list) and plain:
        plain = plain[0]
    if not isinstance(plain, dict) or any(plain.get(name) for name in _ANSWERS):
        return None
    is_named = plain.get("error") or "error" in (plain.get("object"), plain.get("type"))
    if isinstance(plain.get("output"), list):  # Of a response that failed.
        return None
    # Gateways also write the error's own fields.
    return plain if is_named or (plain.get("code") and _message(plain)) else None


def status_of(error: object) -> int:
    """Return the HTTP status that an error names, by number or by word; 502 without one."""
    error = _inner(error)
    if isinstance(error, dict):
        told = [error.get(name) for name in ("code", "status", "status_code", "type")]
        for value in told:
            if (number := _status(value)) is not None:
                return number
        for value in told:
            if isinstance(value, str) and value.lower() in STATUSES:
                return STATUSES[value.lower()]
    return 502


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait, from its headers (a number or a date)."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            wait = _bounded(float(value) * unit)
        except ValueError:
            wait = _until(value)
        if wait is not None:
            return wait
    return None


def _bounded(seconds: float) -> float | None:
    """Return a wait in seconds; None for what is not one. Moments in time become waits."""
    if not math.isfinite(seconds) or seconds < 0:
        return None
    if seconds >= _EPOCH_S:
        seconds = (seconds / 1000 if seconds >= _EPOCH_MS else seconds) - time()
    return min(max(0.0, seconds), LONGEST_WAIT_S)


def _until(moment: str) -> float | None:
    try:
        return _bounded(max(0.0, parsedate_to_datetime(moment).timestamp() - time()))
    except (ValueError, TypeError, OverflowError):
        return None


def _wait_in(text: str) -> float | None:
    """Return the seconds that the text of an error asks to wait."""
    found = _WAIT.search(text)
    if found is None:
        return None
    total = 0.0
    for number, unit in _PART.findall(found["wait"]):
        word = unit.lower()
        scale = next(size for begin, size in _UNITS.items() if word.startswith(begin))
        total += float(number) * (0.001 if found["ms"] and not word else scale)
    return _bounded(total)


def _status(value: object) -> int | None:
    if isinstance(value, str) and re.fullmatch(r"\d{3}", value, re.ASCII):
        value = int(value)
    is_status = isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599
    return value if is_status else None  # type: ignore[return-value]


def _plain(body: object) -> object:
    """Return a body as JSON values, or as text if it is something else."""
    if isinstance(body, bytes):
        body = body.decode("utf-8", "replace")
    if not isinstance(body, str):
        return body
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body[:_MOST]


def _text(plain: object) -> str:
    try:
        return (plain if isinstance(plain, str) else json.dumps(plain))[:_MOST]
    except (TypeError, ValueError, RecursionError):
        return ""


def _inner(plain: object) -> object:
    """Return an error's own object, without those around it."""
    if isinstance(plain, list) and plain and isinstance(plain[0], dict) and "error" in plain[0]:
        plain = plain[0]
    return plain.get("error") or plain if isinstance(plain, dict) else plain


def _said(plain: object, depth: int) -> tuple[str, list[str], str]:
    """Return an error's message, its codes from the outermost in, and the parameter."""
    error = _inner(plain)
    if not isinstance(error, dict):
        return (_text(error) if error is not None else ""), [], ""
    message = _message(error)
    codes = _codes(error)
    param = error.get("param")
    within = [error[name].get("raw") for name in ("metadata",) if isinstance(error.get(name), dict)]
    for inner in (*within, error.get("innererror")):
        if not inner or not depth:
            continue
        more, further, named = _said(_plain(inner), depth - 1)
        # The provider's own words, which the gateway's hide.
        message = f"{message}: {more}" if message and more else message or more
        codes = [*codes, *further]
        param = param or named
    return message or _text(error), codes, param if isinstance(param, str) else ""


def _message(error: Mapping[str, Any]) -> str:
    told = (error.get(name) for name in ("message", "detail", "msg", "error_msg"))
    return next((text for text in told if text and isinstance(text, str)), "")


def _codes(error: Mapping[str, Any]) -> list[str]:
    """Return the words for an error, without those that only repeat its status."""
    details = error.get("details")
    named = details.get("error_code") if isinstance(details, dict) else None
    reason = _REASON.search(_text(details)) if isinstance(details, list) else None
    words = [named, reason and reason[1], *(error.get(name) for name in ("code", "type", "status"))]
    texts = [word for word in words if isinstance(word, str) and word]
    return [word for word in texts if not word.isdigit() and word != "error"]
