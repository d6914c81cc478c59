"""Grounding: a picture and an instruction, answered with the place that the instruction means.

One call; with `zoom=crop` a second one about a window around the first answer, at the size of the
first picture. The wording for a family of models is in its prompt pack.
The model may be offered to say that nothing fits; one that says so unasked is read alike.

A pack is a TOML file. Those in `harness/prompts/grounding` are found by the model's name; one of
the user's own is given with `--protocol-option prompts=FILE`, and may be as short as this:

    name = "my-family"
    form = "point-text"
    coordinates = "per-999"
    question = "Where would you click to do this? {instruction}"

Texts that a pack leaves out are taken from `harness/prompts/grounding.toml`; form and coordinates
follow from the model's name (`families`, `adapters.open_models`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from adapters.contract import AdapterInfo
from adapters.conversation import (
    Conversation,
    Message,
    Order,
    Picture,
    Reply,
    illustrated,
    system,
    user,
)
from harness.dialogue import Ask, Dialogue
from harness.errors import UserError, suggestion
from harness.pictures import zoomed
from harness.protocols.contract import AskingProtocol, Needs, flagged, limit_of
from harness.protocols.pointing import (
    PLACE,
    by_longest_word,
    check_pointing,
    located,
    numbers_of,
    one_picture,
    usual_form,
)
from harness.protocols.texts import Texts, checked_text, read_file, read_toml
from harness.views import PlaceView
from parsers.actions import Action
from parsers.grounding import CLICK, EDGES, POINTING
from parsers.points import (
    CONVENTIONS,
    DECLINES,
    FORMS,
    POINT_FORMS,
    Convention,
    Decline,
    Form,
    read_point,
    write_place,
)
from parsers.points.spelling import MOST
from parsers.records import Prediction, Status

if TYPE_CHECKING:
    from harness.pictures import PicturePolicy


SystemPlace = Literal["apart", "merged", "none"]
"""A system text is a separate message, comes first in the question, or is left out."""

USUAL = "grounding"
"""The pack of models without special wording: the shared texts alone."""

_SCREEN = frozenset({"width", "height", "resolution"})
_PLACEHOLDERS = {
    "system": _SCREEN,
    "question": frozenset({"instruction", "answer", "numbers", *_SCREEN}),
    "answer": frozenset({"numbers"}),
    "declining": frozenset({"none"}),
}
_NEEDED = {"question": frozenset({"instruction"})}
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "form": FORMS,
    "coordinates": CONVENTIONS,
    "order": get_args(Order),
    "system_place": get_args(SystemPlace),
}
_LISTS: Mapping[str, tuple[str, ...]] = {"families": (), "declines": DECLINES}
_KNOWN = frozenset({"name", *_LISTS, *_PLACEHOLDERS, *_CHOICES})


@dataclass(frozen=True)
class ModelPrompts:
    """A family's way to be asked.

    families: words in the names of its models.
    form: how it answers; None as its models usually do.
    coordinates: meaning of its numbers; None as the model's adapter declares.
    declines: replies that mean nothing fits, next to the form's word for none; None for the form's.
    order, system_place: places of the picture and the system text.
    own: its own texts, by key.
    """

    name: str
    families: tuple[str, ...] = ()
    form: Form | None = None
    coordinates: Convention | None = None
    declines: frozenset[Decline] | None = None
    order: Order = "picture-first"
    system_place: SystemPlace = "apart"
    own: Mapping[str, str] = field(default_factory=dict)

    def texts(self, form: Form, convention: Convention) -> Texts:
        """Return its texts for a form: `system`, `question`, `answer`, `numbers`, `declining`."""
        shared = _shared()
        usual = {
            "name": self.name,
            "system": "",
            "question": shared["question"],
            "answer": shared["answers"][form],
            "numbers": shared["numbers"][convention],
            "declining": shared["declining"],
        }
        return Texts({**usual, **self.own})


def pack_of_model(*names: str) -> ModelPrompts:
    """Return the pack of the longest word in a model's name; the usual one if no word is known.

    Of several names (the model's own, the adapter's) the first with a known word decides.

    >>> pack_of_model("UI-Venus-1.5-8B").name, pack_of_model("my-model", "openai:my-model").name
    ('ui-venus', 'grounding')
    """
    packs = [open_pack(pack) for pack in shipped()]
    words = [(word, pack) for pack in packs for word in pack.families]
    return by_longest_word(words, *names) or open_pack(USUAL)


@cache
def shipped() -> tuple[str, ...]:
    """Return the names of the packs that come with the project."""
    found = files("harness").joinpath("prompts/grounding").iterdir()
    names = (file.name.partition(".toml") for file in found)
    return (USUAL, *sorted(name for name, suffix, _ in names if suffix))


@cache
def open_pack(name: str) -> ModelPrompts:
    """Read a pack that comes with the project. Raises `UserError` for an unknown one."""
    if name == USUAL:
        return ModelPrompts(USUAL)
    if name not in shipped():
        raise UserError(f"unknown prompt pack '{name}'; {suggestion(name, shipped())}")
    file = files("harness").joinpath(f"prompts/grounding/{name}.toml")
    return _pack(read_toml(file.read_text("utf-8"), f"{name}.toml"), f"{name}.toml")


def read_pack(path: Path) -> ModelPrompts:
    """Read a pack in a file of the user's. Raises `UserError` naming the key that is wrong."""
    return _pack(read_toml(read_file(path), str(path)), str(path))


