"""Replies beyond the worked cases: odd fields, ends, keys, looks that fail, and pairs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adapters import Fault
from parsers.screen import parts
from tests.harness.native.cases import Case, adapter_for, asked, protocol_of, replying
from tests.servers import Answer, WireServer

MODELS = {
    "computer": ("openai", "gpt-5.6"),
    "computer-toolset": ("anthropic", "claude-opus-5-5"),
    "browser-toolset": ("anthropic", "claude-opus-5-5"),
    "gemini-browser": ("google", "gemini-3.8-flash"),
    "gemini-mobile": ("google", "gemini-3.8-flash"),
    "functions": ("chat", "Qwen/Qwen3-VL-8B-Instruct"),
}
SIZES = {"g": [1920, 1080], "s-phone": [1080, 2400], "s-desk": [1920, 1080], "w": [1280, 2400]}
Call = tuple[str, dict[str, Any]]
Made = dict[str, Any]


@pytest.fixture(autouse=True)
def _official(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake server counts as OpenAI itself."""
    monkeypatch.setattr("adapters.openai.HOSTS", ("127.0.0.1",))


def case_of(tool: str, unit: str, **options: Any) -> Case:
    """A case as the worked ones are written."""
    provider, model = MODELS[tool]
    sent = SIZES.get(unit) or SIZES[unit[0]]
    usual: dict[str, Any] = {"turns": 0, "provider": provider, "model": model, "tool": tool}
    if unit.startswith("w-"):
        usual["pairs"] = "turn"
    if tool == "functions":
        usual["coordinates"] = "per-mille"
    return {**usual, "unit": unit, "sent": sent, **options}


def body_of(tool: str, calls: Any, text: str = "", end: str = "") -> Made:
    """The body of a reply. `calls` of the tool `computer` are its actions."""
    provider = MODELS[tool][0]
    if provider == "openai":
        made = {"type": "computer_call", "id": "cu", "call_id": "k", "status": "completed"}
        said = {"type": "message", "content": [{"type": "output_text", "text": text}]}
        output = [{**made, "actions": calls}] if calls else []
        body = {"id": "r", "status": "completed", "output": [*output, *([said] if text else [])]}
        return body | (
            {"status": "incomplete", "incomplete_details": {"reason": end}} if end else {}
        )
    if provider == "anthropic":
        content: list[Made] = [{"type": "text", "text": text}] if text else []
        for number, (name, fields) in enumerate(calls):
            own, _, member = name.partition(".")
            block = {"type": "tool_use", "id": f"t{number}", "name": member or name}
            content.append(block | {"input": fields} | ({"toolset_name": own} if member else {}))
        return {"content": content, "stop_reason": end or ("tool_use" if calls else "end_turn")}
    if provider == "google":
        listed: list[Made] = [{"text": text}] if text else []
        for number, (name, fields) in enumerate(calls):
            call = {"id": f"c{number}", "name": name, "args": fields}
            listed.append({"functionCall": call, "thoughtSignature": "c2ln"})
        candidate = {"content": {"role": "model", "parts": listed}, "finishReason": end or "STOP"}
        return {"candidates": [candidate]}
    made_calls = [
        {"id": f"c{n}", "function": {"name": name, "arguments": json.dumps(fields)}}
        for n, (name, fields) in enumerate(calls)
    ]
    message = {"content": text or None, "tool_calls": made_calls}
    return {"id": "c", "choices": [{"message": message, "finish_reason": end or "stop"}]}


def read(case: Case, *replies: Made, **options: Any) -> tuple[Any, list[Any]]:
    """What replies come to, as (status, name, arguments or element, flags), and what was sent."""
    with WireServer(replying(replies)) as server:
        adapter = adapter_for(case, server)
        found = asked(case, adapter, protocol_of(case, adapter, **options))
    actions = parts(found.action) if found.action else ()
    told = [(one.name, one.element or dict(one.arguments)) for one in actions]
    return (str(found.status), told, set(found.flags)), [ask.body for ask in server.asks]


