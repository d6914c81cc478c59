"""What a server may answer, the same for the three wire formats."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Provider = Literal["openai", "anthropic", "google", "responses"]
"""Whose wire format; `responses` is OpenAI's other one."""
OneFinish = Literal["stop", "length", "refusal", "content_filter", "too_long"]


@dataclass(frozen=True)
class Ask:
    """One request as it came in. `rounds` counts the model's turns in it, 0 for a first round."""

    number: int
    provider: Provider
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def messages(self) -> list[Mapping[str, Any]]:
        name = {"google": "contents", "responses": "input"}.get(self.provider, "messages")
        return list(self.body.get(name, []))

    @property
    def rounds(self) -> int:
        return sum(m.get("role") in {"assistant", "model"} for m in self.messages)

    @property
    def model(self) -> str:
        if self.provider == "google":
            return self.path.rpartition("/")[2].partition(":")[0]
        return str(self.body.get("model", ""))

    @property
    def tier(self) -> str:
        """The tier that it asks for, in the provider's word; "" if it names none."""
        return str(
            self.body.get("serviceTier" if self.provider == "google" else "service_tier", "")
        )

    @property
    def text(self) -> str:
        """The text of the last message."""
        content = self.messages[-1].get("parts", self.messages[-1].get("content", ""))
        if isinstance(content, str):
            return content
        return "".join(str(part.get("text", "")) for part in content)

    @property
    def pictures(self) -> int:
        """How many pictures the request carries."""
        dump = json.dumps(self.messages)
        marks = ('"image_url": {', '"input_image"', '"base64"', '"inlineData"')
        return sum(dump.count(mark) for mark in marks)


@dataclass(frozen=True)
class Answer:
    """What goes back: a reply, an HTTP error, bytes as they are, or nothing (`drop`).

    `usage` has the names input, cached, cache_write, output, reasoning, pictures, as totals; each
    wire format puts them its own way. `thinking_as` is the field of a served model's thoughts.
    `param` and `code` are the server's words about an error. `drip_s` is the time between two bytes
    of the body, of which only half comes if it is torn (`tear`). `tier` is the provider's word for
    the tier that served.
    """

    text: str = "fine"
    finish: OneFinish = "stop"
    usage: Mapping[str, int] | None = field(
        default_factory=lambda: {"input": 100, "cached": 0, "output": 10}
    )
    details: bool = True
    thinking: str = ""
    thinking_as: str = "reasoning_content"
    tier: Any = ""
    model: str = ""
    status: int = 200
    message: str = ""
    code: str = ""
    param: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    error_details: tuple[Mapping[str, Any], ...] = ()
    raw: bytes | None = None
    content_type: str = "application/json"
    delay_s: float = 0.0
    drip_s: float = 0.0
    drop: bool = False
    tear: bool = False
    blocked: bool = False


Reaction = Callable[[Ask], Answer]


def error(
    status: int, message: str = "no", code: str = "", param: str = "", **headers: str
) -> Answer:
    """An HTTP error; `headers` are written with underscores (`retry_after="3"`)."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status=status, message=message, code=code, param=param, headers=named)


def no_capacity() -> Answer:
    """OpenAI's answer on flex where there is no room at the moment."""
    return error(429, "Resource Unavailable", "resource_unavailable")


def html() -> Answer:
    """A page with status 200, as a proxy's login page."""
    return Answer(raw=b"<html><body>Please sign in</body></html>", content_type="text/html")


def truncated() -> Answer:
    """JSON that ends too early."""
    return Answer(raw=b'{"id": "x", "choices": [{"ind')


def drop() -> Answer:
    """The connection closes without an answer."""
    return Answer(drop=True)


def stall(seconds: float) -> Answer:
    """An answer that takes its time."""
    return Answer(delay_s=seconds)


def drip(seconds: float) -> Answer:
    """An answer that comes byte by byte."""
    return Answer(drip_s=seconds)


def redirect(location: str, status: int = 307) -> Answer:
    """A redirect to another place."""
    return Answer(raw=b"", status=status, headers={"location": location})


def google_quota(quota: str, retry: str | None = None) -> Answer:
    """Google's 429: which quota, and after how long to come back ("31s")."""
    google = "type.googleapis.com/google.rpc."
    details: list[Mapping[str, Any]] = [
        {"@type": google + "QuotaFailure", "violations": [{"quotaId": quota}]}
    ]
    if retry is not None:
        details.append({"@type": google + "RetryInfo", "retryDelay": retry})
    return Answer(
        status=429,
        message="You exceeded your current quota",
        code="RESOURCE_EXHAUSTED",
        error_details=tuple(details),
    )


def refusing(*names: str, status: int = 400, then: Reaction | None = None) -> Reaction:
    """A server that takes every parameter but these, and says so as its kind does."""

    def react(ask: Ask) -> Answer:
        body = dict(ask.body) | dict(ask.body.get("generationConfig", {}))
        body |= dict(body.get("thinkingConfig", {}))
        for name in names:
            if name not in body:
                continue
            if status == 422:  # as FastAPI servers that forbid unknown fields
                detail = [{"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs"}]
                return Answer(status=422, raw=json.dumps({"detail": detail}).encode())
            return Answer(
                status=status,
                message=f"Unsupported parameter: '{name}' is not supported with this model.",
                code="unsupported_parameter" if ask.provider in {"openai", "responses"} else "",
                param=name,
            )
        return then(ask) if then else Answer()

    return react
