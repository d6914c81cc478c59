"""The calls of a unit that acts, as steps: what was seen, what was said about it, what was done.

Environments may be anybody's, and what they return is any JSON, so everything here is read
leniently: what is not there, or is of another type, is left empty.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from harness.runs.records import CallRecord
from parsers.actions import Action, Value
from parsers.records import Prediction

SCREENSHOT = "screenshot"
"""Name of the blob of an observation that is a picture."""
_LARGEST = 1e6
"""No picture is larger, in pixels."""

Box = tuple[float, float, float, float]
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Sight:
    """An observation of a live page.

    ended: whether the episode is over.
    reward: as the environment gives it, None if it has given none.
    reason: why the episode ended, "" while it is open.
    error: why the last action could not be carried out, in one line; "" if it was.
    viewport: width and height of the picture in pixels; (0, 0) if unknown.
    screenshot: digest of the picture, "" without.
    """

    goal: str = ""
    url: str = ""
    title: str = ""
    ended: bool = False
    reward: float | None = None
    reason: str = ""
    error: str = ""
    viewport: tuple[int, int] = (0, 0)
    screenshot: str = ""

    @classmethod
    def of(cls, content: object, blobs: Mapping[str, str]) -> Sight:
        """Read the content of any observation on record, and the digests of its blobs."""
        plain = content if isinstance(content, dict) else {}
        size = _numbers(plain.get("viewport"), 2)
        texts = {name: plain.get(name) for name in ("goal", "url", "title", "reason", "error")}
        known = size is not None and min(size) > 0 and max(size) < _LARGEST
        return cls(
            **{name: text for name, text in texts.items() if isinstance(text, str)},
            ended=plain.get("ended") is True,
            reward=_number(plain.get("reward")),
            viewport=(round(size[0]), round(size[1])) if size and known else (0, 0),
            screenshot=blobs.get(SCREENSHOT, ""),
        )

    @property
    def size(self) -> tuple[int, int] | None:
        """Width and height of the picture in pixels; None if unknown."""
        return self.viewport if min(self.viewport) > 0 else None

    @property
    def outcome(self) -> str:
        """Return the result of the action before in words; "" without one."""
        said = [f"failed: {self.error}"] if self.error else []
        said += [] if self.reward is None else [f"reward {self.reward:g}"]
        said += [f"ended{f': {self.reason}' if self.reason else ''}"] if self.ended else []
        return ", ".join(said)

    @property
    def told(self) -> str:
        """The observation in a line: what was seen, and what became of the action before."""
        size = f"{self.size[0]} x {self.size[1]} pixels" if self.size else ""
        return ", ".join(filter(None, (self.outcome, size, self.title, self.url)))


@dataclass(frozen=True, slots=True)
class PerformedAction:
    """An action after it was carried out.

    told: the action in words, with what the element is called on its page.
    box: of its element, as (x, y, width, height) in pixels of the picture; None if unknown.
    """

    action: Action
    told: str
    box: Box | None = None

    @classmethod
    def of(cls, plain: object) -> PerformedAction | None:
        """Read an action on record; None for anything else, such as the beginning of an episode."""
        if not isinstance(plain, dict) or not isinstance(plain.get("name"), str):
            return None
        element, point = plain.get("element"), _numbers(plain.get("point"), 2)
        values = plain.get("arguments")
        arguments: dict[str, Value] = {
            str(name): value
            for name, value in (values if isinstance(values, dict) else {}).items()
            if value is None or isinstance(value, str | int | float | bool)
        }
        action = Action(
            plain["name"],
            element if isinstance(element, str) else None,
            (point[0], point[1]) if point else None,
            arguments,
        )
        text, box = plain.get("told"), _numbers(plain.get("box"), 4)
        where = (round(point[0], 1), round(point[1], 1)) if point else None
        words = text if isinstance(text, str) and text else str(replace(action, point=where))
        return cls(action, words, (box[0], box[1], box[2], box[3]) if box else None)

    @property
    def short(self) -> str:
        """Its name and its value, as in `TYPE: Ohio`."""
        texts = (one for one in self.action.arguments.values() if isinstance(one, str))
        value = self.action.arguments.get("value") or next(texts, "")
        return f"{self.action.name}: {value}" if value else self.action.name


@dataclass(frozen=True, slots=True)
class LiveStep:
    """One step of an episode: a look, what was asked about it, and at most one action.

    asks: the calls of models and embedders, in order.
    act: the call that acted; None where a step ended without an action.
    after: what was seen after the action.
    """

    seen: Sight
    asks: tuple[CallRecord, ...] = ()
    act: CallRecord | None = None
    after: Sight | None = None
    done: PerformedAction | None = None

    @property
    def said(self) -> str:
        """Return the reply of the model under test."""
        own = (call for call in self.asks if call.is_ask and not call.role)
        return "\n\n".join(call.reply.text for call in own)


def steps_taken(calls: Iterable[CallRecord]) -> list[LiveStep]:
    """Return the steps of the calls of one trial, in order; the last one holds what was seen at
    the end.

    Asks whose places begin with another number (`2/round-1`) belong to another step, although no
    action lies between them. [] for calls without actions.
    """
    steps: list[LiveStep] = []
    seen, asks, number, acted = Sight(), list[CallRecord](), "", False
    for call in calls:
        if call.act is None:
            begun = call.place.partition("/")[0] if "/" in call.place else number
            if asks and begun != number:
                steps.append(LiveStep(seen, tuple(asks)))
                asks = []
            number = begun
            asks.append(call)
            continue
        after, done = (
            Sight.of(call.act.observation, call.act.blobs),
            PerformedAction.of(call.act.action),
        )
        if done is not None or asks:
            steps.append(LiveStep(seen, tuple(asks), call, after, done))
        seen, asks, acted = after, [], True
    if not acted:
        return []
    return [*steps, *([LiveStep(seen, tuple(asks))] if asks else []), LiveStep(seen)]


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _numbers(values: Any, count: int) -> tuple[float, ...] | None:
    if not isinstance(values, list | tuple) or len(values) != count:
        return None
    read = tuple(number for one in values if (number := _number(one)) is not None)
    return read if len(read) == count else None


class _Placed(Protocol):
    """A call, or what it asks: its place, and the number of its sample."""

    @property
    def place(self) -> str: ...

    @property
    def sample(self) -> int: ...


P = TypeVar("P", bound=_Placed)


def behind(prediction: Prediction | None, calls: Sequence[P]) -> list[P]:
    """Return the calls that led to a prediction: of samples, those of the one that was elected."""
    if prediction is None or prediction.sample is None:
        return list(calls)
    drawn = {call.place for call in calls if call.sample}
    count, elected = sum(prediction.votes), prediction.sample
    return [call for call in calls if call.place not in drawn or call.sample % count == elected]
