"""A bound on time that tells a law from its square, on any machine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

ENOUGH_S = 20


@contextmanager
def linear_time() -> Iterator[None]:
    """Fail if what runs inside takes 20 s of processor time.

    The texts inside are long enough that a quadratic reader takes minutes; a linear one takes less
    than a second, a collection of garbage among millions of objects included.
    """
    started = time.process_time()
    yield
    assert time.process_time() - started < ENOUGH_S, "this is not linear time"
