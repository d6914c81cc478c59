"""Ways to ask a model about a step.

protocol = PROTOCOLS.make("seeact-two-rounds", none="last")
for_one_step = protocol.dialogue(step, choices)     # a generator, see harness.dialogue
"""

from __future__ import annotations

from adapters.registry import Registry
from harness.protocols.contract import (
    NONE_RULES,
    SOURCES,
    AskingProtocol,
    Lettering,
    Needs,
    NoneRule,
    Source,
)

__all__ = [
    "NONE_RULES",
    "PROTOCOLS",
    "SOURCES",
    "AskingProtocol",
    "Lettering",
    "Needs",
    "NoneRule",
    "Source",
]

PROTOCOLS: Registry[AskingProtocol] = Registry("protocol", "vlm_eval.protocols", has=("dialogue",))
PROTOCOLS.add(
    "seeact-two-rounds",
    "harness.protocols.seeact:two_rounds",
    "describe the next action, then pick the element among lettered choices (SeeAct; 2 calls)",
)
PROTOCOLS.add(
    "seeact-choice",
    "harness.protocols.seeact_choice:factory",
    "a ranker's candidates in batches down the page, each described and chosen from (SeeAct)",
)
PROTOCOLS.add(
    "seeact-annotation",
    "harness.protocols.seeact_annotation:factory",
    "the same batches, but with boxes and letters in the picture instead of a list (SeeAct)",
)
PROTOCOLS.add(
    "seeact-attributes",
    "harness.protocols.seeact_attributes:factory",
    "the model describes the element in words, which are matched with all of the page (SeeAct)",
)
PROTOCOLS.add(
    "coordinates",
    "harness.protocols.coordinates:factory",
    "the model points at the page, in pixels, shares or thousandths (SeeClick, Qwen-VL, APIs)",
)
PROTOCOLS.add(
    "mindact-choice",
    "harness.protocols.mindact_choice:choice",
    "text only: a tournament of five candidates at a time, three solved examples (MindAct)",
)
PROTOCOLS.add(
    "mindact-generate",
    "harness.protocols.mindact_generate:factory",
    "text only: the same tournament, but the model writes the element (Mind2Web)",
)
PROTOCOLS.add(
    "classify",
    "harness.protocols.classify:factory",
    "the ranker's first candidate, without asking anybody; element accuracy only (Mind2Web)",
)
PROTOCOLS.add(
    "seq2seq",
    "harness.protocols.mindact_choice:seq2seq",
    "MindAct's tournament in the form of its fine-tuned Flan-T5 models; text only",
)
