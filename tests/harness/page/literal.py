"""Pruning and rendering done the slow way, step by step as the rule is told.

It copies the page, marks, removes, serialises and edits strings. It shares no code with the
package, so agreement on generated pages says something about both.
"""

from __future__ import annotations

import copy
import re

from lxml import etree

ID = "backend_node_id"
ORDER = [
    *("role", "aria_role", "type", "alt", "aria_description", "aria_label", "label", "title"),
    *("name", "text_value", "value", "placeholder", "input_checked", "input_value"),
    *("option_selected", "class"),
]
SILENT = ["hidden", "none", "presentation", "null", "undefined"]


def _id(node: etree._Element) -> str:
    return str(node.get(ID))


def _is_text(node: etree._Element) -> bool:
    return node.tag == "text"


def _below(node: etree._Element, level: int, deepest: int) -> list[etree._Element]:
    """Everything below a node in pre-order, down to level index `deepest`."""
    found: list[etree._Element] = []
    if level > deepest:
        return found
    for child in node:
        found.append(child)
        found.extend(_below(child, level + 1, deepest))
    return found


def _kept_ids(
    root: etree._Element, ids: list[str], depth: int, children: int, reach: int
) -> set[str]:
    kept: set[str] = set()
    for wanted in ids:
        (node,) = root.xpath(f"//*[@{ID}='{wanted}']")
        kept.add(wanted)
        kept.update(_id(ancestor) for ancestor in node.iterancestors())
        kept.update([_id(below) for below in _below(node, 0, depth)][:children])
        parent = node.getparent()
        if parent is not None:
            siblings = [_id(child) for child in parent if not _is_text(child)]
            here = siblings.index(wanted)
            kept.update(other for i, other in enumerate(siblings) if abs(i - here) <= reach)
    return kept


def prune(
    html: str, ids: list[str], depth: int = 5, children: int = 50, reach: int = 3
) -> etree._Element:
    """A pruned copy of the page; candidates still carry their ids, nothing else does."""
    page = etree.fromstring(html)
    kept = _kept_ids(page, ids, depth, children, reach)
    pruned = copy.deepcopy(page)
    for node in reversed(list(pruned.iter())):
        parent = node.getparent()
        survives = (
            parent is None
            or (_is_text(node) and _id(parent) in kept)
            or (not _is_text(node) and _id(node) in kept)
        )
        if not survives:
            assert parent is not None
            parent.remove(node)
            continue
        if _is_text(node):
            del node.attrib[ID]
            continue
        if _id(node) not in ids:
            del node.attrib[ID]
        has_text = any(_is_text(child) for child in node)
        if not node.attrib and not has_text and len(node) <= 1 and parent is not None:
            if len(node):
                parent.replace(node, node[0])
            else:
                parent.remove(node)
    return pruned


def _shown_attributes(node: etree._Element) -> str:
    phrases: list[str] = []
    for name in ORDER:
        value = node.get(name)
        if value is None:
            continue
        value = value.lower()
        if value in SILENT or value.startswith("http"):
            continue
        words = value.split()
        words = [word for word in words if len(word) < 15]
        phrase = " ".join(words[:5])
        if phrase and phrase not in phrases:
            phrases.append(phrase)
    return " ".join(" ".join(phrases).split()[:20])


def _decode_once(text: str) -> str:
    names = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'", "nbsp": "\xa0"}

    def character(match: re.Match[str]) -> str:
        name = match.group(1)
        return chr(int(name[1:])) if name.startswith("#") else names[name]

    return re.sub(r"&(lt|gt|amp|quot|apos|nbsp|#\d+);", character, text)


def render(node: etree._Element, brackets: str) -> str:
    """The text of a node whose subtree has been labelled."""
    text = etree.tostring(node, encoding="unicode", with_tail=False)
    text = text.replace('"', " ").replace("meta= ", "").replace("id= ", "id=")
    text = text.replace("<text>", "").replace("</text>", "").replace("<text/>", "")
    text = " ".join(text.split())
    if brackets == "angle":
        text = text.replace(" >", ">")
    else:
        text = re.sub(r"</[^>]*>", ")", text)
        text = text.replace("/>", ")").replace("<", "(").replace(">", " ")
    return " ".join(_decode_once(_decode_once(text)).split())


def snippet(html: str, ids: list[str], brackets: str) -> tuple[str, list[tuple[str, str]]]:
    """The pruned page as text and the (id, text) choices."""
    pruned = prune(html, ids)
    candidates: list[tuple[str, etree._Element]] = []
    for node in pruned.iter():
        if _is_text(node):
            node.text = " ".join((node.text or "").split()[:20])
            continue
        meta = _shown_attributes(node)
        node_id = node.get(ID)
        for name in list(node.attrib):
            del node.attrib[name]
        if node_id is not None:
            node.set("id", str(len(candidates)))
            candidates.append((node_id, node))
        if meta:
            node.set("meta", meta)
    texts = [
        (node_id, " ".join(render(node, brackets).split()[:10])) for node_id, node in candidates
    ]
    return render(pruned, brackets), texts
