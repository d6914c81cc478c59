"""The calls of a verification: what is asked, and what was answered."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from adapters.api import UNCOUNTED
from adapters.contract import AdapterInfo, Generation
from adapters.conversation import (
    Conversation,
    Finish,
    Message,
    Picture,
    Reply,
    Text,
    system,
    user,
)
from harness.dialogue import Ask
from harness.pictures import PicturePolicy, PictureStore, Recipe, plan, read_size, stored_picture
from harness.planning.model import tokens_of
from harness.runs import CallRecord
from harness.verify.declared import Declared
from harness.verify.scenes import MARKS, digits, draw, mark_places, picture_digest
from harness.views import PlaceView
from parsers.points.spelling import MOST
from parsers.records import Prediction, Status
from parsers.reply_text import without_thinking

if TYPE_CHECKING:
    from harness.benchmarks.grounding.protocol import Grounding

THINKING = 2048
"""The least limit of a reply for a model that thinks."""
COPY = (
    "The old mill stands by the river, and by the river the old road ends. "
    "In 1904 the mill ground 52 sacks a day, 52 sacks and no more."
)
SHORT = (
    "Say hello.",
    "Which colour has the sky on a clear day? Answer in one word.",
    "What is two and two? Write the number only.",
)
"""The texts whose tokens are compared with the checkpoint's template. Counts depend on them."""
PASS_WORD = "heron"
_LAST = f"The pass word is {PASS_WORD}."
SYSTEM = ("You help a visitor of a small museum. Answer in few words and stay polite. " * 7)[
    : 480 - len(_LAST)
] + _LAST
COUNTED = {"max-tokens": (40, 300), "long-reply": (1000, 200)}
"""Limit of the reply in tokens, and the number to count to."""
_FILLER = "A boat passes slowly under the bridge while the keeper of the lock looks on. "
_CONTEXT_TOKENS = 11_000
SHORTS = ("short-1", "short-2", "short-3")
SHOWN = ("size-a", "size-b", "size-c", "size-d")
LADDERS = ("ladder-small", "ladder-large")
_CODE = "Write the digits in the picture, and nothing else."
_GRID = "Write all codes in the picture row by row."
_CORNERS = (
    "The picture has four quarters. Name the colour and the digit of each of the four quarters in "
    "reading order, as in: red 1; green 2; blue 3; yellow 4."
)
_LADDER = "Write every row of digits in the picture from top to bottom, one row a line."
_ORDER = "Write the digits of each picture in order, separated by blanks."
_REPEAT = "Think of a six-digit number that nobody would guess. Write the number only."
_PASS = "What is the pass word? Write the word only."


@dataclass(frozen=True, slots=True)
class Question:
    """The question of one call. Pictures are named as `scenes.draw` names them."""

    text: str
    pictures: tuple[str, ...] = ()
    system: str = ""
    limit: int = 32


def _four(name: str) -> Question:
    sizes = enumerate(("480x448", "448x336", "336x448", "336x336"), start=1)
    return Question(_ORDER, tuple(f"code {size} {name}{n}" for n, size in sizes), limit=64)


def _marks(more: str, name: str) -> dict[str, Question]:
    pictures = [f"marks {w}x{h} {name}".strip() for w, h in MARKS]
    return {
        f"points{more}-{n}": Question(f"Click on the square with number {n}.", (pictures[n > 4],))
        for n in range(1, 9)
    }


