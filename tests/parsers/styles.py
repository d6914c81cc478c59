"""Replies in the styles of model families; the label of each is made before the reply.

A family is the layouts that its models write answers in, and the tokens that are left around them.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

WORDS = (
    *("search flights", "departure city", "return date", "sign in", "passengers", "add to cart"),
    *("help center", "one way", "currency", "subscribe", "gift cards", "filter by price"),
    *("sort results", "hotel deals", "contact us", "view all", "store finder", "menu", "checkout"),
    "track order",
)
OPTIONS = [f"<button id={i} {word}> {word.capitalize()} </button>" for i, word in enumerate(WORDS)]
LETTERS = "ABCDEFGHIJKLMNOPQRST"
NONE = "U"


@dataclass(frozen=True)
class Said:
    """What a reply says: a letter ("" for none of the options), an operation and a value."""

    letter: str
    operation: str
    value: str = ""

    @property
    def typed(self) -> str:
        return self.value or "None"

    @property
    def text(self) -> str:
        return WORDS[LETTERS.index(self.letter)] if self.letter else "None of the above"

    @property
    def named(self) -> str:
        return self.letter or "None"


TYPED = [
    *("New York", "O'Hare", 'say "hi"', "10203", "Washington D.C.", '27" monitor', "AT&T"),
    *("a.b@mail.com", "50% off", "C", "T-shirt, size M", "3:30 PM", "key: value", "1,000.50"),
    *(
        "#1 (best)",
        "https://x.org/?a=1&b=2",
        "S\u00e3o Paulo",
        "\u6771\u4eac",
        "Levi's 501",
        "two  blanks",
    ),
    *("it's \"5 o'clock\"", "type C", "a - b", "C++", "M*A*S*H", "[draft]", "x = y", "-5"),
]
CHOSEN = ["Pickup", "2 people", "Price (low to high)", "Children's", "A-Z", "Economy/Coach", "12"]


def said(number: int, *, none: bool = True) -> Said:
    """The answer of a number; one in nine says none of the options."""
    drawn = random.Random(number)
    letter = "" if none and number % 9 == 4 else drawn.choice(LETTERS)
    operation = ("CLICK", "TYPE", "SELECT")[number % 3]
    return Said(
        letter, operation, drawn.choice({"TYPE": TYPED, "SELECT": CHOSEN}.get(operation, [""]))
    )


Layout = Callable[[Said], str]


def lines(template: str, joint: str = "\n") -> Layout:
    """A line per key; `K` is the key and `V` its content."""

    def layout(s: Said) -> str:
        rows = (("ELEMENT", s.named), ("ACTION", s.operation), ("VALUE", s.typed))
        return joint.join(
            "".join({"K": key, "k": key.title(), "V": content}.get(mark, mark) for mark in template)
            for key, content in rows
        )

    return layout


def objects(keys: str, spell: Callable[[object], str], form: str = "{}") -> Layout:
    """A JSON object or a Python dictionary with these keys."""

    def layout(s: Said) -> str:
        content = dict(zip(keys.split(), (s.named, s.operation, s.value or None), strict=True))
        return form.format(spell(content))

    return layout


def nested(spell: Callable[[object], str]) -> Layout:
    return lambda s: spell(
        {
            "thought": f"The {s.text} fits.",
            "action": {"element": s.named, "type": s.operation, "text": s.typed},
        }
    )


def pretty(content: object) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False)


def tool(s: Said) -> str:
    inner = json.dumps({"element": s.named, "action": s.operation, "value": s.typed})
    return json.dumps([{"type": "function", "function": {"name": "act", "arguments": inner}}])


def tagged(opening: str, closing: str, joint: str = "\n") -> Layout:
    def layout(s: Said) -> str:
        rows = (("element", s.named), ("action", s.operation), ("value", s.typed))
        return joint.join(opening.format(k) + v + closing.format(k) for k, v in rows)

    return layout


def row(s: Said) -> str:
    rule = "|---|---|---|"
    return f"| ELEMENT | ACTION | VALUE |\n{rule}\n| {s.named} | {s.operation} | {s.typed} |"


def column(s: Said) -> str:
    return (
        "| Key | Value |\n| --- | --- |\n"
        f"| **ELEMENT** | {s.named} |\n| **ACTION** | {s.operation} |\n| **VALUE** | {s.typed} |"
    )


def typing(words: str) -> Layout:
    """The action in other words for typing, which leave every other action alone."""

    def layout(s: Said) -> str:
        action = words if s.operation == "TYPE" else s.operation
        return f"ELEMENT: {s.named}\nACTION: {action}\nVALUE: {s.typed}"

    return layout


def with_text(s: Said) -> str:
    beside = (
        f"{s.letter}. {OPTIONS[LETTERS.index(s.letter)]}"
        if s.letter
        else f"{NONE}. None of the above"
    )
    return f"ELEMENT: {beside}\n\nACTION: {s.operation}\n\nVALUE: {s.typed}"


def quoted(s: Said) -> str:
    value = json.dumps(s.typed, ensure_ascii=False) if '"' not in s.typed else s.typed
    return f'ELEMENT: "{s.named}"\nACTION: "{s.operation}"\nVALUE: {value}'


PLAIN = lines("K: V", "\n\n")
LAYOUTS: dict[str, Layout] = {
    "plain": PLAIN,
    "tight": lines("K:V"),
    "title": lines("k: V"),
    "below": lines("K:\nV"),
    "bold": lines("**K:** V"),
    "bold outside": lines("**K**: V"),
    "bold lines": lines("**K: V**"),
    "bullets": lines("* **k:** V"),
    "dash bullets": lines("- K: V"),
    "gemini bullets": lines("*   **K:**   V", "\n"),
    "emoji": lines("\U0001f449 **K:** V"),
    "check marks": lines("\u2705 K: V"),
    "the": lines("The k: V"),
    "selected": lines("Selected K: V"),
    "html bold": lines("<b>K:</b> V", "<br>\n"),
    "equals": lines("K = V"),
    "dash": lines("K - V"),
    "long dash": lines("k \u2014 V"),
    "arrow": lines("K -> V"),
    "unicode arrow": lines("**K** \u2192 V"),
    "headings": lines("### k\nV", "\n\n"),
    "heading colon": lines("## K:\nV", "\n\n"),
    "bold words": lines("**K**\nV", "\n\n"),
    "bare words": lines("K\nV", "\n\n"),
    "row": row,
    "column": column,
    "no header": lines("| K | V |"),
    "json": objects("ELEMENT ACTION VALUE", json.dumps),
    "json fence": objects("element action value", pretty, "```json\n{}\n```"),
    "json list": objects("element operation value", json.dumps, "[{}]"),
    "json type": objects("option type text", json.dumps),
    "json choice": objects("choice operation input", pretty),
    "json answer": objects("ELEMENT ACTION VALUE", json.dumps, '{{"answer": {}}}'),
    "python": objects("ELEMENT ACTION VALUE", repr),
    "python fence": objects("element action value", repr, "```python\n{}\n```"),
    "nested": nested(json.dumps),
    "nested python": nested(repr),
    "tool call": objects(
        "element action value",
        json.dumps,
        '<tool_call>\n{{"name": "act", "arguments": {}}}\n</tool_call>',
    ),
    "tool call string": tool,
    "xml": tagged("<{}>", "</{}>"),
    "xml line": tagged("<{}>", "</{}>", ""),
    "xml capitals": lambda s: tagged("<{}>\n", "\n</{}>")(s),
    "parameters": lambda s: (
        "<tool_call>\n<function=act>\n"
        + tagged("<parameter={}>\n", "\n</parameter>")(s)
        + "\n</function>\n</tool_call>"
    ),
    "named parameters": lambda s: (
        '<invoke name="act">\n' + tagged('<parameter name="{}">', "</parameter>")(s) + "\n</invoke>"
    ),
    "fence": lambda s: f"```\n{PLAIN(s)}\n```",
    "with text": with_text,
    "quoted": quoted,
    "mindact": lambda s: f"{s.letter or NONE}.\nAction: {s.operation}\nValue: {s.typed}",
    "answer": lambda s: f"Answer: {s.letter or NONE}.\nAction: {s.operation}\nValue: {s.typed}",
    "answer line": lambda s: f"Answer: {s.letter or NONE}. Action: {s.operation} Value: {s.typed}",
    "one line": lines("K: V", ", "),
    "bars": lines("K: V", " | "),
    "title line": lambda s: f"Element: {s.named}. Action: {s.operation}. Value: {s.typed}",
    "lower line": lambda s: f"element: {s.named}; action: {s.operation.lower()}; value: {s.typed}",
    "step": lambda s: (
        f"Step 1: ELEMENT: {s.named}\nStep 1: ACTION: {s.operation}\nVALUE: {s.typed}"
    ),
    "now": lambda s: f"ELEMENT: {s.named}\nNext, ACTION: {s.operation}\nFinally, VALUE: {s.typed}",
    "enter text": typing("Enter text"),
    "type and enter": typing("TYPE and press ENTER"),
    "type & enter": typing("TYPE & ENTER"),
    "type + enter": typing("TYPE + PRESS ENTER"),
    "fill in": typing("Fill in"),
    "key in": typing("key in the text"),
    "input": typing("INPUT"),
    "write": typing("Write"),
}

PREFACES = [
    "",
    "The task asks for the next step, and the page shows a form.\n\n",
    "Looking at the screenshot, a button in the header leads on.\n",
    "Sure! Here is my answer:\n\n",
]


@dataclass(frozen=True)
class Family:
    """The layouts of a family's models by name, and what may stand before and behind an answer."""

    layouts: str
    around: tuple[str, ...] = ("{}",)


