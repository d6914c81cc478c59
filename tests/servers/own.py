"""A program as it is given to `--with-server`: a chat server that may fail in the usual ways.

    python -m tests.servers.own fake-vl 8000 --reply "I would click it" --reply "ELEMENT: A"

--broken          prints fifty lines and ends with status 3
--mute            never answers
--die-after N     ends without a word at the N-th request
--once FILE       ... only if FILE is not there
--stray FILE      starts a process in a session of its own that ignores SIGTERM; its id goes to FILE
--stubborn        ignores SIGTERM
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.servers.answers import Answer, Ask
from tests.servers.server import WireServer

STRAY = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.servers.own")
    parser.add_argument("model")
    parser.add_argument("port", type=int)
    parser.add_argument("--reply", action="append")
    parser.add_argument("--broken", action="store_true")
    parser.add_argument("--mute", action="store_true")
    parser.add_argument("--die-after", type=int, default=0)
    parser.add_argument("--once", type=Path)
    parser.add_argument("--stray", type=Path)
    parser.add_argument("--stubborn", action="store_true")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds per answer")
    given = parser.parse_args()
    replies: list[str] = given.reply or ["I would click it.", "ELEMENT: A\nACTION: CLICK"]
    print(f"serving {given.model}", flush=True)
    if given.stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if given.stray:
        stray = subprocess.Popen([sys.executable, "-c", STRAY], start_new_session=True)
        given.stray.write_text(f"{os.getpid()} {stray.pid}")
    if given.broken:
        for number in range(50):
            print(f"line {number} \x1b[2J")
        sys.exit(3)
    if given.mute:
        time.sleep(3600)

    def react(ask: Ask) -> Answer:
        died = given.once is not None and given.once.exists()
        if given.die_after and ask.number >= given.die_after and not died:
            if given.once is not None:
                given.once.touch()
            os._exit(7)
        return Answer(text=replies[min(ask.rounds, len(replies) - 1)], delay_s=given.delay)

    server = WireServer(react, port=given.port)
    server.told["/v1/models"]["data"][0]["id"] = given.model
    server.serve()


if __name__ == "__main__":
    main()
