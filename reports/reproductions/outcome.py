"""Read the declared reproductions, describe them, and compare a run with the published row.

A file is named after its reproduction, and has

    title        in words
    source       the published source, the model and the split of its row (`reports.published`);
    model        the figures are there
    split
    measure      the measure of the row that decides the verdict
    command      the arguments of `vlm-eval`, without paths
    measured_on  the split of the run, if the source does not name one
    stands_in    the model that replaces one that is not served any more
    apart        keys where a finished run differs from the row, or `split`
    differences  known differences, a sentence each
    needs        data, key, hardware, cost and time (`_Needs`)
    measured     our figures (`Measured`), if any
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast, get_args

import msgspec
from msgspec import structs

from adapters.decoding import convert_to
from adapters.secrets import masked
from harness.tables import Cell, Grid, Heading, bounds, few_notes, percent, rows_of
from harness.tables.grid import interval_text
from harness.tables.results import average_of
from parsers import Average
from parsers.estimates import Estimate
from reports.frames.rows import run_rows
from reports.load import RunLike, open_runs
from reports.names import name_of
from reports.published.keys import Matcher
from reports.published.source import ANY, AVERAGE, Published, published_rows

FOLDER = Path(__file__).parent


class ReproductionError(ValueError):
    """A declaration is not valid."""


class _Needs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The needs of a reproduction.

    data: the data and its source.
    hours: expected duration.
    basis: source of the estimates of hours and dollars.
    key: the environment variable with the key of its provider, "" if none is needed.
    dollars: expected cost, 0 if nothing is paid.
    gpu_gb: memory of the GPU in gigabytes, 0 if none is needed.
    prepare: commands to run once beforehand; one that writes a file ends with `-o FILE`.
    """

    data: str
    hours: float
    basis: str
    key: str = ""
    dollars: float = 0.0
    gpu_gb: int = 0
    prepare: tuple[str, ...] = ()


