"""Tables of examples in one test: thousands of quick rows cost less than a test for each."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

Test = Callable[..., None]


def rows(
    names: str | tuple[str, ...], values: Iterable[Any], ids: Iterable[str] | None = None
) -> Callable[[Test], Test]:
    """Call a test with every row, as `pytest.mark.parametrize` does; report all rows that fail."""
    columns = (names,) if isinstance(names, str) else names
    table = [(value,) if isinstance(names, str) else value for value in values]
    labels = [str(row) for row in table] if ids is None else list(ids)

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def every(**fixtures: Any) -> None:
            failures = list[BaseException]()
            for label, row in zip(labels, table, strict=True):
                try:
                    test(**fixtures, **dict(zip(columns, row, strict=True)))
                except (Exception, pytest.fail.Exception) as failure:
                    failure.add_note(f"row: {label}")
                    failures.append(failure)
            if len(failures) == 1:
                raise failures[0]
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(table)} rows", failures)

        signature = inspect.signature(test)
        others = [one for name, one in signature.parameters.items() if name not in columns]
        vars(every)["__signature__"] = signature.replace(parameters=others)
        return every

    return decorate
