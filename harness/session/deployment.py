"""Check whether units end without an answer because of the deployment rather than the model.

A wrong deployment (an output limit that does not fit, a server with too small a context, a filter)
fails every unit alike, and the score would be 0 without a word. Such units are not settled as long
as they may all be its fault: nothing is lost on resuming, and nothing wrong is on record.

A model that thinks spends the limit of a reply on its thoughts, too. If they use it up, there is no
answer, and every such step scores 0 as if the model had been wrong: the user is told of the limit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adapters import AdapterInfo, Reply
from adapters.contract import Fatal
from adapters.conversation import Finish
from adapters.faults import Sizes, sizes_named
from harness.engine import NoAnswers, Outcome
from harness.planning.model import THINKING, Limits, default_limit, limits_of
from harness.planning.plan import Plan
from harness.printing import one_line
from harness.runs import Unit, open_run
from harness.session.observers import SCORE_FAILURES
from harness.settings import Settings
from parsers import PARSE_FAILURES
from parsers.records import STATUS_WORDS, UNDELIVERED, Status
from parsers.reply_text import ends_in_thought, without_thinking

FIRST_UNITS = 5
"""A run whose first units, so many, all end without an answer stops."""
ENOUGH_UNITS, MOST_WITHOUT = 100, 0.05
"""Least units of a session, and the share of them without an answer that stops it if exceeded."""
_SHARED = (Status.PROVIDER_REFUSED, Status.TOO_LONG)
"""Statuses that are counted over the whole session."""


@dataclass(frozen=True)
class _Failed:
    """A unit without an answer that is not settled yet."""

    record: Unit[Any]
    status: Status
    words: str


class Deployment:
    """Holds back units without an answer, and stops the run if the deployment is at fault.

    The first units decide: once one of them is answered, or read as something, the others count as
    the model's. Prompts that are refused or too long are held until the session ends, since their
    number may still say that the run is at fault.

    Models on this machine, policies and scripts have no deployment: their units are settled at
    once, whatever they end with.

    before: the lines of earlier sessions.
    stop: ends the session; calls in flight are waited for.
    say: prints a line for the user.
    """

    def __init__(
        self,
        plan: Plan,
        before: Sequence[Unit[Any]],
        stop: Callable[[NoAnswers], None],
        say: Callable[[str], None],
    ) -> None:
        info = plan.model.info
        self.weighs = not (info.runs_here or info.stand_in or plan.settings.score_failures)
        self._plan = plan
        self._stop = stop
        self._say = say
        ended = [one.prediction.status for one in before if one.calls and one.prediction]
        self._without = sum(status in UNDELIVERED for status in ended)
        self._answered = any(status not in {*UNDELIVERED, Status.NO_REPLY} for status in ended)
        self._held: list[_Failed] = []
        self._units = 0
        self._example: dict[Status, Outcome] = {}
        self._stopped = False

    def take_first(self, reply: Reply) -> None:
        """Take the reply to the preflight call. Raises `Fatal` if not even that fits."""
        if reply.finish is Finish.TOO_LONG and self.weighs:
            why = _advice(self._plan, Status.TOO_LONG, reply)
            raise Fatal(f"the first call: {why}; {SCORE_FAILURES} goes on all the same")
        if warning := preflight_warning(reply, limits_of(self._plan.settings)):
            self._say(warning)

    def take(self, record: Unit[Any], outcome: Outcome) -> Iterator[Unit[Any]]:
        """Take up a unit that has ended, and yield those that are settled by now."""
        if outcome.prediction is None:
            yield record
            return
        self._units += 1
        status = outcome.prediction.status
        if not (self.weighs and outcome.undelivered):
            if not (self._answered or self._stopped):
                self._answered = True
                yield from self._release(*UNDELIVERED.difference(_SHARED), Status.TRUNCATED)
            yield record
        elif self._answered and status not in _SHARED:
            yield record
        elif not self._stopped:
            words = outcome.last.refusal if outcome.last else ""
            self._held.append(_Failed(record, status, re.sub(r"\d+", "0", words)))
            self._example.setdefault(status, outcome)
        self._weigh()

    def finish(self) -> None:
        """Raise `NoAnswers` if every unit has ended, and none with an answer."""
        if self._held and not self._answered and not self._stopped:
            everything = f"no {self._plan.dataset.unit} got an answer"
            raise self._reason(everything, [one.status for one in self._held])

    def rest(self) -> Iterator[Unit[Any]]:
        """Yield the units that wait until the end of a session, which settles them."""
        if self._answered and not self._stopped:
            yield from self._release(*_SHARED)

    def _release(self, *statuses: Status) -> Iterator[Unit[Any]]:
        yield from (one.record for one in self._held if one.status in statuses)
        self._held = [one for one in self._held if one.status not in statuses]

    def _weigh(self) -> None:
        """Stop the session if too many units have no answer."""
        if self._stopped or not self._held:
            return
        units = self._plan.dataset.units
        if not self._answered:
            if (first := self._without + len(self._held)) >= FIRST_UNITS:
                statuses = [one.status for one in self._held]
                self._end(
                    self._reason(f"none of the first {first} {units} got an answer", statuses)
                )
            return
        for status in _SHARED:
            held = [one for one in self._held if one.status is status]
            alike = Counter(one.words for one in held)
            # Few refusals in other words each are those of single units; the same words are not.
            same = max(alike.values(), default=0) if status is Status.PROVIDER_REFUSED else 0
            most = MOST_WITHOUT * max(self._units, ENOUGH_UNITS)
            if same > most or (self._units >= ENOUGH_UNITS and len(held) > most):
                what = f"{len(held)} of {self._units} {units} got no answer"
                self._end(self._reason(what, [status] * len(held)))
                return

    def _end(self, reason: NoAnswers) -> None:
        self._stopped = True
        self._stop(reason)

    def _reason(self, what: str, statuses: Sequence[Status]) -> NoAnswers:
        """Say what ended without an answer, in whose words, with which numbers, and the remedy."""
        counts = Counter(statuses)
        listed = ", ".join(f"{n} {STATUS_WORDS[status]}" for status, n in counts.most_common())
        [(status, _)] = counts.most_common(1)
        one = self._example[status]
        why = _advice(self._plan, status, one.last, one.prompt_tokens)
        return NoAnswers(f"{what} ({listed}): {why}")


def _advice(plan: Plan, status: Status, reply: Reply | None, tokens: int | None = None) -> str:
    """Say why a prompt has no answer: the server's words, the numbers and the remedy.

    tokens: estimated tokens of the prompt, None if nothing estimates.
    """
    limits = limits_of(plan.settings)
    words = reply.refusal if reply else ""
    sizes = sizes_named(words)
    if sizes.limit is None and status is Status.TOO_LONG:
        sizes = replace(sizes, limit=plan.model.info.context_tokens)
    if sizes.prompt is None:
        sizes = replace(sizes, prompt=tokens)
    numbers = []
    if sizes.limit is not None:
        numbers.append(f"the server's limit is {sizes.limit:,}")
    if sizes.prompt is not None:
        numbers.append(f"this prompt has about {sizes.prompt:,} tokens, those of pictures included")
    numbers.append(f"--max-tokens {written(limits)}")
    said = f"{words.rstrip('.')}; " if words else ""
    return f"{said}{', '.join(numbers)}. {_remedy(plan, status, sizes)}"


_LESS = "send less: smaller or no pictures (--image-policy full:pixels=N), a shorter --history"


def _remedy(plan: Plan, status: Status, sizes: Sizes) -> str:
    """Say what to change so units get an answer."""
    limits = limits_of(plan.settings)
    if sizes.of_reply:
        room = (sizes.limit or 0) - (sizes.prompt or 0)
        fitting = room if 0 < room < max(limits) else max(1, max(limits) // 2)
        return (
            "The limit of replies does not fit next to the prompt: give a lower one "
            f"(--max-tokens {fitting}), or the server a longer context (--max-model-len)"
        )
    match status:
        case Status.TOO_LONG:
            return (
                "The context is too small: give the server a longer one (--max-model-len), or "
                f"{_LESS}"
            )
        case Status.PROVIDER_REFUSED:
            return f"Change what the server complains of, or {_LESS}"
        case Status.CONTENT_FILTER:
            return (
                "The provider's filter withholds the replies: change its settings, or ask another "
                "model"
            )
        case Status.TRUNCATED:
            return (
                "The thoughts of each reply took all of its tokens: give a higher limit "
                f"(--max-tokens {higher(limits)}), or let the model think less (--adapter-option "
                "effort=LEVEL)"
            )
    return (
        "The replies have no text: check the server's chat template and reasoning parser, or give "
        f"a higher limit (--max-tokens {higher(limits)})"
    )


FIRST_STEPS = 20
"""Steps before anything is said about their share."""
SHARE = 0.1
"""Share of steps without a usable reply above which the user is informed about the limit."""
_QUOTED = 200


def limit_heading(settings: Settings, info: AdapterInfo) -> str | None:
    """Describe the limit of a model that thinks, if it was not given."""
    if "max_tokens" in settings.given or default_limit(settings, info) != (THINKING,):
        return None
    return f"{THINKING} tokens a reply, thoughts included (--max-tokens)"


def preflight_warning(reply: Reply, limits: Limits) -> str | None:
    """A line if the model had no room left for the one word that the preflight call asks for."""
    if reply.finish is Finish.LENGTH or ends_in_thought(reply.text):
        found = f"was cut off at {limits[0]} tokens"
    elif reply.finish is Finish.STOP and not without_thinking(reply.text).strip():
        found = f"has no text (the limit is {limits[0]} tokens)"
    else:
        return None
    return (
        f"warning: the preflight call asks for one word, and its reply {found}; a model that "
        "thinks spends the limit on its thoughts, and steps without an answer score 0. Give a "
        f"higher one: --max-tokens {higher(limits)}"
    )


def unusable_replies(
    records: Sequence[Unit[Any]],
    limits: Limits,
    units: str = "steps",
    directory: Path | None = None,
) -> str | None:
    """A line if more than `SHARE` of the steps have a reply that is cut off, empty or unreadable.

    It counts steps, or what `units` names, each once, and is None for fewer than `FIRST_STEPS`. Its
    advice is about the kind that is most frequent; a form that is not read is shown by a reply of
    the run at `directory`.
    """
    kinds = reply_kinds(records)
    steps = kinds.total()
    bad = steps - kinds[""]
    if steps < FIRST_STEPS or bad <= SHARE * steps:
        return None
    listed = ", ".join(f"{kinds[kind]} {kind}" for kind in UNUSABLE if kinds[kind])
    raised = f"raise the limit of {written(limits)} tokens, --max-tokens {higher(limits)}"
    match max(UNUSABLE, key=lambda kind: kinds[kind]):
        case "cut off":
            advice = raised
        case "empty":
            advice = f"look at the server's chat template and reasoning parser, or {raised}"
        case _:
            last = next(record for record in reversed(records) if _kind(record) == "unreadable")
            shown = f", such as {quoted(_reply_to(last, directory))}" if directory else ""
            advice = f"they do not have the form that was asked for{shown}"
    return (
        f"{bad} of {steps} {units} ({100 * bad / steps:.0f} %) without a usable reply ({listed}): "
        f"{advice}"
    )


def _reply_to(record: Unit[Any], directory: Path) -> str:
    """Return the last reply of the model under test to a unit. Raises `RunError`."""
    calls = open_run(directory).calls_of(record.unit_id, record.repeat)
    return next((call.reply.text for call in reversed(calls) if call.is_ask and not call.role), "")


def quoted(text: str) -> str:
    """Return the beginning of a model's or server's text in one line, safe for a terminal."""
    line = one_line(text, _QUOTED)
    return f"'{line}'" if line else "(no text)"


UNUSABLE = ("cut off", "empty", "unreadable")
"""Kinds of replies that cannot be used."""


def reply_kinds(records: Iterable[Unit[Any]]) -> Counter[str]:
    """Count the settled steps that were asked by the kind of their reply; "" is usable."""
    return Counter(_kind(record) for record in records if record.asked and record.settled)


def _kind(record: Unit[Any]) -> str:
    prediction = record.prediction
    if prediction is None:
        return ""
    if prediction.status is Status.TRUNCATED:
        return "cut off"
    if prediction.status is Status.EMPTY:
        return "empty"
    return "unreadable" if prediction.status in PARSE_FAILURES else ""


def higher(limits: Limits) -> int:
    """A limit worth trying next."""
    return max(THINKING, 4 * max(limits))


def written(limits: Limits) -> str:
    """Write limits as on a command line."""
    return ",".join(map(str, limits))