def _pack(found: Mapping[str, Any], where: str) -> ModelPrompts:
    given: dict[str, Any] = {}
    if unknown := sorted(found.keys() - _KNOWN):
        raise UserError(f"{where}: unknown key {unknown[0]}; {suggestion(unknown[0], _KNOWN)}")
    own: dict[str, str] = {}
    for key, value in found.items():
        if key in _LISTS:
            listed = _listed(value, key, where)
            given[key] = frozenset(listed) if key == "declines" else listed
            continue
        allowed, needed = _PLACEHOLDERS.get(key, frozenset()), _NEEDED.get(key, frozenset())
        given[key] = checked_text(value, key, where, allowed, needed)
        if given[key] not in _CHOICES.get(key, (given[key],)):
            known = ", ".join(_CHOICES[key])
            raise UserError(f"{where}: {key} is one of {known}, not '{given[key]}'")
        if key in _PLACEHOLDERS:
            own[key] = given.pop(key)
    if not given.get("name"):
        raise UserError(f"{where}: a prompt pack needs a name")
    return ModelPrompts(**given, own=own)


def _listed(value: object, key: str, where: str) -> tuple[str, ...]:
    words = value if isinstance(value, list) else [None]
    known = _LISTS[key]
    if not all(isinstance(word, str) and (word in known or not known) for word in words):
        hint = f" of {', '.join(known)}" if known else " in the names of models"
        raise UserError(f"{where}: {key} is a list of words{hint}")
    return tuple(words)


@cache
def _shared() -> Mapping[str, Any]:
    file = files("harness").joinpath(f"prompts/{USUAL}.toml")
    found = read_toml(file.read_text("utf-8"), f"{USUAL}.toml")
    return {key: _stripped(value) for key, value in found.items()}


def _stripped(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _stripped(inner) for key, inner in value.items()}
    return value.strip()


ZOOM = "zoom"
HALF = 0.5
NEEDS = Needs(picture_policy="full:pixels=33177600", scene=False, sees=True, point=True)
"""Pictures as large as the model takes them: up to 7680 x 4320, then by the model's own rule."""


