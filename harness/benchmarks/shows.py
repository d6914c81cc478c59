"""What a run shows of the units of its benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adapters.contract import AdapterInfo, ImageRule
from harness.errors import UserError
from harness.pictures import PicturePolicy
from harness.protocols import AskingProtocol

if TYPE_CHECKING:
    from harness.benchmarks.replies import PastReplies
    from harness.protocols.vote import Vote
    from harness.rankers import Ranks
    from harness.settings import Settings


@dataclass(frozen=True)
class Shows:
    """What is shown of units may depend on this, and on nothing else beside the data.

    Attributes:
        settings: the completed settings of the run.
        protocol: how is asked.
        info: the model under test; None where nobody is asked.
        blind: whether a policy answers that sees no pictures.
    """

    settings: Settings
    protocol: AskingProtocol
    info: AdapterInfo | None = None
    blind: bool = False

    def check(self) -> None:
        """Raise `UserError` for another run or a ranker that cannot be opened."""
        _ = self.pictures, self.ranks, self.replies

    @cached_property
    def pictures(self) -> PicturePolicy:
        """Which pictures a screenshot gives. Raises `UserError`."""
        text, pixels = self.settings.image_policy or "none", self.settings.pixels
        if pixels is not None:
            if not text.startswith("full"):
                raise UserError("--pixels is the budget of --image-policy full; leave it out")
            text += ("," if ":" in text else ":") + f"pixels={pixels}"
        return PicturePolicy.parse(text)

    @property
    def rule(self) -> ImageRule | None:
        """What the model's provider does to pictures; None if unknown."""
        return self.info.image_rule if self.info else None

    @cached_property
    def replies(self) -> PastReplies | None:
        """What another run replied, None unless `--history-from` names one. Raises `UserError`."""
        if self.settings.history_from is None:
            return None
        from harness.benchmarks.replies import PastReplies

        return PastReplies(Path(self.settings.history_from), self.settings.benchmark)

    @cached_property
    def ranks(self) -> Ranks | None:
        """The ranks of elements, None unless a ranker is used. Raises `UserError`."""
        if self.settings.ranker is None:
            return None
        from harness.rankers import open_ranks

        return open_ranks(self.settings.ranker)

    def vote(self, same: Any) -> Vote | None:
        """How the samples of a dialogue are counted, None for one sample.

        same: whether two predictions are the same answer.
        """
        if self.settings.samples is None:
            return None
        from harness.protocols.vote import Vote

        return Vote(self.settings.samples, self.settings.vote or "majority", same)
