"""Processes that prepare pictures, each served by a thread of its own.

A process that dies takes down the one picture it was working on. The threads only wait on pipes;
the work is in the processes.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from pickle import PickleBuffer

from adapters.processes import ChildEnded, Pool
from harness.pictures.header import PictureError
from harness.pictures.recipe import Form, Recipe

_ENTRY = f"{Path(__file__).with_name('imaging.py')}:serve"


class Workers:
    """A fixed number of preparing processes, each started when it first has something to do."""

    def __init__(self, count: int) -> None:
        # A process that died is replaced once per picture.
        self._pool = Pool(_ENTRY, count, name="pictures", attempts=2)

    @property
    def threads(self) -> ThreadPoolExecutor:
        """As many as there are processes."""
        return self._pool.threads

    @property
    def pids(self) -> tuple[int, ...]:
        """The ids of the processes that run now."""
        return self._pool.pids

    def prepare(self, source: bytes, recipe: Recipe, form: Form = "encoded") -> tuple[bytes, str]:
        """Encoded picture and media type, or RGB bytes and nothing; blocks, for one of `threads`.

        Raises `PictureError` when the picture cannot be prepared, or ended two processes.
        """
        # Nothing but built-in types, so that the process need not import this package.
        fields = {**asdict(recipe), "marks": [tuple(mark) for mark in recipe.marks]}
        try:
            answer = self._pool.ask((PickleBuffer(source), fields, form))
        except ChildEnded as error:
            raise PictureError(f"preparing it ended two worker processes ({error})") from None
        if isinstance(answer, str):
            raise PictureError(answer)
        data, media_type = answer
        return bytes(data), media_type

    def close(self) -> None:
        """End the processes, finished or not: they hold nothing that must be saved."""
        self._pool.close()
