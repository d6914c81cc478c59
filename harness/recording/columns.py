"""Rows in the columns of Multimodal-Mind2Web: candidates, words of actions, and files of rows.

A `Draft` is a trajectory while it is recorded, without its secrets and in memory until it ends:
`OUT/task-1a2b3c4d.parquet`, and in `.txt` its steps in words, with notes on what the format cannot
express.

Positive candidates are the elements that count as the target, negative ones are all others.
The rule is that of Mind2Web (Deng et al. 2023, Appendix C.1): a click on the icon, the label or the
padding of a button is the same action. Starting at the labelled node, go up to the nearest
clickable ancestor, including the node itself. That element and its visible descendants inside its
box are positives, and so is the labelled node even if it extends beyond that box (a link is only as
high as its line). Without a clickable ancestor, the labelled node is the only positive.

If the target was invisible when the page was recorded (a menu that opens under the pointer, a check
box hidden behind its styling), the step has no positive, as in the real data, where such targets
were lost in cleaning.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from harness.errors import UserError
from harness.live.clean import Node, clean, find, tree_of
from harness.live.snapshot import attributes_json, is_candidate
from harness.recording.masking import Secrets, masked_page
from harness.recording.tab import PageDescription, html_of
from parsers.records import Box

Op = Literal["CLICK", "TYPE", "SELECT", "HOVER", "ENTER"]

_ROWS_PER_GROUP = 8
_SMALLEST = 19


@dataclass(frozen=True, slots=True)
class ActedElement:
    """The labelled node and the element that responds when it is clicked."""

    labelled: Node
    top: Node


def target_of(labelled: Node) -> ActedElement:
    """Find the nearest clickable ancestor of the labelled node, including the node itself."""
    top = next((node for node in labelled.ancestors() if node.clickable), labelled)
    return ActedElement(labelled, top)


def positives(target: ActedElement) -> list[Node]:
    """List the elements that count as the target, in document order."""
    if not is_candidate(target.top):
        return []
    always = (target.top, target.labelled)
    return [
        node
        for node in target.top.elements()
        if is_candidate(node) and (node in always or _encloses(target.top.box, node.box))
    ]


def _encloses(outer: Box, inner: Box, slack: float = 1.0) -> bool:
    """Return True if `inner` lies inside `outer`, within `slack` pixels."""
    return (
        inner.x >= outer.x - slack
        and inner.y >= outer.y - slack
        and inner.right <= outer.right + slack
        and inner.bottom <= outer.bottom + slack
    )


def negatives(root: Node, accepted: list[Node]) -> list[Node]:
    """List all other candidates of the page, its root and body included, in document order."""
    taken = {node.id for node in accepted}
    return [node for node in root.elements() if is_candidate(node) and node.id not in taken]


def candidate_json(node: Node, target: ActedElement | None = None) -> str:
    """Write an entry of `neg_candidates`, or with the target one of `pos_candidates`."""
    flags = {}
    if target is not None:
        flags["is_original_target"] = node is target.labelled
        flags["is_top_level_target"] = node is target.top
    entry = {"tag": node.tag, "attributes": attributes_json(node, node.box), **flags}
    return json.dumps({**entry, "backend_node_id": node.id}, ensure_ascii=False)


_LONGEST = 50
_ROLES = {"a": "link", "button": "button", "select": "combobox", "textarea": "textbox"}
_INPUT_ROLES = {"checkbox": "checkbox", "radio": "radio", "submit": "button", "button": "button"}
_NAMING = ("aria-label", "alt", "placeholder", "title")


def representation(target: ActedElement, op: str, value: str = "") -> str:
    """Write an action in Mind2Web's form: role or tag, two blanks, description, operation, value.

    The operation is the performed one: hovering and pressing Enter differ from a click.
    """
    words = description(target)
    if len(words) > _LONGEST:
        words = f"{words[:_LONGEST]}..."
    said = f": {value}" if value else ""
    return f"[{role(target.labelled)}]  {words} -> {op}{said}"


def role(node: Node) -> str:
    """Return the element's role, or its tag if it has no known role."""
    if explicit := node.attributes.get("role"):
        return explicit
    if node.tag == "input":
        return _INPUT_ROLES.get(node.attributes.get("type", ""), "textbox")
    return _ROLES.get(node.tag, node.tag)


def description(target: ActedElement) -> str:
    """Return the name of the labelled node, or that of its target if it has none."""
    return name(target.labelled) or name(target.top)


