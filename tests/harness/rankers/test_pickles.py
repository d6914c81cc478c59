"""Hostile and honest pickles. What the hostile ones would do leaves a trace, and none is left."""

from __future__ import annotations

import collections
import datetime
import os
import pickle
import pickletools
from pathlib import Path
from typing import Any

import pytest

from harness.errors import DataError
from harness.ranker_models.pickles import UnsafePickle, convert
from harness.rankers import RankTable

SCORES = {"t_u": {"1": 0.5, "2": -3.0, "3": 9.0}, "t_v": {"7": 1.0}}
RANKS = {"t_u": {"1": 1, "2": 2, "3": 0}, "t_v": {"7": 0}}


def dumped(path: Path, what: object, protocol: int = pickle.HIGHEST_PROTOCOL) -> Path:
    path.write_bytes(pickle.dumps(what, protocol))
    return path


def as_default(steps: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    made: dict[str, dict[str, Any]] = collections.defaultdict(dict)
    made.update({step: dict(numbers) for step, numbers in steps.items()})
    return made


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("default", [False, True])
@pytest.mark.parametrize("parts", [("scores", "ranks"), ("scores",), ("ranks",)])
def test_plain_scores_are_converted(
    tmp_path: Path, protocol: int, default: bool, parts: tuple[str, ...]
) -> None:
    whole: dict[str, dict[str, Any]] = {"scores": SCORES, "ranks": RANKS}
    made = {name: as_default(whole[name]) if default else whole[name] for name in parts}
    done = convert(dumped(tmp_path / "s.pkl", made, protocol), tmp_path / "r.parquet")
    assert done == (2, 4, sorted(parts))
    table = RankTable(tmp_path / "r.parquet")
    entry = table.entry("t_u")
    assert list(entry.ids) == ["3", "1", "2"] and entry.ranks == [0, 1, 2]
    assert entry.scores == ([9.0, 0.5, -3.0] if "scores" in parts else None)


def test_the_outermost_may_be_a_defaultdict(tmp_path: Path) -> None:
    made = as_default({})
    made.update(scores=as_default(SCORES), ranks=dict(RANKS))
    assert convert(dumped(tmp_path / "s.pkl", made), tmp_path / "r.parquet")[0] == 2


class Call:
    """Pickles as a call of a function, which unpickling carries out."""

    def __init__(self, function: Any, *arguments: object) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize(
    ("function", "arguments", "name"),
    [
        (os.system, ("touch {trace}",), "posix.system|nt.system"),
        (eval, ("open({trace!r}, 'w')",), "builtins.eval|__builtin__.eval"),
        (exec, ("open({trace!r}, 'w')",), "builtins.exec|__builtin__.exec"),
        (getattr, (dict, "fromkeys"), "builtins.getattr|__builtin__.getattr"),
        (open, ("{trace}", "w"), "io.open|_io.open"),
        (os.mkdir, ("{trace}",), "posix.mkdir|nt.mkdir"),
        (datetime.date, (2020, 1, 1), "datetime.date"),
        (collections.OrderedDict, (), "collections.OrderedDict"),
    ],
)
def test_code_is_refused_by_its_name_and_not_run(
    tmp_path: Path, protocol: int, function: Any, arguments: tuple[Any, ...], name: str
) -> None:
    trace = tmp_path / "trace"
    filled = tuple(a.format(trace=str(trace)) if isinstance(a, str) else a for a in arguments)
    for hostile in (Call(function, *filled), {"scores": {"t_u": {"1": Call(function, *filled)}}}):
        path = dumped(tmp_path / "s.pkl", hostile, protocol)
        with pytest.raises(UnsafePickle, match=name):
            convert(path, tmp_path / "r.parquet")
    assert not trace.exists() and not (tmp_path / "r.parquet").exists()


@pytest.mark.parametrize(
    "opcodes",
    [
        b"cos\nsystem\n(S'touch /dev/null'\ntR.",
        b"(S'touch /dev/null'\nios\nsystem\n.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x01x\x85R.",
        b"(cos\nsystem\nS'x'\no.",
    ],
)
def test_every_opcode_that_names_something_is_stopped(tmp_path: Path, opcodes: bytes) -> None:
    pickletools.dis(opcodes, out=open(os.devnull, "w"))  # noqa: PTH123, SIM115
    path = tmp_path / "s.pkl"
    path.write_bytes(opcodes)
    with pytest.raises(UnsafePickle, match=r"names os\.system"):
        convert(path, tmp_path / "r.parquet")


def test_what_numpy_would_have_written_is_refused_by_name(tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    path = dumped(tmp_path / "s.pkl", {"scores": {"t_u": {"1": numpy.float32(1)}}})
    with pytest.raises(UnsafePickle, match=r"numpy[\w.]*\.scalar"):
        convert(path, tmp_path / "r.parquet")


@pytest.mark.parametrize(
    ("whole", "complaint"),
    [
        ([1], "not of the form"),
        ({"scores": [1]}, "not of the form"),
        ({"scores": {"t_u": [1]}}, "step 't_u' has a list"),
        ({"scores": {"t_u": {"1": "best"}}}, "a str for node '1'"),
        ({"scores": {"t_u": {"1": True}}}, "a bool for node '1'"),
        ({"scores": {"t_u": {"1": 10**400}}}, r"10000000\d*\.\.\. as the score"),
        ({"scores": {"t_u": {"1": float("nan")}}}, "nan as the score"),
        ({"scores": {"t_u": {(1, 2): 1}}}, "a tuple as a node"),
        ({"scores": {("t",): {"1": 1}}}, "the name of a step must be text"),
        ({"scores": {"\ud800": {"1": 1}}}, "the name of a step must be text"),
        ({"scores": {"t_u": {"\udfff": 1}}}, "as a node"),
        ({"scores": {"t_u": {"1": 10**6000}}}, "thousands of digits as the score"),
        ({"ranks": {"t_u": {"1": 10**6000}}}, "thousands of digits as the rank"),
        ({"ranks": {"t_u": {"1": 0.5}}}, r"0\.5 as the rank of node '1'"),
        ({"ranks": {"t_u": {"1": float("nan")}}}, "nan as the rank"),
        ({"ranks": {"t_u": {"1": -1}}}, "-1 as the rank"),
    ],
)
def test_other_plain_data_is_refused(tmp_path: Path, whole: object, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint) as raised:
        convert(dumped(tmp_path / "s.pkl", whole), tmp_path / "r.parquet")
    assert "\n" not in str(raised.value)


def test_a_dict_that_several_steps_share_is_of_each(tmp_path: Path) -> None:
    shared = {"1": 1.0}
    made = {"scores": {"t_u": shared, "t_v": shared}}
    assert convert(dumped(tmp_path / "s.pkl", made), tmp_path / "r.parquet")[1] == 2


def test_a_small_file_cannot_stand_for_a_large_result(tmp_path: Path) -> None:
    shared = {str(node): 1.0 for node in range(200)}
    path = dumped(tmp_path / "s.pkl", {"scores": {f"t_{step}": shared for step in range(3000)}})
    with pytest.raises(DataError, match="repeats its parts"):
        convert(path, tmp_path / "r.parquet")
    assert not (tmp_path / "r.parquet").exists()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system tells no memory use")
@pytest.mark.parametrize(
    "opcodes",
    [
        b"\x80\x04\x8c\x06scoresr\xff\xff\xff\x0f.",  # a memo of 2**28 places
        b"\x80\x04\x95" + (1 << 40).to_bytes(8, "little") + b".",  # a frame of a terabyte
        b"\x80\x04\x8d" + (1 << 40).to_bytes(8, "little") + b"abc.",  # a text of a terabyte
    ],
)
def test_a_few_bytes_cannot_fill_the_memory(tmp_path: Path, opcodes: bytes) -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    path = tmp_path / "s.pkl"
    path.write_bytes(opcodes)
    with pytest.raises(DataError, match="made to fill the memory"):
        convert(path, tmp_path / "r.parquet")
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_a_long_name_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "s.pkl"
    path.write_bytes(b"c" + b"a" * 100_000 + b"\nb\n.")
    with pytest.raises(UnsafePickle, match=r"names a{80}\.\.\.;") as raised:
        convert(path, tmp_path / "r.parquet")
    assert len(str(raised.value)) < 500


def test_attributes_cannot_be_set_by_a_pickle(tmp_path: Path) -> None:
    # BUILD with a state for slots, (None, {"packed": ...}), on a defaultdict.
    hostile = (
        b"\x80\x04}\x8c\x06scores\x8c\x0bcollections\x8c\x0bdefaultdict\x93)R"
        b"N}\x8c\x06packed}\x8c\x03t_uK\x01sss\x86bs."
    )
    path = tmp_path / "s.pkl"
    path.write_bytes(hostile)
    with pytest.raises(DataError, match="not a pickle, or is damaged"):
        convert(path, tmp_path / "r.parquet")


@pytest.mark.parametrize("content", [b"", b"text", b"\x80\x04", b"\x80\x04K\x01", b"\x82\x01."])
def test_what_is_no_pickle_is_said_to_be_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "s.pkl"
    path.write_bytes(content)
    with pytest.raises(DataError, match="not a pickle, or is damaged"):
        convert(path, tmp_path / "r.parquet")


def test_a_result_is_not_overwritten(tmp_path: Path) -> None:
    path = dumped(tmp_path / "s.pkl", {"scores": SCORES})
    convert(path, tmp_path / "r.parquet")
    with pytest.raises(DataError, match="exists"):
        convert(path, tmp_path / "r.parquet")
    convert(path, tmp_path / "r.parquet", overwrite=True)
