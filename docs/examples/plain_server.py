"""A model behind a server that takes {"prompt": ..., "images": [...], "max_tokens": ...}.

It returns {"text": ..., "input_tokens": ..., "output_tokens": ..., "cut": true or false}.
"""

from __future__ import annotations

import asyncio
import base64
import json
import urllib.error
import urllib.request
from typing import Any

from adapters import (
    AdapterInfo,
    Fatal,
    Fault,
    Finish,
    PictureSource,
    Reply,
    Request,
    Text,
    Usage,
)


class PlainServer:
    """One model of such a server; `base_url` is where it listens."""

    def __init__(self, model: str, *, base_url: str | None = None, timeout_s: float = 120) -> None:
        if not base_url:
            raise Fatal("which server? give its address with --base-url")
        self._url = base_url
        self._timeout_s = timeout_s
        self.info = AdapterInfo(
            name=f"plain:{model}",
            model=model,
            provider="plain",
            endpoint=base_url,
            concurrency=4,
            coordinates="per-mille",  # what the numbers mean when it points at a place
        )

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        images, lines = [], []
        for message in request.conversation.messages:
            for part in message.parts:
                if isinstance(part, Text):
                    lines.append(f"{message.role}: {part.text}")
                else:
                    encoded = await pictures.encoded(part)
                    images.append(base64.b64encode(encoded.data).decode())
        body = {
            "model": self.info.model,
            "prompt": "\n".join(lines),
            "images": images,
            "max_tokens": request.generation.max_tokens,
        }
        answer = await asyncio.to_thread(self._post, body)
        try:
            return Reply(
                str(answer["text"]),
                model=self.info.model,
                usage=Usage(input=answer["input_tokens"], output=answer["output_tokens"]),
                finish=Finish.LENGTH if answer["cut"] else Finish.STOP,
            )
        except KeyError as error:
            raise Fault("malformed", f"{self._url}: a reply without {error}") from error

    def _post(self, body: dict[str, object]) -> dict[str, Any]:
        request = urllib.request.Request(
            self._url, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=self._timeout_s) as response:
                return dict(json.load(response))
        except urllib.error.HTTPError as error:
            if error.code in (401, 403, 404):
                raise Fatal(f"{self._url}: HTTP {error.code}") from error
            kind = "rate_limit" if error.code == 429 else "server"
            wait = error.headers.get("Retry-After", "")
            seconds = float(wait) if wait.isdigit() else None
            line = f"{self._url}: HTTP {error.code}"
            raise Fault(kind, line, retry_after_s=seconds, status=error.code) from error
        except TimeoutError as error:
            raise Fault("timeout", f"{self._url}: no reply in {self._timeout_s} s") from error
        except (OSError, ValueError) as error:
            raise Fault("connection", f"{self._url}: {error}") from error

    def notices(self) -> list[str]:
        return []

    async def close(self) -> None:
        return None
