"""What `transformers serve` 5.23 answered to this adapter, word for word."""

from __future__ import annotations

import json

import pytest

from adapters import Fatal, Finish, Reply, Usage, make
from tests.adapters.support import adapter_for, ask
from tests.servers import Answer, Ask, WireServer

KNOWN = {
    *("model", "messages", "max_tokens", "max_completion_tokens"),
    *("temperature", "top_p", "seed", "frequency_penalty", "generation_config"),
}
PINNED = "/models/tiny-llava"


def detail(status: int, text: str) -> Answer:
    return Answer(status=status, raw=json.dumps({"detail": text}).encode())


def react(ask: Ask) -> Answer:
    """In its order: the path, then unknown fields, then the model."""
    if ask.path != "/v1/chat/completions":
        return detail(404, "Not Found")
    unknown = ask.body.keys() - KNOWN
    if unknown:
        return detail(422, f"Unexpected fields in the request: {unknown}")
    if ask.model != PINNED:
        return detail(400, f"Server is pinned to '{PINNED}'; requested '{ask.model}'.")
    body = {
        "id": "fa1a320d-1df3-48ae-aff6-457b85b1c09a",
        "choices": [
            {
                "finish_reason": "length",
                "index": 0,
                "message": {"content": "markJSONJSONJSON", "role": "assistant"},
            }
        ],
        "created": 1795211920,
        "model": f"{PINNED}@main",
        "object": "chat.completion",
        "usage": {"completion_tokens": 4, "prompt_tokens": 14, "total_tokens": 18},
    }
    return Answer(raw=json.dumps(body).encode())


def served(model: str = PINNED, **options: object) -> tuple[Reply, list[str], WireServer]:
    with WireServer(react) as server:
        adapter = adapter_for("openai", server, model=model, **options)
        [reply] = ask(adapter)
    return reply, adapter.notices(), server


def test_it_is_asked_again_in_its_own_words_for_a_field_that_it_does_not_know() -> None:
    reply, notices, server = served()
    assert (reply.text, reply.finish) == ("markJSONJSONJSON", Finish.LENGTH)
    assert reply.usage == Usage(input=14, output=4)
    assert reply.model == f"{PINNED}@main"
    # A frequency penalty of x is a repetition penalty of 1 + x to it.
    assert reply.sent == {"max_tokens": 1024, "temperature": 0.0, "frequency_penalty": 0.0}
    assert notices == [f"openai:{PINNED} refused repetition_penalty=1.0: no longer sent"]
    assert server.count == 2


def test_a_field_of_the_users_own_that_it_does_not_know_ends_the_run() -> None:
    with pytest.raises(Fatal, match=r"answered 422: Unexpected fields .*\{'top_k'\}; .*leave out"):
        served(extra_body={"top_k": 1})


def test_another_model_than_the_pinned_one_is_told_in_its_words() -> None:
    with pytest.raises(Fatal) as caught:
        served("llava-wrong")
    said = f"/v1 answered 400: Server is pinned to '{PINNED}'; requested 'llava-wrong'."
    assert str(caught.value).endswith(said)


def test_an_address_without_its_path_is_hinted_at() -> None:
    with WireServer(react) as server:
        url = f"http://127.0.0.1:{server.port}"
        with pytest.raises(Fatal) as caught:
            ask(make(f"openai:{PINNED}", base_url=url))
    assert str(caught.value) == f"{url} answered 404: Not Found (base URLs end in /v1 as a rule)"


def test_a_body_may_be_extended_from_a_command_line() -> None:
    reply, _, server = served(extra_body='{"seed": 3, "repetition_penalty": null}')
    assert reply.sent == {"max_tokens": 1024, "temperature": 0.0, "seed": 3}
    assert server.count == 1
    for text in ("[1]", "top_k=1", ""):
        with pytest.raises(Fatal, match="extra_body: expected a JSON object"):
            served(extra_body=text)


def test_a_status_in_the_place_of_a_code_is_not_repeated() -> None:
    error = {"message": "The model `x` does not exist.", "type": "NotFoundError", "code": 404}
    with (
        WireServer(Answer(status=404, raw=json.dumps({"error": error}).encode())) as server,
        pytest.raises(Fatal, match=r"answered 404 \(NotFoundError\): The model `x` does not"),
    ):
        ask(adapter_for("openai", server))
