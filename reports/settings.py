"""Settings of runs: those that they share, those that differ, and the lines above a table."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.runs import Manifest, Run
from harness.settings import OF_MODEL, SETTINGS
from reports.comparability import BY_OWN_NAME, FACTS, POPULATION, TABLE, row_of
from reports.load import changed_lines, corrupt_lines, unfinished_lines

Setting = str | int | float | bool | None

LEFT_OUT = {
    *("data", "dataset.data", "dataset.partial_tasks", "dataset.rows", "dataset.splits"),
    "candidates_told",
}
"""Not compared: paths of the data (its fingerprint identifies it), facts about the rows, and
descriptions that follow from other settings."""


IDENTIFYING = ("benchmark", "protocol")
"""Settings that the line above a table has in any case, in this order."""
LONGEST_LINE = 100


def identifying(constants: Mapping[str, Setting]) -> str:
    """Return the shared settings in one line: those of `IDENTIFYING`, then those of a `heading`
    that differ from what is usual, as many as fit.

    Digests are left out; `--details` has all.
    """
    shown = heading(constants)
    names = [name for name in IDENTIFYING if name in shown]
    for name, value in shown.items():
        row = row_of(name)
        # Where a protocol has its own default, what is usual is not known here.
        unusual = row.heading == "unusual" or row.usual not in (None, value)
        digest = str(value).startswith("sha256:") or _DIGEST.fullmatch(str(value))
        if name not in names and unusual and not digest:
            names.append(name)
    parts = [f"{shown[name]}" if name in IDENTIFYING else f"{name}={shown[name]}" for name in names]
    for kept in range(len(parts), 0, -1):
        more = f", {len(parts) - kept} more" if kept < len(parts) else ""
        line = f"settings: {', '.join(parts[:kept])}{more} (report --details: all)"
        if len(line) <= LONGEST_LINE or kept <= len(IDENTIFYING):
            return line
    return ""


def heading(constants: Mapping[str, Setting]) -> dict[str, Setting]:
    """Return the shared settings printed above a table; JSON holds all of them."""
    about = ("data", "question", "model", "scoring", "session")
    rows = {name: row_of(name) for name in _KNOWN if constants.get(name) not in (None, "")}
    return {
        name: constants[name]
        for name, row in sorted(rows.items(), key=lambda item: about.index(item[1].about))
        if row.heading == "always"
        or (row.heading == "unusual" and constants[name] != _plain(row.usual))
    }


_KNOWN = tuple({**SETTINGS, **TABLE, **FACTS})
"""Names on record, in the order of reports."""


@dataclass(frozen=True, slots=True)
class SettingsOfRuns:
    """Settings of several runs.

    constants: settings that all runs share.
    differences: the other settings, each with its value by run.
    """

    constants: dict[str, Setting]
    differences: dict[str, dict[str, Setting]]


def compare(runs: Mapping[str, Run]) -> SettingsOfRuns:
    """Split the settings of runs into shared and differing ones. A single run has constants only.

    A setting missing from a run's manifest counts as None.
    """
    by_run = {label: settings_of(run.manifest) for label, run in runs.items()}
    names = dict.fromkeys(name for settings in by_run.values() for name in settings)
    constants: dict[str, Setting] = {}
    differences: dict[str, dict[str, Setting]] = {}
    for name in names:
        values = {label: settings.get(name) for label, settings in by_run.items()}
        kinds = {(type(value), value) for value in values.values()}
        if len(kinds) == 1:
            constants[name] = next(iter(values.values()))
        else:
            differences[name] = values
    return SettingsOfRuns(constants, differences)


def attrs_of(runs: dict[str, Run]) -> dict[Hashable, Any]:
    """Return what every frame of runs says of them: settings, other models that answered, and
    lines that cannot be read."""
    settings = compare(runs)
    return {
        "constants": settings.constants,
        "differences": settings.differences,
        "changed": changed_lines(runs),
        "corrupt": corrupt_lines(runs),
    }


MODEL_NAMES = ("name", "model")
"""A manifest's name of a model; settings have it as `model`."""


