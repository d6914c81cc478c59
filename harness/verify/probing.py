"""Carry a verification out: make the calls in order, and judge the replies."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adapters.contract import Fatal, Request
from harness.dialogue import Ask, Dialogue
from harness.engine import Engine, Job, Outcome, Stopped, on_interrupt
from harness.engine.dialogues import Observer
from harness.pictures import PictureStore
from harness.planning.model import Model, generation
from harness.protocols.registry import open_protocol
from harness.session.run import engine_policy
from harness.settings import Settings
from harness.verify.calls import SHORTS, Probe
from harness.verify.checks import Judge
from harness.verify.declared import declared_of
from harness.verify.sight import judge_seen
from harness.verify.words import BROKEN
from harness.views import PlaceView
from parsers.records import Prediction, Status


@dataclass
class Verification:
    """A verification of a model.

    spent: US dollars, what was spent before included.
    failed: why it ended before its last call, "" if it did not.
    """

    settings: Settings
    model: Model
    store: PictureStore
    probe: Probe
    judge: Judge
    spent: float = 0.0
    seconds: float = 0.0
    failed: str = ""
    interrupted: bool = False

    @classmethod
    def of(
        cls,
        settings: Settings,
        model: Model,
        wants: Collection[str],
        *,
        quick: bool = False,
        seed: int = 1,
        template: tuple[int, ...] | None = None,
    ) -> Verification:
        """Return one that has not begun, of a loaded model; it closes the model in the end."""
        options = {k: v for k, v in settings.protocol_option if k not in ("zoom", "zoom_share")}
        pointing: Any = open_protocol("grounding", options, model=model.info, View=PlaceView)
        usual, store = generation(settings), PictureStore()
        declared = declared_of(model.info, pointing.coordinates, usual, template)
        probe = Probe(
            store, pointing, usual, declared, lambda: model.adapter.info, quick=quick, seed=seed
        )
        return cls(settings, model, store, probe, Judge(probe, wants))

    @property
    def most(self) -> tuple[int, float | None]:
        """The most calls that it makes, and their highest cost; None without a price."""
        groups = [one for row in self.judge.rows.values() for one in (row.calls, *row.again)]
        names = dict.fromkeys(name for one in groups for name in one)
        asks = [*map(self.probe.ask, names)]
        if (pricing := self.model.pricing()) is None:
            return len(asks), None
        usual = self.probe.generation
        made = [Request(a.conversation, a.generation(usual, 0), "verify", a.place) for a in asks]
        return len(asks), sum(map(pricing.upper_cost, made))

    async def ask(self, say: Callable[[str], None], folder: Path = Path()) -> None:
        """Make the calls. Whatever ends them early is in `failed`; what is known is kept.

        `folder` is that of the run that asks, whose server starts with it.
        """
        ended, begun = list[Outcome](), time.monotonic()
        try:
            engine = Engine(
                replace(self.model, settings=self.settings).lane(),
                self.store,
                self.probe,
                policy=engine_policy(self.settings),
                observer=_Notices(self.probe, say),
                spent=self.spent,
            )
            if self.model.spends:
                calls, cost = self.most
                price = "whose price is not known" if cost is None else f"${cost:,.2f}"
                say(f"cost:     at most {calls} calls to {self.model.info.name}, {price}")

            def stop() -> None:
                self.interrupted = True
                engine.stop("interrupted")

            with on_interrupt(stop):
                try:
                    await engine.open(folder, say)
                    await engine.introduce()
                    job = Job("verify", lambda: dialogue(self.judge), kind="verification")
                    await engine.run([job], ended.append)
                except (Stopped, Fatal) as error:
                    self.failed = str(error)
            self.failed = self.failed or next((one.error for one in ended if one.error), "") or ""
            self.spent, self.seconds = engine.spent, time.monotonic() - begun
        finally:
            self.store.close()
            if not self.model.is_borrowed:
                await self.model.adapter.close()


class _Notices(Observer):
    def __init__(self, probe: Probe, say: Callable[[str], None]) -> None:
        self._probe, self._say = probe, say

    def notice(self, text: str) -> None:
        self._probe.notices.append(text)
        self._say(text)


def dialogue(judge: Judge) -> Dialogue:
    """Make the calls as one dialogue, stage by stage; what a stage shows decides about the next."""
    probe, rows = judge.probe, judge.rows
    left = dict.fromkeys(call for row in rows.values() for call in row.calls)

    def take(*names: str) -> Iterator[Ask]:
        for name in names:
            if name in left:
                del left[name]
                yield probe.ask(name)

    yield from take("copy")
    if short := tuple(take(*SHORTS)):
        yield short
    yield from take("base", "size-a", "noisy")
    shown = [name for name in ("size-a", "noisy") if name in probe.records]
    read = any(map(probe.reads, shown))
    if shown and judge_seen([read], [*map(probe.added, shown)]).verdict == BROKEN:
        return Prediction(Status.NONE)
    repeats = [name for name in left if name.startswith("repeats")]
    if together := tuple(take(*(name for name in left if name not in (*repeats, "size-c")))):
        yield together
    # The largest picture counts as much more than another as it has pixels.
    context, one = judge.first("context"), probe.added("size-b")
    limit = probe.count("context") if context and context.verdict == BROKEN else None
    if limit is None or one is None or one * (2688 * 1792) // (1000 * 620) <= limit:
        yield from take("size-c")
    for name, row in rows.items():
        if name != "repeats" and row.again and judge.suspects(name):
            yield tuple(probe.ask(call) for calls in row.again for call in calls)
    half = len(repeats) // 2
    yield from take(*repeats[:half])
    if at_once := tuple(take(*repeats[half:])):
        yield at_once
        if judge.suspects("repeats"):
            yield from (probe.ask(call) for calls in rows["repeats"].again for call in calls)
    return Prediction(Status.NONE)
