"""Replies whose keys stand in odd places; the label of each is made before the reply."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from tests.parsers.styles import OPTIONS, Said, said

Layout = Callable[[Said], str]


def lines(element: str, action: str, value: str, colon: str = ": ") -> Layout:
    """A line per key, in the words of a language."""
    return lambda s: (
        f"{element}{colon}{s.named}\n{action}{colon}{s.operation}\n{value}{colon}{s.typed}"
    )


def objects(element: str, action: str = "action", value: str = "value") -> Layout:
    return lambda s: json.dumps({element: s.named, action: s.operation, value: s.value or None})


def attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")


def attributes(form: str) -> Layout:
    return lambda s: form.format(e=s.named, a=s.operation, v=attribute(s.typed))


def call(form: str) -> Layout:
    return lambda s: form.format(
        e=s.named, a=s.operation, v=json.dumps(s.typed, ensure_ascii=False)
    )


def verbs(click: str, write: str, select: str) -> Layout:
    """A call of a verb with the letter and the value by position."""

    def layout(s: Said) -> str:
        verb = {"CLICK": click, "TYPE": write, "SELECT": select}[s.operation]
        return f"{verb}({s.named!r}{f', {s.value!r}' if s.value else ''})"

    return layout


def cdata(s: Said) -> str:
    return (
        f"<answer_block><element>{s.named}</element>\n<action>{s.operation}</action>\n"
        f"<value><![CDATA[{s.typed}]]></value></answer_block>"
    )


def entities(s: Said) -> str:
    rows = ("element", s.named), ("action", s.operation), ("value", attribute(s.typed))
    return "\n".join(f"<{key}>{content}</{key}>" for key, content in rows)


def as_text(s: Said) -> str:
    content = {"element": s.named, "action": s.operation, "value": s.value or None}
    return json.dumps(json.dumps(content))


def answer_text(s: Said) -> str:
    return json.dumps({"answer": f"ELEMENT: {s.named}\nACTION: {s.operation}\nVALUE: {s.typed}"})


def per_line(s: Said) -> str:
    rows: list[dict[str, str | None]] = [{"element": s.named}, {"action": s.operation}]
    return "\n".join(map(json.dumps, [*rows, {"value": s.value or None}]))


def yaml(s: Said) -> str:
    value = json.dumps(s.value, ensure_ascii=False) if s.value else "null"
    return (
        f"```yaml\nelement: {s.named} # the one that fits\naction: {s.operation} # as asked\n"
        f"value: {value} # what to enter\n```"
    )


def unclosed(s: Said) -> str:
    return objects("element")(s)[:-1]


def packed(s: Said) -> str:
    inner = json.dumps({"element": s.named, "action": s.operation, "value": s.value or None})
    return json.dumps({"name": "act", "arguments": inner})


def own_html(s: Said) -> str:
    element = OPTIONS[ord(s.letter) - 65] if s.letter else "None"
    return f"ELEMENT: {element}\nACTION: {s.operation}\nVALUE: {s.typed}"


def html_in_prose(s: Said) -> str:
    element = f"It is `{OPTIONS[ord(s.letter) - 65]}`." if s.letter else "None of the options fits."
    return f"{element}\n\nACTION: {s.operation}\nVALUE: {s.typed}"


LAYOUTS: Mapping[str, Layout] = {
    "attributes": attributes('<action element="{e}" type="{a}" value="{v}"/>'),
    "attributes apart": attributes("<answer element='{e}' action='{a}' value=\"{v}\"></answer>"),
    "named attributes": attributes('<step option="{e}" operation="{a}" text="{v}" />'),
    "keywords": call('act(element="{e}", action="{a}", value={v})'),
    "keywords of a tool": call("browser.act(option='{e}', operation='{a}', text={v})"),
    "fenced keywords": call("```python\nact(element='{e}', action='{a}', value={v})\n```"),
    "verbs": verbs("click", "type", "select"),
    "longer verbs": verbs("click", "fill", "select_option"),
    "text verbs": verbs("tap", "type_text", "choose"),
    "cdata": cdata,
    "entities": entities,
    "object as text": as_text,
    "answer as text": answer_text,
    "key per line": per_line,
    "yaml": yaml,
    "unclosed": unclosed,
    "packed": packed,
    "own html": own_html,
    "html in prose": html_in_prose,
    "chosen_element": objects("chosen_element"),
    "selectedElement": objects("selectedElement"),
    "best option": objects("best option"),
    "option_letter": objects("option_letter", "operation"),
    "final_choice": objects("final_choice", "operation", "text"),
    "target": objects("target"),
    "label": objects("label"),
    "element_label": objects("element_label"),
    "chinese": lines("\u5143\u7d20", "\u64cd\u4f5c", "\u503c", "\uff1a"),
    "chinese, plain": lines("\u5143\u7d20", "\u64cd\u4f5c", "\u503c"),
    "japanese": lines("\u8981\u7d20", "\u64cd\u4f5c", "\u5024", "\uff1a"),
    "korean": lines("\uc694\uc18c", "\ub3d9\uc791", "\uac12"),
    "german": lines("Element", "Aktion", "Wert"),
    "german capitals": lines("ELEMENT", "AKTION", "WERT"),
    "spanish": lines("ELEMENTO", "ACCI\u00d3N", "VALOR"),
    "french": lines("\u00c9L\u00c9MENT", "ACTION", "VALEUR", " : "),
    "portuguese": lines("Elemento", "A\u00e7\u00e3o", "Valor"),
    "italian": lines("Elemento", "Azione", "Valore"),
    "dutch": lines("Element", "Actie", "Waarde"),
    "russian": lines(
        "\u042d\u041b\u0415\u041c\u0415\u041d\u0422",
        "\u0414\u0415\u0419\u0421\u0422\u0412\u0418\u0415",
        "\u0417\u041d\u0410\u0427\u0415\u041d\u0418\u0415",
    ),
    "chinese object": objects("\u5143\u7d20", "\u64cd\u4f5c", "\u503c"),
    "bold german": lines("**Element:**", "**Aktion:**", "**Wert:**", " "),
    "boxed": lambda s: f"\\boxed{{ELEMENT: {s.named}\nACTION: {s.operation}\nVALUE: {s.typed}}}",
}
_LETTERS = (
    "verbs",
    "longer verbs",
    "text verbs",
    "html in prose",
    "target",
    "label",
    "element_label",
)
"""Layouts that only letters can be written in."""
AROUND = (
    "{}",
    "I looked at the page.\n\n{}",
    "<analysis>It may be C or D.</analysis>\n{}",
    "<scratchpad>\nELEMENT: C\n</scratchpad>\n\n{}",
    "{}<turn|>",
    "{}[e~[",
    "analysisPerhaps C.assistantfinal{}",
    "\ufeff{}\u200b",
)


def answers() -> Iterator[tuple[str, str, Said]]:
    """Name, reply and label of eighteen answers in every layout."""
    for number, (name, layout) in enumerate(LAYOUTS.items()):
        for turn in range(18):
            label = said(number * 37 + turn, none=name not in _LETTERS)
            around = AROUND[(number + turn) % len(AROUND)]
            if name == "object as text":
                around = "{}"
            yield f"{name}: {around}", around.replace("{}", layout(label)), label
