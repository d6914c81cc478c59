"""BrowserGym's actions, which are handed on as they are."""

from typing import Any


class HighLevelActionSet:
    def __init__(self, **_: Any) -> None:
        pass

    def to_python_code(self, action: str) -> str:
        return action