def settings_of(manifest: Manifest) -> dict[str, Setting]:
    """Return the settings of a run, flat. Lists become JSON text, long ones a digest."""
    values: dict[str, Any] = {}
    values |= _flat(by_own_names(manifest.config), "")
    # The model is called by one name, whatever else its provider or the user calls it.
    values["model"] = manifest.model_name
    others = {name: value for name, value in manifest.model.items() if name not in MODEL_NAMES}
    values |= _flat(others, "model.")
    values |= _flat(manifest.dataset, "dataset.")
    values.setdefault("seed", manifest.seed)
    # Protocols with a fixed rule for "none of these" record it as `none_rule`.
    values["none"] = values.get("none") or values.pop("none_rule", None)
    values.pop("none_rule", None)
    values["prompts_sha256"] = manifest.prompts
    for name in manifest.config.get(OF_MODEL, ()):
        # Settings of the model differ with it, and are not about the question.
        own = f"protocol_option.{name}"
        values[f"model.{name}"] = values.pop(own if own in values else name, None)
    values.pop(OF_MODEL, None)
    values["pictures"] = manifest.pictures
    values["reading"] = manifest.reading
    values["redone"] = None if manifest.redone is None else str(manifest.redone)
    kept = {name: value for name, value in values.items() if not _is_left_out(name)}
    return {name: _plain(value) for name, value in kept.items()}