def name(node: Node) -> str:
    """Return the element's label, else its text, else its `name` attribute."""
    for key in _NAMING[:1]:
        if label := node.attributes.get(key):
            return label
    if labels := labels_of(node):
        return labels[0].full_text()
    for key in _NAMING[1:]:
        if label := node.attributes.get(key):
            return label
    if node.tag == "select":
        return node.attributes.get("name", "")
    return node.full_text() or node.attributes.get("name", "")


def labels_of(node: Node) -> list[Node]:
    """List the `label` elements of a form field: those that refer to it or enclose it."""
    if node.tag not in ("input", "select", "textarea"):
        return []
    *_, root = node.ancestors()
    node_id = node.attributes.get("id")
    return [
        label
        for label in root.elements()
        if label.tag == "label"
        and ((node_id and label.attributes.get("for") == node_id) or label in node.ancestors())
    ]


StepRow = dict[str, Any]
"""A step: a value for each of `COLUMNS`."""
COLUMNS = (
    *("action_uid", "raw_html", "cleaned_html", "operation", "pos_candidates", "neg_candidates"),
    *("website", "domain", "subdomain", "annotation_id", "confirmed_task", "screenshot"),
    *("action_reprs", "target_action_index", "target_action_reprs"),
)


@dataclass(frozen=True, slots=True)
class RecordedTask:
    """A task and its site; the fields are named like the columns."""

    annotation_id: str
    confirmed_task: str
    website: str
    domain: str = ""
    subdomain: str = ""


@dataclass(frozen=True, slots=True)
class PerformedStep:
    """An action, and the page before it.

    op: the operation as performed.
    value: the text that was typed, or the option that was selected.
    picture: the encoded screenshot; None if there is none.
    """

    action_uid: str
    op: Op
    value: str
    root: Node
    raw_html: str
    target: ActedElement
    picture: bytes | None

    @property
    def words(self) -> str:
        """The action in words."""
        return representation(self.target, self.op, self.value)


def gold(op: Op) -> str:
    """Return the operation that benchmarks score: hovering and pressing Enter count as CLICK."""
    return op if op in ("TYPE", "SELECT") else "CLICK"


def rows(trajectory: RecordedTask, steps: Sequence[PerformedStep]) -> list[StepRow]:
    """Build the rows of a trajectory; each has the representations of all its steps."""
    words = [step.words for step in steps]
    return [_row(trajectory, step, index, words) for index, step in enumerate(steps)]


def _row(trajectory: RecordedTask, step: PerformedStep, index: int, words: list[str]) -> StepRow:
    accepted = positives(step.target)
    others = negatives(step.root, accepted)
    operation = {"original_op": step.op, "value": step.value, "op": gold(step.op)}
    path = f"{trajectory.annotation_id}-{step.action_uid}.jpg"
    return StepRow(
        action_uid=step.action_uid,
        raw_html=step.raw_html,
        cleaned_html=clean(step.root),
        operation=json.dumps(operation, ensure_ascii=False),
        pos_candidates=[candidate_json(node, step.target) for node in accepted],
        neg_candidates=[candidate_json(node) for node in others],
        website=trajectory.website,
        domain=trajectory.domain,
        subdomain=trajectory.subdomain,
        annotation_id=trajectory.annotation_id,
        confirmed_task=trajectory.confirmed_task,
        screenshot={"bytes": step.picture, "path": path} if step.picture else None,
        action_reprs=words,
        target_action_index=str(index),
        target_action_reprs=words[index],
    )


def schema() -> pa.Schema:
    """Build the columns' types, and the metadata that makes `datasets` decode the screenshot."""
    lists = ("pos_candidates", "neg_candidates", "action_reprs")
    text = {"dtype": "string", "_type": "Value"}
    fields: list[pa.Field] = []
    features: dict[str, object] = {}
    for name in COLUMNS:
        if name == "screenshot":
            fields.append(pa.field(name, pa.struct({"bytes": pa.binary(), "path": pa.string()})))
            features[name] = {"_type": "Image"}
        elif name in lists:
            fields.append(pa.field(name, pa.list_(pa.field("element", pa.string()))))
            features[name] = {"feature": text, "_type": "Sequence"}
        else:
            fields.append(pa.field(name, pa.string()))
            features[name] = text
    described = json.dumps({"info": {"features": features}})
    return pa.schema(fields, metadata={"huggingface": described})