@dataclass(frozen=True)
class Grounding(AskingProtocol):
    """One question about a picture, answered with a point or a box."""

    form: Literal[Form, "auto"] = "auto"
    """Form of the answer; `auto` chooses by pack and model's name (`plain` for policies)."""
    coordinates: Convention | None = None
    """Meaning of the model's numbers; None takes the declaration of its adapter or pack, and for
    policies the usual one of the form."""
    pack: str = "auto"
    """Prompt pack; `auto` chooses by the model's name. The option `prompts` has the user's own."""
    refusals: Literal["offered", "unoffered"] = "unoffered"
    """True if the question says how to answer that nothing fits."""
    declines: str = "auto"
    """Further words for it, with commas between (`minus-one,words`), next to the form's word for
    none; `auto` takes those of pack and form."""
    order: Literal[Order, "auto"] = "auto"
    """Where the picture stands; `auto` as in the pack."""
    system: Literal[SystemPlace, "auto"] = "auto"
    """Where the pack's system text stands; `auto` as in the pack."""
    zoom: Literal["none", "crop"] = "none"
    """`crop` asks again about a window around the first answer."""
    zoom_share: float | None = None
    """Width and height of that window, as a share of the picture's; None takes a half."""
    prompts: Path | None = None
    """File with a prompt pack that replaces the shipped ones."""
    max_tokens: tuple[int, ...] = ()
    """Token limit of the reply."""

    name = "grounding"
    View = PlaceView
    actions = POINTING
    needs = NEEDS
    of_model = (*("form", "coordinates", "pack", "declines", "order", "system"), "prompts_sha256")
    paper = "the grounding forms of SeeClick, Qwen-VL, UI-TARS and others, as their authors publish"

    def __post_init__(self) -> None:
        """Raise `UserError` for an unknown pack, a pack file with mistakes, or a wrong share."""
        if self.zoom_share is not None and self.zoom == "none":
            raise UserError("zoom_share has no effect without zoom=crop; leave it out")
        if not 0 < self.share < 1:
            raise UserError(f"zoom_share={self.share:g} is not between 0 and 1")
        if self.prompts is not None and self.pack != "auto":
            raise UserError(f"prompts= replaces the prompt pack; leave out pack={self.pack}")
        unknown = {*self.declines.split(",")} - {"", *DECLINES}
        if unknown and self.declines != "auto":
            raise UserError(f"declines={self.declines}: {suggestion(min(unknown), DECLINES)}")
        form = self.answer_form
        none = read_point(write_place(form, None), form, place_only=True)
        if self.refusals == "offered" and none.status is not Status.NONE:
            raise UserError(f"the form {form} has no way to decline; leave out refusals=offered")

    @property
    def share(self) -> float:
        """The share of the picture that a window shows across and down."""
        return HALF if self.zoom_share is None else self.zoom_share

    @cached_property
    def chosen(self) -> ModelPrompts:
        """The prompt pack."""
        if self.prompts is not None:
            return read_pack(self.prompts)
        return open_pack(USUAL if self.pack == "auto" else self.pack)

    @property
    def answer_form(self) -> Form:
        """The form, with `auto` resolved."""
        return (self.chosen.form or "plain") if self.form == "auto" else self.form

    @property
    def convention(self) -> Convention:
        """Meaning of the numbers."""
        return self.coordinates or self.chosen.coordinates or POINT_FORMS[self.answer_form].usual

    @property
    def ways_to_decline(self) -> frozenset[Decline]:
        """Replies that mean nothing fits, next to the form's word for none."""
        chosen = self.chosen.declines
        if self.declines == "auto":
            return POINT_FORMS[self.answer_form].declines if chosen is None else chosen
        return frozenset(way for way in DECLINES if way in self.declines.split(","))

    @property
    def picture_place(self) -> Order:
        """Where the picture stands, with `auto` resolved."""
        return self.chosen.order if self.order == "auto" else self.order

    @property
    def system_place(self) -> SystemPlace:
        """Where the system text stands, with `auto` resolved."""
        return self.chosen.system_place if self.system == "auto" else self.system

    @cached_property
    def texts(self) -> Texts:
        """Texts of the question, with placeholders."""
        return self.chosen.texts(self.answer_form, self.convention)

    @property
    def places(self) -> tuple[str, ...]:
        """The answer, and the one about the window."""
        return (PLACE,) if self.zoom == "none" else (PLACE, ZOOM)

    def calls(self, count: int) -> tuple[int, int]:
        """Make one call; with a window, a second one unless the first reply names no place."""
        return 1, len(self.places)

    @classmethod
    def for_model(cls, values: Mapping[str, object], model: AdapterInfo) -> Mapping[str, object]:
        """Add pack and form of the model's family, and what its numbers mean.

        A user's own pack goes before the adapter's declaration. A user who asks for
        another form than the family's is asked with the shared texts.
        """
        filled = dict(values)
        prompts, pack, form = filled.get("prompts"), filled.get("pack", "auto"), filled.get("form")
        if isinstance(prompts, Path):
            chosen = read_pack(prompts)
        else:
            chosen = pack_of_model(model.model, model.name)
            chosen = chosen if pack == "auto" else open_pack(str(pack))
        usual = chosen.form or usual_form(model.model, model.name)
        if form in (None, "auto"):
            filled["form"] = usual
        elif prompts is None and pack == "auto" and form != usual:
            chosen = open_pack(USUAL)
        if prompts is None:
            filled["pack"] = chosen.name
        if filled.get("coordinates") is None:
            filled["coordinates"] = chosen.coordinates or model.coordinates
        return filled

    def check(self, pictures: PicturePolicy, model: AdapterInfo) -> None:
        """Raise `UserError` for a model with undeclared coordinates."""
        check_pointing(self.name, self.coordinates or self.chosen.coordinates, pictures, model)

    def settings(self) -> dict[str, object]:
        """Return the fields with `auto` resolved; the pack by name and digest of its texts."""
        settings = super().settings()
        del settings["prompts"]
        resolved: dict[str, object] = {
            "form": self.answer_form,
            "coordinates": self.convention,
            "pack": "auto" if self.prompts else self.chosen.name,
            "declines": ",".join(sorted(self.ways_to_decline)),
            "order": self.picture_place,
            "system": self.system_place,
        }
        named = {"prompts": self.chosen.name, "prompts_sha256": self.texts.digest()}
        if self.zoom == "crop":
            resolved["zoom_share"] = self.share
        return {"protocol": settings.pop("protocol"), **named, **settings, **resolved}

    def dialogue(self, view: PlaceView) -> Dialogue:
        """Ask for a point. Raises ValueError unless the item shows exactly one picture."""
        picture = one_picture(view.pictures, f"item {view.unit_id}")
        reply = yield self._ask(view, picture, 0)
        assert isinstance(reply, Reply)
        first = self._read(reply, picture)
        if self.zoom == "none" or first.point is None:
            return first
        window = zoomed(picture, first.point, self.share)
        reply = yield self._ask(view, window, 1)
        assert isinstance(reply, Reply)
        second = self._read(reply, window)
        seen = {"first_x": first.point[0], "first_y": first.point[1]}
        return flagged(replace(second, parsed={**second.parsed, **seen}), first.flags)

    def _ask(self, view: PlaceView, picture: Picture, number: int) -> Ask:
        conversation = Conversation(self.opening(view.content, picture))
        return Ask(conversation, self.places[number], max_tokens=limit_of(self.max_tokens, number))

    def _read(self, reply: Reply, picture: Picture) -> Prediction:
        answer = read_point(
            reply.text,
            self.answer_form,
            finish=reply.finish.value,
            place_only=True,
            declines=self.ways_to_decline,
        )
        found = located(answer, self.convention, picture)
        action = None if found.point is None else Action(CLICK, point=found.point)
        parsed = {} if found.box is None else dict(zip(EDGES, found.box, strict=True))
        if found.status is Status.OUT_OF_RANGE and answer.point is not None:
            parsed = dict(zip(("numbers_x", "numbers_y"), answer.point, strict=True))
        return Prediction(found.status, action, answer.flags, parsed=parsed)

    def write(self, view: PlaceView, said: Prediction) -> Mapping[str, str]:
        """Return the reply with the point of `said`, or that nothing fits.

        Reading it gives the point back up to the form's rounding, in the window if there is one.
        """
        picture, replies = one_picture(view.pictures, f"item {view.unit_id}"), {}
        for place in self.places:
            point = said.point
            numbers = None if point is None else numbers_of(point, self.convention, picture)
            replies[place] = write_place(self.answer_form, numbers)
            first = self._read(Reply(replies[place]), picture)
            if first.point is None:
                break
            picture = zoomed(picture, first.point, self.share)
        return replies

    def opening(self, instruction: str, picture: Picture) -> tuple[Message, ...]:
        """Return the messages about a picture."""
        texts, size = self.texts, {"width": picture.width, "height": picture.height}
        most = MOST[self.convention]
        across, down = size.values() if most is None else (round(most), round(most))
        screen = {**size, "resolution": f"{across}x{down}"}
        numbers = texts.fill("numbers", **size)
        question = texts.fill(
            "question",
            instruction=instruction,
            answer=texts.fill("answer", numbers=numbers),
            numbers=numbers,
            **screen,
        )
        if self.refusals == "offered":
            none = write_place(self.answer_form, None)
            question += "\n\n" + texts.fill("declining", none=none)
        asked = illustrated((picture,), question, order=self.picture_place)
        system_text = texts.fill("system", **screen)
        if not system_text or self.system_place == "none":
            return (asked,)
        if self.system_place == "merged":
            return (user(system_text, *asked.parts),)
        return system(system_text), asked
