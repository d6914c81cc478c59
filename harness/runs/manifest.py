"""The manifest of a run: the settings that fix its results, and the sessions that worked on it."""

from __future__ import annotations

import math
import os
import platform
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from adapters.decoding import decode_json
from harness.errors import OtherFormat, RunDiffers, RunError
from harness.printing import printable
from harness.runs.files import UNREADABLE, replace_file
from harness.runs.records import SCHEMA
from parsers.declaration import Declaration
from parsers.records import READING

Facts = Mapping[str, str]
"""Known facts about a model: its name in replies, and what its server's list of models says."""
REPLY = "reply"
"""The name of the first of these facts."""
_LONGEST = 80
_COUNTED = {
    "pictures": ("448x448", "1000x620", "2688x1792", "560x2240", "1920x1080"),
    "texts": ("the first text", "the second text", "the third text"),
}
"""What a verification counts, in order."""
WORDS = {REPLY: "its name in replies"}
_MAY_LACK = {REPLY, "created"}
"""Facts that are not known in every session: a list may give the time of the answer instead."""


def with_facts(known: Sequence[Facts], said: Facts, *, again: bool) -> tuple[Facts, ...]:
    """Return what is known of the models that answered a role, the last one now as `said`.

    There is a further entry if that is another model; one that is known from before is added only
    if it may be there `again`.
    """
    last = known[-1] if known else {}
    listed = said.keys() - {REPLY}
    now = {**{name: last[name] for name in last if not listed or name in _MAY_LACK}, **said}
    if _differing(last, now):
        other = said if listed else now
        return tuple(known) if other in known and not again else (*known, other)
    return (*known[:-1], now) if now else tuple(known)


def changes(answerers: Mapping[str, Sequence[Facts]]) -> list[str]:
    """Say where another model answered a role than before, a line for each change."""
    lines = []
    for role, known in answerers.items():
        for before, now in pairwise(known):
            told = (
                f"{WORDS.get(name, name)} is {_shown(now, name)}, and was {_shown(before, name)}"
                for name in _differing(before, now)
            )
            who = f" for the role {role}" if role else ""
            lines.append(f"another model answers than before{who}: {'; '.join(told)}")
    return lines


