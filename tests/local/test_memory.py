"""Out of memory: less at a time, nothing lost, and remembered."""

from __future__ import annotations

import threading
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
from adapters.local.generate import Generator
from adapters.local.memory import WorkingSize, is_out_of_memory, plan
from adapters.local.worker import ThreadWorker
from tests.local.conftest import Load
from tests.local.examples import go_on, ids_of, reference, talks


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
    assert generator.stats.halved == 2
    assert any("do not fit" in notice and "at a time" in notice for notice in generator.notices())
    assert generator.notices() == []


def test_what_is_kept_for_other_dialogues_goes_before_the_batch_is_made_smaller(
    loaded: Loaded,
) -> None:
    """On a device that has room for a batch, or for what is kept, but not for both."""
    model = loaded.model
    generator = Generator(loaded, rows=8)
    waiting = [talks(model, 4, seed=seed) for seed in (5, 6)]
    answers = [ids_of(generator.run([t.work(model) for t in each])) for each in waiting]
    works = [talk.work(model, continues=False) for talk in talks(model, 8)]

    def crowded() -> int:
        return 0 if len(generator.cohorts) > 1 else 10**9

    with limited(model, crowded, torch.OutOfMemoryError("no room")) as sizes:
        made = ids_of(generator.run(works))
        assert sizes.seen == [8, 8]
    assert made == [reference(loaded, work) for work in works]
    assert generator.stats.halved == 0
    assert generator.stats.dropped == 1
    assert len(generator.cohorts) == 1
    # The dialogues of the cohort that was let go are computed in full, with the same replies.
    for open_talks, replies in zip(waiting, answers, strict=True):
        go_on(open_talks, replies)
        again = [talk.work(model) for talk in open_talks]
        assert ids_of(generator.run(again)) == [reference(loaded, work) for work in again]
    assert generator.stats.reused == 4
    assert generator.stats.recomputed == 4


def test_a_round_that_runs_out_while_it_goes_on_is_computed_again(loaded: Loaded) -> None:
    """The cache was grown in some layers and not in others: nobody may go on from it."""
    model = loaded.model
    generator = Generator(loaded)
    open_talks = talks(model, 6)
    go_on(open_talks, ids_of(generator.run([talk.work(model) for talk in open_talks])))
    works = [talk.work(model) for talk in open_talks]
    error = torch.OutOfMemoryError("no room")
    with limited(model, 6 * 2 - 1, error), pytest.raises(AssertionError, match="do not fit"):
        ids_of(generator.run(works))
    generator = Generator(loaded)
    open_talks = talks(model, 6)
    go_on(open_talks, ids_of(generator.run([talk.work(model) for talk in open_talks])))
    works = [talk.work(model) for talk in open_talks]
    widest = max(work.encoded.length for work in works)
    with limited(model, 2 * widest, error):
        assert ids_of(generator.run(works)) == [reference(loaded, work) for work in works]


def test_one_step_that_never_fits_is_told_and_the_others_are_answered(loaded: Loaded) -> None:
    model = loaded.model
    works = [talk.work(model) for talk in talks(model, 6)]
    lengths = sorted(work.encoded.length for work in works)
    generator = Generator(loaded)
    with limited(model, lengths[-2], torch.OutOfMemoryError("no room")) as sizes:
        results = generator.run(works)
        sizes.seen.clear()
        # Asking again, as the engine does, is answered at once.
        again = generator.run([max(works, key=lambda work: work.encoded.length)])
        assert isinstance(again[0], Fault)
        assert sizes.seen == []
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


def test_a_batch_is_cut_by_rows_and_by_cells() -> None:
    size = WorkingSize(rows=3)
    assert [len(part) for part in size.split([5, 5, 5, 5, 5])] == [3, 2]
    size.failed(rows=4, columns=10)
    assert size.split([4, 9, 10, 1, 20]) == [[4], [2, 1], [0, 3]]
    size.failed(rows=1, columns=30)
    assert size.split([40]) == [[0]]
    assert [size.hopeless(columns) for columns in (29, 30, 31)] == [False, True, True]


def test_the_plan_leaves_room_for_what_is_kept() -> None:
    """A 7B model (57,344 bytes a token) in 60 GiB, and the original Qwen-VL (524,288)."""
    small = plan(60 * 2**30, 57_344, 250_000, 3_300)
    large = plan(60 * 2**30, 524_288, 250_000, 1_500)
    assert (small.rows, large.rows) == (40, 16)
    for made, kept, tokens in ((small, 57_344, 3_300), (large, 524_288, 1_500)):
        assert made.open_dialogues * tokens * kept + made.rows * tokens * 250_000 < 60 * 2**30
        assert made.open_dialogues >= 2 * made.rows
    assert plan(2**20, 57_344, 250_000, 3_300).rows == 1
    assert plan(60 * 2**30, 57_344, 250_000, 3_300, rows=5).rows == 5


def fails(error: Exception) -> Callable[..., Any]:
    def fail(*_: object) -> None:
        raise type(error)(*error.args)

    return fail


def test_rows_that_cannot_be_copied_when_a_step_is_released_are_computed_again(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two batches there may be less memory than the rows of one layer take."""
    model = loaded.model
    generator = Generator(loaded)
    open_talks = talks(model, 4)
    go_on(open_talks, ids_of(generator.run([talk.work(model) for talk in open_talks])))
    with monkeypatch.context() as patched:
        full = torch.OutOfMemoryError("no room")
        # The first layer has fewer rows by then, the second has all.
        layer = generator.cohorts._cohorts[0].cache.layers[1]
        patched.setattr(layer, "select", fails(full))
        for talk in open_talks[:2]:
            generator.release(talk.step_id)
    assert len(generator.cohorts) == 0
    assert generator.stats.dropped == 1
    works = [talk.work(model) for talk in open_talks[2:]]
    assert ids_of(generator.run(works)) == [reference(loaded, work) for work in works]


@pytest.mark.parametrize("busy", [False, True])
def test_an_error_between_batches_fails_what_waits_and_what_comes(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch, busy: bool
) -> None:
    """Nothing may wait for a thread that has ended."""
    worker = ThreadWorker(loaded, rows=2)
    works = [talk.work(loaded.model) for talk in talks(loaded.model, 2)]
    begun, go = threading.Event(), threading.Event()
    run = worker._generator.run

    def slow(batch: Any) -> Any:
        begun.set()
        assert go.wait(60)
        return run(batch)

    monkeypatch.setattr(worker._generator, "run", slow)
    error = RuntimeError("CUDA error: unspecified launch failure\nmore")
    monkeypatch.setattr(worker._generator.cohorts, "release", fails(error))
    answered = []
    if busy:
        answered.append(worker.submit(works))
        assert begun.wait(60)
    worker.release("some step")
    waiting = [worker.submit(works) for _ in range(2)] if busy else []
    go.set()
    if busy:
        assert len(ids_of(answered[0].result(60))) == 2
    worker._thread.join(60)
    for future in (*waiting, worker.submit(works)):
        with pytest.raises(Fatal, match="cpu: RuntimeError: CUDA error: unspecified") as told:
            future.result(60)
        assert "\n" not in str(told.value)
    assert worker.ended == str(told.value)
    worker.close()


def test_nothing_of_a_failed_batch_is_held(loaded: Loaded) -> None:
    works = [talk.work(loaded.model) for talk in talks(loaded.model, 2)]
    with limited(loaded.model, 1, torch.OutOfMemoryError("no room")) as sizes:
        Generator(replace(loaded)).run(works)
        assert all(hidden() is None for hidden in sizes.held)
