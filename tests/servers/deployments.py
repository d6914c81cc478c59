"""Fake deployments of a model on screens: right ones, and ones with a fault in the pipe.

    with WireServer(Deployment({"family": "qwen2.5-vl", "most": 1_003_520})) as server: ...

The model reads the pixels (`tests.servers.eyes`) of what the server's own steps left of a picture.
Unknown questions get "OK".
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import math
import random
import re
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from PIL import Image, ImageChops, ImageOps

from tests.servers.answers import Answer, Ask, error
from tests.servers.eyes import Eyes
from tests.servers.families import FAMILIES, Seen, qwen
from tests.servers.pixels import Size

Json = Mapping[str, Any]
THOUGHTS = "so let me think about what is asked here and look again " * 30
_NAMES = (
    "family most side double square one_tile channels mirror turn centre lose_right no_pictures "
    "no_pictures_with_system last_only reverse hoist as_text cached_picture numbers swap offset "
    "drop_system merge_roles bos_twice think in_reasoning ignore_max wrong_finish cap context "
    "honest temperature usage any_name swallow_broken garbage babble jpeg noise points weakest "
    "spread raw_tools no_stop"
)
KEYS = frozenset(_NAMES.split())
"""Of these, what only checks outside of the first delivery can tell changes nothing yet: hoist,
merge_roles, any_name, raw_tools, no_stop."""


_SEEN: dict[tuple[Any, ...], Any] = {}


@dataclass
class Part:
    """A piece of the conversation: a text, or a picture as the model sees it."""

    role: str
    text: str = ""
    picture: Image.Image | None = None
    tokens: int = 0


@dataclass
class Deployment:
    """Answers requests of the chat protocol; `fake` has the keys, none for a right one.

    form: how it points, with `{x}` and `{y}`.
    seed: of what it draws. With this one the eyes read of shrunk pictures what the shared cases
        expect, which hold the luck of a prototype.
    """

    fake: Json
    form: str = '{{"point_2d": [{x}, {y}], "action": "CLICK"}}'
    seed: int = 14
    _cached: dict[tuple[str, Size], Image.Image] = field(default_factory=dict)
    _drawn: int = 0
    _inside: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        unknown = set(self.fake) - KEYS
        if unknown:
            raise ValueError(f"no deployment knows {sorted(unknown)}")
        self.family = str(self.fake.get("family", "qwen3-vl"))
        self.eyes = Eyes(self.fake.get("weakest", 6.0), self.fake.get("spread", 0.3), self.seed)

    def __call__(self, ask: Ask) -> Answer:
        with self._lock:
            self._inside += 1
        try:
            return self._answer(ask)
        except (OSError, ValueError, binascii.Error):
            return error(400, "cannot identify image file", "invalid_image")
        finally:
            with self._lock:
                self._inside -= 1

    def _answer(self, ask: Ask) -> Answer:
        with self._lock:
            parts = list(self._parts(ask.messages))
        count = self._count(parts, len(ask.messages))
        limit = int(self.fake.get("context", 0))
        if limit and count > limit:
            if self.fake.get("honest"):
                words = f"This model's maximum context length is {limit} tokens; you sent {count}"
                return error(400, words, "context_length_exceeded")
            parts, count = _last(parts, count - limit), limit
        text, thoughts, finish = self._cut(ask, self._reply(parts))
        return Answer(text, finish, self._usage(count, parts, text, thoughts), thinking=thoughts)

    # What the server does to a request before the model sees it.

    def _parts(self, messages: list[Json]) -> Iterator[Part]:
        given = [part for message in messages for part in self._given(message)]
        system = any(part.role == "system" for part in given)
        blind = self.fake.get("no_pictures") or (
            self.fake.get("no_pictures_with_system") and system
        )
        pictures = [part for part in given if part.picture is not None]
        shown = [] if blind else pictures[-1:] if self.fake.get("last_only") else pictures
        order = reversed(shown) if self.fake.get("reverse") else iter(shown)
        for part in given:
            if part.role == "system" and self.fake.get("drop_system"):
                continue
            if part.picture is None:
                yield part
            elif any(part is one for one in shown):
                yield next(order)

    def _given(self, message: Json) -> Iterator[Part]:
        content, role = message["content"], str(message["role"])
        pieces = content if isinstance(content, list) else [{"type": "text", "text": content}]
        text = " ".join(str(piece["text"]) for piece in pieces if piece["type"] == "text")
        for piece in pieces:
            if piece["type"] == "text":
                yield Part(role, str(piece["text"]))
            elif piece["type"] == "image_url":
                yield self._picture(role, text, piece["image_url"]["url"])

    def _picture(self, role: str, beside: str, url: str) -> Part:
        try:
            picture = _decoded(url)
        except OSError:
            if self.fake.get("swallow_broken"):
                return Part(role)
            raise
        if self.fake.get("cached_picture"):
            picture = self._cached.setdefault((beside, picture.size), picture)
        picture = self._worn(picture)
        seen = self._seen(picture.size)
        tokens = len(url) // 3 if self.fake.get("as_text") else seen.tokens + 2
        if picture.size != seen.size:
            picture = picture.resize(seen.size)
        return Part(role, picture=picture, tokens=tokens)

    def _seen(self, size: Size) -> Seen:
        if self.fake.get("one_tile"):
            return Seen(256, (448, 448))
        if self.fake.get("double"):
            factors = (28, 32) if self.family == "qwen3-vl" else (32, 28)
            size = qwen(factors[0], 3136, 16_777_216)(size).size
        if "most" in self.fake:
            factor, least = (32, 65_536) if self.family == "qwen3-vl" else (28, 3136)
            return qwen(factor, least, int(self.fake["most"]))(size)
        return FAMILIES[self.family](size)

    def _worn(self, picture: Image.Image) -> Image.Image:
        """What the pipe does to a picture before the family's own rule."""
        width, height = picture.size
        if "side" in self.fake and max(picture.size) > self.fake["side"]:
            ratio = int(self.fake["side"]) / max(picture.size)
            picture = picture.resize((round(width * ratio), round(height * ratio)))
        if "square" in self.fake:
            picture = picture.resize((int(self.fake["square"]),) * 2)
        if self.fake.get("channels"):
            picture = Image.merge("RGB", picture.split()[::-1])
        if self.fake.get("mirror"):
            picture = ImageOps.mirror(picture)
        if "turn" in self.fake:
            picture = picture.rotate(90 * int(self.fake["turn"]), expand=True)
        if self.fake.get("centre"):
            side = min(width, height)
            left, top = (width - side) // 2, (height - side) // 2
            picture = picture.crop((left, top, left + side, top + side))
        if self.fake.get("lose_right"):
            picture = picture.crop((0, 0, width * 3 // 4, height))
        if "offset" in self.fake:
            picture = ImageChops.offset(picture, 0, int(self.fake["offset"]))
        if "jpeg" in self.fake:
            packed = io.BytesIO()
            picture.save(packed, "JPEG", quality=int(self.fake["jpeg"]))
            picture = Image.open(packed).convert("RGB")
        return picture

    # What the model says.

    def _reply(self, parts: list[Part]) -> str:
        question = next((p.text for p in reversed(parts) if p.role == "user" and p.text), "")
        asked = question.lower()
        pictures = [part.picture for part in parts if part.picture is not None]
        if self.fake.get("babble"):
            return "lorem ipsum dolor sit amet consetetur"
        if self.fake.get("garbage"):
            return "the " * 60
        if mark := re.search(r"square with (?:the )?number (\d+)", asked):
            return self._point(pictures, mark[1])
        if "six-digit number" in asked:
            return self._number(asked)
        if "four quarters" in asked:
            found = self._look("quarters", pictures[-1]) if pictures else []
            return "; ".join(f"{colour} {digit}" for colour, digit in found) or "no picture"
        if "digits" in asked or "codes" in asked:
            return self._codes(asked, pictures)
        return _from_text(parts, question)

    def _look(self, how: str, picture: Image.Image) -> Any:
        """What the eyes see, remembered: many deployments show the same pictures."""
        seen = hashlib.sha256(f"{picture.size}".encode() + picture.tobytes()).hexdigest()
        key = (how, self.eyes, seen)
        if key not in _SEEN:
            _SEEN[key] = getattr(self.eyes, how)(picture)
        return _SEEN[key]

    def _codes(self, asked: str, pictures: list[Image.Image]) -> str:
        if not pictures:
            return "I see no picture."
        every = "each picture" in asked or "both pictures" in asked
        if every:
            each = [self._look("rows", one) for one in pictures]
            return " ".join("".join(row.text for row in rows) for rows in each)
        rows = self._look("rows", pictures[-1])
        lines: dict[int, list[str]] = {}
        for row in rows:
            lines.setdefault(row.top, []).append(row.text)
        found = [" ".join(line) for line in lines.values()]
        return "\n".join(found[::-1] if "from the bottom" in asked else found) or "Nothing."

    def _point(self, pictures: list[Image.Image], number: str) -> str:
        place = self._look("marks", pictures[-1]).get(number) if pictures else None
        if place is None:
            return f"I see no square with number {number}."
        width, height = pictures[-1].size
        x, y = place[0] / width, place[1] / height
        if self.fake.get("points") is False:
            drawn = hashlib.sha256(f"{self.seed} {number} {width}".encode()).digest()
            x, y = drawn[0] / 256, drawn[1] / 256
        usual = "absolute" if self.family == "qwen2.5-vl" else "per-mille"
        scale = {"absolute": (width, height), "per-mille": (1000, 1000), "unit": (1, 1)}[
            str(self.fake.get("numbers", usual))
        ]
        pair = [round(x * scale[0], 4), round(y * scale[1], 4)]
        if scale != (1, 1):
            pair = [round(n) for n in pair]
        if self.fake.get("swap"):
            pair.reverse()
        return self.form.format(x=pair[0], y=pair[1])

    def _number(self, asked: str) -> str:
        drawn = hashlib.sha256(f"{self.seed} {asked}".encode()).digest()
        usual = str(100_000 + int.from_bytes(drawn[:4]) % 900_000)
        if self.fake.get("temperature"):
            with self._lock:
                self._drawn += 1
                chance = random.Random(f"{self.seed} {self._drawn}")
            return str(chance.randrange(100_000, 1_000_000))
        if self.fake.get("noise"):
            time.sleep(0.02)  # so that requests at once meet each other
            with self._lock:
                alone = self._inside == 1
                self._drawn += 1
                return usual if alone else usual[:-1] + str(self._drawn % 10)
        return usual

    # What the server does to the reply.

    def _cut(self, ask: Ask, reply: str) -> tuple[str, str, Literal["stop", "length"]]:
        limit: float = ask.body.get("max_completion_tokens") or ask.body.get("max_tokens") or 0
        limit = math.inf if self.fake.get("ignore_max") or not limit else limit
        limit = min(limit, self.fake.get("cap", math.inf))
        thoughts = THOUGHTS if self.fake.get("think") else ""
        if self.fake.get("in_reasoning"):
            thoughts, reply = reply, ""
        spoken = thoughts, reply
        thoughts = _first(thoughts, limit)
        reply = _first(reply, limit - len(tokens(thoughts)))
        finish: Literal["stop", "length"] = "stop" if (thoughts, reply) == spoken else "length"
        return reply, thoughts, "stop" if self.fake.get("wrong_finish") else finish

    def _count(self, parts: list[Part], messages: int) -> int:
        pictures = sum(part.tokens for part in parts)
        if self.fake.get("usage") == "text":
            pictures = 0
        words = sum(len(tokens(part.text)) for part in parts)
        return pictures + words + 4 * messages + 3 + bool(self.fake.get("bos_twice"))

    def _usage(
        self, count: int, parts: list[Part], text: str, thoughts: str
    ) -> Mapping[str, int] | None:
        if self.fake.get("usage") == "none":
            return None
        if self.fake.get("usage") == "zero":
            return {"input": 0, "output": 0}
        thought = len(tokens(thoughts))
        return {"input": count, "output": len(tokens(text)) + thought, "reasoning": thought}


@lru_cache(maxsize=16)
def _decoded(url: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(url.partition("base64,")[2]))).convert("RGB")


def tokens(text: str) -> list[str]:
    """The words, numbers and signs of a text: a token each."""
    return re.findall(r"\w+|[^\w\s]", text)


def _first(text: str, limit: float) -> str:
    """The first tokens of a text."""
    ends = [found.end() for found in re.finditer(r"\w+|[^\w\s]", text)]
    if len(ends) <= limit:
        return text
    return text[: ends[int(limit) - 1]] if limit >= 1 else ""


def _last(parts: list[Part], over: int) -> list[Part]:
    """The parts without their first `over` tokens, as a server that cuts a prompt leaves them."""
    left = []
    for part in parts:
        if over > 0 and part.picture is None:
            ends = [found.end() for found in re.finditer(r"\w+|[^\w\s]", part.text)]
            gone, over = min(over, len(ends)), over - len(ends)
            left.append(Part(part.role, part.text[ends[gone - 1] :] if gone else part.text))
        else:
            left.append(part)
    return left


def _from_text(parts: list[Part], question: str) -> str:
    """Answers that stand in the text itself; "OK" for what nobody knows."""
    whole = "\n".join(part.text for part in parts)
    asked = question.lower()
    if count := re.search(r"count (?:from \d+ )?(?:up )?to (\d+)", asked):
        between = ", " if "comma" in asked else " "
        return between.join(str(n) for n in range(1, int(count[1]) + 1))
    if asked.startswith(("copy", "repeat")):
        return question.partition(":")[2].strip() or "OK"
    if "pass word" in asked or "password" in asked:
        said = re.search(r"pass ?word is[: ]+\"?(\w+)", whole, re.IGNORECASE)
        return said[1] if said else "I know of no pass word."
    if "number" in asked:
        numbers = re.findall(r"number (?:\w+ )?is[: ]+(\d+)", whole)
        return " ".join(numbers) or "OK"
    return "OK"
