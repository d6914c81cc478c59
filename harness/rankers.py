"""Rankers: order the candidates of a page, the likeliest first.

    ranks = open_ranks("lexical")            # a registered ranker
    ranks = open_ranks("deberta.parquet")    # scores or ranks in a file
    ranks.of(row, page)[:50]

A ranker is registered by name in `RANKERS` (entry-point group `vlm_eval.rankers`): an instance of
`Ranks`, or a class or factory that is called with the text after the colon in `NAME:TEXT` ("" if
there is none) and returns one. `Ranks` gives an order; those that derive from `ByScore` give each
candidate a score.

Files hold stored scores or ranks. A parquet file has one row per step, its candidates best first:
`step_id` (`<annotation_id>_<action_uid>`), `ids`, and lists of the same length `ranks` (0 is best)
and `scores` (higher is better); either may be null. Its metadata name the origin of the ranks, as
JSON under `vlm_eval_ranks`. JSON has the shape of Mind2Web's score file,
`{"scores": {STEP: {NODE: number}}, "ranks": {STEP: {NODE: number}}}`, where either part may be
missing and ranks take precedence; or, for a single step, `{"sample_id": STEP, "ranks": {NODE:
number}, "scores": ...}`. `ranker` may name the ranker ("mind2web" for the published ranks).
"""

from __future__ import annotations

import json
import math
import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from adapters.decoding import decoder_of
from adapters.input_files import open_file, utf8_bytes
from adapters.registry import Registry, UnknownName
from harness.data_files import DataFile, fingerprint
from harness.errors import DataError, UserError
from harness.page import Page
from harness.parquet import column_names, opened, require, small_columns, write_rows
from harness.records import Row

if TYPE_CHECKING:
    import pyarrow as pa


PUBLISHED = "mind2web"
"""Name of the DeBERTa ranking that Mind2Web's authors published."""


class Ranks(Protocol):
    """An order of the candidates of every step; the same step always gets the same order."""

    @property
    def name(self) -> str:
        """The ranker that made the order (`lexical`), also of stored ranks.

        Only runs whose ranker is called `PUBLISHED` are compared with published rows.
        """
        ...

    @property
    def digest(self) -> str:
        """SHA-256 (hexadecimal) of everything that determines the order: scores, weights, version.

        A run records name and digest and can be continued only with the same ranks.
        """
        ...

    def of(self, row: Row, page: Page) -> Sequence[str]:
        """Return ids of the row's candidates, positives and negatives together, best first.

        Must not depend on the row's answer. Raises `DataError` naming the step if a score file
        does not contain it.
        """
        ...

    def missing(self, step_ids: Iterable[str]) -> Sequence[str]:
        """Return the steps that a score file lacks, in the order of `step_ids`."""
        ...


class ByScore(ABC):
    """`Ranks` by scores: the higher, the likelier an element is to be acted on next."""

    @property
    @abstractmethod
    def name(self) -> str: ...

    @property
    @abstractmethod
    def digest(self) -> str: ...

    @abstractmethod
    def scores(self, row: Row, page: Page, ids: Sequence[str]) -> Sequence[float]:
        """Return a score for each of some elements of the step's page, in the order of `ids`."""

    def of(self, row: Row, page: Page) -> Sequence[str]:
        return list(self.scored(row, page))

    def scored(self, row: Row, page: Page) -> dict[str, float]:
        """Return the score of each of the row's candidates, best first.

        Ties are broken by document order, so it does not matter whether a row lists a candidate as
        positive or negative. Candidates that the page does not have as elements come last, with
        -inf.
        """
        present, absent = candidates(row, page)
        scores = [float(score) for score in self.scores(row, page, present)]
        if len(scores) != len(present):
            raise ValueError(f"{self.name} gave {len(scores)} scores for {len(present)} elements")
        # The sort is stable; NaN of a broken model is sorted last.
        order = sorted(
            zip(present, scores, strict=True),
            key=lambda pair: math.inf if math.isnan(pair[1]) else -pair[1],
        )
        return {**dict(order), **dict.fromkeys(absent, -math.inf)}

    def missing(self, step_ids: Iterable[str]) -> Sequence[str]:
        """Always empty: any step can be scored."""
        return ()


def candidates(row: Row, page: Page) -> tuple[list[str], list[str]]:
    """Split a row's candidates: elements of the page in document order, and absent ones by id."""
    ids = set(row.detail.candidates)
    present = page.elements(ids)
    return present, sorted(ids.difference(present))


__all__ = ["PUBLISHED", "RANKERS", "Ranks", "check_covered", "open_ranks"]

