from __future__ import annotations

from typing import Any

import httpx2
import pytest

from adapters import Fatal, Finish, Usage, describe, make
from tests.adapters.support import KEY, adapter_for, ask, bodies, first_round, request, two_rounds
from tests.servers import Answer, WireServer


def test_a_reply_is_read_in_full_and_thoughts_are_no_text() -> None:
    usage = {"input": 900, "cached": 400, "output": 50, "reasoning": 30}
    with WireServer(Answer("click", usage=usage, thinking="hmm", model="m-001")) as server:
        [reply] = ask(adapter_for("google", server))
    assert (reply.text, reply.finish) == ("click", Finish.STOP)
    assert reply.usage == Usage(900, 400, 0, 50, 30), "output counts the thoughts as well"
    assert reply.model == "m-001"
    assert reply.request_id == "g1"


@pytest.mark.parametrize(
    ("answer", "finish", "usage"),
    [
        (Answer("x", details=False), Finish.STOP, Usage(100, output=10)),
        (Answer("x", usage=None), Finish.STOP, None),
        (Answer("half", finish="length"), Finish.LENGTH, Usage(100, output=10)),
        (Answer("", finish="length"), Finish.LENGTH, Usage(100, output=10)),
    ],
)
def test_thin_and_unfinished_replies(answer: Answer, finish: Finish, usage: Usage | None) -> None:
    with WireServer(answer) as server:
        [reply] = ask(adapter_for("google", server))
    assert (reply.text, reply.finish, reply.usage) == (answer.text, finish, usage)


def test_a_reply_cut_by_the_provider_is_not_continued_by_the_sdk() -> None:
    raw = b"""{"candidates": [{"content": {"role": "model", "parts": [{"text": "half"}]},
        "finishReason": "CONTINUATION", "continuationToken": "dG9r"}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 2}}"""
    with WireServer(Answer(raw=raw)) as server:
        [reply] = ask(adapter_for("google", server))
    assert (reply.text, reply.finish, server.count) == ("half", Finish.LENGTH, 1)


def test_the_request() -> None:
    with WireServer() as server:
        [reply] = ask(adapter_for("google", server), request(max_tokens=50))
    [asked] = server.asks
    assert asked.path == "/v1/models/gemini-3.8-flash:generateContent"
    assert asked.headers["x-goog-api-key"] == KEY
    assert asked.body["systemInstruction"]["parts"] == [{"text": "You operate websites."}]
    [content] = asked.body["contents"]
    assert content["role"] == "user"
    assert content["parts"][0]["inlineData"] == {"data": "/9hwaWN0dXJl", "mimeType": "image/jpeg"}
    assert asked.body["generationConfig"] == {"maxOutputTokens": 50}
    assert reply.sent == {"max_output_tokens": 50}


@pytest.mark.parametrize(
    ("model", "wish", "sent"),
    [
        ("gemini-2.5-pro", {}, {"temperature": 0.0}),
        ("gemini-3.8-flash", {"temperature": 0.3, "top_p": 0.9}, {"temperature": 0.3, "topP": 0.9}),
        ("gemini-3.8-flash", {"seed": 4}, {"seed": 4}),
        ("gemini-3.8-flash", {"effort": "low"}, {"thinkingConfig": {"thinkingLevel": "LOW"}}),
        (
            "gemini-2.5-flash",
            {"thinking_budget": 0},
            {"temperature": 0.0, "thinkingConfig": {"thinkingBudget": 0}},
        ),
    ],
)
def test_thinking_and_sampling(model: str, wish: dict[str, Any], sent: dict[str, Any]) -> None:
    with WireServer() as server:
        ask(adapter_for("google", server, model=model), request(**wish))
    config = bodies(server)[0]["generationConfig"]
    assert config == {"maxOutputTokens": 1024} | sent


def test_an_effort_for_a_model_with_budgets_is_reported_as_not_sent() -> None:
    with WireServer() as server:
        adapter = adapter_for("google", server, model="gemini-2.5-pro")
        ask(adapter, request(effort="low"))
    assert adapter.notices() == [
        "google:gemini-2.5-pro has no effort (only a thinking budget): not sent"
    ]


def test_a_resolution_goes_with_the_picture_of_newer_models() -> None:
    with WireServer() as server:
        ask(adapter_for("google", server, media_resolution="ultra_high"))
        ask(adapter_for("google", server, model="gemini-2.5-pro", media_resolution="low"))
    newer, older = server.asks
    assert newer.path.startswith("/v1beta/")
    part = newer.body["contents"][0]["parts"][0]
    assert part["mediaResolution"] == {"level": "MEDIA_RESOLUTION_ULTRA_HIGH"}
    assert older.body["generationConfig"]["mediaResolution"] == "MEDIA_RESOLUTION_LOW"


def test_thought_signatures_go_back_unchanged() -> None:
    with WireServer(Answer("click")) as server:
        one, _ = two_rounds(adapter_for("google", server))
    sent_back = bodies(server)[1]["contents"][1]
    assert sent_back == {"role": "model", "parts": [{"text": "click", "thoughtSignature": "c2ln"}]}
    assert one.native is not None


