"""The checks of a deployment: what the rules say of the replies, in one word each."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from adapters.conversation import system
from adapters.picture_tokens import FAMILIES
from harness.verify import replies, scenes, sight
from harness.verify.calls import Probe
from harness.verify.declared import Declared
from harness.verify.sizes import Fit, judge_sizes
from harness.verify.texts import COPY, COUNTED, PASS_WORD, SHORT, SIZES, SYSTEM
from harness.verify.words import (
    ANSWERS,
    BROKEN,
    CANNOT_TELL,
    FULL,
    OK,
    SUSPICIOUS,
    Check,
    Found,
    Verdict,
)
from parsers.thinking import without_thinking


class Judge:
    """Judges a probe; the rules are asked anew each time, so it may be under way."""

    def __init__(self, probe: Probe, declared: Declared) -> None:
        self.probe = probe
        self.declared = declared
        self.fit: Fit | None = None
        self.interval: tuple[float, float] | None = None
        self.reading_px: float | None = None

    def checks(self) -> list[Check]:
        """Return every check whose calls were made, in order."""
        return [check for name in FULL if (check := self.check(name)) is not None]

    def check(self, name: str) -> Check | None:
        """Return one check, repetitions included; None if it was not carried out."""
        probe = self.probe
        if name not in probe.wants and name != "refused sizes":
            return None
        if name in ANSWERS and self._seen().verdict != OK and "size-b" in probe.records:
            return None
        rules: dict[str, Callable[[], Found | None]] = {
            "copy": self._copy,
            "template": self._template,
            "system text": self._system,
            "max_tokens": lambda: self._output("max-tokens"),
            "long reply": lambda: self._output("long-reply"),
            "context": self._context,
            "thinking": self._thinking,
            "picture seen": self._seen,
            "sizes": self._sizes,
            "refused sizes": self._refused,
            "bytes": lambda: replies.judge_bytes(probe.count("size-a"), probe.count("noisy")),
            "picture cache": self._cache,
            "usage": self._usage,
            "corners": self._corners,
            "ladder": self._ladder,
            "coverage": self._coverage,
            "order": self._order,
            "history": self._history,
            "with system text": self._with_system,
            "points": self._points,
            "repeats": self._repeats,
        }
        calls = tuple(call for call in probe.calls_of(name) if call in probe.records)
        first = probe.calls_of(name)[:1]
        if name != "refused sizes" and (not calls or (first and first[0] not in probe.records)):
            return None
        found = rules[name]()
        return None if found is None else Check(name, found.verdict, found.detail, calls)

    def is_suspect(self, name: str) -> bool:
        """Return True for a check to ask again, and for pictures that do not arrive at all."""
        if name == "picture seen":
            made = [one for one in ("size-a", "noisy") if one in self.probe.records]
            unread = not any(self._reads(one) for one in made)
            added = [self.probe.added(one) for one in made]
            return bool(made) and sight.judge_seen([not unread], added).verdict == BROKEN
        check = self.check(name)
        return check is not None and check.rule in (SUSPICIOUS, BROKEN)

    # Texts and limits.

    def _copy(self) -> Found:
        others = [self.probe.said(f"short-{n}") for n in (1, 2, 3)]
        known = re.findall(r"\w+", f"{COPY} {' '.join(SHORT)} ok hi blue four 4".lower())
        return replies.judge_copy(COPY, self.probe.said("copy"), others, known)

    def _template(self) -> Found:
        probe, expected = self.probe, self.declared.template
        answers = [probe.reply(f"short-{n}") for n in (1, 2, 3)]
        ids = [len(r.token_ids[0]) for r in answers if r is not None and r.token_ids is not None]
        if len(ids) == len(answers):
            expected = tuple(ids)
        return replies.judge_template(expected, [probe.count(f"short-{n}") for n in (1, 2, 3)])

    def _system(self) -> Found:
        probe, expected = self.probe, self.probe.estimated(system(SYSTEM))
        said = PASS_WORD in probe.said("system").lower()
        return replies.judge_system(said, probe.count("system"), probe.count("no-system"), expected)

    def _output(self, name: str) -> Found | None:
        reply = self.probe.reply(name)
        if reply is None:
            return None
        limit, goal = self.probe.ask(name).max_tokens or 0, COUNTED[name][1]
        reached = 0
        for number in re.findall(r"\d{1,4}", self.probe.said(name)):
            reached += int(number) == reached + 1
        tokens = reply.usage.output if reply.usage else None
        return replies.judge_output(limit, reached, reply.finish.value, tokens, goal)

    def _context(self) -> Found:
        probe = self.probe
        expected = probe.estimated(*probe.ask("context").conversation.messages)
        error = probe.refused("context") or None
        return replies.judge_context(
            probe.keys, probe.said("context"), probe.count("context"), expected, error
        )

    def context_limit(self) -> int | None:
        """Tokens to which the server cut the long text; None if it did not."""
        cut = "context" in self.probe.records and self._context().verdict == BROKEN
        return self.probe.count("context") if cut else None

    def _thinking(self) -> Found:
        rows = []
        for record in self.probe.records.values():
            reply = record.reply
            said = without_thinking(reply.text)
            thoughts = reply.reasoning or ("" if said == reply.text else reply.text)
            tokens = reply.usage.reasoning if reply.usage else None
            rows.append(replies.Thought(thoughts, tokens, said, reply.finish.value))
        return replies.judge_thinking(rows, self.declared.thinks, self.declared.told)

    def _repeats(self) -> Found:
        probe = self.probe
        names = [name for name in probe.calls_of("repeats") if name in probe.records]
        half = len(probe.calls_of("repeats")) // 2
        alone, at_once = ([probe.said(n) for n in some] for some in (names[:half], names[half:]))
        greedy = probe.info().greedy(probe.generation)
        found = replies.judge_repeats(alone, at_once, None, greedy=greedy)
        again = [probe.said(n) for n in probe.again("repeats") if n in probe.records]
        if found.verdict == BROKEN and again:
            second = replies.judge_repeats(again, (), None, greedy=greedy)
            return found if second.verdict == BROKEN else Found(SUSPICIOUS, "not repeatable")
        return found

    # Counts.

    def _usage(self) -> Found:
        probe, family = self.probe, FAMILIES.get(self.declared.family or "")
        counts_one = family is not None and family.rule(448, 448).tokens < 8
        plain = [probe.count(name) for name in ("base", "copy") if name in probe.records]
        return replies.judge_usage(plain[:1], [probe.count("size-a")], counts_one)

    def counts(self) -> list[int | None]:
        """Tokens of the pictures of the five sizes; None where one was refused or not counted."""
        probe = self.probe
        first = [probe.added(name) for name in SIZES]
        small, large = probe.count("ladder-small"), probe.count("ladder-large")
        last = None
        if first[0] is not None and small is not None and large is not None:
            last = max(0, first[0] + large - small)
        return [*first, last]

    def texts(self) -> list[int | None]:
        """Prompt tokens of the three short texts."""
        return [self.probe.count(f"short-{n}") for n in (1, 2, 3)]

    def _sizes(self) -> Found:
        if (self.probe.count("base") or 0) == 0:
            return Found(CANNOT_TELL, "no usage")
        declared = self.declared
        counted = list(zip(scenes.SIZES, self.counts(), strict=True))
        found, self.fit = judge_sizes(
            counted,
            declared.family,
            limit=declared.limit,
            own=declared.own,
            absolute=declared.coordinates == "absolute",
        )
        return found

    def _refused(self) -> Found | None:
        names = (*SIZES, "ladder-small", "ladder-large")
        refused = [f"{name}: {why}" for name in names if (why := self.probe.refused(name))]
        return Found(SUSPICIOUS, "; ".join(refused)) if refused else None

    # Pictures.

    def _reads(self, name: str) -> bool:
        own = {"noisy": "other", "noisy-again": "other2"}.get(name)
        return self.probe.code(own or f"size{list(SIZES).index(name)}") in self.probe.digits(name)

    def _seen(self) -> Found:
        made = [name for name in SIZES if name in self.probe.records]
        refused = [name for name in SIZES if self.probe.refused(name)]
        if refused and len(made) - len(refused) < 3:
            return Found(CANNOT_TELL, "too few sizes were answered")
        tokens = [self.probe.added(name) for name in made]
        return sight.judge_seen([self._reads(name) for name in made], tokens)

    def _cache(self) -> Found | None:
        probe = self.probe
        if "noisy" not in probe.records or not self._reads("size-a"):
            return Found(CANNOT_TELL, "the first code is not read")
        earlier = [probe.code("size0"), probe.code("other")]
        wrong = earlier[0] in probe.digits("noisy")
        if "noisy-again" in probe.records:
            wrong_again = any(code in probe.digits("noisy-again") for code in earlier)
            return Found(
                BROKEN if wrong and wrong_again else SUSPICIOUS, "answers about an earlier picture"
            )
        if wrong:
            return Found(SUSPICIOUS, "answers about an earlier picture")
        return Found(OK, "read") if self._reads("noisy") else Found(CANNOT_TELL, "not read")

    def _corners(self) -> Found:
        made = [name for name in ("corners", "corners-2", "corners-3") if self.probe.reply(name)]
        found = [self._quarters(name) for name in made]
        same = len(found) == 3 and all(one == found[0] for one in found)
        return replace(found[0], verdict=BROKEN) if same else found[0]

    def _quarters(self, name: str) -> Found:
        own = {"corners-2": "c2", "corners-3": "c3"}.get(name, "c")
        text, said = self.probe.said(name).lower(), list[tuple[str, str]]()
        for word, digit in re.findall(r"([a-z]+)[^a-z0-9]*(\d)?", text):
            if word in sight.COLOR_WORDS:
                said.append((sight.COLOR_WORDS[word], digit or "-"))
        said = [*said[:4], *[("none", "-")] * (4 - len(said))]
        return sight.judge_corners(scenes.corner_truth(own, self.probe.seed), said)

    def _ladder(self) -> Found | None:
        probe = self.probe
        if not (probe.reply("ladder-small") and probe.reply("ladder-large")):
            return None

        def read(name: str) -> list[int]:
            rows = [scenes.digits(f"{name}/{h}", 6, probe.seed) for h in scenes.HEIGHTS]
            return sight.rows_read(rows, probe.said(f"ladder-{name}"))

        found, self.interval, self.reading_px = sight.judge_ladder(
            read("small"), read("large"), self._expected_scale()
        )
        return found

    def _expected_scale(self) -> float:
        """How much the family itself shrinks the large picture, against the small one."""
        rule = self.declared.rule
        if rule is None:
            return 1.0
        small, large = rule(448, 448).size, rule(1920, 1080).size
        near, far = min(small) / 448, min(large[0] / 1920, large[1] / 1080)
        return min(1.0, far / near)

    def _coverage(self) -> Found:
        found = self._grid("coverage", "g")
        again = self.probe.reply("coverage-again")
        if found.verdict == SUSPICIOUS and again is not None:
            second = self._grid("coverage-again", "g2")
            return replace(found, verdict=BROKEN) if second == found else found
        return found

    def _grid(self, name: str, own: str) -> Found:
        return sight.judge_coverage(scenes.grid_codes(own, self.probe.seed), self.probe.said(name))

    def _order(self) -> Found:
        found, second = self._codes("order"), self._codes("order-again")
        if found.verdict == SUSPICIOUS and self.probe.reply("order-again"):
            return replace(found, verdict=BROKEN) if second.verdict == SUSPICIOUS else found
        return found

    def _codes(self, name: str) -> Found:
        sent = [self.probe.code(own) for own in self.probe.order_names(name)]
        return sight.judge_order(sent, re.findall(r"\d+", self.probe.said(name)))

    def _history(self) -> Found:
        probe = self.probe
        sent = [probe.code(own) for own in ("h1", "h2")]
        both, one = probe.added("history"), probe.added("size-a")
        share = None if both is None or not one else both / one
        return sight.judge_history(sent, re.findall(r"\d+", probe.said("history")), share)

    def _with_system(self) -> Found:
        probe = self.probe
        if probe.code("size0") in probe.digits("with-system"):
            return Found(OK, "read")
        counts = [probe.count(n) for n in ("with-system", "base", "system", "no-system", "size-a")]
        known = [count for count in counts if count is not None]
        if len(known) < len(counts):
            return Found(CANNOT_TELL, "not read, and no usage")
        whole, base, long, short, one = known
        if whole - base - (long - short) < 0.5 * (one - base):
            return Found(BROKEN, "a system text costs the picture its tokens")
        return Found(CANNOT_TELL, "not read")

    def _points(self) -> Found:
        found = self.points([n for n in self.probe.calls_of("points") if n in self.probe.records])
        again = [n for n in self.probe.again("points") if n in self.probe.records]
        if found.verdict == BROKEN and again:
            second = self.points(again)
            same = second.verdict == BROKEN and second.detail[0] == found.detail[0]
            return found if same else Found(CANNOT_TELL, "not the same numbers again")
        return found

    def points(self, names: Sequence[str]) -> Found:
        """Judge the marks of some calls by the numbers in their replies."""
        items = []
        for name in names:
            view, mark = self.probe.view(name)
            (picture,) = view.pictures
            items.append(((picture.width, picture.height), mark, self.probe.numbers(name)))
        declared = self.declared.coordinates
        found = sight.judge_points(items, declared or "per-mille")
        if declared is None and found.verdict in (OK, BROKEN):
            unit = self.unit_of(found.verdict, found.detail)
            return Found(CANNOT_TELL, f"undeclared; the numbers fit {unit}")
        return found

    def unit_of(self, rule: Verdict, detail: Any) -> str | None:
        """The unit of the numbers that `points` shows; None if it shows none."""
        if rule == BROKEN and isinstance(detail, list):
            return str(detail[0]) if isinstance(detail[1], bool) else "absolute"
        pointed = rule in (OK, SUSPICIOUS)
        return (self.declared.coordinates or "per-mille") if pointed else None
