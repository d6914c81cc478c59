"""The calls of a verification: what is asked, and what was answered."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from adapters.contract import AdapterInfo, Generation
from adapters.conversation import Conversation, Finish, Message, Reply, Text, system, user
from harness.dialogue import Ask
from harness.pictures import PicturePolicy, Recipe
from harness.planning.pricing import tokens_of
from harness.runs import CallRecord
from harness.verify import scenes, texts
from harness.verify.album import Album
from harness.verify.texts import COUNTED, SIZES, groups
from harness.views import PlaceView
from parsers.points.spelling import MOST
from parsers.records import Prediction, Status
from parsers.thinking import without_thinking

if TYPE_CHECKING:
    from harness.benchmarks.grounding.protocol import Grounding

LIMITS = {"copy": 200, "coverage": 200, "ladder": 250, "corners": 100, "order": 64, "context": 64}
SHORTEST = 32
THINKING = 2048
"""The least limit for a model that thinks."""
PIXELS = (448, 448)
ORDERED = ((480, 448), (448, 336), (336, 448), (336, 336))


@dataclass(eq=False)
class Probe:
    """What is asked of a deployment, and what it has answered so far. It records its own calls.

    Args:
        pointing: the protocol that a run would point with, which reads the marks.
        wants: the names of the checks that are carried out.
        info: the adapter's declaration, as it is now.
    """

    album: Album
    pointing: Grounding
    generation: Generation
    wants: Collection[str]
    info: Callable[[], AdapterInfo]
    quick: bool = False
    seed: int = 1
    records: dict[str, CallRecord] = field(default_factory=dict)
    answerer: dict[str, str] = field(default_factory=dict)

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

    def digits(self, name: str) -> str:
        """All digits of a reply."""
        return re.sub(r"\D", "", self.said(name))

    def count(self, name: str) -> int | None:
        """Prompt tokens of a call; None if none are given, or the call was refused."""
        reply = self.reply(name)
        usage = reply.usage if reply and not self.refused(name) else None
        return usage.input if usage else None

    def added(self, name: str, base: str = "base") -> int | None:
        """Tokens of a call beyond those of the same text without a picture."""
        whole, empty = self.count(name), self.count(base)
        return None if whole is None or empty is None else max(0, whole - empty)

    def refused(self, name: str) -> str:
        """The server's words for a prompt that it did not take; "" if it did."""
        reply = self.reply(name)
        if reply is None or reply.finish not in (Finish.TOO_LONG, Finish.PROVIDER_REFUSED):
            return ""
        return reply.refusal or "too long"

    # What is asked.

    def calls_of(self, *checks: str) -> tuple[str, ...]:
        """The calls that checks need, the first time that they are asked."""
        needed = groups(self.quick)
        return tuple(dict.fromkeys(call for check in checks for call in needed.get(check, ())))

    def again(self, check: str) -> tuple[str, ...]:
        """The further calls of a check that looks bad."""
        if check == "points":
            first = groups(self.quick)["points"]
            rest = [f"points-{n}" for n in range(1, 9) if f"points-{n}" not in first]
            return tuple(rest or (f"points-again-{n}" for n in range(1, 9)))
        return {
            "picture cache": ("noisy-again",),
            "corners": ("corners-2", "corners-3"),
            "coverage": ("coverage-again",),
            "order": ("order-again",),
            "repeats": tuple(f"repeats-again-{n}" for n in range(1, 5)),
        }.get(check, ())

    def ask(self, name: str) -> Ask:
        """Return the call of a name."""
        kind, _, number = name.partition("-")
        if kind == "points":
            return self._point(name)
        conversation = Conversation(self._messages(name, kind, number))
        limit = COUNTED[name][0] if name in COUNTED else LIMITS.get(kind, SHORTEST)
        info, usual = self.info(), self.generation
        if info.thinking.happens(usual.effort, usual.thinking_budget):
            limit = max(limit, THINKING, usual.max_tokens)
        # Equal calls are drawn apart, with the seed of the run in all of them.
        sample = int(re.sub(r"\D", "", number) or 0) if kind == "repeats" else 0
        seed = usual.seed if kind == "repeats" else None
        return Ask(conversation, name, max_tokens=limit, sample=sample, seed=seed)

    def _messages(self, name: str, kind: str, number: str) -> tuple[Message, ...]:
        ask, album = scenes.QUESTIONS, self.album
        is_again = number.startswith("again")
        if name in SIZES:
            width, height = SIZES[name]
            place = list(SIZES).index(name)
            return (user(album.stored(f"code {width}x{height} size{place}"), ask["code"]),)
        if name in COUNTED:
            return (user(f"Count from 1 to {COUNTED[name][1]}, with commas between."),)
        match kind:
            case "copy":
                return (user(f"Copy this text and write nothing else: {texts.COPY}"),)
            case "short":
                return (user(texts.SHORT[int(number) - 1]),)
            case "base":
                return (user(ask["code"]),)
            case "noisy":
                own = "other2" if is_again else "other"
                return (user(album.stored(f"noisy 448x448 {own}"), ask["code"]),)
            case "system" | "no":
                asked = user("What is the pass word? Write the word only.")
                return (system(texts.SYSTEM), asked) if kind == "system" else (asked,)
            case "with":
                shown = user(album.stored("code 448x448 size0"), ask["code"])
                return system(texts.SYSTEM), shown
            case "context":
                return (user(self.long_text),)
            case "corners":
                own = {"2": "c2", "3": "c3"}.get(number, "c")
                return (user(album.stored(f"corners 960x640 {own}"), ask["corners"]),)
            case "ladder":
                size = "448x448" if number == "small" else "1920x1080"
                return (user(album.stored(f"ladder {size} {number}"), ask["ladder"]),)
            case "coverage":
                own, more = ("g2", " Begin with the row at the bottom.") if is_again else ("g", "")
                return (user(album.stored(f"grid 1920x1080 {own}"), ask["grid"] + more),)
            case "order":
                several = [
                    album.stored(f"code {w}x{h} {own}")
                    for (w, h), own in zip(ORDERED, self.order_names(name), strict=True)
                ]
                return (user(*several, ask["order"]),)
            case "history":
                first, second = (album.stored(f"code 448x448 {own}") for own in ("h1", "h2"))
                return (
                    user(first, ask["order"]),
                    Message("assistant", (Text("One moment."),)),
                    user(second, ask["order"]),
                )
            case "repeats":
                more = " It must not begin with 1." if is_again else ""
                return (user(ask["repeats"] + more),)
        raise ValueError(name)

    def code(self, own: str) -> str:
        """The four digits in the picture of a code, by its name."""
        return scenes.digits(own, 4, self.seed)

    @staticmethod
    def order_names(name: str) -> list[str]:
        """The names of the codes of an order call."""
        return [f"{'p' if name.endswith('again') else 'o'}{n}" for n in range(1, 5)]

    @cached_property
    def keys(self) -> tuple[str, str, str]:
        """The numbers hidden in the long text."""
        first, second, third = (scenes.digits(f"key{n}", 5, self.seed) for n in (1, 2, 3))
        return first, second, third

    @cached_property
    def long_text(self) -> str:
        """A text of as many tokens as a run may need, with numbers at its ends and its middle."""
        known = self.info().context_tokens
        wanted = (
            min(texts.CONTEXT_TOKENS, known - 1024)
            if known and known > 2048
            else texts.CONTEXT_TOKENS
        )
        each = self.estimated(user(texts.FILLER * 50)) / 50
        lines = [texts.FILLER] * max(3, round(wanted / each))
        for share, word, key in zip(
            (0.02, 0.5, 0.98), ("first", "second", "third"), self.keys, strict=True
        ):
            lines[int(share * len(lines))] += f"The {word} number is {key}. "
        return "".join(lines) + "Write the three numbers of this text, with blanks between."

    def estimated(self, *messages: Message) -> int:
        """Estimated prompt tokens of messages without pictures."""
        return tokens_of(Conversation(messages), self.info())

    # Marks are pointed at as a run points.

    def view(self, name: str) -> tuple[PlaceView, tuple[int, int]]:
        """What the pointing protocol is shown, and the mark's middle in pixels of what is sent."""
        number = int(name.rpartition("-")[2])
        mirrored = "again" in name
        place = 0 if number <= 4 else 1
        (width, height) = list(scenes.MARKS)[place]
        drawn = f"marks {width}x{height} {'mirrored' if mirrored else ''}"
        picture = self.album.as_in_a_run(
            drawn.strip(), PicturePolicy.parse(self.pointing.needs.picture_policy), self.info()
        )
        x, y = scenes.mark_places(width, height, mirrored)[(number - 1) % 4]
        mark = round(x * picture.width / width), round(y * picture.height / height)
        question = scenes.QUESTIONS["points"].format(number=number)
        return PlaceView(name, question, (picture,)), mark

    def _point(self, name: str) -> Ask:
        view, _ = self.view(name)
        dialogue = self.pointing.dialogue(view)
        asked = next(dialogue)
        dialogue.close()
        assert isinstance(asked, Ask)
        return Ask(asked.conversation, name, max_tokens=asked.max_tokens)

    def numbers(self, name: str) -> tuple[float, float] | None:
        """The numbers of a reply about a mark, x first, as the run's form reads them."""
        reply, (view, _) = self.reply(name), self.view(name)
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
                if most is None:
                    return x, y
                return x / picture.width * most, y / picture.height * most
        return None
