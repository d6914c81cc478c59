"""Reports on grounding: instructions about pictures, answered by a point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import hypot
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

from harness.runs import CallRecord, Run, Unit
from harness.settings import OF_MODEL
from harness.tables import percent
from harness.tables.grid import interval_text
from harness.tables.results import finer_clusters
from parsers import Status
from parsers.grounding import EDGES, GroundingDetail, Point, Target
from parsers.points import CONVENTIONS, Convention, from_pixels, to_pixels
from parsers.points.spelling import ALIKE
from reports.errors import FAILED, SUCCESS, ClassInfo, UnitError, UnitErrors
from reports.frames.units import Getter, KindColumns, unit_column
from reports.keys import Group, Key
from reports.kind import KindReports
from reports.names import id_column
from reports.settings import Setting as Value
from reports.view.parts import (
    Box,
    ComparedCell,
    ComparedLine,
    DrawnBox,
    UnitPage,
    UnitPart,
    Window,
    box_of,
)

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


GroundingRecord = Unit[GroundingDetail]

DECLINED, POINTED, RANGE = "declined_present", "pointed_at_absent", "out_of_range"
SWAPPED, CONVENTION, NEAR, FAR = "swapped", "other_convention", "near", "far"
CLOSE = 1.0
"""Diagonals of the target within which a miss is near."""

_WRONG = (
    ClassInfo(
        RANGE, "outside of the picture", "no answer", "the numbers name no point of the picture"
    ),
    ClassInfo(DECLINED, "declined a target", "wrong", "the model says that nothing fits"),
    ClassInfo(POINTED, "pointed at nothing", "wrong", "the target is absent, and a point is given"),
    ClassInfo(NEAR, "near miss", "wrong", "within one diagonal of the target"),
    ClassInfo(SWAPPED, "x and y swapped", "wrong", "with x and y exchanged it would be a hit"),
    ClassInfo(
        CONVENTION,
        "another convention",
        "wrong",
        "the same numbers would be a hit by another convention of coordinates, which the detail "
        "names",
    ),
    ClassInfo(FAR, "elsewhere", "wrong", "more than one diagonal of the target away"),
)


class GroundingErrors(UnitErrors):
    """The general classes, with misses classified by the place of the point."""

    wrong = _WRONG

    def refined(self, run: Run, record: GroundingRecord, found: UnitError) -> UnitError:
        return _refined(record, found, run.manifest.options_of("protocol"))


def _refined(record: GroundingRecord, found: UnitError, options: Mapping[str, Any]) -> UnitError:
    """Return the class of an item, from its line alone."""
    gold, said = record.detail.gold, record.prediction
    if said is None or not record.settled or record.invalid or found.error_class == SUCCESS:
        return found
    if said.status is Status.OUT_OF_RANGE:
        return replace(found, error_class=RANGE)
    if said.status is Status.NONE:
        return replace(found, error_class=DECLINED)
    if found.error_class != FAILED or said.point is None:
        return found
    if gold.kind == "absent":
        return replace(found, error_class=POINTED)
    pixels, diagonals = (
        (record.scores or {}).get(name) for name in ("distance", "distance_diagonals")
    )
    distance = "" if pixels is None else f"{pixels:,.0f} px"
    if diagonals is not None:
        distance += f", {diagonals:.1f} diagonals"
    if diagonals is not None and diagonals <= CLOSE:
        return replace(found, error_class=NEAR, detail=distance)
    if mistaken := _other_reading(record, options):
        error_class, detail = mistaken
        return replace(found, error_class=error_class, detail=detail)
    return replace(found, error_class=FAR, detail=distance)


def _other_reading(record: GroundingRecord, options: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return another reading of the same numbers that would be a hit, if any."""
    gold, (width, height) = record.detail.gold, record.detail.size
    said = record.prediction
    assert said is not None and said.point is not None
    across, down = said.point[0] / width, said.point[1] / height
    if gold.holds((down * width, across * height)):
        return SWAPPED, "as shares of the picture"
    declared = str(options.get("coordinates") or "")
    if declared not in CONVENTIONS:
        return None
    used: Convention = next(one for one in CONVENTIONS if one == declared)
    sent = record.pictures[0] if record.pictures else None
    size = (sent.width, sent.height) if sent else (width, height)
    numbers = from_pixels((across * size[0], down * size[1]), used, size)
    for other in CONVENTIONS:
        if other == used or {other, used} == ALIKE:
            continue
        read = to_pixels(numbers, other, size)
        if read is not None and gold.holds((read[0] / size[0] * width, read[1] / size[1] * height)):
            return CONVENTION, f"{other}, not {used}"
    return None


