"""Which runs can be compared, and what is compared then.

A comparison says something about one thing. Two runs must come from the same data and be scored by
the same rules. They may differ in their model; or, with the same model, in one setting of the
question (distractors, history, protocol, picture, ...), and then that setting is what is compared.
More must be asked for by name. Which rows were selected does not matter: only shared steps count.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from harness.runs import Run, RunError
from harness.settings import About, setting_of
from reports.settings import Setting, settings_of

IDENTITY = ("model", "base_url", "model.name", "model.model", "model.provider", "model.revision")
"""Settings that make two models different ones."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What two runs differ in: name and values, first and second. Empty for the same settings."""

    settings: dict[str, tuple[Setting, Setting]]

    @property
    def same_model(self) -> bool:
        return not any(name in IDENTITY for name in self.settings)

    def __str__(self) -> str:
        if not self.settings:
            return "nothing: both runs have the same settings"
        if not self.same_model:
            extra = [name for name in self.settings if not _of_model(name)]
            return ", ".join(["model", *extra])
        return ", ".join(
            f"{name} ({_shown(a)} against {_shown(b)})" for name, (a, b) in self.settings.items()
        )


def check_comparable(
    first: tuple[str, Run],
    second: tuple[str, Run],
    *,
    given: Collection[str] = (),
    vary: Collection[str] = (),
) -> Subject:
    """What the two runs differ in, when they can be compared.

    `given` are scoring rules that replace those of both runs; `vary` names settings in which they
    may differ. Raises `RunError` with what stands against it.
    """
    (one, run), (other, another) = first, second
    _check_data(one, run, other, another)
    before, after = settings_of(run.manifest), settings_of(another.manifest)
    differing = {
        name: (before.get(name), after.get(name))
        for name in dict.fromkeys((*before, *after))
        if not _equal(before.get(name), after.get(name))
    }
    rules = {n: v for n, v in differing.items() if _about(n) == "scoring" and n not in given}
    if rules:
        way = [f"--{name}" for name in rules if name in ("f1", "invalid")]
        hint = f"give {' and '.join(way)}" if len(way) == len(rules) else "run one of them again"
        raise RunError(f"{one} and {other} are scored by different rules ({_told(rules)}): {hint}")
    subject = {n: v for n, v in differing.items() if _is_compared(n)}
    asked = {n: v for n, v in subject.items() if not _of_model(n)}
    asked = {n: v for n, v in asked.items() if not _follows(n, asked)}
    if "protocol" in asked:
        asked = {n: v for n, v in asked.items() if None not in v or not _of_one_protocol(n)}
    subject = {n: v for n, v in subject.items() if _of_model(n) or n in asked}
    same_model = not any(name in IDENTITY for name in subject)
    too_many = {n: v for n, v in asked.items() if n not in vary}
    if same_model and len(asked) <= 1:
        return Subject(subject)
    if too_many:
        beside = "" if same_model else "beside the model "
        raise RunError(
            f"{one} and {other} cannot be compared: {beside}they differ in {_told(too_many)}; "
            f"if that is meant, say {' '.join(f'--vary {name}' for name in too_many)}"
        )
    return Subject(subject)


def _of_one_protocol(name: str) -> bool:
    """Whether protocols without that setting differ in nothing by not having it."""
    known = setting_of(name)
    if known is None:
        return False
    return name.startswith("protocol_options.") or (known.to_protocol and known.left_open)


def _about(name: str) -> About:
    """What a difference in a setting on record is about; of what is not known, the question."""
    known = setting_of(name)
    return known.about if known else "question"


def _is_compared(name: str) -> bool:
    """Whether it may be what tells two runs apart. Which rows were selected is not."""
    return name == "benchmark" or _about(name) not in ("data", "scoring", "session")


def _of_model(name: str) -> bool:
    return _about(name) == "model"


def _follows(name: str, others: Collection[str]) -> bool:
    """Whether a difference goes with one in another setting."""
    known = setting_of(name)
    return known is not None and any(other in others for other in known.follows)


def _equal(one: Setting, other: Setting) -> bool:
    return type(one) is type(other) and one == other


def _told(values: Mapping[str, tuple[Setting, Setting]]) -> str:
    return ", ".join(f"{name} ({_shown(a)} and {_shown(b)})" for name, (a, b) in values.items())


def _shown(value: Setting) -> str:
    return "not set" if value is None else str(value)


def _check_data(one: str, run: Run, other: str, another: Run) -> None:
    data, other_data = run.manifest.dataset, another.manifest.dataset
    names = data.get("benchmark"), other_data.get("benchmark")
    if names[0] != names[1]:
        raise RunError(f"{one} and {other} are of different benchmarks ({names[0]}, {names[1]})")
    files, other_files = _digests(data), _digests(other_data)
    shared = files.keys() & other_files.keys()
    changed = sorted(name for name in shared if files[name] != other_files[name])
    if changed:
        raise RunError(
            f"{one} and {other} are of different data: {changed[0]} is not the same file "
            f"({files[changed[0]][:12]} and {other_files[changed[0]][:12]})"
        )
    if not shared and (files or other_files):
        raise RunError(f"{one} and {other} are of different data: they share no file")


def _digests(dataset: Mapping[str, Any]) -> dict[str, str]:
    listed = dataset.get("files")
    found = [file for file in listed if isinstance(file, Mapping)] if listed else []
    return {str(file.get("name")): str(file.get("sha256")) for file in found}