def member(name: str, **fields: Any) -> Call:
    return f"computer.{name}", fields


def browser(name: str, **fields: Any) -> Call:
    return f"browser.{name}", fields


def ref(name: str) -> dict[str, str]:
    return {"type": "ref", "ref": name}


def click(x: Any = 1, y: Any = 2, **fields: Any) -> dict[str, Any]:
    return {"type": "click", "button": "left", "x": x, "y": y, **fields}


PLACE: tuple[Any, ...] = ("answered", [("click", {})])
MALFORMED: tuple[Any, ...] = ("parse_error", [], {"malformed_call"})
UNREAD = {"answered_error"}
CLICK = [member("left_click", coordinate=[1, 2])]


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ([click("1720", "60.5")], (*PLACE, {"text_number", "fraction"})),
        ([click(button="forward")], (*PLACE, set())),
        ([click(button="nose")], MALFORMED),
        ([{"type": "keypress", "keys": []}], MALFORMED),
        ([{"type": "keypress", "keys": ["ENTER"]}], ("no_element", [], {"other_action"})),
        ([click(keys=["CTRL"])], (*PLACE, {"modifiers"})),
        ([{"type": "type", "text": "\ud800"}], MALFORMED),
    ],
)
def test_actions_on_a_place(actions: Any, expected: Any) -> None:
    assert read(case_of("computer", "g-hd"), body_of("computer", actions))[0] == expected


def test_an_earlier_tools_single_action_is_read() -> None:
    body = body_of("computer", [click()])
    body["output"][0] |= {"actions": None, "action": click()}
    assert read(case_of("computer", "g-hd"), body)[0] == (*PLACE, set())


@pytest.mark.parametrize(
    ("end", "calls", "text", "expected"),
    [
        ("pause_turn", CLICK, "", (*PLACE, set())),
        ("pause_turn", [], "Hm.", ("parse_error", [], {"text_only"})),
        ("compaction", [], "", ("empty", [], set())),
        ("model_context_window_exceeded", CLICK, "", ("truncated", [], set())),
        ("model_context_window_exceeded", 2 * CLICK, "", (*PLACE, {"cut"})),
        ("model_context_window_exceeded", [], "", ("too_long", [], set())),
        ("max_tokens", CLICK, "", ("truncated", [], set())),
    ],
)
def test_ends_of_claudes_replies(end: str, calls: Any, text: str, expected: Any) -> None:
    body = body_of("computer-toolset", calls, text, end)
    assert read(case_of("computer-toolset", "g-hd"), body)[0] == expected


@pytest.mark.parametrize("end", ["TOO_MANY_TOOL_CALLS", "MALFORMED_FUNCTION_CALL"])
def test_a_call_that_google_could_not_read_spoils_the_reply(end: str) -> None:
    body = body_of("gemini-browser", [("click", {"x": 5, "y": 5})], end=end)
    assert read(case_of("gemini-browser", "g-hd"), body)[0] == MALFORMED


@pytest.mark.parametrize(
    ("tool", "body"),
    [
        ("computer", body_of("computer", [], "x", "steered")),
        ("computer", body_of("computer", [click()]) | {"status": "cancelled"}),
        ("computer-toolset", body_of("computer-toolset", CLICK, end="weird")),
        ("gemini-browser", body_of("gemini-browser", [("click", {"x": 5, "y": 5})], end="OTHER")),
    ],
)
def test_an_unknown_end_may_pass(tool: str, body: Made) -> None:
    with pytest.raises(Fault):
        read(case_of(tool, "g-hd"), body)


def key(text: str, **fields: Any) -> list[Call]:
    return [member("key", text=text, **fields)]


