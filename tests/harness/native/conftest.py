"""What tests of worked cases share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _as_openai(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """The fake server counts as OpenAI itself where a case is about one of its models."""
    spec = getattr(request.node, "callspec", None)
    case = spec.params.get("case") if spec else None
    if case and case["provider"] == "openai" and case.get("model", "gpt-").startswith("gpt-"):
        monkeypatch.setattr("adapters.openai.HOSTS", ("127.0.0.1",))
