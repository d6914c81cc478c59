"""The numbers of a `summary.json` as rows, whichever form the file has.

A revision may write its summary in another form than the one before. Both are read here, and what
is compared are the rows. A new form gets a function beside `_of_tree`, chosen in `rows_of`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Json = Mapping[str, Any]
Numbers = dict[str, Any]
"""Of a mean: `number`, `low`, `high`, `method`, `clusters`, `few`, `confidence`, `n`, and on the
headline of a measure `chance` and `ceiling`. None where there is none."""


class Row(NamedTuple):
    """What a number is of."""

    measure: str = ""
    average: str = ""
    group: str = ""
    """The key of a breakdown, such as `website`; "" for the whole run."""
    value: str = ""
    """Which group of it."""
    level: str = ""
    """The level of parents that intervals take as independent."""
    rule: str = ""
    """What becomes of invalid rows (`valid`, `strict`, `clean`), or what else the number is."""

    def __str__(self) -> str:
        return " | ".join(self)


def rows_of(summary: Json, declaration: Json) -> dict[str, Numbers]:
    """The numbers of a summary by `Row`, with the declaration in the manifest of its run."""
    names = {measure["name"] for measure in declaration["measures"]}
    # Variants of a measure were parts of its declaration, and are measures now.
    for measure in declaration["measures"]:
        names |= {f"{measure['name']}.{variant}" for variant in measure.get("variants", ())}
    if "estimates" in summary:
        return {str(row): numbers for row, numbers in _of_estimates(summary, names)}
    return {str(row): numbers for row, numbers in _of_tree(summary, declaration["measures"])}


def rest_of(summary: Json) -> dict[str, Any]:
    """What a summary has besides its rows."""
    numbers = ("estimates", "counts", "rules", "repeats", "prompt_tokens")
    return {
        name: value
        for name, value in summary.items()
        if name not in numbers and not _is_group(name, value)
    }


def _of_estimates(summary: Json, names: set[str]) -> Iterator[tuple[Row, Numbers]]:
    """The form with a row for each number, and one of counts for each group."""
    rules = summary["rules"]
    level, headline = rules["cluster"], "strict" if rules["invalid"] == "fail" else "valid"
    first = _first(summary)
    scored: dict[tuple[str, str, str], dict[str, int]] = {}
    spread: dict[Row, Numbers] = {}
    deviation: dict[tuple[str, str], float] = {}
    for row in summary["estimates"]:
        key = {"group": row["group"], "value": row["value"], "level": level}
        measure, average, rule = row["measure"], row["average"], row["rule"]
        if average == "sd":
            deviation[row["group"], row["value"]] = row["number"]
        elif average.startswith("sd "):
            held = spread.setdefault(Row(measure, rule="spread over repeats", **key), {})
            held |= {"repeats": summary["repeats"], average[3:]: row["number"]}
        elif average == "quartiles":
            numbers = {"median": row["number"], "lower": row["low"], "upper": row["high"]}
            yield Row(measure, rule=f"{rule} quartiles", **key), {**numbers, "n": row["n"]}
        elif average == "parents":
            counts = {"successes": row["won"], "complete": row["complete"], "total": row["n"]}
            yield Row(measure, "macro", rule=rule, **key), {**_ends(row, rules), **counts}
        elif "repeats" in average or average.startswith("pass"):
            named = "mean over repeats" if "repeats" in average else average
            yield Row(measure, rule=named, **key), {**_ends(row, rules), "n": row["n"]}
        else:
            scored.setdefault((row["group"], row["value"], rule), {})[measure] = row["units"]
            numbers = {**_ends(row, rules), "n": row["n"]}
            if rule == headline and measure in names and (measure, average) in first:
                numbers |= {what: row.get(what) for what in ("chance", "ceiling")}
            yield Row(measure, average, rule=rule, **key), numbers
    yield from ((row, {"between": None, **numbers}) for row, numbers in spread.items())
    for counts in summary["counts"]:
        group, value = counts["group"], counts["value"]
        key = {"group": group, "value": value, "level": level}
        apart = ("group", "value", "behind")
        yield Row(rule="counts", **key), {n: of for n, of in counts.items() if n not in apart}
        others = {"repeats": summary["repeats"], "repeat_sd": deviation.get((group, value))}
        yield Row(rule="others", **key), others
        for rule, behind in counts["behind"].items():
            most = max(behind[name] for name in behind)
            some = scored.get((group, value, rule), {})
            partial = {n: of for n, of in some.items() if n in names and of < most}
            yield Row(rule=f"{rule} counts", **key), {**behind, **partial}


def _first(summary: Json) -> set[tuple[str, str]]:
    """The headline's average of each measure: the first of its rows."""
    found: dict[str, str] = {}
    for row in summary["estimates"]:
        found.setdefault(row["measure"], row["average"])
    return set(found.items())