@pytest.mark.parametrize(
    ("calls", "phone", "desk"),
    [
        (key("KEYCODE_BACK"), [("back", {})], [("key", {"text": "keycode_back"})]),
        (key("AppSwitch"), [("recents", {})], [("key", {"text": "appswitch"})]),
        (key("KP_Enter"), [("enter", {})], [("enter", {})]),
        (key("Control+S"), *2 * ([("hotkey", {"text": "control+s"})],)),
        (key("ctrl++"), *2 * ([("hotkey", {"text": "ctrl++"})],)),
        (key(""), [], []),
        (key("Tab", repeat=2.5), [], []),
        (
            [member("hold_key", text="Home", duration=1)],
            [("home", {})],
            [("key", {"text": "home"})],
        ),
    ],
)
def test_keys_under_vendors_names(calls: Any, phone: Any, desk: Any) -> None:
    for unit, told in (("s-phone", phone), ("s-desk", desk)):
        found, _ = read(case_of("computer-toolset", unit), body_of("computer-toolset", calls))
        assert found == (("answered", told, set()) if told else MALFORMED)


@pytest.mark.parametrize(
    ("tool", "unit", "call"),
    [
        ("computer-toolset", "s-phone", ("finish", {"status": "success"})),
        ("functions", "g-hd", ("mobile_use", {"action": "click", "coordinate": [5, 5]})),
        ("gemini-browser", "s-desk", ("press_home", {})),
    ],
)
def test_a_function_that_was_not_offered_is_not_there(tool: str, unit: str, call: Call) -> None:
    wrong = body_of(tool, [call])
    found, sent = read(case_of(tool, unit, turns=1), wrong, body_of(tool, [], "Hm."))
    assert found == ("parse_error", [], {"text_only", *UNREAD})
    assert f"there is no function '{call[0]}'" in json.dumps(sent[1])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (member("wait", duration="long"), "invalid input for computer member 'wait': duration"),
        (member("scroll", scroll_direction="in"), "member 'scroll': scroll_direction"),
        (member("zoom"), "invalid input for computer member 'zoom': region: Field required"),
        (member("zoom", region="0,0,1,1"), "zoom': region: Input should be a valid list"),
        (member("zoom", region=[0, 0, 0, 9]), "the region is empty"),
        (member("zoom", region=[1900, 0, 1921, 9]), "outside of the picture"),
    ],
)
def test_a_look_that_fails_is_answered(call: Call, words: str) -> None:
    tool = "computer-toolset"
    found, sent = read(case_of(tool, "g-hd", turns=1), body_of(tool, [call]), body_of(tool, CLICK))
    assert found == (*PLACE, UNREAD)
    assert words in sent[1]["messages"][-1]["content"][0]["content"]


def test_a_member_that_is_off_is_not_permitted() -> None:
    tool = "computer-toolset"
    zoom = body_of(tool, [member("zoom", region=[0, 0, 9, 9])])
    found, sent = read(case_of(tool, "g-hd", turns=1), zoom, body_of(tool, CLICK), zoom="off")
    assert found == (*PLACE, UNREAD)
    assert "The 'zoom' action is not permitted" in json.dumps(sent[1])


def test_a_click_without_a_place_is_where_the_model_scrolled() -> None:
    tool = "computer-toolset"
    scroll = member("scroll", coordinate=[5, 6], scroll_direction="up", scroll_amount=1)
    replies = [body_of(tool, [one]) for one in (scroll, member("left_click"))]
    assert read(case_of(tool, "g-hd", turns=1), *replies)[0] == (*PLACE, set())


