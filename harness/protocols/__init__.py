"""Ways to ask a model about a step.

protocol = open_protocol("seeact-two-rounds", {"none": "last"})
for_one_step = protocol.dialogue(StepView(step, choices))     # a generator, see harness.dialogue
"""

from typing import TYPE_CHECKING, Any

from harness.protocols.asking import ask, check_actions, written_as
from harness.protocols.contract import (
    SOURCES,
    AskingProtocol,
    Lettering,
    Needs,
    NoneRule,
    Role,
    Source,
    StepProtocol,
    lettering,
    text_first,
    to_prediction,
)

if TYPE_CHECKING:
    from harness.protocols.registry import (
        PROTOCOLS,
        completed_options,
        open_protocol,
        options_of,
    )

__all__ = [
    "PROTOCOLS",
    "SOURCES",
    "AskingProtocol",
    "Lettering",
    "Needs",
    "NoneRule",
    "Role",
    "Source",
    "StepProtocol",
    "ask",
    "check_actions",
    "completed_options",
    "lettering",
    "open_protocol",
    "options_of",
    "text_first",
    "to_prediction",
    "written_as",
]


def __getattr__(name: str) -> Any:
    """Load the registry, which reads settings, for who needs more than a protocol's module."""
    if name not in __all__:
        raise AttributeError(f"module 'harness.protocols' has no attribute '{name}'")
    from harness.protocols import registry

    return getattr(registry, name)