def another_deployment(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Say where two verified deployments of a model differ; "" if they do not.

    What is not known of one is not a difference.
    """
    said = []
    for name, places in _COUNTED.items():
        for place, *both in zip(places, _counts(before, name), _counts(now, name), strict=False):
            if None not in both and both[0] != both[1]:
                said.append(f"{place} counts {both[0]:,} and {both[1]:,} tokens")
                break
    units = [one.get("numbers") for one in (before, now)]
    if all(units) and units[0] != units[1]:
        said.append(f"numbers are {units[0]} and {units[1]}")
    return "; ".join(said)


def _counts(deployment: Mapping[str, Any], name: str) -> list[int | None]:
    counts = deployment.get("counts")
    found = counts.get(name) if isinstance(counts, Mapping) else None
    listed = found if isinstance(found, list) else []
    return [one if isinstance(one, int) else None for one in listed]


def _shown(facts: Facts, name: str) -> str:
    text = printable(" ".join(facts.get(name, "not given").split()))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _differing(before: Facts, now: Facts) -> list[str]:
    """Return the facts where two models differ; what is not known of one is not a difference."""
    names = before.keys() & now.keys()
    if all(facts.keys() - {REPLY} for facts in (before, now)):
        names |= (before.keys() ^ now.keys()) - _MAY_LACK
    return sorted((n for n in names if before.get(n) != now.get(n)), key=lambda n: (n != REPLY, n))


MANIFEST = "manifest.json"
NO_ANSWERS = "no_answers"
"""Key of what a session measured: it stopped, as the deployment gave no answers."""
DISTRIBUTION = "vlm-web-eval"
GIT_TIMEOUT_S = 10
_ABSENT = "(not set)"
_VERSION = re.compile(r"^Version: *(.+)$", re.MULTILINE)
DESCRIPTIONS = ("candidates_told", "none_rule")
"""Words for a reader that follow from settings and do not identify a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Everything that the results depend on; a run can only be resumed with an equal one.

    config: every setting, except those that may change between sessions.
    model: which model: provider, name, revision, endpoint, settings.
    dataset: fingerprint of the data, and what is needed to find it again.
    prompts: hash of the prompt texts.
    seed: seed that ranks the candidates.
    pictures: recipe of prepared screenshots.
    declaration: the benchmark's declaration of its results, not part of a run's identity.
    """

    config: dict[str, Any]
    model: dict[str, Any] = field(default_factory=dict)
    dataset: dict[str, Any] = field(default_factory=dict)
    prompts: str = ""
    seed: int = 0
    pictures: str = ""
    declaration: Declaration


@dataclass(frozen=True, slots=True)
class Start:
    """One start of a run.

    started: when, in ISO 8601, UTC.
    pid: the process.
    settings: those that may change between sessions: concurrency, time limits, cost limit.
    environment: Python, platform, package versions, git commit.
    measured: what the session measured of itself, such as how long a local model waited.
    """

    started: str
    pid: int
    settings: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)
    measured: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def now(cls, settings: Mapping[str, Any]) -> Start:
        """Return a session that starts now, in this process."""
        started = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(started, os.getpid(), dict(settings), environment())


@dataclass(frozen=True, slots=True)
class Redone:
    """The units that a run asks again; it copies the others from another run.

    of: name of that run.
    statuses: of its steps that are asked again.
    max_tokens: its token limit, by round.
    steps: number of dialogues that are asked again.
    cost: US dollars that the lines taken over had cost.
    """

    of: str
    statuses: tuple[str, ...]
    max_tokens: tuple[int, ...]
    steps: int
    cost: float = 0.0

    def __str__(self) -> str:
        return f"{', '.join(self.statuses)} at {', '.join(map(str, self.max_tokens))}"

    def is_of(self, other: Redone) -> bool:
        """Return True if the same steps of the same run are asked again."""
        return replace(self, cost=0.0) == replace(other, cost=0.0)

    def joined(self, other: Redone | None) -> Redone:
        """Both together: a run that is redone again, or two shards."""
        if other is None:
            return self
        return replace(
            self,
            statuses=tuple(dict.fromkeys((*other.statuses, *self.statuses))),
            steps=self.steps + other.steps,
            cost=self.cost + other.cost,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest(Setup):
    """`manifest.json`. `answerers` says of each role which models answered it, in order, as far as
    their servers say so (`harness.runs.manifest`).

    `unrecorded` is what was or may have been spent, in US dollars, on calls without a line: the one
    before the first step, those that failed after they had been sent, and those set aside.
    `reading` is the edition of the reading rules (`parsers.READING`) that read the predictions.
    `redone` is None for a run that asked all of its steps itself.
    """

    schema: int
    name: str
    created: str
    answerers: Mapping[str, tuple[Facts, ...]] = field(default_factory=dict)
    unrecorded: float = 0.0
    reading: int
    redone: Redone | None = None
    sessions: tuple[Start, ...] = ()

    @property
    def paid_before(self) -> str | None:
        """Part of the run's cost that another run has paid, in words; None if nothing."""
        redone = self.redone
        if redone is None or not redone.cost:
            return None
        paid = f"${redone.cost:,.4f} was billed in {redone.of}"
        return f"of this cost, {paid}, whose steps it took over"

    @property
    def stopped_without_answers(self) -> bool:
        """True if a session ended since units got no answer, and the deployment is at fault."""
        return any(session.measured.get(NO_ANSWERS) for session in self.sessions)

    @property
    def deployment(self) -> Mapping[str, Any] | None:
        """The verified deployment, from the last session that knew it; None if none did."""
        found = (session.measured.get("deployment") for session in reversed(self.sessions))
        return next((one for one in found if isinstance(one, Mapping)), None)

    @property
    def chosen(self) -> Mapping[str, Any]:
        """Every setting and option on record by its own name."""
        of = self.options_of
        return {**of("adapter"), **of("protocol"), **of("benchmark"), **self.config}

    def options_of(self, owner: str) -> Mapping[str, Any]:
        """The options of the adapter, the protocol or the benchmark on record."""
        options = self.config.get(f"{owner}_option")
        return options if isinstance(options, Mapping) else {}

    @property
    def model_name(self) -> str:
        """The name of the model or policy; "unknown" if the run does not record one."""
        return str(self.model.get("name") or self.config.get("model") or "unknown")

    @property
    def planned(self) -> int:
        """The number of units that the complete run has, repeats included; 0 where the record,
        which may be someone else's, does not say."""
        factors = [self.dataset.get("rows", 0)]
        factors += [self.config.get(name, 1) for name in ("repeats", "shuffles")]
        return math.prod(factors) if all(isinstance(one, int) for one in factors) else 0

    @property
    def answered_by(self) -> tuple[str, ...]:
        """The names of the model under test in replies, each once."""
        named = [facts[REPLY] for facts in self.answerers.get("", ()) if REPLY in facts]
        return tuple(dict.fromkeys(named))

    @property
    def of_policy(self) -> bool:
        """True if a policy answered instead of a model."""
        return self.model.get("stand_in") == "policy"

    @property
    def dates(self) -> str:
        """When data and model came out, and whether the model may have been trained on the data;
        "" where neither is known, and for baselines."""
        if self.of_policy:
            return ""
        told = self.sessions[-1].settings if self.sessions else {}
        data, model = (str(told.get(n) or "") for n in ("data_published", "model_released"))
        parts = [f"data public since {data}"] if data else []
        parts += [f"model released {model}"] if model else []
        line = ", ".join(parts)
        if data and model and data[: len(model)] < model[: len(data)]:
            line += ": older than the model, which may have been trained on them"
        return line

    @property
    def prices_given(self) -> bool:
        """True if a session had a file of prices (`--prices`)."""
        return any(session.settings.get("prices") for session in self.sessions)

    @property
    def environment(self) -> dict[str, Any]:
        """Software and platform of the first session."""
        return self.sessions[0].environment if self.sessions else {}


def identity(setup: Setup) -> dict[str, Any]:
    """Return the part of a manifest that two sessions of one run must share, as plain JSON."""
    shared = (field.name for field in fields(Setup) if field.name != "declaration")
    plain: dict[str, Any] = {name: getattr(setup, name) for name in shared}
    # Where the data lies is not what it is; that is for its fingerprint to say.
    plain["dataset"] = {k: v for k, v in setup.dataset.items() if k != "data"}
    plain["config"] = {k: v for k, v in setup.config.items() if k not in DESCRIPTIONS}
    decoded: dict[str, Any] = decode_json(msgspec.json.encode(plain))
    return decoded


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return the differences between two configurations, a setting per line, by users' names.

    >>> difference({"a": {"b": 1}, "config": {"c": 2}}, {"a": {"b": 3}, "config": {"c": 4}})
    ['a.b: 1 on record, 3 now', 'c: 2 on record, 4 now']
    """
    before, after = dict(_flat(old, "")), dict(_flat(new, ""))
    lines: dict[str, str] = {}
    for key in sorted(before.keys() | after.keys(), key=lambda key: (key == "model.model", key)):
        was, now = before.get(key, _ABSENT), after.get(key, _ABSENT)
        name = "model" if key in ("model.name", "model.model") else key.removeprefix("config.")
        if was != now:
            lines.setdefault(name, f"{name}: {was} on record, {now} now")
    return list(lines.values())


def _flat(value: Mapping[str, Any], prefix: str) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for key, inner in value.items():
        name = f"{prefix}{key}"
        if isinstance(inner, Mapping) and inner:
            pairs += _flat(inner, f"{name}.")
        else:
            pairs.append((name, msgspec.json.encode(inner).decode()))
    return pairs


def is_same(old: Setup, new: Setup) -> bool:
    """Return True if a run of one setup can be resumed with the other."""
    return identity(old) == identity(new)


def check_reading(path: Path, manifest: Manifest) -> None:
    """Raise `RunError` if other reading rules than today's have read the run at `path`."""
    if manifest.reading != READING:
        raise RunError(
            f"{path} was read by edition {manifest.reading} of the reading rules, and this version "
            f"of vlm-eval has edition {READING}: vlm-eval score {shlex.quote(str(path))} reads "
            "its replies anew"
        )


def check_same(path: Path, old: Manifest, new: Setup) -> None:
    """Raise `RunError` if the run at `path` cannot be resumed with `new`."""
    check_reading(path, old)
    was, now = identity(old), identity(new)
    # Other differences mostly follow from the settings, which a reader wants to see.
    lines = difference(was["config"], now["config"]) or difference(was, now)
    if lines:
        raise RunDiffers(path, lines)


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a run. Raises `RunError` when there is none or it cannot be read."""
    path = folder / MANIFEST
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise RunError(f"{folder} is not a run directory (no {MANIFEST})") from error
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror or error}") from error
    try:
        schema = decode_json(data, _SchemaOnly).schema
        if schema != SCHEMA:
            raise OtherFormat(
                f"{folder} was written by another version of vlm-eval (format {schema}; this one "
                f"reads format {SCHEMA})"
            )
        return decode_json(data, Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise RunError(f"{path} is not the manifest of a run: {error}") from error


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest in one piece. Raises `RunError`."""
    path = folder / MANIFEST
    try:
        data = msgspec.json.encode(manifest)
        decode_json(data, Manifest)
    except (*UNREADABLE, TypeError, OverflowError) as error:
        raise RunError(
            f"{path} is not written, since it could not be read back: {error}"
        ) from error
    replace_file(path, [msgspec.json.format(data, indent=2), b"\n"])


class _SchemaOnly(msgspec.Struct):
    schema: int


@cache
def environment() -> dict[str, Any]:
    """Python, platform, versions of the package and what it needs, commit of a source checkout.

    Looked up once per process: what has been imported does not change afterwards.
    """
    # git runs while the versions are read.
    git = _start_git(Path(__file__).resolve().parents[2])
    packages = _packages()
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": packages,
        "git": _commit(git) if git else None,
    }


