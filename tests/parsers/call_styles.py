"""Replies with calls in odd forms; the label of each is made before the reply.

A call is written as its family publishes it, then bent: marks are taken off, arguments become
texts, a second call follows, thoughts and tokens stand around it. None of it changes what is said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

Bend = Callable[[str], str]


class Call(NamedTuple):
    """A reply as a family writes it.

    mark, end: what stands around the call.
    label: the action, its place in the family's own numbers, and its text or direction.
    """

    family: str
    mark: str
    body: str
    end: str
    label: tuple[str, tuple[float, float] | None, str] = ("click", (504.0, 801.0), "")


def published() -> Iterator[Call]:
    """Replies of families as they publish them."""
    file = Path(__file__).parent / "lines" / "calls.txt"
    for line in file.read_text("utf-8").splitlines():
        family, name, text, reply = line.replace("\\n", "\n").split("\t")
        mark, body, end = re.split("[\u00ab\u00bb]", reply)
        place = (504.0, 801.0) if name in ("click", "long_press") else None
        yield Call(family, mark, body, end, (name, place, text))


def content_of(body: str) -> dict[str, object]:
    """The object that a call is; nothing for another form."""
    try:
        content = json.loads(body)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def as_text(body: str) -> str:
    """The arguments as a JSON text, where there are some."""
    content = content_of(body)
    for key in ("arguments", "args"):
        if key in content:
            return json.dumps({**content, key: json.dumps(content[key])})
    return body


def place_as_text(body: str) -> str:
    return re.sub(r'"(coordinate|POINT|start_point)": ?(\[[\d, ]+\])', r'"\1": "\2"', body)


def pair_as_text(body: str) -> str:
    return re.sub(r'"(coordinate|start_point)": ?\[(\d+), (\d+)\]', r'"\1": "(\2, \3)"', body)


def openai(body: str) -> str:
    """A call as OpenAI's format has it."""
    text = as_text(body)
    if text == body:
        return body
    return json.dumps([{"type": "function", "function": json.loads(text)}])


def keywords(body: str) -> str:
    """A call of the tool with named arguments."""
    arguments = content_of(body).get("arguments")
    if not isinstance(arguments, dict):
        return body
    return f"mobile_use({', '.join(f'{k}={json.dumps(v)}' for k, v in arguments.items())})"


def parameters(body: str) -> str:
    """A call in tags, as Qwen3.5 writes it."""
    arguments = content_of(body).get("arguments")
    if not isinstance(arguments, dict):
        return body
    inner = "".join(
        f"<parameter={key}>\n{one if isinstance(one, str) else json.dumps(one)}\n</parameter>\n"
        for key, one in arguments.items()
    )
    return f"<function=mobile_use>\n{inner}</function>"


BODIES: Mapping[str, Bend] = {
    "plain": str,
    "arguments as text": as_text,
    "place as text": place_as_text,
    "pair as text": pair_as_text,
    "openai": openai,
    "keywords": keywords,
    "parameters": parameters,
    "indented": lambda body: json.dumps(json.loads(body), indent=2) if body[:2] == '{"' else body,
}
AROUND: Mapping[str, str] = {
    "published": "{mark}{body}{end}",
    "no marks": "{body}",
    "no closing mark": "{mark}{body}",
    "fenced": "```\n{body}\n```",
    "fenced json": "```json\n{body}\n```",
    "end token": "{mark}{body}{end}<|im_end|>",
    "two end tokens": "{body}</s><|endoftext|>",
    "turn token": "{mark}{body}{end}<turn|>",
    "byte order mark": "\ufeff{mark}{body}{end}\u200b",
    "words before": "The button is at the top, so I press it.\n{mark}{body}{end}",
    "words before, bare": "The button is at the top.\n\n{body}",
    "words behind": "{mark}{body}{end}\nThis leads on.",
    "thought": "<think>It is at (1, 2) or so.</think>\n{mark}{body}{end}",
    "analysis": "<analysis>\nIt is at (1, 2).\n</analysis>\n{mark}{body}{end}",
    "scratchpad": "<scratchpad>click (3, 4)</scratchpad>\n{body}",
    "seed thought": "<seed:think>{body}?</seed:think>{mark}{body}{end}",
    "reflection behind": "{mark}{body}{end}\n<reflection>Was that right?</reflection>",
    "only a scratchpad": "<scratchpad>\n{mark}{body}{end}\n</scratchpad>",
    "bare channel": "analysisWe press it.assistantfinal{mark}{body}{end}",
    "channel": "<|channel|>analysis<|message|>Hm (1, 2).<|end|><|start|>assistant<|channel|>final"
    "<|message|>{mark}{body}{end}<|return|>",
    "commentary": "<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>commentary "
    "to=functions.f <|constrain|>json<|message|>{body}<|call|>",
    "answer tags": "<answer>{mark}{body}{end}</answer>",
    "answer tags, bare": "It is this:\n<answer>\n{body}\n</answer>",
    "final answer tags": "<final_answer>{body}</final_answer>",
}


