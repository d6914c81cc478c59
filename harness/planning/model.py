"""The model of a run: an adapter, or a policy wrapped as one, opened by name or handed over."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from adapters import (
    Adapter,
    AdapterInfo,
    AdapterSpec,
    Fatal,
    PictureSource,
    Reply,
    Request,
    UnknownName,
    described,
    resolve,
)
from adapters import options_of as taken
from adapters.contract import Generation, UnknownOption
from adapters.conversation import Tier
from adapters.prices import PriceSheet
from harness.benchmarks import Benchmark
from harness.engine import Lane, Pricing
from harness.errors import UserError, from_leaf
from harness.planning.check import check_here
from harness.planning.pricing import (
    UPPER_TEXT,
    Tariff,
    check_tier,
    may_spend,
    tokens_of,
)
from harness.policies import POLICIES, Policy, answers, policies_for, policy_named
from harness.protocols.contract import AskingProtocol
from harness.settings import HANDED_OVER, Settings, written

if TYPE_CHECKING:
    from harness.policies.as_model import PolicyAdapter

SERVED = "serve"
"""Recorded in place of the address of a server that is started for the run, which differs between
sessions."""
THINKING = 8192
"""The limit of a model that thinks: enough for most thoughts about one page."""
Limits = tuple[int, ...]
"""A limit of tokens for the replies of all rounds, or one per round."""


@dataclass(frozen=True)
class Model:
    """Who answers: a model, or a policy wrapped as one."""

    adapter: Adapter
    """The adapter; before the model is loaded, a stand-in that only has its `info`."""
    policy: PolicyAdapter | None
    """The same adapter, if it wraps a policy."""
    sheet: PriceSheet
    load: Callable[[], Adapter] | None = None
    """Loads the model; None once it is loaded."""
    on_this_machine: bool = False
    is_borrowed: bool = False
    """True if the caller supplied the adapter and may go on using it."""
    tier: Tier | None = None
    """The provider's tier that its calls are to be served on."""

    def loaded(self) -> Model:
        """The same with its adapter loaded. Raises `Fatal`, for example for a missing key."""
        if self.load is None:
            return self
        return replace(self, adapter=self.load(), load=None)

    @property
    def info(self) -> AdapterInfo:
        return self.adapter.info

    @property
    def sees(self) -> bool:
        """True if it is shown the pictures that the protocol shows, and no other texts."""
        return self.policy is None or self.policy.looks

    @property
    def tiers(self) -> tuple[Tier, ...]:
        """The tier as a sequence, empty for the provider's choice."""
        return (self.tier,) if self.tier else ()

    @property
    def priced(self) -> bool:
        return self.sheet.has_price(self.info, self.tiers)

    @property
    def can_be_limited(self) -> bool:
        """True if a cost limit can be kept: the price of its calls is known for sure."""
        return self.policy is None and self.sheet.can_limit(self.info, self.tiers)

    @property
    def spends(self) -> bool:
        """True if calls may cost money: there is a price, or none is known for a billed model."""
        return self.policy is None and may_spend(self.sheet, self.info)

    def pricing(self) -> Pricing | None:
        """Return the prices of calls, for the engine; None without a price."""
        if self.policy is not None or not self.priced:
            return None
        tariff = Tariff(self.sheet, self.info, self.tier)

        def upper_cost(request: Request) -> float:
            tokens = tokens_of(request.conversation, self.info, upper=True)
            return tariff.upper(request, tokens)

        return Pricing(tariff.cost_of, upper_cost, tariff.served, tariff.notices)

    def lane(self, settings: Settings) -> Lane:
        """Return what the engine needs to ask it with these settings."""
        return Lane(
            self.adapter,
            generation(settings),
            self.pricing(),
            lambda conversation: tokens_of(conversation, self.info),
            settings.concurrency,
        )

    def upper_reply(self, limit: int) -> int:
        """Upper bound for what a reply of at most `limit` tokens adds to the next prompt."""
        return round(limit * self.info.text_factor * UPPER_TEXT)


def prices_of(settings: Settings) -> PriceSheet:
    """The prices that hold in a run. Raises `Fatal` for a file that cannot be read."""
    return PriceSheet.read(Path(settings.prices)) if settings.prices else PriceSheet()


def open_policy(
    settings: Settings, own: Policy | None, protocol: AskingProtocol, source: Benchmark
) -> Model:
    """The policy named in the settings, which answers in the protocol's format.

    `own` is the caller's, used instead and recorded by its name and class. Raises `UserError` for a
    policy that answers something else than the benchmark shows.
    """
    policy = policy_named(settings.model, source.View) if own is None else own
    if not hasattr(policy, "View"):
        raise UserError(
            f"the policy '{policy.name}' does not say what it answers: give its class a View "
            "(harness.views)"
        )
    if not answers(policy, source.View):
        does, has = f"answers {policy.View.__name__}", f"shows {source.View.__name__}"
        if issubclass(source.View, policy.View):
            does, has = "needs the right answer", "has none on record"
        others = ", ".join(policies_for(source.View))
        raise UserError(
            f"the policy '{policy.name}' {does}, and {source.name} {has}: ask a model, or one of "
            f"{others}"
        )
    from harness.policies.as_model import PolicyAdapter

    adapter = PolicyAdapter(
        policy,
        protocol,
        settings.seed,
        space=source.declared.actions,
        identified=own is not None or ":" in settings.model,
    )
    return Model(adapter, adapter, prices_of(settings))


