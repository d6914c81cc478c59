"""Ways to ask a model about a step.

protocol = open_protocol("seeact-two-rounds", {"none": "last"})
for_one_step = protocol.dialogue(step, choices)     # a generator, see harness.dialogue
"""

from typing import TYPE_CHECKING, Any

from harness.protocols.contract import (
    SOURCES,
    Around,
    AskingProtocol,
    Lettering,
    Needs,
    NoneRule,
    Role,
    Source,
    StepProtocol,
    text_first,
    to_prediction,
)

if TYPE_CHECKING:
    from harness.protocols.registry import (
        PROTOCOLS,
        SHARED,
        check_actions,
        dialogue_about,
        of_steps,
        open_protocol,
        options_of,
        settled_settings,
        spelled,
    )

__all__ = [
    "PROTOCOLS",
    "SHARED",
    "SOURCES",
    "Around",
    "AskingProtocol",
    "Lettering",
    "Needs",
    "NoneRule",
    "Role",
    "Source",
    "StepProtocol",
    "check_actions",
    "dialogue_about",
    "of_steps",
    "open_protocol",
    "options_of",
    "settled_settings",
    "spelled",
    "text_first",
    "to_prediction",
]


def __getattr__(name: str) -> Any:
    """Load the registry, which reads settings, for who needs more than a protocol's module."""
    if name not in __all__:
        raise AttributeError(f"module 'harness.protocols' has no attribute '{name}'")
    from harness.protocols import registry

    return getattr(registry, name)
