"""Replies as model families write them; the label of each is made before the reply.

A layout is a template of an answer, on a line of `lines/layouts.txt`; `AROUND` has the tokens,
thoughts and words that models leave around one. A template's fields:

    {e} {a} {v}           the letter or None, the operation, the value or None
    {l} {t} {h}           the letter or that of the none option, its text, its HTML
    {q} {x} {p}           the value in JSON quotes, with entities, in quotes if it has none inside
    {json KEYS}           an object with these three keys; `pretty`: indented, `text`: as a JSON
                          text, `python`: a dictionary
    {typing WORDS}        these words for TYPE, and every other operation
    {call CLICK TYPE SELECT}   a call of the verb for the operation, with the letter and the value
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

WORDS = (
    *("search flights", "departure city", "return date", "sign in", "passengers", "add to cart"),
    *("help center", "one way", "currency", "subscribe", "gift cards", "filter by price"),
    *("sort results", "hotel deals", "contact us", "view all", "store finder", "menu", "checkout"),
    "track order",
)
OPTIONS = [f"<button id={i} {word}> {word.capitalize()} </button>" for i, word in enumerate(WORDS)]
LETTERS = "ABCDEFGHIJKLMNOPQRST"
NONE = "U"
TYPED = [
    *("New York", "O'Hare", 'say "hi"', "10203", "Washington D.C.", '27" monitor', "AT&T"),
    *("a.b@mail.com", "50% off", "C", "T-shirt, size M", "3:30 PM", "key: value", "1,000.50"),
    *("#1 (best)", "https://x.org/?a=1&b=2", "S\u00e3o Paulo", "\u6771\u4eac", "Levi's 501"),
    *("two  blanks", "it's \"5 o'clock\"", "type C", "a - b", "C++", "M*A*S*H", "[draft]"),
    *("x = y", "-5"),
]
CHOSEN = ["Pickup", "2 people", "Price (low to high)", "Children's", "A-Z", "Economy/Coach", "12"]
AROUND = (
    *("{}", "{}<end_of_turn>", "{}\n<end_of_turn>\n<eos>", "{}<|im_end|>", "{}<|endoftext|>"),
    *("{}\n<|im_end|>", "{}</s>", "{} </s>", "{}<|end|>", "{}<|end|><|endoftext|>", "{}<|eot_id|>"),
    *("{}<|eom_id|>\n", "{}<\uff5cend\u2581of\u2581sentence\uff5c>", "{}<end_of_utterance>"),
    *("{}<|END_OF_TURN_TOKEN|>", "{}<br>", "{}<turn|>", "{}[e~[", "\ufeff{}\u200b"),
    *("<|begin_of_box|>{}<|end_of_box|>", "<answer>{}</answer>", "<answer>\n{}\n</answer>"),
    *("<answer>{}</answer><|im_end|>", "<think>A or B?</think><answer>{}</answer>"),
    *("<think>B</think>\n<answer>\n{}\n</answer>", "<think>B or C</think>{}<|im_end|>"),
    *("[THINK]C?[/THINK]{}</s>", "\u25c1think\u25b7C\u25c1/think\u25b7{}[EOS]"),
    *("<analysis>It may be C or D.</analysis>\n{}", "analysisPerhaps C.assistantfinal{}"),
    *("<scratchpad>\nELEMENT: C\n</scratchpad>\n\n{}", "I looked at the page.\n\n{}"),
    *("Sure! Here is my answer:\n\n{}", "A button in the header leads on.\n{}<|im_end|>"),
)


@dataclass(frozen=True)
class Said:
    """What a reply says: a letter ("" for none of the options), an operation and a value."""

    letter: str
    operation: str
    value: str


def said(number: int, *, none: bool) -> Said:
    """The answer of a number; one in nine says none of the options."""
    drawn = random.Random(number)
    letter = "" if none and number % 9 == 4 else drawn.choice(LETTERS)
    operation = ("CLICK", "TYPE", "SELECT")[number % 3]
    value = drawn.choice({"TYPE": TYPED, "SELECT": CHOSEN}.get(operation, [""]))
    return Said(letter, operation, value)


def fill(template: str, one: Said) -> str:
    """A template with an answer in its fields."""
    value, place = one.value or "None", LETTERS.index(one.letter) if one.letter else None
    quoted = json.dumps(value, ensure_ascii=False)
    texts = {
        "e": one.letter or "None",
        "a": one.operation,
        "v": value,
        "l": one.letter or NONE,
        "t": "None of the above" if place is None else OPTIONS[place],
        "h": "None" if place is None else OPTIONS[place],
        "q": quoted,
        "x": value.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;"),
        "p": value if '"' in value else quoted,
    }

    def field(found: re.Match[str]) -> str:
        name, *words = found[1].split(" ")
        if not words:
            return texts[name]
        if name == "typing":
            return " ".join(words) if one.operation == "TYPE" else one.operation
        if name == "call":
            verb = words[("CLICK", "TYPE", "SELECT").index(one.operation)]
            return f"{verb}({one.letter!r}{f', {one.value!r}' if one.value else ''})"
        content = dict(zip(words, (texts["e"], one.operation, one.value or None), strict=True))
        if name == "python":
            return repr(content)
        if name == "pretty":
            return json.dumps(content, indent=2, ensure_ascii=False)
        written = json.dumps(content)
        return json.dumps(written) if name == "text" else written

    return re.sub(r"\{([a-z]+(?: [^{}\"]+)?|[a-z])\}", field, template)


def answers() -> Iterator[tuple[str, str, Said]]:
    """Name, reply and label of an answer in every layout with everything that may stand around."""
    lines = (Path(__file__).parent / "lines" / "layouts.txt").read_text("utf-8").splitlines()
    for number, layout in enumerate(line.replace("\\n", "\n") for line in lines):
        # Behind `!` are those that only letters can be written in.
        none, layout = not layout.startswith("!"), layout.removeprefix("!")
        # An object that is a text is read only where it is all there is.
        for place, around in enumerate(("{}",) if layout.startswith("{text") else AROUND):
            label = said(number * 131 + place * 7, none=none)
            yield f"{layout}: {around}", around.replace("{}", fill(layout, label)), label
