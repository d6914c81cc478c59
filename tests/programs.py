"""Programs that start at once: forks of a process that has imported the package.

Each is a process of its own, with its own signals, folder, environment and end. What Python takes
to import the command line and a provider's client is spent once for all of them.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import io
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, Self

LIBRARIES = (
    *("asyncio", "difflib", "sqlite3", "statistics", "click", "rich.progress", "rich.table"),
    *("openai", "httpcore2", "anyio._backends._asyncio", "numpy", "pyarrow.parquet"),
    *("pyarrow.json", "lxml.html", "PIL.Image", "tiktoken", "platformdirs", "filelock", "psutil"),
)
PACKAGE = (
    *("harness.commands.run", "harness.session.run", "harness.session.brief", "harness.planning"),
    *(
        "harness.benchmarks.sample",
        "harness.benchmarks.mind2web",
        "harness.benchmarks.step.benchmark",
    ),
    *("harness.protocols.seeact", "harness.session.display", "adapters.openai"),
    *("harness.commands.main", "harness.tables.text", "harness.planning.spending", "reports"),
    *("harness.session.brief", "harness.session.display", "adapters.transport"),
)
OPEN_FDS = 64
CLIENT = """
import json, os, socket, sys
ends, told = os.pipe()
asked = {{"words": ["-m", "harness", *sys.argv[1:]], "cwd": os.getcwd(), "given": ""}}
asked |= {{"environment": dict(os.environ), "path": [], "log": None}}
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
    server.connect({address!r})
    socket.send_fds(server, [json.dumps(asked).encode()], [told, 1, 2])
os.close(told)
with os.fdopen(ends) as lines:
    sys.exit(int(lines.read().split()[1]))
"""
"""What asks for a program, and ends as it does."""


@functools.cache
def _source(fresh: bool) -> socket.socket:
    """Start the process that programs are forks of; a `fresh` one has imported libraries only."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-P", __file__, str(its.fileno()), *(() if fresh else PACKAGE)]
    outside = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.Popen(
        command, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL, cwd="/", env=outside
    )
    its.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


class Program:
    """A program that runs, with the methods of `subprocess.Popen`.

    Args:
        words: a script and its arguments, `-m` with a module and its arguments, or `-c` with code.
        cwd: the folder that it works in; the current one unless given.
        heard: whether `stdout` and `stderr` can be read, as text; else both go to `log`.
        environment: what is added to the current environment.
        given: what it reads from its standard input.
        log: a file that its output is added to.
        fresh: whether it imports the package itself, as where other packages add to it.
    """

    def __init__(
        self,
        *words: str | Path,
        cwd: str | Path = "",
        heard: bool = False,
        environment: Mapping[str, str] | None = None,
        given: str = "",
        log: str | Path = os.devnull,
        fresh: bool = False,
    ) -> None:
        asked = {
            "words": [str(word) for word in words],
            "cwd": str(cwd or Path.cwd()),
            "environment": {**os.environ, **(environment or {})},
            "path": sys.path,
            "given": given,
            "log": None if heard else str(Path(log).absolute()),
        }
        reads, writes = zip(os.pipe(), os.pipe(), os.pipe(), strict=True)
        try:
            socket.send_fds(_source(fresh), [json.dumps(asked).encode()], writes)
        finally:
            for handle in writes:
                os.close(handle)
        self._ends, self.stdout, self.stderr = (os.fdopen(handle) for handle in reads)
        self.args = words
        self.returncode: int | None = None
        self._ended = threading.Event()
        self.pid = int(self._ends.readline())
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        with self._ends:
            self.returncode = int(self._ends.readline())
        self._ended.set()

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if not self._ended.wait(timeout):
            raise subprocess.TimeoutExpired(str(self.args), timeout or 0)
        assert self.returncode is not None
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        read: list[str] = []
        reader = threading.Thread(target=lambda: read.append(self.stderr.read()), daemon=True)
        reader.start()
        out = self.stdout.read()
        reader.join(timeout)
        self.wait(timeout)
        return out, read[0]

    def send_signal(self, number: int) -> None:
        if not self._ended.is_set():
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stdout.close()
        self.stderr.close()
        self.wait()


def completed(
    *words: str | Path,
    cwd: str | Path = "",
    fresh: bool = False,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    program = Program(*words, cwd=cwd, heard=True, fresh=fresh, environment=environment)
    out, err = program.communicate()
    return subprocess.CompletedProcess(words, program.wait(), out, err)


@contextlib.contextmanager
def command(path: Path) -> Iterator[None]:
    """Write a command `path`, that starts `vlm-eval` as a program of this module."""
    with (
        tempfile.TemporaryDirectory() as folder,
        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener,
    ):
        address = f"{folder}/socket"
        listener.bind(address)
        listener.listen()

        def pass_on() -> None:
            with contextlib.suppress(OSError):
                while True:
                    with listener.accept()[0] as client:
                        message, handles, _, _ = socket.recv_fds(client, 1 << 20, 3)
                        socket.send_fds(_source(True), [message], handles)
                        for handle in handles:
                            os.close(handle)

        threading.Thread(target=pass_on, daemon=True).start()
        path.write_text(f"#!{sys.executable} -IS\n{CLIENT.format(address=address)}")
        path.chmod(0o755)
        yield
        listener.shutdown(socket.SHUT_RDWR)


def _serve(connection: socket.socket, package: Sequence[str]) -> None:
    """Fork a program for every message, until the other side ends."""
    for name in (*LIBRARIES, *package):
        import_module(name)
    if package:
        _warm()
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, _reap)
    while True:
        message, handles, _, _ = socket.recv_fds(connection, 1 << 20, 3)
        if not message:
            break
        if os.fork() == 0:
            connection.close()
            _watch(json.loads(message), *handles)
        for handle in handles:
            os.close(handle)
    _reap()


def _warm() -> None:
    """Read what every run reads once: the tokens that texts are compared by, and certificates."""
    from adapters.transport import HostedClient
    from parsers.token_scores import token_f1

    token_f1("one", "other", "cl100k-lc")
    HostedClient(1.0)


def _reap(*_: object) -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _watch(asked: dict[str, Any], ends: int, out: int, err: int) -> NoReturn:
    """Tell the program's number and, when it has ended, how; end it if nobody listens any more."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        os.close(ends)
        _become(asked, out, err)
    os.close(out)
    os.close(err)
    os.write(ends, b"%d\n" % pid)
    waiting = select.poll()
    waiting.register(ends, 0)  # It is told that the other end was closed without being asked.
    waiting.register(os.pidfd_open(pid), select.POLLIN)
    if any(handle == ends for handle, _ in waiting.poll()):
        os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with contextlib.suppress(BrokenPipeError):
        os.write(ends, b"%d\n" % code)
    os._exit(0)


def _become(asked: dict[str, Any], out: int, err: int) -> NoReturn:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if asked["log"] is not None:
        out = err = os.open(asked["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.dup2(out, 1)
    os.dup2(err, 2)
    sys.stdin = io.TextIOWrapper(io.BytesIO(asked["given"].encode()))
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w", 1, errors="backslashreplace")
    sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr  # type: ignore[misc]
    os.closerange(3, OPEN_FDS)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    added = asked["environment"].get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [*filter(None, added), *(asked["path"] or sys.path)]
    sys.argv = asked["words"]
    code = 1
    try:
        if sys.argv[0] == "-c":
            exec(compile(sys.argv.pop(1), "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102
        elif sys.argv[0] == "-m":
            del sys.argv[0]
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(sys.argv[0], run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
