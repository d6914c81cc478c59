"""SeeAct's two rounds with textual choices (Zheng et al. 2024, section 3.2 and appendix).

Round 1 shows page, task and history and asks for a description of the next action. Round 2
continues the conversation, lists the choices with letters and asks for three lines (`ELEMENT`,
`ACTION`, `VALUE`). The picture is sent once, in round 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

from msgspec import Meta

from adapters.conversation import (
    Conversation,
    Message,
    Order,
    Part,
    Picture,
    Reply,
    Role,
    Text,
    system,
    user,
)
from harness.candidates import Form
from harness.dialogue import Ask, Dialogue
from harness.options import History, NoneRule, Source
from harness.protocols.contract import (
    Lettering,
    Needs,
    flagged,
    lettering,
    limit_of,
    to_prediction,
)
from harness.protocols.texts import (
    MEMORY,
    PromptedProtocol,
    Schema,
    Texts,
    history_of,
    with_earlier,
)
from harness.records import Choice, Earlier, Step
from harness.views import StepView
from parsers import ValueStyle, read_answer, write_answer
from parsers.records import Prediction
from parsers.reply_text import ENDED

ROUND_TEXTS = {
    "system": frozenset[str](),
    "first": frozenset({"task", "history", "pictures"}),
    "history_line": frozenset({"number", "action"}),
    "no_history": frozenset[str](),
    "one_picture": frozenset[str](),
    "several_pictures": frozenset({"count"}),
    **MEMORY,
}
"""Texts of the first round, in all of SeeAct's ways to ask."""
ROUND_NEEDS = {"first": frozenset({"task"}), "history_line": frozenset({"action"})}
SCHEMA = Schema(
    file="seeact.toml",
    allowed={
        **ROUND_TEXTS,
        "first_without_picture": frozenset({"task", "history"}),
        "second": frozenset({"choices", "last_letter", "none_notice"}),
        "none_option": frozenset(),
        "none_notice": frozenset({"none_letter"}),
    },
    needed={
        **ROUND_NEEDS,
        "first_without_picture": frozenset({"task"}),
        "second": frozenset({"choices"}),
        "none_notice": frozenset({"none_letter"}),
    },
    further=frozenset(MEMORY),
)
"""The keys of `harness/prompts/seeact.toml`, which says what each text is for."""

FIRST, SECOND = "round-1", "round-2"
_NEEDS = Needs(("snapshot", "ranker"), scene=False)


@dataclass(frozen=True)
class TwoRounds(PromptedProtocol):
    """Describe the next action, then choose from one list of all candidates."""

    none: NoneRule = "last"
    """Position of the None option, if there is one."""
    history: int | str | None = None
    """The earlier steps shown (`History`); None: all actions."""
    max_tokens: tuple[int, ...] = ()
    """Token limits of the replies by round, the last one for all later rounds."""
    first_of_many: bool = False
    """True if a reply that names several letters counts as the first of them."""
    value_style: ValueStyle = "plain"
    """Clean-up of values in replies."""
    form: Form = "mindact"
    """Form of a choice: MindAct's with ten words, or compact HTML (`bnid`)."""
    choice_tokens: Annotated[int, Meta(ge=1)] = 400
    """Token limit of a choice written as `bnid`."""
    order: Order = "picture-first"
    """Where the picture stands."""

    name = "seeact-two-rounds"
    paper = "Zheng et al. 2024 (SeeAct), textual choices on a seeded snapshot"
    way = "one list"
    places = (FIRST, SECOND)
    can_be_stored = True
    lettered = True
    schema = SCHEMA

    def __post_init__(self) -> None:
        """Raise `UserError` for a wrong prompt file, ValueError for a limit without effect."""
        if self.choice_tokens != 400 and self.form != "bnid":
            raise ValueError("choice_tokens has no effect without form=bnid")
        super().__post_init__()

    @property
    def none_rule(self) -> str:
        return self.none

    @property
    def needs(self) -> Needs:
        return replace(_NEEDS, form=self.form, choice_tokens=self.choice_tokens)

    def candidate_description(self, source: Source, top_k: int | None) -> str:
        """Return the candidates, marked where their form is not that of published rows."""
        described = super().candidate_description(source, top_k)
        return described if self.form == "mindact" else f"{described}, {self.form}"

    def dialogue(self, view: StepView) -> Dialogue:
        """Describe, then choose. Raises ValueError without choices."""
        step, choices = view.step, view.choices
        if not choices:
            raise ValueError(f"step {step.step_id} has no choices to offer")
        rounds = described_first(
            self.opening(step),
            self.question(step, choices),
            partial(self.read, choices=choices),
            places=(FIRST, SECOND),
            max_tokens=self.max_tokens,
            prefix=step.stored.reply_prefix if step.stored is not None else "",
        )
        return (yield from rounds)

    def read(self, reply: Reply, choices: Sequence[Choice]) -> Prediction:
        """Return the reply of round 2 as a prediction."""
        letters = lettering(self, len(choices))
        answer = read_answer(
            reply.text,
            [choice.text for choice in choices],
            letters=letters.choices,
            none_letter=letters.none,
            finish=reply.finish.value,
            first_of_many=self.first_of_many,
            value_style=self.value_style,
        )
        listed = Lettering(tuple(choice.letter for choice in choices), letters.none)
        return to_prediction(answer, choices, listed)

    def write(self, view: StepView, said: Prediction) -> Mapping[str, str]:
        """Both replies of a model that has settled on `said`."""
        choices = view.choices
        position = next((i for i, c in enumerate(choices) if c.id == said.element), None)
        letters = lettering(self, len(choices))
        answer = write_answer(
            position,
            said.operation,
            said.value,
            letters=letters.choices,
            none_letter=letters.none,
        )
        what = choices[position].text if position is not None else "none of the elements"
        return {FIRST: f"{said.operation or 'No action'}: {what}", SECOND: answer}

    def opening(self, step: Step) -> tuple[Message, ...]:
        """Return the messages of round 1."""
        if step.stored is not None:
            return to_messages(step.stored.first, step.pictures)
        return first_messages(self.texts, step, step.pictures, self.history_shown, self.order)

    def question(self, step: Step, choices: Sequence[Choice]) -> tuple[Message, ...]:
        """Return the messages that round 2 adds after the model's reply."""
        if step.stored is not None:
            shown = sum(len(message.pictures) for message in self.opening(step))
            return to_messages(step.stored.second, step.pictures[shown:])
        letters = lettering(self, len(choices))
        lines = [f"{c.letter}. {c.text}" for c in choices]
        notice = ""
        if letters.none is not None:
            line = f"{letters.none}. {self.texts['none_option']}"
            lines.insert(0 if self.none == "first" else len(lines), line)
            notice = self.texts.fill("none_notice", none_letter=letters.none)
        last = max((*letters.choices, letters.none or "A"), key=lambda text: (len(text), text))
        text = self.texts.fill(
            "second", choices="\n".join(lines), last_letter=last, none_notice=notice
        )
        return (user(text),)


