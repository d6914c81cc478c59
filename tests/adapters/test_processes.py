"""Child processes: what they answer, how their end is told, and that they never outlive anybody."""

from __future__ import annotations

import io
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.processes import Child, ChildEnded, Pool
from adapters.processes.child import receive, send
from tests.harness.pictures.test_store import alive

PROGRAM = """
import os, signal, sys, time

def echo(receive, send):
    while True:
        print("a library that prints")
        send(receive())

def count(receive, send):
    first = receive()
    for number in range(1000):
        send((first, number, receive()))

def stubborn(receive, send):
    receive()
    send("at it")
    while True:
        time.sleep(60)

def ends(receive, send):
    message = receive()
    if message == "raise":
        raise ValueError("no such thing")
    if message == "exit":
        sys.stderr.write("the last words\\n\\n")
        sys.stderr.flush()
        os._exit(3)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


@pytest.fixture
def echo(program: str) -> Iterator[Child]:
    child = Child(f"{program}:echo")
    yield child
    child.close()


def wait_until_gone(pid: int) -> bool:
    deadline = time.monotonic() + 300
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not alive(pid)


def test_messages_of_any_size_come_back_whatever_is_printed(echo: Child) -> None:
    for message in (None, {"a": [1, 2.5]}, b"x" * 3_000_000, "", list(range(1000))):
        echo.send(message)
        assert echo.receive() == message


def test_a_message_that_cannot_be_sent_leaves_the_pipe_as_it_was(echo: Child) -> None:
    for odd in (["x" * 100_000, lambda: 0], threading.Lock()):
        with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
            echo.send(odd)
        echo.send("after it")
        assert echo.receive() == "after it"


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_a_message_that_is_cut_off_anywhere_is_the_end_of_the_pipe(data: st.DataObject) -> None:
    stream = io.BytesIO()
    sent = ("a word", {"numbers": [1, 2.5]}, b"x" * 100_000)
    send(stream, sent)
    whole = stream.getvalue()
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(EOFError):
        receive(io.BytesIO(whole[:cut]))
    assert receive(io.BytesIO(whole + whole[:cut])) == sent


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("raise", "exit status 1 (ValueError: no such thing)"),
        ("exit", "exit status 3 (the last words)"),
        ("die", "killed by signal 9 (SIGKILL), so perhaps the machine is out of memory"),
    ],
)
def test_the_end_of_a_child_is_told_with_its_last_words(
    program: str, message: str, reason: str
) -> None:
    child = Child(f"{program}:ends")
    child.send(message)
    for _ in range(2):
        with pytest.raises(ChildEnded) as ended:
            child.receive()
        assert str(ended.value) == reason
    with pytest.raises(ChildEnded):
        child.send(b"x" * 1_000_000)
    assert not child.running
    child.close()
    child.close()


def test_a_thread_that_waits_for_a_child_is_told_when_somebody_else_ends_it(program: str) -> None:
    child = Child(f"{program}:stubborn")
    child.send("go")
    assert child.receive() == "at it"
    threading.Timer(0.1, child.end).start()
    with pytest.raises(ChildEnded):
        child.receive()
    child.close()
    assert not alive(child.pid)


def test_a_pool_starts_as_many_children_as_are_busy_and_greets_each(program: str) -> None:
    with closing(Pool(f"{program}:count", 3, name="test", first="hello")) as pool:
        assert pool.pids == ()
        assert pool.ask("a") == ("hello", 0, "a")
        assert pool.ask("b") == ("hello", 1, "b")
        assert len(pool.pids) == 1
        futures: list[Future[tuple[str, int, str]]] = [
            pool.threads.submit(pool.ask, str(number)) for number in range(30)
        ]
        assert [future.result()[2] for future in futures] == [str(number) for number in range(30)]
        pids = pool.pids
        assert 1 <= len(pids) <= 3
    assert not any(map(alive, pids))
    with pytest.raises(ChildEnded, match="closed"):
        pool.ask("c")
    pool.close()


def test_a_message_may_end_so_many_children_and_no_more(program: str) -> None:
    with closing(Pool(f"{program}:ends", 1, name="test", attempts=2)) as pool:
        for _ in range(2):
            with pytest.raises(ChildEnded, match="the last words"):
                pool.ask("exit")


def test_closing_a_pool_does_not_wait_for_the_work_under_way(program: str) -> None:
    pool = Pool(f"{program}:stubborn", 1, name="test", attempts=2)
    assert pool.ask("go") == "at it"
    waiting = pool.threads.submit(pool.ask, "more")
    pool.close()  # The child would never be done.
    with pytest.raises(ChildEnded):
        waiting.result()


PARENT = """
import sys, time
from adapters.processes import Child
child = Child(sys.argv[1])
child.send("go")
print(child.receive(), child.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_child_ends_with_its_parent_in_the_middle_of_its_work(program: str, sent: int) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, f"{program}:stubborn"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline().split()[-1])
    assert alive(pid)
    parent.send_signal(sent)
    parent.wait()
    parent.stdout.close()
    assert wait_until_gone(pid)
