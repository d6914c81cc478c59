"""The base class of protocols: a dialogue, its inverse, and the facts that compare results.

A protocol is a frozen dataclass that derives from `AskingProtocol` and names the class of views
that it answers (`harness.views`); those about steps derive from `StepProtocol`. Its fields are its
settings: their names, types and defaults. The class itself is registered (here, or in the
entry-point group `vlm_eval.protocols`); `harness.protocols.open_protocol` fills the fields from a
run's settings.

    @dataclass(frozen=True)
    class OneList(StepProtocol):
        history: int | str | None = None  # what is shown of earlier steps; None: all actions

        name = "one-list"
        places = ("choose",)

        def dialogue(self, view):
            reply = yield Ask(conversation, "choose")
            return Prediction.of(...)

Facts of the protocol (`name`, `needs`, `places`, `roles`, ...) are class attributes without
annotation, which keeps them from being fields. The run's options of these names fill the fields
`prompts`, `history`, `max_tokens`, `none`, `first_of_many` and `value_style`; all others are set by
`--protocol-option name=value`, read by their type. `__post_init__` may raise `UserError` or
ValueError.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from adapters.contract import AdapterInfo
from harness.candidates import Form
from harness.dialogue import Dialogue
from harness.options import History
from harness.options import NoneRule as NoneRule
from harness.options import Source as Source
from harness.records import Choice, Step
from harness.views import StepView
from parsers import letter
from parsers.actions import ActionSpace, Counterparts
from parsers.records import Answer, Prediction, Status

if TYPE_CHECKING:
    from harness.pictures import PicturePolicy

SOURCES: tuple[Source, ...] = ("snapshot", "ranker", "all")


@dataclass(frozen=True, slots=True)
class Needs:
    """Needs of a protocol in candidates and page; the run prepares no more."""

    sources: tuple[Source, ...] = SOURCES
    """Its possible candidate sources, the default first: `snapshot` (one positive among seeded
    negatives), `ranker` (the `top_k` best of a ranker, in its order, with or without a positive),
    `all` (every candidate, in document order)."""
    top_k: int = 50
    """Default number of a ranker's candidates."""
    pictures: Literal["page", "crops", "none"] = "page"
    """Pictures it shows: the step's (`page`), crops that it requests from the scene, or none."""
    picture_policy: str = "full"
    """Default of `--image-policy`."""
    descriptions: bool = False
    """True if choices carry descriptions (role, type, labels, text)."""
    texts: bool = True
    """True if it reads the choices' texts."""
    point: bool = False
    """True if the model answers with coordinates."""
    scene: bool = True
    """True if it reads the page during the dialogue: the page must be kept."""
    sees: bool = False
    """True if it needs pictures."""
    shuffles: bool = False
    """True if it assigns candidates at random and follows `Step.shuffle`."""
    before: bool = False
    """True if it looks at the earlier steps (`Step.before`), whatever `--history` asks for."""
    segments: bool = False
    """True if it also shows their elements (`Earlier.segment`), from the pages of their steps."""
    turns: bool = False
    """True if it shows the finished turns of a step's conversation (`Step.turns`)."""
    form: Form = "mindact"
    """Form of a choice's text."""
    choice_tokens: int = 400
    """Limit of that text in tokens, where the form has one."""
    usual_history: str | None = None
    """The earlier steps that `history=auto` shows (`History`); None: all actions."""


@dataclass(frozen=True, slots=True)
class Role:
    """A further model or embedder that a protocol asks (`Ask.role`, `Embed.role`).

    Raises ValueError for a name that cannot be an option.
    """

    name: str
    help: str
    """A line for the list of protocols: its task."""
    kind: Literal["ask", "embed"] = "ask"
    default: str | None = None
    """The default model or embedder. None: the model under test, or the embedder `lexical`."""

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise ValueError(f"'{self.name}' is not the name of a role: letters, digits and _ only")


@dataclass(frozen=True, slots=True)
class Lettering:
    """Option letters of the choices in listed order; "" if each group has its letters."""

    choices: tuple[str, ...]
    none: str | None = None
    """Letter of the None option, if there is one."""


def text_first(protocol: AskingProtocol) -> bool:
    """Return True if a protocol sends its pictures behind the text (option `order`)."""
    return getattr(protocol, "order", "") == "text-first"


def lettering(protocol: AskingProtocol, count: int) -> Lettering:
    """Return the letters of `count` choices: the None option's is the first, the last or none.

    None has a letter unless all of them are listed at once. Raises ValueError for too many.
    """
    return _lettering(count, protocol.none_rule) if protocol.lettered else Lettering(("",) * count)


@lru_cache(maxsize=64)
def _lettering(count: int, none_rule: str | None) -> Lettering:
    """One for all steps that list as many."""
    if none_rule == "first":
        return Lettering(tuple(letter(i + 1) for i in range(count)), letter(0))
    choices = tuple(letter(i) for i in range(count))
    return Lettering(choices, letter(count) if none_rule == "last" else None)


def to_prediction(answer: Answer, choices: Sequence[Choice], lettering: Lettering) -> Prediction:
    """Convert an answer in terms of listed options to a prediction in terms of elements."""
    picked = None if answer.option is None else lettering.choices[answer.option]
    return Prediction.of(
        status=answer.status,
        letter=lettering.none if answer.status is Status.NONE else picked,
        element=None if answer.option is None else choices[answer.option].id,
        operation=answer.operation,
        value=answer.value,
        flags=answer.flags,
    )


