"""Calls through OpenAI's SDK, to the provider itself or to a server that speaks its protocol.

Written against openai 3.52, November 2026.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

import msgspec

from adapters.api import ApiClient, Info, Json
from adapters.endpoints import Endpoint
from adapters.faults import Failure, retry_after

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI


class OpenAIClient(ApiClient[Info]):
    """One model of OpenAI's API; `path` is what it is asked through."""

    path: ClassVar[str]

    def __init__(
        self,
        info: Info,
        endpoint: Endpoint,
        *,
        timeout_s: float,
        options: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        super().__init__(info, endpoint, timeout_s=timeout_s, options=options)
        self._endpoint = endpoint

    @cached_property
    def client(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI

        return AsyncOpenAI(
            api_key=self._endpoint.key or "none",
            base_url=self._endpoint.url,
            max_retries=0,
            http_client=self.http,
        )

    def _send(self, body: Json) -> Awaitable[httpx2.Response]:
        import httpx2

        return self.client.post(
            self.path, content=msgspec.json.encode(body), cast_to=httpx2.Response
        )

    def _failure(self, error: Exception) -> Failure | None:
        from openai import APIConnectionError, APIError, APIStatusError, APITimeoutError

        if isinstance(error, APITimeoutError):
            return Failure("no answer in time", kind="timeout")
        if isinstance(error, APIConnectionError):
            return Failure(f"no connection ({error.__cause__ or error})", kind="connection")
        if isinstance(error, APIStatusError):
            # vLLM puts the status into `code`; its word is in `type`.
            words = [str(word) for word in (error.code, error.type) if word]
            words = [word for word in words if not word.isdigit()]
            return Failure(
                _server_message(error) + self._hint(error.status_code),
                status=error.status_code,
                code=words[0] if words else "",
                param=str(error.param or ""),
                retry_after_s=retry_after(error.response.headers),
            )
        if isinstance(error, APIError):
            return Failure(f"reply cannot be read ({error})", kind="malformed")
        return None

    def failed(self, status: int, body: object) -> Failure:
        """Interpret an HTTP status and body that did not arrive by HTTP."""
        import httpx2
        from openai import APIStatusError

        response = httpx2.Response(status, request=httpx2.Request("POST", self.path))
        error = APIStatusError("", response=response, body=body)
        return self._failure(error) or Failure(str(body), status=status)

    def _hint(self, status: int) -> str:
        path = urlsplit(self._address or "/v1").path
        return " (base URLs end in /v1 as a rule)" if status == 404 and "/v1" not in path else ""


def _server_message(error: Any) -> str:
    """Return the server's message: `message` in OpenAI's body, `detail` in a FastAPI server's."""
    body = error.body
    if not isinstance(body, dict):
        return json.dumps(body) if isinstance(body, list) else str(body or error)
    message = body.get("message") or body.get("detail")
    return message if isinstance(message, str) else json.dumps(body)
