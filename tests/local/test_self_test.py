"""A model whose replies depend on their batch, or on its cache, is found when it is loaded."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

import torch
import transformers

from adapters import make
from adapters.contract import Adapter, Fatal
from adapters.conversation import Reply
from adapters.local.self_test import TESTED
from tests.local import test_seq2seq
from tests.local.conftest import Checkpoint
from tests.local.test_adapter import answered
from tests.local.test_every_family import questions, requests
from tests.local.test_seq2seq import ask, folder  # noqa: F401 (a fixture)

Call = Callable[..., Any]
Wrapper = Callable[[Call], Call]
CACHES = ("past_key_values", "cache")
"""Names that versions of transformers have for the cache of a call."""
KINDS = {
    "qwen2-vl": "Qwen2VLForConditionalGeneration",
    "llava": "LlavaForConditionalGeneration",
    "internvl": "InternVLForConditionalGeneration",
}
VERSION = transformers.__version__


def without_mask(forward: Call) -> Call:
    """A model that sees the padding of shorter rows."""

    @functools.wraps(forward)
    def changed(self: Any, *args: Any, **given: Any) -> Any:
        return forward(self, *args, **{**given, "attention_mask": None})

    return changed


def rows_mixed(forward: Call) -> Call:
    """A model in which a row's scores depend on the number of rows before it."""

    @functools.wraps(forward)
    def changed(self: Any, *args: Any, **given: Any) -> Any:
        out = forward(self, *args, **given)
        count = out.logits.shape[0]
        scale = 1 + 0.01 * torch.arange(count, dtype=out.logits.dtype)[:, None, None]
        out.logits = (out.logits * scale).roll(1, dims=-1) if count > 1 else out.logits
        return out

    return changed


def cache_lost(forward: Call) -> Call:
    """A model that ignores the cache, as one whose `forward(**_)` expects it under another name."""

    @functools.wraps(forward)
    def changed(self: Any, *args: Any, **given: Any) -> Any:
        for name in CACHES:
            given.pop(name, None)
        given.pop("attention_mask", None)
        return forward(self, *args, **{**given, "position_ids": None})

    return changed


def cache_shifted(forward: Call) -> Call:
    """A model that forgets the newest keys."""

    @functools.wraps(forward)
    def changed(self: Any, *args: Any, **given: Any) -> Any:
        out = forward(self, *args, **given)
        cache = cache_of(given)
        if cache is not None:
            for layer in cache.layers:
                layer.keys.zero_()
        return out

    return changed


def cache_of(given: dict[str, Any]) -> Any:
    return next((given[name] for name in CACHES if given.get(name) is not None), None)


@contextmanager
def opened(where: Path, **options: object) -> Iterator[Any]:
    adapter = make(f"hf:{where}", devices="cpu", **options)
    try:
        yield adapter
    finally:
        asyncio.run(closed(adapter))


async def closed(adapter: Adapter) -> None:
    await adapter.close()


def written(adapter: Any, name: str, rows: Sequence[int]) -> list[object]:
    asked = [questions(name)[row] for row in rows]
    replies = [asyncio.run(answered(adapter, [r])) for r in requests(asked, "round-1")]
    return [reply.token_ids for (reply,) in replies if isinstance(reply, Reply)]


def patched(monkeypatch: pytest.MonkeyPatch, kind: str, wrapper: Wrapper) -> None:
    model = getattr(transformers, kind)
    monkeypatch.setattr(model, "forward", wrapper(model.forward))


