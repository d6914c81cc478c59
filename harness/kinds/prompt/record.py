"""The detail of a finished prompt: the prompt itself and the right action."""

from __future__ import annotations

from dataclasses import dataclass

from parsers.actions import Action


@dataclass(frozen=True, slots=True)
class PromptDetail:
    """The detail of a unit that is a finished prompt, answered with an action.

    asked: the prompt, in full.
    gold: the right action.
    target: the right answer as the data has it, for scorers that read it in their own way.
    """

    asked: str
    gold: Action
    target: str