class Measured(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A figure measured by a version: a share between 0 and 1, with its 95 % interval if any."""

    of: str
    value: float
    n: str
    date: str
    version: str
    machine: str
    low: float | None = None
    high: float | None = None


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    title: str
    source: str
    model: str
    split: str
    measure: str
    command: tuple[str, ...]
    differences: tuple[str, ...]
    needs: _Needs
    measured: tuple[Measured, ...] = ()
    measured_on: str = ""
    stands_in: str = ""
    apart: tuple[str, ...] = ()


class Reproduction(_File, frozen=True, kw_only=True):
    """A declared reproduction; the module describes the fields of its file.

    name: the name of its file.
    row: the published row.
    """

    name: str
    row: Published

    def on(self, split: str) -> Reproduction:
        """Return the reproduction on another split, itself if the source has no such row."""
        rows = [row for row in _rows(self.row.source, self.row.model) if row.split == split]
        return structs.replace(self, row=rows[0], measured_on=split) if rows else self

    @property
    def published(self) -> float:
        """Return the published figure, a share."""
        return self.row.values[self.measure]

    @property
    def heads(self) -> Mapping[str, str]:
        """Map the measures of the row to their heads in tables, the decisive one first."""
        measures = self.row.scope.measures.items()
        heads = {name: head for name, (head, _) in measures if name in self.row.values}
        return {self.measure: heads[self.measure], **heads}


@cache
def reproductions() -> Mapping[str, Reproduction]:
    """Return the shipped reproductions by name. Raises `ReproductionError`."""
    return {path.stem: read_reproduction(path) for path in sorted(FOLDER.glob("*.toml"))}


def read_reproduction(path: Path) -> Reproduction:
    """Read a declaration. Raises `ReproductionError` with the file and the problem."""
    try:
        file = convert_to(msgspec.toml.decode(path.read_bytes()), _File)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ReproductionError(f"{path} cannot be read: {error}") from error
    row = next((r for r in _rows(file.source, file.model) if r.split == file.split), None)
    if row is None:
        wanted = f"{file.source} / {file.model} / {file.split}"
        raise ReproductionError(f"{path}: no published row {wanted}")
    if file.measure not in row.values:
        raise ReproductionError(f"{path}: the row has no {file.measure}")
    if file.command[:1] != ("run",):
        raise ReproductionError(f"{path}: its command is not one of `vlm-eval run`")
    for one in file.measured:
        low, high = (one.value if end is None else end for end in (one.low, one.high))
        if (one.low is None) != (one.high is None) or not 0 <= low <= one.value <= high <= 1:
            raise ReproductionError(f"{path}: a measured figure is not a share with an interval")
    fields = structs.asdict(file) | {"measured_on": file.measured_on or file.split}
    return Reproduction(name=path.stem, row=row, **fields)


def _rows(source: str, model: str) -> list[Published]:
    """Return the published rows of a model about whole splits, one each."""
    return [
        row for row in published_rows() if (row.source, row.model, row.level) == (source, model, "")
    ]


@dataclass(frozen=True, slots=True)
class Reproduced:
    """The result of a reproduction.

    ours: measured figures by measure of the published row; missing measures have no figure yet.
    apart: keys that differ from the published row, with both values in words.
    changed: settings that differ from the declared ones, with their values.
    model: the model, if it is not the declared one.
    unverified: True if the deployment that answered was not verified.
    """

    reproduction: Reproduction
    ours: Mapping[str, Estimate]
    apart: Mapping[str, str]
    changed: tuple[str, ...] = ()
    model: str = ""
    unverified: bool = False

    @property
    def verdict(self) -> str:
        """Return the verdict on the published figure, in a sentence or two."""
        reproduction = self.reproduction
        ours = self.ours.get(reproduction.measure)
        if ours is None:
            return f"nothing to compare yet: no result on {reproduction.measured_on}"
        reasons = []
        if self.model or reproduction.stands_in:
            reasons.append(f"the model is {self.model or reproduction.stands_in}")
        if self.apart:
            reasons.append(f"the run differs from the published row in {', '.join(self.apart)}")
        reach = ours.interval
        if reach is None:
            reasons.append("our figure has no interval")
        if reasons or reach is None:
            return f"not comparable: {'; '.join(reasons)}"
        published = reproduction.published
        if reach.low <= published <= reach.high:
            return (
                "inside: the published figure lies in our 95 % interval. No difference is shown; "
                f"one below about {percent((reach.high - reach.low) / 2)} points would not show."
            )
        side = "above" if published > reach.high else "below"
        return (
            f"outside: the published figure lies {side} our 95 % interval. It also has an error, "
            "which its source does not print; the listed differences may explain the rest."
        )


def outcome_of(
    reproduction: Reproduction, run: RunLike, changed: Sequence[str] = (), model: str = ""
) -> Reproduced:
    """Compare a run with the published row. Raises `RunError` if it cannot be read."""
    (opened,) = open_runs([run]).values()
    row, split = reproduction.row, reproduction.measured_on
    stated = row.keys.get(AVERAGE, "")
    average = cast(Average, stated) if stated in get_args(Average) else "macro"
    matcher = Matcher(opened, average)
    apart = matcher.apart_in_words(row, split)
    (rows,) = run_rows(opened)
    found = rows.results(at for at, (_, unit) in enumerate(rows.trials) if unit.split == split)
    ours: dict[str, Estimate] = {}
    declared = found.declared
    for measure in (*declared.in_tables, *declared.of_parents):
        over_units = "" if measure.all_of else average_of(measure, average)
        one = found.row(measure.name, over_units)
        name = name_of(measure, declared)
        if name in row.values and one is not None and one.number is not None:
            ours[name] = one
    return Reproduced(reproduction, ours, apart, tuple(changed), model, matcher.unverified)


def outcome_grid(outcome: Reproduced) -> Grid:
    """Return the figures side by side, the decisive one first, with the verdict below."""
    reproduction = outcome.reproduction
    rows = []
    for name, head in reproduction.heads.items():
        ours = outcome.ours.get(name)
        own = Cell(percent(ours.number), interval_text(ours.interval)) if ours else "–"
        rows.append([head, percent(reproduction.row.values[name]), own])
    marked = any(one.interval and one.interval.few for one in outcome.ours.values())
    return Grid(
        f"{reproduction.title}: {reproduction.measured_on}",
        (Heading("measure", "left"), Heading("published"), Heading("here")),
        rows_of(rows),
        footnotes=(
            f"Per cent, with 95 % intervals; {reproduction.row.paper}, {reproduction.row.table}.",
            *few_notes(rates=marked, clusters="clusters"),
            *(f"changed here: {line}" for line in outcome.changed),
            *(f"{name}: {values}" for name, values in outcome.apart.items() if values),
            outcome.verdict,
            *(("deployment not verified (vlm-eval verify)",) if outcome.unverified else ()),
        ),
    )


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
