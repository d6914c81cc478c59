"""The model of a run: an adapter or a policy dressed as one, with its prices and estimates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from adapters import (
    LOCAL,
    Adapter,
    AdapterInfo,
    Conversation,
    Fatal,
    PictureSource,
    Reply,
    Request,
    Text,
    UnknownName,
    describe,
    make,
    resolve,
)
from adapters.prices import PriceSheet
from adapters.registry import Registry
from harness.engine import Pricing
from harness.errors import UserError
from harness.evaluation.config import RunConfig
from harness.policies import POLICIES
from harness.policies.as_model import PolicyAdapter
from harness.protocols.contract import AskingProtocol
from parsers import count_tokens

UPPER_TEXT = 1.25
"""Tokens of a text at most, as a multiple of the adapter's own estimate."""
TURN_TOKENS = 8
"""What a message costs beside its parts, generously."""
DEAREST_PICTURE = 40_000
"""Counted for a picture of a model whose rule is not known (gpt-4o-mini takes 36,835)."""


@dataclass(frozen=True)
class Model:
    """Who answers. `policy` is set when it is one; `priced` says whether calls have a price.

    `load` is there for a model on this machine that is described but not loaded yet.
    """

    adapter: Adapter
    policy: PolicyAdapter | None
    sheet: PriceSheet
    load: Callable[[], Adapter] | None = None

    def loaded(self) -> Model:
        """The same, ready to be asked. Raises `Fatal`."""
        return Model(self.load(), self.policy, self.sheet) if self.load else self

    @property
    def info(self) -> AdapterInfo:
        return self.adapter.info

    @property
    def priced(self) -> bool:
        return self.sheet.has_price(self.info)

    @property
    def spends(self) -> bool:
        """Whether calls may cost money: a price, or none known for a model that is billed."""
        return self.policy is None and (
            self.info.billed or self.sheet.upper_bound(self.info, 1000, 1000) not in (0.0, None)
        )

    def pricing(self) -> Pricing | None:
        """What calls cost, for the engine; None without a price."""
        if self.policy is not None or not self.priced:
            return None
        return Pricing(
            cost_of=lambda usage: self.sheet.price_of(self.info, usage), upper_cost=self.upper_cost
        )

    def upper_cost(self, request: Request) -> float:
        """US dollars that a call costs at most."""
        tokens = tokens_of(request.conversation, self.info, upper=True)
        upper = self.sheet.upper_bound(self.info, tokens, request.generation.max_tokens)
        return upper or 0.0


def open_model(config: RunConfig, protocol: AskingProtocol, *, asks: bool = True) -> Model:
    """The model named in the settings.

    Without `asks` no key is needed and the adapter is good for estimates only. A model on this
    machine is checked but not loaded: that takes minutes, see `Model.loaded`. Raises `UserError`
    for an unknown name, `Fatal` for what the adapter refuses (a missing key, an unknown option).
    """
    prices = config.carrying.prices
    sheet = PriceSheet.read(Path(prices)) if prices else PriceSheet()
    if config.model in POLICIES.names():
        for name, given in (
            ("--base-url", bool(config.base_url)),
            ("--adapter-option", bool(config.adapter_options)),
            ("--temperature", config.asking.temperature is not None),
            ("--top-p", config.asking.top_p is not None),
            ("--model-seed", config.asking.model_seed is not None),
            ("--effort", config.asking.effort is not None),
            ("--thinking-budget", config.asking.thinking_budget is not None),
            *((_spelt(name), True) for name in _local(config)),
        ):
            if given:
                raise UserError(
                    f"{name} means nothing to the policy '{config.model}'; leave it out"
                )
        policy = PolicyAdapter(POLICIES.make(config.model), protocol, config.choosing.seed)
        return Model(policy, policy, sheet)
    loaded = _local(config)
    # What is unknown is told when it is made.
    if loaded and not runs_here(config) and not _unknown(config):
        raise UserError(
            f"{_spelt(next(iter(loaded)))} is for models that run on this machine (vlm-eval models "
            f"lists them), and '{config.model}' is none; leave it out"
        )
    taken: dict[str, object] = {
        **loaded,
        "base_url": config.base_url,
        "concurrency": config.carrying.concurrency,
        "timeout_s": config.carrying.timeout_s,
    }
    options: dict[str, Any] = dict(config.adapter_options)
    _refuse_secrets(config)
    for name, value in taken.items():
        if name in options:
            raise UserError(f"give {_spelt(name)} as an option of its own")
        if value is not None:
            options[name] = value
    if config.model.partition(":")[0] == "scripted":
        options.pop("timeout_s")
    try:
        if asks and runs_here(config):
            described = describe(config.model, loads=True, **options)
            waits = _Described(replace(described.info, batch_size=None, batches_at_once=1))
            return Model(waits, None, sheet, described.load)
        if asks:
            return Model(make(config.model, **options), None, sheet)
        return Model(_Described(describe(config.model, **options).info), None, sheet)
    except UnknownName as error:
        raise UserError(_with_policies(config.model, error)) from error


