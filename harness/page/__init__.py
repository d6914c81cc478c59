"""A page's DOM: its candidates, and the texts of them that a model is shown.

    page = Page.parse(row_html)
    page.choices(["8635", "8719"])         # MindAct's choice texts, in document order
    page.snippet(["8635"]).text            # the page pruned to a candidate
    page.compact("8635", count=tokens_of)  # one element on one line, capped
    page.refined({"8635": "A"})            # the page as AutoWebGLM reads it
    page.segment("8635", {"8635": "A"})    # an element that was acted upon, as it shows it

A `Page` is parsed once and can be asked about any number of candidate sets; `decode_candidates`
reads the candidate columns of a row. The rules are those of MindAct (Deng et al. 2023, "Mind2Web"),
which SeeAct adopted, and for `refined` and `segment` those of AutoWebGLM (Lai et al. 2024). Errors
are `PageError`, `UnknownNode` and `TextNodeCandidate`, all `ValueError`s.
"""

from __future__ import annotations

from harness.page._candidates import Candidate, decode_candidates
from harness.page._page import ChoiceText, Page, Snippet
from harness.page._prune import SEGMENT, Pruning
from harness.page._render import Brackets, RankingText
from harness.page._tree import (
    BASIC_ATTRIBUTES,
    MIND2WEB_ATTRIBUTES,
    MINIWOB_ATTRIBUTES,
    NODE_ID,
    WEBARENA_ATTRIBUTES,
    Attributes,
    NodeFacts,
    PageNode,
    Style,
    TextNodeCandidate,
    UnknownNode,
)
from parsers.cleaned_page import PageError
from parsers.records import Box

__all__ = [
    "BASIC_ATTRIBUTES",
    "MIND2WEB_ATTRIBUTES",
    "MINIWOB_ATTRIBUTES",
    "NODE_ID",
    "SEGMENT",
    "WEBARENA_ATTRIBUTES",
    "Attributes",
    "Box",
    "Brackets",
    "Candidate",
    "ChoiceText",
    "NodeFacts",
    "Page",
    "PageError",
    "PageNode",
    "Pruning",
    "RankingText",
    "Snippet",
    "Style",
    "TextNodeCandidate",
    "UnknownNode",
    "decode_candidates",
]
