"""Steps that were answered in batches, asked again at once: do replies belong to their steps?

A provider that gives a batch's replies to the wrong requests changes every score and raises no
error. Replies to the same prompt are alike even where they are not equal, and replies to different
steps are not; so each reply of a batch is held against the new replies to all audited steps.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adapters.deferred.contract import Deferrable
from harness.errors import UserError
from harness.evaluation.display import Display
from harness.evaluation.plan import plan_run
from harness.evaluation.rescoring import settings_of
from harness.evaluation.run import carry_out
from harness.runs import Run, StepKey, UnitRecord, open_run
from harness.runs.batches import PACKS
from harness.tables import Column, Grid, Row, Section


@dataclass(frozen=True)
class Audited:
    """One step: its reply in the batch against the new replies, likeness from 0 to 1.

    same: whether both replies were read as the same answer.
    own: how alike the replies to this step are.
    other: how alike its reply in the batch is to the new reply to that other step to which it is
        most alike.
    """

    key: StepKey
    same: bool
    own: float
    other: float

    @property
    def is_strange(self) -> bool:
        """Whether the reply in the batch is rather one to another step."""
        return self.other > self.own


async def audit(path: Path, number: int, say: Callable[[str], None]) -> list[Audited]:
    """Ask about so many steps of the run at `path` again, in a run of their own beside it.

    The steps are chosen by a hash of the run's seed, so that the same ones are asked about again.
    Raises `UserError`, `Fatal`, `RunError`.
    """
    run = open_run(path)
    texts = _replies(run, in_batches=True)
    settled = {record.key: record for record in run.records() if record.settled}
    settings = settings_of(run)
    order = sorted(settled.keys() & texts, key=lambda key: _rank(settings.seed, key))
    chosen = sorted(order[:number])
    if not chosen:
        raise UserError(f"no settled step of {path} was answered in a batch: nothing to audit")
    new = path.with_name(f"{path.name}-audit")
    settings = replace(
        settings,
        out=str(new),
        data=settings.data or run.manifest.dataset.get("data"),
        cache=False,
        preflight=False,
        progress="off",
        tier=(),
        track=(),
        track_texts=False,
        yes=True,
    )
    plan = plan_run(settings)
    adapter = plan.model.adapter
    if isinstance(adapter, Deferrable) and not adapter.deferring(path / PACKS).preflights:
        raise UserError(f"{plan.model.info.name} is not asked at once: there is nothing to compare")
    display = Display(settings)
    say(f"asking about {len(chosen)} settled steps again, at once: {new}")
    done = await carry_out(
        plan.only({unit_id for unit_id, _ in chosen}), display.watching, display.add, say
    )
    if done.stopped is not None:
        raise UserError(f"{done.stopped}: the audit ended early; the same line goes on with it")
    again = open_run(new)
    return compared(chosen, settled, texts, {r.key: r for r in again.records()}, _replies(again))


def compared(
    chosen: Sequence[StepKey],
    before: dict[StepKey, UnitRecord[Any]],
    texts: dict[StepKey, str],
    after: dict[StepKey, UnitRecord[Any]],
    new_texts: dict[StepKey, str],
) -> list[Audited]:
    """The steps that were answered both times. `texts` are all replies to a step, as one."""
    both = [key for key in chosen if key in new_texts and after[key].settled]
    audited = []
    for key in both:
        alike = {other: _likeness(texts[key], new_texts[other]) for other in both}
        own = alike.pop(key)
        same = before[key].prediction == after[key].prediction
        audited.append(Audited(key, same, own, max(alike.values(), default=0.0)))
    return audited


def audit_grid(audited: Sequence[Audited]) -> Grid:
    """A row per step, the strangest first."""
    rows = [
        Row(
            (
                one.key[0],
                "same" if one.same else "other",
                f"{one.own:.2f}",
                f"{one.other:.2f}",
                "like another step's" if one.is_strange else "",
            )
        )
        for one in sorted(audited, key=lambda one: (one.own - one.other, one.key))
    ]
    columns = (
        Column("step", "left"),
        Column("answer", "left"),
        Column("like its own"),
        Column("like another's"),
        Column("reply in the batch", "left"),
    )
    return Grid(title="", columns=columns, sections=(Section(tuple(rows)),))


def verdict(audited: Sequence[Audited]) -> str:
    """What the rows come to, in a line."""
    total, same = len(audited), sum(one.same for one in audited)
    strange = sum(one.is_strange for one in audited)
    silent = sum(one.own == one.other for one in audited)
    line = f"same answer: {same} of {total}; reply most like that to its own step: "
    line += f"{total - strange - silent} of {total}"
    if silent:
        line += f"; as like another's, so that a swap would not show: {silent}"
    if strange:
        line += (
            f"; more like another's: {strange}, as swapped replies are: read them (vlm-eval view) "
            "before you rely on the run"
        )
    return line


def _replies(run: Run, in_batches: bool = False) -> dict[StepKey, str]:
    """All replies of the model under test to a step, as one text; only of steps that were answered
    in batches throughout, if asked so."""
    texts: dict[StepKey, list[str]] = {}
    at_once: set[StepKey] = set()
    for call in run.calls():
        if call.role or call.embed or call.act:
            continue
        key = call.unit_id, call.repeat
        texts.setdefault(key, []).append(call.reply.text)
        if call.reply.tier != "batch":
            at_once.add(key)
    left_out = at_once if in_batches else set()
    return {key: "\n".join(parts) for key, parts in texts.items() if key not in left_out}


def _likeness(one: str, other: str) -> float:
    from rapidfuzz import fuzz

    return round(fuzz.ratio(one, other) / 100, 4)


def _rank(seed: int, key: StepKey) -> str:
    return hashlib.sha256(f"{seed}\naudit\n{key[0]}\n{key[1]}".encode()).hexdigest()
