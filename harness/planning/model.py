"""The model of a run: an adapter, or a policy wrapped as one, opened by name or handed over.

Also what its calls cost: its prices, its tokens, and the provider's tier that serves them. A tier
changes no reply. It is part of neither a run's identity nor the key of the reply cache, and a run
may go on with another one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from adapters import (
    Adapter,
    AdapterInfo,
    AdapterSpec,
    Conversation,
    Fatal,
    ModelInfo,
    PictureSource,
    Reply,
    Request,
    Text,
    UnknownName,
    described,
    resolve,
)
from adapters import options_of as taken
from adapters.contract import Generation, UnknownOption
from adapters.conversation import ProviderTool, Tier, Usage, canonical_json
from adapters.prices import PriceSheet
from adapters.secrets import identity_of
from harness.benchmarks import Benchmark
from harness.engine import Lane, Pricing
from harness.errors import UserError, from_leaf
from harness.policies import POLICIES, Policy, answers, policies_for, policy_named
from harness.protocols.contract import AskingProtocol
from harness.settings import HANDED_OVER, SETTINGS, Settings, written
from parsers import count_tokens

if TYPE_CHECKING:
    from harness.policies.as_model import PolicyAdapter


UPPER_TEXT = 1.25
"""Upper bound for the tokens of a text, as a multiple of the adapter's estimate."""
TURN_TOKENS = 8
"""Generous upper bound for the tokens that a message adds to those of its parts."""
DEAREST_PICTURE = 40_000
"""Tokens assumed for a picture if the model's rule is unknown (gpt-4o-mini takes 36,835)."""


def may_spend(sheet: PriceSheet, info: ModelInfo) -> bool:
    """Return whether calls of a model may cost money."""
    return info.billed or sheet.upper_bound(info, 1000, 1000) not in (0.0, None)


def tokens_of(conversation: Conversation, info: AdapterInfo, *, upper: bool = False) -> int:
    """Estimated prompt tokens: texts by cl100k and the adapter's factor, pictures by its rule."""
    total = 0.0
    factor = info.text_factor * (UPPER_TEXT if upper else 1.0)
    for tool in conversation.tools:
        if isinstance(tool, ProviderTool):
            total += tool.tokens or 0
            continue
        told = canonical_json([tool.name, tool.description, tool.parameters])
        total += factor * text_tokens(told, info.text_tokens)
    for message in conversation.messages:
        total += TURN_TOKENS if upper else TURN_TOKENS / 2
        for part in message.shown:
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


def check_tier(tier: Tier, info: AdapterInfo, sheet: PriceSheet) -> None:
    """Raise `UserError` for a tier that the model is not sold on."""
    extra = info.settings.get("extra_body")
    if isinstance(extra, Mapping) and "service_tier" in extra:
        raise UserError(
            f"--tier {tier}: extra_body names a service_tier, too; leave it out of --adapter-option"
        )
    if tier not in info.tiers:
        known = ", ".join(info.tiers)
        other = f" (its tiers are {known})" if known else ", nor on any other tier; leave it out"
        raise UserError(f"--tier {tier}: {info.name} is not served on it{other}")
    if sheet.sells(info, tier) is False:
        sold = ", ".join(one for one in info.tiers if sheet.sells(info, one))
        raise UserError(f"--tier {tier}: {info.name} is not sold on it (but on {sold})")


class Tariff:
    """Prices of a model's calls on the tiers that serve them.

    wished: the tier that the user named; None leaves it to the provider.
    """

    def __init__(self, sheet: PriceSheet, info: AdapterInfo, wished: Tier | None) -> None:
        self._sheet = sheet
        self._info = info
        # Requests in batches carry their tier (`Request.tier`); other calls have the usual one.
        self._wished = None if wished == "batch" else wished
        self._bounds: list[Tier] = [self._wished] if self._wished else []
        self._known: set[str] = {wished or ""}
        self._notices: list[str] = []

    def cost_of(self, reply: Reply) -> float | None:
        """Dollars for a reply with a usage; None if unknown."""
        return self._sheet.price_of(self._info, reply.usage or Usage(), tier=reply.tier)

    def upper(self, request: Request, input: int) -> float:
        """Dollars that a call with so many tokens costs at most: on the tier that it names, else on
        those wished, and on those that have served."""
        tiers = [request.tier] if request.tier else self._bounds
        output = request.generation.max_tokens
        return self._sheet.upper_bound(self._info, input, output, tiers=tiers) or 0.0

    def notices(self) -> list[str]:
        """Return notices about the replies so far; each is returned once."""
        notices, self._notices = self._notices, []
        return notices

    def served(self, reply: Reply) -> None:
        """Note which tier a reply came from, for bounds and notices."""
        served = reply.tier
        if served in self._known:
            return
        self._known.add(served)
        name, wished = self._info.name, self._wished
        if served:
            self._bounds.append(served)
            line = unlisted(self._sheet, self._info, served)
            self._notices += [line] if line else []
        if wished and served:
            self._notices.append(f"{name}: replies came from the tier {served}, not {wished}")
        elif wished:
            self._bounds.append("default")
            counted = "; the standard price is counted" if self._info.billed else ""
            self._notices.append(f"{name} does not say which tier serves its replies{counted}")


