"""Scripted solutions of tasks on a list of posts that has to be scrolled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from harness.kinds.episode.miniwob.oracles.turn import Doing, Element, Script, Turn, click, scroll

_SCREEN = 150
"""Pixels to scroll by: less than the list shows at once."""
_MENU = {
    "Share via DM": "share",
    "Copy link to Tweet": "copy",
    "Embed Tweet": "embed",
    "Mute": "menu-user",
    "Block": "block-user",
    "Report": "report",
}


def one_post(turn: Turn) -> Doing | None:
    """`social-media`: a button of a post, or an entry of the menu behind its last one."""
    user, button = turn.said(r"the user (\S+),"), turn.quoted[-1]
    if button in _MENU:
        if entry := next(iter(turn.all("li", words=_MENU[button])), None):
            return click(entry)
        if turn.done("CLICK"):
            return scroll(_SCREEN // 2)
    name = "more" if button in _MENU else button.lower()
    return click(next(_buttons(turn, user, name), None)) or scroll(_SCREEN)


def all_posts(turn: Turn) -> Doing | None:
    """`social-media-all` and `social-media-some`: the posts of a user from above, then Submit."""
    user, button = turn.said(r"by (\S+) and"), turn.quoted[0].lower()
    wanted = int(turn.said(r"on (\d+) post") or 100)
    done = turn.done("CLICK")
    if done < wanted:
        for one in _buttons(turn, user, button):
            if "active" not in one.words:
                return click(one)
    return click(turn.named("Submit", "button")) or scroll(_SCREEN)


def _buttons(turn: Turn, user: str, name: str) -> Iterator[Element]:
    """The buttons of a name below posts of a user, as far as both can be seen."""
    author = ""
    for one in turn.elements:
        if "username" in one.words:
            author = one.text
        elif name in one.words and author == user:
            yield one


SCRIPTS: Mapping[str, Script] = {
    "social-media": one_post,
    "social-media-all": all_posts,
    "social-media-some": all_posts,
}
