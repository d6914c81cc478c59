"""The model takes its cache under the names that transformers has for it, and nothing unknown."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

import torch
from transformers import DynamicCache

from adapters.local.contract import Loaded
from adapters.local.qwen_vl.model import QwenVL
from adapters.local.qwen_vl.vision import plain_attention


@pytest.mark.parametrize("name", ["cache", "past_key_values"])
def test_a_cache_is_read_under_either_name_that_transformers_has_for_it(
    loaded: Loaded, name: str
) -> None:
    ids = torch.arange(30)[None]
    given = {name: DynamicCache(config=loaded.model.config)}
    with torch.inference_mode():
        whole = loaded.model(ids).logits
        first = loaded.model(ids[:, :20], **given).logits
        second = loaded.model(ids[:, 20:], **given).logits
    torch.testing.assert_close(torch.cat([first, second], 1), whole, rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", ["token_type_ids", "cache_params", "encoder_states"])
def test_an_input_that_the_model_does_not_know_is_refused(loaded: Loaded, name: str) -> None:
    ids = torch.arange(5)[None]
    with pytest.raises(TypeError, match=name):
        loaded.model(ids, **{name: ids})


@pytest.mark.parametrize("called", [QwenVL.forward, plain_attention])
def test_what_transformers_calls_takes_nothing_that_it_would_ignore(
    called: Callable[..., object],
) -> None:
    kinds = {one.kind for one in signature(called).parameters.values()}
    assert kinds == {Parameter.POSITIONAL_OR_KEYWORD}
