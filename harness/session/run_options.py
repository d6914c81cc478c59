"""The settings of `harness.evaluate` as a type. Written by `python -m docs.site.settings`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from harness.benchmarks import Benchmark
    from harness.protocols import AskingProtocol
    from parsers.records import Status


class RunOptions(TypedDict, total=False):
    """Settings of a run by name, as `harness.evaluate` takes them; the model comes apart.

    Each has the default of its option of `vlm-eval run`.
    """

    base_url: str | None
    """OpenAI-compatible server, ending in /v1."""
    adapter_option: Mapping[str, Any] | Sequence[str]
    """Option of the model's adapter (detail=low); may be repeated. `vlm-eval models NAME` lists
    them."""
    max_tokens: int | Sequence[int] | None
    """Token limit of a reply, thoughts included. One for all rounds, or one per round (800,300).
    Default: 8192 for models that think, 1024 for others."""
    temperature: float | None
    """Sampling temperature. Default: 0 where the model accepts it, otherwise not sent."""
    top_p: float | None
    """Nucleus sampling threshold."""
    model_seed: int | None
    """Sampling seed sent to the model, if it accepts one."""
    effort: str | None
    """Reasoning effort, in the provider's terms."""
    thinking_budget: int | None
    """Number of thinking tokens, for models that take such a budget."""
    role: Mapping[str, Any] | Sequence[str]
    """Model or embedder of another role that the protocol asks (planner=gpt-5.4); may be repeated.
    planner.max_tokens=300 or planner.base_url=... are settings of it alone."""
    benchmark: str | Benchmark
    """Benchmark; `vlm-eval benchmarks` lists them."""
    benchmark_option: Mapping[str, Any] | Sequence[str]
    """Option of the benchmark (candidates=all); may be repeated. `vlm-eval benchmarks NAME` lists
    them."""
    data: str | Path | None
    """File or folder to read. Default: the benchmark's own."""
    split: str | Sequence[str]
    """Only this split; may be repeated. Default: the test splits."""
    only: str | Sequence[str]
    """Only units of this level, label or id (website=united, task_id=..., platform=web); may be
    repeated: values of one key add up, keys restrict each other."""
    limit: int | None
    """Only the first N tasks, with all their steps."""
    shard: tuple[int, int] | str | None
    """Only this one of n disjoint parts of the tasks (1/4 to 4/4); see `vlm-eval merge`."""
    protocol: str | AskingProtocol
    """How to ask; `vlm-eval protocols` lists the ways."""
    protocol_option: Mapping[str, Any] | Sequence[str]
    """Option of the protocol; may be repeated. `vlm-eval protocols NAME` lists them."""
    seed: int
    """Seed of candidates and of pages of episodes. The same seed gives the same choices
    everywhere."""
    repeats: int
    """Times every step is asked."""
    samples: int | None
    """Number of replies to each call of a step; its predictions vote."""
    vote: Literal["majority", "first"] | None
    """Prediction that counts: that of most samples (majority, the default), or of the first one
    (first; the others only measure the agreement)."""
    shuffles: int
    """Number of shuffles of the candidates to ask about (tournaments)."""
    invalid: Literal["exclude", "fail"]
    """Rows without a possible answer: excluded from the headline, or counted as failures."""
    unattempted: Literal["exclude", "fail"]
    """Steps without an answer yet: excluded, or counted as failures."""
    exclude_status: Status | str | Sequence[Status | str]
    """Exclude steps that ended with this status; may be repeated, and the result says so."""
    out: str | Path | None
    """Run directory. Default: runs/<name made from the settings>."""
    concurrency: int | None
    """Maximum number of calls in flight. Default: the adapter's."""
    timeout: float
    """Timeout of a call in seconds, after which it is retried. Default on flex: 900."""
    tier: Literal["default", "flex", "priority", "batch"] | None
    """Tier of the provider that calls are served on, at its price: flex is cheaper, when there is
    room, batch within a day. Default: the provider's choice."""
    wait: bool
    """With --tier batch: wait until everything is answered, instead of ending with exit code 3."""
    queue_tokens: int | None
    """With --tier batch: prompt tokens that the provider lets wait at a time. Default: what it is
    known to allow."""
    attempts: int | None
    """Maximum attempts per call. Default: 8; on flex 40."""
    patience: float | None
    """Maximum retry time per call, in seconds. Default: 300; on flex 3,600."""
    max_cost: float | None
    """US dollars the run may cost; never exceeded."""
    prices: str | Path | None
    """File with prices that replace the built-in list."""
    yes: bool
    """Spend money without asking first."""
    score_failures: bool
    """Score steps without an answer as zero and go on: those whose calls failed, and those that
    would stop the run (empty, refused or too long, all alike)."""
    skip_bad_rows: bool
    """Count rows that cannot be read as invalid, instead of stopping at the first. Every screenshot
    is then decoded once more, to find the broken ones."""
    cache: bool | None
    """Reuse the replies of other runs to identical requests. Default: only where it is known which
    weights answer (models on this machine, and the providers' own addresses). At other addresses
    --cache reuses those of the model that the server names now."""
    preflight: bool
    """Make one call before the first step, to catch mistakes."""
    verify: Literal["off", "quick", "full"] | None
    """Verify the deployment first, and stop if it is broken; off: take no note of an earlier
    verification."""
    progress: Literal["auto", "bar", "plain", "off"]
    """Progress display; auto: a bar on a terminal."""
    redo: (
        Literal["truncated", "empty", "parse_error", "no_element"]
        | Sequence[Literal["truncated", "empty", "parse_error", "no_element"]]
    )
    """Make a new run that takes over the lines of another, and asks its steps with this status
    again with a higher token limit; may be repeated."""
    redo_from: str | Path | None
    """With --redo: run that is taken over. Default: the one that the other settings name."""
    with_server: str | None
    """Command that serves the model, started for the run and ended with it: 'vllm serve {model}
    --port {port}'."""
    track: object | Sequence[object]
    """Experiment tracker to log to: wandb (an extra), or your own module:Class; NAME:PROJECT names
    a project there. May be repeated."""
    distractors: int
    """Negative candidates listed with the positive."""
    ranker: str | Path | None
    """Ranker of the candidates: lexical, another registered one, or a file of ranks."""
    image_policy: str | None
    """Part of the screenshot to show. One of full, viewport, tiles, candidates, none,
    oracle-target. Default: the protocol's."""
    history: int | str | None
    """Earlier steps shown: all, none or K actions; more with +thoughts, +pictures:K or +turns:K.
    Default: the protocol's."""
    f1: Literal["mind2web", "mind2web-lc", "cl100k-lc", "mind2web-np"]
    """Variant of operation F1 in the headline; all are stored."""
    rule: str | None
    """Published rule of the headline (docs/screen-steps.md). Default: that of the set."""