@dataclass(frozen=True)
class AskingProtocol(ABC):
    """A way to ask about what a benchmark shows. Instances are values: the same settings give the
    same dialogues.

    Only `name`, `View` and `dialogue` have no default. A protocol that makes calls also needs
    `write`, for baselines, and `places` or `calls`, for estimates.
    """

    name: ClassVar[str]
    """Its name in the registry."""
    View: ClassVar[type[Any]]
    """The class of what it is shown of a unit (`harness.views`)."""
    paper: ClassVar[str] = ""
    """The publication of this way to ask."""
    actions: ClassVar[ActionSpace | None] = None
    """The actions that it reads and writes; None for those of the benchmark."""
    counterparts: ClassVar[Mapping[str, Counterparts]] = {}
    """Counterparts of its actions in the spaces of benchmarks, by the names of these spaces.

    Needed for benchmarks with another action space. An action without a counterpart becomes an
    answer without an operation, flagged `other_action`.
    """
    of_model: ClassVar[tuple[str, ...]] = ()
    """Names of `settings` that belong to the model while they equal those of `for_model`: models
    that differ in them are still comparable."""
    lettered: ClassVar[bool] = False
    """True if it lists all choices at once, each with its letter (`lettering`)."""
    can_be_stored: ClassVar[bool] = False
    """True if a data set may store its questions, in two rounds."""

    @property
    def history_shown(self) -> History:
        """The earlier steps shown: its field `history`, all actions if it has none."""
        history = getattr(self, "history", None)
        return History.parse(self.needs.usual_history if history == "auto" else history)

    @property
    def places(self) -> tuple[str, ...]:
        """Names of a unit's calls, in order, if they are the same for every unit."""
        return ()

    @property
    def needs(self) -> Needs:
        """Its needs in a unit and its surroundings."""
        return Needs()

    @property
    def roles(self) -> tuple[Role, ...]:
        """Further models and embedders; the user chooses them (`--role`)."""
        return ()

    @property
    def none_rule(self) -> str | None:
        """The None option: `first` or `last` in a list, or words."""
        return None

    @property
    def written(self) -> bool:
        """True if the model writes the element instead of choosing among listed ones."""
        return False

    @property
    def rules(self) -> tuple[str, ...]:
        """Further rules by which its replies can be read; what each reads is scored as well
        (`Prediction.by_rule`)."""
        return ()

    @property
    def way(self) -> str:
        """The way to ask, in the words of published rows (`tournament of five`)."""
        return self.name

    @abstractmethod
    def dialogue(self, view: Any) -> Dialogue:
        """Ask about one unit: a pure function of the view and the replies."""

    def write(self, view: Any, said: Prediction) -> Mapping[str, str]:
        """Return the replies, by place, of a model that has settled on `said`."""
        return {}

    def candidate_description(self, source: Source, top_k: int | None) -> str:
        """Return the candidates it asks about, in the words of published rows.

        For example `ranker top-50, tournament of five`.
        """
        pools = {"snapshot": "snapshot", "ranker": f"ranker top-{top_k}", "all": "all elements"}
        return f"{pools[source]}, {self.way}"

    def calls(self, count: int) -> tuple[int, int]:
        """Return the least and the largest number of calls of a unit with `count` candidates.

        It counts calls to the model under test; those to other roles are estimated from a dialogue
        of empty replies.
        """
        return len(self.places), len(self.places)

    def settings(self) -> dict[str, object]:
        """All settings that change dialogues, for the run's record: the fields by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"protocol": self.name, **{name: _plain(value) for name, value in values.items()}}

    @classmethod
    def for_model(cls, values: Mapping[str, object], model: AdapterInfo) -> Mapping[str, object]:
        """Complete the user's `values` for fields by those that follow from the model.

        Not called if a policy answers.
        """
        return values

    def check(self, pictures: PicturePolicy, model: AdapterInfo) -> None:
        """Raise `UserError` if this model or these pictures cannot be used."""
        return

    def notes(self, flags: Mapping[str, int]) -> list[str]:
        """Lines to print below a result; `flags` counts the predictions that carry each flag."""
        return []


@dataclass(frozen=True)
class StepProtocol(AskingProtocol):
    """A way to ask about a page before an action, whose elements are offered as candidates."""

    View = StepView

    @abstractmethod
    def dialogue(self, view: StepView) -> Dialogue:
        """Ask about one step. Raises ValueError if there is nothing to choose from."""


def offered(view: StepView) -> tuple[Step, Sequence[Choice]]:
    """Return a step and the choices of a protocol that needs some. Raises ValueError without."""
    if not view.choices:
        raise ValueError(f"step {view.step.step_id} has no choices to offer")
    return view.step, view.choices


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, Path) else value


def flagged(prediction: Prediction, flags: Iterable[str]) -> Prediction:
    """Add flags to a prediction, sorted."""
    return replace(prediction, flags=tuple(sorted({*prediction.flags, *flags})))


def limit_of(max_tokens: Sequence[int], round_number: int) -> int | None:
    """Return the token limit of a round (from 0); the last limit also applies to later rounds."""
    return max_tokens[min(round_number, len(max_tokens) - 1)] if max_tokens else None