RANKERS: Registry[Ranks] = Registry("ranker", "vlm_eval.rankers", has=("of",))
RANKERS.add(
    "lexical",
    "harness.ranker_models.lexical:LexicalRanks",
    "words of the task found in and around the candidate (BM25), no model",
)
RANKERS.add(
    "cross-encoder",
    "harness.ranker_models.cross_encoder:CrossEncoderRanks",
    "a sentence-transformers checkpoint: cross-encoder:PATH, a folder or hub name (extra rank)",
)
RANKERS.add(
    "file",
    "harness.rankers:from_file",
    "stored scores or ranks, JSON or parquet; the path alone is enough",
)
SUFFIXES = (".json", ".jsonl", ".parquet", ".pkl", ".pickle")
_MOST_LISTED = 10


def open_ranks(text: str) -> Ranks:
    """Open a ranker by name, or the ranks in a file.

    Raises:
        UserError: neither a ranker nor a file has this name.
        DataError: the file cannot be read as ranks.
    """
    path = Path(text)
    if path.suffix in SUFFIXES or path.is_file():
        return RANKERS.make("file", text)
    try:
        name, argument = RANKERS.split(text)
        return RANKERS.make(name, argument)
    except UnknownName as error:
        raise UserError(f"--ranker {text}: {error}, and there is no such file") from error


def check_covered(ranks: Ranks, step_ids: Sequence[str], which: str = "selected") -> None:
    """Raise `DataError` if `ranks` lacks any of the steps; it names the first of them."""
    missing = ranks.missing(step_ids)
    if not missing:
        return
    first = ", ".join(missing[:_MOST_LISTED])
    more = f" and {len(missing) - _MOST_LISTED} more" if len(missing) > _MOST_LISTED else ""
    # Stored ranks are named after the ranker that made them; here the user must know which file.
    where = getattr(ranks, "path", ranks.name)
    raise DataError(
        f"{where} has no ranks for {len(missing)} of {len(step_ids)} {which} steps: "
        f"{first}{more}; rank them with vlm-eval rankers rank, or select other steps"
    )


_PARQUET, _PICKLE = b"PAR1", b"\x80"


class _Whole(msgspec.Struct, gc=False):
    ranker: str | None = None
    sample_id: str | None = None
    ranks: msgspec.Raw = msgspec.Raw(b"null")
    scores: msgspec.Raw = msgspec.Raw(b"null")


_WHOLE = decoder_of(_Whole)
_STEPS = decoder_of(dict[str, msgspec.Raw])
_NULL = msgspec.Raw(b"null")
_NUMBERS = decoder_of(dict[str, float])
_ODD = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_EXAMPLE = '{"scores": {STEP: {NODE: number}}} or {"ranks": ...}'


class StoredRanks(ABC):
    """`Ranks` read from a file, with a number per step and candidate.

    ranker: the ranker named in the file, or "".
    """

    path: Path
    ranker: str
    _places: Mapping[str, Any]

    @abstractmethod
    def values(self, step_id: str) -> Mapping[str, float]:
        """Return a number per candidate of a step in the file; lower is better."""

    @property
    def name(self) -> str:
        """The ranker named in the file, else the file's name."""
        return self.ranker or self.path.stem

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the file."""
        file = DataFile(self.path, None, self.path.name, self.path.stat().st_size)
        return str(fingerprint([file])[0]["sha256"])

    def of(self, row: Row, page: Page) -> Sequence[str]:
        """Candidates without a number come last; ties go by document order."""
        if row.unit_id not in self._places:
            raise DataError(f"{self.path} has no ranks for step {row.unit_id}")
        values = self.values(row.unit_id)
        present, absent = candidates(row, page)
        known = [*present, *absent]
        if known and not any(node_id in values for node_id in known):
            raise DataError(
                f"{self.path}, step {row.unit_id}: none of the {len(known)} candidates is in it; "
                "was it made for other data?"
            )
        return sorted(known, key=lambda node_id: values.get(node_id, math.inf))

    def missing(self, step_ids: Iterable[str]) -> Sequence[str]:
        return [step_id for step_id in step_ids if step_id not in self._places]


def from_file(text: str) -> Ranks:
    """Open the ranks in a file. Raises `DataError` if it is missing or holds something else."""
    path = Path(text)
    try:
        with open_file(path) as file:
            start = file.read(4)
    except FileNotFoundError as error:
        raise DataError(f"no such file of scores or ranks: {path}") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    if start.startswith(_PICKLE) or path.suffix in (".pkl", ".pickle"):
        raise DataError(
            f"{path} is a pickle, which can contain code and is never read in a run; "
            f"convert it once: vlm-eval rankers convert {shlex.quote(str(path))} -o ranks.parquet"
        )
    if start == _PARQUET:
        return RankTable(path)
    return JsonScores(path)


class JsonScores(StoredRanks):
    """A JSON file of scores or ranks. Raises `DataError` if it is something else.

    A place is a sign (1: ranks, -1: scores) and undecoded numbers, of which lower is then better.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places: dict[str, tuple[int, msgspec.Raw]] = {}
        try:
            whole = _WHOLE.decode(utf8_bytes(path))
            for sign, part in ((1, whole.ranks), (-1, whole.scores)):
                steps = {} if part == _NULL else _STEPS.decode(part)
                if steps and whole.sample_id:
                    steps = {whole.sample_id: part}
                for step_id, numbers in steps.items():
                    self._places.setdefault(step_id, (sign, numbers))
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error}") from error
        except _ODD as error:
            raise DataError(f"{path} is not JSON of scores ({_EXAMPLE}): {error}") from error
        if not self._places:
            raise DataError(f"{path} has neither 'ranks' nor 'scores'; expected {_EXAMPLE}")
        self.ranker = whole.ranker or ""

    def values(self, step_id: str) -> Mapping[str, float]:
        sign, numbers = self._places[step_id]
        try:
            decoded = _NUMBERS.decode(numbers)
        except _ODD as error:
            raise DataError(f"{self.path}, step {step_id}: {error}") from error
        return {node_id: sign * number for node_id, number in decoded.items()}


