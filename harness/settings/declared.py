"""Every setting of a run, declared once.

The order is that of the help. What a declaration says of a setting (see `Setting`) is all that the
command line, `--config`, the manifest, the check on resume, comparisons and reports know of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Literal

from msgspec import Meta

from adapters.conversation import Tier
from harness.settings import values
from harness.settings.setting import setting
from parsers.records import F1Variant, Status

AtLeastOne = Annotated[int, Meta(ge=1)]
AtLeastZero = Annotated[int, Meta(ge=0)]

Source = Literal["snapshot", "ranker", "all"]
"""Where the candidates of a step come from."""
NoneRule = Literal["last", "first", "absent"]
"""Where a list of choices offers "none of these"."""
Redoable = Literal["truncated", "empty", "parse_error", "no_element"]
"""Statuses of steps that a higher token limit may help."""
PointRule = Literal["box", "smallest", "original"]


STEPS, ELEMENTS, PICTURES = "recorded steps", "elements of pages", "pictures"
"""What some kinds of units are not or do not have; their runs have no such settings on record."""
EPISODES = "episodes"
"""What other kinds of units are not."""
OWN_PYTHON = "a Python of its own"
"""What few benchmarks need."""

_model = partial(setting, group="Model", about="model")
_data = partial(setting, group="Data", about="data", forbids_ranking=True, told_by="population")
_question = partial(setting, group="Question", about="question", forbids_ranking=True)
_steps = partial(_question, needs=(STEPS,))
_elements = partial(_question, needs=(ELEMENTS,))
_drawn = partial(_question, fixed_as="choices", needs=(STEPS, "drawn choices"))
_scoring = partial(setting, group="Scoring", about="scoring", forbids_ranking=True)
_running = partial(setting, group="Running", about="session", recorded="never", heading="never")
_local = partial(
    setting,
    group="Models on this machine",
    about="model",
    recorded="when set",
    needs=("local model",),
    to_adapter=True,
)
_device = partial(_local, about="session", recorded="never", heading="never")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a run, as given or as they were resolved.

    None means that a setting was left to the protocol, the model or the machine.
    """

    # Model
    model: str = _model(
        "",
        "Model or policy to evaluate; `vlm-eval models` and `vlm-eval policies` list them.",
        short="-m",
        common=True,
        heading="never",
    )
    base_url: str | None = _model(
        None,
        "Address of an OpenAI-compatible server, ending in /v1.",
        common=True,
        needs=("adapter",),
        heading="never",
        to_adapter=True,
    )
    adapter_options: tuple[tuple[str, str], ...] = _model(
        (),
        "Setting of the model's adapter (detail=low, media_resolution=high); may be repeated.",
        option="--adapter-option",
        parse=values.pair,
        metavar="KEY=VALUE",
        needs=("adapter",),
        heading="never",
    )
    max_pixels: AtLeastOne | None = _model(
        None,
        "Maximum number of pixels of a picture; for a model behind a server, its server's limit.",
        metavar="N",
        recorded="when set",
        needs=("adapter",),
        forbids_ranking=True,
        to_adapter=True,
    )
    max_tokens: Annotated[tuple[AtLeastOne, ...], Meta(min_length=1)] | None = _model(
        None,
        "Token limit of a reply, thoughts included: one for all rounds, or one per round "
        "(800,300). Default: 8192 for models that think, 1024 for others.",
        parse=values.per_round,
        one_text=True,
        metavar="N[,N]",
        needs=("questions",),
        heading="always",
        to_protocol=True,
    )
    temperature: Annotated[float, Meta(ge=0)] | None = _model(
        None,
        "Sampling temperature. Default: 0 where the model accepts it, otherwise not sent.",
        needs=("model",),
    )
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = _model(
        None,
        "Nucleus sampling threshold. Default: the model's own.",
        needs=("model",),
        heading="never",
    )
    model_seed: int | None = _model(
        None,
        "Sampling seed sent to the model, if it accepts one.",
        needs=("model",),
        heading="never",
    )
    effort: str | None = _model(
        None,
        "Reasoning effort, in the provider's terms.",
        needs=("model", "remote model"),
        heading="never",
    )
    thinking_budget: int | None = _model(
        None,
        "Number of thinking tokens, for models that take such a budget.",
        needs=("model", "remote model"),
        heading="never",
    )
    roles: tuple[tuple[str, str], ...] = _model(
        (),
        "Model or embedder of another role that the protocol asks (planner=gpt-5.4); may be "
        "repeated. planner.max_tokens=300 or planner.base_url=... are settings of it alone.",
        option="--role",
        parse=values.role,
        metavar="KEY=VALUE",
        recorded="when set",
        forbids_ranking=True,
        needs=("model", "roles"),
        told_by="candidates",
    )
    rationale_model: str | None = _model(
        None,
        "Short for --role rationale=MODEL (self-map).",
        recorded="never",
        heading="never",
        needs=("model", "roles"),
        names_role="rationale",
    )
    embedding_model: str | None = _model(
        None,
        "Short for --role embedding=EMBEDDER (self-map, mt-synapse).",
        recorded="never",
        heading="never",
        needs=("model", "roles"),
        names_role="embedding",
    )

    # Data
    benchmark: str = _data(
        "multimodal-mind2web",
        "Benchmark to run on; `vlm-eval benchmarks` lists them.",
        short="-b",
        common=True,
        heading="always",
    )
    data: str | None = _data(
        None,
        "Local file or folder to read instead of the hub's copy.",
        common=True,
        recorded="never",
        forbids_ranking=False,
        heading="never",
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
        selects="website",
    )
    domains: tuple[str, ...] = _data(
        (),
        "Only steps of this domain; may be repeated.",
        option="--domain",
        selects="domain",
    )
    task_ids: tuple[str, ...] = _data(
        (), "Only this task; may be repeated.", option="--task-id", selects="task"
    )
    step_ids: tuple[str, ...] = _data((), "Only this step; may be repeated.", option="--step-id")
    only: tuple[str, ...] = _data(
        (),
        "Only units with this value of a level or label of theirs (platform=web); may be repeated: "
        "values of one key add up, keys restrict each other.",
        option="--only",
        parse=values.condition,
        metavar="KEY=VALUE",
        recorded="when set",
    )
    limit: AtLeastOne | None = _data(
        None, "Only the first N tasks, each with all of its steps.", metavar="N", common=True
    )
    episodes: AtLeastOne | None = _data(
        None,
        "Only the first N episodes of each task. Default: all.",
        metavar="N",
        recorded="when set",
        needs=(EPISODES,),
    )
    shard: tuple[int, int] | None = _data(
        None,
        "Only this one of n disjoint parts of the tasks (1/4 to 4/4); see `vlm-eval merge`.",
        parse=values.shard,
        metavar="I/N",
        recorded="when set",
        forbids_ranking=False,
        heading="never",
    )
    lost_rows: bool = _data(
        False,
        "Ask about steps whose screenshot is missing, too (text-only runs).",
        fixed_as="images",
        needs=(STEPS,),
        told_by="",
    )

    # Question
    protocol: str = _question(
        "seeact-two-rounds",
        "How a step is asked; `vlm-eval protocols` lists the ways.",
        common=True,
        heading="always",
        told_by="candidates",
    )
    protocol_options: tuple[tuple[str, Any], ...] = _question(
        (),
        "Setting of the chosen protocol; may be repeated.",
        option="--protocol-option",
        parse=values.pair,
        metavar="KEY=VALUE",
        absent={},
        told_by="candidates",
    )
    distractors: AtLeastZero = _drawn(
        20,
        "Number of negative candidates listed beside the positive one.",
        short="-k",
        common=True,
        fixed_as="distractors",
        follows=("candidates",),
        heading="always",
        told_by="candidates",
    )
    seed: int = _question(
        42,
        "Seed that ranks the candidates, and draws the pages of episodes; the same seed gives the "
        "same choices everywhere.",
        fixed_as="seed",
        needs=("seed",),
        heading="always",
        told_by="candidates",
    )
    candidates: Source | None = _elements(
        None,
        "Candidates to choose from: the positive among seeded negatives (snapshot), the top of a "
        "ranking (ranker), or every element (all). Default: the protocol's.",
        fixed_as="choices",
        absent="snapshot",
        usual="snapshot",
        left_open=True,
        told_by="candidates",
    )
    ranker: str | None = _question(
        None,
        "Ranker of the candidates: lexical, another registered one, or a file of ranks.",
        fixed_as="choices",
        needs=(ELEMENTS, "ranked choices"),
        follows=("candidates",),
        absent=None,
        told_by="candidates",
    )
    top_k: AtLeastOne | None = _question(
        None,
        "Number of top-ranked candidates to choose from. Default: the protocol's.",
        metavar="K",
        fixed_as="choices",
        needs=(ELEMENTS, "ranked choices"),
        follows=("candidates",),
        absent=None,
        left_open=True,
        told_by="candidates",
    )
    missed: Literal["zero", "ask"] | None = _question(
        None,
        "Steps without a positive among the top candidates: score them as zero (default), or ask "
        "anyway.",
        needs=(STEPS, "ranked choices"),
        follows=("candidates",),
        absent=None,
        usual="zero",
        left_open=True,
        told_by="candidates",
    )
    positives: Literal["all", "original"] = _steps(
        "all",
        "Elements that count as correct: all acceptable ones, or only the labelled one.",
        fixed_as="choices",
    )
    shown: Literal["seeded", "original", "top-level"] = _drawn(
        "seeded", "Which of several positives is listed."
    )
    exclude_related: bool = _drawn(False, "Leave out ancestors and descendants of the positive.")
    exclude_same_text: bool = _drawn(False, "Leave out negatives whose text equals the positive's.")
    order: AtLeastZero = _drawn(
        0, "Number of the shuffle that orders the listed choices.", metavar="N"
    )
    form: Literal["mindact", "bnid"] = _question(
        "mindact",
        "How a choice is written: MindAct's form with ten words, or compact HTML (bnid).",
        fixed_as="choices",
        needs=(ELEMENTS, "form of choices"),
    )
    choice_tokens: AtLeastOne = _question(
        400,
        "Token limit of a choice written as bnid.",
        metavar="N",
        fixed_as="choices",
        needs=(ELEMENTS, "form of choices", "bnid"),
    )
    eager: bool = _question(
        False,
        "Ask all batches of a step at once (seeact-choice, seeact-annotation): the same answer, "
        "sooner and for more money.",
        recorded="never",
        forbids_ranking=False,
        heading="never",
        fills_option=True,
    )
    prompts: str | None = _question(
        None,
        "File with prompt texts that replace the protocol's.",
        fixed_as="prompts",
        forbids_ranking=False,
        heading="never",
        to_protocol=True,
    )
    none: NoneRule | None = _question(
        None,
        "Position of the choice 'none of these'. Default: the protocol's.",
        fixed_as="choices",
        follows=("protocol",),
        heading="always",
        to_protocol=True,
        left_open=True,
    )
    history: AtLeastZero | Literal["all"] | None = _question(
        None,
        "Previous actions shown: all, none, or the last K. Default: the protocol's.",
        parse=values.history,
        metavar="all|none|K",
        fixed_as="prompts",
        heading="always",
        to_protocol=True,
        left_open=True,
    )
    image_policy: str | None = _question(
        None,
        "What is shown of the screenshot: full, viewport, tiles, candidates, none, or "
        "oracle-target. Default: the protocol's.",
        fixed_as="images",
        needs=(PICTURES,),
        heading="always",
        left_open=True,
        told_by="candidates",
    )
    pixels: AtLeastOne | None = _question(
        None,
        "Pixel budget of a screenshot shown in full.",
        metavar="N",
        fixed_as="images",
        needs=(PICTURES,),
        told_by="candidates",
    )
    first_of_many: bool | None = _question(
        None,
        "If a reply names several letters, take the first instead of none.",
        usual=False,
        to_protocol=True,
        left_open=True,
    )
    value_style: Literal["plain", "seeact"] | None = _question(
        None,
        "How values in replies are cleaned up (default: plain).",
        usual="plain",
        to_protocol=True,
        left_open=True,
    )
    max_steps: AtLeastOne | None = _question(
        None,
        "Most steps of an episode. Default: what its task says.",
        metavar="N",
        recorded="when set",
        needs=(EPISODES,),
        told_by="max_steps",
    )
    repeats: AtLeastOne = _question(
        1,
        "Number of times every step is asked.",
        metavar="N",
        about="model",
        needs=("questions",),
        heading="always",
    )
    shuffles: AtLeastOne = _question(
        1,
        "Number of shuffles of the candidates to ask about (tournaments).",
        metavar="N",
        about="model",
        absent=1,
    )

    # Scoring
    f1: F1Variant = _scoring(
        "mind2web",
        "Variant of operation F1 in the headline; all are stored.",
        heading="always",
        needs=(STEPS,),
    )
    step_rule: Literal["f1", "exact"] = _scoring(
        "f1",
        "A step succeeds with the right element and F1 = 1 (f1), or with operation and value "
        "exactly as recorded (exact).",
        heading="always",
        needs=(STEPS,),
    )
    invalid: Literal["exclude", "fail"] = _scoring(
        "exclude",
        "Rows without a possible answer: excluded from the headline, or counted as failures.",
        heading="always",
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
        absent=False,
        needs=(STEPS, "operations beside a wrong element"),
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
        absent="box",
    )
    unattempted: Literal["exclude", "fail"] = _scoring(
        "exclude", "Steps not settled yet: excluded, or counted as failures."
    )
    exclude_statuses: tuple[Status, ...] = _scoring(
        (),
        "Exclude steps that ended with this status; may be repeated, and the result says so.",
        option="--exclude-status",
    )

    # Running
    out: str | None = _running(
        None, "Run directory. Default: runs/<name made from the settings>.", short="-o", common=True
    )
    redo: tuple[Redoable, ...] = _running(
        (),
        "Make a new run that takes over the lines of another, and asks its steps with this status "
        "again with a higher token limit; may be repeated.",
        needs=("questions",),
    )
    redo_from: str | None = _running(
        None,
        "Run that is taken over. Default: the one that the other settings name.",
        option="--from",
        metavar="RUN",
        needs=("redo",),
    )
    concurrency: AtLeastOne | None = _running(
        None,
        "Maximum number of calls in flight. Default: the adapter's.",
        metavar="N",
        needs=("remote model",),
        to_adapter=True,
    )
    timeout_s: Annotated[float, Meta(ge=0.1)] = _running(
        120.0,
        "Seconds before a call is given up and retried; on flex 900 unless given.",
        option="--timeout",
        metavar="SECONDS",
        needs=("remote model",),
        to_adapter=True,
    )
    tier: tuple[Tier, ...] = _running(
        (),
        "Tier of the provider that calls are served on, at its price: default, flex (cheaper, when "
        "there is room), priority, or batch (cheaper, within a day). flex,default falls back when "
        "flex has had no room for as long as calls are tried. Default: the provider's choice.",
        parse=values.tiers,
        one_text=True,
        metavar="TIER[,TIER]",
        needs=("model", "remote model"),
    )
    attempts: AtLeastOne | None = _running(
        None,
        "Most times a call is sent until it is answered. Default: 8; on flex 40.",
        metavar="N",
        needs=("remote model",),
    )
    patience_s: Annotated[float, Meta(ge=0)] | None = _running(
        None,
        "Longest time for which a failed call is tried again. Default: 300; on flex 3,600.",
        option="--patience",
        metavar="SECONDS",
        needs=("remote model",),
    )
    with_server: str | None = _running(
        None,
        "Command that serves the model, started for the run and ended with it: 'vllm serve {model} "
        "--port {port}'.",
        metavar="COMMAND",
        needs=("adapter", "remote model"),
    )
    serve_timeout: Annotated[float, Meta(ge=1)] = _running(
        1800.0,
        "Seconds that the server may take until it answers.",
        metavar="SECONDS",
        needs=("adapter", "remote model", "server"),
    )
    max_cost: Annotated[float, Meta(ge=0)] | None = _running(
        None, "US dollars that the run may cost; never exceeded.", metavar="DOLLARS", common=True
    )
    wait: bool = _running(
        False,
        "With --tier batch: wait until everything is answered, instead of ending with exit code 3.",
        needs=("batches",),
    )
    queue_tokens: AtLeastOne | None = _running(
        None,
        "With --tier batch: prompt tokens that the provider lets wait at a time. Default: what it "
        "is known to allow.",
        metavar="N",
        needs=("batches",),
    )
    prices: str | None = _running(None, "File with prices that replace the built-in list.")
    yes: bool = _running(False, "Do not ask for confirmation before spending money.", short="-y")
    settle_failures: bool = _running(
        False, "Score steps whose calls failed as zero, so that the run can be completed."
    )
    repair: bool = _running(
        False,
        "Set aside the lines of a run that are damaged, and ask their steps again.",
    )
    skip_bad_rows: bool = _running(
        False,
        "Count rows that cannot be read as invalid, instead of stopping at the first. Every "
        "screenshot is then decoded once more, to find the broken ones.",
    )
    cache: bool = _running(True, "Reuse replies to identical requests.")
    picture_cache: Annotated[float, Meta(ge=0)] = _running(
        0.0,
        "Gigabytes of prepared pictures to keep on disk, so that other runs need not prepare them. "
        "Default: 0; in a sweep 8.",
        metavar="GB",
        needs=("adapter", "remote model"),
    )
    cache_dir: str | None = _running(
        None, "Folder of the reply cache, and of prepared pictures.", needs=("reply cache",)
    )
    workers: AtLeastOne | None = _running(
        None, "Number of processes that prepare pages and pictures.", metavar="N"
    )
    environments: AtLeastOne | None = _running(
        None,
        "Number of processes in which episodes take place. Default: one per processor.",
        metavar="N",
        needs=(EPISODES,),
    )
    env_python: str | None = _running(
        None,
        "Python of the environment that BrowserGym is installed in (docs/browsergym.md).",
        metavar="PATH",
        needs=(OWN_PYTHON,),
    )
    preflight: bool = _running(True, "Make one call before the first step, to catch mistakes.")
    progress: Literal["auto", "bar", "plain", "off"] = _running(
        "auto", "Progress display; auto: a bar on a terminal."
    )
    track: tuple[str, ...] = _running(
        (),
        "Service that is told how the run goes: trackio, wandb, or one of your own; NAME:PROJECT "
        "names a project there. May be repeated.",
        metavar="NAME[:PROJECT]",
    )
    track_texts: bool = _running(
        False,
        "Tell it tasks, predictions and replies, too, in a table at the end.",
        needs=("tracker",),
    )

    # Models on this machine
    model_path: str | None = _local(
        None, "Folder with the model's checkpoint.", recorded="never", heading="never"
    )
    revision: str | None = _local(None, "Commit, branch or tag of the model on the hub.")
    dtype: Literal["auto", "bfloat16", "float16", "float32"] | None = _local(
        None, "Number format of the weights; auto: as published, float32 on a CPU."
    )
    attn: str | None = _local(
        None, "Attention implementation (sdpa, eager, flash_attention_2).", metavar="NAME"
    )
    quantization: Literal["4bit", "8bit"] | None = _local(None, "Quantise the weights on loading.")
    trust_remote_code: bool = _local(False, "Run Python code that the checkpoint brings along.")
    batch_size: AtLeastOne | None = _device(
        None,
        "Number of steps answered in one batch. Default: as memory allows (auto).",
        parse=values.auto,
        metavar="auto|N",
    )
    devices: str | None = _device(
        None, "Devices that get a copy of the model each: cuda:0,cuda:1 or cpu.", metavar="NAMES"
    )
    device_map: str | None = _device(
        None, "Spread one model over several GPUs (auto, balanced, ...).", metavar="NAME"
    )
    kv_reuse: bool = _device(True, "Build the second round on the keys and values of the first.")
    compile: bool = _device(False, "On a GPU: decode through captured CUDA graphs.")

    lacks: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """What the units of the run never have (`STEPS`, `PICTURES`); known once it is planned."""
    given: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """The names of the settings that the user gave, as opposed to those left at their defaults."""

    @property
    def times(self) -> int:
        """How often every step is asked: once for every repeat or shuffle."""
        return max(self.repeats, self.shuffles)
