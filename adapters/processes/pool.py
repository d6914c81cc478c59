"""A fixed number of children that each answer one message at a time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

from adapters.processes.process import Child, ChildEnded, Command


class Pool:
    """Children that are started when they are needed, and again after they have ended."""

    def __init__(
        self,
        entry: str | Command,
        count: int,
        *,
        name: str,
        first: object = None,
        attempts: int = 1,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Create the pool; no child is started yet.

        Args:
            entry: see `Child`.
            count: the number of children, and of `threads`.
            name: prefix of the names of the threads.
            first: sent to every child before any other message; the child does not answer it.
            attempts: number of children that may end over a message before `ask` gives up.
            environment: see `Child`.
        """
        if count < 1:
            raise ValueError(f"a pool needs at least one child; got {count}")
        self._entry = entry
        self._first = first
        self._attempts = attempts
        self._environment = environment
        self._closed = False
        self._lock = threading.Lock()  # guards starting and ending, never work
        self._leases = [Lease(self) for _ in range(count)]
        # Last in, first out: a running child is preferred to starting another.
        self._idle: queue.LifoQueue[Lease] = queue.LifoQueue()
        for lease in self._leases:
            lease.give_back()
        self.threads = ThreadPoolExecutor(count, thread_name_prefix=name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def pids(self) -> tuple[int, ...]:
        """Ids of the running processes."""
        with self._lock:
            children = [lease._child for lease in self._leases]
            return tuple(child.pid for child in children if child and child.running)

    def ask(self, message: object) -> Any:
        """Send a message to an idle child and return its answer; blocks, so call it on `threads`.

        Raises `ChildEnded` if all attempts ended a child, or after `close`.
        """
        lease = self.lend()
        try:
            for _ in range(self._attempts - 1):
                try:
                    return lease.ask(message)
                except ChildEnded:
                    pass
            return lease.ask(message)
        finally:
            lease.give_back()

    def lend(self) -> Lease:
        """Lend a child for several messages; blocks until one is idle."""
        return self._idle.get()

    def close(self) -> None:
        """Kill the children, whether they are busy or not. May be repeated."""
        self._closed = True
        for lease in self._leases:
            lease.end()
        self.threads.shutdown(wait=True)
        for lease in self._leases:
            lease._forget()


class Lease:
    """A child of a pool that belongs to one user until it is given back."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._child: Child | None = None

    def ask(self, message: object) -> Any:
        """Send a message and return the answer; blocks.

        Raises `ChildEnded` if that ended the child, or after the pool was closed. The next message
        is sent to a new one.
        """
        try:
            child = self._running()
            child.send(message)
            return child.receive()
        except ChildEnded:
            self._forget()
            raise

    def end(self) -> None:
        """Kill the child, whatever it is doing; waiters for its answer get `ChildEnded`."""
        with self._pool._lock:
            if self._child is not None:
                self._child.end()

    def give_back(self) -> None:
        """Lend the child to others. Nothing may be done with the lease afterwards."""
        self._pool._idle.put(self)

    def _running(self) -> Child:
        pool = self._pool
        with pool._lock:
            if pool._closed:
                raise ChildEnded("the pool of processes is closed")
            if self._child is not None and not self._child.running:
                self._child.close()
                self._child = None
            if self._child is None:
                self._child = Child(pool._entry, environment=pool._environment)
                if pool._first is not None:
                    self._child.send(pool._first)
            return self._child

    def _forget(self) -> None:
        with self._pool._lock:
            if self._child is not None:
                self._child.close()
                self._child = None
