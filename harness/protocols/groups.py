"""Candidates shown a group at a time: their order, their texts, and what many answers come to.

What a model is shown is rendered for the group alone. What its reply is read against is made from
the step's own choices, so that a run can be read again without its pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.page import Brackets
from harness.protocols.texts import Texts
from harness.records import Choice, Listing, Step
from parsers.records import Prediction, Status

STOPPED = {
    "content_filter": Status.CONTENT_FILTER,
    "refusal": Status.REFUSAL,
    "too_long": Status.TOO_LONG,
}
"""Replies that were withheld, by finish reason."""

NO_LETTER = "no-letter"
"""Flag of a reply that was taken for none because it has no letter."""

_GROUP = "group-"
_NUMBERED = re.compile(r"(?<=[<(])([^\s<>()/]+) id=(\d+)")


@dataclass(frozen=True, slots=True)
class Group:
    """Some of a step's candidates as one question shows them, in document order.

    `snippet` and `shown` are for the prompt; `choices` carry the texts that replies are read
    against, which agree with `shown` but for where a text is cut.
    """

    choices: tuple[Choice, ...]
    shown: tuple[str, ...]
    snippet: str = ""


def group_of(
    step: Step,
    pool: Sequence[Choice],
    ids: Iterable[str],
    *,
    brackets: Brackets = "angle",
    snippet: bool = False,
) -> Group:
    """The candidates `ids` of a step's choices `pool` as one group."""
    wanted = tuple(ids)
    listing = _listing(step, pool, wanted, brackets, snippet)
    by_id = {choice.id: choice for choice in pool}
    listed = [by_id[node_id] for node_id, _ in listing.texts]
    return Group(
        choices=tuple(
            replace(choice, text=text)
            for choice, text in zip(listed, renumbered(pool, listed), strict=True)
        ),
        shown=tuple(text for _, text in listing.texts),
        snippet=listing.snippet,
    )


def _listing(
    step: Step, pool: Sequence[Choice], ids: tuple[str, ...], brackets: Brackets, snippet: bool
) -> Listing:
    if step.scene is not None:
        return step.scene.listing(ids, brackets=brackets, snippet=snippet)
    wanted = set(ids)
    listed = [choice for choice in pool if choice.id in wanted]
    if all(_number(choice) is not None for choice in listed):
        listed.sort(key=lambda choice: _number(choice) or 0)
    texts = renumbered(pool, listed)
    return Listing("", tuple((c.id, text) for c, text in zip(listed, texts, strict=True)))


def renumbered(pool: Sequence[Choice], listed: Sequence[Choice]) -> list[str]:
    """The texts of some choices with the numbers that they have in a list of their own.

    Choices are numbered in document order among those listed together: `<a id=31>` of a pool of
    fifty is `<a id=2>` as the third of a group, and the number of a candidate that is not in the
    group is not shown.
    """
    of_number = {number: c.id for c in pool if (number := _number(c)) is not None}
    place = {choice.id: position for position, choice in enumerate(listed)}

    def anew(match: re.Match[str]) -> str:
        position = place.get(of_number.get(int(match[2]), ""))
        return match[1] if position is None else f"{match[1]} id={position}"

    return [_NUMBERED.sub(anew, choice.text) for choice in listed]


def _number(choice: Choice) -> int | None:
    """A choice's number in document order among all of them, None when it is not known."""
    if choice.place is not None:
        return choice.place
    match = _NUMBERED.match(choice.text, 1)
    return int(match[2]) if match else None


def unanswered(results: Sequence[Prediction]) -> Prediction:
    """What several questions come to of which none was answered with an element.

    The first that said none decides, for its operation is worth having; without one the first
    of all. Both are flagged with what became of the others (see `passed_over`).
    """
    said = next((r for r in results if r.status is Status.NONE), results[0])
    return flagged(said, passed_over(result for result in results if result is not said))


def passed_over(results: Iterable[Prediction]) -> set[str]:
    """Flags for questions that were neither answered with an element nor with none.

    A reply without a letter, which MindAct's reader takes for none, is among them.
    """
    clear = (Status.ANSWERED, Status.NONE)
    told = list(results)
    flags = {f"{_GROUP}{result.status}" for result in told if result.status not in clear}
    return flags | {f"{_GROUP}{NO_LETTER}" for result in told if NO_LETTER in result.flags}


def passed_over_notes(flags: Mapping[str, int]) -> list[str]:
    """How many steps have which of the flags of `passed_over`, as a line beside a result."""
    counts = {flag.removeprefix(_GROUP): n for flag, n in flags.items() if flag.startswith(_GROUP)}
    if not counts:
        return []
    listed = ", ".join(f"{count} with {status}" for status, count in sorted(counts.items()))
    return [f"steps with groups whose reply could not count: {listed}"]


def flagged(prediction: Prediction, flags: Iterable[str]) -> Prediction:
    """The prediction with further flags."""
    return replace(prediction, flags=tuple(sorted({*prediction.flags, *flags})))


def limit_of(max_tokens: Sequence[int], round_number: int) -> int | None:
    """The bound of a round's replies; the last one holds for later rounds."""
    return max_tokens[min(round_number, len(max_tokens) - 1)] if max_tokens else None


def history_lines(texts: Texts, history: Sequence[str], last: int | None) -> str:
    """The actions before a step by `history_line`, numbered from the beginning of the task."""
    first = 0 if last is None else max(0, len(history) - last)
    lines = [
        texts.fill("history_line", number=number + 1, action=action)
        for number, action in enumerate(history)
        if number >= first
    ]
    return "\n".join(lines) or texts["no_history"]