def _packages() -> dict[str, str]:
    try:
        requirements = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        requirements = []
    versions = {}
    for name in {DISTRIBUTION, *(re.split(r"[^\w.-]", text)[0] for text in requirements)}:
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        # `distribution.version` parses the long description as well, at three times the cost.
        version = _VERSION.search(distribution.read_text("METADATA") or "")
        versions[name] = version[1].strip() if version else distribution.version
    return dict(sorted(versions.items()))


def _start_git(source: Path) -> subprocess.Popen[str] | None:
    if not (source / ".git").exists():
        return None
    # Optional locks off: asking for the status must not block a commit.
    command = ["git", "--no-optional-locks", "-C", str(source), "status", "--porcelain=v2"]
    command += ["--branch", "--untracked-files=no"]
    try:
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
    except OSError:
        return None


def _commit(git: subprocess.Popen[str]) -> dict[str, Any] | None:
    """Commit of the checkout and whether tracked files differ from it, None if git cannot say."""
    with git:
        try:
            lines = git.communicate(timeout=GIT_TIMEOUT_S)[0].splitlines()
        except subprocess.TimeoutExpired:
            git.kill()
            return None
    heads = [line.split()[-1] for line in lines if line.startswith("# branch.oid ")]
    if git.returncode or not heads or heads[0] == "(initial)":
        return None
    return {"commit": heads[0], "dirty": any(not line.startswith("#") for line in lines)}
