"""Read messages from standard input, and answer each with a line on standard output."""

import json
import os
import queue
import signal
import threading
from typing import Any, BinaryIO

from .installed import ForUser, line
from .player import Player


def main() -> None:
    # The main process decides what Ctrl-C and SIGTERM mean.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    incoming = os.fdopen(os.dup(0), "rb")
    outgoing = os.fdopen(os.dup(1), "wb")
    # Whatever libraries print goes to standard error.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    received: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=listen, args=(incoming, received), daemon=True).start()
    player = Player(json.loads(received.get()))
    while True:
        verb, given = json.loads(received.get())
        answer = json.dumps(outcome(getattr(player, verb), given), ensure_ascii=False)
        # A page may hold halves of characters.
        outgoing.write(answer.encode("utf-8", "replace") + b"\n")
        outgoing.flush()


def listen(incoming: BinaryIO, received: Any) -> None:
    for message in incoming:
        received.put(message)
    # The parent is gone or has closed the pipe. What this process has started goes with it.
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def outcome(answer: Any, given: Any) -> list[Any]:
    try:
        return ["done", answer(given)]
    except ForUser as error:
        return ["fatal", str(error)]
    except Exception as error:
        return ["failed", f"{type(error).__name__}: {line(error)}"]
