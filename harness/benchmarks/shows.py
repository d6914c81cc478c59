"""Settings of a run that decide how its units are shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from adapters.contract import AdapterInfo, ImageRule
from harness.pictures import PicturePolicy
from harness.protocols import AskingProtocol

if TYPE_CHECKING:
    from harness.benchmarks.replies import PastReplies
    from harness.protocols.vote import Same, Vote
    from harness.rankers import Ranks
    from harness.settings import Settings


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
        """What a run records of the replies that it shows; nothing where it shows none."""
        return {} if self.replies is None else {"history_from_sha256": self.replies.digest}

    def vote(self, same: Same | None = None) -> Vote | None:
        """The vote over samples of a dialogue, None for one sample.

        same: whether two predictions are the same answer; None: as `same_answer` says.
        """
        if self.settings.samples is None:
            return None
        from harness.protocols.vote import Vote, same_answer

        return Vote(self.settings.samples, self.settings.vote or "majority", same or same_answer)