_METADATA = b"vlm_eval_ranks"
_STEPS_PER_GROUP = 64


class RankedStep(NamedTuple):
    """A row of the table: a step's candidates, best first, with their ranks, scores or both."""

    step_id: str
    ids: Sequence[str]
    ranks: Sequence[int] | None = None
    scores: Sequence[float] | None = None


class RankTable(StoredRanks):
    """A parquet file of ranks, indexed by step and read on demand.

    Raises:
        DataError: not a file of ranks, damaged, or with a step twice.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places: dict[str, tuple[int, int]] = {}
        self._group = lru_cache(maxsize=2)(self._read_group)
        with opened(path) as file:
            require(path, column_names(file), ("step_id", "ids"), "ranks (vlm-eval rankers rank)")
            self._columns = [name for name in RankedStep._fields if name in column_names(file)]
            self.ranker = _ranker_in(file.schema_arrow.metadata or {})
            for group, offset, record in small_columns(file, ["step_id"]):
                if record["step_id"] in self._places:
                    raise DataError(f"{path} has step {record['step_id']} twice")
                self._places[record["step_id"]] = (group, offset)

    def entry(self, step_id: str) -> RankedStep:
        """Read the row of a step. Raises `KeyError`, or `DataError` for a damaged row."""
        group, offset = self._places[step_id]
        record: dict[str, Any] = self._group(group).slice(offset, 1).to_pylist()[0]
        for name in ("ranks", "scores"):
            if record.get(name) is not None and len(record[name]) != len(record["ids"]):
                raise DataError(f"{self.path}, step {step_id}: {name} and ids differ in length")
        return RankedStep(step_id, record["ids"], record.get("ranks"), record.get("scores"))

    def values(self, step_id: str) -> Mapping[str, float]:
        entry = self.entry(step_id)
        if entry.ranks is not None:
            return dict(zip(entry.ids, entry.ranks, strict=True))
        return {node_id: rank for rank, node_id in enumerate(entry.ids)}

    def _read_group(self, group: int) -> pa.Table:
        with opened(self.path) as file:
            return file.read_row_group(group, columns=self._columns, use_threads=False)


def write_ranks(
    path: Path,
    settings: Mapping[str, object],
    entries: Iterable[RankedStep],
    *,
    overwrite: bool = False,
) -> int:
    """Write ranks as they come, and return the number of steps. Raises as `write_rows`."""
    import pyarrow as pa

    schema = pa.schema(
        [
            ("step_id", pa.string()),
            ("ids", pa.list_(pa.string())),
            ("ranks", pa.list_(pa.int32())),
            ("scores", pa.list_(pa.float32())),
        ],
        metadata={_METADATA: json.dumps(dict(settings), ensure_ascii=False).encode()},
    )
    rows = (entry._asdict() for entry in entries)
    return write_rows(path, rows, schema, rows_per_group=_STEPS_PER_GROUP, overwrite=overwrite)


def _ranker_in(metadata: Mapping[bytes, bytes]) -> str:
    """Return the ranker that the metadata of a table name, "" for none."""
    try:
        settings = json.loads(metadata.get(_METADATA, b"{}"))
    except (ValueError, RecursionError):
        return ""
    return str(settings.get("ranker") or "") if isinstance(settings, dict) else ""
