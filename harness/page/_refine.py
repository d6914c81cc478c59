"""Write a page in the forms of AutoWebGLM (Lai et al. 2024), or as an accessibility tree.

`refine` writes `<button[A]| submit; Search all >`: tag, id, the values of some attributes joined
by `; `, text, and what is inside; `xml` writes `<button id="A" type="submit">Search all </button>`.

An element with an id is always written. Another one is written if it has text, one
of the attributes, or more than one thing inside that is written; otherwise what is inside takes its
place. Text after a child becomes an element `text` in its place, which keeps the order. Of
what a page says, nothing can be read as an element or as an id: angle brackets are escaped, runs of
blanks and line breaks become one blank, and `]|` is broken up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from xml.sax.saxutils import escape

from harness.page._tree import Attributes, Element, Style, is_text, name_of

LONGEST = 500
"""Longest text of an element, and longest value of an attribute, in characters."""


_SILENT_ROLES = frozenset({"presentation", "none", "link"})


_Written = tuple[str, list[Element | str]]
"""An element that is written: its opening, and what is inside."""


def refine(
    nodes: Sequence[Element],
    kept: Collection[Element] | None,
    ids: Mapping[Element, str],
    attributes: Attributes,
    style: Style,
) -> str:
    """Write a page.

    Args:
        nodes: its nodes in document order, the root first.
        kept: the elements that pruning left, without the root; None: all.
        ids: the ids of elements.
        attributes: what is shown of elements.
        style: the form.
    """
    written: dict[Element, _Written] = {}
    pieces: dict[Element, int] = {}
    root = nodes[0]
    # Children come before their parents, without recursion, which deep pages would exceed.
    for node in reversed(nodes):
        if is_text(node):
            continue
        is_kept = kept is None or node in kept
        own, inside, count = _content(node, pieces, style, with_text=is_kept)
        if is_kept or node is root:
            node_id = ids.get(node)
            shown = _attributes(node, attributes)
            if node_id is not None or own or shown or count > 1:
                written[node] = _opening(name_of(node), node_id, shown, own, style), inside
                count = 1
        pieces[node] = count
    return _assembled(root, written, style)


def _content(
    node: Element, pieces: Mapping[Element, int], style: Style, *, with_text: bool
) -> tuple[str, list[Element | str], int]:
    """Return the text of an element, what else is inside, and how much of that is written."""
    leading = [plain(node.text)] if with_text else []
    inside: list[Element | str] = []
    count = 0
    for child in node:
        if not is_text(child):
            inside.append(child)
            count += pieces[child]
        elif with_text and (text := plain(child.text)):
            if count:
                inside.append(f"{_opening('text', None, {}, text, style)}{_closing('text', style)}")
                count += 1
            else:
                leading.append(text)
    return plain(" ".join(leading)), inside, count


def _assembled(root: Element, written: Mapping[Element, _Written], style: Style) -> str:
    out: list[str] = []
    waiting: list[Element | str] = [root]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            out.append(item)
        elif item in written:
            opening, inside = written[item]
            out.append(opening)
            waiting.append(_closing(name_of(item), style))
            waiting.extend(reversed(inside))
        else:
            waiting.extend(child for child in reversed(item) if not is_text(child))
    return "".join(out).strip()


def _attributes(node: Element, attributes: Attributes) -> dict[str, str]:
    """Return the attributes that are shown, of equal values only the first."""
    shown: dict[str, str] = {}
    for name in attributes.names:
        value = plain(node.get(name))
        hidden = (
            (name == "role" and value in _SILENT_ROLES)
            or (name == "type" and value == "hidden")
            or (name == "value" and node.tag == "option" and not attributes.option_values)
        )
        if value and not hidden and value not in shown.values():
            shown[name] = value
    return shown


def _opening(
    name: str, node_id: str | None, shown: Mapping[str, str], text: str, style: Style
) -> str:
    if style == "refine":
        label = "" if node_id is None else f"[{node_id}]"
        joined = "; ".join(_unmistakable(part) for part in (*shown.values(), text) if part)
        return f" <{name}{label}|{' ' if joined else ''}{joined}"
    pairs = {**({} if node_id is None else {"id": node_id}), **shown}
    values = "".join(f' {key}="{_escaped(value)}"' for key, value in pairs.items())
    return f" <{name}{values}>{_escaped(text)}"


def _closing(name: str, style: Style) -> str:
    return " >" if style == "refine" else f" </{name}>"


def plain(text: str | None) -> str:
    """Fold the blanks of a text and cut a long one, before escaping."""
    return " ".join(text.split(None, LONGEST)[:LONGEST])[:LONGEST].rstrip() if text else ""


def _unmistakable(text: str) -> str:
    return text.replace("<", "&lt;").replace(">", "&gt;").replace("]|", "] |")


def _escaped(text: str) -> str:
    return escape(text, {'"': "&quot;"})


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
    """Write a page as an accessibility tree, in the manner of BrowserGym; arguments as `refine`.

        main
            [12] button 'Search', focused
            StaticText 'or ask us'

    A line for each element that has a role, a name or an id, deeper by a tab than the one that it
    is in; the place of any other is taken by what is inside. Role, name and state are those that a
    browser has computed, where the page holds them (`ax_role`, `ax_name`, `ax_state`), and
    otherwise follow from tag and attributes. No text of a page can pass for a line or an id.
    """
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
