"""Which models think: by name, behind a gateway, with their effort or budget, and by template."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from adapters import describe
from adapters.thinking import Thinking, thinking_of


@pytest.mark.parametrize(
    ("names", "thinks"),
    [
        ("o1 o3-2025-04-16 o4-mini gpt-5 gpt-5-mini gpt-5.4-mini gpt-6.1-sol", True),
        ("gpt-4o gpt-4-turbo chatgpt-4o-latest gpt-4.1-mini gpt-5-chat-latest ft:gpt-4o:me", False),
        ("claude-sonnet-5-5 claude-opus-5 claude-fable-5-2 claude-sonnet-7", True),
        ("claude-3-5-sonnet-20241022 claude-sonnet-4-20250514 claude-haiku-4-5", False),
        ("claude-sonnet-4-6 claude-opus-4-8 anthropic.claude-sonnet-4-5-20250929-v1:0", False),
        ("gemini-2.5-pro gemini-2.5-flash gemini-3-flash-preview gemini-4-argon", True),
        ("gemini-2.0-flash gemini-1.5-pro gemini-2.5-flash-lite", False),
        ("openai/gpt-5.4 google/gemini-2.5-pro anthropic/claude-sonnet-5 x-ai/grok-4", True),
        ("Qwen/Qwen3-VL-8B-Thinking Qwen/QVQ-72B-Preview Qwen/Qwen3.5-27B", True),
        ("Qwen/Qwen3-VL-8B-Instruct Qwen/Qwen2.5-VL-7B-Instruct Qwen/Qwen-VL-Chat", False),
        ("zai-org/GLM-4.1V-9B-Thinking zai-org/GLM-4.5V zai-org/GLM-4.6V-Flash", True),
        ("moonshotai/Kimi-VL-A3B-Thinking-2506 moonshotai/Kimi-K2.5", True),
        ("moonshotai/Kimi-VL-A3B-Instruct zai-org/glm-4v-9b grok-4-fast-non-reasoning", False),
        ("XiaomiMiMo/MiMo-VL-7B-RL Skywork/Skywork-R1V3-38B Fancy-MLLM/R1-Onevision-7B", True),
        ("mistralai/Magistral-Small-2509 nvidia/Cosmos-Reason1-7B /m/Qwen3-VL-2B-Thinking/", True),
        ("mistralai/Pixtral-12B-2409 OpenGVLab/InternVL3_5-8B google/gemma-4-12b-it", False),
        ("/models/thinking-models/llava-1.5-7b-hf unheard-of", False),
    ],
)
def test_a_model_is_known_to_think_by_its_name(names: str, thinks: bool) -> None:
    found = {name: thinking_of(name).happens(None, None) for name in names.split()}
    assert found == dict.fromkeys(found, thinks)


@pytest.mark.parametrize(
    ("model", "effort", "budget", "thinks"),
    [
        ("claude-sonnet-4-5", None, 2000, True),
        ("claude-sonnet-4-5", "high", None, False),
        ("claude-opus-4-8", "high", None, True),
        ("claude-opus-4-8", None, 0, False),
        ("claude-sonnet-5-5", "none", None, False),
        ("claude-sonnet-5-5", None, 0, False),
        ("claude-3-5-sonnet-20241022", "high", 2000, False),
        ("gemini-2.5-flash", None, 0, False),
        ("gemini-2.5-flash", None, -1, True),
        ("gemini-2.5-flash", "none", None, True),  # It has no effort, and is sent none.
        ("gemini-2.5-flash-lite", None, 512, True),
        ("gemini-2.5-pro", None, 0, True),
        ("gpt-5.4", "none", None, False),
        ("gpt-5.4", "low", None, True),
        ("gpt-5-mini", "none", None, True),  # Refused, and left out then.
        ("gpt-4o", "high", 2000, False),
        ("unheard-of", "high", None, True),
        ("unheard-of", "none", None, False),
    ],
)
def test_effort_and_budget_turn_it_on_and_off_where_the_model_heeds_them(
    model: str, effort: str | None, budget: int | None, thinks: bool
) -> None:
    assert thinking_of(model).happens(effort, budget) is thinks


@pytest.mark.parametrize(
    ("body", "thinks"),
    [
        ({"chat_template_kwargs": {"enable_thinking": False}}, False),
        ({"chat_template_kwargs": {"thinking": True}}, True),
        ({"thinking": {"type": "disabled"}}, False),
        ({"enable_thinking": True}, True),
        ({"chat_template_kwargs": "odd", "thinking": 3}, True),
    ],
)
def test_what_a_server_is_told_about_thinking_counts_more_than_the_name(
    body: dict[str, Any], thinks: bool
) -> None:
    assert thinking_of("Qwen/Qwen3.5-27B", body).happens(None, None) is thinks


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("openai:gpt-5.4", {}),
        ("anthropic:claude-opus-5-5", {}),
        ("google:gemini-3.8-flash", {}),
        ("Qwen/Qwen3-VL-8B-Thinking", {"base_url": "http://localhost:1/v1"}),
    ],
)
def test_every_provider_declares_it(name: str, options: dict[str, Any]) -> None:
    assert describe(name, **options).info.thinking.by_default


@pytest.mark.parametrize(
    ("folder", "prompt", "thinks"),
    [
        ("plain", "", False),
        ("Tiny-Thinking", "", True),
        ("plain", "<think>\n", True),
        ("plain", "<think>\n\n</think>\n\n", False),
        ("plain", "◁think▷", True),
    ],
)
def test_a_checkpoint_here_thinks_by_its_name_or_its_chat_template(
    tmp_path: Path, folder: str, prompt: str, thinks: bool
) -> None:
    pytest.importorskip("torch", reason="the extra 'local' is not installed")
    pytest.importorskip("transformers", reason="the extra 'local' is not installed")
    from tests.local.tiny import build

    made = build("qwen3-vl", tmp_path / "made")
    named = Path(shutil.move(made, tmp_path / folder))
    template = named / "chat_template.jinja"
    opening = "<|im_start|>assistant\n"
    begun = template.read_text("utf-8").replace(opening, opening + prompt + "{# #}")
    template.write_text(begun, "utf-8")
    assert describe(f"hf:{named}").info.thinking == Thinking(thinks)
