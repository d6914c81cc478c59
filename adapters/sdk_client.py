"""Calls through the SDKs of OpenAI and Anthropic, which one generator writes.

Written against openai 3.52 and anthropic 2.11, November 2026.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urljoin, urlsplit

import msgspec

from adapters.api_client import ApiClient, Info, Json
from adapters.checks import plain_json
from adapters.faults import Failure
from adapters.listing import LIMIT_S, said_of

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI


class SdkClient(ApiClient[Info]):
    """One model that is asked through an SDK.

    sdk: the SDK's module.
    path: the path of calls.
    models_path: the path of the list of models.
    """

    sdk: ClassVar[str]
    path: ClassVar[str]
    models_path: ClassVar[str]

    @property
    @abstractmethod
    def client(self) -> Any:
        """The SDK's client."""

    def _send(self, body: Json) -> Awaitable[httpx2.Response]:
        import httpx2

        made: Awaitable[httpx2.Response] = self.client.post(
            self.path, content=msgspec.json.encode(body), cast_to=httpx2.Response
        )
        return made

    async def listed(self) -> dict[str, str]:
        """Return what the server's list of models says of this one; {} if it says nothing."""
        import httpx2

        call = self.client.get(self.models_path, cast_to=httpx2.Response)
        answer = await self.attempt(call, min(self._timeout_s, LIMIT_S))
        if isinstance(answer, Failure):
            return {}
        return said_of(self._info.model, answer.content, answer.headers)

    async def told(self, path: str, limit_s: float) -> Any:
        """Return the JSON that the server gives at a path of its host; None if it gives none.

        limit_s: seconds for the whole call.
        """
        import httpx2

        call = self.client.get(urljoin(self._endpoint.url, path), cast_to=httpx2.Response)
        answer = await self.attempt(call, limit_s)
        try:
            return None if isinstance(answer, Failure) else plain_json(answer.content)
        except ValueError:
            return None

    def _failure(self, error: Exception) -> Failure | None:
        sdk = import_module(self.sdk)
        if isinstance(error, sdk.APITimeoutError):
            return Failure("no answer in time", kind="timeout")
        if isinstance(error, sdk.APIConnectionError):
            return Failure(f"no connection ({error.__cause__ or error})", kind="connection")
        if isinstance(error, sdk.APIStatusError):
            response = error.response
            return self.failed(error.status_code, response.content, response.headers)
        if isinstance(error, sdk.APIError):
            return Failure(f"reply cannot be read ({error})", kind="malformed")
        return None


class OpenAIClient(SdkClient[Info]):
    """One model of OpenAI's API, or of a server that speaks its protocol."""

    sdk = "openai"
    models_path = "/models"

    @cached_property
    def client(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI

        return AsyncOpenAI(
            api_key=self._endpoint.key or "none",
            base_url=self._endpoint.url,
            max_retries=0,
            http_client=self.http,
        )

    def failed(
        self, status: int, body: object, headers: Mapping[str, str] = MappingProxyType({})
    ) -> Failure:
        failure = super().failed(status, body, headers)
        path = urlsplit(self._endpoint.address or "/v1").path
        if status == 404 and "/v1" not in path:
            return replace(failure, message=f"{failure.message} (base URLs end in /v1 as a rule)")
        return failure
