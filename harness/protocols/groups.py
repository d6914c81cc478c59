"""Questions about groups of candidates, and the combination of their answers.

The prompt is rendered for the group alone. Replies are read against texts made from the step's
choices: a run can be scored again without its pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.page import Brackets
from harness.protocols.contract import flagged
from harness.records import Choice, Listing, Step
from parsers.records import Prediction, Status

NO_LETTER = "no-letter"
"""Flag of a reply that counts as none because it has no letter."""

_GROUP = "group-"
_NUMBERED = re.compile(r"(?<=[<(])([^\s<>()/]+) id=(\d+)")


@dataclass(frozen=True, slots=True)
class CandidateGroup:
    """The candidates of one question, in document order."""

    choices: tuple[Choice, ...]
    """The candidates with the texts that replies are read against."""
    shown: tuple[str, ...]
    """Their texts in the prompt, which may be cut at another place."""
    snippet: str = ""
    """The page pruned to them, "" if it is not shown."""


def group_of(
    step: Step,
    pool: Sequence[Choice],
    ids: Iterable[str],
    *,
    brackets: Brackets = "angle",
    snippet: bool = False,
) -> CandidateGroup:
    """Return the group of the candidates `ids`, taken from the step's choices `pool`."""
    wanted = tuple(ids)
    listing = _listing(step, pool, wanted, brackets, snippet)
    by_id = {choice.id: choice for choice in pool}
    listed = [by_id[node_id] for node_id, _ in listing.texts]
    return CandidateGroup(
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
    """Return the texts of the listed choices, numbered by their position in that list.

    Elements are numbered in document order among those listed together: `<a id=31>` of fifty is
    `<a id=2>` as the third of a group. The number of an element outside the group is removed.
    """
    of_number = {number: c.id for c in pool if (number := _number(c)) is not None}
    place = {choice.id: position for position, choice in enumerate(listed)}

    def renumber(match: re.Match[str]) -> str:
        position = place.get(of_number.get(int(match[2]), ""))
        return match[1] if position is None else f"{match[1]} id={position}"

    return [_NUMBERED.sub(renumber, choice.text) for choice in listed]


def _number(choice: Choice) -> int | None:
    """Return a choice's position in document order among all choices, None if unknown."""
    if choice.place is not None:
        return choice.place
    match = _NUMBERED.match(choice.text, 1)
    return int(match[2]) if match else None


def unanswered(results: Sequence[Prediction]) -> Prediction:
    """Combine the answers to several questions that all chose no element.

    Returns the first "none of these", since its operation may still be right, otherwise the first
    answer. The outcomes of the others become flags (see `passed_over`).
    """
    first = next((r for r in results if r.status is Status.NONE), results[0])
    return flagged(first, passed_over(result for result in results if result is not first))


def passed_over(results: Iterable[Prediction]) -> set[str]:
    """Return flags for unusable replies: those that name neither an element nor none.

    A reply without a letter, which MindAct's reader counts as none, is one of them.
    """
    usable = (Status.ANSWERED, Status.NONE)
    results = list(results)
    flags = {f"{_GROUP}{result.status}" for result in results if result.status not in usable}
    return flags | {f"{_GROUP}{NO_LETTER}" for result in results if NO_LETTER in result.flags}


def passed_over_notes(flags: Mapping[str, int]) -> list[str]:
    """Return a line with the number of steps that have each flag of `passed_over`, if any have."""
    counts = {flag.removeprefix(_GROUP): n for flag, n in flags.items() if flag.startswith(_GROUP)}
    if not counts:
        return []
    listed = ", ".join(f"{count} with {status}" for status, count in sorted(counts.items()))
    return [f"steps with an unusable reply about some group: {listed}"]