def _local(config: RunConfig) -> dict[str, object]:
    """The options for models on this machine that were given."""
    carrying = config.carrying
    given: dict[str, object] = {
        **asdict(config.local),
        "batch_size": carrying.batch_size,
        "devices": carrying.devices,
        "device_map": carrying.device_map,
        "compile": carrying.compile,
    }
    given = {name: value for name, value in given.items() if value}
    return given if carrying.kv_reuse else {**given, "kv_reuse": False}


def runs_here(config: RunConfig) -> bool:
    """Whether the model's name is one of a local model."""
    try:
        return resolve(config.model, base_url=config.base_url).provider in LOCAL
    except UnknownName:
        return False


def _unknown(config: RunConfig) -> bool:
    try:
        resolve(config.model, base_url=config.base_url)
    except UnknownName:
        return True
    return False


def _spelt(name: str) -> str:
    return "--no-kv-reuse" if name == "kv_reuse" else f"--{name.replace('_', '-')}"


def _refuse_secrets(config: RunConfig) -> None:
    """A run writes its settings down, so a key must not be among them."""
    if any(name == "api_key" for name, _ in config.adapter_options):
        raise UserError(
            "keys are read from the environment only, since a run writes its options down"
        )
    try:
        hidden = urlsplit(config.base_url or "").password is not None
    except ValueError:  # The adapter complains about addresses that are none.
        return
    if hidden:
        raise UserError("--base-url holds a password, which a run would write down; leave it out")


def _with_policies(name: str, error: UnknownName) -> str:
    """The complaint about an unknown model, which may be a misspelt policy."""
    both: Registry[object] = Registry("model or policy", "vlm_eval.none")
    from adapters.catalog import ADAPTERS

    for known in (*ADAPTERS.names(), *POLICIES.names()):
        both.add(known, known, plain=ADAPTERS.plain(known))
    try:
        both.split(name)
    except UnknownName as better:
        return f"{better} (vlm-eval models and vlm-eval policies list them)"
    return str(error)


class _Described:
    """Stands in for an adapter where nothing is asked."""

    def __init__(self, info: AdapterInfo) -> None:
        self._info = info

    @property
    def info(self) -> AdapterInfo:
        return self._info

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        raise Fatal(f"{self._info.name} was opened for estimates and cannot be asked")

    def notices(self) -> list[str]:
        return []

    async def close(self) -> None:
        return None


def tokens_of(conversation: Conversation, info: AdapterInfo, *, upper: bool = False) -> int:
    """Estimated prompt tokens: texts by cl100k and the adapter's factor, pictures by its rule."""
    total = 0.0
    factor = info.text_factor * (UPPER_TEXT if upper else 1.0)
    for message in conversation.messages:
        total += TURN_TOKENS if upper else TURN_TOKENS / 2
        for part in message.parts:
            if isinstance(part, Text):
                total += factor * text_tokens(part.text, info.text_tokens)
            else:
                known = info.image_rule.tokens(part.width, part.height) if info.image_rule else None
                total += known if known is not None else (DEAREST_PICTURE if upper else 0)
    return round(total)


@lru_cache(maxsize=512)
def text_tokens(text: str, counter: Callable[[str], int] | None) -> int:
    """Tokens of a text; a round's text comes back with the next round, hence the memory."""
    return counter(text) if counter else count_tokens(text)
