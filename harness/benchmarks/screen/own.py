"""The user's own recorded steps on screens: `screen.toml`, `steps.jsonl` and pictures in a folder.

    vlm-eval --benchmark screen-steps --data my-screens --model oracle

The files are documented in docs/screen-steps.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import msgspec

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.dataset import Items
from harness.benchmarks.folders import Folder, decoded_text, decoded_toml
from harness.benchmarks.picture_sets import check_labels, own_folder, own_folders, reading
from harness.benchmarks.sample import refuse_data
from harness.benchmarks.screen.sets import ScreenSet, ScreenStep, by_episode, declaration
from harness.errors import DataError
from harness.sample import SCREENS
from parsers.actions import Action
from parsers.declaration import Declaration, Group
from parsers.screen import OPPOSITE, SEVERAL, Device, Side, from_object, parts, several
from parsers.screen.rules import RULES

SCHEMA, STEPS = "screen.toml", "steps.jsonl"
JUDGED = ("strict", "os-atlas", "gui-r1", "qwen-ac", "agentcpm")


class _Schema(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`screen.toml`.

    name: what the set is called, for the record.
    points: what the numbers of places are.
    scroll: what the direction of a scroll names: where the view goes, or the finger.
    groups: labels that results are broken down by; all steps have them.
    device: what the screens belong to.
    """

    name: str
    points: Literal["px", "unit", "per-mille"]
    scroll: Side
    groups: list[str] = []
    device: Device = "phone"


class _Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of `steps.jsonl`; boxes are pixels."""

    image: str
    goal: str
    action: dict[str, Any] | list[dict[str, Any]]
    episode: str = ""
    step: int = 0
    instruction: str = ""
    boxes: list[tuple[float, float, float, float]] = []
    labels: dict[str, str] = {}
    split: str = "test"
    screen: tuple[int, int] | None = None


DECLARED = declaration(JUDGED, "strict")
SINGLE = tuple(name for name, rule in RULES.items() if not rule.script)
SAMPLED = declaration(SINGLE, "strict", [Group("app")])


@dataclass(frozen=True)
class OwnSteps(ScreenSet):
    """The user's own steps."""

    name: str = "screen-steps"
    splits: tuple[str, ...] = ()
    default_splits: tuple[str, ...] = ()
    guarded = False
    rules: tuple[str, ...] = JUDGED
    declared: Declaration = DECLARED

    def holds(self, data: Path) -> bool:
        return bool(own_folders(data, SCHEMA))

    def folder(self, data: Path | None, splits: Sequence[str] = ()) -> Folder:
        places = ("images", "", "images.zip")
        return own_folder(self.name, data, SCHEMA, "the numbers of places", places)

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> Items:
        """Open a folder of steps."""
        folder = self.folder(data)
        schema = _schema(folder.root / SCHEMA)
        kept = list(_stored(folder, schema))
        known = tuple(dict.fromkeys(stored.split for _, stored in kept))
        boxed = any(stored.boxes for _, stored in kept)
        script = any(_is_script(stored.action) for _, stored in kept)
        first = self.default_splits or known[:1]
        one = replace(
            self,
            splits=known,
            default_splits=first,
            boxed=boxed,
            stored=schema.scroll,
            script=script,
            device=schema.device,
        )
        opened = super(OwnSteps, one).open(splits=splits, data=data)
        judged = tuple(name for name in self.rules if boxed or not RULES[name].boxes)
        shown = replace(one, judged=dict.fromkeys(known, judged))
        main = shown.declared_for((*(splits or ()), *first)[0]).main.name
        with reading(f"{folder.root / SCHEMA}"):
            declared = declaration(judged, main, [Group(name) for name in schema.groups])
        return replace(opened, declared=declared, origin={**opened.origin, "set": schema.name})

    def rows(self, folder: Folder, split: str) -> list[ScreenStep]:
        schema = _schema(folder.root / SCHEMA)
        folder.files(SCHEMA, "the schema")
        folder.files(STEPS, "a line per step")
        return by_episode(
            _row(folder, schema, number, one)
            for number, one in _stored(folder, schema)
            if one.split == split
        )


def _is_script(written: dict[str, Any] | list[dict[str, Any]]) -> bool:
    listed = written if isinstance(written, list) else [written]
    return any(one.get("type") == SEVERAL for one in listed)


def _schema(path: Path) -> _Schema:
    return decoded_toml(
        path,
        _Schema,
        "points is px, unit or per-mille, scroll is content or finger, device (if given) is phone, "
        "computer or browser",
    )


def _stored(folder: Folder, schema: _Schema) -> Iterator[tuple[int, _Stored]]:
    found = False
    for number, one in decoded_text(folder.root / STEPS, _Stored):
        found = True
        where = f"{folder.root / STEPS}, line {number}"
        check_labels(schema.groups, SCHEMA, one.labels, f"{where}: the step")
        yield number, one
    if not found:
        raise DataError(f"{folder.root / STEPS} holds no steps")


def _row(folder: Folder, schema: _Schema, number: int, one: _Stored) -> ScreenStep:
    where = f"{STEPS}, line {number}"
    size = one.screen or folder.size(one.image)
    scale = {"px": (1.0, 1.0), "unit": size, "per-mille": (size[0] / 1000, size[1] / 1000)}
    listed = one.action if isinstance(one.action, list) else [one.action]
    if not listed:
        raise DataError(f"{folder.root}/{where}: no action is right")
    with reading(f"{folder.root}/{where}"):
        actions = tuple(_action(each, schema, scale[schema.points]) for each in listed)
    return ScreenStep(
        where=where,
        episode=one.episode or f"line-{number}",
        step=one.step,
        pictures=(one.image,),
        goal=one.goal,
        instruction=one.instruction,
        actions=actions,
        boxes={"given": tuple(one.boxes)},
        labels=one.labels,
        size=one.screen,
    )


def _action(written: dict[str, Any], schema: _Schema, scale: tuple[float, float]) -> Action:
    action = from_object(written, scale)
    turned = [_turned(one) if schema.scroll == "finger" else one for one in parts(action)]
    return several(turned)


def _turned(action: Action) -> Action:
    way = action.arguments.get("direction")
    if not isinstance(way, str):
        return action
    return replace(action, arguments={**action.arguments, "direction": OPPOSITE[way]})


@dataclass(frozen=True)
class SampleScreens(OwnSteps):
    """Made-up tasks on a phone, shipped with the package; scores do not measure a model's ability.

    Its steps are judged under every rule.
    """

    name: str = "sample-screens"
    splits: tuple[str, ...] = ("dev", "test")
    default_splits: tuple[str, ...] = ("test",)
    sizes: tuple[SplitSize, ...] = (SplitSize("dev", 5, 36), SplitSize("test", 9, 49))
    rules: tuple[str, ...] = SINGLE
    declared: Declaration = SAMPLED

    def holds(self, data: Path) -> bool:
        return False

    def folder(self, data: Path | None, splits: Sequence[str] = ()) -> Folder:
        refuse_data(self.name, data)
        return Folder(SCREENS, {"origin": "package"}, ("images.zip",))


SAMPLE = SampleScreens()
