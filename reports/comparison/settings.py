"""Check that two runs can be compared, and name the subject of the comparison.

A comparison isolates one factor. Both runs must use the same data and scoring rules. They may
differ in the model or, for one model, in a single setting of the question (distractors, history,
protocol, picture, ...), which is then what is compared. Further differences have to be allowed by
name. Which rows were selected does not matter: only shared steps count.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from harness.runs import Run, RunError
from reports.comparability import OF_PROTOCOL, row_of
from reports.comparison.arms import arm_of, named
from reports.settings import Setting, compare, settings_of

IDENTITY = ("model", "base_url", "model.provider", "model.revision")
"""Settings that identify a model."""


def check_comparable(
    first: tuple[str, Run],
    second: tuple[str, Run],
    *,
    overridden: Collection[str] = (),
    vary: Collection[str] = (),
) -> str:
    """Return what two runs (label and run) differ in, in words; "" if in nothing.

    overridden: scoring rules that are replaced in both runs and may differ.
    vary: further settings where the runs may differ.

    Raises `RunError` if the runs cannot be compared; the message names the settings.
    """
    (first_label, first_run), (second_label, second_run) = first, second
    _check_data(first_label, first_run, second_label, second_run)
    found = compare({"first": first_run, "second": second_run}).differences
    differing = {name: (values["first"], values["second"]) for name, values in found.items()}
    rules = {
        n: v for n, v in differing.items() if row_of(n).about == "scoring" and n not in overridden
    }
    if rules:
        way = [f"--{name}" for name in rules if name in ("f1", "invalid")]
        hint = f"give {' and '.join(way)}" if len(way) == len(rules) else "run one of them again"
        raise RunError(
            f"{first_label} and {second_label} are scored by different rules "
            f"({_listed(rules)}): {hint}"
        )
    subject = {n: v for n, v in differing.items() if _is_compared(n)}
    question = {n: v for n, v in subject.items() if not _of_model(n)}
    question = {n: v for n, v in question.items() if question.keys().isdisjoint(row_of(n).follows)}
    if "protocol" in question:
        question = {n: v for n, v in question.items() if None not in v or not _of_one_protocol(n)}
    subject = {n: v for n, v in subject.items() if _of_model(n) or n in question}
    same_model = not any(name in IDENTITY for name in subject)
    arms = arm_of(first_run), arm_of(second_run)
    if same_model and arms[0] != arms[1]:
        sides = [
            {
                n: value
                for n, value in settings_of(run.manifest).items()
                if _is_compared(n) and not (value is None and _of_one_protocol(n))
            }
            for run in (first_run, second_run)
        ]
        return named(arms, *sides)
    too_many = {n: v for n, v in question.items() if n not in vary}
    if too_many and not (same_model and len(question) == 1):
        also = "" if same_model else "apart from the model "
        raise RunError(
            f"{first_label} and {second_label} cannot be compared: "
            f"{also}they differ in {_listed(too_many)}; "
            f"if that is meant, say {' '.join(f'--vary {name}' for name in too_many)}"
        )
    if same_model:
        return _listed(subject, "against")
    return ", ".join(["model", *(name for name in subject if not _of_model(name))])


def _of_one_protocol(name: str) -> bool:
    """Return True if only some protocols have the setting: its absence is then not a difference."""
    if name.startswith("protocol_option."):
        return True
    return name in OF_PROTOCOL and not row_of(name).ranked


def _is_compared(name: str) -> bool:
    """Return True if a comparison can be about the setting; the selection of rows cannot."""
    return name == "benchmark" or row_of(name).about not in ("data", "scoring", "session")


def _of_model(name: str) -> bool:
    return row_of(name).about == "model"


def _listed(values: Mapping[str, tuple[Setting, Setting]], between: str = "and") -> str:
    pairs = ((name, _shown(a), _shown(b)) for name, (a, b) in values.items())
    return ", ".join(f"{name} ({one} {between} {other})" for name, one, other in pairs)


def _shown(value: Setting) -> str:
    return "not set" if value is None else str(value)


def _check_data(first_label: str, first_run: Run, second_label: str, second_run: Run) -> None:
    data, other_data = first_run.manifest.dataset, second_run.manifest.dataset
    names = data.get("benchmark"), other_data.get("benchmark")
    if names[0] != names[1]:
        raise RunError(
            f"{first_label} and {second_label} are of different benchmarks ({names[0]}, {names[1]})"
        )
    files, other_files = _digests(data), _digests(other_data)
    shared = files.keys() & other_files.keys()
    changed = sorted(name for name in shared if files[name] != other_files[name])
    if changed:
        raise RunError(
            f"{first_label} and {second_label} are of different data: "
            f"{changed[0]} is not the same file "
            f"({files[changed[0]][:12]} and {other_files[changed[0]][:12]})"
        )
    if not shared and (files or other_files):
        raise RunError(
            f"{first_label} and {second_label} are of different data: they share no file"
        )


def _digests(dataset: Mapping[str, Any]) -> dict[str, str]:
    listed = dataset.get("files")
    entries = [file for file in listed if isinstance(file, Mapping)] if listed else []
    return {str(file.get("name")): str(file.get("sha256")) for file in entries}
