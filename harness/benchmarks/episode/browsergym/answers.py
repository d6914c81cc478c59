"""Check the form of the other side's answers before they are used.

A page decides about most of it, in a process that runs other people's code.
"""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
from msgspec import Meta

from adapters.decoding import decoder_of
from harness.live.clean import KeptParts, clean_line
from harness.live.contract import Seen
from harness.live.snapshot import LIMITS, live_page
from harness.printing import printable

KEPT = KeptParts(attributes=frozenset({"id", "class", "ax_role", "ax_name", "ax_state"}))
"""Attributes that pages of BrowserGym add to Mind2Web's: the accessibility tree."""
LONGEST = 2_000
"""Longest error that is printed, in characters."""
ENDED = "the task ended it"
_SIGNATURE = b"\x89PNG\r\n\x1a\n"

_Id = Annotated[str, Meta(pattern=r"^-?[A-Za-z0-9]{1,40}$")]
_Tag = Annotated[str, Meta(max_length=100)]
_Place = Annotated[int, Meta(ge=0)]
_Length = Annotated[float, Meta(ge=-1e7, le=1e7)]
_Live = Literal["input_value", "text_value", "input_checked", "option_selected"]


class _Node(TypedDict):
    id: _Id
    parent: _Place | None
    text: NotRequired[str]
    tag: NotRequired[_Tag]
    attributes: NotRequired[dict[str, str]]
    live: NotRequired[dict[_Live, str]]
    box: NotRequired[tuple[_Length, _Length, _Length, _Length]]
    visible: NotRequired[bool]
    in_view: NotRequired[bool]
    clickable: NotRequired[bool]


class _Observed(msgspec.Struct):
    goal: str
    url: str
    tabs: list[tuple[str, str]]
    tab: int
    reward: Annotated[float, Meta(ge=-1e6, le=1e6)]
    ended: bool
    reason: str
    error: str
    size: tuple[int, int]
    screenshot: str
    nodes: Annotated[list[_Node], Meta(max_length=LIMITS["most"])]
    cut: bool


class _Listed(msgspec.Struct):
    tasks: list[Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{1,200}$")]]
    versions: dict[str, str]


_ANSWER = decoder_of(tuple[str, msgspec.Raw])


def outcome(line: bytes) -> tuple[str, Any]:
    """The kind of an answer with what it says: a text, or the bytes of JSON. Raises ValueError."""
    kind, rest = _decoded(_ANSWER.decode, line)
    if kind == "done":
        return kind, bytes(rest)
    if kind not in ("failed", "fatal"):
        raise ValueError("this is no kind of answer")
    return kind, clean_line(_decoded(decoder_of(str).decode, rest), LONGEST)


def read(line: bytes) -> tuple[str, Any]:
    """An answer as `harness.live.pool` takes it. Raises ValueError for what is none."""
    kind, told = outcome(line)
    if kind != "done":
        return kind, told
    if told == b"null":
        return kind, None
    seen = observed(told)
    return kind, (seen.content, seen.blobs)


def listed(told: bytes) -> tuple[tuple[str, ...], dict[str, str]]:
    """The names of tasks, and versions of packages. Raises ValueError."""
    found = _decoded(decoder_of(_Listed).decode, told)
    shown = {printable(name)[:100]: printable(one)[:100] for name, one in found.versions.items()}
    return tuple(found.tasks), shown


def observed(told: bytes) -> Any:
    """The observation in an answer. Raises ValueError."""
    found = _decoded(decoder_of(_Observed).decode, told)
    try:
        picture = base64.b64decode(found.screenshot, validate=True)
    except binascii.Error as error:
        raise ValueError(f"the screenshot is not in base64: {error}") from None
    size = found.size
    header = b"".join(length.to_bytes(4) for length in size if 0 < length < 1 << 16)
    if picture[:8] != _SIGNATURE or picture[16:24] != header:
        raise ValueError("the screenshot is no picture of the size that it is said to have")
    _check_depth(found.nodes)
    tabs = tuple(found.tabs)
    ended = found.ended
    seen = Seen(
        goal=found.goal,
        url=found.url,
        title=tabs[found.tab][0] if 0 <= found.tab < len(tabs) else "",
        ended=ended,
        reward=found.reward,
        reason=(found.reason.strip() or ENDED) if ended else "",
        error=found.error,
        viewport=size,
        tabs=tabs,
        tab=found.tab,
    )
    if ended:
        return seen.observation()
    return seen.observation(picture, live_page(found.nodes, 1.0, cut=found.cut, kept=KEPT))


def _check_depth(nodes: list[_Node]) -> None:
    levels: list[int] = []
    for number, node in enumerate(nodes):
        above = node["parent"]
        if (above is None) != (number == 0) or (above is not None and above >= number):
            raise ValueError("a node comes before the one that it is in")
        levels.append(0 if above is None else levels[above] + 1)
        if levels[-1] > LIMITS["deepest"]:
            raise ValueError("the page is too deep")


def _decoded(decode: Any, data: Any) -> Any:
    try:
        return decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"not as agreed: {error}") from None
