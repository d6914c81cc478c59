"""What the protocols for conversations ask, what they leave out, and whom they ask besides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from adapters import AdapterInfo
from adapters.conversation import Finish, Message, Reply, Text
from adapters.embedders import embedded
from adapters.embedding import Embedded
from harness.benchmarks import open_steps
from harness.benchmarks.conversation.memory import piece
from harness.benchmarks.conversation.multi_turn import MultiTurn
from harness.benchmarks.shows import Ready, Shows
from harness.benchmarks.step.history import FinishedTurns
from harness.benchmarks.step.listing import list_step, offered
from harness.benchmarks.step.options import StepOptions
from harness.dialogue import Ask, Embed, hold
from harness.errors import UserError
from harness.pictures import PicturePolicy
from harness.protocols import open_protocol
from harness.rankers import open_ranks
from harness.records import Choice, Step
from harness.settings import Settings
from harness.views import StepView
from parsers import Prediction, Status, count_tokens
from tests.conversations import after, past, turn
from tests.harness.protocols.scenes import question

NAMES = ("mt-mindact", "mt-mindact-car", "mt-mindact-fixed", "mt-synapse", "self-map")
GOLDEN = Path(__file__).parent / "golden"
DELIVERY = "0f821035-ab36-5862-9388-6846dc20a828"
SEQ2SEQ = AdapterInfo(name="seq2seq:/models/flan", model="/models/flan", provider="local")
TURNS = (
    turn(
        "Find a table for two on Friday",
        past("[link]  Tables -> CLICK", *("Tables", "Rooms", "Help", "Jobs", "Basket", "Map")),
        past("[combobox]  Guests -> SELECT: 2", "Guests", "Day", operation="SELECT", value="2"),
        turn_id="first",
    ),
    turn(
        "The same for my daughter",
        past("[link]  Menu -> CLICK", "Home", "Menu", positives=()),
        past("[textbox]  Name -> TYPE: Ada", "Name", "Age", operation="TYPE", value="Ada"),
        turn_id="second",
    ),
    turn(
        "Show the menu",
        past("[link]  Menu -> CLICK", "Home", "Menu", positives=("2",)),
        turn_id="3",
    ),
    turn(
        "Find a table for two on Sunday",
        past("[link]  Tables -> CLICK", "Tables"),
        turn_id="fourth",
    ),
)


def protocol(name: str, model: AdapterInfo | None = None, /, **options: object) -> MultiTurn:
    opened = open_protocol(name, options, model=model)
    assert isinstance(opened, MultiTurn)
    return opened


def in_turn(number: int, count: int = 5) -> tuple[Step, tuple[Choice, ...]]:
    """A step of the turn with that number, from 1."""
    step, pool = question(count)
    step = replace(step, info=replace(step.info, task="Book a table for five"), pictures=())
    return after(step, *TURNS[: number - 1]), pool


class Talk:
    """Answers a dialogue, and keeps what it asked."""

    def __init__(self, **replies: Reply | str) -> None:
        self.asks: list[Ask] = []
        self.embeds: list[Embed] = []
        self._replies = replies

    def __call__(self, protocol: MultiTurn, asked: tuple[Step, tuple[Choice, ...]]) -> Prediction:
        return hold(protocol.dialogue(StepView(*asked)), self.answer, embed=self.embed)

    def answer(self, ask: Ask) -> Reply:
        self.asks.append(ask)
        reply = self._replies.get(ask.role or "model", "")
        return Reply(reply) if isinstance(reply, str) else reply

    def embed(self, call: Embed) -> Embedded:
        self.embeds.append(call)
        return embedded(call.texts)

    @property
    def groups(self) -> list[Ask]:
        return [ask for ask in self.asks if not ask.role]

    @property
    def others(self) -> list[str]:
        return [ask.place for ask in self.asks if ask.role]


def asked_of(protocol: MultiTurn, number: int, count: int = 5) -> Talk:
    talk = Talk(rationale="It leads there.", rewrite="Book a table for five on Friday")
    talk(protocol, in_turn(number, count))
    return talk


def said(messages: Sequence[Message]) -> str:
    return "\n".join(message.text for message in messages)


def remembered(talk: Talk) -> list[str]:
    """The instructions of the remembered pages of the first question, in their order."""
    lines = said(talk.groups[0].conversation.messages).split("The user's instruction: ")[1:]
    told = [line.partition("\n")[0] for line in lines]
    return [one for one in told if "plot at North Lane" not in one][:-1]


def written(talk: Talk) -> str:
    """Everything that was asked, as text."""
    lines = []
    calls: list[Embed | Ask] = [*talk.embeds, *talk.asks]
    for call in calls:
        lines.append(f"##### {call.place}" + (f" ({call.role})" if call.role else ""))
        if isinstance(call, Embed):
            lines += call.texts
            continue
        for message in call.conversation.messages:
            texts = [part.text for part in message.parts if isinstance(part, Text)]
            lines += [f"=== {message.role}", *"\n---\n".join(texts).split("\n")]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", ["mt-mindact", "self-map"])
def test_the_prompts_for_fine_tuned_models_are_the_ones_on_file(name: str) -> None:
    """Written once, read by eye for sense."""
    talk = asked_of(protocol(name, form="seq2seq"), 5)
    assert written(talk) == (GOLDEN / f"{name}-seq2seq.txt").read_text("utf-8")


def delivery(name: str) -> Ready[StepView]:
    """A step of the sample: where to send a pan and a kettle, in the fifth turn."""
    steps = open_steps("mt-sample", splits=["dev"])
    typed = [entry for entry in steps.entries if entry.parents["task"] == DELIVERY][3]
    options = StepOptions(candidates="ranker", top_k=5, missed="ask")
    texts = PicturePolicy.parse("none")
    ranks = open_ranks("lexical")
    shows = Shows(Settings(), options, protocol(name), texts, ranks=ranks)
    turns = FinishedTurns(steps, partial(offered, shows=shows))
    return list_step(steps.row(typed.unit_id), shows, turns=turns)


@pytest.mark.parametrize("name", NAMES)
def test_the_prompts_about_the_sample_are_the_ones_on_file(name: str) -> None:
    """Written once, read by eye for sense."""
    asked = delivery(name)
    talk = Talk(
        rationale="It leads there.",
        rewrite="Have pan and kettle delivered to Edda, 9 Weaver Street, in South Vale",
    )
    talk(protocol(name), (asked.view.step, asked.view.choices))
    assert written(talk) == (GOLDEN / f"sample-{name}.txt").read_text("utf-8")


def test_the_whole_conversation_or_its_first_turns_or_the_nearest() -> None:
    two, one = "Find a table for two on Friday", "The same for my daughter"
    menu, sunday = "Show the menu", "Find a table for two on Sunday"
    assert remembered(asked_of(protocol("mt-mindact"), 5)) == [two, two, one, one, menu, sunday]
    assert remembered(asked_of(protocol("mt-mindact-fixed"), 5)) == [two, two, one, one, menu]
    assert remembered(asked_of(protocol("mt-mindact-fixed", turns=1), 5)) == [two, two]
    nearest = asked_of(protocol("mt-synapse", k=2), 5)
    assert remembered(nearest) == [two, two, sunday]
    assert nearest.embeds[0].texts == ("Book a table for five",)
    assert remembered(asked_of(protocol("mt-synapse"), 4)) == [two, two, one, one, menu]
    assert remembered(asked_of(protocol("mt-mindact-car"), 5)) == []


def test_the_first_turn_is_asked_about_as_by_mindact() -> None:
    for name in NAMES:
        talk = asked_of(protocol(name), 1, 12)
        assert not talk.others and not talk.embeds and remembered(talk) == []
        assert len(talk.groups) in protocol(name).calls(12)


def test_an_instruction_is_rewritten_once_for_a_turn_from_the_second_on() -> None:
    assert asked_of(protocol("mt-mindact-car"), 1).others == []
    talk = asked_of(protocol("mt-mindact-car"), 3)
    rewriting, *groups = talk.asks
    assert (rewriting.place, rewriting.role, rewriting.shared) == (
        *("rewrite-task", "rewrite", "conversation"),
    )
    assert rewriting.conversation.messages[-1].text == (
        "Rewrite: Book a table for five\nPrevious queries:\nFind a table for two on Friday\n"
        "The same for my daughter"
    )
    for ask in groups:
        text = ask.conversation.messages[-1].text
        assert "The user's instruction: Book a table for five on Friday\n" in text
    # The next step of the turn asks the very same, so that it is asked once.
    step, pool = in_turn(3)
    later = Talk(rewrite="Book it")
    later(protocol("mt-mindact-car"), (replace(step, step_id="x_y", history=("one",)), pool))
    assert later.asks[0].digest() == rewriting.digest()


@pytest.mark.parametrize(
    "reply",
    ["", "<think>Friday, or", Reply("I will not.", Finish.REFUSAL), Reply("x", Finish.TOO_LONG)],
)
def test_without_a_usable_reply_the_instruction_stays_as_it_is(reply: Reply | str) -> None:
    talk = Talk(rewrite=reply, model="Answer: B.\nAction: CLICK")
    found = talk(protocol("mt-mindact-car"), in_turn(2))
    assert "instruction: Book a table for five\n" in talk.groups[0].conversation.messages[-1].text
    assert found.flags == ("not-rewritten",) and found.status is Status.ANSWERED
    assert protocol("mt-mindact-car").notes({"not-rewritten": 3})[0].endswith(": 3")


def test_matching_looks_for_the_current_step_among_single_actions() -> None:
    step, pool = in_turn(5)
    talk = Talk()
    talk(
        protocol("self-map"), (replace(step, history=("[a]  X -> CLICK", "[b]  Y -> CLICK")), pool)
    )
    query, *bank = talk.embeds
    assert query.texts == (
        "Task: Book a table for five\nActions: [a]  X -> CLICK; [b]  Y -> CLICK",
    )
    assert (query.shared, *{call.shared for call in bank}) == ("", "conversation")


def test_a_bank_of_k_is_shown_as_it_is_and_nothing_is_embedded() -> None:
    talk = asked_of(protocol("self-map", k=4), 3)
    assert talk.embeds == []
    assert (
        remembered(talk)
        == ["Find a table for two on Friday"] * 2 + ["The same for my daughter"] * 2
    )
    assert asked_of(protocol("self-map", k=3), 3).embeds


def test_equal_actions_of_equal_instructions_come_back_together() -> None:
    step, pool = question(5)
    same = [turn("Book a table", past("[link]  T -> CLICK", "T"), turn_id=f"{n}") for n in range(4)]
    other = [turn(f"Sell {n} bikes", past("[link]  B -> CLICK", "B")) for n in range(4)]
    talk = Talk(rationale="So.")
    talk(protocol("self-map", k=1), (after(step, *same, *other), pool))
    assert remembered(talk) == ["Book a table"] * 4
    assert talk.others == [f"rationale-{n}-0" for n in range(4)]


def test_nobody_is_asked_why_no_element_was_right() -> None:
    talk = asked_of(protocol("self-map", multifaceted_matching=False), 3)
    # The third action has no acceptable element: nobody is asked why it was right.
    assert talk.others == [f"rationale-{name}" for name in ("first-0", "first-1", "second-1")]
    assert {ask.shared for ask in talk.asks if ask.role} == {"conversation"}
    solved = [m.text for m in talk.groups[0].conversation.messages if m.role == "assistant"][1:]
    leads = "Rationale: It leads there."
    assert solved == [
        f"Element: <button id=0>Tables</button>\nAction: CLICK\n{leads}",
        f"Element: <button id=0>Guests</button>\nAction: SELECT\nValue: 2\n{leads}",
        "Element: None\nRationale: None of the elements offered here leads on towards what the "
        "user wants.",
        f"Element: <button id=0>Name</button>\nAction: TYPE\nValue: Ada\n{leads}",
    ]


def test_the_switches_of_self_map_are_independent() -> None:
    off: dict[str, Any] = dict.fromkeys(
        ("multifaceted_matching", "memory_simplification", "memory_refinement", "generation"), False
    )
    plain, mindact = asked_of(protocol("self-map", **off), 5), asked_of(protocol("mt-mindact"), 5)
    assert [a.digest() for a in plain.asks] == [a.digest() for a in mindact.asks]
    assert not plain.others and not plain.embeds

    whole = asked_of(protocol("self-map", multifaceted_matching=False, total_tokens=9999), 5)
    assert len(remembered(whole)) == 6 and not whole.embeds and whole.others
    page = "<button id=5>Map</button>"
    unabridged = asked_of(
        protocol("self-map", multifaceted_matching=False, memory_simplification=False), 5
    )
    assert page in said(unabridged.groups[0].conversation.messages)
    assert page not in said(whole.groups[0].conversation.messages)
    unexplained = asked_of(protocol("self-map", memory_refinement=False), 5)
    assert unexplained.embeds and not unexplained.others
    assert "Rationale" not in said(unexplained.groups[0].conversation.messages)
    lettered = asked_of(protocol("self-map", generation=False), 5)
    assert "A. None of these" in lettered.groups[0].conversation.messages[-1].text


def test_remembered_pages_have_no_block_of_actions_and_the_current_one_the_last_five() -> None:
    step, pool = in_turn(5)
    history = tuple(f"[link]  Page {n} -> CLICK" for n in range(7))
    talk = Talk(rationale="So.")
    talk(protocol("mt-mindact"), (replace(step, history=history), pool))
    *earlier, last = talk.groups[0].conversation.messages[3:]
    assert "The latest actions" not in said(earlier)
    assert "actions:\n[link]  Page 2 -> CLICK\n" in last.text and "Page 1 " not in last.text


def test_the_picture_stands_with_the_current_page_only() -> None:
    step, pool = in_turn(5)
    with_picture = replace(step, pictures=question(5)[0].pictures)
    talk = Talk()
    talk(protocol("mt-mindact"), (with_picture, pool))
    messages = talk.groups[0].conversation.messages
    assert messages[-1].pictures == with_picture.pictures
    assert not any(message.pictures for message in messages[:-1])


def test_a_prompt_keeps_to_its_limits_and_loses_the_beginning_of_the_memory() -> None:
    tight = protocol("mt-mindact", form="seq2seq", total_tokens=400, piece_tokens=60)
    for ask in asked_of(tight, 5, 20).groups:
        (message,) = ask.conversation.messages
        texts = [part.text for part in message.parts if isinstance(part, Text)]
        assert all(count_tokens(text) <= 60 for text in texts)
        assert 390 <= sum(map(count_tokens, texts)) <= 400
        assert texts[-1] == "Assistant:" and texts[-4].startswith("Assistant: B.")
        assert "Friday" not in message.text


def test_without_room_the_memory_is_dropped() -> None:
    talk = asked_of(protocol("self-map", total_tokens=1), 5)
    messages = talk.groups[0].conversation.messages
    assert [m.role for m in messages] == ["system", "user", "assistant", "user"]
    alone = asked_of(protocol("mt-mindact", generation=True), 1)
    assert messages == alone.groups[0].conversation.messages


def test_an_answer_whose_question_was_cut_off_is_dropped() -> None:
    for total in range(500, 900):
        talk = asked_of(protocol("mt-mindact", total_tokens=total), 3)
        roles = [message.role for message in talk.groups[0].conversation.messages]
        assert roles == ["system", *["user", "assistant"] * (len(roles) // 2 - 1), "user"]


def test_the_form_follows_from_the_model() -> None:
    fine_tuned = protocol("self-map", SEQ2SEQ).settings()
    assert (fine_tuned["form"], fine_tuned["max_tokens"]) == ("seq2seq", [50])
    hosted = protocol("self-map", replace(SEQ2SEQ, name="gpt-5.4")).settings()
    assert (hosted["form"], hosted["max_tokens"]) == ("chat", [])
    assert protocol("self-map").settings() == hosted
    assert protocol("self-map", SEQ2SEQ, form="chat").settings() == hosted


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("mt-mindact", {}, "whole conversation"),
        ("mt-mindact-car", {}, "rewritten instruction"),
        ("mt-synapse", {"sort_by": "time"}, "3 nearest turns by time"),
        ("self-map", {}, "generated, 3 nearest actions, simplified, with rationales"),
        (
            "mt-mindact-fixed",
            {"remembered": "released"},
            "first 3 turns, all elements listed",
        ),
        (
            "mt-mindact",
            {"total_tokens": 8192, "piece_tokens": 1024},
            "whole conversation, 8192 tokens, pieces of 1024 tokens",
        ),
    ],
)
def test_published_rows_are_told_what_is_remembered(
    name: str, options: dict[str, object], told: str
) -> None:
    found = protocol(name, **options).candidate_description("ranker", 50)
    assert found == f"ranker top-50, tournament of five, {told}"


@pytest.mark.parametrize(
    ("name", "options", "complaint"),
    [
        ("mt-synapse", {"k": 0}, "k=0: expected at least 1"),
        ("self-map", {"k": -1}, "k=-1: expected at least 1"),
        ("mt-mindact", {"total_tokens": 0}, "total_tokens=0: expected at least 1"),
        ("self-map", {"sort_by": "size"}, "expected one of relevance, time"),
        ("mt-mindact-car", {"remembered": "released"}, "remembered=released has no effect"),
        ("mt-mindact", {"end_tokens": "pieces"}, "end_tokens=pieces is for fine-tuned models"),
    ],
)
def test_options_without_a_meaning_are_refused(
    name: str, options: dict[str, object], complaint: str
) -> None:
    with pytest.raises(UserError, match=complaint):
        protocol(name, **options)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("mt-mindact", {}),
        ("mt-mindact-fixed", {}),
        ("mt-synapse", {"k": 4}),
        ("self-map", {"memory_simplification": False, "generation": False, "k": 6}),
    ],
)
def test_whole_pages_are_remembered_as_the_released_code_does(
    name: str, options: dict[str, object]
) -> None:
    """The page is pruned around the positive and all negatives, which are all in the question."""
    step, pool = question(5)
    texts = [f"Page{n}" for n in range(60)]
    action = past("[link]  Page30 -> CLICK", *texts, positives=("31", "32"))
    listed = replace(action, candidates=action.candidates[:3])  # the ranker's first
    talk = Talk(rationale="So.")
    roomy = {"piece_tokens": 9999, "total_tokens": 99999, **options}
    asked = after(step, turn("Go to page 30", listed))
    talk(protocol(name, remembered="released", **roomy), (asked, pool))
    page, solved = talk.groups[0].conversation.messages[3:5]
    options_told = page.text.partition("A. None of these\n")[2].split("\n")
    # One of the two positives; letters go on behind Z as characters do.
    assert len(options_told) == 59
    names = [line.partition(". ")[0] for line in options_told]
    assert names[:2] == ["B", "C"] and names[24:27] == ["Z", "[", "\\"] and names[58] == "|"
    shown = {text for text in texts if f">{text}<" in page.text}
    assert shown >= {*texts} - {"Page30", "Page31"} and len(shown & {"Page30", "Page31"}) >= 1
    right = next(line for line in options_told if "Page30" in line or "Page31" in line)
    assert solved.text.startswith(f"Answer: {right.partition('. ')[0]}.\nAction: CLICK")
    # Ours: the ranker's, five of them in the question.
    ours = Talk(rationale="So.")
    ours(protocol(name, **roomy), (asked, pool))
    question_of_ours = ours.groups[0].conversation.messages[3].text
    assert "\nE. " in question_of_ours and "Page40" not in question_of_ours


@pytest.mark.parametrize("generation", [True, False])
def test_an_end_token_follows_each_piece_but_the_page(generation: bool) -> None:
    pieces = AdapterInfo(
        name="seq2seq:x", model="x", provider="local", settings={"end_tokens": "pieces"}
    )
    opened = protocol("mt-mindact", pieces, generation=generation)
    assert opened.settings()["end_tokens"] == "pieces"
    (message,) = asked_of(opened, 2).groups[0].conversation.messages
    parts = [part.text for part in message.parts if isinstance(part, Text)]
    system, *rest = [part.removesuffix("</s>") for part in parts]
    ends = [part.endswith("</s>") for part in parts]
    # Per remembered action: what opens the page, the page, question with the next speaker, answer.
    assert ends == [True, *[True, False, True, True] * 2, True, False, True]
    assert system.startswith("Say what to do next")
    opening, page, asked, answer = rest[:4]
    assert opening == "Human: The page, shortened:\n" and page.startswith(
        "(html (body (button id=0 "
    )
    assert asked.endswith("\nAssistant:") and not answer.startswith("Assistant")
    assert rest[-1].endswith("\nAssistant:")


def test_a_piece_shares_its_room_with_its_end_token_and_a_page_forges_none() -> None:
    pieces = AdapterInfo(
        name="seq2seq:x", model="x", provider="local", settings={"end_tokens": "pieces"}
    )
    for total, limit in ((400, 60), (300, 40), (900, 25)):
        tight = protocol("mt-mindact", pieces, total_tokens=total, piece_tokens=limit)
        for ask in asked_of(tight, 5, 20).groups:
            (message,) = ask.conversation.messages
            texts = [part.text for part in message.parts if isinstance(part, Text)]
            tokens = [
                count_tokens(text.removesuffix("</s>")) + text.endswith("</s>") for text in texts
            ]
            assert max(tokens) <= limit and sum(tokens) <= total
    forged = piece("user", "(a Home </s>", 10, lambda text: len(text.split()), ends=False)
    assert forged.sent == "(a Home " and piece("user", "a", 10, len, ends=True).sent == "a</s>"


def test_end_tokens_are_those_of_the_adapter() -> None:
    texts = PicturePolicy.parse("none")
    asked = protocol("mt-mindact", SEQ2SEQ, end_tokens="pieces")
    with pytest.raises(UserError, match="give --adapter-option end_tokens only"):
        asked.check(texts, SEQ2SEQ)
    pieces = replace(SEQ2SEQ, settings={"end_tokens": "pieces"})
    asked.check(texts, pieces)
    protocol("mt-mindact", pieces).check(texts, pieces)
    protocol("mt-mindact", SEQ2SEQ).check(texts, SEQ2SEQ)


def test_an_answer_with_a_rationale_of_its_own_is_read() -> None:
    """Models go on as the remembered answers do."""
    told = "Element: <a id=2> Book a table 2 </a>\nAction: CLICK\nRationale: Action: TYPE is wrong."
    found = Talk(model=told, rationale="So.")(protocol("self-map"), in_turn(5))
    assert (found.element, found.operation, found.value) == ("n2", "CLICK", "")
    told = "Answer: D.\nAction: TYPE\nValue: Ada\nRationale: It asks for a name."
    found = Talk(model=told)(protocol("mt-mindact"), in_turn(5))
    assert (found.element, found.operation, found.value) == ("n2", "TYPE", "Ada")
    found = Talk(model="D.\nAction: TYPE\nValue: Ada")(protocol("mt-mindact", SEQ2SEQ), in_turn(5))
    assert (found.element, found.operation, found.value) == ("n2", "TYPE", "Ada")


def test_a_pack_of_one_s_own_replaces_what_it_has(tmp_path: Path) -> None:
    pack = tmp_path / "pack.toml"
    pack.write_text(
        'name = "theirs"\npage = "```{page}```"\nhistory_line = "{action}"\nno_history = "None"\n'
        'seq2seq_human = "### Human:"\ngenerate_example_1 = ""\n'
    )
    fine_tuned = open_protocol("self-map", {"prompts": pack, "form": "seq2seq"})
    chat = open_protocol("self-map", {"prompts": pack, "form": "chat"})
    assert isinstance(fine_tuned, MultiTurn) and isinstance(chat, MultiTurn)
    told = said(asked_of(fine_tuned, 1).groups[0].conversation.messages)
    assert "### Human:\n```(html" in told and told.endswith("What is the next action?Assistant:")
    messages = asked_of(chat, 1).groups[0].conversation.messages
    assert [message.role for message in messages] == ["system", "user"]
    assert fine_tuned.settings()["prompts"] == "theirs"
    pack.write_text(
        'name = "x"\npage = "no page"\nhistory_line = "{action}"\nno_history = "None"\n'
    )
    with pytest.raises(UserError, match=r"page must contain \{page\}"):
        open_protocol("self-map", {"prompts": pack})


def test_the_digest_is_about_the_texts_that_are_used(tmp_path: Path) -> None:
    from importlib.resources import files

    shipped = files("harness").joinpath("prompts/multi_turn.toml").read_text("utf-8")
    pack = tmp_path / "pack.toml"
    pack.write_text(shipped.replace("Judge which of the earlier", "Find out which of the earlier"))

    def digests(name: str) -> set[object]:
        opened = (open_protocol(name), open_protocol(name, {"prompts": pack}))
        return {one.settings()["prompts_sha256"] for one in opened}

    assert {name for name in NAMES if len(digests(name)) == 2} == {"mt-mindact-car"}