def first_messages(
    texts: Texts, step: Step, pictures: Sequence[Picture], memory: History, order: Order
) -> tuple[Message, ...]:
    """Return the messages of the first round: task, earlier steps and pictures.

    Without pictures, `first_without_picture` is used if the protocol has such a text.
    """
    task, history = step.info.task, history_of(texts, step, memory)
    if not pictures and "first_without_picture" in texts.texts:
        text = texts.fill("first_without_picture", task=task, history=history)
        return system(texts["system"]), user(text)
    shown = texts["one_picture"]
    if len(pictures) > 1:
        shown = texts.fill("several_pictures", count=len(pictures))

    def question(before: str) -> str:
        return texts.fill("first", task=task, history=history, pictures=before + shown)

    asked = with_earlier(texts, question, step, pictures, memory, order, partial(_reply, memory))
    return system(texts["system"]), *asked


def _reply(memory: History, step: Earlier) -> str:
    """The model's text in an earlier turn: its thoughts, where shown, or its action."""
    return (step.thoughts if memory.thoughts else "") or step.words


def described_first(
    start: Sequence[Message],
    question: Sequence[Message],
    read: Callable[[Reply], Prediction],
    *,
    places: tuple[str, str],
    max_tokens: Sequence[int] = (),
    prefix: str = "",
) -> Dialogue:
    """Ask for a description of the next action, then the question, and `read` its answer.

    Args:
        start: the messages of the first round.
        question: the messages that the second round adds after the model's reply.
        read: turns the second reply into a prediction.
        places: the names of the rounds.
        max_tokens: the token limits of the rounds, see `limit_of`.
        prefix: text put before the first reply when it is sent back.
    """
    first, second = places
    conversation = Conversation(tuple(start))
    described = yield Ask(conversation, first, True, limit_of(max_tokens, 0))
    assert isinstance(described, Reply)
    if described.finish in ENDED:
        # Without a description there is nothing to continue from.
        return Prediction(ENDED[described.finish], flags=("round-1",))
    sent_back = replace(described, text=prefix + described.text) if prefix else described
    continued = conversation.then(sent_back, *question)
    answered = yield Ask(continued, second, max_tokens=limit_of(max_tokens, 1))
    assert isinstance(answered, Reply)
    prediction = read(answered)
    return flagged(prediction, ["round-1-truncated"] if described.finish == "length" else [])


ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}


def to_messages(
    stored: Iterable[Mapping[str, object]], pictures: Iterable[Picture]
) -> tuple[Message, ...]:
    """Return the stored messages, whose image parts are replaced by the pictures in order.

    Raises ValueError for an unknown role or kind of part, and if there are too few pictures.
    """
    left = iter(pictures)
    return tuple(_message(message, left) for message in stored)


def _message(stored: Mapping[str, object], left: Iterator[Picture]) -> Message:
    role = ROLES.get(str(stored.get("role")))
    if role is None:
        raise ValueError(f"stored message has role {stored.get('role')!r}")
    content = stored.get("content")
    if isinstance(content, str):
        return Message(role, (Text(content),))
    if not isinstance(content, (list, tuple)):
        raise ValueError("stored message has no content")
    return Message(role, tuple(_part(part, left) for part in content))


def _part(part: object, left: Iterator[Picture]) -> Part:
    if isinstance(part, Mapping):
        kind = part.get("type")
        if kind == "text" or (kind is None and isinstance(part.get("text"), str)):
            return Text(str(part.get("text", "")))
        if kind in ("image_url", "image"):
            picture = next(left, None)
            if picture is not None:
                return picture
            raise ValueError("stored message shows a picture that the row does not have")
    raise ValueError("stored message has a part that is neither text nor picture")