END = "\u2581"
FAMILIES: dict[str, Family] = {
    "gpt-4o": Family("plain, below, bold, with text, fence"),
    "gpt-5": Family("plain, one line, json, dash, type and enter"),
    "o4": Family("title, mindact, the, enter text, nested"),
    "claude": Family("headings, bold words, plain, named parameters, with text"),
    "gemini": Family("gemini bullets, bullets, json fence, column, type & enter"),
    "gemma": Family(
        "bold, json fence, bullets, row, input", ("{}<end_of_turn>", "{}\n<end_of_turn>\n<eos>")
    ),
    "qwen-vl": Family(
        "plain, tight, title, answer, lower line", ("{}<|im_end|>", "{}<|endoftext|>")
    ),
    "qwen2.5-vl": Family(
        "json fence, plain, json type, bold outside, tool call", ("{}", "{}<|im_end|>")
    ),
    "qwen3-vl": Family("tool call, nested, headings, parameters, plain", ("{}", "{}\n<|im_end|>")),
    "glm-4v": Family(
        "plain, json, bold, title, mindact",
        (
            "<|begin_of_box|>{}<|end_of_box|>",
            "<think>A or B?</think><answer>{}</answer>",
            "<answer>\n{}\n</answer>",
        ),
    ),
    "cogagent": Family("plain, arrow, title line, step, equals", ("{}</s>", "{} </s>")),
    "internvl": Family(
        "plain, row, column, bold lines, answer line",
        ("{}<|im_end|>", "<answer>{}</answer><|im_end|>"),
    ),
    "llava": Family("plain, answer line, lower line, the, quoted", ("{}</s>", "{}<|im_end|>")),
    "mistral": Family(
        "row, no header, bold, json choice, write", ("{}</s>", "[THINK]C?[/THINK]{}</s>")
    ),
    "phi": Family(
        "plain, heading colon, dash bullets, json, key in", ("{}<|end|>", "{}<|end|><|endoftext|>")
    ),
    "llama": Family(
        "plain, selected, now, python, type + enter", ("{}<|eot_id|>", "{}<|eom_id|>\n")
    ),
    "deepseek": Family(
        "plain, bold, xml, python fence, title line",
        (f"{{}}<\uff5cend{END}of{END}sentence\uff5c>",),
    ),
    "smolvlm": Family("title, answer, tight, one line, fill in", ("{}<end_of_utterance>",)),
    "minicpm": Family(
        "headings, bare words, xml line, json list, long dash", ("{}", "{}<|im_end|>")
    ),
    "kimi": Family(
        "plain, bold, unicode arrow, tool call string, json answer",
        ("\u25c1think\u25b7C\u25c1/think\u25b7{}[EOS]",),
    ),
    "aya": Family(
        "plain, emoji, check marks, html bold, bars", ("{}<|END_OF_TURN_TOKEN|>", "{}<br>")
    ),
    "molmo": Family("plain, step, answer, xml capitals, enter text"),
    "nova": Family(
        "xml, xml capitals, nested python, named parameters, quoted", ("{}", "<answer>{}</answer>")
    ),
    "grok": Family("bold lines, emoji, json, fence, now"),
    "ernie": Family("json fence, row, heading colon, equals, tool call", ("{}", "{}</s>")),
    "hunyuan": Family(
        "plain, json type, bullets, python, key in",
        ("<answer>{}</answer>", "<think>B</think>\n<answer>\n{}\n</answer>"),
    ),
    "phi-reasoning": Family(
        "plain, nested python, type and enter, dash, xml", ("<think>B or C</think>{}<|im_end|>",)
    ),
}


def answers() -> Iterator[tuple[str, str, Said]]:
    """Name, reply and label of one answer per family, layout, preface and kind of answer."""
    for number, (name, family) in enumerate(FAMILIES.items()):
        layouts = family.layouts.split(", ")
        for place, (layout, turn) in enumerate(itertools.product(layouts, range(12))):
            label = said(number * 131 + place * 7 + turn)
            preface = PREFACES[(number + place) % len(PREFACES)] if turn % 2 else ""
            around = family.around[(place + turn) % len(family.around)]
            reply = LAYOUTS[layout](label)
            boxed = around.startswith("<|begin") or "<answer>" in around
            text = around.replace("{}", reply if boxed else preface + reply)
            text = preface + text if boxed else text
            yield f"{name}: {layout}", text, label
