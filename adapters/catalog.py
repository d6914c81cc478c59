"""The built-in models and embedders by name, and how a name becomes an adapter.

An adapter's class or factory is called with the model's name, then options by name; its other
parameters are the options it takes, and an unknown one is refused by name. Packages add adapters of
their own through the entry-point group `vlm_eval.adapters`, and embedders through
`vlm_eval.embedders`; see `adapters.registry`.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

from adapters.contract import Adapter, UnknownOption, UnloadedModel
from adapters.embedding import Embedder
from adapters.options import read_options
from adapters.registry import Registry, UnknownName

T = TypeVar("T")


@runtime_checkable
class Describing(Protocol):
    """A factory that knows its adapter's declaration without making the adapter."""

    def __call__(self, model: str, **options: object) -> Adapter: ...

    def describe(self, model: str, *, loads: bool = False, **options: object) -> UnloadedModel: ...


CARRYING = {"timeout_s", "concurrency"}

ADAPTERS: Registry[Adapter] = Registry("model", "vlm_eval.adapters", has=("info", "ask"))
ADAPTERS.add(
    "openai",
    "adapters.openai:openai",
    "OpenAI, or with --base-url any server that speaks its protocols (openai:gpt-5.4)",
    plain=("gpt-", "chatgpt-", "o1", "o3", "o4-"),
)
ADAPTERS.add(
    "anthropic",
    "adapters.anthropic:anthropic",
    "Anthropic's Claude (anthropic:claude-sonnet-5-5)",
    plain=("claude-",),
)
ADAPTERS.add(
    "google",
    "adapters.google:google",
    "Google's Gemini (google:gemini-3.8-flash)",
    plain=("gemini-",),
)
ADAPTERS.add(
    "scripted",
    "adapters.scripted:scripted",
    "replies from a file or a Python function, for tests and demonstrations (scripted:FILE)",
)
_LOCAL = "adapters.local.factory"
LOCAL = {
    "hf": (
        f"{_LOCAL}:hf",
        "any image-text-to-text checkpoint: hf:HUB_ID or hf:FOLDER (extra local)",
    ),
    "qwen2-vl": (f"{_LOCAL}:qwen2_vl", "Qwen2-VL: qwen2-vl, or qwen2-vl:HUB_ID (extra local)"),
    "qwen2.5-vl": (f"{_LOCAL}:qwen2_5_vl", "Qwen2.5-VL (extra local)"),
    "qwen3-vl": (f"{_LOCAL}:qwen3_vl", "Qwen3-VL (extra local)"),
    "qwen-vl": (f"{_LOCAL}:qwen_vl", "Qwen-VL-Chat of 2023 (extra local)"),
    "seeclick": (f"{_LOCAL}:seeclick", "SeeClick (extra local)"),
    "seq2seq": (
        f"{_LOCAL}:seq2seq",
        "any encoder-decoder, text only: seq2seq:HUB_ID or seq2seq:FOLDER (extra local)",
    ),
    "vllm": (
        "adapters.vllm:vllm",
        "a checkpoint behind `vllm serve`: vllm:HUB_ID or vllm:FOLDER (extra vllm)",
    ),
}
"""Models on this machine: the factory of each, and a line about it."""
for _name, (_factory, _line) in LOCAL.items():
    ADAPTERS.add(_name, _factory, _line)

EMBEDDERS: Registry[Embedder] = Registry("embedder", "vlm_eval.embedders", has=("info", "embed"))
EMBEDDERS.add(
    "openai",
    "adapters.embedders:openai_embeddings",
    "OpenAI, or with base_url any server that speaks its embeddings protocol "
    "(openai:text-embedding-3-small)",
    plain=("text-embedding-",),
)
EMBEDDERS.add(
    "hf",
    "adapters.local.embedder:sentence_transformer",
    "any sentence-transformers checkpoint: hf:HUB_ID or hf:FOLDER (extra embed)",
)
EMBEDDERS.add(
    "lexical",
    "adapters.embedders:LexicalEmbedder",
    "words that have letters in common, without a model; needs nothing",
)


@dataclass(frozen=True, slots=True)
class AdapterSpec:
    """A model's name taken apart."""

    name: str
    """The name in full."""
    provider: str
    """The entry of the registry."""
    model: str
    """The text after the entry's name and a colon."""

    @property
    def runs_here(self) -> bool:
        """True for our own models on this machine; for others see their adapter's
        declaration."""
        return self.provider in LOCAL


