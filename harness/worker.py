"""What a process of `Workers` runs. It loads this file by its path, and no package of ours unless a
job needs it."""

from __future__ import annotations

import gc
import pickle
import runpy  # noqa: TID251 (files of ours, named by the process that started this one)
import traceback
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from adapters.child import Receive, Send

_GARBAGE = 50_000
"""Objects between collections of garbage: a page has thousands, which are gone when it is done."""


def serve(receive: Receive, send: Send) -> None:
    """Do jobs, one after the other.

    A message is the name of a job, its function pickled or None, and arguments. The answer is what
    the function returned, followed by None; or None and the error, in words and as a traceback; or
    only None for a function that is not known here.
    """
    gc.set_threshold(_GARBAGE)
    functions: dict[str, Callable[..., Any]] = {}
    while True:
        name, code, arguments = receive()
        answer: tuple[Any, tuple[str, str] | None] | None
        try:
            if name not in functions and (function := _loaded(name, code)) is not None:
                functions[name] = function
            answer = (functions[name](*arguments), None) if name in functions else None
        except Exception as error:  # whatever it is, it must not end the process
            answer = None, (str(error) or type(error).__name__, traceback.format_exc())
        send(answer)
        # Nothing is held while the next message is waited for.
        del arguments, answer


def _loaded(name: str, code: bytes | None) -> Callable[..., Any] | None:
    function: Callable[..., Any] | None = None
    if code is not None:
        # Pickled by the process that started this one.
        function = pickle.loads(code)  # noqa: S301
    elif ".py:" in name:
        path, _, attribute = name.rpartition(":")
        function = runpy.run_path(path)[attribute]
    return function