def _ends(row: Json, rules: Json) -> Numbers:
    ends = {name: row[name] for name in ("number", "low", "high", "method", "clusters", "few")}
    return {**ends, "confidence": None if row["low"] is None else rules["level"]}


def _is_group(name: str, value: Any) -> bool:
    if name == "total":
        return True
    if not name.startswith("by_"):
        return False
    # `by_role` is a group of some benchmarks, and of others the cost of each model.
    return all(isinstance(part, Mapping) and "metrics" in part for part in value.values())


def _of_tree(summary: Json, measures: list[Json]) -> Iterator[tuple[Row, Numbers]]:
    """The form with a tree of `metrics` for the total and for each value of each group."""
    for name, value in summary.items():
        if _is_group(name, value):
            group = name.removeprefix("by_") if name != "total" else ""
            for of, part in value.items() if group else [("", value)]:
                level = part["metrics"]["rules"]["cluster"]
                for row, numbers in _of_part(part, measures):
                    yield row._replace(group=group, value=of, level=level), numbers


def _of_part(part: Json, measures: list[Json]) -> Iterator[tuple[Row, Numbers]]:
    metrics, bounds = part["metrics"], {"chance": part["floor"], "ceiling": part["oracle"]}
    headline = "strict" if metrics["rules"]["invalid"] == "fail" else "valid"
    yield Row(rule="counts"), dict(metrics["counts"])
    yield Row(rule="others"), {name: part[name] for name in ("repeats", "repeat_sd")}
    for rule in ("valid", "strict"):
        units = metrics[rule]
        counts = {name: units[name] for name in units if name.startswith("n_")}
        yield Row(rule=f"{rule} counts"), {**counts, **units.get("partial", {})}
        for measure in measures:
            name = measure["name"]
            if name in (quartiles := units.get("quartiles", {})):
                yield Row(name, rule=f"{rule} quartiles"), dict(quartiles[name])
            if not measure["averages"] or measure["all_of"]:
                continue
            means = {name: units[measure["key"]]}
            means |= {f"{name}.{one}": units["variants"][one] for one in measure["variants"]}
            for score, rate in means.items():
                for average, mean in rate.items():
                    first = score == name and average == measure["averages"][0]
                    known = bounds if first and rule == headline else {}
                    held = {what: (of or {}).get(name) for what, of in known.items()}
                    yield Row(score, average, rule=rule), {**_mean(mean), **held}
    for measure in measures:
        for rule, mean in (metrics.get(measure["key"]) or {} if measure["all_of"] else {}).items():
            named = "valid" if rule == "default" else rule
            yield Row(measure["name"], "macro", rule=named), _mean(mean)
    for name, over in part.get("over_repeats", {}).items():
        yield Row(name, rule="mean over repeats"), _mean(over["mean"])
        for k, mean in over["pass_at"].items():
            yield Row(name, rule=f"pass@{k}"), _mean(mean)
        for k, mean in over["pass_all"].items():
            yield Row(name, rule=f"pass^{k}"), _mean(mean)
        spread = {what: over[what] for what in ("repeats", "within", "between")}
        yield Row(name, rule="spread over repeats"), spread


def _mean(mean: Json) -> Numbers:
    """A mean with its interval; counts of parents come with it."""
    interval = mean["interval"] or {}
    ends = {name: interval.get(name) for name in ("low", "high", "method", "clusters", "few")}
    counts = {name: mean[name] for name in ("n", "successes", "complete", "total") if name in mean}
    return {"number": mean["value"], **ends, "confidence": interval.get("level"), **counts}
