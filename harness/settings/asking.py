"""Settings of the core: the model, and the questions that it is asked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from msgspec import Meta

from adapters.options import PathText, setting
from harness.question_options import NoneRule, Source
from harness.settings import values
from harness.settings.setting import EARLIER, ELEMENTS, PICTURES, STEPS, AtLeastOne, AtLeastZero

_model = partial(setting, group="Model", about="model")
_question = partial(setting, group="Question", about="question")
_steps = partial(_question, needs=(STEPS,))
_elements = partial(_question, needs=(ELEMENTS,))
_listed = partial(_question, under="--candidate-option")
_drawn = partial(_question, fixed_as="choices", needs=(STEPS, "drawn choices"))
_of_protocol = partial(_question, under="--protocol-option")


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """Settings of the model under test and of other roles."""

    model: str = _model(
        "",
        "Model or policy; `vlm-eval models` and `vlm-eval policies` list them.",
        short="-m",
        common=True,
    )
    base_url: str | None = _model(
        None,
        "OpenAI-compatible server, ending in /v1.",
        common=True,
        needs=("adapter",),
        fills="adapter",
    )
    adapter_options: tuple[tuple[str, str], ...] = _model(
        (),
        "Option of the model's adapter (detail=low); may be repeated, and `help` lists them.",
        option="--adapter-option",
        parse=values.pair,
        metavar="KEY=VALUE",
        needs=("adapter",),
        common=True,
    )
    max_pixels: AtLeastOne | None = _model(
        None,
        "Maximum number of pixels of a picture; for a model behind a server, its server's limit.",
        metavar="N",
        under="--adapter-option",
        recorded="when set",
        needs=("adapter",),
        fills="adapter",
    )
    max_tokens: Annotated[tuple[AtLeastOne, ...], Meta(min_length=1)] | None = _model(
        None,
        "Token limit of a reply, thoughts included. One for all rounds, or one per round "
        "(800,300). Default: 8192 for models that think, 1024 for others.",
        parse=values.per_round,
        metavar="N[,N]",
        needs=("questions",),
        fills="protocol",
        common=True,
    )
    temperature: Annotated[float, Meta(ge=0, le=100)] | None = _model(
        None,
        "Sampling temperature. Default: 0 where the model accepts it, otherwise not sent.",
        needs=("model",),
        common=True,
    )
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = _model(
        None, "Nucleus sampling threshold. Default: the model's own.", needs=("model",)
    )
    model_seed: int | None = _model(
        None, "Sampling seed sent to the model, if it accepts one.", needs=("model",)
    )
    effort: str | None = _model(
        None,
        "Reasoning effort, in the provider's terms.",
        needs=("model", "remote model"),
        common=True,
    )
    thinking_budget: int | None = _model(
        None,
        "Number of thinking tokens, for models that take such a budget.",
        needs=("model", "remote model"),
    )
    roles: tuple[tuple[str, str], ...] = _model(
        (),
        "Model or embedder of another role that the protocol asks (planner=gpt-5.4); may be "
        "repeated. planner.max_tokens=300 or planner.base_url=... are settings of it alone.",
        option="--role",
        parse=values.role,
        metavar="KEY=VALUE",
        recorded="when set",
        needs=("model", "roles"),
    )


@dataclass(frozen=True, kw_only=True)
class QuestionSettings:
    """Settings of the questions."""

    protocol: str = _question(
        "seeact-two-rounds", "How to ask; `vlm-eval protocols` lists the ways.", common=True
    )
    protocol_options: tuple[tuple[str, Any], ...] = _question(
        (),
        "Option of the protocol; may be repeated, and `help` lists them.",
        option="--protocol-option",
        parse=values.pair,
        metavar="KEY=VALUE",
        fixed_as="choices",
        common=True,
    )
    candidate_options: tuple[tuple[str, Any], ...] = _question(
        (),
        "Option of the listed candidates; may be repeated, and `help` lists them.",
        option="--candidate-option",
        parse=values.pair,
        metavar="KEY=VALUE",
        recorded="never",
    )
    distractors: AtLeastZero = _drawn(
        20,
        "Negative candidates listed with the positive.",
        short="-k",
        common=True,
        fixed_as="distractors",
    )
    seed: int = _question(
        42,
        "Seed of candidates and of pages of episodes. The same seed gives the same choices "
        "everywhere.",
        fixed_as="seed",
        needs=("seed",),
        common=True,
    )
    candidates: Source | None = _elements(
        None,
        "Candidates to choose from: the positive among seeded negatives (snapshot), the top of a "
        "ranking (ranker), or every element (all). Default: the protocol's.",
        fixed_as="choices",
    )
    ranker: PathText | None = _question(
        None,
        "Ranker of the candidates: lexical, another registered one, or a file of ranks.",
        fixed_as="choices",
        needs=(ELEMENTS, "ranked choices"),
    )
    top_k: AtLeastOne | None = _question(
        None,
        "Number of top-ranked candidates to choose from. Default: the protocol's.",
        metavar="K",
        fixed_as="choices",
        needs=(ELEMENTS, "ranked choices"),
    )
    missed: Literal["zero", "ask"] | None = _listed(
        None,
        "Steps without a positive among the top candidates: score them as zero (default), or ask "
        "anyway.",
        needs=(STEPS, "ranked choices"),
    )
    positives: Literal["all", "original"] = _steps(
        "all",
        "Elements that count as correct: all acceptable ones, or only the labelled one.",
        fixed_as="choices",
        under="--candidate-option",
    )
    shown: Literal["seeded", "original", "top-level"] = _drawn(
        "seeded", "Choice among several positives.", under="--candidate-option"
    )
    exclude_related: bool = _drawn(
        False,
        "Leave out ancestors and descendants of the positive.",
        under="--candidate-option",
    )
    exclude_same_text: bool = _drawn(
        False,
        "Leave out negatives whose text equals the positive's.",
        under="--candidate-option",
    )
    order: AtLeastZero = _drawn(
        0,
        "Number of the shuffle that orders the listed choices.",
        under="--candidate-option",
        metavar="N",
    )
    prompts: PathText | None = _question(
        None,
        "File with prompt texts that replace the protocol's.",
        fixed_as="prompts",
        fills="protocol",
    )
    none: NoneRule | None = _of_protocol(
        None,
        "Position of the choice 'none of these'. Default: the protocol's.",
        fixed_as="choices",
        fills="protocol",
    )
    history: AtLeastZero | str | None = _question(
        None,
        "Earlier steps shown: all, none or K actions; more with +thoughts, +pictures:K or "
        "+turns:K. Default: the protocol's.",
        parse=values.history,
        metavar="all|none|K",
        fixed_as="prompts",
        fills="protocol",
        common=True,
    )
    history_from: PathText | None = _question(
        None,
        "Complete run whose replies stand for the recorded actions of earlier steps.",
        metavar="RUN",
        recorded="when set",
        needs=(EARLIER,),
    )
    image_policy: str | None = _question(
        None,
        "Part of the screenshot to show. One of full, viewport, tiles, candidates, none, "
        "oracle-target. Default: the protocol's.",
        fixed_as="images",
        needs=(PICTURES,),
        common=True,
    )
    pixels: AtLeastOne | None = _question(
        None,
        "Pixel budget of a screenshot shown in full.",
        metavar="N",
        fixed_as="images",
        needs=(PICTURES,),
    )
    first_of_many: bool | None = _of_protocol(
        None, "If a reply names several letters, take the first instead of none.", fills="protocol"
    )
    value_style: Literal["plain", "seeact"] | None = _of_protocol(
        None, "Cleaning of values in replies (default: plain).", fills="protocol"
    )
    repeats: AtLeastOne = _question(
        1,
        "Times every step is asked.",
        metavar="N",
        about="model",
        needs=("questions",),
        common=True,
    )
    samples: AtLeastOne | None = _question(
        None,
        "Number of replies to each call of a step; its predictions vote.",
        metavar="N",
        recorded="when set",
        needs=("questions",),
    )
    vote: Literal["majority", "first"] | None = _question(
        None,
        "Prediction that counts: that of most samples (majority, the default), or of the first "
        "one (first; the others only measure the agreement).",
        recorded="when set",
        needs=("samples",),
    )
    shuffles: AtLeastOne = _of_protocol(
        1,
        "Number of shuffles of the candidates to ask about (tournaments).",
        metavar="N",
        about="model",
    )
