"""Carry a verification out: open the model, make the calls, judge the replies."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adapters.contract import Fatal, Request
from harness.dialogue import Ask, Dialogue
from harness.engine import Engine, Job, Outcome, Stopped, on_interrupt
from harness.engine.observer import Observer
from harness.errors import UserError
from harness.pictures import PictureStore
from harness.planning.model import Model, generation, open_model
from harness.protocols.registry import open_protocol
from harness.session.run import engine_policy
from harness.settings import Settings
from harness.verify.album import Album
from harness.verify.calls import Probe
from harness.verify.checks import Judge
from harness.verify.declared import Declared
from harness.verify.texts import SHORT, SIZES
from harness.views import PlaceView
from parsers.records import Prediction, Status

REPEATED = ("picture cache", "corners", "coverage", "order", "points", "repeats")
"""Checks that are asked again with new contents if they look bad."""


@dataclass
class Verified:
    """A verification that has ended; `failed` is why it ended before its last call, "" if not."""

    probe: Probe
    judge: Judge
    model: Model
    spent: float
    failed: str = ""
    interrupted: bool = False


class _Notices(Observer):
    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def notice(self, text: str) -> None:
        self._say(text)


def prepared(
    settings: Settings, wants: Collection[str], *, quick: bool = False, seed: int = 1
) -> tuple[Model, Callable[[Model, PictureStore], Probe]]:
    """Open a model as a run would, and return how to make the calls for it.

    Raises `UserError` and `Fatal` as opening a run does.
    """
    model = open_model(settings)

    def probe(loaded: Model, store: PictureStore) -> Probe:
        options = {k: v for k, v in settings.protocol_option if k not in ("zoom", "zoom_share")}
        opened: Any = open_protocol("grounding", options, model=loaded.info, View=PlaceView)
        return Probe(
            Album(store, seed),
            opened,
            generation(settings),
            wants,
            lambda: loaded.adapter.info,
            quick=quick,
            seed=seed,
        )

    return model, probe


def dialogue(judge: Judge) -> Dialogue:
    """Make the calls as one dialogue, stage by stage; what a stage shows decides about the next."""
    probe = judge.probe
    left = dict.fromkeys(probe.calls_of(*probe.wants))

    def take(*names: str) -> Iterator[Ask]:
        for name in names:
            if name in left:
                del left[name]
                yield probe.ask(name)

    yield from take("copy")
    if short := tuple(take("short-1", "short-2", "short-3")):
        yield short
    yield from take("base", "size-a", "noisy")
    if judge.is_suspect("picture seen"):
        return Prediction(Status.NONE)
    repeats = [name for name in left if name.startswith("repeats")]
    most = [name for name in left if name not in (*repeats, "size-c")]
    if together := tuple(take(*most)):
        yield together
    # The largest picture counts as much more than another as it has pixels.
    limit, one = judge.context_limit(), probe.added("size-b")
    (width, height), (w, h) = SIZES["size-c"], SIZES["size-b"]
    if limit is None or one is None or one * width * height // (w * h) <= limit:
        yield from take("size-c")
    for check in REPEATED[:-1]:
        if check in probe.wants and judge.is_suspect(check):
            yield tuple(map(probe.ask, probe.again(check)))
    half = len(repeats) // 2
    yield from take(*repeats[:half])
    if at_once := tuple(take(*repeats[half:])):
        yield at_once
        if not probe.quick and judge.is_suspect("repeats"):
            for name in probe.again("repeats"):
                yield probe.ask(name)
    return Prediction(Status.NONE)


async def verify(
    settings: Settings,
    model: Model,
    opens: Callable[[Model, PictureStore], Probe],
    say: Callable[[str], None],
    template: tuple[int, ...] | None = None,
) -> Verified:
    """Ask a model what the probe holds; `template` has the tokens of the short texts."""
    store = PictureStore(settings.workers)
    try:
        probe = opens(model, store)
        thoughts = settings.effort, settings.thinking_budget
        said = Declared.of(model.info, probe.pointing.coordinates, *thoughts)
        judge = Judge(probe, replace(said, template=template))
        engine = Engine(
            model.lane(settings),
            store,
            probe,
            policy=engine_policy(settings),
            observer=_Notices(say),
        )
        if model.spends:
            say(_estimate(probe, model))
        ended: list[Outcome] = []
        failed, interrupted = "", False

        def stop() -> None:
            nonlocal interrupted
            interrupted = True
            engine.stop("interrupted")

        with on_interrupt(stop):
            try:
                await engine.open(Path(), say)
                await engine.introduce()
                job = Job("verify", lambda: dialogue(judge), kind="verification")
                await engine.run([job], ended.append)
            except (Stopped, Fatal) as error:
                failed = str(error)
        failed = failed or next((one.error for one in ended if one.error), "") or ""
        return Verified(probe, judge, model, engine.spent, failed, interrupted)
    finally:
        store.close()
        if not model.is_borrowed:
            await model.adapter.close()


def _estimate(probe: Probe, model: Model) -> str:
    """Say how many calls are made at most, and what they cost at most."""
    again = [name for one in REPEATED if one in probe.wants for name in probe.again(one)]
    asks = [probe.ask(name) for name in (*probe.calls_of(*probe.wants), *again)]
    line = f"cost:     at most {len(asks)} calls to {model.info.name}"
    if (pricing := model.pricing()) is None:
        return f"{line}, whose price is not known"
    made = [
        Request(ask.conversation, ask.generation(probe.generation, 0), "verify", ask.place)
        for ask in asks
    ]
    return f"{line}, ${sum(map(pricing.upper_cost, made)):,.2f}"


def tokens_by_template(checkpoint: str) -> tuple[int, ...]:
    """Return the prompt tokens of the short texts by a checkpoint's own chat template.

    Raises `UserError` for one that cannot be read, and without the extra `local`.
    """
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise UserError(
            "--checkpoint needs the extra local: pip install 'vlm-web-eval[local]'"
        ) from error
    try:
        tokenizer = AutoTokenizer.from_pretrained(checkpoint)
        asked = [[{"role": "user", "content": text}] for text in SHORT]
        texts = [
            tokenizer.apply_chat_template(one, add_generation_prompt=True, tokenize=False)
            for one in asked
        ]
    except Exception as error:
        raise UserError(
            f"--checkpoint {checkpoint}: no chat template can be read: {error}"
        ) from error
    return tuple(len(tokenizer(text, add_special_tokens=False).input_ids) for text in texts)