MARGIN = 160
"""Pixels that a cut shows around what it is about."""
LARGEST = 800
"""Width and height, in pixels, that one cut may have; what is farther apart has a cut each."""


class GroundingPage(UnitPage):
    """Items with their whole picture small, and cut in full resolution around target and point."""

    pictured = True
    searched = "instruction, id"
    same = "gave the same point"

    def answer(self, record: GroundingRecord) -> str | None:
        """Return the point in pixels, or that there is none."""
        said = record.prediction
        if said is None or said.point is None:
            return str(said.status) if said else None
        return f"{said.point[0]:,.1f}, {said.point[1]:,.1f}"

    def part(self, record: GroundingRecord, calls: Sequence[CallRecord]) -> UnitPart:
        """Return the marks on the picture, and the point against the target."""
        detail, said = record.detail, record.prediction
        point = said.point if said else None
        return UnitPart(
            page=detail.size,
            boxes=list(_drawn(record)),
            point=point,
            focus=_focus(detail.gold, point),
            heads=("target", "answered"),
            lines=list(_lines(record, self.answer(record) or "–")),
            actual=True,
            cuts=_cuts(record),
        )


def _cuts(record: GroundingRecord) -> list[Window]:
    """Return one cut around target and point, or one around each where they are far apart."""
    gold, point = record.detail.gold, record.prediction and record.prediction.point
    about = [] if gold.kind == "absent" else [gold.bounds]
    about += [(*point, *point)] if point else []
    if len(about) == 2:
        (a, b, c, d), (e, f, g, h) = about
        both = min(a, e), min(b, f), max(c, g), max(d, h)
        if max(both[2] - both[0], both[3] - both[1]) + 2 * MARGIN <= LARGEST:
            about = [both]
    return [_window(edges, record.detail.size) for edges in about]


def _window(edges: tuple[float, float, float, float], size: tuple[int, int]) -> Window:
    """Return a cut around some edges, no larger than `LARGEST` around their middle, in the
    picture."""
    left, right = _span(edges[0], edges[2], size[0])
    top, bottom = _span(edges[1], edges[3], size[1])
    return left, top, right, bottom


def _span(low: float, high: float, side: int) -> tuple[int, int]:
    middle, reach = (low + high) / 2, min((high - low) / 2 + MARGIN, LARGEST / 2)
    first = int(min(max(middle - reach, 0), side - 1))
    return first, max(first + 1, int(min(middle + reach + 1, side)))


def _drawn(record: GroundingRecord) -> Iterator[DrawnBox]:
    gold, said = record.detail.gold, record.prediction
    if gold.kind != "absent":
        corners = gold.corners if gold.kind == "polygon" else ()
        yield DrawnBox("target", box_of(gold.bounds), "target", corners)
    edges = [said.parsed.get(name) for name in EDGES] if said else []
    numbers = [float(edge) for edge in edges if isinstance(edge, (int, float))]
    if len(numbers) == len(EDGES):
        left, top, right, bottom = numbers
        yield DrawnBox("chosen", box_of((left, top, right, bottom)), "answered box")


def _focus(gold: Target, point: Point | None) -> Box | None:
    if gold.kind != "absent":
        return box_of(gold.bounds)
    return (*point, 0.0, 0.0) if point else None


def _lines(record: GroundingRecord, answered: str) -> Iterator[ComparedLine]:
    gold, scores = record.detail.gold, record.scores or {}
    right = bool(scores["hit"]) if scores.get("hit") is not None else None
    yield ComparedLine("point", (ComparedCell(str(gold)), ComparedCell(answered)), right)
    if gold.kind == "absent":
        return
    left, top, right_edge, bottom = gold.bounds
    across, down = right_edge - left, bottom - top
    size = f"{across:g} × {down:g} px, diagonal {hypot(across, down):,.0f} px"
    away, diagonals = scores.get("distance"), scores.get("distance_diagonals")
    distance = "–" if away is None else f"{away:,.1f} px"
    distance += f", {diagonals:.1f} diagonals" if diagonals else ""
    yield ComparedLine("size and distance", (ComparedCell(size), ComparedCell(distance)))
    if (iou := scores.get("iou")) is not None:
        yield ComparedLine("box", (ComparedCell(""), ComparedCell(f"IoU {iou:.2f}")))


GROUNDING_REPORTS = KindReports(
    errors=GroundingErrors(),
    published_keys=grounding_keys,
    page=GroundingPage(),
    columns=GROUNDING_COLUMNS,
    groups=GROUNDING_GROUPS,
    facts=grounding_facts,
    status_note="Where a target is absent, only 'none' is right; what cannot be read is wrong.",
)