def unlisted(sheet: PriceSheet, info: AdapterInfo, tier: Tier) -> str | None:
    """A line for the user on a tier whose price is not listed; None for one whose price is."""
    if not sheet.has_price(info) or sheet.lists(info, tier):
        return None
    if tier == "priority":
        return f"{info.name}: no price is listed for priority, which is dearer than usual: unknown"
    return (
        f"{info.name}: no price is listed for {tier}; the standard one is counted, an upper bound"
    )


def tier_lines(tier: Tier, info: AdapterInfo, sheet: PriceSheet) -> Iterator[str]:
    """Say on which tier a run is served, and what is not known of its price."""
    yield f"{'tier:':<9} {tier}"
    if line := unlisted(sheet, info, tier):
        yield f"{'':<9} {line}"
    # Every model is served as usual, and calls that cost nothing are answered by the user.
    is_sure = tier == "default" or (tier == "batch" and not info.billed)
    if not is_sure and sheet.sells(info, tier) is None:
        yield f"{'':<9} whether {info.name} is served on {tier}, its provider will say"


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

    settings: Settings
    """Those that it is asked with."""
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
        """The provider's tier that its calls are served on, () for the provider's choice."""
        return (self.settings.tier,) if self.settings.tier else ()

    @property
    def generation(self) -> Generation:
        """The parameters of the first round; a protocol limits the others itself."""
        return generation(self.settings)

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
        tariff = Tariff(self.sheet, self.info, self.settings.tier)

        def upper_cost(request: Request) -> float:
            tokens = tokens_of(request.conversation, self.info, upper=True)
            return tariff.upper(request, tokens)

        return Pricing(tariff.cost_of, upper_cost, tariff.served, tariff.notices)

    def lane(self) -> Lane:
        """Return what the engine needs to ask it."""
        return Lane(
            self.adapter,
            self.generation,
            self.pricing(),
            lambda conversation: tokens_of(conversation, self.info),
            self.settings.concurrency,
        )

    def described(self) -> dict[str, Any]:
        """Return what a run records of it as the model of a role."""
        return {**identity_of(self.info), "generation": self.generation.plain()}

    async def close(self) -> None:
        """Close the adapter, unless it is the caller's."""
        if not self.is_borrowed:
            await self.adapter.close()

    def upper_reply(self, limit: int) -> int:
        """Upper bound for what a reply of at most `limit` tokens adds to the next prompt."""
        return round(limit * self.info.text_factor * UPPER_TEXT)


def only_for(*whom: str) -> list[str]:
    """Return the settings that are for these models only (`Setting.only`)."""
    return [name for name, setting in SETTINGS.items() if setting.only in whom]


def refuse(settings: Settings, names: Iterable[str], why: str) -> None:
    """Raise `UserError` for a setting of these that was given."""
    for name in names:
        if name in settings.given:
            raise UserError(f"{written(name)} has no effect {why}")


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
    return Model(settings, adapter, adapter, prices_of(settings))


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
        model = Model(settings, adapter, None, sheet, is_borrowed=True)
    if settings.tier is not None:
        check_tier(settings.tier, model.info, sheet)
    return model


def at_own_server(settings: Settings) -> Settings:
    """Return settings with the address that is recorded for a server that the run starts itself.

    Raises `UserError` where they name another server, too.
    """
    if not settings.with_server:
        return settings
    if settings.base_url not in (None, SERVED):
        raise UserError("--base-url and --with-server name two servers; leave one of them out")
    return replace(settings, base_url=SERVED)


def _named(settings: Settings, sheet: PriceSheet, asks: bool) -> Model:
    options, server = options_of(settings), None
    served = settings.base_url == SERVED
    try:
        known = resolve(settings.model, base_url=settings.base_url)
        here = known.runs_here
        if here:
            why = f"on '{settings.model}', which runs on this machine; leave it out"
            refuse(settings, only_for("hosted"), why)
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
        settings,
        Unasked(info),
        None,
        sheet,
        found.load
        if server is None
        else lambda: from_leaf("adapters.served:ServedAdapter")(found.load(), server),
        on_this_machine=here,
    )


def _server(settings: Settings, model: AdapterSpec) -> Any:
    """Return the `adapters.served.ModelServer` that is to be started for the model under test.

    Raises `UserError` for a run on record that lacks its server now, and for a model that is not
    asked by OpenAI's protocol.
    """
    if not settings.with_server:
        raise UserError("the model of that run was behind its own server: start one --with-server")
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
