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
from pathlib import Path
from typing import Any
from urllib.request import proxy_bypass

import httpx2

from adapters.contract import Fatal
from adapters.endpoints import public
from adapters.faults import Failure

MAX_REPLY_BYTES = 16 * 1024 * 1024
PADDING = b" \t\r\n\0"
"""Padding at the end of lines: a file system pads a file with zeros after a crash."""
_HERE = {"127.0.0.1": "127.0.0.1", "localhost": "localhost", "::1": "[::1]"}
"""Hosts of this machine, with their spelling in an address."""
_DECODED = {"content-encoding", "content-length", "transfer-encoding"}


class Undelivered(Exception):
    """The client gave up a reply; `failure` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class HostedClient(httpx2.AsyncClient):
    """An HTTP client that reads bounded replies and stays at one origin."""

    def __init__(self, timeout_s: float, *, strict: bool = False) -> None:
        """strict: also raise for an error status and for a reply that is not UTF-8.

        Raises `Fatal` naming the environment variable that names no usable proxy or certificates.
        """
        self._strict = strict
        try:
            super().__init__(
                verify=_tls(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")),
                timeout=httpx2.Timeout(timeout_s, connect=min(5.0, timeout_s)),
                limits=httpx2.Limits(max_connections=1000, max_keepalive_connections=100),
                # A server of this machine is not behind the proxy that the environment may name.
                mounts={f"all://{host}": None for host in _HERE.values()},
            )
        except (ValueError, ImportError, httpx2.InvalidURL) as error:
            line = _unusable_proxy(error)
        else:
            return
        raise Fatal(line)

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request and read the whole reply, unless it is asked for as a stream and is no
        error. Raises `Undelivered` and httpx2's errors."""
        streamed = options.get("stream", False)
        options |= {"stream": True, "follow_redirects": False}
        origin = request.url.origin
        # An SDK's own limits may leave more time to connect.
        request.extensions.setdefault("timeout", {})["connect"] = self.timeout.connect
        for _ in range(self.max_redirects):
            response = await self._sent(request, options)
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

    async def _sent(self, request: httpx2.Request, options: dict[str, Any]) -> httpx2.Response:
        """Send a request. Raises `Undelivered` for what a proxy or a certificate is the cause of,
        and httpx2's errors."""
        try:
            response = await super().send(request, **options)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
            failure = _unreached(request.url, error)
            if failure is None:
                raise
        else:
            variable = _proxy_of(request.url) if response.status_code == 407 else None
            if variable is None:
                return response
            await response.aclose()
            words = f"the proxy that {variable} in the environment names asks for a password"
            failure = Failure(f"{words} (407)", kind="connection", final=True)
        raise Undelivered(failure)


@cache
def _tls(file: str | None, folder: str | None) -> ssl.SSLContext:
    """Return what all clients check certificates by; reading the list takes longer than a call.

    `file` and `folder` name another list, as the environment may. Raises `Fatal` if there is none.
    """
    named = f"SSL_CERT_FILE={file}" if file else f"SSL_CERT_DIR={folder}"
    if not file and folder and not Path(folder).is_dir():
        raise Fatal(f"{named} in the environment is not a folder of certificates")
    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        reason = error.strerror or str(error)
    named = f"{named} in the environment" if file or folder else "the list of certificates"
    raise Fatal(f"{named} cannot be read: {reason}")


def _proxy_variable(scheme: str) -> str | None:
    """Return the environment variable that names the proxy for a scheme, or for all of them."""
    names = [name for one in (scheme, "all") for name in (f"{one}_proxy", f"{one}_PROXY".upper())]
    return next((name for name in names if os.environ.get(name)), None)


def _proxy_of(url: httpx2.URL) -> str | None:
    """Return the environment variable that names the proxy to an address, None without one."""
    direct = url.host in _HERE or proxy_bypass(url.host)
    return None if direct else _proxy_variable(url.scheme)


def _unusable_proxy(error: Exception) -> str:
    for variable in filter(None, map(_proxy_variable, ("http", "https", "all"))):
        url = os.environ[variable]
        try:
            httpx2.AsyncHTTPTransport(proxy=url if "://" in url else f"http://{url}")
        except ImportError:
            return (
                f"{variable} in the environment names a SOCKS proxy, which needs the package "
                "socksio: pip install socksio"
            )
        except (ValueError, httpx2.InvalidURL) as refused:
            return f"{variable} in the environment names no usable proxy: {refused}"
    return f"the proxies in the environment cannot be used: {error}"


def _unreached(url: httpx2.URL, error: Exception) -> Failure | None:
    """Return why a server was not reached if it is about a proxy or a certificate."""
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return Failure(
            f"its certificate is not trusted ({error}); name a file with the certificate of its "
            "authority in SSL_CERT_FILE",
            kind="connection",
            final=True,
        )
    variable = _proxy_of(url)
    if variable is None:
        return None
    late = isinstance(error, httpx2.TimeoutException)
    reason = "no answer in time" if late else str(error)
    line = f"no connection through the proxy that {variable} in the environment names ({reason})"
    return Failure(line, kind="timeout" if late else "connection")


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
