"""A page with candidates for protocols that ask in groups, and ways to answer such protocols."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from adapters.conversation import Picture, Reply
from harness.dialogue import Ask, Dialogue
from harness.page import Box, Brackets, Page, Style
from harness.records import Choice, Listing, Step
from parsers.records import Prediction
from tests.harness.protocols.examples import step

WORDS = ("Home", "Search", "Book a table", "Menu", "Sign in", "Basket", "Help", "Contact", "Jobs")


@dataclass(frozen=True)
class PageScene:
    """Listings from a parsed page; a crop is a picture whose digest names the candidates."""

    page: Page

    def listing(
        self, ids: Sequence[str], *, brackets: Brackets = "angle", snippet: bool = True
    ) -> Listing:
        found = self.page.snippet(ids, brackets=brackets)
        return Listing(found.text if snippet else "", tuple((c.id, c.text) for c in found.choices))

    def crop(self, ids: Sequence[str]) -> tuple[Picture, ...]:
        return (Picture("+".join(ids), "crop", 1280, 700),)

    def marked(self, ids: Sequence[str], marks: Sequence[str]) -> tuple[Picture, ...]:
        return self.crop(ids)

    def refined(self, ids: Mapping[str, str], *, style: Style = "refine") -> str:
        return self.page.refined(ids, style=style)


def page_of(count: int) -> Page:
    """A page with links `n0`, `n1`, ... one below the other."""
    links = "\n".join(
        f'<li backend_node_id="l{i}"> <a backend_node_id="n{i}">'
        f" <text>{WORDS[i % 9]} {i}</text> </a> </li>"
        for i in range(count)
    )
    return Page.parse(
        f'<html backend_node_id="h"> <body backend_node_id="b"> {links} </body> </html>'
    )


def question(count: int, task: str = "Book a table for 5") -> tuple[Step, tuple[Choice, ...]]:
    """A step of that page and its candidates, ranked from the bottom of the page to the top."""
    page = page_of(count)
    texts = {c.id: c.text for c in page.choices([f"n{i}" for i in range(count)])}
    pool = tuple(
        Choice("", f"n{i}", "a", texts[f"n{i}"], Box(10, 40.0 * i, 100, 30), rank, place=i)
        for rank, i in enumerate(reversed(range(count)))
    )
    return replace(step(task), scene=PageScene(page)), pool


def hold(
    dialogue: Dialogue, answer: Callable[[Ask], Reply | str]
) -> tuple[list[list[Ask]], Prediction]:
    """Answer every question; what was asked, side by side as it was, and what came of it."""
    asked: list[list[Ask]] = []
    try:
        asks = next(dialogue)
        while True:
            calls = asks if isinstance(asks, tuple) else (asks,)
            group = [call for call in calls if isinstance(call, Ask)]
            assert len(group) == len(calls)
            asked.append(group)
            said = [answer(ask) for ask in group]
            replies = tuple(Reply(s) if isinstance(s, str) else s for s in said)
            asks = dialogue.send(replies if isinstance(asks, tuple) else replies[0])
    except StopIteration as stop:
        prediction: Prediction = stop.value
        return asked, prediction


def by_place(replies: Mapping[str, str]) -> Callable[[Ask], str]:
    """Answers from a table of places."""
    return lambda ask: replies[ask.place]
