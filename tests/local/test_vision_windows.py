"""Windows of a vision tower that go through one kernel together give what they give one by one."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

import adapters.local.writer as vision_windows
from adapters.local.contract import Loaded

GRIDS = torch.tensor([[1, 10, 6], [1, 2, 22], [1, 12, 12]])
"""Pictures with windows of four sizes: whole ones, and those cut off at their edges."""


def test_features_are_those_of_transformers_with_few_calls(
    load: Callable[[str], Loaded], monkeypatch: pytest.MonkeyPatch
) -> None:
    tower = copy.deepcopy(load("qwen2.5-vl").model.model.visual)
    tower.config._attn_implementation = "sdpa"
    patches = int(GRIDS.prod(-1).sum())
    pixels = torch.randn(patches, 1176, generator=torch.Generator().manual_seed(0))
    calls: list[torch.Size] = []
    plain = functional.scaled_dot_product_attention

    def counted(query: torch.Tensor, *rest: torch.Tensor, **options: object) -> torch.Tensor:
        calls.append(query.shape)
        return plain(query, *rest, **options)  # type: ignore[arg-type]

    with torch.inference_mode():
        wanted = tower(pixels, grid_thw=GRIDS).pooler_output
        model = torch.nn.Module()
        model.model = torch.nn.Module()
        model.model.visual = tower
        assert vision_windows.attend_in_pieces(model)
        monkeypatch.setattr(vision_windows, "scaled_dot_product_attention", counted)
        found = tower(pixels, grid_thw=GRIDS).pooler_output
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)
    # Five lengths of windows in one layer, three pictures in the other; not one call a window.
    assert len(calls) < 9


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=12))
def test_every_piece_sees_itself_alone(lengths: list[int]) -> None:
    bounds = torch.tensor([0, *lengths]).cumsum(0)
    source = torch.Generator().manual_seed(sum(lengths))
    query, key, value = torch.randn(3, 1, 2, int(bounds[-1]), 4, generator=source)
    found, _ = vision_windows.pieces(
        torch.nn.Identity(), query, key, value, None, 0.5, 0.0, bounds, bounds, 0, 0, False
    )
    assert found.shape == (1, int(bounds[-1]), 2, 4)
    for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        if start < end:
            alone = [states[:, :, start:end] for states in (query, key, value)]
            wanted = (alone[0] @ alone[1].transpose(2, 3) * 0.5).softmax(-1) @ alone[2]
            torch.testing.assert_close(found[:, start:end], wanted.transpose(1, 2))


def test_other_towers_and_other_attention_stay_as_they_are(load: Callable[[str], Loaded]) -> None:
    for family in ("qwen2-vl", "qwen3-vl"):
        assert not vision_windows.attend_in_pieces(load(family).model)
    model = copy.deepcopy(load("qwen2.5-vl").model)
    model.model.visual.config._attn_implementation = "eager"
    assert not vision_windows.attend_in_pieces(model)
    assert model.model.visual.config._attn_implementation == "eager"