def test_every_answer_to_gemini_has_the_picture() -> None:
    tool = "gemini-browser"
    calls: list[tuple[str, dict[str, Any]]] = [
        ("take_screenshot", {}),
        ("fly", {}),
        ("take_screenshot", {}),
    ]
    replies = body_of(tool, calls), body_of(tool, [("click", {"x": 5, "y": 5})])
    found, sent = read(case_of(tool, "g-hd", turns=1), *replies)
    assert found == (*PLACE, UNREAD)
    answers = [part["functionResponse"] for part in sent[1]["contents"][-1]["parts"]]
    assert ["error" in one["response"] for one in answers] == [False, True, True]
    assert all(one["parts"] for one in answers)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (browser("form_input", target=ref("ref_11"), value=12345678), ("TYPE", "40")),
        (browser("form_input", target=ref("ref_9"), value="on"), ("CLICK", "31")),
        (browser("double_click", target=ref("ref_8")), ("SELECT", "21")),
        (browser("hover", target=ref("ref_10")), ("CLICK", "32")),
    ],
)
def test_elements_of_a_recorded_page(call: Call, expected: Any) -> None:
    tool = "browser-toolset"
    (status, told, flags), _ = read(case_of(tool, "w-click"), body_of(tool, [call]))
    assert (status, told) == ("answered", [expected])
    assert flags == (
        {"mapped_operation"} if call[0] in ("browser.double_click", "browser.hover") else set()
    )


FIELD = {"type": "click", "button": "left", "x": 400, "y": 32}


@pytest.mark.parametrize(
    ("then", "name"),
    [
        ([FIELD, {"type": "type", "text": "a"}], "TYPE"),
        ([{"type": "screenshot"}, {"type": "type", "text": "a"}], "TYPE"),
        ([{"type": "keypress", "keys": ["Control", "a"]}, {"type": "type", "text": "a"}], "TYPE"),
        ([click(1000, 442), {"type": "type", "text": "a"}], "CLICK"),
        ([{"type": "type"}], "CLICK"),
        ([{"type": "screenshot"}], "CLICK"),
    ],
)
def test_a_text_behind_a_pressed_field(then: Any, name: str) -> None:
    replies = body_of("computer", [FIELD]), body_of("computer", then)
    (status, told, flags), sent = read(case_of("computer", "w-type", pairs="next"), *replies)
    assert (status, [one[0] for one in told], flags, len(sent)) == ("answered", [name], set(), 2)


def test_a_call_that_presses_and_types_may_follow_a_press() -> None:
    tool, at = "gemini-browser", {"x": 312, "y": 13}
    replies = [
        body_of(tool, [("click", at)]),
        body_of(tool, [("type_text_at", {**at, "text": "a", "press_enter": False})]),
    ]
    (_, told, _), _ = read(case_of(tool, "w-type", pairs="next"), *replies)
    assert told == [("TYPE", {"value": "a"})]


@pytest.mark.parametrize("tool", ["computer", "computer-toolset", "gemini-browser"])
@pytest.mark.parametrize("value", ["NaN", "1e999", "9" * 5000, "[" * 10**5 + "]" * 10**5, "{}"])
def test_numbers_that_are_none_spoil_one_reply_and_are_not_paid_for_again(
    tool: str, value: str
) -> None:
    calls: dict[str, Any] = {
        "computer": [click(111)],
        "computer-toolset": [member("left_click", coordinate=[111, 5])],
        "gemini-browser": [("click", {"x": 111, "y": 5})],
    }
    told = json.dumps(body_of(tool, calls[tool])).replace("111", value)
    case = case_of(tool, "g-hd")
    with WireServer(lambda ask: Answer(raw=told.encode())) as server:
        adapter = adapter_for(case, server)
        found = asked(case, adapter, protocol_of(case, adapter))
    assert (str(found.status), set(found.flags)) == ("parse_error", {"malformed_call"})
    assert len(server.asks) == 1


@pytest.mark.parametrize(
    ("unit", "names"),
    [
        ("g-hd", ["click"]),
        (
            "s-desk",
            [
                *("click", "double_click", "right_click", "move", "drag", "scroll", "type"),
                "press_keys",
            ],
        ),
    ],
)
def test_functions_are_those_of_the_device_and_of_a_place_a_click(
    unit: str, names: list[str]
) -> None:
    case = case_of("functions", unit, model="m")
    _, [sent] = read(case, body_of("functions", [], "Hm."))
    assert [one["function"]["name"] for one in sent["tools"]] == names
