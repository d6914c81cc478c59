"""Reproductions in words: for the command and for docs/reproductions.md."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from adapters.secrets import masked
from harness.tables import Grid, Heading, bounds, percent, rows_of
from reports.published.keys import ANY
from reports.reproductions.outcome import Measured, Reproduction

PROGRAM = "vlm-eval"
_WIDTH = 110


def command_text(arguments: Sequence[str]) -> str:
    """Format a command in lines that break before options; secrets are masked."""
    lines, line = [], PROGRAM
    for word in (shlex.join(map(shown, words)) for words in grouped(arguments)):
        if len(line) + len(word) + 3 > _WIDTH:
            lines.append(f"{line} \\")
            line = f"  {word}"
        else:
            line = f"{line} {word}"
    return "\n".join([*lines, line])


def grouped(arguments: Sequence[str]) -> list[list[str]]:
    """Group the arguments: each option with its value.

    >>> grouped(["run", "--yes", "--split", "test"])
    [['run'], ['--yes'], ['--split', 'test']]
    """
    groups: list[list[str]] = []
    for argument in arguments:
        takes_value = groups and groups[-1][0].startswith("-") and len(groups[-1]) == 1
        if takes_value and not argument.startswith("-"):
            groups[-1].append(argument)
        else:
            groups.append([argument])
    return groups


def shown(argument: str) -> str:
    """Mask the secret in an argument.

    >>> shown("extra_headers.Authorization=Bearer x"), shown("detail=low")
    ('extra_headers.Authorization=[masked]', 'detail=low')
    """
    name, sign, value = argument.partition("=")
    return f"{name}={masked({name: value})[name]}" if sign else argument


def published_text(one: Reproduction) -> str:
    """Format the published figures by measure."""
    return ", ".join(f"{head} {percent(one.row.values[name])}" for name, head in one.heads.items())


def price(one: Reproduction) -> str:
    """Return the expected dollars, "" if nothing is paid."""
    return f"${one.needs.dollars:,.0f}" if one.needs.dollars else ""


def comparable_text(one: Reproduction) -> str:
    """Say if a finished run is comparable with the row, and the reasons if not."""
    reasons = [f"the model is {one.stands_in}"] if one.stands_in else []
    if one.row.landmark:
        reasons.append(f"the row is a landmark: {one.row.landmark}")
    reasons += [f"the run differs in {', '.join(one.apart)}"] if one.apart else []
    return f"no, {'; '.join(reasons)}" if reasons else "yes"


def heading(one: Reproduction, words: Sequence[str], changed: Iterable[str]) -> list[str]:
    """Return the lines above the run that a command starts."""
    row, needs = one.row, one.needs
    keys = ", ".join(f"{name}: {value}" for name, value in row.keys.items() if value != ANY)
    memory = f"a GPU with {needs.gpu_gb} GB" if needs.gpu_gb else ""
    dollars = f"about {price(one)}" if needs.dollars else ""
    needed = filter(None, (needs.data, needs.key, memory, dollars, f"about {needs.hours:g} h"))
    return [
        one.title,
        f"published: {published_text(one)} ({row.paper}, {row.table}, {row.model}, {row.split})",
        f"keys:      {keys}",
        f"needs:     {'; '.join(needed)}",
        *(f"before:    {line}" for line in needs.prepare),
        *(f"differs:   {line}" for line in one.differences),
        *(
            f"measured:  {_figure(figure)}: {figure.of}; {figure.date}, version {figure.version}, "
            f"{figure.machine}"
            for figure in one.measured
        ),
        f"compares:  {comparable_text(one)}",
        *(f"changed:   {line}" for line in changed),
        f"\n{command_text(words)}\n",
    ]


def _figure(figure: Measured) -> str:
    return f"{percent(figure.value)} {bounds(figure.low, figure.high)}".rstrip() + f", {figure.n}"


def list_grid(listed: Iterable[Reproduction]) -> Grid:
    """Return a table of all reproductions."""
    columns = (
        *("name", "published row", "measure", "published", "key", "GPU", "price", "hours"),
        *("comparable", "measured here"),
    )
    rows = [
        [
            one.name,
            f"{one.row.model} ({one.row.source}, {one.row.split})",
            one.heads[one.measure],
            percent(one.published),
            one.needs.key or "–",
            f"{one.needs.gpu_gb} GB" if one.needs.gpu_gb else "–",
            price(one) or "–",
            f"{one.needs.hours:g}",
            comparable_text(one).partition(",")[0],
            "; ".join(map(_figure, one.measured)) or "–",
        ]
        for one in listed
    ]
    text = ("name", "published row", "measure", "key", "comparable")
    return Grid(
        "Reproductions",
        tuple(Heading(c, "left" if c in text else "right") for c in columns),
        rows_of(rows),
        footnotes=("Per cent. Prices and hours are expectations.",),
    )
