"""Replies with calls in odd forms; the label of each is made before the reply.

A call is written as its family publishes it, then bent: marks are taken off, arguments become
texts, a second call follows, thoughts and tokens stand around it. None of it changes what is said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
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
    label: tuple[str, tuple[float, float] | None, str]


def tool(action: str, **more: object) -> str:
    return json.dumps({"name": "mobile_use", "arguments": {"action": action, **more}})


CLICK, TYPE, BACK = ("click", (504.0, 801.0), ""), ("type", None, "New York"), ("back", None, "")
_TOOLS = ("qwen2.5-vl", "qwen3-vl", "infigui-r1", "gui-owl-1.5")
_TAGS = ("<tool_call>\n", "\n</tool_call>")
SCREENS = [
    *(
        Call(family, _TAGS[0], body, _TAGS[1], label)
        for family in _TOOLS
        for body, label in (
            (tool("click", coordinate=[504, 801]), CLICK),
            (tool("type", text="New York"), TYPE),
            (tool("system_button", button="Back"), BACK),
        )
    ),
    Call("ui-tars", "Action: ", "click(start_box='(504,801)')", "", CLICK),
    Call("ui-tars", "Action: ", "type(content='New York')", "", TYPE),
    Call("ui-tars-1.5", "Action: ", "click(point='<point>504 801</point>')", "", CLICK),
    Call("ui-tars-1.5", "Action: ", "press_back()", "", BACK),
    Call("ui-tars-1.5", "Action: ", "click(start_point='<point>504 801</point>')", "", CLICK),
    Call("ui-tars", "Action: ", "hotkey(hotkey='ctrl c')", "", ("hotkey", None, "ctrl c")),
    Call(
        "ui-tars",
        "Action: ",
        "type(content='say 'hi' twice')",
        "",
        ("type", None, "say 'hi' twice"),
    ),
    Call("ui-venus-navi", "<action>", "Click(box=(504,801))", "</action>", CLICK),
    Call("ui-venus-navi", "<action>", "Type(content='New York')", "</action>", TYPE),
    Call(
        "cogagent-9b",
        "Grounded Operation: ",
        "CLICK(box=[[504,801,504,801]], element_info='the button')",
        "",
        CLICK,
    ),
    Call("agentcpm-gui", "", '{"POINT":[504,801]}', "", CLICK),
    Call("agentcpm-gui", "", '{"thought":"It is there.","POINT":[504,801]}', "", CLICK),
    Call("agentcpm-gui", "", '{"POINT":[504,801],"STATUS":"continue"}', "", CLICK),
    Call("agentcpm-gui", "", '{"STATUS":"start","POINT":[504,801]}', "", CLICK),
    Call("agentcpm-gui", "", '{"TYPE":"New York","STATUS":"finish"}', "", TYPE),
    Call("agentcpm-gui", "", '{"PRESS":"BACK","STATUS":"need_feedback"}', "", BACK),
    Call("agentcpm-gui", "", '{"PRESS":"BACK","duration":200}', "", BACK),
    Call("agentcpm-gui", "", '{"POINT":[504,801],"TYPE":"New York"}', "", TYPE),
    Call("agentcpm-gui", "", '{"STATUS":"finish"}', "", ("complete", None, "")),
    Call("agentcpm-gui", "", '{"STATUS":"satisfied"}', "", ("complete", None, "")),
    Call("agentcpm-gui", "", '{"STATUS":"impossible"}', "", ("impossible", None, "")),
    Call("agentcpm-gui", "", '{"STATUS":"interrupt"}', "", ("impossible", None, "")),
    Call("agentcpm-gui", "", '{"STATUS":"need_feedback"}', "", ("call_user", None, "")),
    Call("agentcpm-gui", "", '{"duration":1500}', "", ("wait", None, "")),
    Call(
        "agentcpm-gui", "", '{"POINT":[504,801],"duration":1000}', "", ("long_press", CLICK[1], "")
    ),
    Call("gui-r1", "<answer>", "[{'action': 'click', 'point': [504, 801]}]", "</answer>", CLICK),
    Call(
        "gui-r1",
        "<answer>",
        "[{'action': 'type', 'point': [-100, -100], 'input_text': 'New York'}]",
        "</answer>",
        ("type", None, "New York"),
    ),
    Call("mimo-vl", "", '{"action": "click", "start_point": [504, 801]}', "", CLICK),
    Call("mimo-vl", "", '{"action": "input", "text": "New York"}', "", TYPE),
    Call(
        "glm-v",
        "<|begin_of_box|>",
        '{"action_type": "click", "box_2d": [[504, 801, 504, 801]]}',
        "<|end_of_box|>",
        CLICK,
    ),
    Call("glm-v", "<|begin_of_box|>", '{"action_type": "navigate_back"}', "<|end_of_box|>", BACK),
    Call("showui", "", "{'action': 'CLICK', 'value': None, 'position': [504, 801]}", "", CLICK),
    Call(
        "claude-computer-use", "", '{"action": "left_click", "coordinate": [504, 801]}', "", CLICK
    ),
    Call("openai-computer", "", '{"type": "click", "x": 504, "y": 801}', "", CLICK),
    Call(
        "gemini-computer-use", "", '{"name": "click_at", "args": {"x": 504, "y": 801}}', "", CLICK
    ),
    Call("mai-ui", *_TAGS[:1], tool("click", coordinate=[504, 801]), _TAGS[1], CLICK),
    Call("os-atlas-pro", "actions:\n", "CLICK <point>[[504,801]]</point>", "", CLICK),
    Call("os-atlas-pro", "actions:\n", "TYPE [New York]", "", TYPE),
    Call("os-atlas-pro", "Actions: ", "click <point>[[504,801]]</point>", "", CLICK),
]
"""Replies of families as they publish them."""


def as_text(body: str) -> str:
    """The arguments as a JSON text, where there are some."""
    try:
        content = json.loads(body)
    except ValueError:
        return body
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
    return (
        json.dumps([{"type": "function", "function": json.loads(text)}]) if text != body else body
    )


def keywords(body: str) -> str:
    """A call of the tool with named arguments."""
    try:
        content = json.loads(body)
    except ValueError:
        return body
    if "arguments" not in content:
        return body
    return (
        f"mobile_use({', '.join(f'{k}={json.dumps(v)}' for k, v in content['arguments'].items())})"
    )


def parameters(body: str) -> str:
    """A call in tags, as Qwen3.5 writes it."""
    try:
        content = json.loads(body)
    except ValueError:
        return body
    if "arguments" not in content:
        return body
    inner = "".join(
        f"<parameter={key}>\n{one if isinstance(one, str) else json.dumps(one)}\n</parameter>\n"
        for key, one in content["arguments"].items()
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


def screens() -> Iterator[tuple[str, str, Call]]:
    """Name, reply and label of every call in every form."""
    for number, call in enumerate(SCREENS):
        for place, (around, form) in enumerate(AROUND.items()):
            bends = (
                list(BODIES)
                if around in ("published", "no marks")
                else [list(BODIES)[(number + place) % len(BODIES)], "plain"]
            )
            for bend in dict.fromkeys(bends):
                body = BODIES[bend](call.body)
                if body == call.body and bend != "plain":
                    continue
                if "\n" in body and call.family in ("os-atlas-pro", "gelab-zero"):
                    continue
                text = form.replace("{mark}", call.mark).replace("{end}", call.end)
                yield f"{call.family}: {around}, {bend}", text.replace("{body}", body), call


OPEN = '{"name": "mobile_use", "arguments": {"action": "click", "coordinate": [504, 801]'
UNCLOSED = [
    (
        "qwen2.5-vl",
        f"<tool_call>\n{OPEN}}}",
    ),
    (
        "qwen2.5-vl",
        '{"name": "mobile_use", "arguments": {"action": "click", "coordinate": [504, 801]',
    ),
    (
        "qwen2.5-vl",
        '{"name": "mobile_use", "arguments": {"action": "click", "coordinate": [504, 801}}',
    ),
    (
        "qwen3-vl",
        f"<tool_call>\n{OPEN}}}\n</tool_call>",
    ),
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
    ("qwen2.5-vl", [f"{_TAGS[0]}{tool('click', coordinate=[x, 801])}{_TAGS[1]}" for x in (504, 7)]),
    ("infigui-r1", [tool("click", coordinate=[x, 801]) for x in (504, 7)]),
    ("ui-tars", [f"Action: click(start_box='({x},801)')" for x in (504, 7)]),
    ("ui-venus-navi", [f"<action>Click(box=({x},801))</action>" for x in (504, 7)]),
    ("agentcpm-gui", [f'{{"POINT":[{x},801]}}' for x in (504, 7)]),
    ("mimo-vl", [f'{{"action": "click", "start_point": [{x}, 801]}}' for x in (504, 7)]),
    ("cogagent-9b", [f"Grounded Operation: CLICK(box=[[{x},801,{x},801]])" for x in (504, 7)]),
]
"""Two clicks of a family."""

PLACES = [
    (
        "qwen3-vl",
        '{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [504, 801]}}',
    ),
    (
        "qwen2.5-vl",
        '{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [504, 801]}}',
    ),
    (
        "computer-use",
        '{"name": "computer", "arguments": {"action": "left_click", "coordinate": [504, 801]}}',
    ),
    ("mai", '{"name": "grounding", "arguments": {"action": "click", "coordinate": [504, 801]}}'),
    (
        "qwen3.5-xml",
        '{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [504, 801]}}',
    ),
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
"""Places as families write them."""


def places() -> Iterator[tuple[str, str, str]]:
    """Name, form and reply; each is the place (504, 801)."""
    for number, (form, body) in enumerate(PLACES):
        for place, (around, text) in enumerate(AROUND.items()):
            if form in ("point-text", "cogagent") and (
                "behind" in around or "commentary" in around
            ):
                continue
            marks = _TAGS if '"name"' in body else ("", "")
            bends = (
                list(BODIES)
                if around in ("published", "no marks")
                else ["plain", list(BODIES)[(number + place) % len(BODIES)]]
            )
            for bend in dict.fromkeys(bends):
                bent = BODIES[bend](body)
                if bent == body and bend != "plain":
                    continue
                reply = text.replace("{mark}", marks[0]).replace("{end}", marks[1])
                yield f"{form}: {around}, {bend}", form, reply.replace("{body}", bent)
