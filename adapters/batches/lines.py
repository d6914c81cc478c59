"""Lines of requests and of results, for an adapter whose ordinary calls they replace.

A request has the body that `ask` would send; a result is read as the reply that `ask` would
receive, and a failure judged as that of an ordinary call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar, get_args, get_origin

import msgspec

from adapters.api import ApiAdapter
from adapters.batches.contract import Line, Relearned, Result
from adapters.checks import plain_json
from adapters.contract import Fault, PictureSource, Request
from adapters.conversation import Finish
from adapters.faults import Failure

MAX_ID = 200
"""Characters of a result's id."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Said:
    """A line of results: an answer as plain JSON, with the headers that it came with, or a
    failure."""

    id: str
    answer: object = None
    headers: Mapping[str, str] = field(default_factory=dict)
    failure: Failure | None = None


class Lines(ABC):
    """Requests to one adapter as lines; a subclass knows their form.

    id_field: the field of a line of results that holds the id of its request.
    """

    id_field: ClassVar[str] = "custom_id"

    def __init__(self, adapter: ApiAdapter) -> None:
        self._adapter = adapter

    async def line(self, id: str, request: Request, pictures: PictureSource) -> Line:
        body, sent = await self._adapter.body(_unmarked(request), pictures)
        return Line(self._wrapped(id.encode(), body), sent)

    def id_of(self, line: bytes) -> str:
        plain, _ = read_loosely(line, dict)
        id = plain.get(self.id_field)
        if not isinstance(id, str) or not 0 < len(id) <= MAX_ID:
            raise ValueError(f"no id in {self.id_field}")
        return id

    def read(self, line: bytes, request: Request, sent: Mapping[str, object]) -> Result:
        said, parameters, adapter = self._said(line), dict(sent), self._adapter
        if said.failure is not None:
            verdict = adapter.verdict(said.failure, parameters)
            if verdict is None:
                return Result(said.id, Relearned(adapter.clean(said.failure.message)))
            if isinstance(verdict, Finish):
                return Result(said.id, adapter.ended(verdict, said.failure, parameters))
            return Result(said.id, verdict)
        try:
            answer: Any = msgspec.convert(said.answer, adapter.answers)
            reply = adapter.read(_unmarked(request), answer, said.headers, sent=parameters)
        except (ValueError, msgspec.ValidationError) as error:
            begins = repr(said.answer)[:400]
            line_of = adapter.clean(f"reply cannot be read ({error}; it begins {begins})")
            return Result(said.id, Fault("malformed", f"{adapter.speaker}: {line_of}"))
        return Result(said.id, reply)

    @abstractmethod
    def _wrapped(self, id: bytes, body: bytes) -> bytes:
        """Return a line of requests, of the body of one."""

    @abstractmethod
    def _said(self, line: bytes) -> Said:
        """Read a line of results. Raises ValueError if it has none."""


def _unmarked(request: Request) -> Request:
    """Return the request without a tier, and without marks for the prompt cache, which a batch
    would rarely read."""
    return replace(request, continues=False, tier="")


def read_loosely(data: bytes, kind: type[T]) -> tuple[T, frozenset[str]]:
    """Read a server's JSON as a record, without fields of another type than the record's.

    Items of lists that cannot be read are left out as well, and bytes that are not UTF-8 replaced.
    Returns the record and the names of the fields that were left out. Raises ValueError where no
    JSON object comes, or a field without a default is missing.
    """
    left_out: set[str] = set()
    cleaned = _cleaned(plain_json(data, "replace"), kind, left_out)
    return msgspec.convert(cleaned, kind), frozenset(left_out)


def _cleaned(plain: Any, kind: Any, left_out: set[str]) -> Any:
    """Return the part of plain JSON that a type takes. Raises ValueError where it takes none of
    it."""
    inner = [one for one in get_args(kind) if one is not type(None)]
    if get_origin(kind) is list and isinstance(plain, list):
        return [item for one in plain for item in _item(one, inner[0], left_out)]
    if plain is not None and len(inner) == 1 and get_origin(kind) is not list:
        return _cleaned(plain, inner[0], left_out)
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        msgspec.convert(plain, kind)
        return plain
    if not isinstance(plain, dict):
        raise ValueError(f"a {type(plain).__name__} instead of an object")
    kept = {}
    for one in msgspec.structs.fields(kind):
        if one.encode_name in plain:
            try:
                kept[one.encode_name] = _cleaned(plain[one.encode_name], one.type, left_out)
            except ValueError:
                left_out.add(one.encode_name)
    return kept


def _item(plain: Any, kind: Any, left_out: set[str]) -> list[Any]:
    """Return an item of a list, or none if it cannot be read."""
    try:
        cleaned = _cleaned(plain, kind, left_out)
        msgspec.convert(cleaned, kind)
    except ValueError:
        return []
    return [cleaned]
