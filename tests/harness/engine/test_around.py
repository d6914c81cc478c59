"""What goes with a run: the pre-flight call, Ctrl-C, the display."""

from __future__ import annotations

import asyncio
import io
import os
import signal

import pytest
from PIL import Image
from rich.console import Console

from adapters.contract import Fatal, Fault, PictureSource, Request
from adapters.conversation import Reply, Usage
from harness.engine import (
    Outcome,
    Pricing,
    Stopped,
    on_interrupt,
)
from harness.pictures import built_in_picture
from harness.runs import CallRecord
from harness.session.display import Progress
from parsers.records import Prediction, Status
from tests.harness.engine.support import BatchModel, Log, Model, echo, engine, two_rounds


class Seeing(Model):
    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        (picture,) = request.conversation.pictures
        encoded = await pictures.encoded(picture)
        image = Image.open(io.BytesIO(encoded.data))
        image.load()
        assert image.size == (encoded.width, encoded.height) == (picture.width, picture.height)
        return await super().ask(request, pictures)


def test_the_first_call_shows_a_picture_and_is_not_put_on_record() -> None:
    model, log = Seeing(), Log()
    pricing = Pricing(lambda usage: 0.1, lambda request: 0.2)
    driver = engine(model, log, pricing=pricing)
    asyncio.run(driver.preflight(built_in_picture()))
    assert len(model.asked) == 1
    assert log.records == []
    assert driver.spent == 0.1


@pytest.mark.parametrize("kind", [Model, BatchModel])
def test_a_run_follows_on_the_first_call(kind: type[Model]) -> None:
    async def main() -> list[Outcome]:
        driver, outcomes = engine(kind()), list[Outcome]()
        await driver.preflight(None)
        await driver.run([two_rounds(f"s{n}") for n in range(9)], outcomes.append)
        return outcomes

    assert len(asyncio.run(main())) == 9


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Fatal("unknown model 'gtp-4'"), "unknown model 'gtp-4'"),
        (
            Fault("connection", "refused"),
            "the model does not answer: connection after 3 tries: refused",
        ),
    ],
)
def test_what_would_end_the_run_is_found_before_it(error: Exception, said: str) -> None:
    def answer(request: Request) -> Reply:
        raise error

    with pytest.raises(Fatal, match=said):
        asyncio.run(engine(Model(answer)).preflight(built_in_picture()))


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("second", [None, signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_finishes_what_is_under_way_and_twice_leaves_at_once(
    first: signal.Signals, second: signal.Signals | None
) -> None:
    stops_in_order(first, second)


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("second", [None, signal.SIGTERM])
def test_in_the_background_where_ctrl_c_is_ignored_sigterm_does_the_same(
    second: signal.Signals | None,
) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        stops_in_order(signal.SIGTERM, second)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_comes_twice_at_once_is_one_request(second: signal.Signals) -> None:
    """As where a terminal and a wrapper send it, or each thread of a parent that was killed."""
    stops_in_order(signal.SIGINT, second, apart_s=0.4)


def stops_in_order(
    first: signal.Signals, second: signal.Signals | None, apart_s: float = 0.6
) -> None:
    log, clock = Log(), Clock()
    ends_at_once = second is not None and apart_s > 0.5

    async def main() -> None:
        interrupted = asyncio.Event()

        async def answer(request: Request) -> Reply:
            if request.unit_id == "s3":
                signal.raise_signal(first)
                clock.now += apart_s
                if second is not None:
                    signal.raise_signal(second)
                if not ends_at_once:
                    interrupted.set()
            await interrupted.wait()
            return echo(request)

        driver = engine(Model(answer), log)
        with on_interrupt(lambda: driver.stop("interrupted"), clock):
            await driver.run([two_rounds(f"s{n}") for n in range(99)], lambda outcome: None)

    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(KeyboardInterrupt if ends_at_once else Stopped):
        asyncio.run(main())
    assert len(log.records) == (0 if ends_at_once else 4)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def call(*, from_cache: bool = False) -> CallRecord:
    usage = Usage(1_500, output=20)
    reply = Reply("x", usage=usage)
    cost = 0.0 if from_cache else 0.5
    return CallRecord("i", "s", 0, "p", "r", "c", (), reply, from_cache=from_cache, cost=cost)


def outcome(*, settled: bool = True) -> Outcome:
    prediction = Prediction.of(Status.ANSWERED) if settled else None
    return Outcome("s", 0, prediction, None if settled else "timeout", (), None, None)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def show(terminal: bool, every_s: float = 30.0) -> str:
    file, clock = io.StringIO(), Clock()
    console = Console(file=file, force_terminal=terminal, width=200)
    with Progress(
        20, done=4, units="steps", metrics=lambda: "step success 50.0 % (30.0 to 70.0)",
        console=console, every_s=every_s, clock=clock,
    ) as progress:  # fmt: skip
        for number in range(4):
            clock.now += 15
            progress.called(call(from_cache=number == 3), replayed=False)
            progress.settled(outcome(settled=number != 2))
        progress.called(call(), replayed=True)
        progress.retrying("s", "p", "timeout", 1.0)
        progress.notice("temperature is not sent")
    return file.getvalue()


LAST = (
    "8/20 steps, 1 without an answer, 3 calls, 1 cached, 1 replayed, 1 retries, 4.5k in, 60 out, "
    "$1.50, 4.0 steps/min, 3:00 left | step success 50.0 % (30.0 to 70.0)"
)


def test_without_a_terminal_a_plain_line_comes_now_and_then() -> None:
    lines = show(terminal=False).splitlines()
    assert lines[-1] == LAST
    assert lines[0].startswith("5/20 steps, 2 calls")
    assert lines[-2] == "temperature is not sent"
    assert len(lines) == 4
    assert "\x1b" not in "".join(lines)


def test_a_notice_is_one_line_however_narrow_the_terminal_so_that_it_can_be_copied() -> None:
    file, command = io.StringIO(), "vllm run-batch -i runs/x/0001.requests.jsonl -o " + "y" * 80
    Progress(20, console=Console(file=file, width=40)).notice(command)
    assert file.getvalue() == command + "\n"


def failing(*errors: str) -> Progress:
    progress = Progress(20, console=Console(file=io.StringIO()))
    for number, error in enumerate(errors):
        progress.retrying(f"s{number}", "p", "server", 1.0, error)
    return progress


def test_a_servers_words_in_an_error_stay_one_short_line() -> None:
    text = failing("a\x1b[2Jb\nc\r\x07\u202e " + "x" * 500).text()
    assert "last error: a\ufffd[2Jb c \ufffd\ufffd x" in text
    assert text.isprintable()
    assert len(text) < 120


def test_on_a_terminal_the_same_is_shown_live() -> None:
    shown = show(terminal=True)
    assert "8/20 steps" in shown
    assert "step success 50.0 %" in shown
    assert "temperature is not sent" in shown
