"""The server as a process: prints its port on the first line and serves until it is ended.

    python -m tests.servers --reply "I would click it" --reply "ELEMENT: A" --delay 0.05

The n-th `--reply` answers the n-th round of a dialogue, so that the answer depends on nothing but
the request; `{digest}` in it stands for a hash of what was asked. `GET /asks` lists what came in,
`GET /batches` counts uploads and batches.
"""

from __future__ import annotations

import argparse
import hashlib
import json

from tests.servers.answers import Answer, Ask, error, no_capacity
from tests.servers.batches import Switches
from tests.servers.server import WireServer

WORDS = {"fail", "state", "elsewhere"}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.servers")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--reply", action="append", help="per round; the last one stays")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds per answer")
    parser.add_argument("--fail-every", type=int, default=0, help="every n-th request gets a 500")
    parser.add_argument("--full", type=int, default=0, help="so many flex requests get a 429 first")
    parser.add_argument("--batch-polls", type=int, default=1, help="looks until a batch is over")
    parser.add_argument(
        "--switch",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="how batches behave (tests/servers/batches.py): shuffle=true, expire_after=3, ...",
    )
    given = parser.parse_args()
    replies: list[str] = given.reply or ["fine"]

    def react(ask: Ask) -> Answer:
        if given.fail_every and ask.number % given.fail_every == 0:
            return error(500, "now and then")
        if ask.tier == "flex" and server.count_on("flex") <= given.full:
            return no_capacity()
        text = replies[min(ask.rounds, len(replies) - 1)]
        digest = hashlib.sha256(json.dumps(ask.messages).encode()).hexdigest()
        text = text.replace("{digest}", digest)
        return Answer(text=text, delay_s=given.delay, tier=ask.tier)

    switches = Switches(polls=given.batch_polls)
    for name, _, value in (text.partition("=") for text in given.switch):
        setattr(switches, name, value if name in WORDS else json.loads(value))
    server = WireServer(react, port=given.port, switches=switches)
    print(server.port, flush=True)
    server.serve()


if __name__ == "__main__":
    main()
