"""Lines for readers about the settings that differ between runs.

Protocols differ in most of their settings. For runs of several protocols, the settings that vary
with the protocol are therefore listed once per protocol, and all others one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from harness.settings import FACTS, SETTINGS, setting_of
from reports.settings import Setting

Differences = Mapping[str, Mapping[str, Setting]]
"""Settings by name; the value of each by run."""

PROTOCOL = "protocol"
_DIGEST = re.compile(r"[0-9a-f]{64}")


def unranked(differences: Differences, *, common: bool = False) -> list[str]:
    """Return a line naming the settings that forbid ranking the runs; empty if there are none.

    `common` says that only steps that all runs share are looked at, whichever each selected.
    """
    names = [n for n in _declared_first(differences) if _forbids_ranking(n, common)]
    # Consequences of a setting that does not forbid a ranking are listed, too.
    forbidding = {name: differences[name] for name in names}
    names = [n for n in names if not _is_derived(n, forbidding)]
    if PROTOCOL in names:
        names = [n for n in names if n == PROTOCOL or not _follows(n, differences)]
    if not names:
        return []
    return [f"not ranked: the runs were not measured alike, but differ in {', '.join(names)}"]


def _declared_first(names: Iterable[str]) -> list[str]:
    places = {name: place for place, name in enumerate((*SETTINGS, *FACTS))}
    return sorted(names, key=lambda name: places.get(name, len(places)))


def _forbids_ranking(name: str, common: bool) -> bool:
    known = setting_of(name)
    if known is None or not known.forbids_ranking:
        return False
    return not (common and name != "benchmark" and known.told_by == "population")


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
    known = setting_of(name)
    sources = known.follows if known is not None else ()
    if name.startswith("model."):
        sources = sources or ("model",)
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
