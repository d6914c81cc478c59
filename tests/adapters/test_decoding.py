"""Threads that meet a class which msgspec has not read yet: a child process holds such races."""

from __future__ import annotations

import pytest

from tests.programs import completed

RACES = """
import sys, threading, types
from adapters.decoding import convert_to, decode_json, decoder_of

CLASSES = '''
from __future__ import annotations
from dataclasses import dataclass
from typing import NamedTuple, TypedDict
import msgspec
{made}
    a: int
    b: str
    c: Inner | None
{inner}
    a: int
    b: dict[str, list[int]]
    c: list[Outer]
'''
INNER = '{"a": 2, "b": {"x": [1]}, "c": []}'
TEXT = '{"a": 1, "b": "x", "c": ' + INNER + '}'
if "NamedTuple" in sys.argv[2]:
    TEXT = '[1, "x", [2, {"x": [1]}, []]]'
PLAIN = decode_json(TEXT)
WAYS = {
    "decode_json": lambda kind: decode_json(TEXT, kind),
    "convert_to": lambda kind: convert_to(PLAIN, kind),
    "decoder_of": lambda kind: decoder_of(list[kind]).decode(f"[{TEXT}]"),
}
read = WAYS[sys.argv[1]]
sys.setswitchinterval(1e-6)
for number in range(60):
    name = f"made_{number}"
    module = sys.modules[name] = types.ModuleType(name)
    lines = [sys.argv[2].replace("NAME", one) for one in ("Outer", "Inner")]
    exec(CLASSES.format(made=lines[0], inner=lines[1]), module.__dict__)
    barrier, failed = threading.Barrier(4), []
    def work():
        barrier.wait()
        try:
            read(module.Outer)
        except BaseException as error:
            failed.append(error)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert not failed, failed
print("read")
"""


@pytest.mark.parametrize("way", ["decode_json", "convert_to", "decoder_of"])
@pytest.mark.parametrize(
    "made",
    [
        "@dataclass\nclass NAME:",
        "@dataclass(frozen=True, slots=True)\nclass NAME:",
        "class NAME(msgspec.Struct):",
        "class NAME(TypedDict):",
        "class NAME(NamedTuple):",
    ],
)
def test_threads_that_meet_a_new_class_at_once_read_it(way: str, made: str) -> None:
    done = completed("-c", RACES, way, made)
    assert (done.returncode, done.stdout.strip()) == (0, "read"), done.stderr[-300:]
