"""AutoWebGLM's pruning and writing done the slow way, step by step as the rule is told.

It changes a copy of the page: nodes are collected, what was not is removed while its children move
up, and what is left is written recursively. It shares no code with the package.
"""

from __future__ import annotations

from lxml import etree

from harness.page import MIND2WEB_ATTRIBUTES, Pruning


def literally(html: str, ids: dict[str, str], pruning: Pruning | None) -> str:
    """A page pruned to the elements that have ids, and written; without `pruning`, all of it."""
    root = etree.fromstring(html)
    key = "backend_node_id"

    def text(node: etree._Element) -> bool:
        return node.tag == "text"

    def down(node: etree._Element, levels: int) -> list[etree._Element]:
        found = []
        for child in node if levels else ():
            found += [child, *down(child, levels - 1)]
        return found

    if pruning is not None:
        collected = {n for n in root.iter() if n.get(key) in ids}
        for node in list(collected):
            collected |= set(list(node.iterancestors())[: pruning.depth + 1])
            collected |= set(down(node, pruning.depth + 1)[: pruning.children])
            parent = node.getparent()
            siblings = [] if parent is None else [one for one in parent if not text(one)]
            if node in siblings:
                first = max(0, siblings.index(node) - pruning.siblings)
                collected |= set(siblings[first : siblings.index(node) + pruning.siblings + 1])
        for node in reversed(list(root.iter())):
            parent = node.getparent()
            judged = parent if text(node) and parent is not None else node
            if parent is None or judged in collected:
                continue
            for child in list(node):
                node.addprevious(child)
            parent.remove(node)
        if root not in collected:
            root.text = None

    def plain(said: str | None) -> str:
        return " ".join((said or "").split())[:500].strip()

    def write(node: etree._Element) -> list[str]:
        said, inside = [plain(node.text)], []
        for child in node:
            if not text(child):
                inside += write(child)
            elif plain(child.text) and inside:
                inside.append(f"<text| {safe(plain(child.text))} >")
            else:
                said.append(plain(child.text))
        own = plain(" ".join(said))
        values = {name: plain(node.get(name)) for name in MIND2WEB_ATTRIBUTES.names}
        shown = list(dict.fromkeys(v for n, v in values.items() if v and use(n, v)))
        label = ids.get(str(node.get(key)))
        if label is None and not own and not shown and len(inside) < 2:
            return inside
        first = f"<{node.tag!s}{f'[{label}]' if label else ''}|"
        told = "; ".join(map(safe, [*shown, *([own] if own else [])]))
        return [" ".join([part for part in (first, told, *inside) if part] + [">"])]

    def use(name: str, value: str) -> bool:
        return not (
            (name == "role" and value in ("presentation", "none", "link"))
            or (name == "type" and value == "hidden")
        )

    def safe(said: str) -> str:
        return said.replace("<", "&lt;").replace(">", "&gt;").replace("]|", "] |")

    return " ".join(write(root))
