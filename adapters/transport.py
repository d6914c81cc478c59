"""The HTTP client of hosted models.

A reply has a size limit that holds while it is read, however it is compressed, and a request with
its key and its pages never goes to another address than the one that the user chose. What is asked
for as a stream is handed out as it comes, in lines of limited length (`lines_of`).
"""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import AsyncGenerator
from functools import cache
from typing import Any

import httpx2

from adapters.endpoints import public
from adapters.faults import Failure

MAX_REPLY_BYTES = 16 * 1024 * 1024
PADDING = b" \t\r\n\0"
"""Padding at the end of lines: a file system pads a file with zeros after a crash."""
_DECODED = {"content-encoding", "content-length", "transfer-encoding"}


class Undelivered(Exception):
    """The client gave up a reply; `failure` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class HostedClient(httpx2.AsyncClient):
    """An HTTP client that reads bounded replies and stays at one origin."""

    def __init__(self, timeout_s: float, *, strict: bool = False) -> None:
        """strict: also raise for an error status and for a reply that is not UTF-8."""
        self._strict = strict
        super().__init__(
            verify=_tls(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")),
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
        # An SDK's own limits may leave more time to connect.
        request.extensions.setdefault("timeout", {})["connect"] = self.timeout.connect
        for _ in range(self.max_redirects):
            response = await super().send(request, **options)
            handed_out = False
            try:
                following = response.next_request
                if following is None:
                    handed_out = streamed and response.is_success
                    whole = response if handed_out else await _read(response)
                    return _checked(whole) if self._strict and not handed_out else whole
                if following.url.origin != origin:
                    raise Undelivered(_redirect(response.status_code, following.url))
            finally:
                if not handed_out:
                    await response.aclose()
            request = following
        raise Undelivered(Failure("too many redirects", status=response.status_code))


@cache
def _tls(file: str | None, folder: str | None) -> ssl.SSLContext:
    """Return what all clients check certificates by; reading the list takes longer than a call.

    `file` and `folder` name another list, as the environment may.
    """
    return httpx2.create_ssl_context()


async def lines_of(response: httpx2.Response) -> AsyncGenerator[bytes]:
    """Return the lines of a streamed reply, without line breaks and without empty ones; closes it.

    Every whole line is yielded first. Raises `Undelivered` then if one was too long, if the last
    one has neither a line break nor whole JSON, and where the connection fails.
    """
    rest, too_long, skips = bytearray(), False, False
    try:
        async for chunk in response.aiter_bytes():
            *ended, last = chunk.split(b"\n")
            for piece in ended:
                line = b"" if skips else bytes(rest + piece).strip(PADDING)
                rest.clear()
                skips = False
                if line:
                    yield line
            if not skips:
                rest += last
            if len(rest) > MAX_REPLY_BYTES:
                rest.clear()
                too_long = skips = True
    except httpx2.TimeoutException:
        raise Undelivered(Failure("no answer in time", kind="timeout")) from None
    except httpx2.RequestError as error:
        raise Undelivered(Failure(f"no connection ({error})", kind="connection")) from None
    finally:
        await response.aclose()
    line, torn = bytes(rest).strip(PADDING), False
    if line:
        try:
            json.loads(line)
        except (ValueError, RecursionError):
            torn = True
        else:
            yield line
    if too_long:
        limit = f"{MAX_REPLY_BYTES >> 20} MB"
        raise Undelivered(Failure(f"a line is larger than {limit}", kind="malformed"))
    if torn:
        raise Undelivered(Failure("the reply ends within a line", kind="malformed"))


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


def _checked(response: httpx2.Response) -> httpx2.Response:
    """Raise for a reply that an SDK should not read."""
    response.raise_for_status()
    try:
        response.content.decode()
    except UnicodeDecodeError as error:
        raise Undelivered(Failure(f"the reply is not UTF-8: {error}", kind="malformed")) from None
    return response


def _redirect(status: int, url: httpx2.URL) -> Failure:
    return Failure(
        f"it redirects to another address, {public(str(url))}, which is not followed; if it is "
        "the right one, give it as the base URL",
        status=status,
    )
