"""The processes that prepare pages and pictures: jobs, errors, deaths."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from functools import partial

import pytest

from adapters.processes import ChildEnded
from harness.workers import Job, Workers, WorkFailed


@pytest.fixture
def workers() -> Iterator[Workers]:
    made = Workers(1)
    yield made
    made.close()


def job(function: object) -> Job:
    made = Job.of(function)  # type: ignore[arg-type]
    assert made is not None
    return made


def product(factor: int, number: int) -> int:
    return factor * number


def fail(words: str) -> None:
    raise LookupError(words)


def die(number: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Unreadable:
    """It can be pickled, and not be read again."""

    def __reduce__(self) -> tuple[object, ...]:
        return fail, ("not here",)


def test_a_job_takes_what_its_function_holds_along(workers: Workers) -> None:
    assert not workers.pids
    double, triple = job(partial(product, 2)), job(partial(product, 3))
    assert [workers.do(one, 7) for one in (double, triple, double)] == [14, 21, 14]
    (pid,) = workers.pids
    assert pid != os.getpid()


def test_what_a_job_raises_ends_no_process(workers: Workers) -> None:
    with pytest.raises(WorkFailed, match="no such page") as failed:
        workers.do(job(fail), "no such page")
    assert "LookupError" in failed.value.__notes__[0]
    before = workers.pids
    assert workers.do(job(partial(product, 2)), 4) == 8
    assert workers.pids == before


def test_a_process_that_dies_is_replaced_and_knows_the_job_again(workers: Workers) -> None:
    double = job(partial(product, 2))
    assert workers.do(double, 1) == 2
    (first,) = workers.pids
    with pytest.raises(ChildEnded, match="signal 9"):
        workers.do(job(die), 1)
    assert workers.do(double, 2) == 4
    assert workers.pids != (first,)


def test_a_message_that_cannot_be_read_there_is_an_error_here(workers: Workers) -> None:
    with pytest.raises(ChildEnded, match="not here"):
        workers.do(job(partial(product, 2)), Unreadable())
    assert workers.do(job(partial(product, 2)), 2) == 4


def test_what_only_this_process_knows_is_no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Job.of(lambda: 1) is None
    monkeypatch.setattr(product, "__module__", "__main__")
    monkeypatch.setattr(sys.modules["__main__"], "product", product, raising=False)
    assert Job.of(product) is None


def test_nothing_is_done_after_the_end(workers: Workers) -> None:
    workers.close()
    with pytest.raises(ChildEnded, match="closed"):
        workers.do(job(partial(product, 2)), 1)
