"""Models for a protocol's other roles: chosen by the user, opened like the model under test.

    --role planner=openai:gpt-5.4 --role planner.max_tokens=300 --role embedding=lexical

A setting of a role alone is any setting of a model (`base_url`, `temperature`, `model_path`, ...),
or else an option of its adapter. A role that asks and has no model of its own is answered by the
model under test, with all of that one's settings; where a policy answers, by the policy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from adapters import (
    EMBEDDERS,
    EMBEDDING_MODELS,
    MODELS,
    Embedder,
    EmbedderInfo,
    Fatal,
    UnknownName,
)
from adapters.embedding import Loading
from adapters.prices import PriceSheet
from adapters.secrets import identity_of
from harness.engine import Lane, Pricing
from harness.errors import UserError
from harness.planning.model import (
    TURN_TOKENS,
    UPPER_TEXT,
    Model,
    default_limit,
    may_spend,
    open_model,
    options_of,
    prices_of,
    text_tokens,
)
from harness.policies import is_policy
from harness.protocols import AskingProtocol, Role
from harness.settings import HANDED_OVER, SETTINGS, Settings, read_settings

if TYPE_CHECKING:
    from harness.engine.acts_and_embeds import EmbedRequest

LEXICAL = "lexical"
"""The embedder of a role without a named one."""
_NOT_OF_A_ROLE = ("model", "role", "adapter_option")


@dataclass(frozen=True)
class EmbeddingRole:
    """A role that turns texts into vectors."""

    embedder: Embedder
    sheet: PriceSheet

    @property
    def info(self) -> EmbedderInfo:
        return self.embedder.info

    @property
    def spends(self) -> bool:
        return may_spend(self.sheet, self.info)

    @property
    def can_be_limited(self) -> bool:
        """True if a cost limit can be kept: the price of its calls is known for sure."""
        return self.sheet.can_limit(self.info)

    def pricing(self) -> Pricing | None:
        """Return the prices of calls, for the engine; None without a price."""
        if not self.sheet.has_price(self.info):
            return None
        return Pricing(
            cost_of=lambda embedded: self.sheet.price_of(self.info, embedded.usage),
            upper_cost=self.upper_cost,
        )

    def tokens(self, texts: Sequence[str]) -> int:
        """Estimated tokens of texts."""
        factor, count = self.info.text_factor, self.info.text_tokens
        return round(sum(factor * text_tokens(text, count) for text in texts))

    def upper_tokens(self, texts: Sequence[str]) -> int:
        """Upper bound for the tokens of texts; a model may put marks around each."""
        return round(UPPER_TEXT * self.tokens(texts)) + TURN_TOKENS * len(texts)

    def upper_cost(self, request: EmbedRequest) -> float:
        """Upper bound for the cost of a call, in US dollars."""
        return self.sheet.upper_bound(self.info, self.upper_tokens(request.texts), 0) or 0.0

    def lane(self) -> Lane:
        """Return what the engine needs to ask it."""
        return Lane(self.embedder, pricing=self.pricing())

    def described(self) -> dict[str, Any]:
        """Return what a run records of it."""
        return identity_of(self.info)

    def loaded(self) -> EmbeddingRole:
        if isinstance(self.embedder, Loading):
            self.embedder.load()
        return self

    async def close(self) -> None:
        await self.embedder.close()


OpenRole = Model | EmbeddingRole


def open_roles(
    settings: Settings, protocol: AskingProtocol, *, is_policy: bool, asks: bool = True
) -> tuple[Settings, dict[str, OpenRole]]:
    """Open a model for every role that has its own, and return the settings with all of these.

    Each has the run's prices, and its time limit if one was given and the role has none.
    `is_policy` says whether a policy answers. Without `asks` no key is needed. Raises `UserError`
    or `Fatal` with one line, also for a role that the protocol does not have, or a setting of a
    role without a model.
    """
    chosen, roles = dict(settings.role), {role.name: role for role in protocol.roles}
    if "role" in settings.given and (is_policy or not roles):
        whom = f"'{protocol.name}', which asks only the model under test"
        whom = f"the policy '{settings.model}'" if is_policy else whom
        raise UserError(f"--role has no effect on {whom}; leave it out")
    usual = {role.name: _default(role, is_policy) for role in protocol.roles}
    for key in chosen:
        name, _, option = key.partition(".")
        if name not in roles:
            raise UserError(
                f"--role {key}: '{protocol.name}' has the roles {', '.join(sorted(roles))}"
            )
        if option and name not in chosen and usual[name] is None:
            raise UserError(
                f"--role {key}: name the model, too (--role {name}=MODEL); without one the model "
                "under test answers, with its own settings"
            )
    chosen = {**{name: one for name, one in usual.items() if one is not None}, **chosen}
    opened: dict[str, OpenRole] = {}
    for role in protocol.roles:
        if role.name not in chosen:
            continue
        own = {k.partition(".")[2]: v for k, v in chosen.items() if k.startswith(f"{role.name}.")}
        try:
            of_role = _settings_of(chosen[role.name], own, settings)
            opened[role.name] = (_asked if role.kind == "ask" else _embedding)(of_role, asks)
        except (UserError, ValueError, UnknownName) as error:
            raise UserError(f"--role {role.name}: {error}") from error
        except Fatal as error:
            raise Fatal(f"--role {role.name}: {error}") from error
    return replace(settings, role=tuple(sorted(chosen.items()))), opened


def _default(role: Role, is_policy: bool) -> str | None:
    if is_policy:
        return None if role.kind == "ask" else LEXICAL
    return role.default or (None if role.kind == "ask" else LEXICAL)


def _settings_of(model: str, own: Mapping[str, str], run: Settings) -> Settings:
    """Return the settings of a role by its own values, which may be options of its adapter.

    Raises ValueError for a setting of something else, and for a value that a setting does not take.
    """
    values: dict[str, object] = {"model": model}
    options = []
    for name, value in own.items():
        known = SETTINGS.get(name)
        if name in _NOT_OF_A_ROLE or known is None:
            options.append((name, value))
        elif known.group == "Model" or name in HANDED_OVER:
            values[name] = value
        else:
            raise ValueError(f"{name} is not a setting of a model")
    values["adapter_option"] = options
    if "timeout_s" in run.given:
        values = {"timeout_s": run.timeout_s, **values}
    read = replace(read_settings(values), prices=run.prices)
    return replace(read, given=read.given - ({"timeout_s"} - own.keys()))


def _asked(settings: Settings, asks: bool) -> Model:
    _check_answers(settings.model)
    model = open_model(settings, asks=asks)
    limits = settings.max_tokens or default_limit(settings, model.info)
    if len(limits) > 1:
        raise UserError("max_tokens is one number: the limit of each of its replies")
    if asks and not model.on_this_machine:
        model = model.loaded()
    return replace(model, settings=replace(settings, max_tokens=limits))


def _check_answers(name: str) -> None:
    """Raise `UserError` for the name of an embedder or a policy, where a model is needed."""
    only_embed = EMBEDDERS.names().keys() - MODELS.names().keys()
    if name in only_embed or name.rpartition(":")[2].startswith(EMBEDDERS.plain("openai")):
        raise UserError(f"'{name}' is an embedder; it needs a model (vlm-eval models)")
    if is_policy(name):
        raise UserError(f"'{name}' is a policy; it needs a model (vlm-eval models)")


def _embedding(settings: Settings, asks: bool) -> EmbeddingRole:
    unused = sorted(settings.given - {"model", "adapter_option", *HANDED_OVER})
    if unused:
        raise UserError(f"{unused[0]} has no effect on an embedder; leave it out")
    open_embedder = EMBEDDING_MODELS.make if asks else EMBEDDING_MODELS.keyless
    embedder = open_embedder(settings.model, **options_of(settings))
    return EmbeddingRole(embedder, prices_of(settings))