def open_model(settings: Settings, adapter: Adapter | None = None, *, asks: bool = True) -> Model:
    """The model named in the settings: what it declares, and how to load it.

    No key is needed until it is loaded, nor with `asks` false at all. `adapter` is the caller's
    own, used instead and recorded by its `info`. Raises `UserError` for an unknown name and a
    tier that the model is not sold on, `Fatal` for what the adapter refuses (an unknown option, an
    unreadable checkpoint).
    """
    sheet = prices_of(settings)
    if adapter is None:
        model = _named(settings, sheet, asks)
    else:
        model = Model(adapter, None, sheet, is_borrowed=True, tier=settings.tier)
    if settings.tier is not None:
        check_tier(settings.tier, model.info, sheet)
    return model


def _named(settings: Settings, sheet: PriceSheet, asks: bool) -> Model:
    options, server = options_of(settings), None
    served = settings.with_server or settings.base_url == SERVED
    try:
        known = resolve(settings.model, base_url=SERVED if served else settings.base_url)
        here = known.runs_here
        if here:
            check_here(settings)
        if served:
            server = _server(settings, known)
            options = {"recorded_as": SERVED, **options, "base_url": server.url}
        # The key of a hosted model is looked up when it is loaded.
        found = described(known, options, loads=asks and here)
    except UnknownName as error:
        raise UserError(_unknown(settings.model, error)) from error
    except UnknownOption as error:
        raise UserError(str(error)) from error
    info = found.info
    if server is not None:
        # It is started for the run, and so the user's own.
        info = replace(info, assumed_free=False)
    return Model(
        Unasked(info),
        None,
        sheet,
        found.load
        if server is None
        else lambda: from_leaf("adapters.served:ServedAdapter")(found.load(), server),
        on_this_machine=here,
        tier=settings.tier,
    )


def _server(settings: Settings, model: AdapterSpec) -> Any:
    """Return the `adapters.served.ModelServer` that is to be started for the model under test.

    Raises `UserError` for two servers, for a run on record that lacks its server now, and for a
    model that is not asked by OpenAI's protocol.
    """
    if not settings.with_server:
        raise UserError("the model of that run was behind its own server: start one --with-server")
    if settings.base_url not in (None, SERVED):
        raise UserError("--base-url and --with-server name two servers; leave one of them out")
    if "recorded_as" not in taken(model.name, base_url=SERVED):
        raise UserError(
            f"--with-server is for models behind OpenAI's chat protocol, which "
            f"'{model.provider}' does not speak: openai:NAME"
        )
    return from_leaf("adapters.served:ModelServer")(settings.with_server, model.model)


def options_of(settings: Settings) -> dict[str, Any]:
    """Return the adapter's options.

    Raises `UserError` for one that is a setting itself, and for a key, since a run writes its
    settings down.
    """
    options: dict[str, Any] = dict(settings.adapter_option)
    if "api_key" in options:
        raise UserError(
            "keys are read from the environment only, since a run writes its options down"
        )
    with contextlib.suppress(ValueError):  # The adapter complains about addresses that are none.
        parts = urlsplit(settings.base_url or "")
        user, query = "@" in parts.netloc, parts.query or parts.fragment
        if user or query:
            what = "a user or password" if user else "a query"
            raise UserError(f"--base-url holds {what}, which a run would write down; leave it out")
    for name in HANDED_OVER:
        if name in options:
            raise UserError(f"give {written(name)} as its own option")
        value = getattr(settings, name)
        if value is not None:
            options[name] = value
    return options


def _unknown(name: str, error: UnknownName) -> str:
    """The complaint about a model: it may be a misspelt policy, or known and not installed."""
    from adapters.catalog import ADAPTERS
    from adapters.entry_points import absent, code_in, nearest

    if not absent(name):
        fits = " and ".join(f"'{needed}'" for needed in POLICIES.has)
        return f"{error}" + (f" (a policy has {fits})" if "is not a model" in str(error) else "")
    policies = POLICIES.names()
    known = [*ADAPTERS.names(), *policies]
    plain = tuple(start for one in known for start in ADAPTERS.plain(one))
    if name.partition(":")[0] in known or name.startswith(plain):
        return str(error)
    if near := nearest(name, known, plain):
        return f"unknown model or policy '{name}'; did you mean {near}?"
    if code_in(name):
        return f"unknown model or policy '{name}'; {absent(name)}"
    hosted = [provider for provider in ADAPTERS.names() if ADAPTERS.plain(provider)]
    starts = [f"{start}..." for provider in hosted for start in ADAPTERS.plain(provider)]
    others = [other for other in ADAPTERS.names() if other not in hosted]
    return (
        f"unknown model or policy '{name}': a model behind a server needs --base-url; providers: "
        f"{', '.join(f'{one}:NAME' for one in hosted)} ({', '.join(starts)} alone); other models: "
        f"{', '.join(others)}; baselines: {', '.join(sorted(policies))}"
    )


def default_limit(settings: Settings, info: AdapterInfo | None) -> Limits:
    """The limit of replies of a run that begins without one; `info` is None for a policy."""
    thinks = info is not None and info.thinking.happens(settings.effort, settings.thinking_budget)
    return (THINKING if thinks else Generation().max_tokens,)


def limits_of(settings: Settings) -> Limits:
    """The token limits of completed settings."""
    return settings.max_tokens or (Generation().max_tokens,)


def generation(settings: Settings) -> Generation:
    """The generation parameters of the first round; a protocol limits the others itself."""
    return Generation(
        max_tokens=limits_of(settings)[0],
        temperature=settings.temperature,
        top_p=settings.top_p,
        seed=settings.model_seed,
        effort=settings.effort,
        thinking_budget=settings.thinking_budget,
    )


@dataclass(frozen=True)
class Unasked:
    """Placeholder for an adapter where nothing is asked through the plan."""

    info: AdapterInfo

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        raise Fatal(f"{self.info.name} was opened for its description and cannot be asked")

    def notices(self) -> list[str]:
        return []

    async def close(self) -> None:
        return None