def bent(calls: Iterator[Call]) -> Iterator[tuple[str, str, Call]]:
    """Name, reply and label of every call in every form."""
    bends = list(BODIES)
    for number, call in enumerate(calls):
        for place, (around, form) in enumerate(AROUND.items()):
            own = bends if around in ("published", "no marks") else ["plain"]
            for bend in dict.fromkeys([*own, bends[(number + place) % len(bends)]]):
                body = BODIES[bend](call.body)
                if body == call.body and bend != "plain":
                    continue
                if "\n" in body and call.family == "os-atlas-pro":
                    continue
                text = form.replace("{mark}", call.mark).replace("{end}", call.end)
                yield f"{call.family}: {around}, {bend}", text.replace("{body}", body), call


OPEN = '{"name": "mobile_use", "arguments": {"action": "click", "coordinate": [504, 801]'
UNCLOSED = [
    ("qwen2.5-vl", f"<tool_call>\n{OPEN}}}"),
    ("qwen2.5-vl", OPEN),
    ("qwen2.5-vl", OPEN + "}}"),
    ("qwen3-vl", f"<tool_call>\n{OPEN}}}\n</tool_call>"),
    ("mimo-vl", '{"action": "click", "start_point": [504, 801]'),
    ("agentcpm-gui", '{"thought": "a {b}", "POINT": [504, 801]'),
    (
        "glm-v",
        '<|begin_of_box|>{"action_type": "click", "box_2d": [[504, 801, 504, 801]]<|end_of_box|>',
    ),
    ("ui-tars", "Action: click(start_box='(504,801)'"),
    ("aguvis", "pyautogui.click(x=504, y=801"),
    ("gui-r1", "<answer>[{'action': 'click', 'point': [504, 801]}]"),
    ("gui-r1", "<answer>[{'action': 'click', 'point': [504, 801]}</answer>"),
]
"""Calls without the brackets or marks at their end, all of them the same click."""

GAPS = {
    "first": ["\n", "\n\n", "\n---\n", "\nThen:\n", "\nStep 2:\n", "\nAfter that,\n"],
    "first of other words": ["\nThis opens the menu on the right.\n", "\nIt is blue.\n\n"],
    "later": ["\nWait, that is wrong.\n", "\nNo, actually:\n", "\nSorry, I meant:\n"],
}
"""What stands between two calls, by the one that counts."""
PAIRS = [
    (family, [form.replace("X", x) for x in ("504", "7")])
    for family, form in (
        ("qwen2.5-vl", f"<tool_call>\n{OPEN.replace('504', 'X')}}}}}\n</tool_call>"),
        ("infigui-r1", OPEN.replace("504", "X") + "}}"),
        ("ui-tars", "Action: click(start_box='(X,801)')"),
        ("ui-venus-navi", "<action>Click(box=(X,801))</action>"),
        ("agentcpm-gui", '{"POINT":[X,801]}'),
        ("mimo-vl", '{"action": "click", "start_point": [X, 801]}'),
        ("cogagent-9b", "Grounded Operation: CLICK(box=[[X,801,X,801]])"),
    )
]
"""Two clicks of a family."""

COMPUTER = (
    '{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [504, 801]}}'
)
PLACES = [
    *((form, COMPUTER) for form in ("qwen3-vl", "qwen2.5-vl", "computer-use", "qwen3.5-xml")),
    ("mai", '{"name": "grounding", "arguments": {"action": "click", "coordinate": [504, 801]}}'),
    ("qwen3-vl", '{"point_2d": [504, 801], "label": "the button"}'),
    ("qwen2.5-vl", '{"bbox_2d": [494, 791, 514, 811], "label": "the button"}'),
    ("ui-tars", "click(start_box='(504,801)')"),
    ("ui-tars", "click(point='<point>504 801</point>')"),
    ("pyautogui", "pyautogui.click(x=504, y=801)"),
    ("click-call", "Click(504, 801)"),
    ("point-text", "(504, 801)"),
    ("glm", "click(start_box='[504,801]')"),
    ("cogagent", "Grounded Operation: CLICK(box=[[494,791,514,811]], element_info='x')"),
]
"""Places as families write them, by the form that reads them."""


def screens() -> Iterator[tuple[str, str, Call]]:
    """Name, reply and label of actions on screens."""
    return bent(published())


def places() -> Iterator[tuple[str, str, Call]]:
    """Name, reply and form of places; each is (504, 801)."""
    marks = ("<tool_call>\n", "\n</tool_call>")
    for name, text, call in bent(
        Call(form, marks[0], body, marks[1]) if '"name"' in body else Call(form, "", body, "")
        for form, body in PLACES
    ):
        last = call.family in ("point-text", "cogagent")
        if not (last and ("behind" in name or "commentary" in name)):
            yield name, text, call