@pytest.mark.parametrize("name", [*KINDS, "paligemma", "mllama", "qwen3.5"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_healthy_model_is_neither_refused_nor_told_about(
    checkpoint: Checkpoint, name: str, dtype: str
) -> None:
    with opened(checkpoint(name), batch_size=3, dtype=dtype) as adapter:
        assert adapter.rows == 3
        assert adapter.notices() == []


@pytest.mark.parametrize("wrapper", [without_mask, rows_mixed])
@pytest.mark.parametrize("name", ["llava", "internvl"])
def test_rows_that_change_each_other_are_answered_one_at_a_time(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch, name: str, wrapper: Wrapper
) -> None:
    with opened(checkpoint(name), batch_size=4) as adapter:
        wanted = written(adapter, name, range(4))
    patched(monkeypatch, KINDS[name], wrapper)
    with opened(checkpoint(name), batch_size=4) as adapter:
        assert adapter.rows == 1
        assert adapter.notices() == [
            f"{adapter.info.name}: batches of one row, since with transformers {VERSION} it does "
            "not answer two rows in a batch as it answers each alone"
        ]
        assert adapter.notices() == []
        assert written(adapter, name, range(4)) == wanted
    with opened(checkpoint(name), batch_size=1) as adapter:
        assert adapter.notices() == []


@pytest.mark.parametrize("wrapper", [cache_lost, cache_shifted])
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_model_that_replies_otherwise_from_its_cache_is_refused(
    checkpoint: Checkpoint,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    wrapper: Wrapper,
    dtype: str,
) -> None:
    patched(monkeypatch, KINDS[name], wrapper)
    monkeypatch.setattr(transformers, "__version__", "5.99.1")
    for rows in (1, 4):
        with pytest.raises(Fatal) as caught:
            make(f"hf:{checkpoint(name)}", devices="cpu", batch_size=rows, dtype=dtype)
        assert str(caught.value) == (
            f"{KINDS[name]} with transformers 5.99.1 does not reply from its cache as it does "
            f"without one, so its replies would be wrong: pip install transformers=={TESTED}, or "
            "let a server run it (--model openai:NAME --base-url URL)"
        )


def test_scores_that_are_all_equal_are_no_difference(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flat(forward: Call) -> Call:
        @functools.wraps(forward)
        def changed(self: Any, *args: Any, **given: Any) -> Any:
            out = forward(self, *args, **given)
            out.logits = torch.zeros_like(out.logits)
            return out

        return changed

    patched(monkeypatch, KINDS["llava"], flat)
    with opened(checkpoint("llava"), batch_size=4) as adapter:
        assert adapter.rows == 4


def seq2seq(where: Path) -> Any:
    return make(f"seq2seq:{where}", devices="cpu", batch_size=4)


def test_encoder_decoder_models_are_tried_in_the_same_way(
    folder: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    adapter = seq2seq(folder)
    assert (adapter.rows, adapter.notices()) == (4, [])
    requests = [ask(texts, step=f"s{n}") for n, texts in enumerate(test_seq2seq.PROMPTS)]
    wanted = asyncio.run(answered(adapter, requests))
    asyncio.run(closed(adapter))
    kind = "T5ForConditionalGeneration"
    with monkeypatch.context() as broken:
        patched(broken, kind, rows_mixed)
        adapter = seq2seq(folder)
        assert adapter.rows == 1
        (notice,) = adapter.notices()
        assert "batches of one row" in notice
        for request, other in zip(requests, wanted, strict=True):
            (reply,) = asyncio.run(answered(adapter, [request]))
            assert isinstance(reply, Reply) and isinstance(other, Reply)
            assert reply.token_ids == other.token_ids
        asyncio.run(closed(adapter))
    patched(monkeypatch, kind, cache_shifted_in_both)
    with pytest.raises(Fatal, match=f"{kind} with transformers .* does not reply from its cache"):
        seq2seq(folder)


def test_a_model_that_cannot_be_called_is_told_in_one_line(
    folder: Path,  # noqa: F811
    checkpoint: Checkpoint,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failing(forward: Call) -> Call:
        @functools.wraps(forward)
        def changed(self: Any, *args: Any, **given: Any) -> Any:
            raise AttributeError("no attribute 'image_outputs'")

        return changed

    patched(monkeypatch, "T5ForConditionalGeneration", failing)
    patched(monkeypatch, KINDS["llava"], failing)
    for name in (f"seq2seq:{folder}", f"hf:{checkpoint('llava')}"):
        with pytest.raises(Fatal, match=r"^the model failed on cpu: .*no attribute 'image"):
            make(name, devices="cpu")


def cache_shifted_in_both(forward: Call) -> Call:
    @functools.wraps(forward)
    def changed(self: Any, *args: Any, **given: Any) -> Any:
        out = forward(self, *args, **given)
        cache = cache_of(given)
        if cache is not None:
            for layer in cache.self_attention_cache.layers:
                layer.keys.mul_(-3)
                layer.values.mul_(-3)
        return out

    return changed


def test_the_version_that_is_named_is_the_one_that_the_tests_run_with() -> None:
    constraints = Path(__file__).parents[2] / "constraints.txt"
    assert f"transformers=={TESTED}" in constraints.read_text().splitlines()
