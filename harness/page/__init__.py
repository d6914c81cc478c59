"""A page's DOM: its candidates, and the texts of them that a model is shown.

    page = Page.parse(row_html)
    page.choices(["8635", "8719"])         # MindAct's choice texts, in document order
    page.snippet(["8635"]).text            # the page pruned to a candidate
    page.compact("8635", count=tokens_of)  # one element on one line, capped

A `Page` is parsed once and can be asked about any number of candidate sets; `decode_candidates`
reads the candidate columns of a row. The rules are those of MindAct (Deng et al. 2023, "Mind2Web"),
which SeeAct adopted. Errors are `PageError`, `UnknownNode` and `TextNodeCandidate`, all
`ValueError`s.
"""

from __future__ import annotations

from harness.page._candidates import Box, Candidate, decode_candidates
from harness.page._compact import CUT_MARK
from harness.page._html import FORBIDDEN, as_page
from harness.page._nodes import NodeFacts, PageNode
from harness.page._page import ChoiceText, Page, Snippet
from harness.page._render import Brackets, RankingText
from harness.page._tree import NODE_ID, TextNodeCandidate, UnknownNode
from parsers.cleaned_page import PageError

__all__ = [
    "CUT_MARK",
    "FORBIDDEN",
    "NODE_ID",
    "Box",
    "Brackets",
    "Candidate",
    "ChoiceText",
    "NodeFacts",
    "Page",
    "PageError",
    "PageNode",
    "RankingText",
    "Snippet",
    "TextNodeCandidate",
    "UnknownNode",
    "as_page",
    "decode_candidates",
]
