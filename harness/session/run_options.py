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
    """Option of the model's adapter (detail=low); may be repeated, and `help` lists them."""
    max_pixels: int | None
    """Maximum number of pixels of a picture; for a model behind a server, its server's limit."""
    max_tokens: int | Sequence[int] | None
    """Token limit of a reply, thoughts included. One for all rounds, or one per round (800,300).
    Default: 8192 for models that think, 1024 for others."""
    temperature: float | None
    """Sampling temperature. Default: 0 where the model accepts it, otherwise not sent."""
    top_p: float | None
    """Nucleus sampling threshold. Default: the model's own."""
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
    """Option of the benchmark; may be repeated, and an unknown key lists them."""
    data: str | Path | None
    """File or folder to read, or hf://datasets/OWNER/NAME. Default: the benchmark's own."""
    split: str | Sequence[str]
    """Only this split; may be repeated. Default: the test splits."""
    website: str | Sequence[str]
    """Only steps on this website; may be repeated."""
    domain: str | Sequence[str]
    """Only steps of this domain; may be repeated."""
    task_id: str | Sequence[str]
    """Only this task; may be repeated."""
    step_id: str | Sequence[str]
    """Only this step; may be repeated."""
    only: str | Sequence[str]
    """Only steps or items with this value (website=united, task_id=..., platform=web); may be
    repeated: values of one key add up, keys restrict each other. `help` lists the keys."""
    limit: int | None
    """Only the first N tasks, with all their steps."""
    shard: tuple[int, int] | str | None
    """Only this one of n disjoint parts of the tasks (1/4 to 4/4); see `vlm-eval merge`."""
    lost_rows: bool
    """Ask about steps whose screenshot is missing, too (text-only runs)."""
    protocol: str | AskingProtocol
    """How to ask; `vlm-eval protocols` lists the ways."""
    protocol_option: Mapping[str, Any] | Sequence[str]
    """Option of the protocol; may be repeated, and `help` lists them."""
    candidate_option: Mapping[str, Any] | Sequence[str]
    """Option of the listed candidates; may be repeated, and `help` lists them."""
    distractors: int
    """Negative candidates listed with the positive."""
    seed: int
    """Seed of candidates and of pages of episodes. The same seed gives the same choices
    everywhere."""
    candidates: Literal["snapshot", "ranker", "all"] | None
    """Candidates to choose from: the positive among seeded negatives (snapshot), the top of a
    ranking (ranker), or every element (all). Default: the protocol's."""
    ranker: str | Path | None
    """Ranker of the candidates: lexical, another registered one, or a file of ranks."""
    top_k: int | None
    """Number of top-ranked candidates to choose from. Default: the protocol's."""
    missed: Literal["zero", "ask"] | None
    """Steps without a positive among the top candidates: score them as zero (default), or ask
    anyway."""
    positives: Literal["all", "original"]
    """Elements that count as correct: all acceptable ones, or only the labelled one."""
    shown: Literal["seeded", "original", "top-level"]
    """Choice among several positives."""
    exclude_related: bool
    """Leave out ancestors and descendants of the positive."""
    exclude_same_text: bool
    """Leave out negatives whose text equals the positive's."""
    order: int
    """Number of the shuffle that orders the listed choices."""
    prompts: str | Path | None
    """File with prompt texts that replace the protocol's."""
    none: Literal["last", "first", "absent"] | None
    """Position of the choice 'none of these'. Default: the protocol's."""
    history: int | str | None
    """Earlier steps shown: all, none or K actions; more with +thoughts, +pictures:K or +turns:K.
    Default: the protocol's."""
    history_from: str | Path | None
    """Complete run whose replies stand for the recorded actions of earlier steps."""
    image_policy: str | None
    """Part of the screenshot to show. One of full, viewport, tiles, candidates, none,
    oracle-target. Default: the protocol's."""
    pixels: int | None
    """Pixel budget of a screenshot shown in full."""
    first_of_many: bool | None
    """If a reply names several letters, take the first instead of none."""
    value_style: Literal["plain", "seeact"] | None
    """Cleaning of values in replies (default: plain)."""
    repeats: int
    """Times every step is asked."""
    samples: int | None
    """Number of replies to each call of a step; its predictions vote."""
    vote: Literal["majority", "first"] | None
    """Prediction that counts: that of most samples (majority, the default), or of the first one
    (first; the others only measure the agreement)."""
    shuffles: int
    """Number of shuffles of the candidates to ask about (tournaments)."""
    scoring_option: Mapping[str, Any] | Sequence[str]
    """Option of the scores; may be repeated, and `help` lists them."""
    f1: Literal["mind2web", "mind2web-lc", "cl100k-lc", "mind2web-np"]
    """Variant of operation F1 in the headline; all are stored."""
    step_rule: Literal["f1", "exact"]
    """A step succeeds with the right element and F1 = 1 (f1), or with operation and value exactly
    as recorded (exact)."""
    invalid: Literal["exclude", "fail"]
    """Rows without a possible answer: excluded from the headline, or counted as failures."""
    none_zeroes_operation: bool
    """Operation F1 is 0 where the model answers 'none of these'."""
    no_element_zeroes_operation: bool
    """Operation F1 is 0 where the reply names no element: none of these, unreadable, ambiguous, or
    beyond the list (as in the code of Mind2Web and SeeAct)."""
    wrong_element_zeroes_operation: bool
    """Operation F1 is 0 where the element is wrong."""
    mapped_operations: bool
    """Read HOVER and ENTER as CLICK, as Mind2Web's annotation does."""
    bag: bool
    """Count repeated tokens in the cl100k-lc variant of F1."""
    point_rule: Literal["box", "smallest", "original"]
    """A point is correct inside the box of an acceptable element (box), where the smallest
    candidate under it is one (smallest), or inside the labelled element's box (original)."""
    unattempted: Literal["exclude", "fail"]
    """Steps without an answer yet: excluded, or counted as failures."""
    exclude_status: (
        Status
        | Literal[
            "answered",
            "none",
            "ambiguous",
            "no_element",
            "out_of_range",
            "parse_error",
            "refusal",
            "empty",
            "truncated",
            "content_filter",
            "provider_refused",
            "too_long",
            "not_offered",
            "no_reply",
        ]
        | Sequence[
            Status
            | Literal[
                "answered",
                "none",
                "ambiguous",
                "no_element",
                "out_of_range",
                "parse_error",
                "refusal",
                "empty",
                "truncated",
                "content_filter",
                "provider_refused",
                "too_long",
                "not_offered",
                "no_reply",
            ]
        ]
    )
    """Exclude steps that ended with this status; may be repeated, and the result says so."""
    out: str | Path | None
    """Run directory. Default: runs/<name made from the settings>."""
    concurrency: int | None
    """Maximum number of calls in flight. Default: the adapter's."""
    timeout: float
    """Timeout of a call in seconds, after which it is retried. Default on flex: 900."""
    ends: str | Sequence[str]
    """Further words by which a server says that a reply ended as usual (`finish_reason`)."""
    tier: (
        Literal["default", "flex", "priority", "batch"]
        | Sequence[Literal["default", "flex", "priority", "batch"]]
    )
    """Tier of the provider that calls are served on, at its price: default, flex (cheaper, when
    there is room), priority, or batch (cheaper, within a day). flex,default falls back when flex
    has had no room for as long as calls are tried. Default: the provider's choice."""
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
    picture_cache: float
    """Gigabytes of prepared pictures to keep on disk for other runs."""
    cache_dir: str | Path | None
    """Folder of the reply cache, and of prepared pictures."""
    workers: int | None
    """Number of processes that prepare pictures."""
    preflight: bool
    """Make one call before the first step, to catch mistakes."""
    progress: Literal["auto", "bar", "plain", "off"]
    """Progress display; auto: a bar on a terminal."""
    episodes: int | None
    """Only the first N episodes of each task. Default: all."""
    max_steps: int | None
    """Most steps of an episode. Default: what its task says."""
    environments: int | None
    """Number of processes that run episodes. Default: one per processor."""
    env_python: str | Path | None
    """Python of the environment that BrowserGym is installed in (docs/episodes.md)."""
    rule: str | None
    """Published rule of the headline (docs/screen-steps.md). Default: that of the set."""
    redo: (
        Literal["truncated", "empty", "parse_error", "no_element"]
        | Sequence[Literal["truncated", "empty", "parse_error", "no_element"]]
    )
    """Make a new run that takes over the lines of another, and asks its steps with this status
    again with a higher token limit; may be repeated."""
    redo_from: str | Path | None
    """Run that is taken over. Default: the one that the other settings name."""
    repair: bool
    """Set aside the lines of a run that are damaged, and ask their steps again."""
    with_server: str | None
    """Command that serves the model, started for the run and ended with it: 'vllm serve {model}
    --port {port}'."""
    serve_timeout: float
    """Seconds that the server may take until it answers."""
    wait: bool
    """With --tier batch: wait until everything is answered, instead of ending with exit code 3."""
    queue_tokens: int | None
    """With --tier batch: prompt tokens that the provider lets wait at a time. Default: what it is
    known to allow."""
    track: object | Sequence[object]
    """Experiment tracker to log to: trackio, wandb, or your own; NAME:PROJECT names a project
    there. May be repeated."""
    judge: object | Sequence[object]
    """Model that judges each finished unit, by the benchmark's method or another one; the judgement
    is a run in RUN/judgments/. May be repeated; METHOD.base_url=URL and the like are settings of
    that judge alone."""
    model_path: str | Path | None
    """Folder with the model's checkpoint."""
    revision: str | None
    """Commit, branch or tag of the model on the hub."""
    dtype: Literal["auto", "bfloat16", "float16", "float32"] | None
    """Number format of the weights; auto: as published, float32 on a CPU."""
    attn: str | None
    """Attention implementation (sdpa, eager, flash_attention_2)."""
    quantization: Literal["4bit", "8bit"] | None
    """Quantise the weights on loading."""
    trust_remote_code: bool
    """Run Python code that the checkpoint brings along."""
    batch_size: int | None
    """Number of steps answered in one batch. Default: as memory allows (auto)."""
    devices: str | None
    """Device that runs the model (cuda:0 or cpu); of vllm, the GPUs that it is spread over."""
    device_map: str | None
    """Spread one model over several GPUs (auto, balanced, ...)."""
