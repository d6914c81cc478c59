"""Page lookups for a protocol while it asks: the step's page, or a run's record of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adapters.contract import ImageRule
from adapters.conversation import Picture
from harness.page import MIND2WEB_ATTRIBUTES, Attributes, Box, Brackets, Page, Style
from harness.pictures import PicturePolicy, Screenshot, plan
from harness.records import Choice, Listing


class PageScene:
    """A scene with the page itself, which is released with the step when its dialogue is over.

    page: the parsed page.
    target: box of the correct element, used by oracle picture policies only.
    attributes: what AutoWebGLM's form shows of elements.
    shown: pictures that were handed out, each once, in the order of asking.
    """

    def __init__(
        self,
        page: Page,
        choices: Sequence[Choice],
        policy: PicturePolicy,
        screenshot: Screenshot | None,
        rule: ImageRule | None,
        target: Box | None,
        attributes: Attributes = MIND2WEB_ATTRIBUTES,
    ) -> None:
        self.page = page
        self._attributes = attributes
        self._boxes: Mapping[str, Box | None] = {choice.id: choice.box for choice in choices}
        self._policy = policy
        self._screenshot = screenshot
        self._rule = rule
        self._target = target
        self.shown: dict[Picture, None] = {}

    def listing(
        self, ids: Sequence[str], *, brackets: Brackets = "angle", snippet: bool = True
    ) -> Listing:
        """Render candidates as text. Raises `ValueError` for an id that is not on the page."""
        if snippet:
            text, choices = self.page.snippet(ids, brackets=brackets)
            return Listing(text, tuple(choices))
        return Listing("", tuple(self.page.choices(ids, brackets=brackets)))

    def crop(self, ids: Sequence[str]) -> tuple[Picture, ...]:
        """Plan the pictures that the run's policy shows for candidates; () without a screenshot."""
        return self._plan(ids, ())

    def marked(self, ids: Sequence[str], marks: Sequence[str]) -> tuple[Picture, ...]:
        """Plan the same with a mark on each candidate that has a box.

        Raises `ValueError` if there are not as many marks as candidates.
        """
        boxes = [self._boxes.get(node_id) for node_id in ids]
        pairs = zip(marks, boxes, strict=True)
        return self._plan(ids, [(mark, box) for mark, box in pairs if box is not None])

    def refined(self, ids: Mapping[str, str], *, style: Style = "refine") -> str:
        """Write the page around elements. Raises `ValueError` for an id that is not on the page."""
        return self.page.refined(ids, attributes=self._attributes, style=style)

    def _plan(self, ids: Sequence[str], letters: Sequence[tuple[str, Box]]) -> tuple[Picture, ...]:
        if self._screenshot is None:
            return ()
        boxes = [self._boxes.get(node_id) for node_id in ids]
        pictures = plan(
            self._policy, self._screenshot, boxes, self._rule, self._target, letters=letters
        )
        self.shown.update(dict.fromkeys(pictures))
        return pictures


class TextScene:
    """A scene without pictures: those on record are with the calls that showed them."""

    def crop(self, ids: Sequence[str]) -> tuple[Picture, ...]:
        return ()

    def marked(self, ids: Sequence[str], marks: Sequence[str]) -> tuple[Picture, ...]:
        return ()


class RecordedScene(TextScene):
    """A scene from a run's record: the texts of the choices, without snippets.

    The texts are those of the whole list; rendered among fewer candidates, they may have differed a
    little.
    """

    def __init__(self, choices: Sequence[Choice]) -> None:
        self._choices = {choice.id: choice for choice in choices}

    def listing(
        self, ids: Sequence[str], *, brackets: Brackets = "angle", snippet: bool = True
    ) -> Listing:
        """Return the recorded texts, in document order if that is on record, else as in `ids`."""
        known = [self._choices[node_id] for node_id in dict.fromkeys(ids)]
        if all(choice.place is not None for choice in known):
            known.sort(key=lambda choice: choice.place or 0)
        return Listing("", tuple((choice.id, choice.text) for choice in known))

    def refined(self, ids: Mapping[str, str], *, style: Style = "refine") -> str:
        """Return nothing: the page is not on record."""
        return ""
