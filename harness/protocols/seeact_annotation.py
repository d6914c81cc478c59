"""SeeAct's image annotation: letters drawn on the picture (Zheng et al. 2024, section 3.2).

Batches and rounds are those of `seeact-choice`, but nothing is listed: the picture shows a box and
a letter for each candidate of the batch (set of marks), and the model answers with a letter, or NA
if the element it means is not marked. Elements without a visible box on the page cannot be marked,
so they cannot be chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from adapters.contract import AdapterInfo
from adapters.conversation import Message, Picture, user
from harness.dialogue import Dialogue
from harness.errors import UserError
from harness.options import Source
from harness.protocols.contract import Lettering, flagged, offered
from harness.protocols.groups import CandidateGroup
from harness.protocols.seeact import ROUND_NEEDS, ROUND_TEXTS
from harness.protocols.seeact_choice import SeeActChoice, letters_of
from harness.protocols.texts import MEMORY, Schema
from harness.records import Choice, Scene, Step
from harness.views import StepView
from parsers.records import Prediction, Status

if TYPE_CHECKING:
    from harness.pictures import PicturePolicy

SCHEMA = Schema(
    file="seeact_annotation.toml",
    allowed={**ROUND_TEXTS, "second": frozenset({"last_letter"})},
    needed=ROUND_NEEDS,
    further=frozenset(MEMORY),
)
SHOWS_ALL = ("candidates", "full", "tiles")
"""Picture policies that show every candidate of a batch."""
UNMARKED = "unmarked"
"""Flag of a step with candidates that have no visible box and so no letter."""


class SeeActAnnotation(SeeActChoice):
    """The batches of `SeeActChoice`, marked in the picture instead of listed.

    Letters run from A to Z as in SeeAct; a batch of more than 26 goes on with AA, AB, ...
    """

    name = "seeact-annotation"
    paper = "Zheng et al. 2024 (SeeAct), image annotation"
    needs = replace(SeeActChoice.needs, sees=True)
    none_rule = "NA for a letter"
    schema = SCHEMA

    def check(self, pictures: PicturePolicy, model: AdapterInfo) -> None:
        """Raise `UserError` for pictures that do not show all candidates."""
        if pictures.name not in SHOWS_ALL:
            raise UserError(
                f"--image-policy {pictures.name}: '{self.name}' marks candidates all down the "
                f"page, and some would lie outside the picture; use {', '.join(SHOWS_ALL)}"
            )

    def notes(self, flags: Mapping[str, int]) -> list[str]:
        lines = super().notes(flags)
        if count := flags.get(UNMARKED, 0):
            return [
                f"marks: in {count} steps some candidates have no visible box, so no letter",
                *lines,
            ]
        return lines

    def candidate_description(self, source: Source, top_k: int | None) -> str:
        """Return the words of the textual choices, set apart from their published rows."""
        return f"{super().candidate_description(source, top_k)}, annotated"

    def dialogue(self, view: StepView) -> Dialogue:
        """Ask about the batches. Raises ValueError without choices.

        If none of the candidates can be marked, the answer is none and nothing is asked.
        """
        step, choices = offered(view)
        marked = sum(can_be_marked(choice, step.page_size) for choice in choices)
        if not marked:
            return Prediction(Status.NONE, flags=(UNMARKED,))
        result = yield from super().dialogue(view)
        return flagged(result, [UNMARKED] if marked < len(choices) else [])

    def _groups(self, step: Step, choices: Sequence[Choice]) -> list[tuple[str, CandidateGroup]]:
        """Return the batches of `seeact-choice` without those that have nothing to mark."""
        groups = super()._groups(step, choices)
        return [(place, group) for place, group in groups if group.choices]

    def _group(self, step: Step, choices: Sequence[Choice], ids: Sequence[str]) -> CandidateGroup:
        """Return the candidates that can be marked, without texts, since none are shown."""
        by_id = {choice.id: choice for choice in choices}
        size = step.page_size
        visible = [choice for node_id in ids if can_be_marked(choice := by_id[node_id], size)]
        return CandidateGroup(
            tuple(replace(choice, text="") for choice in visible), ("",) * len(visible)
        )

    def _lettering(self, group: CandidateGroup) -> Lettering:
        """The letters on the picture, none of which means none of these."""
        return Lettering(letters_of(group), None)

    def _description(self, group: CandidateGroup, position: int | None) -> str:
        return "it is not shown here" if position is None else "it is framed"

    def _pictures(self, scene: Scene, group: CandidateGroup) -> tuple[Picture, ...]:
        """The pictures with the boxes and letters of a batch."""
        return scene.marked([choice.id for choice in group.choices], letters_of(group))

    def question(self, group: CandidateGroup) -> Message:
        """Return the message that the second round adds for a batch."""
        return user(self.texts.fill("second", last_letter=letters_of(group)[-1]))


def can_be_marked(choice: Choice, page: tuple[int, int] | None = None) -> bool:
    """Return True if part of a candidate's box lies on the `page` (width and height in pixels).

    Candidates may lie beyond the edges of a page, such as the hidden slides of a carousel.
    """
    box = choice.box
    if box is None or not (box.is_visible and box.right > 0 and box.bottom > 0):
        return False
    # The box is drawn in whole pixels (`harness.pictures.marks`).
    return page is None or (round(box.x) < page[0] and round(box.y) < page[1])
