"""Processes that prepare pictures, each with a thread of this process that waits for it.

If a process dies, only the picture that it was working on is affected.
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
    """A fixed number of processes that prepare pictures, each started when first needed."""

    def __init__(self, count: int) -> None:
        # If a process dies, the picture is tried once more in another.
        self._pool = Pool(_ENTRY, count, name="pictures", attempts=2)

    @property
    def threads(self) -> ThreadPoolExecutor:
        """As many as there are processes."""
        return self._pool.threads

    @property
    def pids(self) -> tuple[int, ...]:
        """Ids of the running processes."""
        return self._pool.pids

    def prepare(self, source: bytes, recipe: Recipe, form: Form = "encoded") -> tuple[bytes, str]:
        """Prepare a picture; blocks, so call it on one of `threads`.

        Returns:
            The encoded picture and its media type; RGB values and "" for the form `pixels`.

        Raises:
            PictureError: the picture cannot be prepared, or two processes died over it.
        """
        # Built-in types only, so that the process need not import this package.
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
        """End the processes at once; they have nothing to save."""
        self._pool.close()