def write(
    path: Path,
    content: Sequence[StepRow],
    rows_per_group: int = _ROWS_PER_GROUP,
    level: int = _SMALLEST,
) -> None:
    """Write a file in small row groups: a reader never has many screenshots in memory.

    Each column of a row group is one page, which compresses all its screenshots together, at a
    level of zstd.
    """
    table = pa.Table.from_pylist(list(content), schema=schema())
    pq.write_table(
        table,
        path.absolute(),  # pyarrow reads the "a" of "a:b/c" as the name of a file system
        row_group_size=rows_per_group,
        compression="zstd",
        compression_level=level,
        use_dictionary=False,
        data_page_size=1 << 26,
        write_statistics=False,
    )


def read(path: Path, without: Sequence[str] = ()) -> list[StepRow]:
    """Read a file, leaving out some columns."""
    names = [name for name in COLUMNS if name not in without]
    rows: list[StepRow] = pq.read_table(path, columns=names).to_pylist()
    return rows


_LEVEL = 6
"""Level of zstd: low, since the person waits for it."""
_NOWHERE = Box(0, 0, 0, 0)
NO_POSITIVE = "the element cannot be seen on the page: no model is asked about this step"


@dataclass(frozen=True, slots=True)
class Taken:
    """A recorded step.

    picture: the encoded screenshot; None if there is none.
    """

    op: Op
    value: str
    page: PageDescription
    picture: bytes | None
    notes: tuple[str, ...] = ()

    def step(self) -> PerformedStep:
        """Convert to a step of a trajectory, on an invisible element if the page has none."""
        root = tree_of(self.page.nodes)
        try:
            target = target_of(find(root, self.page.labelled))
        except KeyError:
            unseen = Node("", self.page.tag or "html", {}, {}, _NOWHERE, False, False)
            target = ActedElement(unseen, unseen)
        html = html_of(self.page.pieces)
        return PerformedStep(str(uuid4()), self.op, self.value, root, html, target, self.picture)


class Draft:
    """An unfinished trajectory.

    out: the folder that it will be written to.
    steps: the steps recorded so far.
    """

    def __init__(self, out: Path, website: str) -> None:
        """Raises `UserError` if the folder cannot be made."""
        self.steps: list[Taken] = []
        self._out = out
        self._task = RecordedTask(str(uuid4()), "", website)
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"--out {out}: {error.strerror or error}") from None

    def add(self, taken: Taken, secrets: Secrets) -> None:
        """Add a step without its secrets."""
        self.steps.append(_hidden(taken, secrets))

    def hide(self, secrets: Secrets) -> None:
        """Hide secrets in the steps so far."""
        self.steps = [_hidden(taken, secrets) for taken in self.steps]

    def finish(self, sentence: str, secrets: Secrets) -> Path:
        """Write the trajectory. Returns the parquet file."""
        task = replace(self._task, confirmed_task=secrets.masked(sentence))
        target = self._out / f"task-{task.annotation_id[:8]}.parquet"
        part = target.with_suffix(".part")
        write(part, rows(task, [one.step() for one in self.steps]), level=_LEVEL)
        words = [line for at in range(len(self.steps)) for line in self.lines(at)]
        text = "\n".join([task.confirmed_task, "", *words, ""])
        target.with_suffix(".txt").write_text(text, encoding="utf-8")
        part.replace(target)
        return target

    def lines(self, at: int) -> list[str]:
        """Describe a step in words, with its notes."""
        taken = self.steps[at]
        notes = (f"     note: {one}" for one in taken.notes)
        return [f"{at + 1:3}  {taken.step().words}", *notes]


def _hidden(taken: Taken, secrets: Secrets) -> Taken:
    page, boxes = masked_page(taken.page, secrets)
    found = replace(taken, page=page, value=secrets.masked(taken.value))
    if not positives(found.step().target) and NO_POSITIVE not in found.notes:
        found = replace(found, notes=(*found.notes, NO_POSITIVE))
    if found.picture is not None and boxes:
        found = replace(found, picture=painted(found.picture, boxes))
    return found


def painted(picture: bytes, boxes: Sequence[Sequence[float]]) -> bytes:
    """Paint over boxes of a picture."""
    from PIL import Image, ImageDraw

    with Image.open(BytesIO(picture)) as image:
        image.load()
        draw = ImageDraw.Draw(image)
        for x, y, width, height in boxes:
            draw.rectangle((x, y, x + width, y + height), fill="black")
        out = BytesIO()
        image.save(out, "JPEG", quality=85)
    return out.getvalue()
