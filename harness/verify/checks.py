"""The checks of a deployment: what each asks, and the rule that judges it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from adapters.conversation import system
from adapters.picture_tokens import FAMILIES
from harness.verify import replies, sight
from harness.verify.calls import (
    COPY,
    COUNTED,
    LADDERS,
    PASS_WORD,
    SHORT,
    SHORTS,
    SHOWN,
    SYSTEM,
    Probe,
)
from harness.verify.scenes import SIZES, corner_truth, grid_codes, ladder_rows
from harness.verify.sizes import judge_sizes
from harness.verify.words import BROKEN, CANNOT_TELL, OK, SUSPICIOUS, Check, Found, Verdict
from parsers.reply_text import without_thinking

ANSWERS = frozenset({"ladder", "coverage", "order", "history", "with system text", "points"})
"""Checks of answers about pictures: not judged where no codes are read."""
Names = Sequence[str]


class CheckRule(NamedTuple):
    """A check: its calls, the first of which it cannot do without, and its rule.

    again: calls by which a finding of the word `bad` is asked again: what is found each time, and
        of the same `kind`, is broken; the rest is `otherwise`.
    """

    calls: tuple[str, ...]
    rule: Callable[[Probe, Names], Found | None]
    again: tuple[tuple[str, ...], ...] = ()
    bad: Verdict = SUSPICIOUS
    kind: Callable[[Found], Any] = lambda found: found.detail
    otherwise: Found | None = None


class Judge:
    """Judges a probe; the rules are asked anew each time, so it may be under way."""

    def __init__(self, probe: Probe, wants: Collection[str]) -> None:
        self.probe = probe
        self.rows = {name: row for name, row in rows(probe.quick).items() if name in wants}

    def checks(self) -> list[Check]:
        """Return every check whose calls were made, in order."""
        found, made = [], self.probe.records
        for name, row in self.rows.items():
            if first := self.first(name):
                calls = [call for one in (row.calls, *row.again) for call in one if call in made]
                found.append(Check(name, self._asked_again(row, first), tuple(calls)))
        return found

    def first(self, name: str) -> Found | None:
        """Return what a check found before it was asked again; None if it was not carried out."""
        row, made = self.rows.get(name), self.probe.records
        if row is None or row.calls[0] not in made:
            return None
        if name in ANSWERS and "size-b" in made and _seen(self.probe, SHOWN).verdict != OK:
            return None
        return row.rule(self.probe, [call for call in row.calls if call in made])

    def suspects(self, name: str) -> bool:
        """Return True for a check that looks so bad that it is asked again."""
        first = self.first(name)
        return first is not None and first.verdict == self.rows[name].bad

    def _asked_again(self, row: CheckRule, first: Found) -> Found:
        if not row.again or first.verdict != row.bad:
            return first
        made = self.probe.records.keys()
        again = [row.rule(self.probe, calls) for calls in row.again if made >= set(calls)]
        if len(again) < len(row.again):
            return replace(first, verdict=SUSPICIOUS)
        if all(f and (f.verdict, row.kind(f)) == (row.bad, row.kind(first)) for f in again):
            return replace(first, verdict=BROKEN)
        return row.otherwise or replace(first, verdict=SUSPICIOUS)


# Rules about texts, limits and counts.


def _copy(probe: Probe, names: Names) -> Found:
    known = re.findall(r"\w+", f"{COPY} {' '.join(SHORT)} ok hi blue four 4".lower())
    return replies.judge_copy(COPY, probe.said("copy"), [*map(probe.said, SHORTS)], known)


def _template(probe: Probe, names: Names) -> Found:
    expected = probe.declared.template
    answers = [probe.reply(name) for name in SHORTS]
    ids = [len(r.token_ids[0]) for r in answers if r is not None and r.token_ids is not None]
    if len(ids) == len(answers):
        expected = tuple(ids)
    counted = [0 if one is None and probe.miscounts else one for one in probe.texts()]
    return replies.judge_template(expected, counted)


def _system(probe: Probe, names: Names) -> Found:
    said, expected = PASS_WORD in probe.said("system").lower(), probe.estimated(system(SYSTEM))
    return replies.judge_system(said, probe.count("system"), probe.count("no-system"), expected)


def _output(probe: Probe, names: Names) -> Found | None:
    (name,), reached = names, 0
    reply = probe.reply(name)
    for number in re.findall(r"\d{1,4}", probe.said(name)):
        reached += int(number) == reached + 1
    tokens = reply.usage.output if reply and reply.usage else None
    limit, finish = probe.ask(name).max_tokens or 0, reply.finish.value if reply else ""
    return replies.judge_output(limit, reached, finish, tokens, COUNTED[name][1])


def _context(probe: Probe, names: Names) -> Found:
    expected = probe.estimated(*probe.ask("context").conversation.messages)
    said, count = probe.said("context"), probe.count("context")
    return replies.judge_context(probe.keys, said, count, expected, probe.refused("context"))


def _thinking(probe: Probe, names: Names) -> Found:
    found = []
    for record in probe.records.values():
        reply = record.reply
        said = without_thinking(reply.text)
        thoughts = reply.reasoning or ("" if said == reply.text else reply.text)
        tokens = reply.usage.reasoning if reply.usage else None
        found.append(replies.Thought(thoughts, tokens, said, reply.finish.value))
    return replies.judge_thinking(found, probe.declared.thinks, probe.declared.told)


def _repeats(probe: Probe, names: Names) -> Found:
    late = [f"repeats-{n}" for n in ((3, 4) if probe.quick else (5, 6, 7, 8))]
    alone = [probe.said(name) for name in names if name not in late]
    at_once = [probe.said(name) for name in names if name in late]
    greedy = probe.info().greedy(probe.generation)
    return replies.judge_repeats(alone, at_once, None, greedy=greedy)


def _usage(probe: Probe, names: Names) -> Found:
    family = FAMILIES.get(probe.declared.family or "")
    counts_one = family is not None and family.rule(448, 448).tokens < 8
    counts = [0 if probe.miscounts and n is None else n for n in map(probe.count, names)]
    return replies.judge_usage(counts[:1], counts[1:], counts_one)


def _sizes(probe: Probe, names: Names) -> Found:
    if not probe.count("base"):
        return Found(CANNOT_TELL, "no usage")
    declared, counted = probe.declared, zip(SIZES, probe.pictures(), strict=True)
    absolute = declared.coordinates == "absolute"
    return judge_sizes(
        list(counted), declared.family, limit=declared.limit, own=declared.own, absolute=absolute
    )


def _refused(probe: Probe, names: Names) -> Found | None:
    refused = [f"{name}: {why}" for name in names if (why := probe.refused(name))]
    return Found(SUSPICIOUS, "; ".join(refused)) if refused else None


def _bytes(probe: Probe, names: Names) -> Found:
    return replies.judge_bytes(probe.count("size-a"), probe.count("noisy"))


# Rules about answers to pictures.


def _seen(probe: Probe, names: Names) -> Found:
    made = [name for name in SHOWN if name in probe.records]
    refused = sum(bool(probe.refused(name)) for name in made)
    if refused and len(made) - refused < 3:
        return Found(CANNOT_TELL, "too few sizes were answered")
    return sight.judge_seen([*map(probe.reads, made)], [*map(probe.added, made)])


def _cache(probe: Probe, names: Names) -> Found:
    asked, said = names[-1], re.sub(r"\D", "", probe.said(names[-1]))
    if asked == "size-a" or not probe.reads("size-a"):
        return Found(CANNOT_TELL, "the first code is not read")
    earlier = [code for name in ("size-a", "noisy") if name != asked for code in probe.codes(name)]
    if any(code in said for code in earlier):
        return Found(SUSPICIOUS, "answers about an earlier picture")
    return Found(OK, "read") if probe.reads(asked) else Found(CANNOT_TELL, "not read")


def _corners(probe: Probe, names: Names) -> Found:
    truth = corner_truth(probe.drawn(names[0])[0], probe.seed)
    return sight.judge_corners(truth, sight.quarters(probe.said(names[0])))


def _ladder(probe: Probe, names: Names) -> Found | None:
    if not all(map(probe.reply, LADDERS)):
        return None
    small, large = (
        sight.rows_read(ladder_rows(probe.drawn(name)[0], probe.seed), probe.said(name))
        for name in LADDERS
    )
    rule = probe.declared.rule
    if rule is None:
        return sight.judge_ladder(small, large)
    # How much the family itself shrinks the large picture, against the small one.
    near, far = rule(448, 448).size, rule(1920, 1080).size
    scale = min(far[0] / 1920, far[1] / 1080) / (min(near) / 448)
    return sight.judge_ladder(small, large, min(1.0, scale))


def _coverage(probe: Probe, names: Names) -> Found:
    codes = grid_codes(probe.drawn(names[0])[0], probe.seed)
    return sight.judge_coverage(codes, probe.said(names[0]))


def _order(probe: Probe, names: Names) -> Found:
    return sight.judge_order(probe.codes(names[0]), re.findall(r"\d+", probe.said(names[0])))


def _history(probe: Probe, names: Names) -> Found:
    both, one = probe.added("history"), probe.added("size-a")
    share = None if both is None or not one else both / one
    said = re.findall(r"\d+", probe.said("history"))
    return sight.judge_history(probe.codes("history"), said, share)


def _with_system(probe: Probe, names: Names) -> Found:
    if probe.reads("with-system"):
        return Found(OK, "read")
    known = [count for count in map(probe.count, names) if count is not None]
    if len(known) < 5:
        return Found(CANNOT_TELL, "not read, and no usage")
    whole, base, one, long, short = known
    if whole - base - (long - short) < 0.5 * (one - base):
        return Found(BROKEN, "a system text costs the picture its tokens")
    return Found(CANNOT_TELL, "not read")


def _points(probe: Probe, names: Names) -> Found:
    items, declared = [], probe.declared.coordinates
    for name in names:
        (picture,) = probe.view(name).pictures
        size = picture.width, picture.height
        items.append((size, probe.mark(name), probe.numbers(name)))
    found = sight.judge_points(items, declared or "per-mille")
    if declared is None and found.verdict in (OK, BROKEN):
        return Found(CANNOT_TELL, f"undeclared; the numbers fit {found.measured['numbers']}")
    return found


def _several(kind: str, numbers: Sequence[int]) -> tuple[str, ...]:
    return tuple(f"{kind}-{n}" for n in numbers)


_EIGHT, _FOUR = range(1, 9), range(1, 5)
_PAIR = ("with-system", "base", "size-a", "system", "no-system")
_FULL = {
    "copy": CheckRule(("copy", *SHORTS), _copy),
    "template": CheckRule(SHORTS, _template),
    "system text": CheckRule(("system", "no-system"), _system),
    "max_tokens": CheckRule(("max-tokens",), _output),
    "long reply": CheckRule(("long-reply",), _output),
    "context": CheckRule(("context",), _context),
    "thinking": CheckRule(("copy", *SHORTS), _thinking),
    "picture seen": CheckRule((*SHOWN, "base"), _seen),
    "sizes": CheckRule((*SHOWN, "base", *LADDERS), _sizes),
    "refused sizes": CheckRule((*SHOWN, *LADDERS), _refused),
    "bytes": CheckRule(("size-a", "noisy"), _bytes),
    "picture cache": CheckRule(("size-a", "noisy"), _cache, (("noisy-again",),)),
    "usage": CheckRule(("base", "size-a"), _usage),
    "corners": CheckRule(("corners",), _corners, (("corners-2",), ("corners-3",))),
    "ladder": CheckRule(LADDERS, _ladder),
    # Weak eyes may miss a whole row or column once.
    "coverage": CheckRule(
        ("coverage",),
        _coverage,
        (("coverage-again",),),
        otherwise=Found(CANNOT_TELL, "not the same codes are lost again"),
    ),
    "order": CheckRule(("order",), _order, (("order-again",),), kind=lambda found: found.verdict),
    "history": CheckRule(("history", "base", "size-a"), _history),
    "with system text": CheckRule(_PAIR, _with_system),
    "points": CheckRule(
        _several("points", _EIGHT),
        _points,
        (_several("points-again", _EIGHT),),
        bad=BROKEN,
        kind=lambda found: found.detail[0],
        otherwise=Found(CANNOT_TELL, "not the same numbers again"),
    ),
    "repeats": CheckRule(
        _several("repeats", _EIGHT),
        _repeats,
        (_several("repeats-again", _FOUR),),
        bad=BROKEN,
        kind=lambda found: found.verdict,
        otherwise=Found(SUSPICIOUS, "not repeatable"),
    ),
}
FULL = tuple(_FULL)
QUICK = (
    *("copy", "template", "thinking", "picture seen", "sizes", "refused sizes", "bytes"),
    *("picture cache", "usage", "corners", "ladder", "points", "repeats"),
)


def rows(quick: bool) -> dict[str, CheckRule]:
    """Return all checks by name, in order; with `quick`, those that are carried out then, some of
    them with fewer calls."""
    if not quick:
        return _FULL
    first, rest = _several("points", (1, 3, 6, 8)), _several("points", (2, 4, 5, 7))
    changed = {
        "points": _FULL["points"]._replace(calls=first, again=(rest,)),
        "repeats": _FULL["repeats"]._replace(calls=_several("repeats", _FOUR), again=()),
    }
    return {name: changed.get(name, _FULL[name]) for name in QUICK}
