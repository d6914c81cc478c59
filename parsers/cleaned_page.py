"""Parse cleaned pages of Mind2Web (well-formed XML) safely: they come from untrusted sites."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml import etree

_ROOT_TAG = re.compile(r"\s*<[^?!]")
_XML_DECLARATION = re.compile(r"\s*<\?xml\b[^>]*\?>")
# Any markup declaration except a bare document type; comments and CDATA are not declarations.
_DECLARATION = re.compile(r"<!(?!--|\[CDATA\[|DOCTYPE\s+\w+\s*>)")


class PageError(ValueError):
    """The page cannot be read: malformed XML, nested too deeply, or with entities."""


def parse_page(text: str) -> etree._Element:
    """Parse a cleaned page and return its root element.

    Nothing is fetched and no entity is resolved. Comments and processing instructions are dropped.

    Raises:
        PageError: not well-formed, nested deeper than libxml2's limit of 2,048 levels (browsers
            stop at 512), or with declared entities; the message gives the reason.
    """
    from lxml import etree

    if not _ROOT_TAG.match(text):
        text = _without_prolog(text)
    try:
        # One parser per page: a shared one would serialise threads and accumulate an error log.
        return etree.fromstring(text, _parser())
    except (etree.XMLSyntaxError, ValueError) as error:
        raise PageError(f"the page cannot be parsed as XML: {error}") from error


def _without_prolog(text: str) -> str:
    """Reject markup declarations and drop the XML declaration.

    libxml2 expands entities inside attribute values whatever `resolve_entities` says, and
    `huge_tree` switches off its own guard against explosions, so none may be declared. Only
    what precedes the root element can declare any. lxml refuses an encoding declaration in text
    that is already decoded.
    """
    if _DECLARATION.search(text):
        raise PageError("the page declares entities or a document type, which are never resolved")
    return _XML_DECLARATION.sub("", text, count=1)


def _parser() -> etree.XMLParser:
    from lxml import etree

    return etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        # Real pages nest deeper and hold longer text than libxml2's default limits allow.
        huge_tree=True,
        remove_comments=True,
        remove_pis=True,
        collect_ids=False,
    )
