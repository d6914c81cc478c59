"""Settings of the core: the data, the scores, and how a run is carried out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from msgspec import Meta

from adapters.conversation import Tier
from adapters.options import PathText, setting
from adapters.options import session_setting as _running
from harness.settings import values
from harness.settings.setting import STEPS, AtLeastOne
from parsers.records import F1Variant, Status

PointRule = Literal["box", "smallest", "original"]

_data = partial(setting, group="Data", about="data")
_headline = partial(setting, group="Scoring", about="scoring")
_scoring = partial(_headline, under="--scoring-option")


@dataclass(frozen=True, kw_only=True)
class DataSettings:
    """Settings that select units of a benchmark."""

    benchmark: str = _data(
        "multimodal-mind2web",
        "Benchmark; `vlm-eval benchmarks` lists them.",
        short="-b",
        common=True,
    )
    benchmark_options: tuple[tuple[str, Any], ...] = _data(
        (),
        "Option of the benchmark; may be repeated, and an unknown key lists them.",
        option="--benchmark-option",
        parse=values.pair,
        metavar="KEY=VALUE",
        recorded="when set",
    )
    data: PathText | None = _data(
        None,
        "File or folder to read, or hf://datasets/OWNER/NAME. Default: the benchmark's own.",
        common=True,
        recorded="never",
    )
    splits: tuple[str, ...] = _data(
        (),
        "Only this split; may be repeated. Default: the test splits.",
        option="--split",
        common=True,
    )
    websites: tuple[str, ...] = _data(
        (),
        "Only steps on this website; may be repeated.",
        option="--website",
        under="--only",
        selects="website",
    )
    domains: tuple[str, ...] = _data(
        (),
        "Only steps of this domain; may be repeated.",
        option="--domain",
        under="--only",
        selects="domain",
    )
    task_ids: tuple[str, ...] = _data(
        (),
        "Only this task; may be repeated.",
        option="--task-id",
        under="--only",
        selects="task",
    )
    step_ids: tuple[str, ...] = _data(
        (), "Only this step; may be repeated.", option="--step-id", under="--only"
    )
    only: tuple[str, ...] = _data(
        (),
        "Only steps or items with this value (website=united, task_id=..., platform=web); may be "
        "repeated: values of one key add up, keys restrict each other. `help` lists the keys.",
        option="--only",
        parse=values.condition,
        metavar="KEY=VALUE",
        recorded="when set",
    )
    limit: AtLeastOne | None = _data(
        None, "Only the first N tasks, with all their steps.", metavar="N", common=True
    )
    shard: tuple[int, int] | None = _data(
        None,
        "Only this one of n disjoint parts of the tasks (1/4 to 4/4); see `vlm-eval merge`.",
        parse=values.shard,
        metavar="I/N",
        recorded="when set",
    )
    lost_rows: bool = _data(
        False,
        "Ask about steps whose screenshot is missing, too (text-only runs).",
        fixed_as="images",
        needs=(STEPS,),
    )


@dataclass(frozen=True, kw_only=True)
class ScoringSettings:
    """Settings of the scores."""

    scoring_options: tuple[tuple[str, Any], ...] = _headline(
        (),
        "Option of the scores; may be repeated, and `help` lists them.",
        option="--scoring-option",
        parse=values.pair,
        metavar="KEY=VALUE",
        recorded="never",
    )
    f1: F1Variant = _headline(
        "mind2web", "Variant of operation F1 in the headline; all are stored.", needs=(STEPS,)
    )
    step_rule: Literal["f1", "exact"] = _scoring(
        "f1",
        "A step succeeds with the right element and F1 = 1 (f1), or with operation and value "
        "exactly as recorded (exact).",
        needs=(STEPS,),
    )
    invalid: Literal["exclude", "fail"] = _headline(
        "exclude",
        "Rows without a possible answer: excluded from the headline, or counted as failures.",
    )
    none_zeroes_operation: bool = _scoring(
        False,
        "Operation F1 is 0 where the model answers 'none of these'.",
        needs=(STEPS, "operations without an element"),
    )
    no_element_zeroes_operation: bool = _scoring(
        False,
        "Operation F1 is 0 where the reply names no element: none of these, unreadable, ambiguous, "
        "or beyond the list (as in the code of Mind2Web and SeeAct).",
        recorded="when set",
        needs=(STEPS, "operations with a wrong element"),
    )
    wrong_element_zeroes_operation: bool = _scoring(
        False, "Operation F1 is 0 where the element is wrong.", needs=(STEPS,)
    )
    mapped_operations: bool = _scoring(
        True, "Read HOVER and ENTER as CLICK, as Mind2Web's annotation does.", needs=(STEPS,)
    )
    bag: bool = _scoring(
        False, "Count repeated tokens in the cl100k-lc variant of F1.", needs=(STEPS,)
    )
    point_rule: PointRule = _scoring(
        "box",
        "A point is correct inside the box of an acceptable element (box), where the smallest "
        "candidate under it is one (smallest), or inside the labelled element's box (original).",
        needs=(STEPS, "points"),
    )
    unattempted: Literal["exclude", "fail"] = _scoring(
        "exclude", "Steps without an answer yet: excluded, or counted as failures."
    )
    exclude_statuses: tuple[Status, ...] = _scoring(
        (),
        "Exclude steps that ended with this status; may be repeated, and the result says so.",
        option="--exclude-status",
    )


@dataclass(frozen=True, kw_only=True)
class RunningSettings:
    """Settings that change no result."""

    out: PathText | None = _running(
        None, "Run directory. Default: runs/<name made from the settings>.", short="-o", common=True
    )
    concurrency: AtLeastOne | None = _running(
        None,
        "Maximum number of calls in flight. Default: the adapter's.",
        metavar="N",
        needs=("remote model",),
        fills="adapter",
        common=True,
    )
    timeout_s: Annotated[float, Meta(ge=0.1)] = _running(
        120.0,
        "Timeout of a call in seconds, after which it is retried. Default on flex: 900.",
        option="--timeout",
        metavar="SECONDS",
        needs=("remote model",),
        fills="adapter",
    )
    ends: tuple[str, ...] = _running(
        (),
        "Further words by which a server says that a reply ended as usual (`finish_reason`).",
        parse=values.words,
        metavar="WORD[,WORD]",
        under="--adapter-option",
        needs=("adapter", "remote model"),
        fills="adapter",
    )
    tier: tuple[Tier, ...] = _running(
        (),
        "Tier of the provider that calls are served on, at its price: default, flex (cheaper, when "
        "there is room), priority, or batch (cheaper, within a day). flex,default falls back when "
        "flex has had no room for as long as calls are tried. Default: the provider's choice.",
        parse=values.tiers,
        metavar="TIER[,TIER]",
        needs=("model", "remote model"),
    )
    attempts: AtLeastOne | None = _running(
        None,
        "Maximum attempts per call. Default: 8; on flex 40.",
        metavar="N",
        needs=("remote model",),
    )
    patience_s: Annotated[float, Meta(ge=0)] | None = _running(
        None,
        "Maximum retry time per call, in seconds. Default: 300; on flex 3,600.",
        option="--patience",
        metavar="SECONDS",
        needs=("remote model",),
    )
    max_cost: Annotated[float, Meta(ge=0)] | None = _running(
        None, "US dollars the run may cost; never exceeded.", metavar="DOLLARS", common=True
    )
    prices: PathText | None = _running(None, "File with prices that replace the built-in list.")
    yes: bool = _running(False, "Spend money without asking first.", short="-y", common=True)
    score_failures: bool = _running(
        False,
        "Score steps without an answer as zero and go on: those whose calls failed, and those that "
        "would stop the run (empty, refused or too long, all alike).",
    )
    skip_bad_rows: bool = _running(
        False,
        "Count rows that cannot be read as invalid, instead of stopping at the first. Every "
        "screenshot is then decoded once more, to find the broken ones.",
    )
    cache: bool | None = _running(
        None,
        "Reuse the replies of other runs to identical requests. Default: only where it is known "
        "which weights answer (models on this machine, and the providers' own addresses). At other "
        "addresses --cache reuses those of the model that the server names now.",
    )
    picture_cache: Annotated[float, Meta(ge=0)] = _running(
        0.0,
        "Gigabytes of prepared pictures to keep on disk for other runs.",
        metavar="GB",
        needs=("adapter", "remote model"),
    )
    cache_dir: PathText | None = _running(
        None, "Folder of the reply cache, and of prepared pictures.", needs=("reply cache",)
    )
    workers: AtLeastOne | None = _running(
        None, "Number of processes that prepare pictures.", metavar="N"
    )
    preflight: bool = _running(True, "Make one call before the first step, to catch mistakes.")
    progress: Literal["auto", "bar", "plain", "off"] = _running(
        "auto", "Progress display; auto: a bar on a terminal."
    )