def same_spelling(value: Any) -> Any:
    """A body in the API's own spelling; Google's SDK mixes several."""
    if isinstance(value, dict):
        return {
            name.replace("mime_type", "mimeType").replace("_level", "Level"): same_spelling(inner)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [same_spelling(inner) for inner in value]
    return value.replace("_9hw", "/9hw") if isinstance(value, str) else value


def test_the_body_is_the_one_that_googles_sdk_sends() -> None:
    genai = pytest.importorskip("google.genai")
    types = genai.types
    asked = first_round()
    level = "MEDIA_RESOLUTION_HIGH"
    with WireServer() as server:
        adapter = adapter_for("google", server, media_resolution="high")
        generation: Any = {"temperature": 0.5, "top_p": 0.9, "seed": 3, "effort": "low"}
        ask(adapter, request(asked, **generation))
        client = genai.Client(
            vertexai=False,
            api_key=KEY,
            http_options=types.HttpOptions(
                base_url=server.base_url("google"), api_version="v1beta", timeout=5000
            ),
        )
        picture = types.Part.from_bytes(
            data=b"\xff\xd8picture", mime_type="image/jpeg", media_resolution=level
        )
        parts = [picture, types.Part(text=asked.messages[1].text)]
        client.models.generate_content(
            model="gemini-3.8-flash",
            contents=[types.Content(role="user", parts=parts)],
            config=types.GenerateContentConfig(
                system_instruction=asked.messages[0].text,
                max_output_tokens=1024,
                temperature=0.5,
                top_p=0.9,
                seed=3,
                thinking_config=types.ThinkingConfig(thinking_level="low"),
            ),
        )
    ours, theirs = server.asks
    assert ours.body == same_spelling(theirs.body)
    assert ours.path == theirs.path
    same = {"content-type", "x-goog-api-key", "x-server-timeout"}
    assert {name: ours.headers[name] for name in same} == {n: theirs.headers[n] for n in same}


def test_what_is_declared() -> None:
    info = describe("gemini-3.8-flash", media_resolution="low").info
    assert (info.provider, info.price_ref, info.billed) == ("google", "gemini-3.8-flash", True)
    assert info.coordinates == "per-mille"
    assert info.settings["media_resolution"] == "low"
    assert info.image_rule is not None
    assert info.image_rule.tokens(1280, 7400) == 280
    with pytest.raises(Fatal, match="media_resolution is one of high, low"):
        describe("gemini-3.8-flash", media_resolution="sharp")


def test_vertex_ai_is_asked_where_googles_environment_variables_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    with WireServer(Answer("click")) as server:
        adapter = adapter_for("google", server)
        [reply] = ask(adapter)
    [asked] = server.asks
    assert asked.path == "/v1beta1/publishers/google/models/gemini-3.8-flash:generateContent"
    assert asked.headers["x-goog-api-key"] == KEY
    assert asked.body["contents"][0]["parts"][1]["text"] == "What would you do?"
    assert reply.text == "click"
    assert adapter.info.settings["api"] == "Vertex AI generateContent v1beta1"
    assert adapter.info.tiers == ()


def test_vertex_ai_takes_project_and_credentials_in_place_of_a_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import google.auth
    from google.oauth2.credentials import Credentials

    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "a-project")
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "europe-west4")
    credentials: Any = Credentials
    monkeypatch.setattr(
        google.auth, "default", lambda **_: (credentials(token="ya29.a-secret-token"), None)
    )
    sent = []

    async def send(_: object, request: httpx2.Request, **__: object) -> httpx2.Response:
        sent.append(request)
        message = f"no access with {request.headers['authorization']}"
        error = {"error": {"message": message, "status": "DENIED"}}
        return httpx2.Response(403, json=error, request=request)

    monkeypatch.setattr(httpx2.AsyncClient, "send", send)
    with pytest.raises(Fatal, match=r"answered 403 \(DENIED\): no access with Bearer \[key\]$"):
        ask(make("google:gemini-3.8-flash"))
    [request] = sent
    assert str(request.url) == (
        "https://europe-west4-aiplatform.googleapis.com/v1beta1/projects/a-project/locations/"
        "europe-west4/publishers/google/models/gemini-3.8-flash:generateContent"
    )
    assert request.headers["authorization"] == "Bearer ya29.a-secret-token"


def test_missing_credentials_of_vertex_ai_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    import google.auth
    from google.auth.exceptions import DefaultCredentialsError

    missing: Any = DefaultCredentialsError

    def default(**_: object) -> None:
        raise missing("Your default credentials were not found.")

    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_CLOUD_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "1")
    monkeypatch.setattr(google.auth, "default", default)
    with pytest.raises(Fatal, match=r"^google: Your default credentials were not found\.$"):
        ask(make("google:gemini-3.8-flash"))


@pytest.mark.parametrize("model", ["gemini-3.8-flash?key=x", "../gemini-3.8-flash"])
def test_a_name_that_no_model_has_is_one_line(model: str) -> None:
    with WireServer() as server, pytest.raises(Fatal, match="invalid model parameter"):
        ask(adapter_for("google", server, model=model))
    assert server.count == 0
