"""Write a page as an accessibility tree, in the manner of BrowserGym.

    main
        [12] button 'Search', focused
        StaticText 'or ask us'

A line for each element that has a role, a name or an id, deeper by a tab than the one that it is
in; the place of any other is taken by what is inside. Role, name and state are those that a browser
has computed, where the page holds them (`ax_role`, `ax_name`, `ax_state`), and otherwise follow
from tag and attributes. No text of a page can pass for a line or an id.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from harness.page._refine import plain
from harness.page._tree import Element, is_text, name_of

GENERIC = "generic"
_ROLES = {
    **{f"h{level}": "heading" for level in range(1, 7)},
    **dict(zip(("ul", "ol", "li", "menu"), ("list", "list", "listitem", "list"), strict=True)),
    **dict(zip(("tr", "td", "th"), ("row", "cell", "columnheader"), strict=True)),
    "a": "link",
    "article": "article",
    "aside": "complementary",
    "button": "button",
    "dialog": "dialog",
    "fieldset": "group",
    "footer": "contentinfo",
    "form": "form",
    "header": "banner",
    "html": "RootWebArea",
    "iframe": "Iframe",
    "img": "image",
    "label": "LabelText",
    "main": "main",
    "nav": "navigation",
    "optgroup": "group",
    "option": "option",
    "p": "paragraph",
    "select": "combobox",
    "summary": "DisclosureTriangle",
    "svg": "image",
    "table": "table",
    "textarea": "textbox",
}
_INPUTS = {
    **dict.fromkeys(("button", "submit", "reset", "image"), "button"),
    "checkbox": "checkbox",
    "number": "spinbutton",
    "radio": "radio",
    "range": "slider",
    "search": "searchbox",
}
_SILENT = frozenset({"presentation", "none"})
_NAMES = ("aria_label", "alt", "label", "placeholder", "title")
_PRESSED = frozenset({"button", "submit", "reset"})


def axtree(
    nodes: Sequence[Element], kept: Collection[Element] | None, ids: Mapping[Element, str]
) -> str:
    """Write a page; see `harness.page._refine.refine` for the arguments."""
    lines: list[str] = []
    waiting: list[tuple[Element, int]] = [(nodes[0], 0)]
    while waiting:
        node, level = waiting.pop()
        if is_text(node):
            if text := plain(node.text):
                lines.append(f"{chr(9) * level}StaticText {_quoted(text)}")
            continue
        is_kept = kept is None or node in kept
        inside = [child for child in node if is_kept or not is_text(child)]
        texts = [plain(child.text) for child in inside if is_text(child)]
        text = plain(" ".join(texts))
        role, name = _role(node), _name(node)
        if text and (name == text or (not name and len(texts) == len(inside))):
            name, inside = text, [child for child in inside if not is_text(child)]
        shown = ids.get(node)
        if is_kept and (shown is not None or role != GENERIC or name):
            lines.append(f"{chr(9) * level}{_line(node, shown, role, name)}")
            level += 1
        waiting.extend((child, level) for child in reversed(inside))
    return "\n".join(lines)


def _line(node: Element, shown: str | None, role: str, name: str) -> str:
    if shown is None and role == GENERIC:
        return f"StaticText {_quoted(name)}"
    head = role if shown is None else f"[{shown}] {role}"
    named = f"{head} {_quoted(name)}" if name else head
    return ", ".join((named, *_states(node)))


def _role(node: Element) -> str:
    role = plain(node.get("ax_role") or node.get("role") or node.get("aria_role"))
    # Only a word: a page cannot forge names and ids with it.
    if role and role not in _SILENT and role.isalpha():
        return role
    tag = name_of(node)
    if tag == "input":
        return _INPUTS.get(node.get("type") or "", "textbox")
    return _ROLES.get(tag, GENERIC)


def _name(node: Element) -> str:
    named = plain(node.get("ax_name"))
    if not named and name_of(node) == "input" and node.get("type") in _PRESSED:
        named = plain(node.get("value"))
    return named or next(filter(None, (plain(node.get(name)) for name in _NAMES)), "")


def _states(node: Element) -> Iterator[str]:
    state = plain(node.get("ax_state"))
    if state:
        yield state.replace("[", "(").replace("]", ")")
    elif node.get("input_checked"):
        yield "checked"
    if node.get("option_selected") and "selected" not in state:
        yield "selected"
    if value := plain(node.get("input_value") or node.get("text_value")):
        yield f"value={_quoted(value)}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
