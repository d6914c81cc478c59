"""Every setting of a run, in the order of the help.

`benchmark_option`, `protocol_option` and `adapter_option` have the options of a benchmark, a
protocol and an adapter by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Literal

from msgspec import Meta

from adapters.conversation import Tier
from adapters.options import Count, PathText
from harness.options import AtLeastZero, History, setting, short_form
from parsers.records import F1Variant, Status


def read_pair(text: str) -> tuple[str, str]:
    """Parse `key=value` into a pair."""
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise ValueError(f"expected key=value, not '{text}'")
    return key.strip().replace("-", "_"), value


def read_condition(text: str) -> str:
    """Check the form `key=value`, and return the text unchanged."""
    key, sign, _ = text.partition("=")
    if not sign or not key:
        raise ValueError(f"expected key=value, not '{text}'")
    return text


def read_role(text: str) -> tuple[str, str]:
    """Parse `name=model`, or `name.setting=value`, as a pair.

    >>> read_role("planner=openai:gpt-5.4"), read_role("planner.max-tokens=300")
    (('planner', 'openai:gpt-5.4'), ('planner.max_tokens', '300'))
    """
    key, value = read_pair(text)
    if key.count(".") > 1 or not all(part.isidentifier() for part in key.split(".")):
        raise ValueError(f"'{key}' is neither a role nor a setting of one (planner.max_tokens)")
    return key.removesuffix(".model"), value


def pairs(table: Mapping[str, object]) -> list[str]:
    """Return the entries of a table as `key=value`, one for each value of a list, and those of a
    table within it as `key.inner=value`.

    >>> pairs({"planner": {"model": "gpt-5.4", "max_tokens": 300}, "embedding": "lexical"})
    ['planner.model=gpt-5.4', 'planner.max_tokens=300', 'embedding=lexical']
    """
    written = []
    for key, value in table.items():
        if isinstance(value, Mapping):
            written += [f"{key}.{inner}" for inner in pairs(value)]
        else:
            items = value if isinstance(value, list) else [value]
            written += [f"{key}={str(v).lower() if isinstance(v, bool) else v}" for v in items]
    return written


def read_shard(text: str) -> tuple[int, int]:
    """Parse `1/4`: number and count."""
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise ValueError(f"'{text}' is not a shard; write 1/4 to 4/4")
    return int(match[1]), int(match[2])


def read_per_round(text: str) -> tuple[int, ...]:
    """Parse `1024`, or `800,300` with a number for each round."""
    parts = text.split(",")
    if not all(part.strip().isdigit() and int(part) > 0 for part in parts):
        raise ValueError(f"'{text}' is not a number of tokens per round (1024, or 800,300)")
    return tuple(int(part) for part in parts)


def read_history(text: str) -> int | str:
    """Return a history in the one spelling that is put on record: `all`, a number, or a text."""
    read = History.parse(text)
    return read.actions if read.plain and read.actions is not None else str(read)


_model = partial(setting, group="Model")
_data = partial(setting, group="Data")
_question = partial(setting, group="Question")
_scoring = partial(setting, group="Scoring")
_running = partial(setting, group="Running", identity=False)
_option = partial(setting, parse=read_pair, metavar="KEY=VALUE")

Pairs = tuple[tuple[str, Any], ...]
Redoable = Literal["truncated", "empty", "parse_error", "no_element"]
"""Statuses of steps that a higher token limit may help."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a run, given or completed.

    None means that a setting was left to the model or the machine.
    """

    model: str = _model("", "Model or baseline; `vlm-eval models` lists them.", short="-m")
    base_url: str | None = _model(None, "OpenAI-compatible server, ending in /v1.", only="model")
    adapter_option: Pairs = _option(
        (),
        "Option of the model's adapter (detail=low); may be repeated. `vlm-eval models NAME` lists "
        "them.",
        group="Model",
        only="model",
    )
    max_tokens: Annotated[tuple[Count, ...], Meta(min_length=1)] | None = _model(
        None,
        "Token limit of a reply, thoughts included. One for all rounds, or one per round "
        "(800,300). Default: 8192 for models that think, 1024 for others.",
        parse=read_per_round,
        metavar="N[,N]",
    )
    temperature: Annotated[float, Meta(ge=0, le=100)] | None = _model(
        None,
        "Sampling temperature. Default: 0 where the model accepts it, otherwise not sent.",
        only="model",
    )
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = _model(
        None, "Nucleus sampling threshold.", of="adapter_option", only="model"
    )
    model_seed: int | None = _model(
        None,
        "Sampling seed sent to the model, if it accepts one.",
        of="adapter_option",
        only="model",
    )
    effort: str | None = _model(
        None,
        "Reasoning effort, in the provider's terms.",
        of="adapter_option",
        only="hosted",
    )
    thinking_budget: int | None = _model(
        None,
        "Number of thinking tokens, for models that take such a budget.",
        of="adapter_option",
        only="hosted",
    )
    role: Pairs = _model(
        (),
        "Model or embedder of another role that the protocol asks (planner=gpt-5.4); may be "
        "repeated. planner.max_tokens=300 or planner.base_url=... are settings of it alone.",
        parse=read_role,
        metavar="KEY=VALUE",
        only="model",
    )

    benchmark: str = _data(
        "multimodal-mind2web", "Benchmark; `vlm-eval benchmarks` lists them.", short="-b"
    )
    benchmark_option: Pairs = _option(
        (),
        "Option of the benchmark (candidates=all); may be repeated. `vlm-eval benchmarks NAME` "
        "lists them.",
        group="Data",
    )
    data: PathText | None = _data(
        None,
        "File or folder to read. Default: the benchmark's own.",
        identity=False,
    )
    split: tuple[str, ...] = _data(
        (), "Only this split; may be repeated. Default: the test splits."
    )
    only: tuple[str, ...] = _data(
        (),
        "Only units of this level, label or id (website=united, task_id=..., platform=web); may "
        "be repeated: values of one key add up, keys restrict each other.",
        parse=read_condition,
        metavar="KEY=VALUE",
    )
    limit: Count | None = _data(None, "Only the first N tasks, with all their steps.", metavar="N")
    shard: tuple[int, int] | None = _data(
        None,
        "Only this one of n disjoint parts of the tasks (1/4 to 4/4); see `vlm-eval merge`.",
        parse=read_shard,
        metavar="I/N",
    )

    protocol: str = _question(
        "seeact-two-rounds", "How to ask; `vlm-eval protocols` lists the ways."
    )
    protocol_option: Pairs = _option(
        (),
        "Option of the protocol; may be repeated. `vlm-eval protocols NAME` lists them.",
        group="Question",
    )
    seed: int = _question(
        42,
        "Seed of candidates and of pages of episodes. The same seed gives the same choices "
        "everywhere.",
    )
    repeats: Count = _question(1, "Times every step is asked.", metavar="N")
    samples: Count | None = _question(
        None, "Number of replies to each call of a step; its predictions vote.", metavar="N"
    )
    vote: Literal["majority", "first"] | None = _question(
        None,
        "Prediction that counts: that of most samples (majority, the default), or of the first "
        "one (first; the others only measure the agreement).",
        of="protocol_option",
    )
    shuffles: Count = _question(
        1,
        "Number of shuffles of the candidates to ask about (tournaments).",
        metavar="N",
        of="protocol_option",
    )

    invalid: Literal["exclude", "fail"] = _scoring(
        "exclude",
        "Rows without a possible answer: excluded from the headline, or counted as failures.",
    )
    unattempted: Literal["exclude", "fail"] = _scoring(
        "exclude",
        "Steps without an answer yet: excluded, or counted as failures.",
        of="benchmark_option",
    )
    exclude_status: tuple[Status, ...] = _scoring(
        (),
        "Exclude steps that ended with this status; may be repeated, and the result says so.",
        of="benchmark_option",
    )

    out: PathText | None = _running(
        None, "Run directory. Default: runs/<name made from the settings>.", short="-o"
    )
    concurrency: Count | None = _running(
        None,
        "Maximum number of calls in flight. Default: the adapter's.",
        metavar="N",
        only="hosted",
    )
    timeout_s: Annotated[float, Meta(ge=0.1)] = _running(
        120.0,
        "Timeout of a call in seconds, after which it is retried. Default on flex: 900.",
        metavar="SECONDS",
        of="adapter_option",
        only="hosted",
    )
    tier: Tier | None = _running(
        None,
        "Tier of the provider that calls are served on, at its price: flex is cheaper, when there "
        "is room, batch within a day. Default: the provider's choice.",
        only="hosted",
    )
    wait: bool = _running(
        False,
        "With --tier batch: wait until everything is answered, instead of ending with exit code 3.",
        of="adapter_option",
        only="hosted",
    )
    queue_tokens: Count | None = _running(
        None,
        "With --tier batch: prompt tokens that the provider lets wait at a time. Default: what it "
        "is known to allow.",
        of="adapter_option",
        only="hosted",
    )
    attempts: Count | None = _running(
        None,
        "Maximum attempts per call. Default: 8; on flex 40.",
        of="adapter_option",
        only="hosted",
    )
    patience_s: Annotated[float, Meta(ge=0)] | None = _running(
        None,
        "Maximum retry time per call, in seconds. Default: 300; on flex 3,600.",
        of="adapter_option",
        only="hosted",
    )
    max_cost: Annotated[float, Meta(ge=0)] | None = _running(
        None, "US dollars the run may cost; never exceeded.", metavar="DOLLARS"
    )
    prices: PathText | None = _running(None, "File with prices that replace the built-in list.")
    yes: bool = _running(False, "Spend money without asking first.", short="-y")
    score_failures: bool = _running(
        False,
        "Score steps without an answer as zero and go on: those whose calls failed, and those that "
        "would stop the run (empty, refused or too long, all alike).",
        of="benchmark_option",
    )
    skip_bad_rows: bool = _running(
        False,
        "Count rows that cannot be read as invalid, instead of stopping at the first. Every "
        "screenshot is then decoded once more, to find the broken ones.",
        of="benchmark_option",
    )
    cache: bool | None = _running(
        None,
        "Reuse the replies of other runs to identical requests. Default: only where it is known "
        "which weights answer (models on this machine, and the providers' own addresses). At other "
        "addresses --cache reuses those of the model that the server names now.",
    )
    preflight: bool = _running(
        True, "Make one call before the first step, to catch mistakes.", of="adapter_option"
    )
    verify: Literal["off", "quick", "full"] | None = _running(
        None,
        "Verify the deployment first, and stop if it is broken; off: take no note of an earlier "
        "verification.",
        only="hosted",
    )
    progress: Literal["auto", "bar", "plain", "off"] = _running(
        "auto", "Progress display; auto: a bar on a terminal."
    )
    redo: tuple[Redoable, ...] = _running(
        (),
        "Make a new run that takes over the lines of another, and asks its steps with this status "
        "again with a higher token limit; may be repeated.",
    )
    redo_from: PathText | None = _running(
        None,
        "With --redo: run that is taken over. Default: the one that the other settings name.",
        metavar="RUN",
    )
    with_server: str | None = _running(
        None,
        "Command that serves the model, started for the run and ended with it: 'vllm serve {model} "
        "--port {port}'.",
        metavar="COMMAND",
        only="hosted",
    )
    track: tuple[str, ...] = _running(
        (),
        "Experiment tracker to log to: wandb (an extra), or your own module:Class; "
        "NAME:PROJECT names a project there. May be repeated.",
        metavar="NAME[:PROJECT]",
    )
    given: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """The names of the settings that the user gave, as opposed to those left at their defaults."""

    @property
    def times(self) -> int:
        """Number of times every step is asked: once for every repeat or shuffle."""
        return max(self.repeats, self.shuffles)


@dataclass(frozen=True, kw_only=True)
class ShortForms:
    """Options of benchmarks and protocols that have an option of the command line, too."""

    distractors: AtLeastZero = short_form("distractors", "benchmark")
    ranker: PathText | None = short_form("ranker", "benchmark")
    image_policy: str | None = short_form("image_policy", "benchmark")
    history: AtLeastZero | str | None = _question(
        None,
        "Earlier steps shown: all, none or K actions; more with +thoughts, +pictures:K or "
        "+turns:K. Default: the protocol's.",
        parse=read_history,
        metavar="all|none|K",
        of="protocol",
    )
    f1: F1Variant = short_form("f1", "benchmark")
    rule: str | None = short_form("rule", "benchmark")