CALLS: Mapping[str, Question] = {
    "copy": Question(f"Copy this text and write nothing else: {COPY}", limit=200),
    **{f"short-{n}": Question(text) for n, text in enumerate(SHORT, start=1)},
    "base": Question(_CODE),
    "size-a": Question(_CODE, ("code 448x448 size0",)),
    "size-b": Question(_CODE, ("code 1000x620 size1",)),
    "size-c": Question(_CODE, ("code 2688x1792 size2",)),
    "size-d": Question(_CODE, ("code 560x2240 size3",)),
    "noisy": Question(_CODE, ("noisy 448x448 other",)),
    "noisy-again": Question(_CODE, ("noisy 448x448 other2",)),
    "system": Question(_PASS, system=SYSTEM),
    "no-system": Question(_PASS),
    "with-system": Question(_CODE, ("code 448x448 size0",), system=SYSTEM),
    **{
        name: Question(f"Count from 1 to {goal}, with commas between.", limit=limit)
        for name, (limit, goal) in COUNTED.items()
    },
    "context": Question("", limit=64),
    "corners": Question(_CORNERS, ("corners 960x640 c",), limit=100),
    "corners-2": Question(_CORNERS, ("corners 960x640 c2",), limit=100),
    "corners-3": Question(_CORNERS, ("corners 960x640 c3",), limit=100),
    "ladder-small": Question(_LADDER, ("ladder 448x448 small",), limit=250),
    "ladder-large": Question(_LADDER, ("ladder 1920x1080 large",), limit=250),
    "coverage": Question(_GRID, ("grid 1920x1080 g",), limit=200),
    "coverage-again": Question(
        f"{_GRID} Begin with the row at the bottom.", ("grid 1920x1080 g2",), limit=200
    ),
    "order": _four("o"),
    "order-again": _four("p"),
    "history": Question(_ORDER, ("code 448x448 h1", "code 448x448 h2")),
    **_marks("", ""),
    **_marks("-again", "mirrored"),
    **{f"repeats-{n}": Question(_REPEAT) for n in range(1, 9)},
    **{f"repeats-again-{n}": Question(f"{_REPEAT} It must not begin with 1.") for n in range(1, 5)},
}
"""Every call by its name. The text of `context` depends on the model."""


@lru_cache(maxsize=64)
def packed(what: str, seed: int) -> tuple[bytes, str]:
    """Return a picture as PNG, and the digest of its pixels."""
    image, data = draw(what, seed), io.BytesIO()
    image.save(data, "PNG")
    return data.getvalue(), picture_digest(image)


def stored(store: PictureStore, what: str, seed: int) -> Picture:
    """Put a picture into a store, and return it as it is sent: in its own size."""
    data, _ = packed(what, seed)
    picture = stored_picture(data)
    store.add(picture.digest, data, what)
    return picture


