"""The HTTP client of hosted models.

A reply has a size limit that holds while it is read, however it is compressed, and a request with
its key and its pages never goes to another address than the one that the user chose.
"""

from __future__ import annotations

from typing import Any

import httpx2

from adapters.endpoints import public
from adapters.faults import Failure

MAX_REPLY_BYTES = 16 * 1024 * 1024
_DECODED = {"content-encoding", "content-length", "transfer-encoding"}


class Undelivered(Exception):
    """The client gave up a reply; `failure` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class HostedClient(httpx2.AsyncClient):
    """An HTTP client that reads bounded replies and stays at one origin."""

    def __init__(self, timeout_s: float) -> None:
        super().__init__(
            timeout=httpx2.Timeout(timeout_s, connect=min(5.0, timeout_s)),
            limits=httpx2.Limits(max_connections=1000, max_keepalive_connections=100),
        )

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request and read the whole reply. Raises `Undelivered` and httpx2's errors."""
        options |= {"stream": True, "follow_redirects": False}
        origin = request.url.origin
        for _ in range(self.max_redirects):
            response = await super().send(request, **options)
            try:
                following = response.next_request
                if following is None:
                    return await _read(response)
                if following.url.origin != origin:
                    raise Undelivered(_redirect(response.status_code, following.url))
            finally:
                await response.aclose()
            request = following
        raise Undelivered(Failure("too many redirects", status=response.status_code))


async def _read(response: httpx2.Response) -> httpx2.Response:
    data = bytearray()
    async for chunk in response.aiter_bytes():
        data += chunk
        if len(data) > MAX_REPLY_BYTES:
            limit = f"{MAX_REPLY_BYTES >> 20} MB"
            raise Undelivered(Failure(f"the reply is larger than {limit}", kind="malformed"))
    headers = [pair for pair in response.headers.multi_items() if pair[0].lower() not in _DECODED]
    return httpx2.Response(
        response.status_code, headers=headers, content=bytes(data), request=response.request
    )


def _redirect(status: int, url: httpx2.URL) -> Failure:
    return Failure(
        f"it redirects to another address, {public(str(url))}, which is not followed; if it is "
        "the right one, give it as the base URL",
        status=status,
    )
