"""Which words of a task are a value to type or to select."""

from __future__ import annotations

import re
from collections.abc import Sequence

QUOTED = re.compile(r"[\"“']([^\"”']{1,80})[\"”']")
NUMBER = re.compile(r"(?<![\w])[\d][\d.,:/-]*(?:\s?[ap]\.?m\.?)?", re.I)
MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
CAPITALISED = re.compile(
    r"[A-Z][\w'’-]*(?:\s+(?:of|de|la|and|the)\s+[A-Z][\w'’-]*|\s+[A-Z][\w'’-]*)*"
)
FOR = re.compile(
    r"\b(?:for|named|called|about|titled|search(?: for)?|find)\s+(?:an?\s+|the\s+|some\s+)?"
)
END = re.compile(r"[.,;:!?()]|\s(?:and|in|on|at|to|from|with|for|by|under|between|that|which)\s")

KINDS: tuple[tuple[frozenset[str], re.Pattern[str]], ...] = (
    (frozenset({"email", "mail", "e-mail"}), MAIL),
    (
        frozenset(
            {"number", "zip", "postcode", "phone", "tel", "quantity", "age", "date", "price"}
        ),
        NUMBER,
    ),
)


def candidates(task: str) -> list[str]:
    """Phrases that may be values, most telling first: quoted, addresses, names, numbers, objects."""
    found: list[str] = [*QUOTED.findall(task), *MAIL.findall(task)]
    # The first word of the task is capitalised for another reason.
    found += [m.group() for m in CAPITALISED.finditer(task) if m.start() > 0]
    found += [match.group().rstrip(".,:/-") for match in NUMBER.finditer(task)]
    for match in FOR.finditer(task):
        rest = task[match.end() :]
        end = END.search(rest)
        found.append(rest[: end.start()] if end else rest)
    distinct = dict.fromkeys(phrase.strip() for phrase in found)
    return [phrase for phrase in distinct if phrase]


def unused_phrase(task: str, used: Sequence[str], field: str) -> str:
    """The phrase to type into a field with this text: of the field's kind, not typed before."""
    done = {value.lower() for value in used}
    open_phrases = [p for p in candidates(task) if p.lower() not in done]
    about = set(field.lower().split())
    for names, pattern in KINDS:
        if names & about:
            fitting = [p for p in open_phrases if pattern.fullmatch(p)]
            if fitting:
                return fitting[0]
    return open_phrases[0] if open_phrases else ""


def option_in_task(task: str, used: Sequence[str], options: str) -> str:
    """The longest run of the list's words that the task contains, else the first open phrase."""
    text = " ".join(options.split())
    spoken = " ".join(task.lower().split())
    parts = text.split(" ")
    done = {value.lower() for value in used}
    for length in range(min(6, len(parts)), 0, -1):
        for start in range(len(parts) - length + 1):
            run = " ".join(parts[start : start + length]).strip(".,;:")
            if len(run) > 2 and run.lower() not in done and f" {run.lower()} " in f" {spoken} ":
                return run
    return unused_phrase(task, used, "")
