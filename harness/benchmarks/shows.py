"""The parts of units that a run shows, and a unit that is ready to be asked about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from adapters.contract import AdapterInfo, ImageRule
from harness.dialogue import Observation
from harness.engine import Environment
from harness.pictures import PicturePolicy
from harness.policies import Secret
from harness.protocols import AskingProtocol
from harness.runs.records import Unit
from harness.views import View
from parsers.records import Prediction

if TYPE_CHECKING:
    from harness.benchmarks.replies import PastReplies
    from harness.protocols.asking import Same, Vote
    from harness.rankers import Ranks
    from harness.settings import Settings

V = TypeVar("V", bound=View, covariant=True)


@dataclass(frozen=True, slots=True)
class Ready(Generic[V]):
    """Everything about one unit before it is asked about.

    Attributes:
        unit: its record so far; `unit.invalid` says why no model is asked, None for a valid unit.
        view: what the protocol's `dialogue` and `write` are given.
        secret: the right answer, for policies that need it.
        sources: encoded pictures that those in `view` are made from, by digest.
        known: the prediction of a valid unit that needs no model call; None for all others.
        opens: opens what the dialogue acts in; None for units that are not acted upon.
        glimpse: what is observed of it in its stead where calls are estimated.
    """

    unit: Unit[Any]
    view: V
    secret: Secret
    sources: Mapping[str, bytes] = field(default_factory=dict)
    known: Prediction | None = None
    opens: Callable[[], Awaitable[Environment]] | None = None
    glimpse: Observation | None = None

    @property
    def unit_id(self) -> str:
        """Id of the unit."""
        return self.unit.unit_id


@dataclass(frozen=True)
class Shows:
    """All that the view of a unit may depend on, apart from the data.

    Attributes:
        settings: the completed settings of the run.
        options: those of its benchmark.
        protocol: how is asked.
        pictures: which pictures a screenshot gives.
        info: the model under test; None where no one is asked.
        blind: whether a policy answers that sees no pictures.
        ranks: the ranks of elements, None unless a ranker is used.
        replies: what another run replied, None unless `history_from` names one.
    """

    settings: Settings
    options: Any
    protocol: AskingProtocol
    pictures: PicturePolicy = field(default_factory=PicturePolicy)
    info: AdapterInfo | None = None
    blind: bool = False
    ranks: Ranks | None = None
    replies: PastReplies | None = None

    @classmethod
    def opened(
        cls,
        settings: Settings,
        options: Any,
        protocol: AskingProtocol,
        info: AdapterInfo,
        *,
        blind: bool,
    ) -> Self:
        """Open what completed options name. Raises `UserError` for what cannot be opened."""
        ranks, replies = None, None
        if (ranker := getattr(options, "ranker", None)) is not None:
            from harness.rankers import open_ranks

            ranks = open_ranks(ranker)
        if (earlier := getattr(options, "history_from", None)) is not None:
            from harness.benchmarks.replies import PastReplies

            replies = PastReplies(Path(earlier), settings.benchmark)
        pictures = PicturePolicy.parse(options.image_policy or "none")
        return cls(settings, options, protocol, pictures, info, blind, ranks, replies)

    @property
    def rule(self) -> ImageRule | None:
        """Treatment of pictures by the model's provider; None if unknown."""
        return self.info.image_rule if self.info else None

    @property
    def of_replies(self) -> dict[str, Any]:
        """Facts on record about the replies that a run shows; nothing where it shows none."""
        return {} if self.replies is None else {"history_from_sha256": self.replies.digest}

    def vote(self, same: Same | None = None) -> Vote | None:
        """The vote over samples of a dialogue, None for one sample.

        same: whether two predictions are the same answer; None: as `same_answer` says.
        """
        if self.settings.samples is None:
            return None
        from harness.protocols.asking import Vote, same_answer

        return Vote(self.settings.samples, self.settings.vote or "majority", same or same_answer)