@dataclass(frozen=True)
class Catalog(Generic[T]):
    """The models of one kind: how a name becomes one."""

    registry: Registry[T]

    def names(self) -> dict[str, str]:
        """Return every name with one line about it. Imports no SDK."""
        return self.registry.names()

    def resolve(self, name: str, *, base_url: str | None = None) -> AdapterSpec:
        """Parse a model's name: `openai:gpt-5.4`, or just `gpt-5.4`.

        With a `base_url`, a name without a provider is a model of a server that speaks OpenAI's
        protocol. Raises `UnknownName`.
        """
        try:
            provider, model = self.registry.split(name)
        except UnknownName:
            if base_url is None:
                raise
            provider, model = "openai", name
        return AdapterSpec(f"{provider}:{model}" if model else provider, provider, model)

    def make(self, name: str, **options: object) -> T:
        """Return the model of a name, ready to be asked. A local one that answers is loaded now.

        Options that are None count as not given; `timeout_s` and `concurrency`, which change no
        reply, reach only the providers that take them. Raises `UnknownName` for an unknown name,
        and `Fatal` for any other option that the provider does not take, a missing key or package.
        """
        return self.made(self.resolve(name, base_url=_text(options.get("base_url"))), options)

    def keyless(self, name: str, **options: object) -> T:
        """Return the same for what it declares; no key is needed. Raises as `make`."""
        spec = self.resolve(name, base_url=_text(options.get("base_url")))
        return self.made(spec, options, asks=False)

    def made(self, spec: AdapterSpec, options: Mapping[str, object], *, asks: bool = True) -> T:
        """Return the model of a name taken apart, as `make` does, or if it is not asked, as
        `keyless` does."""
        accepted = self.accepted(spec, options)
        if not asks and "api_key" in self.registry.parameters(spec.provider):
            accepted["api_key"] = accepted.get("api_key") or "not-needed-to-describe"
        return self.registry.make(spec.provider, spec.model, **accepted)

    def options_of(self, name: str, *, base_url: str | None = None) -> tuple[str, ...]:
        """Return the options that a model takes, by name. Raises `UnknownName`."""
        return self._taken(self.resolve(name, base_url=base_url))

    def accepted(self, spec: AdapterSpec, options: Mapping[str, object]) -> dict[str, object]:
        """Return the options that were given, as the types that are declared for them.

        Raises `UnknownOption` for one that is not taken, `Fatal` for a value of another type.
        """
        allowed = self._taken(spec)
        kinds = {p.kind for p in self.registry.parameters(spec.provider).values()}
        anything = inspect.Parameter.VAR_KEYWORD in kinds
        accepted: dict[str, object] = {}
        for key, value in options.items():
            if value is None or (key in CARRYING and key not in allowed):
                continue
            if key not in allowed and not anything:
                near = difflib.get_close_matches(key, allowed, n=1)
                listed = ", ".join(allowed) or "none"
                hint = f"did you mean '{near[0]}'?" if near else f"it takes: {listed}"
                raise UnknownOption(key, f"'{spec.provider}' takes no option '{key}' ({hint})")
            accepted[key] = value
        return read_options(self.registry.get(spec.provider), accepted)

    def _taken(self, spec: AdapterSpec) -> tuple[str, ...]:
        parameters = self.registry.parameters(spec.provider).values()
        by_name = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        # The first one that can be given by position is the model's name.
        positional = [p.name for p in parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY]
        return tuple(
            p.name for p in parameters if p.kind in by_name and p.name not in positional[:1]
        )


MODELS = Catalog(ADAPTERS)
EMBEDDING_MODELS = Catalog(EMBEDDERS)
names, resolve, make = MODELS.names, MODELS.resolve, MODELS.make
options_of = MODELS.options_of


def describe(name: str, *, loads: bool = False, **options: object) -> UnloadedModel:
    """Return a model's declaration and its loader, by its name; see `described`."""
    spec = resolve(name, base_url=_text(options.get("base_url")))
    return described(spec, options, loads=loads)


def described(
    spec: AdapterSpec, options: Mapping[str, object], *, loads: bool = False
) -> UnloadedModel:
    """Return a model's declaration and its loader. Raises as `make`.

    No key is needed and no weights are loaded. If the model is to be loaded next (`loads`),
    whatever would prevent that (a missing key, too little memory) is an error now.
    """
    factory = ADAPTERS.get(spec.provider)
    if isinstance(factory, Describing):
        return factory.describe(spec.model, loads=loads, **MODELS.accepted(spec, options))
    adapter = MODELS.made(spec, options, asks=loads)
    return UnloadedModel(adapter.info, lambda: adapter if loads else MODELS.made(spec, options))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
