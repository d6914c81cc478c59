"""Batches that we begin, as each provider's SDK has them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.adapters.batches.support import deferring
from tests.adapters.support import Pictures, adapter_for, request
from tests.servers import Provider, WireServer


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
