"""What stands in a line is what each provider's SDK sends for the same call."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from adapters import Reply, Request, user
from tests.adapters.batches.support import deferring, use
from tests.adapters.support import PROVIDERS, Pictures, adapter_for, first_round, request
from tests.servers import Provider, WireServer


class Catching(httpx2.AsyncBaseTransport):
    """Keeps the request, and sends nothing."""

    body: Any = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.body = json.loads(await request.aread())
        raise httpx2.ConnectError("kept instead")


def line_of(provider: Provider, asked: Request) -> Any:
    with WireServer() as server:
        adapter = adapter_for(provider, server)
        line = use(adapter, lambda one: one.line("v1", asked, Pictures()))
    plain = json.loads(line.data)
    return plain[{"openai": "body", "anthropic": "params", "google": "request"}[provider]]


async def openai_body(body: dict[str, Any]) -> Any:
    from openai import APIConnectionError, AsyncOpenAI

    catching = Catching()
    extra = {"repetition_penalty": body.pop("repetition_penalty")}
    async with httpx2.AsyncClient(transport=catching) as http:
        client = AsyncOpenAI(api_key="none", max_retries=0, http_client=http)
        with pytest.raises(APIConnectionError):
            await client.chat.completions.create(**body, extra_body=extra)
    return catching.body


async def anthropic_body(body: dict[str, Any]) -> Any:
    from anthropic import APIConnectionError, AsyncAnthropic

    catching = Catching()
    extra = {"temperature": body.pop("temperature")}
    async with httpx2.AsyncClient(transport=catching) as http:
        client = AsyncAnthropic(api_key="none", max_retries=0, http_client=http)
        with pytest.raises(APIConnectionError):
            await client.messages.create(**body, extra_body=extra)
    return catching.body


async def google_body(body: dict[str, Any]) -> Any:
    from google.genai import Client, types

    def part(one: Any) -> types.Part:
        if "text" in one:
            return types.Part.from_text(text=one["text"])
        data = base64.b64decode(one["inlineData"]["data"])
        return types.Part.from_bytes(data=data, mime_type=one["inlineData"]["mimeType"])

    catching = Catching()
    contents = [
        types.Content(role=one["role"], parts=[part(piece) for piece in one["parts"]])
        for one in body["contents"]
    ]
    config = types.GenerateContentConfig(
        system_instruction=body["systemInstruction"]["parts"][0]["text"],
        max_output_tokens=body["generationConfig"]["maxOutputTokens"],
        temperature=body["generationConfig"]["temperature"],
    )
    async with httpx2.AsyncClient(transport=catching) as http:
        options = types.HttpOptions(httpx_async_client=http)
        client = Client(api_key="none", http_options=options)
        with pytest.raises(httpx2.ConnectError):
            await client.aio.models.generate_content(model="m", contents=contents, config=config)
    return spelled(catching.body)


def spelled(body: Any) -> Any:
    """Google's SDK has other spellings of two things, which its API takes alike."""
    if isinstance(body, list):
        return [spelled(one) for one in body]
    if not isinstance(body, dict):
        return body
    if "mime_type" in body:
        data = base64.b64encode(base64.urlsafe_b64decode(body["data"])).decode()
        return {"mimeType": body["mime_type"], "data": data}
    return {name: spelled(one) for name, one in body.items()}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_line_is_what_the_sdk_sends(provider: Provider) -> None:
    second = first_round().then(Reply("I would click it"), user("Answer with a letter."))
    for conversation in (first_round(), second):
        body = line_of(provider, request(conversation, temperature=0.5, max_tokens=99))
        sends = {"openai": openai_body, "anthropic": anthropic_body, "google": google_body}
        sent = asyncio.run(sends[provider](json.loads(json.dumps(body))))
        assert sent == body


def test_googles_sdk_finds_the_server_to_be_googles(tmp_path: Path) -> None:
    from google.genai import Client, types

    path = tmp_path / "lines.jsonl"
    with WireServer() as server:
        adapter = adapter_for("google", server)
        line = asyncio.run(deferring(adapter).line("v1", request(), Pictures()))
        asyncio.run(adapter.close())
        path.write_bytes(line.data + b"\n")
        options = types.HttpOptions(base_url=server.base_url("google"), api_version="v1beta")
        client = Client(api_key="none", http_options=options)
        config = types.UploadFileConfig(display_name="t", mime_type="application/jsonl")
        file = client.files.upload(file=str(path), config=config)
        assert file.name
        begun = client.batches.create(
            model="some-model", src=file.name, config=types.CreateBatchJobConfig(display_name="t")
        )
        done = client.batches.get(name=str(begun.name))
        assert done.state is types.JobState.JOB_STATE_SUCCEEDED
        assert [one.name for one in client.batches.list()] == [begun.name]
        assert done.dest is not None
        content = client.files.download(file=str(done.dest.file_name))
    [result] = [json.loads(one) for one in content.splitlines()]
    assert result["key"] == "v1"
    assert result["response"]["candidates"][0]["content"]["parts"][0]["text"] == "fine"


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_the_sdks_own_methods_find_what_we_began(provider: Provider, tmp_path: Path) -> None:
    from tests.adapters.batches.support import batch

    with WireServer() as server:
        sent = batch(provider, server, tmp_path)
        assert sent.batch is not None
        url = server.base_url(provider)
        if provider == "openai":
            from openai import OpenAI

            client = OpenAI(api_key="none", base_url=url)
            [found] = list(client.batches.list(limit=1))
            assert (found.id, found.status) == (sent.batch.id, "completed")
            assert found.request_counts is not None
            assert found.request_counts.completed == 3
            assert [file.id for file in client.files.list(purpose="batch")][-1] == sent.uploaded
        else:
            from anthropic import Anthropic

            [one] = list(Anthropic(api_key="none", base_url=url).messages.batches.list(limit=1))
            assert (one.id, one.processing_status) == (sent.batch.id, "ended")
            assert one.request_counts.succeeded == 3
