"""The vendors' own examples, and the arithmetic of their documented rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters import ImageRule
from adapters import anthropic as claude
from adapters import google as gemini
from adapters import openai as openai_models

PAGE, SQUARE, VIEW = (1280, 7400), (1280, 1280), (1280, 720)
SIZES = (PAGE, SQUARE, VIEW)
sides = st.integers(1, 12_000)


def openai(model: str, detail: str = "auto") -> ImageRule:
    return openai_models.facts_of(model).rule(detail)


@pytest.mark.parametrize(
    ("rule", "tokens", "page"),
    [
        (openai("gpt-4o-2024-11-20"), (765, 765, 1105), (354, 2048)),
        (openai("gpt-4.1"), (765, 765, 1105), (354, 2048)),
        (openai("gpt-4-turbo"), (765, 765, 1105), (354, 2048)),
        (openai("gpt-4o-mini"), (25501, 25501, 36835), (354, 2048)),
        (openai("gpt-5"), (630, 630, 910), (354, 2048)),
        (openai("gpt-5.1"), (630, 630, 910), (354, 2048)),
        (openai("o1"), (675, 675, 975), (354, 2048)),
        (openai("o3"), (675, 675, 975), (354, 2048)),
        (openai("gpt-4.1-mini"), (1245, 2592, 1491), (354, 2048)),
        (openai("gpt-5.2"), (922, 1920, 1104), (354, 2048)),
        (openai("gpt-5.4"), (922, 1920, 1104), (354, 2048)),
        (openai("gpt-5.4", "original"), (7445, 1920, 1104), (1038, 6000)),
        (openai("gpt-5.5"), (7445, 1920, 1104), (1038, 6000)),
        (openai("gpt-5.6-sol"), (11136, 1920, 1104), PAGE),
        (openai("gpt-6-astra"), (11136, 1920, 1104), PAGE),
        (openai("gpt-5.6-luna", "high"), (922, 1920, 1104), (354, 2048)),
        (openai("gpt-6-astra", "high"), (2784, 1920, 1104), (640, 3700)),
        (claude.facts_of("claude-sonnet-4-5").rule, (560, 1521, 1196), (271, 1568)),
        (
            claude.facts_of("claude-3-5-sonnet-20241022").rule,
            (560, 1521, 1196),
            (271, 1568),
        ),
        (claude.facts_of("claude-opus-4-7").rule, (1472, 2116, 1196), (446, 2576)),
        (claude.facts_of("claude-haiku-5-5").rule, (1472, 2116, 1196), (446, 2576)),
        (gemini.facts_of("gemini-3.8-flash", None).rule, (1120, 1120, 1120), PAGE),
        (gemini.facts_of("gemini-4-argon", "ultra_high").rule, (2240, 2240, 2240), PAGE),
        (gemini.facts_of("gemini-2.5-pro", None).rule, (4644, 2048, 2048), PAGE),
    ],
)
def test_tokens_and_seen_size(
    rule: ImageRule, tokens: tuple[int, int, int], page: tuple[int, int]
) -> None:
    assert tuple(rule.tokens(*size) for size in SIZES) == tokens
    assert rule.fit(*PAGE) == page
    assert rule.source.endswith("2026-11")


def test_a_square_picture_of_the_older_models_has_the_documented_side() -> None:
    assert openai("gpt-4o").fit(*SQUARE) == (768, 768)
    assert claude.facts_of("claude-sonnet-4-5").rule.fit(*SQUARE) == (1092, 1092)


@pytest.mark.parametrize(
    ("size", "seen", "tokens"),
    [
        ((1280, 7412), (354, 2048), 765),
        ((1280, 2529), (768, 1517), 1105),
        ((1280, 5808), (451, 2048), 765),
        ((1280, 1000), (983, 768), 765),
        ((1280, 20000), (131, 2048), 765),
    ],
)
def test_what_gpt_4o_sees_of_tall_pages(
    size: tuple[int, int], seen: tuple[int, int], tokens: int
) -> None:
    rule = openai("gpt-4o")
    assert (rule.fit(*size), rule.tokens(*size)) == (seen, tokens)


def test_what_claude_sees_of_tall_pages() -> None:
    rule = claude.facts_of("claude-sonnet-4-6").rule
    assert rule.fit(1280, 7412) == (271, 1568)
    assert rule.fit(1280, 5808) == (346, 1568)
    assert rule.tokens(2000, 1500) == 46 * 34


RULES = [
    openai("gpt-4o"),
    openai("gpt-4o", "low"),
    openai("gpt-5.4"),
    openai("gpt-6-astra", "high"),
    claude.facts_of("claude-sonnet-4-5").rule,
    claude.facts_of("claude-opus-5-5").rule,
]


@given(st.sampled_from(RULES), sides, sides)
def test_a_fitted_picture_is_not_shrunk_again_nor_enlarged(
    rule: ImageRule, width: int, height: int
) -> None:
    seen = rule.fit(width, height)
    assert 1 <= seen[0] <= width
    assert 1 <= seen[1] <= height
    again = rule.fit(*seen)
    assert abs(again[0] - seen[0]) <= 1
    assert abs(again[1] - seen[1]) <= 1
    assert rule.max_side is None or max(seen) <= rule.max_side


def test_a_detail_that_a_model_does_not_have_is_no_key() -> None:
    with pytest.raises(KeyError):
        openai("gpt-4o", "original")
