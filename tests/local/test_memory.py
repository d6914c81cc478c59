"""Out of memory: less at a time, nothing lost, and remembered."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra 'local' is not installed")
pytest.importorskip("transformers", reason="the extra 'local' is not installed")

import torch

from adapters.contract import Fatal, Fault
from adapters.local.contract import Generated, Loaded
from adapters.local.generate import Generator, is_out_of_memory
from tests.local.conftest import Load
from tests.local.examples import ids_of, reference, talks


@pytest.fixture
def loaded(load: Load) -> Loaded:
    return load("qwen2.5-vl")


class Sizes:
    """A device on which a forward pass of more than so many cells does not fit."""

    def __init__(self) -> None:
        self.seen: list[int] = []
        self.held: list[weakref.ref[Any]] = []


@contextmanager
def limited(model: Any, cells: int | Callable[[], int], error: Exception) -> Iterator[Sizes]:
    """The second layer fails, when the first has grown the cache."""
    sizes = Sizes()
    layer = model.model.language_model.layers[1]

    def check(module: Any, args: Any, kwargs: Any) -> None:
        hidden = args[0] if args else kwargs["hidden_states"]
        rows, columns = int(hidden.shape[0]), int(hidden.shape[1])
        if columns > 1:
            sizes.seen.append(rows)
        sizes.held.append(weakref.ref(hidden))
        if rows * columns > (cells() if callable(cells) else cells):
            raise type(error)(*error.args)  # anew: an error holds the frames it came through

    hook = layer.register_forward_pre_hook(check, with_kwargs=True)
    try:
        yield sizes
    finally:
        hook.remove()


def test_what_does_not_fit_is_halved_and_the_size_is_remembered(loaded: Loaded) -> None:
    model = loaded.model
    generator = Generator(loaded, rows=8)
    works = [talk.work(model) for talk in talks(model, 8)]
    widest = max(work.encoded.length for work in works)
    with limited(model, 3 * widest, torch.OutOfMemoryError("no room")) as sizes:
        assert ids_of(generator.run(works)) == [reference(loaded, work) for work in works]
        tried = sizes.seen[: len(sizes.seen) - 8]
        assert tried[0] == 8
        assert max(tried[2:]) <= 3
        sizes.seen.clear()
        # The next batch begins with what worked.
        generator.run([talk.work(model) for talk in talks(model, 8, seed=3)])
        assert max(sizes.seen) <= 3
    notices = generator.notices.take()
    assert [notice.rpartition(": ")[2] for notice in notices] == [
        "continuing with 4 at a time",
        "continuing with 2 at a time",
    ]
    assert all("do not fit into the memory of cpu" in notice for notice in notices)
    assert generator.notices.take() == []


def test_one_step_that_never_fits_is_told_and_the_others_are_answered(loaded: Loaded) -> None:
    model = loaded.model
    works = [talk.work(model) for talk in talks(model, 6)]
    lengths = sorted(work.encoded.length for work in works)
    generator = Generator(loaded)
    with limited(model, lengths[-2], torch.OutOfMemoryError("no room")):
        results = generator.run(works)
    faults = [result for result in results if isinstance(result, Fault)]
    assert len(faults) == 1
    assert "\n" not in str(faults[0])
    assert "step-0-" in str(faults[0])
    assert "--adapter-option max_pixels" in str(faults[0])
    for work, result in zip(works, results, strict=True):
        if isinstance(result, Generated):
            assert list(result.ids) == reference(loaded, work)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (RuntimeError("CUDA error: device-side assert triggered\nmore"), "device-side assert"),
        (ValueError("wrong shape"), "ValueError: wrong shape"),
    ],
)
def test_any_other_failure_of_the_model_ends_the_run_with_one_line(
    loaded: Loaded, error: Exception, message: str
) -> None:
    works = [talk.work(loaded.model) for talk in talks(loaded.model, 2)]
    with limited(loaded.model, 0, error), pytest.raises(Fatal, match=message) as told:
        Generator(loaded).run(works)
    assert "\n" not in str(told.value)
    assert "cpu" in str(told.value)


def test_libraries_beneath_torch_run_out_of_memory_too() -> None:
    assert is_out_of_memory(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling"))
    assert is_out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"))
    assert not is_out_of_memory(RuntimeError("CUDA error: an illegal memory access"))


def test_nothing_of_a_failed_batch_is_held(loaded: Loaded) -> None:
    works = [talk.work(loaded.model) for talk in talks(loaded.model, 2)]
    with limited(loaded.model, 1, torch.OutOfMemoryError("no room")) as sizes:
        Generator(replace(loaded)).run(works)
        assert all(hidden() is None for hidden in sizes.held)
