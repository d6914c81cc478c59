"""Reports on grounding: instructions about pictures, answered by a point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from statistics import median, quantiles
from typing import TYPE_CHECKING

from harness.runs import Run
from harness.settings import OF_MODEL
from harness.tables import percent
from harness.tables.grid import interval_text
from harness.tables.results import finer_clusters
from parsers.records import Status
from reports.frames.units import Getter, KindColumns, unit_column
from reports.keys import Group, Key
from reports.kind import KindReports
from reports.kinds.grounding.errors import GroundingErrors, GroundingPage, GroundingRecord
from reports.names import id_column
from reports.settings import Setting as Value

if TYPE_CHECKING:
    from reports.frames.rows import RunRows


def _size(place: int) -> Getter:
    return lambda record: record.detail.size[place]


def _area(record: GroundingRecord) -> float | None:
    gold = record.detail.gold
    return None if gold.kind == "absent" else gold.area


GROUNDING_COLUMNS = KindColumns(
    detail=(
        unit_column("picture_width", "Int64", "in pixels", _size(0)),
        unit_column("picture_height", "Int64", "in pixels", _size(1)),
        unit_column("target_kind", "category", "box, polygon or absent", "detail.gold.kind"),
        unit_column("target_area", "float64", "in square pixels; missing if absent", _area),
        unit_column("place", "str", "the target in pixels", lambda record: str(record.detail.gold)),
    ),
    texts=(
        unit_column("instruction", "str", "what was asked", lambda record: record.detail.asked),
    ),
    digest=("place", "target"),
)


ENDED: Mapping[str, tuple[Status, ...]] = {
    "unreadable": (Status.PARSE_ERROR, Status.NO_ELEMENT, Status.AMBIGUOUS, Status.EMPTY),
    "cut off": (Status.TRUNCATED,),
    "out of range": (Status.OUT_OF_RANGE,),
    "declined": (Status.NONE,),
}


def grounding_facts(rows: RunRows) -> dict[str, str]:
    """Shares of answers, the distance to the target, and intervals with finer clusters."""
    statuses = [unit.status for _, unit in rows.trials if unit.status is not None]
    facts = {}
    if statuses:
        shares = (
            f"{name} {percent(sum(one in those for one in statuses) / len(statuses))} %"
            for name, those in ENDED.items()
        )
        facts["answers"] = ", ".join(shares)
    if distance := _distance(rows):
        facts["distance to the target"] = distance
    return facts | _finer(rows)


def _distance(rows: RunRows) -> str:
    """Return the median way of points to their targets, and that of those which miss."""
    frame = rows.frame[["distance", "distance_diagonals"]].dropna(subset=["distance"])
    if frame.empty:
        return ""
    missed = frame[frame["distance"] > 0]
    text = f"median {_length(frame['distance'].tolist())}"
    if missed.empty:
        return text
    diagonals = missed["distance_diagonals"].dropna().tolist()
    of_target = f", {median(diagonals):.1f} diagonals of the target" if diagonals else ""
    return f"{text}, of misses {_length(missed['distance'].tolist())}{of_target}"


def _length(pixels: list[float]) -> str:
    return f"{median(pixels):,.0f} px"


def _finer(rows: RunRows) -> dict[str, str]:
    """Return the headline with smaller clusters than those that its interval takes as
    independent."""
    main, found = rows.declared.main, {}
    for level in finer_clusters(rows.declared, rows.rules.cluster):
        finer = replace(rows, rules=replace(rows.rules, cluster=level.name))
        average = main.averages[0]
        row = finer.total.row(main.name, average)
        if row is not None and row.number is not None:
            text = f"{percent(row.number)} {interval_text(row.interval)}".rstrip()
            found[f"with {level.many} as clusters"] = f"{main.head} {average} {text}"
    return found


ABSENT: Group = (5.0, "absent")
FEWEST = 4
"""Quartiles of fewer targets would say nothing."""


def target_sizes(rows: RunRows) -> list[Group]:
    """Return the quartile of each item by the area of its target, among all items of the run.

    Equal areas are in the same quartile, the smaller one.
    """
    known = rows.frame.drop_duplicates(id_column(rows.declared))["target_area"].dropna().tolist()
    if len(known) < FEWEST:
        return [(1.0, "too few to tell") for _ in rows.trials]
    bounds = quantiles(known, n=4, method="inclusive")
    names = [f"up to {bound:,.0f} px²" for bound in bounds] + [f"above {bounds[-1]:,.0f} px²"]

    def group(area: float | None) -> Group:
        if area is None:
            return ABSENT
        place = sum(area > bound for bound in bounds)
        return float(place), names[place]

    areas = rows.frame["target_area"].astype("object")
    return [group(area) for area in areas.where(areas.notna(), None)]


GROUNDING_GROUPS = {
    "target_size": Key(
        "quartile of the target's area in pixels of the original, among the items of the run",
        target_sizes,
    )
}


OURS = "grounding"
"""The pack with texts of this project's own."""


def grounding_keys(run: Run, values: Mapping[str, Value]) -> dict[str, str]:
    """Return the protocol of a grounding run in the words of the published rows.

    prompt: `own` for the published texts of a family of models, `ours`, or those of a `file`; with
        the place of the picture where it is another than the pack's.
    thinking: whether any reply on record came with what the model thought.
    """

    options = run.manifest.options_of("protocol")

    def option(name: str, usual: str) -> str:
        return str(options.get(name) or usual)

    pack = option("pack", OURS)
    known = {OURS: "ours", "auto": "file"}
    usual = run.manifest.config.get(OF_MODEL, ("order",))
    moved = "" if "order" in usual else f", {option('order', '')}"
    return {
        "revision": str(values.get("dataset.revision") or "as given"),
        "refusals": option("refusals", "unoffered"),
        "zoom": option("zoom", "none"),
        "thinking": "yes" if _thought(run) else "no",
        "prompt": known.get(pack, "own") + moved,
    }


def _thought(run: Run) -> bool:
    return any(
        call.reply.reasoning
        for record in run.records()
        for call in run.calls_of(record.unit_id, record.repeat)
    )


GROUNDING_REPORTS = KindReports(
    errors=GroundingErrors(),
    published_keys=grounding_keys,
    page=GroundingPage(),
    columns=GROUNDING_COLUMNS,
    groups=GROUNDING_GROUPS,
    facts=grounding_facts,
    status_note="Where a target is absent, only 'none' is right; what cannot be read is wrong.",
)