def by_own_names(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with the options that comparisons know by their own names."""
    found = dict(config)
    for owner, known in BY_OWN_NAME.items():
        options = found.pop(owner, None)
        if not isinstance(options, Mapping):
            continue
        found |= {n if n in known else f"{owner}.{n}": value for n, value in options.items()}
    return found


def _is_left_out(name: str) -> bool:
    return any(name == left_out or name.startswith(f"{left_out}.") for left_out in LEFT_OUT)


def _flat(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


def _plain(value: Any) -> Setting:
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if value in ([], ()):
        return None
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= 60 else "sha256:" + hashlib.sha256(text.encode()).hexdigest()[:16]


Differences = Mapping[str, Mapping[str, Setting]]
"""Settings by name; the value of each by run."""

PROTOCOL = "protocol"
_DIGEST = re.compile(r"[0-9a-f]{64}")


def unranked(differences: Differences, *, common: bool = False) -> list[str]:
    """Return a line naming the settings that forbid ranking the runs; empty if there are none.

    `common` says that only steps that all runs share are looked at, whichever each selected.
    """
    places = {name: place for place, name in enumerate(_KNOWN)}
    names = [
        name
        for name in sorted(differences, key=lambda name: places.get(name, len(places)))
        if not (row := row_of(name)).ranked
        and not (common and row.key == POPULATION and name != "benchmark")
    ]
    # Consequences of a setting that does not forbid a ranking are listed, too.
    forbidding = {name: differences[name] for name in names}
    names = [n for n in names if not _is_derived(n, forbidding)]
    if PROTOCOL in names:
        names = [n for n in names if n == PROTOCOL or not _follows(n, differences)]
    if not names:
        return []
    return [f"not ranked: the runs were not measured alike, but differ in {', '.join(names)}"]


def difference_lines(differences: Differences) -> list[str]:
    """Describe each difference with the runs of each value; settings that vary together, once.

    A setting that follows from another one is left to that.
    """
    by_protocol = differences.get(PROTOCOL)
    with_protocol: list[str] = []
    for name in differences:
        same = any(differences[name] == differences[seen] for seen in with_protocol)
        if by_protocol and name != PROTOCOL and not same and _follows(name, differences):
            with_protocol.append(name)
    lines = []
    done: list[Mapping[str, Setting]] = [differences[name] for name in with_protocol]
    for name, values in differences.items():
        if name in with_protocol or values in done or _is_derived(name, differences):
            continue
        done.append(values)
        if name == PROTOCOL and with_protocol:
            lines += [
                _of_protocol(p, runs, with_protocol, differences) for p, runs in _by_value(values)
            ]
            continue
        listed = "; ".join(f"{value} ({', '.join(runs)})" for value, runs in _by_value(values))
        lines.append(f"differs: {name}: {listed}")
    return lines


def _is_derived(name: str, differences: Differences) -> bool:
    """Return True if the value depends only on a setting that it is declared to follow from."""
    sources = row_of(name).follows or (("model",) if name.startswith("model.") else ())
    return any(
        source in differences and source != PROTOCOL and _depends(name, source, differences)
        for source in sources
    )


def _follows(name: str, differences: Differences) -> bool:
    """Return True if the value depends on the protocol only; a model's settings never count as
    such."""
    if name.startswith("model") or name == PROTOCOL:
        return False
    return _depends(name, PROTOCOL, differences)


def _depends(name: str, source: str, differences: Differences) -> bool:
    """Return True if runs with the same value of the source have the same value here."""
    sources, values = differences[source], differences[name]
    by_source: dict[str, Setting] = {}
    return all(
        by_source.setdefault(str(sources[run]), value) == value for run, value in values.items()
    )


def _of_protocol(
    protocol: str, runs: Iterable[str], names: Iterable[str], differences: Differences
) -> str:
    listed = list(runs)
    values = {name: differences[name][listed[0]] for name in names}
    shown = ", ".join(f"{n}={_short(v)}" for n, v in values.items() if v not in (None, ""))
    return f"differs: protocol: {protocol} ({', '.join(listed)})" + (f": {shown}" if shown else "")


def _by_value(values: Mapping[str, Setting]) -> list[tuple[str, list[str]]]:
    runs: dict[str, list[str]] = {}
    for run, value in values.items():
        runs.setdefault("(not set)" if value is None else _short(value), []).append(run)
    return list(runs.items())


def _short(value: Setting) -> str:
    """Return a value for readers; digests are shortened."""
    text = str(value)
    return f"{text[:12]}..." if _DIGEST.fullmatch(text) else text


def about(attrs: Mapping[Hashable, Any]) -> tuple[str, ...]:
    """Describe the settings in lines: shared ones, ones replaced for this table, differences.

    Shared ones are a line of those that identify the runs, all of them if `attrs` has `details`.
    """
    constants: Mapping[str, Setting] = attrs["constants"]
    if attrs.get("details"):
        shared = ", ".join(f"{name}={value}" for name, value in heading(constants).items())
        lines = [f"settings: {shared}"] if shared else []
    else:
        lines = list(filter(None, [identifying(constants)]))
    overrides = [f"{name}={value}" for name, value in attrs["given"].items()]
    lines += [f"given for this table: {', '.join(overrides)}"] if overrides else []
    lines += difference_lines(attrs["differences"])
    if _shows_answers(attrs):
        lines.append(
            "upper bounds only: an image_policy that begins with oracle- shows where the answer is"
        )
    warnings = ("common", "unranked", "unfinished", "changed", "corrupt")
    return (*lines, *(line for name in warnings for line in attrs.get(name, ())))


def _shows_answers(attrs: Mapping[Hashable, Any]) -> bool:
    """Return True if a run's pictures reveal the right answers (image policies `oracle-*`)."""
    name = "image_policy"
    policies = [attrs["constants"].get(name), *attrs["differences"].get(name, {}).values()]
    return any(str(policy).startswith("oracle-") for policy in policies)


def about_runs(runs: dict[str, Run]) -> tuple[str, ...]:
    """Describe the settings of runs, unfinished runs and unreadable lines.

    A line says so if a run's headline is not over its settled valid rows.
    """
    lines = about({**attrs_of(runs), "given": {}, "corrupt": ()})
    if any(_counts_otherwise(run) for run in runs.values()):
        lines += (
            "rates here are of answered valid rows, whatever the runs themselves count as failures",
        )
    return (*lines, *unfinished_lines(runs), *corrupt_lines(runs))


def _counts_otherwise(run: Run) -> bool:
    """Return True if the headline of a run is not over its settled valid rows."""
    rules = run.manifest.config
    return "fail" in (rules.get("invalid"), rules.get("unattempted")) or bool(
        rules.get("exclude_status")
    )
