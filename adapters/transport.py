"""The HTTP client of hosted models.

A reply has a size limit that holds while it is read, however it is compressed, and a request with
its key and its pages never goes to another address than the one that the user chose. What is asked
for as a stream is handed out as it comes, in lines of limited length (`lines_of`).
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
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
            # A server of this machine is not behind the proxy that the environment may name.
            mounts={f"all://{host}": None for host in ("127.0.0.1", "localhost", "[::1]")},
        )

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request and read the whole reply, unless it is asked for as a stream and is no
        error. Raises `Undelivered` and httpx2's errors."""
        streamed = options.get("stream", False)
        options |= {"stream": True, "follow_redirects": False}
        origin = request.url.origin
        for _ in range(self.max_redirects):
            response = await super().send(request, **options)
            handed_out = False
            try:
                following = response.next_request
                if following is None:
                    handed_out = streamed and response.is_success
                    return response if handed_out else await _read(response)
                if following.url.origin != origin:
                    raise Undelivered(_redirect(response.status_code, following.url))
            finally:
                if not handed_out:
                    await response.aclose()
            request = following
        raise Undelivered(Failure("too many redirects", status=response.status_code))


async def lines_of(response: httpx2.Response) -> AsyncGenerator[bytes]:
    """The lines of a streamed reply, without line breaks and without empty ones; closes it.

    Raises `Undelivered` for a line that is too long, and for one without its line break that is not
    whole JSON: the reply was torn; and where the connection fails.
    """
    rest = bytearray()
    try:
        async for chunk in response.aiter_bytes():
            *ended, last = chunk.split(b"\n")
            for piece in ended:
                line = bytes(rest + piece).strip()
                rest.clear()
                if line:
                    yield line
            rest += last
            if len(rest) > MAX_REPLY_BYTES:
                limit = f"{MAX_REPLY_BYTES >> 20} MB"
                raise Undelivered(Failure(f"a line is larger than {limit}", kind="malformed"))
    except httpx2.TimeoutException:
        raise Undelivered(Failure("no answer in time", kind="timeout")) from None
    except httpx2.RequestError as error:
        raise Undelivered(Failure(f"no connection ({error})", kind="connection")) from None
    finally:
        await response.aclose()
    line = bytes(rest).strip()
    if line:
        try:
            json.loads(line)
        except (ValueError, RecursionError):
            raise Undelivered(Failure("the reply ends within a line", kind="connection")) from None
        yield line


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