@dataclass(eq=False)
class Probe:
    """The questions to a deployment and its answers so far. It records its own calls.

    pointing: the protocol that a run would point with, which reads the marks.
    declared: what a run would assume of the model.
    info: the adapter's declaration, as it is now.
    """

    store: PictureStore
    pointing: Grounding
    generation: Generation
    declared: Declared
    info: Callable[[], AdapterInfo]
    quick: bool = False
    seed: int = 1
    records: dict[str, CallRecord] = field(default_factory=dict)
    answerer: dict[str, str] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)

    # The record of calls that the engine writes to.

    async def record_call(self, record: CallRecord, blobs: Sequence[bytes] = ()) -> None:
        self.records[record.place] = record

    async def blob(self, digest: str) -> bytes:
        raise KeyError(digest)

    async def equal(self, request: str) -> CallRecord | None:
        return None

    def note_answerer(self, role: str, said: Mapping[str, str]) -> None:
        self.answerer = dict(said)

    # What was answered.

    def reply(self, name: str) -> Reply | None:
        """The reply to a call; None if it was not made or failed."""
        record = self.records.get(name)
        return record.reply if record else None

    def said(self, name: str) -> str:
        """The answer in a reply, without thoughts; "" if there is none."""
        reply = self.reply(name)
        return without_thinking(reply.text).strip() if reply else ""

    def count(self, name: str) -> int | None:
        """Prompt tokens of a call; None if none are given, or the call was refused."""
        reply = self.reply(name)
        usage = reply.usage if reply and not self.refused(name) else None
        return usage.input if usage else None

    def added(self, name: str) -> int | None:
        """Tokens of a call beyond those of the same text without a picture."""
        whole, empty = self.count(name), self.count("base")
        return None if whole is None or empty is None else max(0, whole - empty)

    @property
    def miscounts(self) -> bool:
        """True if the server gives counts that are none: zeros, say."""
        return any(UNCOUNTED in notice for notice in self.notices)

    def texts(self) -> list[int | None]:
        """Prompt tokens of the three short texts."""
        return [*map(self.count, SHORTS)]

    def pictures(self) -> list[int | None]:
        """Tokens of pictures of the five sizes; None where one was refused or not counted."""
        first, (small, large) = [*map(self.added, SHOWN)], map(self.count, LADDERS)
        if first[0] is None or small is None or large is None:
            return [*first, None]
        return [*first, max(0, first[0] + large - small)]

    def refused(self, name: str) -> str:
        """The server's words for a prompt that it did not take; "" if it did."""
        reply = self.reply(name)
        if reply is None or reply.finish not in (Finish.TOO_LONG, Finish.PROVIDER_REFUSED):
            return ""
        return reply.refusal or "too long"

    def drawn(self, name: str) -> list[str]:
        """The names that the digits in the pictures of a call follow from."""
        return [what.rpartition(" ")[2] for what in CALLS[name].pictures]

    def codes(self, name: str) -> list[str]:
        """The digits in the pictures of a call, where each shows one code."""
        return [digits(own, 4, self.seed) for own in self.drawn(name)]

    def reads(self, name: str) -> bool:
        """True if the code of a call's picture is in the reply."""
        return self.codes(name)[0] in re.sub(r"\D", "", self.said(name))

    # What is asked.

    def ask(self, name: str) -> Ask:
        """Return the call of a name."""
        if name.startswith("points"):
            dialogue = self.pointing.dialogue(self.view(name))
            asked = next(dialogue)
            dialogue.close()
            assert isinstance(asked, Ask)
            return Ask(asked.conversation, name, max_tokens=asked.max_tokens)
        call, usual = CALLS[name], self.generation
        shown = [stored(self.store, what, self.seed) for what in call.pictures]
        text = self.long_text if name == "context" else call.text
        messages = [system(call.system)] if call.system else list[Message]()
        if name == "history":
            messages += [user(shown.pop(0), text), Message("assistant", (Text("One moment."),))]
        conversation = Conversation((*messages, user(*shown, text)))
        limit = call.limit
        if self.info().thinking.happens(usual.effort, usual.thinking_budget):
            limit = max(limit, THINKING, usual.max_tokens)
        if not name.startswith("repeats"):
            return Ask(conversation, name, max_tokens=limit)
        # Equal calls are drawn apart, with the seed of the run in all of them.
        sample = int(name.rpartition("-")[2])
        return Ask(conversation, name, max_tokens=limit, sample=sample, seed=usual.seed)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The numbers hidden in the long text."""
        return tuple(digits(f"key{n}", 5, self.seed) for n in (1, 2, 3))

    @cached_property
    def long_text(self) -> str:
        """A text of as many tokens as a run may need, with numbers at its ends and its middle."""
        known = self.info().context_tokens or 0
        wanted = min(_CONTEXT_TOKENS, known - 1024) if known > 2048 else _CONTEXT_TOKENS
        each = self.estimated(user(_FILLER * 50)) / 50
        lines = [_FILLER] * max(3, round(wanted / each))
        words = ("first", "second", "third")
        for share, word, key in zip((0.02, 0.5, 0.98), words, self.keys, strict=True):
            lines[int(share * len(lines))] += f"The {word} number is {key}. "
        return "".join(lines) + "Write the three numbers of this text, with blanks between."

    def estimated(self, *messages: Message) -> int:
        """Estimated prompt tokens of messages without pictures."""
        return tokens_of(Conversation(messages), self.info())

    # Marks are pointed at as a run points.

    def view(self, name: str) -> PlaceView:
        """The view of a mark for the pointing protocol: a picture as in a run, resized."""
        (what,) = CALLS[name].pictures
        stored(self.store, what, self.seed)
        policy = PicturePolicy.parse(self.pointing.needs.picture_policy)
        header = read_size(packed(what, self.seed)[0])
        return PlaceView(name, CALLS[name].text, plan(policy, header, rule=self.info().image_rule))

    def mark(self, name: str) -> tuple[int, int]:
        """The middle of a mark, in pixels of the picture that is sent."""
        kind, number = name.rpartition("-")[::2]
        width, height = list(MARKS)[int(number) > 4]
        x, y = mark_places(width, height, "again" in kind)[(int(number) - 1) % 4]
        (picture,) = self.view(name).pictures
        return round(x * picture.width / width), round(y * picture.height / height)

    def numbers(self, name: str) -> tuple[float, float] | None:
        """The numbers of a reply about a mark, x first, as the run's form reads them."""
        reply, view = self.reply(name), self.view(name)
        if reply is None:
            return None
        dialogue = self.pointing.dialogue(view)
        next(dialogue)
        try:
            dialogue.send(reply)
            dialogue.close()
        except StopIteration as stop:
            found: Prediction = stop.value
            if found.status is Status.OUT_OF_RANGE and "numbers_x" in found.parsed:
                x, y = (found.parsed[name] for name in ("numbers_x", "numbers_y"))
                return float(x or 0), float(y or 0)
            if found.point is not None:
                (picture,) = view.pictures
                x, y = Recipe.parse(picture.recipe).to_picture(*found.point)
                most = MOST[self.pointing.convention]
                if most is not None:
                    x, y = x / picture.width * most, y / picture.height * most
                return x, y
        return None
